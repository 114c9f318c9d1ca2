"""Benchmarks of speed and memory, compared with other libraries: ``python -m benchmarks --help``."""
