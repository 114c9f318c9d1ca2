"""Files on a cluster: split by ranges of bytes, they give the same examples, labels and features as on one machine."""

import gzip
import itertools
import json
import re

import numpy as np
import pytest

import rosenblatt as rb
import rosenblatt.dask as rd
from rosenblatt.data import BadData, open_stream, spans
from tests.cli.helpers import answer, call, numbers, svmlight
from tests.helpers import assert_same_model
from tests.old_model_cases import FOLDER, resumed_on_cluster

pytest.importorskip("distributed")

SETTINGS = {"max_iter": 3, "tol": None}


def pieces(path, size, **options):
    """All parts of a file, read separately."""
    stream = open_stream(path, **options)
    cuts = spans.split(str(path), range(size, path.stat().st_size, size), stream.format)
    cuts = [span for span in cuts if span[0] < span[1]]
    for span in cuts:
        part = open_stream(path, span=span, encoder=stream.encoder, **options)
        for batch in part:
            yield len(cuts), batch.first_line, [part.labels[code] for code in batch.codes]


@pytest.mark.parametrize("size", [40, 100, 1000])
def test_parts_of_text_hold_every_line_once(tmp_path, size):
    lines = [f"{k % 3} {k}:1 {k + 7}:{'9' * (k % 40 + 1)}" for k in range(1, 60)]
    for ending in ("", "\n"):
        path = tmp_path / "text.svm"
        path.write_text("\n".join(lines) + ending)
        labels = [label for _, _, part in pieces(path, size) for label in part]
        assert labels == [k % 3 for k in range(1, 60)]


@pytest.mark.parametrize("size", [50, 300])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_parts_of_tables_respect_quotes(tmp_path, size, mark):
    rows = [f'{k},"some, words\nand ""more"" {k}",{"yes" if k % 2 else "no"}' for k in range(40)]
    path = tmp_path / "table.csv"
    path.write_bytes(mark + ("\n".join(["number,text,label", *rows]) + "\n").encode())
    found = list(pieces(path, size))
    assert found[0][0] > 3
    assert [label for _, _, part in found for label in part] == ["yes" if k % 2 else "no" for k in range(40)]


def test_parts_of_parquet_are_row_groups(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"x": np.arange(100.0), "label": np.arange(100) % 2})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=10)
    found = list(pieces(tmp_path / "t.parquet", 300))
    assert found[0][0] > 2
    assert [label for _, _, part in found for label in part] == [k % 2 for k in range(100)]


def test_a_bad_line_is_named_by_its_number_in_the_file(tmp_path):
    path = tmp_path / "bad.svm"
    path.write_text("".join("1 1:1\n" if k != 70 else "1 oops\n" for k in range(1, 101)))
    with pytest.raises(BadData, match=r"bad\.svm, line 70: "):
        list(pieces(path, 100))


def test_shards_are_ranges_of_bytes(client, tmp_path):
    """One machine that learns the same shards in the same order gets the same weights."""
    files = [svmlight(tmp_path / f"{k}.svm", 100 + 50 * k, seed=k) for k in range(2)]
    made = rd.Perceptron(**SETTINGS, shuffle=False, shards=1).fit(str(tmp_path / "*.svm"), client=client)
    X, y = rb.read(files, one_based=False)
    alone = rb.Perceptron(**SETTINGS, shuffle=False).fit(X, y)
    assert made.coef_.tobytes() == alone.coef_.tobytes()
    cut = rd.Perceptron(**SETTINGS, shards=7).fit(files, client=client)
    assert len(cut.history_[0]["shard_mistakes"]) >= 7
    assert cut.history_[0]["examples"] == 250
    assert cut.to_local().score(X, y) > 0.7  # each file has another rule


def sizes(client, paths, shards=None, **reading):
    made = rd.Perceptron(max_iter=1, tol=None, shards=shards).fit(paths, client=client, reading=reading)
    return made.training_["shards"]["examples"]


