"""Models that begin with a file of `rosenblatt train`: text is words in requests as well."""

import csv
import json
import pickle
import random

import numpy as np
import pytest

import rosenblatt
from rosenblatt.serve.events import Limits
from rosenblatt.serve.records import Records, opened, take_names
from rosenblatt.serve.store import Store
from tests.cli.helpers import call
from tests.serve.processes import Server
from tests.serve.test_faults import wait_until

PATH = "/v1/models/spam"
WORDS = {
    "spam": ["free", "offer", "win", "prize", "Über", "cash"],
    "ham": ["meeting", "notes", "lunch", "project", "tea"],
}


def records(count, seed=0):
    rng = random.Random(seed)
    for _ in range(count):
        label = rng.choice(["spam", "ham"])
        text = " ".join(rng.choices(WORDS[label] + ["the", "and", "a"], k=8))
        yield {"text": text, "hour": rng.randrange(24), "sender": rng.choice(["ann", "bob", "eve"])}, label


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Model files, by name."""
    folder = tmp_path_factory.mktemp("models")
    with (folder / "mails.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "hour", "sender", "label"])
        writer.writerows([*record.values(), label] for record, label in records(300))
    for name, options in {
        "plain": ["--algorithm", "averaged"],
        "default": [],
        "scaled": ["--algorithm", "perceptron", "--standardize"],
        "hashed": ["--algorithm", "passive", "--bits", "10"],
        "crossed": ["--algorithm", "arow", "--interactions", "sender*hour"],
    }.items():
        call("train", folder / "mails.csv", "-m", folder / f"{name}.model", "--quiet", *options)
    return folder


@pytest.mark.parametrize("name", ["plain", "default", "scaled", "hashed", "crossed"])
def test_requests_have_the_features_of_the_file(files, name):
    estimator = rosenblatt.load(files / f"{name}.model")
    served, _, _ = opened((files / f"{name}.model").read_bytes(), Limits())
    form = Records(served.encoder_.to_json())
    names = {feature: n for n, feature in enumerate(estimator.encoder_.names())}
    for record, _ in records(30, seed=1):
        found = form.expanded(record)
        assert list(found) == sorted(found)
        row = np.zeros(len(names))
        for feature, value in found.items():
            if feature in names:
                row[names[feature]] = value
        table = estimator._table([record], estimator.model_)
        expected = np.zeros(len(names))
        if table.sparse:
            expected[table.rows.indices] = table.rows.values
        else:
            expected[:] = np.asarray(table.rows)[0]
        assert np.array_equal(row, expected)
    again = Records(form.saved)  # what was read before has no effect
    assert again.expanded(record) == found
    assert form.expanded({"text": ["Free", "cash"]}) == form.expanded({"text": "free cash", "hour": None})


@pytest.mark.parametrize("name", ["plain", "default", "scaled", "hashed", "crossed"])
def test_a_model_begins_with_a_file_and_learns_on(files, tmp_path, name):
    store, file = f"sqlite:///{tmp_path}/log.db", files / f"{name}.model"
    estimator = rosenblatt.load(file)
    with Server(store, "--model", f"spam={file}", "--snapshot-every", "40") as server:
        wait_until(lambda: server.get(PATH)[0] == 200)
        facts = server.get(PATH)[1]
        assert facts["columns"].keys() >= {"text", "sender"}
        assert (facts["examples"], facts["classes"]) == (0, estimator.model_.classes)
        for record, _ in records(10, seed=2):
            assert server.post(f"{PATH}/score", {"features": record})[1]["prediction"] == estimator.predict_one(record)
        new = {"features": {"text": "unheard words of a new kind", "hour": 3, "sender": "zoe"}, "label": "work"}
        assert server.post(f"{PATH}/learn", new)[0] == 200
        lines = b"\n".join(
            json.dumps({"features": record, "label": label}).encode() for record, label in records(60, seed=3)
        )
        answers = server.post(f"{PATH}/learn", lines, kind="application/x-ndjson")[1]
        assert sum(answer["mistake"] for answer in answers) < 20
        assert server.post(f"{PATH}/predict", {"id": "p", "features": {"text": "free cash"}})[0] == 200
        assert server.post(f"{PATH}/challenger", {"algorithm": "perceptron"})[0] == 200
        assert server.post(f"{PATH}/reveal", {"id": "p", "label": "spam"})[0] == 200
        for wrong in ({"texts": "x"}, {"text": {"a": 1}}, [1.0], {"hour": "soon"}):
            assert server.post(f"{PATH}/learn", {"features": wrong, "label": "spam"})[0] == 422
        before = server.get(f"{PATH}/model")[1]
        server.kill()
    call("store", "check", "--store", store)  # from the file on, bit for bit
    with Server(store, "--model", f"spam={file}") as server:  # it exists: the file is not used again
        assert server.get(PATH)[1]["examples"] == 62
        assert server.get(PATH)[1]["challenger"]["examples"] == 0  # it had not predicted the one that was revealed
        (tmp_path / "served.model").write_bytes(server.get(f"{PATH}/model")[1])
        (tmp_path / "before.model").write_bytes(before)
        a, b = rosenblatt.load(tmp_path / "served.model"), rosenblatt.load(tmp_path / "before.model")
        assert a.coef_.tobytes() == b.coef_.tobytes()
        shown = json.loads(call("evaluate", tmp_path / "served.model", files / "mails.csv", "--json").stdout)
        assert shown["accuracy"] > 0.8
        for record, _ in records(10, seed=4):
            assert server.post(f"{PATH}/score", {"features": record})[1]["prediction"] == a.predict_one(record)
        assert server.post(f"{PATH}/clear")[1]["columns"] == facts["columns"]  # it is a setting
        assert server.post(f"{PATH}/learn", {"features": {"text": "free"}, "label": "spam"})[0] == 200
        status, content = server.get(f"{PATH}/model")
        assert server.stop() == 0
    if name == "hashed":  # its weights are in the order in which the hashes came
        assert status == 409
        assert "order of the hashes" in content["error"]
    else:
        (tmp_path / "new.model").write_bytes(content)
        shown = json.loads(call("evaluate", tmp_path / "new.model", files / "mails.csv", "--json").stdout)
        assert shown["examples"] == 300  # in a file without the columns of numbers, too
    call("store", "check", "--store", store)


@pytest.mark.parametrize("options", [[], ["--standardize"]])
def test_tables_of_numbers_only(tmp_path, options):
    rng = random.Random(5)
    rows = [{"hour": float(rng.randrange(24)), "size": rng.gauss(1, 2)} for _ in range(60)]
    with (tmp_path / "numbers.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["hour", "size", "label"])
        writer.writerows([*row.values(), "late" if row["hour"] > 12 else "early"] for row in rows)
    call("train", tmp_path / "numbers.csv", "-m", tmp_path / "m", "--quiet", "--algorithm", "averaged", *options)
    estimator = rosenblatt.load(tmp_path / "m")
    served, _, _ = opened((tmp_path / "m").read_bytes(), Limits())
    form = Records(served.encoder_.to_json())
    expected = np.asarray(estimator._table(rows, estimator.model_).rows)
    for row, values in zip(rows, expected, strict=True):
        assert form.expanded(row) == {name: value for name, value in zip(row, values, strict=True) if value}
    # after `clear` a model can have some of the columns only
    alone = rosenblatt.Perceptron()
    for row in rows:
        alone.learn_one({"size": form.expanded(row)["size"]}, "ab"[row["size"] > 1])
    take_names(alone, form.for_files)
    alone.save(tmp_path / "alone")
    loaded = rosenblatt.load(tmp_path / "alone")
    assert loaded.predict(rows).tolist() == [
        "ab"[int(alone.coef_[0, 0] * values[1] + alone.intercept_[0] >= 0)] for values in expected
    ]


def test_files_are_uploaded(files, store, tmp_path):
    secret = call("token", "add", "boss", "--rights", "admin", "--store", store).stdout.strip()
    other = call("token", "add", "other", "--rights", "learn", "--store", store).stdout.strip()
    data = (files / "plain.model").read_bytes()
    kind = "application/octet-stream"

    def put(body, token=secret, name="spam"):
        return server.request("PUT", f"/v1/models/{name}/model", body, token=token, kind=kind)

    with Server(store, "--max-upload", str(len(data) + 10), "--max-classes", "5") as server:
        assert put(data, other)[0] == 403
        status, facts = put(data)
        assert (status, facts["algorithm"], facts["log_begins_after"]) == (201, "averaged-perceptron", 1)
        status, answer = put(data)
        assert (status, "Upload under another name" in answer["error"]) == (409, True)
        for wrong in (pickle.dumps([1]), b"", data[:-20], data[:-1] + b"?", b"\x08" + bytes(7) + b"{}      "):
            status, answer = put(wrong, name="wrong")
            assert (status, "damaged" in answer["error"] or "changed" in answer["error"]) == (422, True)
        assert put(data + bytes(11))[0] == 413
        X = [[0.0], [1.0]]
        rosenblatt.KernelPerceptron().fit(X, ["a", "b"]).save(tmp_path / "kernel")
        rosenblatt.Perceptron().fit(np.eye(6), list("abcdef")).save(tmp_path / "many")
        rosenblatt.Perceptron().fit(X, ["a", "b"]).save(tmp_path / "numbers")
        assert "another kind" in put((tmp_path / "kernel").read_bytes(), name="kernel")[1]["error"]
        assert "5 classes" in put((tmp_path / "many").read_bytes(), name="many")[1]["error"]
        assert put((tmp_path / "numbers").read_bytes(), name="numbers")[0] == 201
        assert server.post("/v1/models/numbers/score", {"features": [1.0]}, token=secret)[1]["prediction"] == "b"
        assert [m["name"] for m in server.get("/v1/models", token=secret)[1]["models"]] == ["spam", "numbers"]
        assert server.post(f"{PATH}/learn", {"features": {"text": "free cash"}, "label": "spam"}, token=other)[0] == 200
    log = Store(store)
    assert [(event.kind, event.token) for event in log.events(1)] == [("upload", "boss"), ("learn", "other")]
    log.close()
    call("store", "import", store, "--model", "spam", "--store", tmp_path / "copy.db")
    call("store", "check", "--store", tmp_path / "copy.db")


def test_a_file_that_cannot_be_used_is_refused_before_the_start(files, tmp_path):
    (tmp_path / "bad.model").write_bytes(b"no model")
    for text, message in (
        (f"a={tmp_path}/bad.model", "damaged"),
        ("a", "NAME=FILE"),
        (f"a b={files}/plain.model", "name of a model"),
        (f"a={tmp_path}/none", "No such file"),
    ):
        done = call("serve", "--model", text, "--store", tmp_path / "s.db", code=1 if "none" in text else 2)
        assert message in done.stderr
