"""The pictures of the tutorials and of the pages on theory, drawn for `docs/make_pictures.py`."""

from __future__ import annotations

import csv
import itertools
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt import AveragedPerceptron, Perceptron, PocketPerceptron, SequencePerceptron, certify, load
from rosenblatt.datasets import load_spam

BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#777777"
RESULTS = Path(__file__).resolve().parent.parent / "benchmarks" / "results"


def _new(columns: int = 1) -> tuple[Any, Any]:
    import matplotlib.pyplot as plt

    return plt.subplots(1, columns, figsize=(7.2, 3.4) if columns > 1 else (6.0, 3.4), layout="constrained")


def _line(ax: Any, w: Any, **look: Any) -> None:
    """The boundary bias + w·x = 0."""
    bias, a, b = w
    foot, along = -bias * np.array([a, b]) / (a * a + b * b), np.array([-b, a]) / np.hypot(a, b)
    ax.plot(*(foot[:, None] + along[:, None] * np.array([-20, 20])), **look)


def _points(ax: Any, X: Any, y: Any, sizes: Any = 34) -> None:
    sizes = np.broadcast_to(sizes, len(y))
    for label, colour, marker in ((1, BLUE, "o"), (-1, ORANGE, "s")):
        mine = y == label
        ax.scatter(*X[mine].T, c=colour, marker=marker, s=sizes[mine], zorder=3, edgecolors="white", linewidths=0.7)
    low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal", xticks=[], yticks=[])


def certificates() -> Any:
    """A separator with its margin, and a point in the hulls of both classes."""
    from scipy.spatial import ConvexHull

    figure, axes = _new(2)
    rng = np.random.default_rng(3)
    y = np.repeat([1, -1], 11)
    for ax, apart in zip(axes, (1.7, 0.6), strict=True):
        X = rng.normal(size=(22, 2)) * 0.8 + apart * y[:, None] * np.array([1.0, 0.4])
        proved = certify(X, y)
        share = np.zeros(len(y)) if proved.combination is None else proved.combination
        for label, colour in ((1, BLUE), (-1, ORANGE)):
            mine = X[y == label]
            ax.fill(*mine[ConvexHull(mine).vertices].T, color=colour, alpha=0.15)
        _points(ax, X, y, 34 + 500 * share)
        if proved.separator is not None:
            coef, intercept = proved.separator
            w = np.append(intercept, coef)
            reach = float((y * (X @ w[1:] + w[0])).min())
            for shift, style in ((0.0, "-"), (reach, ":"), (-reach, ":")):
                _line(ax, (w[0] + shift, w[1], w[2]), color="black", linestyle=style)
            ax.set_title("a separator with its margin")
        else:
            ax.plot(*((share[y == 1] / share[y == 1].sum()) @ X[y == 1]), "*", color=RED, markersize=18, zorder=5)
            ax.set_title("a point in both hulls: no separator")
    return figure


def fewest_mistakes() -> Any:
    """The data of the page, the line with the fewest mistakes, and those of three learners."""
    figure, ax = _new()
    rng = np.random.default_rng(4)
    y = np.repeat([-1, 1], 30)
    X = rng.normal(size=(60, 2)) + 0.7 * y[:, None]
    _points(ax, X, y)
    for model, look in (
        (Perceptron(), {"color": GREY, "linestyle": "--"}),
        (AveragedPerceptron(), {"color": GREEN, "linestyle": "-."}),
        (PocketPerceptron(max_iter=1000), {"color": "black"}),
    ):
        model.fit(X, y)
        wrong = round(len(y) * (1 - model.score(X, y)))
        name = type(model).__name__.replace("Perceptron", " perceptron").strip().capitalize()
        _line(ax, np.append(model.intercept_, model.coef_), label=f"{name}: {wrong} mistakes", **look)
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def average() -> Any:
    """The boundary of the last weights and that of their average."""
    figure, ax = _new()
    rng = np.random.default_rng(1)
    y = np.repeat([-1, 1], 25)
    X = rng.normal(size=(50, 2)) + 0.8 * y[:, None]
    _points(ax, X, y)
    for model, look in (
        (Perceptron(max_iter=2, tol=None, shuffle=False), {"color": GREY, "linestyle": "--", "label": "last weights"}),
        (AveragedPerceptron(max_iter=2, tol=None, shuffle=False), {"color": "black", "label": "average"}),
    ):
        model.fit(X, y)
        _line(ax, np.append(model.intercept_, model.coef_), **look)
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def steps() -> Any:
    """The size of the update against the margin, for rules whose bounds the page proves."""
    figure, ax = _new()
    m = np.linspace(-2.0, 2.0, 801)
    loss, size = np.maximum(0.0, 1.0 - m), 2.0
    for name, tau, look in (
        ("perceptron", np.where(m <= 0, 1.0, 0.0), {"color": GREY, "linestyle": "--"}),
        ("PA: ℓ / ‖x‖²", loss / size, {"color": BLUE}),
        ("PA-I: min(C, ℓ / ‖x‖²)", np.minimum(0.6, loss / size), {"color": RED}),
        ("PA-II: ℓ / (‖x‖² + 1 / 2C)", loss / (size + 1 / 1.2), {"color": GREEN, "linestyle": "-."}),
    ):
        ax.plot(m, tau, label=name, **look)
    ax.axvline(0.0, color="0.85", zorder=0)
    ax.set(xlabel="margin y⟨w, x⟩", ylabel="size of the update τ", title="‖x‖² = 2, C = 0.6")
    ax.legend(frameon=False)
    return figure


