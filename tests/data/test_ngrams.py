"""Phrases, sequences of characters and weights of words, compared with scikit-learn's vectorizers."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.preprocessing import normalize

import rosenblatt as rb
from rosenblatt.data import BadData, Encoder, open_stream

TEXTS = st.lists(st.text(st.sampled_from("aB cé ßÜж我1_-.!,  'x\u00a0\u2003"), max_size=25), min_size=1, max_size=12)


def written(folder, texts, name="texts.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps({"text": text, "label": k % 2}) + "\n" for k, text in enumerate(texts)))
    return path


def rows_of(path, **options):
    """The rows as dicts by the names of the features."""
    stream = open_stream(path, types={"text": "words", "label": "number"}, label="label", standardize=False, **options)
    found = []
    for batch in stream:
        indptr, indices, values = batch.rows
        for a, b in itertools.pairwise(indptr):
            found.append(dict(zip(indices[a:b].tolist(), values[a:b].tolist())))
    names = stream.encoder.names()
    return [{names[i]: value for i, value in row.items()} for row in found], stream


def expected(vectorizer, texts, weigh=lambda counts: counts):
    counts = weigh(vectorizer.fit_transform(texts).astype(float)).tocsr()
    names = vectorizer.get_feature_names_out()
    return [
        dict(zip(names[counts.indices[a:b]].tolist(), counts.data[a:b].tolist()))
        for a, b in zip(counts.indptr[:-1], counts.indptr[1:])
    ]


def usable(texts):
    """The texts that are not missing values, with one that has a word."""
    missing = {"", "na", "n/a", "nan", "null", "none", "?"}
    return [text if text.strip().lower() not in missing else "x" for text in texts] + ["abc b"]


@given(TEXTS, st.sampled_from([(1, 1), (1, 2), (2, 2), (1, 3), (3, 4)]))
def test_phrases_are_those_of_scikit_learn(tmp_path_factory, texts, ngrams):
    texts = [*usable(texts), "a b c d e"]
    path = written(tmp_path_factory.mktemp("texts"), texts)
    found, _ = rows_of(path, ngrams=ngrams)
    vectorizer = CountVectorizer(token_pattern=r"(?u)\w+", ngram_range=ngrams)
    assert found == expected(vectorizer, texts)


@given(TEXTS, st.sampled_from([(1, 1), (2, 3), (3, 5), (4, 4), (1, 10)]))
def test_sequences_of_characters_are_those_of_scikit_learn(tmp_path_factory, texts, ngrams):
    texts = usable(texts)
    path = written(tmp_path_factory.mktemp("texts"), texts)
    found, _ = rows_of(path, ngrams=(0, 0), char_ngrams=ngrams)
    wanted = expected(CountVectorizer(analyzer="char_wb", ngram_range=ngrams), texts)
    assert found == [{f"~{name}": value for name, value in row.items()} for row in wanted]


def weighted(texts, vectorizer, tfidf):
    """Rows of 1 + log of counts, with tf-idf weights if asked, of length 1."""
    if tfidf:
        return expected(vectorizer, texts, TfidfTransformer(sublinear_tf=True).fit_transform)

    def weigh(counts):
        counts.data = 1.0 + np.log(counts.data)
        return normalize(counts)

    return expected(vectorizer, texts, weigh)


def close(found, wanted):
    assert [row.keys() for row in found] == [row.keys() for row in wanted]
    for one, two in zip(found, wanted):
        assert list(one.values()) == pytest.approx([two[name] for name in one], rel=1e-12)


@given(TEXTS, st.sampled_from([(1, 1), (1, 2)]), st.booleans())
def test_weights_are_those_of_scikit_learn(tmp_path_factory, texts, ngrams, tfidf):
    texts = [*usable(texts), "b b abc B"]
    path = written(tmp_path_factory.mktemp("texts"), texts)
    found, _ = rows_of(path, ngrams=ngrams, word_weights="tfidf" if tfidf else "log", ahead=np.inf)
    close(found, weighted(texts, CountVectorizer(token_pattern=r"(?u)\w+", ngram_range=ngrams), tfidf))


@given(TEXTS)
def test_on_a_stream_each_row_is_weighed_by_the_rows_up_to_it(tmp_path_factory, texts):
    texts = ["abc b", *usable(texts)]
    path = written(tmp_path_factory.mktemp("texts"), texts)
    found, _ = rows_of(path, word_weights="tfidf")
    for k, row in enumerate(found):
        wanted = weighted(texts[: k + 1], CountVectorizer(token_pattern=r"(?u)\w+"), True)[-1]
        close([row], [wanted])


SPAM = ["free money now", "see you at nine", "free free tickets", "", "money is not free", "nine tickets"] * 30


def as_csv(folder, name, texts, first=0):
    path = folder / name
    rows = [f'{k % 7},"{text}, {k % 5}",{"ab"[k % 3 % 2]}' for k, text in enumerate(texts, first)]
    path.write_text("\n".join(["n,text,label", *rows, ""]))
    return path


@pytest.mark.parametrize(
    "options", [{}, {"bits": 10}, {"ngrams": (1, 2), "char_ngrams": (2, 3)}, {"word_weights": "log"}]
)
@pytest.mark.parametrize("threads", [1, 3])
def test_the_size_of_batches_changes_nothing(tmp_path, options, threads):
    path = as_csv(tmp_path, "a.csv", SPAM)
    options = {"word_weights": "tfidf", "standardize": True, "interactions": [("n", "text")], **options}
    whole = open_stream(path, threads=1, **options)
    wanted = rows_bytes(whole)
    some = open_stream(path, batch_bytes=100, threads=threads, **options)
    assert rows_bytes(some) == wanted
    assert some.encoder.to_json() == whole.encoder.to_json()


def rows_bytes(stream):
    parts = [batch.rows for batch in stream]
    joined = [np.concatenate([part[k] for part in parts]) for k in (1, 2)]
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    return [array.tobytes() for array in (*joined, lengths)]


@pytest.mark.parametrize("family", ["csv", "svm", "vw"])
def test_a_stream_is_continued_exactly(tmp_path, family):
    if family == "csv":
        both, one, two = (as_csv(tmp_path, name, texts, first) for name, texts, first in (
            ("both.csv", SPAM, 0), ("one.csv", SPAM[:77], 0), ("two.csv", SPAM[77:], 77)
        ))  # fmt: skip
    else:
        lines = [f"{k % 2} {'' if family == 'svm' else '|t '}{k % 5 + 1}:2 {k % 7 + 9}:1\n" for k in range(100)]
        both, one, two = (tmp_path / f"{name}.{family}" for name in ("both", "one", "two"))
        for path, part in ((both, lines), (one, lines[:33]), (two, lines[33:])):
            path.write_text("".join(part))
    whole = open_stream(both, word_weights="tfidf")
    wanted = rows_bytes(whole)
    first = open_stream(one, word_weights="tfidf")
    begun = list(first)
    encoder = Encoder.from_json(json.loads(json.dumps(first.encoder.to_json())))
    encoder.learned_moments = False
    second = open_stream(two, encoder=encoder)
    assert rows_bytes([*begun, *second]) == wanted
    assert encoder.to_json() == whole.encoder.to_json()


def test_prediction_uses_the_frequencies_and_leaves_them_alone(tmp_path):
    texts = ["free money", "you nine", "free tickets"]
    path = written(tmp_path, texts)
    _, stream = rows_of(path, word_weights="tfidf")
    encoder = Encoder.from_json(stream.encoder.to_json())
    encoder.freeze()
    before = encoder.to_json()
    rows = [batch.rows for batch in open_stream(written(tmp_path, ["free nine strange"], "new.jsonl"), encoder=encoder)]
    vectorizer = CountVectorizer().fit(texts)
    transformer = TfidfTransformer(sublinear_tf=True).fit(vectorizer.transform(texts))
    wanted = transformer.transform(vectorizer.transform(["free nine strange"]))
    assert sorted(rows[0].values) == pytest.approx(sorted(wanted.data))
    assert encoder.to_json() == before


def test_words_of_svmlight_and_vw_text_are_weighed_if_asked(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1 2:3\n-1 2:1 3:0.5\n")
    X, _ = rb.read(tmp_path / "a.svm", word_weights="log")
    counts = np.array([[1.0, 1.0 + np.log(3.0), 0.0], [0.0, 1.0, 0.5]])
    assert X.toarray() == pytest.approx(counts / np.linalg.norm(counts, axis=1, keepdims=True))
    (tmp_path / "a.vw").write_text("1 |t a b:3\n-1 |t b c:0.5\n")
    X, _ = rb.read(tmp_path / "a.vw", word_weights="log")
    assert X.toarray() == pytest.approx(counts / np.linalg.norm(counts, axis=1, keepdims=True))
    X, _ = rb.read(tmp_path / "a.vw", word_weights=None)
    assert X.max() == 3.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ngrams": (2, 1)}, "`ngrams` must be two whole numbers"),
        ({"ngrams": (1, 11)}, "between 1 and 10"),
        ({"char_ngrams": (0, 2)}, "`char_ngrams` must be two"),
        ({"ngrams": (0, 0)}, "nothing of a text would be used"),
        ({"word_weights": "idf"}, "must be one of log, counts, tfidf"),
    ],
)
def test_wrong_options(tmp_path, options, message):
    with pytest.raises(BadData, match=message):
        open_stream(written(tmp_path, ["a b"]), **options)


def test_phrases_need_columns(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1 2:3\n-1 2:1 3:0.5\n")
    with pytest.raises(BadData, match="svmlight and VW text have none"):
        open_stream(tmp_path / "a.svm", ngrams=(1, 2))
