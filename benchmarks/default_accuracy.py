"""Accuracy of `rosenblatt train` with default settings beside scikit-learn, VW and river with theirs.

`make bench` and `python -m benchmarks accuracy --data FOLDER` make the table of the documentation; FOLDER holds the public data
sets that docs/benchmarks.md lists. `python -m benchmarks.default_accuracy FOLDER --only wine` prints some rows.

A set without a test file of its own is split: three quarters to learn from, one quarter to test on. All libraries get the same
rows, at most `MOST` to learn from and as many to test on, drawn with a fixed seed. Before scikit-learn's classifiers, columns of
numbers pass through SimpleImputer and StandardScaler, categories through OneHotEncoder, and text through TfidfVectorizer; counts
of words (imdb, news20) through StandardScaler or TfidfTransformer, and rcv1 through StandardScaler or nothing: the better
one. VW gets
numbers as ``name:value`` and everything else as words, and reads the rows once. river's logistic regression learns them one by
one, numbers through StandardScaler, categories through OneHotEncoder, and text through BagOfWords.
"""

import argparse
import dataclasses
import json
import math
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn import datasets
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from . import data
from .harness import Options, environment

MOST = 10_000
"""Largest number of rows to learn from, and to test on."""

COUNTS = {"imdb": ("--words", "tfidf"), "news20": ("--words", "tfidf")}
"""Counts of words as svmlight text, and the options that `train` advises for them: they get a second row."""

OURS = "rosenblatt train"
PEERS = ("LogisticRegression", "LinearSVC", "VW", "river LogisticRegression")
RESULTS = Path(__file__).parent / "results" / "default_accuracy.json"


@dataclasses.dataclass
class Set:
    """Rows and labels to learn from and to test on: a frame, a list of texts, or a sparse matrix."""

    name: str
    X: Any
    y: list[str]
    X_test: Any
    y_test: list[str]

    @property
    def is_text(self) -> bool:
        """Whether the rows are texts."""
        return isinstance(self.X, list)

    @property
    def is_table(self) -> bool:
        """Whether the rows are those of a frame."""
        return isinstance(self.X, pd.DataFrame)


def _taken(rows: Any, which: Any) -> Any:
    if isinstance(rows, pd.DataFrame):
        return rows.iloc[which]
    return [rows[i] for i in which] if isinstance(rows, list) else rows[which]


def made(name: str, rows: Any, labels: Iterable[Any], last: int | None = None) -> Set:
    """A set whose last rows are for testing; None takes a quarter of all."""
    y = [str(label) for label in labels]
    numbers = np.arange(len(y))
    if last is None:
        first, second = train_test_split(numbers, random_state=0, stratify=y)
    else:
        first, second = numbers[:-last], numbers[-last:]
    rng = np.random.default_rng(0)
    parts = [rng.choice(part, MOST, replace=False) if len(part) > MOST else part for part in (first, second)]
    (X, y_train), (X_test, y_test) = ((_taken(rows, part), [y[i] for i in part]) for part in parts)
    return Set(name, X, y_train, X_test, y_test)


# ---- the sets ----


def own(name: str) -> Set:
    """One of scikit-learn's own sets."""
    frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
    return made(name.replace("_", " "), frame.drop(columns="target"), "c" + frame["target"].astype(str))


def of_river(name: str) -> Set:
    """One of the sets that river contains."""
    import river.datasets

    pairs = list(getattr(river.datasets, name)())
    return made(f"{name} (river)", pd.DataFrame([x for x, _ in pairs]), [f"c{y}" for _, y in pairs])


def frame(name: str, path: Path, label: Any, **reading: Any) -> Set:
    """A CSV file."""
    found = pd.read_csv(path, **reading).rename(columns=lambda column: f"x{column}")
    label = found.columns[label] if isinstance(label, int) else f"x{label}"
    found = found[found[label].notna()]
    return made(name, found.drop(columns=label), "c" + found[label].astype(str))


