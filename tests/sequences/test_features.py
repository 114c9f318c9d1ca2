"""Features of tokens: templates against plain Python, and what sklearn-crfsuite takes against the same lists of names."""

import random
import re

import numpy as np
import pytest

import rosenblatt
from rosenblatt import SequencePerceptron
from rosenblatt.sequences.encoding import Vocabulary, encode, feature_name
from rosenblatt.sequences.templates import WORDS, WORDS_AND_POS, parse

STRINGS = [
    "the",
    "The",
    "U.S.",
    "IBM-5100",
    "naïve",
    "Ünïcödé",
    "ΣΟΦΟΣ",
    "日本語",
    "😀x",
    "1868",
    "x",
    "-",
    "ß",
    "don't",
    "aAA11",
    "İx",
]


def python_shape(word):
    kinds = ["X" if c.isupper() or c.istitle() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in word]
    return re.sub(r"([Xxd])\1{2,}", r"\1\1", "".join(kinds))


def python_value(part, sentence, place, columns):
    """The value of one part of a template as a Python function would compute it; None for no feature."""
    text = part.replace(" ", "")
    offset = re.search(r"\[([+-]?\d+)\]", text)
    name = re.search(r"(\w+)(?:\[[+-]?\d+\])?\)*$", text)[1]
    at = place + (int(offset[1]) if offset else 0)
    if not 0 <= at < len(sentence):
        return "(outside)"
    token = sentence[at]
    value = token if isinstance(token, str) else token[columns.index(name)]
    value = value.lower() if "lower(" in text else value
    if found := re.match(r"(prefix|suffix)(\d+)\(", text):
        return value[: int(found[2])] if found[1] == "prefix" else value[-int(found[2]) :]
    if text.startswith("shape("):
        return python_shape(value)
    for function, test in (
        ("digit", str.isdigit), ("upper", lambda c: c.isupper() or c.istitle()), ("hyphen", "-".__eq__),
    ):  # fmt: skip
        if text.startswith(function + "("):
            return "1" if any(map(test, value)) else None
    return value


def python_features(templates, sentence, place, columns):
    found = []
    for template in templates:
        values = (
            [python_value(part, sentence, place, columns) for part in template.split("|")] if template != "bias" else []
        )
        if None not in values:
            found.append(f"{template}={'|'.join(values)}" if values else template)
    return found


def decoded(X, templates, columns):
    parsed, vocabulary = parse(templates, columns), Vocabulary()
    batch = encode(X, parsed, vocabulary, True)
    names = [feature_name(tuple(key), vocabulary, parsed) for key in batch.keys.tolist()[1:]]
    spans = zip(batch.feature_start[:-1], batch.feature_start[1:], strict=True)
    return [[names[k - 1] for k in batch.feature[a:b]] for a, b in spans]


@pytest.mark.parametrize(
    ("templates", "columns"),
    [
        (WORDS, ("word",)),
        (WORDS_AND_POS, ("word", "pos")),
        (
            ("suffix2(lower(word[-1]))|pos|prefix1(word[2])", "upper(pos)", "bias", "digit( word )|hyphen(word)"),
            ("word", "pos"),
        ),
        (("word[-300]", "lower(word)", "suffix99(word)"), ("word", "unused")),
    ],
)
def test_templates_give_what_a_python_function_would_give(templates, columns):
    rng = random.Random(0)
    make = (
        (lambda: rng.choice(STRINGS))
        if len(columns) == 1
        else (lambda: (rng.choice(STRINGS), rng.choice(["NN", "Vb-1"])))
    )
    X = [[make() for _ in range(rng.randint(0, 6))] for _ in range(60)]
    want = [python_features(templates, s, place, columns) for s in X for place in range(len(s))]
    assert decoded(X, list(templates), columns) == want


def test_a_list_of_names_a_dict_and_templates_learn_the_same():
    rng = random.Random(1)
    X = [[rng.choice(STRINGS) for _ in range(rng.randint(1, 6))] for _ in range(50)]
    y = [[rng.choice("AB") if word > "b" else "C" for word in s] for s in X]
    lists = [[python_features(WORDS, s, place, ["word"]) for place in range(len(s))] for s in X]
    dicts = [[dict.fromkeys(names, True) for names in s] for s in lists]
    split = [[dict(name.split("=", 1) if "=" in name else (name, 1) for name in names) for names in s] for s in lists]
    models = [
        SequencePerceptron(templates=templates, max_iter=3).fit(features, y)
        for features, templates in ((X, "words"), (lists, None), (dicts, None), (split, None))
    ]
    first = sorted(models[0].state_features())
    for model in models[1:3]:
        assert sorted(model.state_features()) == first
    assert sorted((name.replace(":", "="), *rest) for name, *rest in models[3].state_features()) == first
    for model, features in zip(models, (X, lists, dicts, split), strict=True):
        assert model.predict(features) == models[0].predict(X)
        assert (model.transitions_ == models[0].transitions_).all()