@pytest.mark.parametrize("ending", ["", "\n"])
@pytest.mark.parametrize("kind", ["csv", "quoted.csv", "bare.csv", "tsv", "svm", "vw", "jsonl"])
def test_the_requested_number_of_shards_of_similar_size(client, tmp_path, kind, ending):
    row = {
        "csv": "{0},{1}", "quoted.csv": '{0},"{1}"', "bare.csv": "{0},{1}", "tsv": "{0}\t{1}", "svm": "{1} 1:{0}",
        "vw": "{1} |a x:{0}", "jsonl": '{{"x": {0}, "label": {1}}}',
    }[kind]  # fmt: skip
    names = {"csv": ["x,label"], "quoted.csv": ['"x","label"'], "tsv": ["x\tlabel"]}.get(kind, [])
    path = tmp_path / f"a.{kind}"
    path.write_text("\n".join([*names, *(row.format(1001 + k, 2 * (k % 2) - 1) for k in range(301))]) + ending)
    for shards in (2, 3, 7, 50):
        found = sizes(client, path, shards)
        assert len(found) == shards
        assert sum(found) == 301
        assert min(found) >= 301 // shards - 2
        assert max(found) <= 301 // shards + 3


def test_files_have_no_more_shards_than_lines(client, tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n0 2:1\n1 3:1\n")
    (tmp_path / "a.csv").write_text("x,label\n1,a\n2,b\n3,a\n")
    for name in ("a.svm", "a.csv"):
        for shards in (None, 100):
            assert sizes(client, tmp_path / name, shards) == [1, 1, 1]
    (tmp_path / "b.svm").write_text("1 1:1\n0 2:1\n" * 9)
    assert len(sizes(client, tmp_path / "b.svm", 13)) == 13


def test_shards_of_several_files(client, tmp_path):
    lines = [f"{k % 2} 1:{k}\n" for k in range(1000, 1300)]

    def write(*ends):
        for number, (a, b) in enumerate(itertools.pairwise(ends)):
            (tmp_path / f"{number}.svm").write_text("".join(lines[a:b]))
        return sizes(client, [tmp_path / f"{number}.svm" for number in range(len(ends) - 1)], 3)

    assert write(0, 300) == [100, 100, 100]
    assert write(0, 150, 300) == [100, 100, 100]
    assert write(0, 95, 205, 300) == [95, 110, 95]  # no shard of only a few lines
    assert write(0, 30, 60, 90, 120, 150, 180, 210, 240, 270, 300) == [90, 120, 90]
    assert write(0, 0, 300, 300) == [100, 100, 100]


def test_shards_of_row_groups_have_similar_sizes(client, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"x": np.arange(90.0), "text": ["the same words"] * 90, "label": np.arange(90) % 2})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=10)
    assert sizes(client, tmp_path / "t.parquet", 3) == [30, 30, 30]
    assert sizes(client, tmp_path / "t.parquet", 100) == [10] * 9