def adult(folder: Path) -> Set:
    """Census records, raw, with a test file."""
    parts = [
        pd.read_csv(folder / "adult" / f"adult-{part}.csv", header=None, skipinitialspace=True)
        for part in ("train", "test")
    ]
    found = pd.concat(parts, ignore_index=True).rename(columns=lambda column: f"x{column}")
    return made("adult", found.drop(columns="x14"), found["x14"].str.rstrip("."), len(parts[1]))


def sms(folder: Path) -> Set:
    """Text messages."""
    lines = (folder / "sms-spam" / "SMSSpamCollection").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t", 1) for line in lines]
    return made("sms-spam", [text for _, text in pairs], [label for label, _ in pairs])


def spam(folder: Path) -> Set:
    """The mails that the package contains."""
    from rosenblatt.datasets import load_spam

    texts, labels = load_spam()
    return made("spam (packaged)", [" ".join(text.split()) for text in texts], labels)


def svmlight(name: str, *paths: Path) -> Set:
    """A file in svmlight format, or one to learn from and one to test on."""
    found = datasets.load_svmlight_files([str(path) for path in paths])
    X, y = sp.vstack(found[::2], format="csr"), np.concatenate(found[1::2]).astype(int)
    return made(name, X, y, found[2].shape[0] if len(paths) > 1 else None)


def mnist(folder: Path) -> Set:
    """Handwritten digits; pixels from 0 to 1."""
    parts = [data.mnist(folder, part) for part in ("train", "t10k")]
    if parts[0] is None or parts[1] is None:
        raise FileNotFoundError(2, "No such file", str(folder / "mnist"))
    X, y = (np.concatenate(pair) for pair in zip(*parts, strict=True))
    return made("mnist", sp.csr_matrix(X), y, len(parts[1][1]))


def rcv1(folder: Path) -> Set:
    """VW's own sample of news stories."""
    lines = [
        line
        for part in ("rcv1_small.dat", "rcv1_small_test.data")
        for line in (folder / "rcv1-vw" / part).read_text(encoding="utf-8").splitlines()
    ]
    rows = [
        {int(name): float(value) for name, value in (pair.split(":") for pair in line.partition("|f ")[2].split())}
        for line in lines
    ]
    indptr = np.cumsum([0, *map(len, rows)])
    columns = np.concatenate([np.fromiter(row, int) for row in rows])
    X = sp.csr_matrix((np.concatenate([np.fromiter(row.values(), float) for row in rows]), columns, indptr))
    return made("rcv1-vw", X, [line.split()[0] for line in lines], 500)


def every(folder: Path) -> dict[str, Callable[[], Set]]:
    """All sets by name; each is read when it is called."""
    tiny = folder / "tiny"
    return {
        "iris": lambda: own("iris"),
        "wine": lambda: own("wine"),
        "breast cancer": lambda: own("breast_cancer"),
        "digits": lambda: own("digits"),
        "Bananas (river)": lambda: of_river("Bananas"),
        "Phishing (river)": lambda: of_river("Phishing"),
        "ImageSegments (river)": lambda: of_river("ImageSegments"),
        "penguins": lambda: frame("penguins", tiny / "penguins.csv", "species"),
        "banknote": lambda: frame("banknote", tiny / "banknote_authentication.csv", -1, header=None),
        "sonar": lambda: frame("sonar", tiny / "sonar.csv", -1, header=None),
        "svmguide3": lambda: frame("svmguide3", folder / "svmguide3" / "svmguide3.csv", 0),
        "elec2": lambda: frame("elec2", folder / "elec2" / "elec.csv", -1),
        "adult": lambda: adult(folder),
        "sms-spam": lambda: sms(folder),
        "spam (packaged)": lambda: spam(folder),
        "mushrooms": lambda: svmlight("mushrooms", folder / "mushrooms" / "mushrooms"),
        "a9a": lambda: svmlight("a9a", folder / "a9a" / "a9a", folder / "a9a" / "a9a.t"),
        "news20": lambda: svmlight("news20", folder / "news20" / "news20.svm.gz"),
        "imdb": lambda: svmlight("imdb", *(folder / "imdb" / f"{part}.svm.gz" for part in ("train", "test"))),
        "rcv1-vw": lambda: rcv1(folder),
        "mnist": lambda: mnist(folder),
    }


# ---- the libraries ----


