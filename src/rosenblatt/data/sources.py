"""Input bytes from paths, globs, standard input and compressed files, split into blocks of whole lines."""

import bz2
import contextlib
import glob
import gzip
import io
import lzma
import os
import select
import sys
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.text.arrays import PADDING

from .errors import BadData

LINE_LIMIT = 1 << 26
"""Maximum number of bytes of a line of text (64 MiB), which bounds the memory for any file."""

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
COMPRESSIONS = (".gz", ".zst", ".zstd", ".bz2", ".xz")

_OTHER = {
    b"PK\x03\x04": "A zip archive, which spreadsheets are too, cannot be read; give the files in it, for instance with "
    "unzip -p a.zip | rosenblatt …, or save a spreadsheet as CSV.",
    b"ARROW1": "An Arrow or Feather file cannot be read; CSV, TSV, Parquet, JSON lines, svmlight and VW text can. Write it as "
    "Parquet.",
    b"\xff\xfe": "Text must be UTF-8; this is UTF-16. Convert it: iconv -f utf-16 -t utf-8.",
    b"\xfe\xff": "Text must be UTF-8; this is UTF-16. Convert it: iconv -f utf-16 -t utf-8.",
    b"7z\xbc\xaf": "A 7z archive cannot be read; gzip, zstd, bzip2 and xz can. Extract the files first.",
}

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
HEAD = 1 << 18
"""Maximum number of bytes used to detect the format, the columns and their kinds."""

Bytes = NDArray[np.uint8]


class Block(NamedTuple):
    """Whole lines ``memory[:size]``, ending with a newline and followed by padding; `text` is a view of the same memory."""

    memory: bytearray
    text: Bytes
    size: int

    def decoded(self) -> str:
        """Decode the text, which must be UTF-8."""
        try:
            return str(memoryview(self.memory)[: self.size], "utf-8")
        except UnicodeDecodeError as error:
            raise BadData(
                f"Text must be UTF-8; got the byte {self.memory[error.start]:#04x} in an invalid position. Convert the file, for "
                "instance with iconv -f latin1 -t utf-8.",
                line=self.memory.count(b"\n", 0, error.start) + 1,
            ) from None

    def word_at(self, place: int) -> str:
        """The word at a position of the text, up to the next blank; long words are shortened."""
        start = max(self.memory.rfind(separator, 0, place) for separator in (b" ", b"\n", b"\t")) + 1
        words = bytes(self.memory[start : min(place + 60, self.size)]).split(None, 1)
        text = words[0].decode("utf-8", "replace") if words else ""
        return text if len(text) <= 40 else text[:40] + "…"


def expand(paths: str | Path | Sequence[str | Path]) -> list[str]:
    """The files that match one or more paths or glob patterns, in order; "-" is standard input."""
    found: list[str] = []
    for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
        name = os.fspath(path)
        if name == "-" or Path(name).exists() or not glob.has_magic(name):
            found.append(name)
            continue
        matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 - a pattern may be absolute
        if not matches:
            raise BadData(
                f"No file matches {name!r}; a pattern must match at least one. Check the folder and the quotes."
            )
        found += matches
    if not found:
        raise BadData("No file was given; at least one is needed. Give a path, a pattern or - for standard input.")
    for name in found:
        _check(name)
    return found


def _check(name: str) -> None:
    path = Path(name)
    if name == "-":
        return
    if path.is_dir():
        raise BadData(f"A file is needed; this is a folder. Name its files, for instance '{path / '*'}'.", name)
    if not path.exists():
        raise BadData("A file is needed; there is none with this name. Check the path.", name)
    if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        raise BadData("The file must be readable; this account has no permission to read it. Change its mode.", name)


def _standard_input() -> Any:
    """Standard input as bytes, of which the first can be looked at."""
    raw: Any = sys.stdin.buffer
    return raw if hasattr(raw, "peek") else io.BufferedReader(raw)


