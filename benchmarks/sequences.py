"""Benchmarks of taggers of sequences, compared with CRFsuite and NLTK on the same features. All times are CPU times.

The folder of the data has ``sequences/conll2000``, ``sequences/ud_ewt`` and ``sequences/wnut17``, each with ``train.conll.gz``,
``dev.conll.gz`` and ``test.conll.gz``: tokens in columns with the tag in the last one.
"""

import functools
import gzip
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt import SequencePerceptron
from rosenblatt.sequences.chunks import compare as count_chunks

from .harness import SMALLER, Options, Row, measure

EPOCHS, SEEDS = 10, 5
RULES = {"ap": "perceptron", "pa": "passive-aggressive", "arow": "arow"}
"""Algorithms of CRFsuite and ours."""

Sentences = list[list[Any]]
NO_DATA = "needs --data with the folder sequences"


@functools.cache
def read(folder: Path, name: str, *parts: str) -> tuple[Sentences, list[list[str]]]:
    """The tokens (a word, or a tuple of columns) and tags of the parts of a data set."""
    X, y = [], []
    for part in parts:
        with gzip.open(folder / "sequences" / name / f"{part}.conll.gz", "rt", encoding="utf-8") as file:
            for sentence in file.read().split("\n\n"):
                tokens = [line.split("\t") for line in sentence.splitlines() if line]
                if tokens:
                    X.append([token[0] if len(token) == 2 else tuple(token[:-1]) for token in tokens])
                    y.append([token[-1] for token in tokens])
    return X, y


SETS = {
    "conll2000": ("chunks of CoNLL-2000", "words+pos"),
    "ud_ewt": ("parts of speech of EWT", "words"),
    "wnut17": ("names of WNUT17", "words"),
}


def sets(options: Options, *names: str) -> Iterator[tuple[str, str, str, Any, Any, Any, Any]]:
    """Name, title, templates, and training and test data."""
    for name in names:
        if options.data is not None and (options.data / "sequences" / name).exists():
            (X, y), (X_test, y_test) = read(options.data, name, "train", "dev"), read(options.data, name, "test")
            if SETS[name][1] == "words":
                X, X_test = ([[t if isinstance(t, str) else t[0] for t in s] for s in part] for part in (X, X_test))
            size = options.size(len(X))
            yield name, *SETS[name], X[:size], y[:size], X_test, y_test


# ---- the same features in Python, as users of CRFsuite write them ----


def chunk_features(sentence: list[tuple[str, str]]) -> list[list[str]]:
    """The features of `WORDS_AND_POS`."""
    words = ["(outside)", "(outside)", *(word for word, _ in sentence), "(outside)", "(outside)"]
    tags = ["(outside)", "(outside)", *(tag for _, tag in sentence), "(outside)", "(outside)"]
    found = []
    for t in range(2, len(sentence) + 2):
        a, b, c, d, e = tags[t - 2 : t + 3]
        found.append([
            f"word[-2]={words[t - 2]}", f"word[-1]={words[t - 1]}", f"word[0]={words[t]}", f"word[1]={words[t + 1]}",
            f"word[2]={words[t + 2]}", f"word[-1]|word[0]={words[t - 1]}|{words[t]}",
            f"word[0]|word[1]={words[t]}|{words[t + 1]}",
            f"pos[-2]={a}", f"pos[-1]={b}", f"pos[0]={c}", f"pos[1]={d}", f"pos[2]={e}", f"pos[-2]|pos[-1]={a}|{b}",
            f"pos[-1]|pos[0]={b}|{c}", f"pos[0]|pos[1]={c}|{d}", f"pos[1]|pos[2]={d}|{e}", f"pos[-2]|pos[-1]|pos[0]={a}|{b}|{c}",
            f"pos[-1]|pos[0]|pos[1]={b}|{c}|{d}", f"pos[0]|pos[1]|pos[2]={c}|{d}|{e}",
        ])  # fmt: skip
    return found


_CLASSES = {**dict.fromkeys(map(chr, range(65, 91)), "X"), **dict.fromkeys(map(chr, range(97, 123)), "x")}
_CLASSES |= dict.fromkeys("0123456789", "d")
_RUNS = re.compile(r"([Xxd])\1{2,}")


def shape(word: str) -> str:
    """The shape of a word, at most two equal letters in a row."""
    return _RUNS.sub(r"\1\1", "".join([_CLASSES.get(c, c) for c in word]))