def test_dicts_are_read_as_crfsuite_reads_them():
    token = {
        "word": "dog",
        "bias": 1.5,
        "upper": False,
        "title": True,
        "tags": ["a", "b"],
        "near": {"x": 2, "y": "z"},
        "s": {"q"},
    }
    model = SequencePerceptron(templates=None, readout="last").partial_fit([[token]], [["N"]])
    want = {
        "word:dog": 1.0,
        "bias": 1.5,
        "title": 1.0,
        "tags:a": 1.0,
        "tags:b": 1.0,
        "near:x": 2.0,
        "near:y:z": 1.0,
        "s:q": 1.0,
    }
    assert {name: weight for name, _, weight in model.state_features()} == want


def test_a_feature_that_occurs_twice_counts_twice():
    model = SequencePerceptron(templates=None, readout="last").partial_fit([[["a", "a", "b"]]], [["N"]])
    assert {name: weight for name, _, weight in model.state_features()} == {"a": 2.0, "b": 1.0}


def test_many_tags_and_values_do_not_overflow():
    """Differences of many features at once, with a bias feature in every token."""
    size = 3000
    model = SequencePerceptron(templates=None, readout="last")
    model.partial_fit([[["bias"]] * size], [["A"] * size])
    assert {name: weight for name, _, weight in model.state_features()} == {"bias": float(size)}
    assert model.transitions_.tolist() == [[size - 1.0]]


def test_rows_are_made_when_a_feature_is_first_updated():
    model = SequencePerceptron(templates=None).partial_fit([[["a"]], [["a", "never"]]], [["X"], ["X"]])
    assert model.n_features_ == 1
    assert model.updates_ == 1


@pytest.mark.slow
def test_a_sentence_of_100_000_tokens():
    words = [f"w{k % 5000}" for k in range(100_000)]
    tags = ["AB"[k % 2] for k in range(100_000)]
    model = SequencePerceptron(templates=["word", "word[-1]|word[0]", "bias"])
    model.learn_one(words, tags)
    assert model.predict_one(words) == tags


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([["a", "b"]], [["X"]], "2 tokens and 1 tags in sentence 0"),
        ([["a"]], [["X"], ["Y"]], "1 sentences and 2 lists"),
        (["a b"], [["X", "Y"]], "list"),
        ("a", ["X"], "list of sentences"),
        ([["a"]], ["X"], "list with a tag"),
        ([[1]], [["X"]], "A token must be a string"),
        ([[("a", "b")]], [["X"]], "A token must be"),
        ([["a\0b"]], [["X"]], "NUL"),
        ([["a"]], [[0.5]], "A tag must be"),
        ([["a"]], [[None]], "A tag must be"),
        ([[{"a": "b"}]], [["X"]], "templates=None"),
        ([], [], "at least one sentence"),
        ([[]], [[]], "at least one sentence"),
    ],
)
def test_bad_sentences_are_refused_with_a_reason(X, y, words):
    model = SequencePerceptron()
    with pytest.raises(ValueError, match=re.escape(words)):
        model.fit(X, y)
    assert not hasattr(model, "_chain")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e200, None, object()])
def test_a_value_that_is_no_number_is_refused(value):
    model = SequencePerceptron(templates=None).fit([[{"a": 1}]], [["X"]])
    before = model.state_features()
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="value of a feature"):
            call([[{"a": 1, "b": value}]], [["Y"]])
    with pytest.raises(ValueError, match="value of a feature"):
        model.learn_one([{"a": 1, "b": value}], ["Y"])
    with pytest.raises(ValueError, match="value of a feature"):
        model.predict([[{"b": value}]])
    assert model.state_features() == before
    assert model.classes_.tolist() == ["X"]