def ours(one: Set, *options: str) -> float:
    """Accuracy of `rosenblatt train` and `evaluate`."""
    with tempfile.TemporaryDirectory() as place:
        files = []
        for part, rows, labels in (("train", one.X, one.y), ("test", one.X_test, one.y_test)):
            path = Path(place) / part
            files.append(_written(one, rows, labels, path))
        model = str(Path(place) / "a.model")
        label = ["--label", "label"] if one.is_table else ["--label", "0", "--no-header"] if one.is_text else []
        command = [sys.executable, "-m", "rosenblatt.cli"]
        run = [*command, "train", str(files[0]), "-m", model, "-q", *label, *options]
        subprocess.run(run, check=True, capture_output=True)
        run = [*command, "evaluate", model, str(files[1]), "--json", "-q"]
        return float(json.loads(subprocess.run(run, check=True, capture_output=True).stdout)["accuracy"])


def _written(one: Set, rows: Any, labels: list[str], path: Path) -> Path:
    if one.is_table:
        path = path.with_suffix(".csv")
        rows.assign(label=labels).to_csv(path, index=False)
    elif one.is_text:
        path = path.with_suffix(".tsv")
        path.write_text(
            "".join(f"{label}\t{text}\n" for label, text in zip(labels, rows, strict=True)), encoding="utf-8"
        )
    else:
        path = path.with_suffix(".svm")
        numbers = np.array([float(label) for label in labels]).astype(int)
        datasets.dump_svmlight_file(rows, numbers, str(path), zero_based=False)
    return path


def scikit_learn(one: Set) -> tuple[float, float]:
    """Accuracy of the two linear classifiers of scikit-learn that most people use."""
    if one.is_text:
        before: tuple[Any, ...] = (TfidfVectorizer(),)
    elif one.is_table:
        numeric = list(one.X.select_dtypes("number").columns)
        others = [name for name in one.X if name not in numeric]
        before = (
            ColumnTransformer(
                [("n", make_pipeline(SimpleImputer(), StandardScaler()), numeric),
                 ("c", OneHotEncoder(handle_unknown="ignore"), others)]
            ),
        )  # fmt: skip
    else:
        before = (StandardScaler(with_mean=False),)
    others: dict[str, tuple[Any, ...]] = {"imdb": (TfidfTransformer(),), "news20": (TfidfTransformer(),), "rcv1-vw": ()}
    choices = [before, others[one.name]] if one.name in others else [before]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = LogisticRegression(max_iter=1000 if one.is_table or one.is_text else 100), LinearSVC()
        first, second = (
            max(make_pipeline(*way, model).fit(one.X, one.y).score(one.X_test, one.y_test) for way in choices)
            for model in models
        )
    return float(first), float(second)


def _records(one: Set, rows: Any) -> Iterator[dict[str, Any]]:
    """Rows as dicts, without missing values and zeros of sparse rows."""
    if one.is_table:
        for row in rows.to_dict("records"):
            yield {name: value for name, value in row.items() if not (isinstance(value, float) and math.isnan(value))}
    else:
        for i in range(rows.shape[0]):
            start, stop = rows.indptr[i], rows.indptr[i + 1]
            yield dict(zip(rows.indices[start:stop].tolist(), rows.data[start:stop].tolist(), strict=True))


def _vw_lines(one: Set, rows: Any) -> Iterator[str]:
    if one.is_text:
        yield from (re.sub(r"[|:]", " ", text) for text in rows)
        return
    for record in _records(one, rows):
        yield " ".join(
            _word(f"{name}={value}") if isinstance(value, str) else f"{_word(str(name))}:{float(value)!r}"
            for name, value in record.items()
        )


def _word(text: str) -> str:
    return re.sub(r"[\s|:]", "_", text)


