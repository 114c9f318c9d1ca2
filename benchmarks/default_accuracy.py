"""Accuracy of `rosenblatt train` with default settings beside scikit-learn's LogisticRegression and LinearSVC.

Run `python -m benchmarks.default_accuracy FOLDER`, where FOLDER holds the public data sets that docs/benchmarks.md lists. A set
without a test file of its own is split: three quarters to learn from, one quarter to test on. scikit-learn gets the same rows with
columns of numbers through SimpleImputer and StandardScaler, categories through OneHotEncoder, and text through TfidfVectorizer.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import vstack
from sklearn import datasets
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC


def tables(folder):
    """Yield the name, the frame, the label column, and how many last rows are the test set, if that is given."""
    for name in ("iris", "wine", "breast_cancer", "digits"):
        found = getattr(datasets, f"load_{name}")(as_frame=True)
        frame = found.frame.rename(columns={"target": "label"})
        frame["label"] = "c" + frame["label"].astype(str)
        yield name, frame, "label", None
    yield "penguins", pd.read_csv(folder / "tiny" / "penguins.csv"), "species", None
    for name in ("banknote_authentication", "sonar"):
        frame = pd.read_csv(folder / "tiny" / f"{name}.csv", header=None).rename(columns=lambda c: f"x{c}")
        yield name, frame, frame.columns[-1], None
    frame = pd.read_csv(folder / "svmguide3" / "svmguide3.csv")
    yield "svmguide3", frame.rename(columns={frame.columns[0]: "label"}), "label", None
    frame = pd.read_csv(folder / "elec2" / "elec.csv")
    yield "elec2", frame, frame.columns[-1], None
    parts = [
        pd.read_csv(folder / "adult" / f"adult-{part}.csv", header=None, skipinitialspace=True) for part in ("train", "test")
    ]
    frame = pd.concat(parts, ignore_index=True).rename(columns=lambda c: f"x{c}")
    frame["x14"] = frame["x14"].str.rstrip(".")
    yield "adult", frame, "x14", len(parts[1])


def texts(folder):
    """Yield the name, the texts and the labels."""
    lines = (folder / "sms-spam" / "SMSSpamCollection").read_text().splitlines()
    pairs = [line.split("\t", 1) for line in lines]
    yield "sms-spam", [text for _, text in pairs], [label for label, _ in pairs]
    from rosenblatt.datasets import load_spam

    found, labels = load_spam()
    yield "spam (packaged)", [" ".join(text.split()) for text in found], list(labels)


def sparse(folder):
    """Yield the name, the rows and labels to learn from, and those to test on, if that is given."""
    load = datasets.load_svmlight_file
    yield "mushrooms", *load(str(folder / "mushrooms" / "mushrooms")), None, None
    yield "news20", *load(str(folder / "news20" / "news20.svm.gz")), None, None
    yield "a9a", *datasets.load_svmlight_files([str(folder / "a9a" / "a9a"), str(folder / "a9a" / "a9a.t")])
    names = [str(folder / "imdb" / f"{part}.svm.gz") for part in ("train", "test")]
    yield "imdb", *datasets.load_svmlight_files(names)


def ours(train, test, *options):
    """Accuracy of `train` and `evaluate` with default settings, and what `train` said."""
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "a.model")
        command = [sys.executable, "-m", "rosenblatt.cli"]
        run = [*command, "train", str(train), "-m", model, "--json", "-q", *options]
        facts = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
        run = [*command, "evaluate", model, str(test), "--json", "-q"]
        return json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)["accuracy"], facts


def peers(X, y, X_test, y_test, made=lambda: ()):
    """Accuracy of the two classifiers of scikit-learn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = LogisticRegression(max_iter=1000), LinearSVC()
        return [make_pipeline(*made(), model).fit(X, y).score(X_test, y_test) for model in models]


def columns(frame):
    """scikit-learn's preparation of a table."""
    numeric = list(frame.select_dtypes("number").columns)
    return ColumnTransformer(
        [("n", make_pipeline(SimpleImputer(), StandardScaler()), numeric),
         ("c", OneHotEncoder(handle_unknown="ignore"), [name for name in frame if name not in numeric])]
    )  # fmt: skip


def measure(folder, wanted, options):
    """Yield rows of the table."""
    with tempfile.TemporaryDirectory() as place:
        train, test = Path(place) / "train", Path(place) / "test"
        for name, frame, label, last in tables(folder):
            if wanted and name not in wanted:
                continue
            frame = frame[frame[label].notna()]
            if last is None:
                first, second = train_test_split(frame, random_state=0, stratify=frame[label])
            else:
                first, second = frame.iloc[:-last], frame.iloc[-last:]
            for part, path in ((first, train), (second, test)):
                part.to_csv(path.with_suffix(".csv"), index=False)
            share, facts = ours(train.with_suffix(".csv"), test.with_suffix(".csv"), "--label", label, *options)
            X, X_test = first.drop(columns=label), second.drop(columns=label)
            scores = peers(X, first[label], X_test, second[label], lambda X=X: (columns(X),))
            yield name, first[label], second[label], share, facts, scores
        for name, found, labels in texts(folder):
            if wanted and name not in wanted:
                continue
            X, X_test, y, y_test = train_test_split(found, labels, random_state=0, stratify=labels)
            for rows, marks, path in ((X, y, train), (X_test, y_test, test)):
                path.with_suffix(".tsv").write_text("".join(f"{mark}\t{row}\n" for mark, row in zip(marks, rows)))
            share, facts = ours(train.with_suffix(".tsv"), test.with_suffix(".tsv"), "--label", "0", "--no-header", *options)
            yield name, y, y_test, share, facts, peers(X, y, X_test, y_test, lambda: (TfidfVectorizer(),))
        for name, X, y, X_test, y_test in sparse(folder):
            if wanted and name not in wanted:
                continue
            if X_test is None:
                X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)
            width = vstack([X, X_test]).shape[1]
            assert width
            for rows, marks, path in ((X, y, train), (X_test, y_test, test)):
                datasets.dump_svmlight_file(rows, marks.astype(int), str(path.with_suffix(".svm")), zero_based=False)
            share, facts = ours(train.with_suffix(".svm"), test.with_suffix(".svm"), *options)
            scores = peers(X, y, X_test, y_test, lambda: (StandardScaler(with_mean=False),))
            yield name, y, y_test, share, facts, scores


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("options", nargs="*")
    arguments = parser.parse_args()
    print("| data | largest class | LogisticRegression | LinearSVC | rosenblatt train | difference |")
    print("|---|---|---|---|---|---|")
    for name, _, truth, share, facts, scores in measure(arguments.folder, arguments.only, arguments.options):
        most = np.unique(np.asarray(truth).astype(str), return_counts=True)[1].max() / len(truth)
        cells = [f"{100 * value:.1f}" for value in (most, *scores, share)]
        print(f"| {name} | {' | '.join(cells)} | {100 * (share - max(scores)):+.1f} |  # {len(facts['epochs'])} epochs", flush=True)


if __name__ == "__main__":
    main()