class Opened:
    """An open file: `readinto` reads decompressed bytes, `position` is the number of bytes read so far.

    Parameters
    ----------
    name : str
        The file; "-" is standard input.
    span : tuple of int or None, default=None
        Read only this range of bytes of an uncompressed file, or this range of row groups of a Parquet file.
    """

    def __init__(self, name: str, span: tuple[int, int] | None = None) -> None:
        self.name = name
        self.span = span
        try:
            raw: Any = _standard_input() if name == "-" else Path(name).open("rb")  # noqa: SIM115 - see close()
        except OSError as error:
            raise BadData(f"The file cannot be opened: {error.strerror}. Check the path and its mode.", name) from None
        self._raw = raw
        self.size: int | None = None if name == "-" else os.fstat(self._raw.fileno()).st_size
        self._magic = self._raw.peek(8)[:8]
        self.compression = next((name for magic, name in _MAGIC.items() if self._magic.startswith(magic)), None)
        self._head: bytes | None = None
        self._left = b""
        self._copy: io.BytesIO | None = None
        self.live = self.compression is None and self.size is None
        self._readinto: Callable[[memoryview], int] = self._raw.readinto
        if self.compression == "gzip":
            self._readinto = gzip.GzipFile(fileobj=self._raw).readinto
        elif self.compression == "bzip2":
            self._readinto = bz2.BZ2File(self._raw).readinto
        elif self.compression == "xz":
            self._readinto = lzma.LZMAFile(self._raw).readinto  # noqa: SIM115 - see close()
        elif self.compression == "zstd":
            import pyarrow as pa

            self._readinto = pa.CompressedInputStream(self._raw, "zstd").readinto
        elif self.live:
            self._readinto = self._read_some
        elif span is not None and not self.parquet:
            self._raw.seek(span[0])
            self._readinto = self._read_span

    def _read_span(self, view: memoryview) -> int:
        """Read up to the end of the span."""
        assert self.span is not None
        return int(self._raw.readinto(view[: max(0, self.span[1] - self._raw.tell())]))

    @property
    def parquet(self) -> bool:
        """Whether the file begins with the magic bytes of Parquet."""
        return bool(self._magic.startswith(b"PAR1"))

    def refuse_other_formats(self) -> None:
        """Raise an error if the file begins like one of a format that cannot be read."""
        for magic, advice in _OTHER.items():
            if self._magic.startswith(magic):
                raise BadData(advice, self.name)

    @property
    def head_is_all(self) -> bool:
        """Whether `head` gave the whole file."""
        return not self.live and len(self.head()) < HEAD and len(self._head or b"") < HEAD

    def head(self) -> bytes:
        """The first bytes, up to 256 KiB of whole lines; they will be read again."""
        if self._head is None:
            memory = bytearray(HEAD)
            size = 0
            with memoryview(memory) as view:
                while size < HEAD:
                    got = self.readinto(view[size:])
                    size += got
                    if got == 0 or (not self.waiting() and b"\n" in memory):
                        break
            self._head = self._left = bytes(memory[:size])
        cut = self._head.rfind(b"\n") + 1 if len(self._head) == HEAD else 0
        return self._head[: cut or len(self._head)].removeprefix(BYTE_ORDER_MARK)

    def whole(self) -> Any:
        """The file for readers that need to seek: from its beginning, or a copy of standard input in memory."""
        if self.size is None:
            self._copy = self._copy or io.BytesIO(self._raw.read())
            self._copy.seek(0)
            return self._copy
        self._raw.seek(0)
        return self._raw

    def readinto(self, view: memoryview) -> int:
        """Read bytes into the view and return their number; 0 at the end."""
        if self._left:
            count = min(len(view), len(self._left))
            view[:count] = self._left[:count]
            self._left = self._left[count:]
            return count
        try:
            return self._readinto(view)
        except EOFError:
            raise BadData(
                f"The {self.compression} file must be complete; it ends in the middle. Copy or download it again.",
                self.name,
            ) from None
        except (OSError, zlib.error, lzma.LZMAError) as error:
            raise BadData(
                f"The file cannot be read completely: {error}. Copy or download it again.", self.name
            ) from None

    def _read_some(self, view: memoryview) -> int:
        """Read the bytes that are available now; `readinto1` would wait for more even if some are buffered."""
        data = self._raw.read1(len(view))
        view[: len(data)] = data
        return len(data)

    def waiting(self) -> bool:
        """Whether more bytes are available, so that reading would not block."""
        if not self.live or not hasattr(select, "poll"):
            return True
        with contextlib.suppress(OSError, ValueError):
            return bool(select.select([self._raw.fileno()], [], [], 0)[0])
        return True

    def position(self) -> int:
        """Number of bytes read from the file, before decompression."""
        try:
            return int(self._raw.tell())
        except (OSError, ValueError):
            return 0

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self.name != "-":
            self._raw.close()


