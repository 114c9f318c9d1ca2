"""Animation of a run in the plane, step by step: a GIF, or a self-contained web page."""

import html
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rosenblatt.trace import Step, Trace, trace
from rosenblatt.trace.tables import number, vector

from ._page import PAGE
from ._style import BLACK, COLOURS, GREY, MARKERS, class_style, pyplot
from .regions import DecisionRegionDisplay, grid, outside_legend

Floats = NDArray[np.float64]


def animate(
    X: Any, y: ArrayLike, algorithm: str = "perceptron", max_iter: int = 10, *, interval: int = 600, **parameters: Any
) -> "RunAnimation":
    """Run a linear learner on two features and animate it.

    Parameters
    ----------
    X : array or frame of shape (n_examples, 2)
        The examples.
    y : array of shape (n_examples,)
        Their labels, two classes or many.
    algorithm : str, default="perceptron"
        Name of the learner, as in `rosenblatt.trace`.
    max_iter : int, default=10
        Largest number of passes; the run ends after a pass without a mistake.
    interval : int, default=600
        Milliseconds for each step, at least 20.
    **parameters
        Other arguments of `rosenblatt.trace`, such as `init`, `on_zero`, `limit` or `eta0`. A long run is sampled.

    Returns
    -------
    RunAnimation
        Call its ``save("run.gif")`` or ``save("run.html")``; a notebook displays it.
    """
    return RunAnimation(trace(X, y, algorithm, max_iter, **parameters), X, y, interval=interval)