def vw(one: Set) -> float:
    """Accuracy of VW after one pass: the sign of its prediction, or one learner for each class against the rest."""
    from vowpalwabbit import Workspace

    classes = sorted(set(one.y))
    two = len(classes) == 2
    workspace = Workspace(quiet=True) if two else Workspace(quiet=True, oaa=len(classes))
    names = {label: (-1, 1)[number] if two else number + 1 for number, label in enumerate(classes)}
    for line, label in zip(_vw_lines(one, one.X), one.y, strict=True):
        workspace.learn(f"{names[label]} | {line}")
    right = 0
    for line, label in zip(_vw_lines(one, one.X_test), one.y_test, strict=True):
        found = workspace.predict(f"| {line}")
        guess = (1 if found >= 0 else -1) if two else int(found)
        right += guess == names.get(label)
    workspace.finish()
    return right / len(one.y_test)


def river(one: Set) -> float:
    """Accuracy of river's logistic regression after one pass."""
    from river import compose, feature_extraction, linear_model, multiclass, preprocessing

    model: Any = linear_model.LogisticRegression()
    if len(set(one.y)) > 2:
        model = multiclass.OneVsRestClassifier(model)
        labels: dict[str, Any] = {label: label for label in set(one.y)}
    else:
        labels = {label: bool(number) for number, label in enumerate(sorted(set(one.y)))}
    if one.is_text:
        model = feature_extraction.BagOfWords() | model
    elif one.is_table:
        numbers = compose.SelectType(int, float) | preprocessing.StandardScaler()
        words = compose.SelectType(str) | preprocessing.OneHotEncoder()
        model = (numbers + words) | model
    for x, label in zip(_rows_of_river(one, one.X), one.y, strict=True):
        model.learn_one(x, labels[label])
    guesses = [model.predict_one(x) for x in _rows_of_river(one, one.X_test)]
    return float(np.mean([guess == labels.get(label) for guess, label in zip(guesses, one.y_test, strict=True)]))


def _rows_of_river(one: Set, rows: Any) -> Iterable[Any]:
    return rows if one.is_text else _records(one, rows)


# ---- the table ----


def measured(one: Set, *options: str) -> dict[str, Any]:
    """A row of the table."""
    counts = np.unique(one.y_test, return_counts=True)[1]
    first, second = scikit_learn(one)
    scores = {OURS: ours(one, *options)}
    scores |= dict(zip(PEERS, (first, second, vw(one), river(one)), strict=True))
    size = {"rows": len(one.y), "test rows": len(one.y_test), "classes": len(set(one.y))}
    return {"data": one.name, **size, "largest class": float(counts.max() / counts.sum()), "accuracy": scores}


def show(row: dict[str, Any]) -> None:
    """Print a row of the table."""
    shown = [f"{100 * row['accuracy'][peer]:.1f}" for peer in (OURS, *PEERS)]
    cells = f"{shown[0]:>18}" + "".join(f"{cell:>26}" for cell in shown[1:])
    print(f"{row['data']:24}{100 * row['largest class']:>9.1f}{cells}", flush=True)


def run(folder: Path, output: Path | None, only: Iterable[str] = (), *options: str) -> None:
    """Measure, print and store; sets that are not in the folder are left out."""
    facts = environment(Options(1, False, folder))
    rows = []
    print(f"{'data':24}{'largest':>9}{OURS:>18}" + "".join(f"{peer:>26}" for peer in PEERS))
    for name, load in every(folder).items():
        if only and name not in only:
            continue
        try:
            one = load()
        except FileNotFoundError as error:
            print(f"{name:24}{error.filename} was not found")
            continue
        rows.append(measured(one, *options))
        show(rows[-1])
        if name in COUNTS:
            advised = {**rows[-1]["accuracy"], OURS: ours(one, *options, *COUNTS[name])}
            rows.append({**rows[-1], "data": f"{name}, {' '.join(COUNTS[name])}", "accuracy": advised})
            show(rows[-1])
    if output is not None:
        output.write_text(json.dumps(facts | {"rows": rows, "complete": True}, indent=1) + "\n", encoding="utf-8")
        print(f"Kept in {output}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a set; may be repeated")
    parser.add_argument("--most", type=int, default=MOST, help="largest number of rows to learn from (default: 10,000)")
    parser.add_argument("--options", default="", help="further options of `rosenblatt train`")
    arguments = parser.parse_args()
    globals()["MOST"] = arguments.most
    run(arguments.folder, None, arguments.only, *arguments.options.split())


if __name__ == "__main__":
    main()
