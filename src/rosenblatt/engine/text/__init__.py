"""Parsers of text and the features made from it, one file per format."""
