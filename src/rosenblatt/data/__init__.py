"""Readers for svmlight, CSV, TSV, Parquet, VW text and JSON lines, in batches.

`open_stream` opens all of them. It does not import scikit-learn and holds only a few batches in memory.
"""

from .batch import Batch
from .encoder import Encoder
from .errors import BadData
from .streams import Stream, open_stream, read, stream

__all__ = ["BadData", "Batch", "Encoder", "Stream", "open_stream", "read", "stream"]
