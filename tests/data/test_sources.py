"""Files, globs, pipes and compression, and errors that concern a whole file."""

import gzip
import io
import os
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest

import rosenblatt
from rosenblatt.data import BadData, open_stream, sources
from tests.helpers import unreadable

LINES = b"".join(b"%d %d:1 %d:0.5\n" % (k % 2, k % 97, 100 + k % 31) for k in range(20000))


def count(path, **options):
    return sum(batch.size for batch in open_stream(path, **options))


def zstd(path, data):
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        file.write(data)


def test_compression_is_found_by_content(tmp_path):
    (tmp_path / "plain").write_bytes(LINES)
    (tmp_path / "gzip").write_bytes(gzip.compress(LINES[: len(LINES) // 2]) + gzip.compress(LINES[len(LINES) // 2 :]))
    zstd(tmp_path / "zstd", LINES)
    expected = rosenblatt.read(tmp_path / "plain")
    for name in ("gzip", "zstd"):
        stream = open_stream(tmp_path / name)
        assert stream.format == "svmlight"
        X, y = rosenblatt.read(tmp_path / name)
        assert (expected[0] != X).nnz == 0
        assert (y == expected[1]).all()


def test_several_files_are_read_as_one(tmp_path):
    for k in range(3):
        (tmp_path / f"part{k}.csv").write_text(f"a,y\n{k},u\n{k + 10},v\n")
    (tmp_path / "part3.csv").write_text("y,a\nw,7\n")
    X, y = rosenblatt.read(str(tmp_path / "part*.csv"))
    assert X.ravel().tolist() == [0, 10, 1, 11, 2, 12, 7]
    assert y.tolist() == ["u", "v", "u", "v", "u", "v", "w"]
    X, y = rosenblatt.read([tmp_path / "part1.csv", tmp_path / "part0.csv"])
    assert X.ravel().tolist() == [1, 11, 0, 10]
    (tmp_path / "part1.csv").write_text("a,y\n1,u\nx,v\n")
    with pytest.raises(BadData, match=r"part1.csv, line 3: "):
        rosenblatt.read(str(tmp_path / "part*.csv"))


def test_progress(tmp_path):
    (tmp_path / "x.svm.gz").write_bytes(gzip.compress(16 * LINES))  # more than gzip reads at once
    stream = open_stream(tmp_path / "x.svm.gz", batch_bytes=1 << 14, threads=2)
    assert stream.bytes_total == (tmp_path / "x.svm.gz").stat().st_size
    for _ in range(2):
        seen = [stream.bytes_read for _ in stream]
        assert seen == sorted(seen)
        assert seen[0] < seen[-1] == stream.bytes_total


def test_a_pipe_is_read_without_waiting_for_its_end(monkeypatch):
    """Lines that have arrived are returned while the writer waits."""
    reader, writer = os.pipe()
    with open(reader, "rb", closefd=True) as file:  # noqa: PTH123
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(file.raw)))
        go_on = threading.Event()

        def write():
            os.write(writer, b"1 1:1\n2 2:1\n1 ")
            go_on.wait(20)
            os.write(writer, b"3:1\n")
            os.close(writer)

        thread = threading.Thread(target=write)
        thread.start()
        batches = iter(open_stream("-"))
        assert next(batches).size == 2
        go_on.set()
        assert [batch.rows.indices.tolist() for batch in batches] == [[3]]
        thread.join()


def test_compressed_standard_input_in_a_process(tmp_path):
    code = "import rosenblatt; X, y = rosenblatt.read('-'); print(X.shape, y[:3])"
    done = subprocess.run([sys.executable, "-c", code], input=gzip.compress(LINES), capture_output=True, check=True)
    assert done.stdout.split(b"\n")[0] == b"(20000, 131) [0 1 0]"


@pytest.mark.parametrize("keep", [0.5, 0.9, 0.999])
def test_truncated_gzip_is_refused(tmp_path, keep):
    data = gzip.compress(LINES)
    path = tmp_path / "x.svm.gz"
    path.write_bytes(data[: int(keep * len(data))])
    with pytest.raises(BadData, match="ends in the middle"):
        count(path)


def test_broken_gzip_is_refused(tmp_path):
    data = bytearray(gzip.compress(LINES))
    data[len(data) // 2] ^= 0xFF
    (tmp_path / "x.svm.gz").write_bytes(data)
    with pytest.raises(BadData, match=r"x\.svm\.gz"):
        count(tmp_path / "x.svm.gz")


def test_truncated_zstd_is_refused(tmp_path):
    zstd(tmp_path / "whole", LINES)
    data = (tmp_path / "whole").read_bytes()
    (tmp_path / "x.svm.zst").write_bytes(data[: len(data) // 2])
    with pytest.raises(BadData, match=r"x\.svm\.zst"):
        count(tmp_path / "x.svm.zst")


def test_long_lines_up_to_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "LINE_LIMIT", 1 << 16)
    path = tmp_path / "x.svm"
    long = b"1" + b" 5:1" * 10000 + b"\n"
    path.write_bytes(b"1 1:1\n" + long + b"0 2:1\n")
    (first, *_) = open_stream(path, batch_bytes=100)
    assert first.size == 1
    assert count(path, batch_bytes=100) == 3
    path.write_bytes(b"1 1:1\n" * 1000 + b"1" + b" 5:1" * 20000)
    with pytest.raises(BadData, match="line 1001: A line may have up to") as caught:
        count(path, batch_bytes=100)
    assert caught.value.line == 1001


def test_the_error_for_an_open_quote_of_a_large_file(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "LINE_LIMIT", 1 << 16)
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b,y\n" + b'1,"u",0\n' * 50000 + b'2,"v,1\n' + b"3,w,0\n" * 50000)
    with pytest.raises(BadData, match="every quote is closed") as caught:
        count(path, batch_bytes=4096)
    assert caught.value.line == 50002


@pytest.mark.slow
def test_a_line_of_a_gigabyte_takes_little_memory(tmp_path):
    with (tmp_path / "x.svm").open("wb") as file:
        file.write(b"1 1:1\n")
        file.truncate(1 << 30)
    code = f"""
from rosenblatt.data import BadData, open_stream
try:
    list(open_stream({str(tmp_path / "x.svm")!r}))
except BadData as error:
    print(error)
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split("\n")
    assert "line 2: A line may have up to 64 MiB" in done[0]
    assert int(done[1]) < 600_000


@pytest.mark.parametrize("name", ["x.svm", "x.csv", "x.tsv", "x.vw", "x.jsonl", "x"])
@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_empty_files_are_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadData, match=name):
        count(tmp_path / name)


def test_a_file_with_only_a_header_is_refused(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"a,b,y\n")
    with pytest.raises(BadData, match="rows"):
        count(tmp_path / "x.csv", header=True)


def test_folders_and_missing_files_are_refused(tmp_path):
    with pytest.raises(BadData, match="this is a folder"):
        open_stream(tmp_path)
    with pytest.raises(BadData, match="none with this name"):
        open_stream(tmp_path / "nothing")
    with pytest.raises(BadData, match="No file matches"):
        open_stream(str(tmp_path / "*.csv"))
    with pytest.raises(BadData, match="No file was given"):
        open_stream([])


def test_no_permission(tmp_path):
    (tmp_path / "x.svm").write_bytes(LINES)
    with unreadable(tmp_path / "x.svm") as path, pytest.raises(BadData, match="no permission"):
        open_stream(path)


def test_bad_parquet_files_are_refused(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"hello")
    with pytest.raises(BadData, match="begin with PAR1"):
        open_stream(tmp_path / "x.parquet")
    (tmp_path / "y.parquet").write_bytes(b"PAR1 and then nothing of use")
    with pytest.raises(BadData, match="cannot be read"):
        open_stream(tmp_path / "y.parquet")


def test_a_wrong_format_is_refused(tmp_path):
    (tmp_path / "x.svm").write_bytes(LINES)
    (tmp_path / "x.csv").write_bytes(b"a,y\n1,2\n")
    stream = open_stream(tmp_path / "x.svm")
    with pytest.raises(BadData, match="was trained on svmlight text"):
        open_stream(tmp_path / "x.csv", encoder=stream.encoder)
    with pytest.raises(BadData, match="`format` must be one of"):
        open_stream(tmp_path / "x.csv", format="xml")


def test_stopping_early_leaves_no_thread(tmp_path):
    (tmp_path / "x.svm").write_bytes(LINES)
    before = threading.active_count()
    for _ in open_stream(tmp_path / "x.svm", batch_bytes=1000, threads=2):
        break
    assert threading.active_count() == before


def test_reading_imports_no_heavy_library(tmp_path):
    (tmp_path / "x.svm").write_bytes(LINES)
    code = (
        f"import sys; from rosenblatt.data import open_stream; list(open_stream({str(tmp_path / 'x.svm')!r})); "
        "print(sorted({'sklearn', 'pandas', 'pyarrow', 'scipy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "sklearn" not in done.stdout
    assert "pandas" not in done.stdout
    assert "pyarrow" not in done.stdout


@pytest.mark.parametrize("batch_bytes", [0, -1])
def test_batches_must_have_at_least_1_byte(tmp_path, batch_bytes):
    (tmp_path / "x.svm").write_bytes(LINES)
    with pytest.raises(ValueError, match="`batch_bytes` must be at least 1; got"):
        open_stream(tmp_path / "x.svm", batch_bytes=batch_bytes)


@pytest.mark.parametrize("borrowed", range(-1, 4))
def test_arrays_are_reused_only_without_other_references(monkeypatch, borrowed):
    """Independent of the references that Python itself counts: 3.14 counts fewer for a call than earlier versions."""
    count = sys.getrefcount
    monkeypatch.setattr(sys, "getrefcount", lambda array: count(array) - borrowed)
    spare = sources.Spare(lambda size: (np.empty(size), np.empty(size)))
    first = spare.take(10)
    places = [array.ctypes.data for array in first]
    view = first[1][:5]
    assert [array.ctypes.data for array in spare.take(10)] != places
    del first
    assert [array.ctypes.data for array in spare.take(10)] != places
    del view
    assert [array.ctypes.data for array in spare.take(10)] == places


@pytest.mark.parametrize("batch_bytes", [1, 2, 3, 4, 100])
def test_byte_order_mark(tmp_path, batch_bytes):
    (tmp_path / "x.svm").write_bytes(b"\xef\xbb\xbf1 1:2\n0 2:1\n")
    stream = open_stream(tmp_path / "x.svm", batch_bytes=batch_bytes)
    for _ in range(2):
        assert sum(batch.size for batch in stream) == 2
    assert stream.labels == [1, 0]


@pytest.mark.parametrize(
    ("text", "line"),
    [('a,b,y\n1,2,0\n2,"v,1\n3,w,0\n', 3), ('a,y\n1,u\n2,"v\n3,w\n', 3), ('a,y\n1,"u\nv"\n2,"w""', 4)],
)
def test_an_open_quote_is_refused(tmp_path, text, line):
    (tmp_path / "x.csv").write_text(text)
    for batch_bytes in (1, 1 << 20):
        with pytest.raises(BadData, match="A quote must be closed") as caught:
            count(tmp_path / "x.csv", batch_bytes=batch_bytes)
        assert caught.value.line == line


def test_messages_of_other_libraries_end_with_one_full_stop(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and then nothing of use")
    with pytest.raises(BadData) as caught:
        open_stream(tmp_path / "x.parquet")
    assert ".." not in caught.value.message