def test_the_error_for_an_open_quote_names_the_file(client, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,label\n" + '1,"a"\n2,"b"\n' * 20 + '3,"a\n')
    with pytest.raises(BadData, match=r"a\.csv, line 42: A quote must be closed"):
        sizes(client, path, 3)


def test_interactions_must_be_pairs(client, tmp_path):
    for wrong in ("height*width", "hw"):
        with pytest.raises(BadData, match=f"must be pairs of columns, .*; got '{re.escape(wrong)}'"):
            sizes(client, numbers(tmp_path / "n.csv", 20), interactions=[wrong])


def write_words(path, count=120):
    rng = np.random.default_rng(0)
    rows = []
    for k in range(count):
        words = " ".join(f"w{j}" for j in rng.integers(0, 10 + k // 2, 6))
        rows.append({"size": round(float(rng.normal()), 3), "colour": str(rng.choice(["red", "blue"])), "text": words,
                     "label": "yes" if "w3" in words or "w5" in words else "no"})  # fmt: skip
    if path.suffix == ".csv":
        lines = ["size,colour,text,label", *(f'{r["size"]},{r["colour"]},"{r["text"]}",{r["label"]}' for r in rows)]
    elif path.suffix == ".jsonl":
        lines = [json.dumps(r) for r in rows]
    else:
        lines = [
            f"{1 if r['label'] == 'yes' else -1} |t {r['text']} |c {r['colour']} |n size:{r['size']}" for r in rows
        ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("name", ["words.csv", "words.jsonl", "words.vw"])
def test_vocabularies_are_numbered_as_on_one_machine(client, tmp_path, name):
    path = write_words(tmp_path / name)
    one = rd.Perceptron(**SETTINGS, shuffle=False, shards=1).fit(path, client=client)
    many = rd.Perceptron(**SETTINGS, shards=5).fit(path, client=client)
    assert many.encoder_.names() == one.encoder_.names()
    serial = tmp_path / "serial.model"
    call(
        "train",
        path,
        "-m",
        serial,
        "-a",
        "perceptron",
        "--epochs",
        3,
        "--no-shuffle",
        "--set",
        "tol=None",
        "--quiet",
        "--no-standardize",
        "--words",
        "counts",
    )
    assert rb.load(serial).encoder_.names() == one.encoder_.names()
    assert one.coef_.tobytes() == rb.load(serial).coef_.tobytes()
    assert len(many.history_[0]["shard_mistakes"]) >= 4


def test_standardised_columns_have_the_moments_of_all_rows(client, tmp_path):
    path = numbers(tmp_path / "n.csv", 200)
    made = rd.PassiveAggressive(**SETTINGS, shards=4).fit(path, client=client, reading={"standardize": True})
    table = np.loadtxt(path, delimiter=",", skiprows=1, usecols=(0, 1, 2))
    assert made.encoder_.moments.mean == pytest.approx(table.mean(axis=0))
    assert np.sqrt(made.encoder_.moments.spread / 200) == pytest.approx(table.std(axis=0))


def test_compressed_and_small_files(client, tmp_path):
    for k in range(12):
        svmlight(tmp_path / f"{k:02}.svm", 20, seed=k)
    packed = tmp_path / "packed.svm.gz"
    packed.write_bytes(gzip.compress(b"".join((tmp_path / f"{k:02}.svm").read_bytes() for k in range(12))))
    together = rd.Perceptron(**SETTINGS, shards=4).fit(str(tmp_path / "*.svm"), client=client)
    assert 3 <= len(together.history_[0]["shard_mistakes"]) <= 6
    whole = rd.Perceptron(**SETTINGS, shards=4).fit(packed, client=client)
    assert len(whole.history_[0]["shard_mistakes"]) == 1
    assert whole.history_[0]["examples"] == together.history_[0]["examples"] == 240


def test_bad_files_are_named(client, tmp_path):
    with pytest.raises(BadData, match="No file matches"):
        rd.Perceptron().fit(str(tmp_path / "*.svm"), client=client)
    path = tmp_path / "bad.svm"
    path.write_text("".join("1 1:1\n0 2:1\n" if k != 70 else "1 oops\n" for k in range(100)))
    with pytest.raises(BadData, match=r"bad\.svm, line 141: A feature must be written"):
        rd.Perceptron(**SETTINGS, shards=6).fit(path, client=client)
    with pytest.raises(ValueError, match="standard input"):
        rd.Perceptron().fit("-", client=client)


def test_validation_files(client, tmp_path):
    path, other = svmlight(tmp_path / "a.svm", 200), svmlight(tmp_path / "b.svm", 50, seed=0)
    made = rd.Perceptron(**SETTINGS).fit(path, client=client, validation=str(other))
    assert made.history_[0]["held_out"] == 50
    epochs = []
    strange = tmp_path / "strange.svm"
    strange.write_text("7 1:1\n8 2:1\n")
    for wrong, words in ((strange, "must have labels of the shards, -1, 1; got 7, 8"), (tmp_path / "no.svm", "no.svm")):
        with pytest.raises((ValueError, OSError), match=words):
            rd.train(rb.Perceptron(), path, client=client, validation=str(wrong), on_epoch=epochs.append)
    assert not epochs


def test_a_validation_frame_may_have_another_order_than_the_file(client, tmp_path):
    import pandas as pd

    frame = pd.read_csv(numbers(tmp_path / "a.csv"))[["height", "width", "depth", "label"]]
    frame.to_csv(tmp_path / "a.csv", index=False)
    X, y = frame.drop(columns="label"), frame["label"]
    learner = rd.Perceptron(**SETTINGS)
    expected = learner.fit(tmp_path / "a.csv", client=client, validation=(X, y)).history_[0]["held_out_mistakes"]
    turned = learner.fit(tmp_path / "a.csv", client=client, validation=(X[X.columns[::-1]], y))
    assert turned.history_[0]["held_out_mistakes"] == expected


# ---- commands ----


def test_the_command_gives_the_same_model_as_the_function(client, tmp_path):
    path = svmlight(tmp_path / "a.svm", 300)
    model = tmp_path / "a.model"
    facts = answer("train", path, "-m", model, "-a", "averaged", "--epochs", 3, "--dask", client.scheduler.address,
                   "--shards", 6, "--mixing", "uniform", "--set", "tol=None", "--test", path)  # fmt: skip
    made = rd.AveragedPerceptron(**SETTINGS, shards=6, mixing="uniform").fit(path, client=client)
    assert_same_model(rb.load(model), made)
    assert facts["cluster"]["shards"] >= 6
    assert facts["cluster"]["weighted_mistakes"] == made.weighted_mistakes_
    assert facts["test"]["accuracy"] > 0.9
    assert [epoch["mistakes"] for epoch in facts["epochs"]] == made.mistakes_per_epoch_.tolist()
    assert call("evaluate", model, path, "--json").exit_code == 0
    more = answer("train", path, "-m", model, "--resume", "--epochs", 5, "--dask", client.scheduler.address)
    assert len(more["epochs"]) == 5


def test_errors_of_the_command(client, tmp_path, monkeypatch):
    monkeypatch.setenv("ROSENBLATT_DASK_TIMEOUT", "0.5")
    path = svmlight(tmp_path / "a.svm", 60)
    lost = call("train", path, "-m", tmp_path / "m", "--dask", "tcp://127.0.0.1:9", code=1)
    assert "none answered at tcp://127.0.0.1:9" in lost.stderr
    voted = call("train", path, "-m", tmp_path / "m", "--dask", client.scheduler.address, "-a", "voted", code=2)
    assert "AveragedPerceptron is close to a vote" in voted.stderr
    call("train", path, "-m", tmp_path / "m", "--epochs", 2, "--quiet")
    resumed = call(
        "train", path, "-m", tmp_path / "m", "--epochs", 4, "--resume", "--dask", client.scheduler.address, code=2
    )
    assert "continues a run on a cluster with the same data" in resumed.stderr
    here = ["train", path, "-m", tmp_path / "m", "--dask", client.scheduler.address, "--quiet"]
    call(*here, "--epochs", 1, "--shards", 4)
    assert "its `shards` is 4, not 5" in call(*here, "--resume", "--epochs", 2, "--shards", 5, code=2).stderr
    mixed = call(*here, "--resume", "--epochs", 2, "--mixing", "mistakes", code=2)
    assert "its `mixing` is 'uniform', not 'mistakes'" in mixed.stderr


def test_a_run_on_words_resumes_from_a_checkpoint(client, tmp_path):
    path = write_words(tmp_path / "words.csv")
    whole, cut = tmp_path / "whole.model", tmp_path / "cut.model"
    settings = ["--dask", client.scheduler.address, "--quiet"]
    call("train", path, "-m", whole, "--epochs", 3, "--set", "tol=None", *settings)
    call("train", path, "-m", cut, "--epochs", 1, "--set", "tol=None", *settings)
    call("train", path, "-m", cut, "--epochs", 3, "--resume", *settings)
    assert_same_model(rb.load(cut), rb.load(whole))


def test_replay_trains_on_the_log_of_the_service(client, tmp_path):
    pytest.importorskip("orjson")
    from rosenblatt.serve.replay import examples, open_log
    from tests.dask.logs import write_log

    log = write_log(tmp_path / "log.jsonl", 80)
    pairs = list(examples(open_log(str(log)), "weather"))
    assert len(pairs) == 80
    model = tmp_path / "again.model"
    printed = call(
        "replay", log, "--dask", client.scheduler.address, "--epochs", 5, "--shards", 4, "-o", model, "--json"
    )
    facts = json.loads(printed.stdout)
    assert facts["shards"] == 4
    assert facts["examples"] == 80
    made = rb.load(model)
    assert sum(made.predict_one(x) == label for x, label in pairs) >= 76
    for place in (tmp_path, tmp_path / "absent" / "again.model"):  # refused before connecting to a cluster
        refused = call("replay", log, "--dask", "tcp://127.0.0.1:9", "-o", place, code=2)
        assert "cannot be written" in refused.stderr
    assert "--shards needs --dask" in call("replay", log, "--shards", 4, code=2).stderr
    assert "mistakes" in call("replay", log, "--dask", client.scheduler.address, "-a", "passive").stdout


def test_an_unknown_reading_option_is_refused(client, tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("1 1:1\n-1 2:1\n")
    with pytest.raises(ValueError, match=r"`reading` must have options of open_stream \(format, .*; got 'labels'"):
        rd.Perceptron().fit(path, client=client, reading={"labels": 0})


def test_a_run_of_an_earlier_version_can_be_resumed(client, tmp_path):
    stored = json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))["dask"]["resumed"]
    assert resumed_on_cluster(FOLDER / "dask.model", tmp_path / "copy.model", client) == stored