def sceptic() -> Any:
    """The step of the rule that the tutorial writes."""
    figure, ax = _new()
    m = np.linspace(-2.0, 2.0, 2001)
    pa = np.minimum(0.6, np.maximum(0.0, 1.0 - m) / 2.0)
    ax.plot(m, pa, color=GREY, linestyle="--", label="PA-I")
    ax.plot(m, np.where(m < -1, 0.0, pa), color=BLUE, label="Sceptic with doubt = 1")
    ax.annotate("too wrong\nto be true", (-1.5, 0.03), ha="center", va="bottom", color=BLUE)
    ax.set(xlabel="margin y⟨w, x⟩", ylabel="size of the update τ", title="‖x‖² = 2, C = 0.6", ylim=(-0.02, 0.8))
    ax.legend(frameon=False)
    return figure


def feedback() -> Any:
    """Mistakes of a learner whose predictions are revealed after every 50 mails, as in the tutorial."""
    from rosenblatt import AROW

    texts, labels = load_spam()
    mails = [dict.fromkeys(text.split()[:200], 1.0) for text in texts[:1000]]
    model, wrong = AROW(), []
    for start in range(0, 1000, 50):
        part = range(start, start + 50)
        wrong.append(sum(model.predict_one(mails[k]) != labels[k] for k in part))
        for k in part:
            model.learn_one(mails[k], labels[k])
    figure, ax = _new()
    ax.bar(np.arange(25, 1000, 50), wrong, width=40, color=BLUE)
    ax.set(xlabel="mails so far", ylabel="wrong among 50", title="labels arrive after every 50 mails", xlim=(0, 1000))
    return figure


def spam_words() -> Any:
    """The words with the largest weights of the model that the tutorial trains."""
    texts, labels = load_spam()
    with tempfile.TemporaryDirectory() as folder:
        data, kept = Path(folder) / "train.csv", Path(folder) / "spam.model"
        with data.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("text", "label"), *zip(texts[:1500], labels[:1500], strict=True)])
        subprocess.run([sys.executable, "-m", "rosenblatt.cli", "train", data, "-m", kept, "--quiet"], check=True)
        model = load(kept)
    w = np.asarray(model.coef_[0])
    order = np.argsort(w)
    chosen = np.concatenate([order[:8], order[-8:]])
    figure, ax = _new()
    ax.barh(range(len(chosen)), w[chosen], color=[ORANGE if value < 0 else BLUE for value in w[chosen]])
    names = [model.encoder_.feature_name(int(number)).removeprefix("text=") for number in chosen]
    ax.set_yticks(range(len(chosen)), names, fontsize=8)
    ax.set(xlabel="weight", title="words for ham (negative) and for spam")
    return figure


def tagger() -> Any:
    """The table of Viterbi's algorithm for a sentence of the tutorial, and the best sequence."""
    sentences = [s.split() for s in ("Book a flight to Oslo", "The flight lands in Rome", "Paris is far away")]
    tags = [["O", "O", "O", "O", "B-CITY"], ["O", "O", "O", "O", "B-CITY"], ["B-CITY", "O", "O", "O"]]
    model = SequencePerceptron().fit(sentences, tags)
    lesson, right = ["A", "train", "to", "New", "York"], ["O", "O", "O", "B-CITY", "I-CITY"]
    while model.learn_one(lesson, right) != right:
        pass
    words = ["Trains", "to", "New", "Delhi"]
    best = model.predict_one(words)
    names = [str(tag) for tag in model.classes_]
    figure, ax = _new()
    image = np.asarray(model.trace(words).best).T
    ax.imshow(image, cmap="Blues", aspect="auto", alpha=0.45)
    for k, j in itertools.product(range(len(names)), range(len(words))):
        ax.text(j, k - 0.22, f"{image[k, j]:.2f}", ha="center", va="center", fontsize=9)
    path = [names.index(str(tag)) for tag in best]
    ax.plot(range(len(words)), path, "o-", color=RED, linewidth=2, markersize=7)
    ax.set_xticks(range(len(words)), words)
    ax.set_yticks(range(len(names)), names)
    ax.set_title("Viterbi's table and the best sequence")
    return figure


def paper() -> Any:
    """Test errors on MNIST of four readouts, by the degree of the kernel, after ten epochs."""
    found = json.loads((RESULTS / "freund_schapire.json").read_text(encoding="utf-8"))
    degrees = [int(key.removeprefix("degree ")) for key in found if key.startswith("degree ")]
    figure, ax = _new()
    for readout, look in (
        ("last", {"color": GREY, "marker": "o"}),
        ("avg", {"color": GREEN, "marker": "s"}),
        ("vote", {"color": BLUE, "marker": "^", "linestyle": "--"}),
    ):
        errors = [
            next(run["errors"][readout] for run in found[f"degree {d}"]["results"] if run["epochs"] == 1)
            for d in degrees
        ]
        name = {"last": "last weights", "avg": "average", "vote": "vote"}[readout]
        ax.plot(degrees, errors, label=name, **look)
    ax.set(
        xlabel="degree of the kernel",
        ylabel="test error in %",
        title="60,000 handwritten digits, one epoch",
        xticks=degrees,
    )
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    return figure


LESSONS: dict[str, Callable[[], Any]] = {
    one.__name__: one
    for one in (certificates, fewest_mistakes, average, steps, sceptic, feedback, spam_words, tagger, paper)
}
"""The pictures by name, each a function that returns a figure."""