class RunAnimation:
    """Animation of a trace.

    Parameters
    ----------
    trace : Trace
        The run, of a linear learner.
    X, y : arrays
        The examples of the run, with two features.
    interval : int, default=600
        Milliseconds for each step.
    """

    def __init__(self, trace: Trace, X: Any, y: ArrayLike, *, interval: int = 600) -> None:
        points = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(
                f"`X` of an animation must have two features; got the shape {points.shape}. Choose two columns."
            )
        if trace.kind in ("dual", "committee") or not trace.steps:
            raise ValueError(
                "An animation needs a run of a linear learner with at least one step; got one of the algorithm "
                f"{trace.algorithm!r} with {len(trace.steps)} steps. Use DecisionRegionDisplay for a kernel or a committee."
            )
        if interval < 20:
            raise ValueError(
                f"`interval` of an animation must be at least 20 milliseconds; got {interval}. 600 is easy to follow."
            )
        self.trace, self.X, self.y = trace, points, np.asarray(y)
        self.interval = interval
        self.bias = len(trace.features) == 3
        ends = np.cumsum([0.0, *(one.count for one in trace.survivors)])
        self._voters = [(one.weights, ends[k], ends[k + 1]) for k, one in enumerate(trace.survivors)]

    def __len__(self) -> int:
        return len(self.trace.steps) + 1

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.to_html())}" width="720" height="640" style="border:0"></iframe>'

    def save(self, path: str | Path) -> Path:
        """Write the animation to a file; its name selects the format.

        Parameters
        ----------
        path : str or Path
            Ends in ".gif" (needs matplotlib) or ".html".

        Returns
        -------
        Path
        """
        path = Path(path)
        if path.suffix.lower() in (".html", ".htm"):
            path.write_text(self.to_html(), encoding="utf-8")
        elif path.suffix.lower() == ".gif":
            from matplotlib.animation import PillowWriter

            film = self.film()
            film.save(path, writer=PillowWriter(fps=1000.0 / self.interval))  # type: ignore[arg-type] # a float works
            pyplot().close(film._fig)
        else:
            raise ValueError(
                f"`path` of an animation must end in .gif or .html; got {path.name!r}. Any browser shows both."
            )
        return path

    def film(self) -> Any:
        """The animation as a ``matplotlib.animation.FuncAnimation``; its first frame is the start."""
        plt = pyplot()
        from matplotlib.animation import FuncAnimation

        figure, ax = plt.subplots(figsize=(6.4, 5.2), layout="constrained")
        return FuncAnimation(
            figure, lambda frame: self.draw(ax, frame), frames=len(self), interval=self.interval, init_func=lambda: None
        )

    def draw(self, ax: Any, frame: int) -> list[Any]:
        """Draw one frame: 0 is the start, the others are the plane after each step."""
        ax.clear()
        step = self.trace.steps[frame - 1] if frame else None
        last = self.trace.steps[0].before if step is None else step.after
        weights = self._predicting(step)
        first, second = grid(self.X, 120, 0.2)
        scores = self._scores(weights, first, second)
        if self._voters and step is not None:
            scores = self._votes(step, first, second)
        names = self.trace.features[-2:]
        DecisionRegionDisplay(
            first,
            second,
            scores[..., 0] if scores.shape[-1] == 1 else scores,
            np.array(self.trace.classes),
            X=self.X,
            y=self.y,
            weights=None if self._voters else self._full(weights),
            feature_names=(names[0], names[1]),
        ).plot(ax=ax, show_margin=False)
        if (weights is not last or self._voters) and len(last) == 1:
            self._draw_last(ax, first, second, last[0])
        if step is not None and step.example is not None:
            at = self.X[step.example - 1]
            look = {"edgecolors": COLOURS[2]} if step.correct else {"edgecolors": COLOURS[5], "linestyles": "dashed"}
            ax.scatter(*at, s=260, facecolors="none", linewidths=2.5, zorder=4, **look)
        ax.set_title(self._caption(step), fontsize="medium")
        return list(ax.get_children())

    def _full(self, weights: Floats) -> Floats:
        """Weights with a bias, which is 0 if the run has none."""
        return weights if self.bias else np.column_stack([np.zeros(len(weights)), weights])

    def _scores(self, weights: Floats, first: Floats, second: Floats) -> Floats:
        """The scores on a grid, one for each weight vector."""
        full = self._full(weights)
        scores: Floats = full[:, 0] + first[..., None] * full[:, 1] + second[..., None] * full[:, 2]
        return scores

    def _votes(self, step: Step, first: Floats, second: Floats) -> Floats:
        """The votes on a grid after a step of a voted perceptron, as scores: of two classes the lead of the second."""
        votes = np.zeros((*first.shape, 1 if len(self.trace.classes) == 2 else len(self.trace.classes)))
        for weights, begin, end in self._voters:
            count = min(end, step.number) - begin
            if count <= 0:
                break
            scores = self._scores(weights, first, second)
            best = np.sign(scores) if scores.shape[-1] == 1 else scores == scores.max(axis=-1, keepdims=True)
            tied = best.sum(axis=-1, keepdims=True) > 1  # a tie is no vote
            votes += count * np.where(tied, 0.0, best)
        return votes

    def _predicting(self, step: Step | None) -> Floats:
        """The weights that predict after a step: the average or the pocket if there is one, else the last."""
        if step is None:
            return self.trace.steps[0].before
        if step.held is not None:  # at the end of a run the pocket algorithm checks once more
            return self.trace.weights if step is self.trace.steps[-1] else step.held
        return step.after if step.average is None else step.average

    def _draw_last(self, ax: Any, first: Floats, second: Floats, w: Floats) -> None:
        """Draw the boundary of the last weights beside that of the weights or votes that predict."""
        bias, a, b = w if self.bias else (0.0, *w)
        scores = bias + a * first + b * second
        if scores.min() < 0 < scores.max():
            ax.contour(first, second, scores, levels=[0.0], colors=GREY, linewidths=1.5, linestyles="dashed")
        ax.plot([], [], color=GREY, linestyle="dashed", label="last w")
        outside_legend(ax)

    def _caption(self, step: Step | None) -> str:
        if step is None:
            return "start: " + self._weights(self.trace.steps[0].before)
        if step.example is None:
            wrong = len(step.mistakes)
            return f"epoch {step.epoch}: {wrong} mistake{'' if wrong == 1 else 's'}, {self._weights(step.after)}"
        verdict = "correct" if step.correct else "mistake"
        return f"step {step.number}: example {step.example}, {verdict}, {self._weights(step.after)}"

    def _weights(self, weights: Floats) -> str:
        return f"w = {vector(weights[0], 4)}" if len(weights) == 1 else f"{len(weights)} weight vectors"

    def to_html(self) -> str:
        """The animation as one HTML page that loads no other files."""
        codes = {label: place for place, label in enumerate(self.trace.classes)}
        frames = [
            {
                "w": self._predicting(step).tolist(),
                "last": step.after.tolist(),
                "done": step.number,
                "at": step.example,
                "ok": step.correct,
                "text": self._caption(step),
            }
            for step in self.trace.steps
        ]
        before = self.trace.steps[0].before.tolist()
        start = {"w": before, "last": before, "done": 0, "at": None, "ok": True, "text": self._caption(None)}
        low, high = self.X.min(axis=0), self.X.max(axis=0)
        room = 0.2 * np.where(high > low, high - low, 1.0)
        data = {
            "points": self.X.tolist(),
            "codes": [codes[label] for label in self.y.tolist()],
            "classes": [str(label) for label in self.trace.classes],
            "colours": [class_style(place)[0] for place in range(len(codes))],
            "markers": [MARKERS[place % len(MARKERS)] for place in range(len(codes))],
            "features": list(self.trace.features[-2:]),
            "bias": self.bias,
            "voters": [[weights.tolist(), begin, end] for weights, begin, end in self._voters],
            "box": [*(low - room).tolist(), *(high + room).tolist()],
            "frames": [start, *frames],
            "interval": self.interval,
            "right": COLOURS[2],
            "wrong": COLOURS[5],
            "ink": BLACK,
        }
        # "</script>" inside a label must not end the script.
        payload = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
        title = html.escape(f"{self.trace.algorithm}: {number(self.trace.total_mistakes)} mistakes")
        note = html.escape(self.trace.note)
        return PAGE.replace("{{title}}", title).replace("{{note}}", note).replace("{{data}}", payload)
