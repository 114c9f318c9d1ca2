"""Compiled text parsers, one file per format, and the features made from text."""
