"""Precision, recall and F1 of chunks against seqeval, which counts them as the scorer of CoNLL does."""

import random

import pytest
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities

from rosenblatt.sequences.chunks import chunks, compare, has_chunks

BIO = ["O", "B-A", "I-A", "B-B", "I-B"]
BIOES = [*BIO, "E-A", "S-A", "E-B", "S-B"]
UNTYPED = ["O", "B", "I", "E", "S"]


@pytest.mark.parametrize("tags", [BIO, BIOES, UNTYPED, ["O", "B", "I-A"]])
@pytest.mark.filterwarnings("ignore")
def test_chunks_are_those_of_seqeval(tags):
    rng = random.Random(0)
    sentences = [[rng.choice(tags) for _ in range(rng.randint(1, 9))] for _ in range(600)]
    for sentence in sentences:
        assert chunks(sentence) == get_entities(sentence)
    guesses = [[tag if rng.random() < 0.8 else rng.choice(tags) for tag in sentence] for sentence in sentences]
    overall = compare(sentences, guesses).overall
    assert overall.precision == precision_score(sentences, guesses)
    assert overall.recall == recall_score(sentences, guesses)
    assert overall.f1 == pytest.approx(f1_score(sentences, guesses), rel=1e-12)


def test_tags_that_are_not_of_chunks_have_an_accuracy_only():
    report = compare([["NOUN", "VERB"], []], [["NOUN", "NOUN"], []])
    assert report.accuracy == 0.5
    assert report.by_type == {}
    assert "F1" not in report.to_text()
    assert not has_chunks(["B-", "O"])
    assert not has_chunks(["O"])


def test_the_counts_of_a_small_example():
    report = compare([["B-A", "I-A", "O"], ["B-B"]], [["B-A", "O", "O"], ["B-B"]])
    assert (report.overall.true, report.overall.predicted, report.overall.right) == (2, 2, 1)
    assert report.by_type["A"].f1 == 0.0
    assert report.by_type["B"].f1 == 1.0
    assert report.whole == 1
    assert report.to_json()["chunks"]["f1"] == 0.5


def test_a_tag_that_is_not_of_a_chunk_is_named():
    report = compare([["B-A", "-X-"]], [["B-A", "O"]])
    assert report.by_type == {}
    assert "got '-X-'" in report.to_text()
    assert "got '-X-'" in report.to_json()["note"]
    assert "note" not in compare([["B-A", "O"]], [["B-A", "O"]]).to_json()
    assert "note" not in compare([["NOUN", "X-Y"]], [["NOUN", "O"]]).to_json()
