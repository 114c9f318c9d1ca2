"""From files to features: readers for svmlight, CSV, TSV, Parquet, VW text and JSON lines, a batch at a time.

`open_stream` is the door for all of them. It neither imports scikit-learn nor holds more than a few batches in memory.
"""

from .batch import Batch
from .encoder import Encoder
from .errors import BadData
from .streams import Stream, open_stream, read, stream

__all__ = ["BadData", "Batch", "Encoder", "Stream", "open_stream", "read", "stream"]