class Buffers:
    """Reusable memory for blocks."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._free: deque[tuple[bytearray, Bytes]] = deque()

    def take(self, size: int) -> tuple[bytearray, Bytes]:
        """A buffer of at least the given size, plus padding."""
        if size <= self.size and self._free:
            return self._free.popleft()
        memory = bytearray(max(size, self.size) + PADDING + 1)
        return memory, np.frombuffer(memory, np.uint8)

    def give_back(self, block: Block) -> None:
        """Return the memory of a block for reuse; larger buffers than usual are dropped."""
        if len(block.memory) == self.size + PADDING + 1:
            self._free.append((block.memory, block.text))


class Spare:
    """Arrays for the results of parsing, reused when they are no longer referenced: new memory would take a third of the time.

    Parameters
    ----------
    make : callable
        Creates the arrays for one or more sizes.
    kept : int, default=6
        The number of sets of arrays to keep.
    """

    LARGEST = 1 << 26

    def __init__(self, make: Callable[..., tuple[NDArray[Any], ...]], kept: int = 6) -> None:
        self._make = make
        self._kept = kept
        self._sets: list[tuple[tuple[int, ...], tuple[NDArray[Any], ...]]] = []
        self._lock = threading.Lock()

    def take(self, *sizes: int) -> list[NDArray[Any]]:
        """Arrays that are not in use, or new ones; a view of an array counts as use."""
        with self._lock:
            for rooms, arrays in self._sets:
                # The last array is never given out; others are free if they have the same reference count.
                if all(size <= room for size, room in zip(sizes, rooms)) and len({*map(sys.getrefcount, arrays)}) == 1:
                    return list(arrays[:-1])
            sizes = tuple(size + size // 8 for size in sizes)  # later requests may be slightly larger
            made = self._make(*sizes)
            if sum(array.nbytes for array in made) <= self.LARGEST:
                self._sets = [*self._sets[-self._kept + 1 :], (sizes, (*made, np.empty(0)))]
            return list(made)


EndOf = Callable[[bytearray, Bytes, int], int]
"""A function that returns the end of the last whole record of a text, 0 if there is none."""


def last_newline(memory: bytearray, text: Bytes, size: int) -> int:
    """End of the last whole line."""
    return memory.rfind(b"\n", 0, size) + 1


OPEN_QUOTE = (
    "A quote must be closed; the file ends inside the quoted field that begins in this row. Close it, or write the quote twice "
    "if it is part of the text."
)


def blocks(source: Opened, buffers: Buffers, end_of: EndOf = last_newline, open_end: bool = False) -> Iterator[Block]:
    """Split a source into blocks of whole records, each approximately as large as the buffers.

    With `open_end` the last block may end inside a record, which is an error otherwise.
    """
    carried, room = b"", buffers.size
    first, ended = source.span is None or source.span[0] == 0, False
    while not ended:
        memory, text = buffers.take(room)
        size = len(carried)
        memory[:size] = carried
        with memoryview(memory) as view:
            while size < room:
                got = source.readinto(view[size:room])
                size += got
                ended = got == 0
                if ended or not source.waiting():
                    break
        if first and memory.startswith(BYTE_ORDER_MARK, 0, size):
            memory[: size - 3] = memory[3:size]
            size -= 3
            first = False
        if ended:
            end = size
            if size and memory[size - 1] != 10:
                memory[size] = 10
                end += 1
            whole = end_of(memory, text, end)
            if whole < end and not open_end:
                raise BadData(OPEN_QUOTE, line=memory.count(b"\n", 0, whole) + 1)
        else:
            end = end_of(memory, text, size)
        if end == 0 and not ended:
            if size >= LINE_LIMIT:
                raise BadData(
                    f"A line may have up to {LINE_LIMIT >> 20} MiB; this one has more. Check that it is text with line ends "
                    "and that every quote is closed."
                )
            room = min(max(room, 2 * size), LINE_LIMIT)
            carried = bytes(memory[:size])
            continue
        first = False
        carried = bytes(memory[end:size]) if end < size else b""
        room = max(buffers.size, 2 * len(carried))
        if end:
            memory[end : end + PADDING] = b"\n" * PADDING
            yield Block(memory, text, end)
