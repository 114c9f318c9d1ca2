"""`rosenblatt export`: C headers and ONNX graphs."""

import onnx
import pytest

import rosenblatt as rb
from tests.cli.helpers import call


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    place = tmp_path_factory.mktemp("export")
    (place / "a.svm").write_text("1 0:1 2:0.5\n0 1:1\n1 0:2\n0 1:1 2:2\n" * 5)
    call("train", place / "a.svm", "-m", place / "a.model", "--epochs", 2)
    return place / "a.model"


def test_a_header_is_that_of_python(model, tmp_path):
    loaded = rb.load(model)
    assert call("export", model, "--to", "c").stdout == loaded.to_c("model")
    assert call("export", model, "--to", "c", "--name", "filter", "--learn").stdout == loaded.to_c("filter", learn=True)
    call("export", model, "--to", "c", "-o", tmp_path / "2-spam.h")
    assert (tmp_path / "2-spam.h").read_text() == loaded.to_c("_2_spam")


def test_a_graph_is_that_of_python(model, tmp_path):
    call("export", model, "--to", "onnx", "-o", tmp_path / "a.onnx")
    assert onnx.load(tmp_path / "a.onnx") == rb.load(model).to_onnx()


def test_wrong_usage(model, tmp_path):
    assert "Give one with -o" in call("export", model, "--to", "onnx", code=2).stderr
    assert (
        "--learn is for --to c" in call("export", model, "--to", "onnx", "-o", tmp_path / "x", "--learn", code=2).stderr
    )
    assert "a name of C" in call("export", model, "--to", "c", "--name", "a b", code=2).stderr
    call("train", model.parent / "a.svm", "-m", tmp_path / "voted.model", "-a", "voted", "--epochs", 1)
    assert "predicts by votes" in call("export", tmp_path / "voted.model", "--to", "c", code=2).stderr
    assert not (tmp_path / "x").exists()