@pytest.mark.parametrize(
    ("templates", "words"),
    [
        (["word[0]", "suffx3(word)"], "suffx3(word)"),
        (["a|b|c|d"], "one to three parts"),
        (["word[0"], "word[0"),
        (["suffix3(word[0]"], "suffix3(word[0]"),
        (["bias"], "must use a column"),
        ([], "between 1 and"),
        ("letters", "words"),
        (3, "templates"),
    ],
)
def test_unknown_templates_are_refused(templates, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        SequencePerceptron(templates=templates).fit([["a"]], [["X"]])


def test_columns_must_fit_the_templates():
    with pytest.raises(ValueError, match="pos"):
        SequencePerceptron(templates=["pos[0]"], columns=["word"]).fit([["a"]], [["X"]])
    with pytest.raises(ValueError, match="differ"):
        SequencePerceptron(templates=["word"], columns=["word", "word"]).fit([[("a", "b")]], [["X"]])


def test_empty_sentences_are_kept_in_predictions_and_not_learned():
    model = SequencePerceptron().fit([["a"], [], ["b"]], [["X"], [], ["Y"]])
    assert model.predict([[], ["a"], []])[0] == model.predict([[]])[0] == []
    assert len(model.predict([[], ["a"], []])) == 3
    assert model.learn_one([], []) == []
    assert model.predict([]) == []


def test_a_model_that_has_not_learned_says_so():
    from sklearn.exceptions import NotFittedError

    model = SequencePerceptron()
    assert model.predict_one(["a"]) is None
    for call in (lambda: model.predict([["a"]]), lambda: model.transitions_, model.state_features):
        with pytest.raises(NotFittedError, match="fit"):
            call()
    with pytest.raises(ValueError, match="not learned"):
        model.save("nowhere")


def test_explain_and_state_features_check_their_arguments():
    model = SequencePerceptron().fit([["a"]], [["X"]])
    with pytest.raises(ValueError, match="from 0 to 0"):
        model.explain(["a"], 1)
    with pytest.raises(ValueError, match="one of X"):
        model.explain(["a"], 0, "Y")
    with pytest.raises(ValueError, match="one of X"):
        model.state_features("Y")


def test_predictions_do_not_add_strings_or_features():
    model = SequencePerceptron().fit([["a", "b"]], [["X", "Y"]])
    before = len(model._chain.vocabulary), model.n_features_
    model.predict([[f"new{k}" for k in range(100)]])
    model.predict_one(["another"])
    assert (len(model._chain.vocabulary), model.n_features_) == before


def test_large_predictions_are_those_of_their_parts(monkeypatch):
    rng = np.random.RandomState(0)
    X = [[f"w{k}" for k in rng.randint(0, 50, rng.randint(0, 9))] for _ in range(200)]
    y = [["AB"[int(word[1:]) % 2] for word in s] for s in X]
    model = SequencePerceptron(max_iter=2).fit(X, y)
    whole = model.predict(X)
    monkeypatch.setattr("rosenblatt.learners.sequence_perceptron._CHUNK", 20)
    assert model.predict(X) == whole == [model.predict_one(x) for x in X]


def test_scikit_learn_can_clone_and_search():
    from sklearn.base import clone

    model = SequencePerceptron(rule="arow", r=3.0, templates=["word"])
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(ValueError, match="rule"):
        SequencePerceptron(rule="crf").fit([["a"]], [["X"]])


def test_the_benchmark_gives_its_peers_the_same_features():
    sequences = pytest.importorskip("benchmarks.sequences", reason="needs the benchmarks' folder")
    words = [["The", "well-known", "U.S.", "1868"], ["x"], ["aaAAA-11"]]
    for templates, columns, function, X in (
        (WORDS, ["word"], sequences.word_features, words),
        (WORDS_AND_POS, ["word", "pos"], sequences.chunk_features, [[(word, word[:1]) for word in s] for s in words]),
    ):
        for sentence in X:
            assert function(sentence) == [
                python_features(templates, sentence, t, columns) for t in range(len(sentence))
            ]


def test_messages_say_what_to_do():
    X, y = [["a", "b"]], [["A", "B"]]
    with pytest.raises(ValueError, match=r"got generator. Call list\(\) on it"):
        SequencePerceptron().fit((x for x in X), y)
    with pytest.raises(ValueError, match="A token must be a string; got '1'"):
        SequencePerceptron().fit([[1]], [["A"]])
    with pytest.raises(ValueError, match="of a tagger"):
        rosenblatt.trace(X, y, algorithm="sequence-perceptron")
