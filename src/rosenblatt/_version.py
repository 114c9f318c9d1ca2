"""The version, where every module can reach it."""

__version__ = "0.1.0"
