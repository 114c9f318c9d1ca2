"""Model files: a loaded model equals the saved one, and a file that cannot be used raises a clear error."""

import json
import os
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
import scipy.sparse as sp
from sklearn.base import clone

import rosenblatt as rb
from rosenblatt.model_file import BadModel
from tests import user_rules
from tests.helpers import LEARNERS, LOOPS, STREAMING, assert_same_model, blobs, csr

DATA = {
    "two": blobs(),
    "three": blobs(classes=3),
    "float32": blobs(dtype=np.float32),
    "sparse": (csr(blobs()[0]), blobs()[1]),
}


def combinations(names):
    return [(name, data) for name in names for data in DATA if data != "float32" or name in LOOPS]


KERNELS = {
    "poly": rb.KernelPerceptron(degree=2),
    "average": rb.KernelPerceptron(kernel="rbf", gamma=0.5, readout="average"),
    "vote": rb.KernelPerceptron(readout="vote", multiclass="ovr"),
    "random": rb.KernelPerceptron(budget=10),
    "forgetron": rb.KernelPerceptron(budget=10, budget_policy="forgetron"),
    "projectron": rb.KernelPerceptron(budget=10, budget_policy="projectron++"),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.model"


def saved_and_loaded(model, path, **given):
    model.save(path)
    return rb.load(path, **given)


def fit(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(X, y)


@pytest.mark.parametrize(("name", "data"), combinations(LEARNERS))
def test_a_loaded_model_equals_the_saved_one(name, data, path):
    X, y = DATA[data]
    model = fit(LEARNERS[name], X, y)
    loaded = saved_and_loaded(model, path)
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert_same_model(loaded, model)
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    assert set(vars(loaded)) == set(vars(model))
    assert loaded.converged_ == model.converged_
    assert str(loaded.certificate_) == str(model.certificate_)


@pytest.mark.parametrize(("name", "data"), combinations(STREAMING))
def test_a_loaded_model_continues_to_learn(name, data, path):
    X, y = DATA[data]
    whole = clone(STREAMING[name]).partial_fit(X, y)
    part = clone(STREAMING[name]).partial_fit(X[:23], y[:23])
    resumed = saved_and_loaded(part, path).partial_fit(X[23:41], y[23:41])
    resumed = saved_and_loaded(resumed, path).partial_fit(X[41:], y[41:])
    assert_same_model(resumed, whole)


@pytest.mark.parametrize("name", STREAMING)
def test_a_loaded_model_continues_a_stream_of_dicts(name, path):
    def stream(numbers):
        rng = np.random.default_rng(1)
        for t in range(80):
            x = {(f"w{j}" if j % 2 else int(j)): 1.0 for j in rng.integers(0, 5 + t // 4, 4)}
            label = "abc"[int(rng.integers(3 if t > 30 else 2))]
            if t in numbers:
                yield x, label

    whole, part = clone(STREAMING[name]), clone(STREAMING[name])
    for x, label in stream(range(80)):
        whole.learn_one(x, label)
    for x, label in stream(range(25)):
        part.learn_one(x, label)
    resumed = saved_and_loaded(part, path)
    for x, label in stream(range(25, 80)):
        resumed.learn_one(x, label)
    assert_same_model(resumed, whole)
    assert list(resumed.model_.features) == list(whole.model_.features)


@pytest.mark.parametrize("data", ["two", "three", "sparse"])
@pytest.mark.parametrize("name", KERNELS)
def test_a_loaded_kernel_model_equals_the_saved_one_and_continues(name, data, path):
    X, y = DATA[data]
    fitted = fit(KERNELS[name].set_params(max_iter=3), X, y)
    loaded = saved_and_loaded(fitted, path)
    assert np.array_equal(loaded.decision_function(X), fitted.decision_function(X))
    assert np.array_equal(loaded.dual_coef_, fitted.dual_coef_)
    whole = clone(KERNELS[name]).partial_fit(X[:30], y[:30])
    resumed = saved_and_loaded(whole, path)
    for model in (whole, resumed):
        model.partial_fit(X[30:], y[30:])
    assert np.array_equal(whole.decision_function(X), resumed.decision_function(X))
    assert np.array_equal(whole.support_, resumed.support_)
    assert whole.mistakes_ == resumed.mistakes_


def test_a_loaded_kernel_model_continues_a_stream_of_dicts(path):
    whole = rb.KernelPerceptron()
    rows = [({"a": t % 3, "b": 1.0, f"c{t % 5}": 2.0}, "xy"[t % 7 < 3]) for t in range(30)]
    for x, label in rows[:15]:
        whole.learn_one(x, label)
    resumed = saved_and_loaded(whole, path)
    for x, label in rows[15:]:
        assert whole.learn_one(x, label) == resumed.learn_one(x, label)


def test_loading_a_user_defined_kernel_needs_the_kernel(path):
    X, y = blobs()

    def kernel(A, B):
        return (A @ B.T + 1.0) ** 2

    model = rb.KernelPerceptron(kernel=kernel, max_iter=3, tol=None).fit(X, y)
    model.save(path)
    with pytest.raises(ValueError, match="trained with a kernel function"):
        rb.load(path)
    assert np.array_equal(rb.load(path, kernel=kernel).predict(X), model.predict(X))


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-1, 1], [1.0, 2.0], ["ü", "日本"]])
def test_labels_keep_their_types(labels, path):
    model = rb.Perceptron().fit([[0.0], [1.0]], labels)
    loaded = saved_and_loaded(model, path)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.classes_.tolist() == labels
    assert [type(label) for label in loaded.model_.classes] == [type(label) for label in labels]


def test_the_columns_of_a_frame_keep_their_names(path):
    frame = pd.DataFrame({"height": [0.0, 1.0, 2.0], "width": [1.0, 0.0, 5.0]})
    model = rb.Perceptron().fit(frame, [0, 1, 1])
    loaded = saved_and_loaded(model, path)
    assert loaded.feature_names_in_.tolist() == ["height", "width"]
    assert loaded.predict(frame).tolist() == model.predict(frame).tolist()
    assert loaded.predict_one({"height": 2.0, "width": 5.0}) == 1


def test_unusual_parameters_are_restored(path):
    X, y = blobs()
    model = rb.Perceptron(
        random_state=np.random.RandomState(5), class_weight={0: 2.0, 1: 1.0}, tol=float("inf"), max_iter=50
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    loaded = saved_and_loaded(model, path)
    assert loaded.class_weight == {0: 2.0, 1: 1.0}
    assert loaded.tol == float("inf")
    assert loaded.random_state.randint(1000) == model.random_state.randint(1000)


def test_a_mostly_zero_model_gives_a_small_file(path):
    X = sp.csr_array(([1.0, -2.0], ([0, 1], [7, 199_999])), shape=(2, 200_000))
    model = rb.AveragedPerceptron().fit(X, ["a", "b"])
    loaded = saved_and_loaded(model, path)
    assert path.stat().st_size < 20_000
    assert_same_model(loaded, model)


# ---- user-defined rules ----


@pytest.mark.parametrize("rule", [user_rules.Cautious, user_rules.Mean, user_rules.Vote])
def test_a_user_defined_rule_needs_its_class_only_for_learning(rule, path):
    X, y = blobs()
    whole, part = rule().partial_fit(X, y), rule().partial_fit(X[:30], y[:30])
    part.save(path)
    alone = rb.load(path)
    assert type(alone).__name__ == rule.__name__
    assert np.array_equal(alone.decision_function(X), part.decision_function(X))
    for learn in (alone.fit, alone.partial_fit):
        with pytest.raises(ValueError, match="can predict but not learn"):
            learn(X, y)
    with pytest.raises(ValueError, match="can predict but not learn"):
        alone.learn_one(X[0], y[0])
    assert_same_model(rb.load(path, rule=rule).partial_fit(X[30:], y[30:]), whole)


def test_loading_with_another_rule_than_the_saved_one(path):
    X, y = blobs()
    user_rules.Cautious().fit(X, y).save(path)
    with pytest.raises(ValueError, match="must be the class that was saved, Cautious; got Mean"):
        rb.load(path, rule=user_rules.Mean)

    @rb.rule(target=1.0)
    def Cautious(margin, sq_norm, C=0.1):  # noqa: N802
        return min(C, max(0.0, 2.0 - margin) / sq_norm)

    with pytest.warns(UserWarning, match="source of the rule Cautious has changed"):
        rb.load(path, rule=Cautious)


# ---- files that cannot be used ----


@pytest.fixture
def model(path):
    X, y = blobs()
    rb.AveragedPerceptron().fit(X, y).save(path)
    return path


def change(path, edit, resign=True):
    """Edit the header and arrays of a model file; recompute the checksum if `resign`."""
    from rosenblatt.model_file import container

    tensors = safetensors.numpy.load_file(path)
    with safetensors.safe_open(path, framework="np") as file:
        metadata = dict(file.metadata())
    header = json.loads(metadata["rosenblatt"])
    edit(header, tensors)
    metadata["rosenblatt"] = json.dumps(header)
    if resign:
        metadata["sha256"] = container._digest(metadata["rosenblatt"], tensors)
    safetensors.numpy.save_file(tensors, path, metadata)


def test_a_truncated_file_is_refused(model):
    whole = model.read_bytes()
    for size in sorted({0, 5, 8, 9, 100, len(whole) // 3, len(whole) // 2, len(whole) - 8, len(whole) - 1}):
        model.write_bytes(whole[:size])
        with pytest.raises(BadModel):
            rb.load(model)


def test_a_flipped_bit_is_found(model):
    whole = bytearray(model.read_bytes())
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(whole), 150).tolist():
        changed = whole.copy()
        changed[place] ^= 1 << int(rng.integers(8))
        model.write_bytes(changed)
        with pytest.raises(BadModel):
            rb.load(model)


def test_files_that_are_not_models_are_refused(tmp_path):
    text = tmp_path / "text"
    text.write_text("label,height\n1,2\n")
    with pytest.raises(BadModel, match="is not a rosenblatt model, which begins with a safetensors header"):
        rb.load(text)
    other = tmp_path / "other.safetensors"
    safetensors.numpy.save_file({"x": np.zeros(3)}, other)
    with pytest.raises(BadModel, match="but not a rosenblatt model"):
        rb.load(other)
    pickled = tmp_path / "pickle"
    pickled.write_bytes(b"\x80\x04cos\nsystem\n(S'echo no'\ntR.")
    with pytest.raises(BadModel):
        rb.load(pickled)
    with pytest.raises(FileNotFoundError):
        rb.load(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        rb.load(tmp_path)


def test_a_file_of_a_newer_version_is_refused(model):
    change(model, lambda header, tensors: header.update(format=99, library="9.0"))
    with pytest.raises(BadModel, match=r"written by a newer rosenblatt \(9\.0, model format 99\).*Upgrade"):
        rb.load(model)


def test_a_wrong_checksum_is_refused(model):
    change(model, lambda header, tensors: tensors[weights(tensors)].fill(1.0), resign=False)
    with pytest.raises(BadModel, match="checksum"):
        rb.load(model)


def core(header, name):
    return next(pair for pair in header["core"]["dict"] if pair[0] == name)


def weights(tensors):
    return next(name for name, value in tensors.items() if value.shape == (5,) and name.startswith("core"))


TAMPERED = {
    "fewer weights": lambda header, tensors: tensors.update({weights(tensors): np.zeros(4)}),
    "no numbers": lambda header, tensors: tensors.update({weights(tensors): np.full(5, np.nan)}),
    "another type": lambda header, tensors: tensors.update({weights(tensors): np.zeros(5, np.float32)}),
    "an array gone": lambda header, tensors: tensors.pop(weights(tensors)),
    "more features": lambda header, tensors: core(header, "n_features").__setitem__(1, 10**9),
    "negative features": lambda header, tensors: core(header, "n_features").__setitem__(1, -1),
    "more classes": lambda header, tensors: core(header, "classes").__setitem__(1, [0, 1, 2, 3]),
    "a class twice": lambda header, tensors: core(header, "classes").__setitem__(1, [0, 0]),
    "no rule": lambda header, tensors: core(header, "rule").__setitem__(1, {"dict": []}),
    "an unknown readout": lambda header, tensors: core(header, "readout").__setitem__(1, "guess"),
    "an unknown learner": lambda header, tensors: header.update({"class": "os.system"}),
    "another learner": lambda header, tensors: header.update({"class": "PassiveAggressive"}),
    "an unknown parameter": lambda header, tensors: header["parameters"]["dict"].append(["__class__", 1]),
    "an attribute that is a method": lambda header, tensors: header["fitted"]["dict"].append(["predict", 1]),
    "an unknown kind": lambda header, tensors: header.update(core={"pickle": "x"}),
    "no core": lambda header, tensors: header.pop("core"),
    "not even a dict": lambda header, tensors: header.update(core=7),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_manipulated_file_with_a_correct_checksum_is_refused(name, model):
    change(model, TAMPERED[name])
    with pytest.raises((BadModel, ValueError), match=r"model|algorithm"):
        rb.load(model)


def test_updates_outside_the_support_are_refused(path):
    X, y = blobs()
    rb.VotedPerceptron(max_iter=3, tol=None).fit(X, y).save(path)

    def edit(header, tensors):
        name = next(
            n for n, v in tensors.items() if v.dtype == np.int64 and v.ndim == 1 and v.size > 10 and "core" in n
        )
        tensors[name][0] = 10**9

    change(path, edit)
    with pytest.raises(BadModel, match="list of updates"):
        rb.load(path)


def test_kernel_updates_outside_the_support_are_refused(path):
    X, y = blobs()
    rb.KernelPerceptron(max_iter=2, tol=None).fit(X, y).save(path)

    def edit(header, tensors):
        records = dict(map(tuple, core(header, "records")[1]["dict"]))
        tensors[records["event_row"]["array"]][0] = -5

    change(path, edit)
    with pytest.raises(BadModel, match="updates"):
        rb.load(path)


# ---- writing ----


def test_only_a_fitted_model_can_be_saved(path):
    with pytest.raises(ValueError, match="has not learned anything yet"):
        rb.Perceptron().save(path)
    with pytest.raises(ValueError, match="has not learned anything yet"):
        rb.KernelPerceptron().save(path)
    assert not path.exists()


def test_a_failed_save_keeps_the_old_file_and_leaves_no_other(model):
    before = model.read_bytes()
    bad = rb.Perceptron().fit(*blobs())
    bad.note_ = object()
    with pytest.raises(ValueError, match="A model file holds"):
        bad.save(model)
    assert model.read_bytes() == before
    assert [path.name for path in model.parent.iterdir()] == [model.name]


def test_a_full_disk_keeps_the_old_file(model):
    """A process with a limit of 1,000 bytes per file gets the error of a full disk: a failure in the middle of writing."""
    before = model.read_bytes()
    assert len(before) > 1000
    script = (
        "import sys, resource, signal, rosenblatt\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "model = rosenblatt.load(sys.argv[1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))\n"
        "try:\n    model.save(sys.argv[1])\nexcept OSError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", script, model], capture_output=True, text=True, check=True)
    assert "File too large" in run.stdout
    assert model.read_bytes() == before
    assert [path.name for path in model.parent.iterdir()] == [model.name]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this device exists on Linux only")
def test_saving_to_a_full_device_raises():
    with pytest.raises(OSError, match="No space left"):
        rb.Perceptron().fit(*blobs()).save("/dev/full")
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_permissions_and_links_are_kept(model):
    model.chmod(0o640)
    link = model.with_name("link")
    link.symlink_to(model)
    rb.Perceptron().fit(*blobs()).save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(model.stat().st_mode) == 0o640
    fresh = model.with_name("fresh")
    rb.Perceptron().fit(*blobs()).save(fresh)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(fresh.stat().st_mode) == 0o666 & ~umask


def test_saving_to_a_missing_folder_raises(tmp_path):
    with pytest.raises(FileNotFoundError):
        rb.Perceptron().fit(*blobs()).save(tmp_path / "absent" / "model")
    with pytest.raises(IsADirectoryError):
        rb.Perceptron().fit(*blobs()).save(tmp_path)


def test_loading_executes_no_code(model, monkeypatch):
    """The class named in the file is looked up among the learners, not imported."""
    change(model, lambda header, tensors: header.update({"class": "antigravity"}))
    monkeypatch.setattr("builtins.exec", None)
    with pytest.raises(ValueError, match="algorithm must be one of"):
        rb.load(model)


def test_files_in_memory_are_those_of_safetensors():
    from safetensors.numpy import load, save

    from rosenblatt.model_file import container

    kinds = ["bool", "u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
    tensors = {f"{kind} {n}": np.arange(n).astype(kind) for kind in kinds for n in (0, 1, 5)}
    tensors |= {"a table": np.arange(12.0).reshape(3, 4)[:, ::2], "ü": np.ones((2, 0)), "a number": np.array(3.0)}
    data = container.to_bytes({"kind": "test", "text": "ü"}, tensors)
    for found in (load(data), container.from_bytes(data, "it")[1]):
        assert found.keys() == tensors.keys()
        for name, array in tensors.items():
            assert found[name].dtype == array.dtype
            assert found[name].tobytes() == array.tobytes()
            assert found[name].shape == array.shape
    whole = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    assert len(save(whole, {"rosenblatt": "x"})) % 8 == len(data) % 8