def word_features(sentence: list[str]) -> list[list[str]]:
    """The features of `WORDS`."""
    outside = "(outside)"
    words = [outside, outside, *sentence, outside, outside]
    lower = [outside, outside, *(word.lower() for word in sentence), outside, outside]
    ends = [outside, outside, *(word[-3:] for word in sentence), outside, outside]
    shapes = [outside, outside, *map(shape, sentence), outside, outside]
    found = []
    for t, word in enumerate(sentence, 2):
        names = [
            "bias", f"word[-2]={words[t - 2]}", f"word[-1]={words[t - 1]}", f"word[0]={word}", f"word[1]={words[t + 1]}",
            f"word[2]={words[t + 2]}", f"lower(word[-1])={lower[t - 1]}", f"lower(word[0])={lower[t]}",
            f"lower(word[1])={lower[t + 1]}", f"word[-1]|word[0]={words[t - 1]}|{word}", f"word[0]|word[1]={word}|{words[t + 1]}",
            f"prefix1(word)={word[:1]}", f"prefix2(word)={word[:2]}", f"prefix3(word)={word[:3]}", f"prefix4(word)={word[:4]}",
            f"suffix1(word)={word[-1:]}", f"suffix2(word)={word[-2:]}", f"suffix3(word)={word[-3:]}",
            f"suffix4(word)={word[-4:]}", f"suffix3(word[-1])={ends[t - 1]}", f"suffix3(word[1])={ends[t + 1]}",
            f"shape(word[-1])={shapes[t - 1]}", f"shape(word[0])={shapes[t]}", f"shape(word[1])={shapes[t + 1]}",
        ]  # fmt: skip
        if any(c.isdigit() for c in word):
            names.append("digit(word)=1")
        if "-" in word:
            names.append("hyphen(word)=1")
        if word.lower() != word:
            names.append("upper(word)=1")
        found.append(names)
    return found


FEATURES: dict[str, Callable[[Any], list[list[str]]]] = {"words+pos": chunk_features, "words": word_features}


# ---- peers ----


def crfsuite(X: Sentences, y: list[list[str]], algorithm: str, path: Path) -> Any:
    """Train CRFsuite on lists of strings and open the model."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    trainer.set_params({"max_iterations": EPOCHS})
    for sentence, tags in zip(X, y, strict=True):
        trainer.append(sentence, tags)
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def nltk_tagger(X: Sentences, y: list[list[str]]) -> Any:
    """Train NLTK's averaged perceptron on words."""
    from nltk.tag.perceptron import PerceptronTagger

    tagger = PerceptronTagger(load=False)
    tagger.train([list(zip(sentence, tags, strict=True)) for sentence, tags in zip(X, y, strict=True)], nr_iter=EPOCHS)
    return tagger


def cpu(work: Callable[[], Any]) -> Callable[[], float]:
    """A measurement of the CPU time of a function."""

    def timed() -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    return timed


def few(options: Options) -> Options:
    """Two pairs of measurements: a peer takes ten seconds for one."""
    return Options(min(2, options.repeats), True, options.data)


def quality(truth: list[list[str]], guesses: list[list[str]]) -> float:
    """F1 of chunks, or the accuracy of tags that are not of chunks."""
    report = count_chunks(truth, guesses)
    return report.overall.f1 if report.by_type else report.accuracy


# ---- benchmarks ----


def scores(options: Options) -> Iterator[Row]:
    """F1 or accuracy on test data after ten passes, the mean of five seeds, compared with CRFsuite on the same features."""
    bars = {("conll2000", "ap"): 0.9355, ("conll2000", "pa"): 0.9355, ("ud_ewt", "ap"): 0.95, ("wnut17", "ap"): 0.187}
    for name, title, templates, X, y, X_test, y_test in sets(options, *SETS):
        strings, strings_test = [[FEATURES[templates](s) for s in part] for part in (X, X_test)]
        for algorithm, rule in RULES.items():
            found = [
                quality(
                    y_test,
                    SequencePerceptron(templates=templates, rule=rule, random_state=k, max_iter=EPOCHS)
                    .fit(X, y)
                    .predict(X_test),
                )
                for k in range(SEEDS)
            ]
            with tempfile.TemporaryDirectory() as folder:
                tagger = crfsuite(strings, y, algorithm, Path(folder, "model"))
                peer = quality(y_test, [tagger.tag(s) for s in strings_test])
            row = Row(
                f"{title}, {rule}",
                "rosenblatt",
                f"CRFsuite {algorithm}",
                unit="",
                bar=bars.get((name, algorithm)),
                bar_unit="",
            )
            row.ours_median, row.peer_median, row.ours_all, row.peer_all = float(np.mean(found)), peer, found, [peer]
            row.ratio, row.quartiles = row.ours_median / peer, (min(found) / peer, max(found) / peer)
            row.ours_score, row.peer_score = row.ours_median, peer
            row.note = (
                f"standard deviation {np.std(found, ddof=1):.4f}; CRFsuite does not depend on a seed that can be set"
            )
            row.met = None if row.bar is None else row.ours_median >= row.bar
            yield row
    if options.data is None:
        yield Row("scores of taggers", note=NO_DATA)


