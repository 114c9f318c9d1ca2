"""Pictures for `evaluate` and for the report of `train`."""

from typing import Any

import numpy as np

from rosenblatt.model.calibration import Judgement
from rosenblatt.training.evaluation import Evaluation, precision_recall, roc_curve
from rosenblatt.training.regression import Errors

INK, RED, BLUE = "#222222", "#b3413a", "#2f6690"


def _figure(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def roc_figure(result: Evaluation) -> Any:
    """Draw the ROC curve of two classes."""
    figure, axes = _figure(4.6, 4.2)
    wrong, right = roc_curve(result.scores, result.positive)
    kept = np.unique(np.linspace(0, wrong.size - 1, min(wrong.size, 2000)).astype(int))
    axes.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=1, linestyle=":")
    axes.plot(wrong[kept], right[kept], color=BLUE, linewidth=2, drawstyle="default")
    negative, positive = result.labels
    axes.set(
        xlabel=f"share of {negative} taken for {positive}", ylabel=f"share of {positive} found", xlim=(-0.01, 1.01),
        ylim=(-0.01, 1.01), title=f"ROC, area {result.roc_auc:.4f}", aspect="equal",
    )  # fmt: skip
    return figure


def precision_figure(result: Evaluation) -> Any:
    """Draw precision and recall of the second of two classes."""
    figure, axes = _figure(4.6, 4.2)
    precision, recall = precision_recall(result.scores, result.positive)
    kept = np.unique(np.linspace(0, recall.size - 1, min(recall.size, 2000)).astype(int))
    axes.plot(recall[kept], precision[kept], color=BLUE, linewidth=2)
    share = float(result.positive.mean())
    axes.axhline(share, color="#bbbbbb", linewidth=1, linestyle=":")
    positive = result.labels[1]
    axes.set(
        xlabel=f"recall: share of {positive} found", ylabel=f"precision: share right among predicted {positive}",
        xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), title=f"precision and recall, area {result.average_precision:.4f}",
        aspect="equal",
    )  # fmt: skip
    return figure


def reliability_figure(judgement: Judgement) -> Any:
    """Draw how often predictions are right against the probability that the model gives them."""
    figure, axes = _figure(4.6, 4.2)
    used = judgement.counts > 0
    counts = judgement.counts[used]
    axes.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=1, linestyle=":")
    axes.plot(judgement.trust[used] / counts, judgement.right[used] / counts, color=BLUE, linewidth=1.5)
    axes.scatter(
        judgement.trust[used] / counts, judgement.right[used] / counts, color=BLUE, s=20 + 200 * counts / counts.sum()
    )
    axes.set(
        xlabel="probability of the predicted class", ylabel="share of right predictions", xlim=(-0.02, 1.04),
        ylim=(-0.02, 1.04), title=f"reliability, calibration error {judgement.calibration_error:.4f}", aspect="equal",
    )  # fmt: skip
    return figure


def mistakes_figure(epochs: list[dict[str, Any]]) -> Any:
    """Draw the share of mistakes of each epoch, before learning and on held-out examples."""
    figure, axes = _figure(4.6, 3.4)
    numbers = range(1, len(epochs) + 1)
    axes.bar(
        numbers,
        [_share(epoch, "mistakes", "examples") for epoch in epochs],
        color=RED,
        width=0.7,
        label="while learning",
    )
    if epochs[0]["held_out"]:
        axes.plot(
            numbers,
            [_share(epoch, "held_out_mistakes", "held_out") for epoch in epochs],
            color=BLUE,
            marker="o",
            label="held out",
        )
        axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=2)
    axes.set(xlabel="epoch", ylabel="mistakes, % of the examples")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylim(bottom=0)
    return figure


def _share(epoch: dict[str, Any], mistakes: str, examples: str) -> float:
    return 100.0 * float(epoch[mistakes]) / float(epoch[examples] or 1)


def targets_figure(result: Errors) -> Any:
    """Draw the predicted number of each example against the true one; of many examples, every n-th."""
    figure, axes = _figure(4.6, 4.2)
    step = -(-result.examples // 2000)
    truth, guess = result.targets[::step], result.predictions[::step]
    low, high = float(truth.min()), float(truth.max())
    axes.plot([low, high], [low, high], color="#bbbbbb", linewidth=1, linestyle=":")
    axes.scatter(truth, guess, color=BLUE, s=8, alpha=0.5, linewidths=0)
    axes.set(xlabel="target", ylabel="prediction", title="predictions; on the dotted line they are right")
    return figure


def errors_figure(result: Errors) -> Any:
    """Draw how often errors of each size occur."""
    figure, axes = _figure(4.6, 4.2)
    errors = result.predictions - result.targets
    low, high = np.quantile(errors, [0.005, 0.995])
    axes.hist(errors, bins=40, range=(float(low), float(max(high, np.nextafter(low, np.inf)))), color=BLUE)
    axes.axvline(0.0, color=INK, linewidth=1)
    axes.set(xlabel="prediction - target, without the 1% of largest size", ylabel="examples", title="errors")
    return figure


def progress_figure(epochs: list[dict[str, Any]]) -> Any:
    """Draw R² on held-out examples after each epoch."""
    figure, axes = _figure(4.6, 3.4)
    axes.plot(range(1, len(epochs) + 1), [epoch["held_out_r2"] for epoch in epochs], color=BLUE, marker="o")
    axes.set(xlabel="epoch", ylabel="R² on held-out examples")
    axes.xaxis.get_major_locator().set_params(integer=True)
    return figure


def confusion_figure(result: Evaluation) -> Any:
    """Draw the confusion matrix; colours show the shares within each row."""
    count = len(result.labels)
    figure, axes = _figure(max(3.2, 1.6 + 0.55 * count), max(2.8, 1.2 + 0.5 * count))
    shares = result.confusion / np.maximum(1, result.confusion.sum(axis=1, keepdims=True))
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    if count <= 15:
        for row in range(count):
            for column in range(count):
                ink = "white" if shares[row, column] > 0.6 else INK
                axes.text(
                    column, row, f"{result.confusion[row, column]:,}", ha="center", va="center", color=ink, fontsize=9
                )
    axes.spines[:].set_visible(False)
    names = [str(label) for label in result.labels]
    axes.set_xticks(
        range(count),
        names,
        rotation=45 if max(map(len, names)) > 4 else 0,
        ha="right" if max(map(len, names)) > 4 else "center",
    )
    axes.set_yticks(range(count), names)
    axes.set(xlabel="predicted", ylabel="label")
    return figure


def features_figure(label: str, features: list[list[Any]]) -> Any:
    """Draw the largest weights of a class as bars."""
    figure, axes = _figure(4.6, 0.5 + 0.22 * max(1, len(features)))
    names = [name if len(name) <= 32 else name[:31] + "…" for name, _ in features]
    places = range(len(features))
    axes.barh(places, [weight for _, weight in features], color=BLUE, height=0.7)
    axes.set_yticks(places, [name.replace("$", r"\$") for name in names], fontsize=8)
    axes.invert_yaxis()
    axes.locator_params(axis="x", nbins=5)
    axes.set_title(f"for {label}".replace("$", r"\$"), loc="left", fontsize=10)
    return figure
