"""Model files of taggers: the same predictions and the same further learning; damaged files are refused."""

import numpy as np
import pytest
from safetensors.numpy import load_file

import rosenblatt
from rosenblatt import SequencePerceptron
from rosenblatt.model_file import BadModel, pack
from rosenblatt.model_file.container import to_bytes
from tests.sequences.problems import assert_same_bits, sentences

WORDS = [["Ångström", "visited", "the", "well-known", "café", "in", "1868"], ["the", "café", "\ud800", "is", "old"]]
TAGS = [["N", "V", "D", "A", "N", "P", "NUM"], ["D", "N", "X", "V", "A"]]


@pytest.mark.parametrize("rule", ["perceptron", "passive-aggressive", "arow"])
@pytest.mark.parametrize("readout", ["last", "average"])
def test_a_loaded_model_predicts_and_learns_as_before(tmp_path, rule, readout):
    X, y = sentences(3, count=40)
    model = SequencePerceptron(templates=None, rule=rule, readout=readout).fit(X[:20], y[:20])
    model.save(tmp_path / "m")
    loaded = rosenblatt.load(tmp_path / "m")
    assert loaded.get_params() == model.get_params()
    assert loaded.predict(X) == model.predict(X)
    assert_same_bits(loaded, model)
    loaded.set_params(readout=readout)
    model.set_params(readout=readout)
    assert [loaded.learn_one(x, t) for x, t in zip(X, y, strict=True)] == [
        model.learn_one(x, t) for x, t in zip(X, y, strict=True)
    ]
    assert_same_bits(loaded, model)
    if rule != "arow":
        assert loaded.certificate_ == model.certificate_


def test_templates_and_their_strings_come_back(tmp_path):
    model = SequencePerceptron().fit(WORDS, TAGS)
    model.save(tmp_path / "m")
    loaded = rosenblatt.load(tmp_path / "m")
    assert loaded.predict(WORDS) == model.predict(WORDS) == TAGS
    assert sorted(loaded.state_features()) == sorted(model.state_features())
    loaded.learn_one(["brand", "new"], ["A", "A"])
    assert ("word[0]=brand", "A") in {(name, tag) for name, tag, _ in loaded.state_features()}


def test_a_file_does_not_depend_on_the_order_in_which_features_were_met(tmp_path):
    rng = np.random.RandomState(0)
    X = [[f"{rng.choice(list('ab'))}{word}" for word in rng.randint(0, 500, 6)] for _ in range(60)]
    y = [["B" if rng.rand() < 0.05 else word[0].upper() for word in words] for words in X]
    model = SequencePerceptron(templates=["word", "prefix1(word)", "word[-1]"]).partial_fit(X[:30], y[:30])
    model.save(tmp_path / "m")
    loaded = rosenblatt.load(tmp_path / "m")
    for one in (model, loaded):
        one.partial_fit(X[30:], y[30:])
    model.save(tmp_path / "m")
    loaded.save(tmp_path / "n")
    one, other = load_file(tmp_path / "m"), load_file(tmp_path / "n")
    assert one.keys() == other.keys()
    assert all(one[name].tobytes() == other[name].tobytes() for name in one)
    assert loaded.n_features_ == model.n_features_ == rosenblatt.load(tmp_path / "n").n_features_


def test_only_features_with_weights_are_in_the_file(tmp_path):
    model = SequencePerceptron(templates=None).fit([[["used"], ["used"]]] * 3, [["X", "Y"]] * 3)
    model.partial_fit([[["used", "seen"], ["used"]]], [["X", "Y"]])
    model.save(tmp_path / "m")
    text = (tmp_path / "m").read_bytes()
    assert b"used" in text
    assert b"seen" not in text


def test_a_perceptron_stores_whole_numbers(tmp_path):
    X, y = sentences(0)
    SequencePerceptron(templates=None).fit(X, y).save(tmp_path / "m")
    kinds = [array.dtype for array in load_file(tmp_path / "m").values() if array.size > 10]
    assert len(kinds) > 5
    assert all(kind.kind in "iu" and kind.itemsize <= 4 for kind in kinds)


@pytest.mark.parametrize("how", ["large", "negative", "float", "short", "long"])
def test_a_damaged_file_is_refused_or_safe(tmp_path, how):
    model = SequencePerceptron(rule="arow").fit(WORDS, TAGS)
    header, tensors = pack(model)
    refused = 0
    for name, array in tensors.items():
        path = tmp_path / "m"
        path.write_bytes(to_bytes(header, tensors | {name: changed(array, how)}))
        try:
            loaded = rosenblatt.load(path)
        except BadModel:
            refused += 1
            continue
        loaded.learn_one(WORDS[0], TAGS[0])
        loaded.predict(WORDS)
    assert refused > len(tensors) // 3


def changed(array, how):
    array = np.array(array)
    if how == "large":
        array.flat[array.size // 2] = np.iinfo(array.dtype).max if array.dtype.kind in "iu" else np.nan
    elif how == "negative":
        array.flat[array.size // 2] = 255 if array.dtype.kind == "u" else -1
    elif how == "float":
        array = array.astype(np.float64) + 0.5
    return array[:-1] if how == "short" else np.concatenate([array, array[:1]]) if how == "long" else array


def test_a_file_with_another_core_is_refused(tmp_path):
    header, tensors = pack(SequencePerceptron().fit(WORDS, TAGS))
    for change in ({"kind": "linear"}, {"kind": "kernel"}, {"class": "Perceptron"}):
        (tmp_path / "m").write_bytes(to_bytes({**header, **change}, tensors))
        with pytest.raises((BadModel, ValueError)):
            rosenblatt.load(tmp_path / "m")