def fits(options: Options) -> Iterator[Row]:
    """Fits of ten passes, from the same lists of strings and from sentences, compared with CRFsuite and NLTK."""
    for name, title, templates, X, y, X_test, y_test in sets(options, "conll2000", "ud_ewt"):
        strings = [FEATURES[templates](s) for s in X]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model")
            for algorithm, rule in RULES.items():
                given = SequencePerceptron(templates=None, rule=rule, max_iter=EPOCHS)
                yield measure(
                    f"{title}: fit from lists of strings, {rule}",
                    cpu(functools.partial(given.fit, strings, y)),
                    cpu(functools.partial(crfsuite, strings, y, algorithm, path)),
                    few(options),
                    ours="rosenblatt",
                    peer=f"CRFsuite {algorithm}",
                    bar={"ap": 4.0}.get(algorithm, 3.5) if name == "conll2000" else None,
                )
            tagger = SequencePerceptron(templates=templates, max_iter=EPOCHS)
            yield measure(
                f"{title}: fit from sentences",
                cpu(functools.partial(tagger.fit, X, y)),
                cpu(lambda X=X, y=y, f=FEATURES[templates], path=path: crfsuite([f(s) for s in X], y, "ap", path)),
                few(options),
                ours="templates",
                peer="CRFsuite ap with a Python function",
                bar=7.0,
            )
            if templates == "words":
                trained: list[Any] = []
                ours = cpu(functools.partial(tagger.fit, X, y))()
                peer = cpu(lambda X=X, y=y, trained=trained: trained.append(nltk_tagger(X, y)))()
                row = Row(f"{title}: fit from words", "templates", "NLTK's tagger", "s", ours, peer, bar=20.0)
                row.ratio, row.ours_all, row.peer_all, row.note = peer / ours, [ours], [peer], "measured once"
                row.quartiles, row.met = (row.ratio, row.ratio), row.ratio >= 20.0
                row.ours_score = tagger.score(X_test, y_test)
                row.peer_score = quality(y_test, [[tag for _, tag in trained[0].tag(s)] for s in X_test])
                yield row
    if options.data is None:
        yield Row("fits of taggers", note=NO_DATA)


def tagging(options: Options) -> Iterator[Row]:
    """Tagging the test sentences, from words to tags, compared with CRFsuite and a Python function for its features."""
    for _, title, templates, X, y, X_test, _ in sets(options, "conll2000", "ud_ewt"):
        with tempfile.TemporaryDirectory() as folder:
            features = FEATURES[templates]
            peer = crfsuite([features(s) for s in X], y, "ap", Path(folder, "model"))
            tagger = SequencePerceptron(templates=templates, max_iter=EPOCHS).fit(X, y)
            tokens = sum(map(len, X_test))

            def theirs(peer=peer, features=features, X_test=X_test) -> Any:
                return [peer.tag(features(s)) for s in X_test]

            row = measure(
                f"{title}: tag {tokens:,} tokens",
                cpu(functools.partial(tagger.predict, X_test)),
                cpu(theirs),
                options,
                ours="templates",
                peer="CRFsuite with a Python function",
                bar=8.0,
            )
            assert row.ours_median is not None
            assert row.peer_median is not None
            row.note = f"{tokens / row.ours_median:,.0f} and {tokens / row.peer_median:,.0f} tokens a second"
            yield row
    if options.data is None:
        yield Row("tagging", note=NO_DATA)


def one_sentence(options: Options) -> Iterator[Row]:
    """`learn_one` of a sentence of 24 tokens, and the size of the model file."""
    for _, title, templates, X, y, _, _ in sets(options, "conll2000"):
        tagger = SequencePerceptron(templates=templates).partial_fit(X, y)
        chosen = [(s, tags) for s, tags in zip(X, y, strict=True) if len(s) == 24]
        last = SequencePerceptron(templates=templates, readout="last").partial_fit(X, y)

        def each(model: SequencePerceptron, chosen: Any = chosen) -> float:
            start = time.process_time()
            for sentence, tags in chosen:
                model.learn_one(sentence, tags)
            return 1e6 * (time.process_time() - start) / len(chosen)

        yield measure(
            f"{title}: learn_one of 24 tokens", functools.partial(each, tagger), functools.partial(each, last), options,
            ours="average", peer="last weights", unit="µs", kind=SMALLER, bar=200.0, bar_unit="µs",
        )  # fmt: skip
        strings = [chunk_features(s) for s in X]
        with tempfile.TemporaryDirectory() as folder:
            ours, peer = Path(folder, "ours"), Path(folder, "peer")
            crfsuite(strings, y, "ap", peer)
            for rule in RULES.values():
                SequencePerceptron(templates=templates, rule=rule, max_iter=EPOCHS).fit(X, y).save(ours)
                sizes = ours.stat().st_size / 1e6, peer.stat().st_size / 1e6
                row = Row(
                    f"{title}: model file, {rule}",
                    "rosenblatt",
                    "CRFsuite ap",
                    "MB",
                    *sizes,
                    kind=SMALLER,
                    bar=10.0,
                    bar_unit="MB",
                )
                row.ratio = sizes[0] / sizes[1]
                row.quartiles = (row.ratio, row.ratio)
                row.met = sizes[0] <= 10.0
                yield row
    if options.data is None:
        yield Row("one sentence", note=NO_DATA)


BENCHMARKS = {"sequence-scores": scores, "sequence-fits": fits, "tagging": tagging, "one-sentence": one_sentence}
