"""Preset data: the worked examples of lecture notes, with the same numbers, and generated sets."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Settings = dict[str, Any]


@dataclass(frozen=True)
class Preset:
    """Entry of the list of presets on the page.

    Attributes
    ----------
    title, group, about : str
        Texts on the page.
    data : callable
        Makes a dict with ``X``, ``y`` and optionally ``classes`` and ``features`` from the options.
    algorithm : str
        Learner to show it with.
    parameters : dict
        Parameters of the learner.
    options : list of dict
        Sliders: name, title, minimum, maximum, step and default.
    """

    title: str
    group: str
    about: str
    data: Callable[..., Settings]
    algorithm: str = "perceptron"
    parameters: Settings = field(default_factory=dict)
    options: list[Settings] = field(default_factory=list)

    def described(self, name: str) -> Settings:
        """Everything that the page needs: the data themselves, or the name of their generator and its options."""
        return {
            "name": name,
            "title": self.title,
            "group": self.group,
            "about": self.about,
            "options": self.options,
            "algorithm": self.algorithm,
            "parameters": self.parameters,
            **({"generator": name} if self.options else {"data": self.data()}),
        }


def make(name: Any, options: Any) -> Settings:
    """Make the data of a preset, with its learner and parameters."""
    if name not in PRESETS:
        raise ValueError(f"A preset must be one of {', '.join(PRESETS)}; got {name!r}. Choose one from the list.")
    preset = PRESETS[name]
    chosen = {}
    for option in preset.options:
        value = options.get(option["name"], option["default"]) if isinstance(options, dict) else None
        if not isinstance(value, (int, float)) or not option["low"] <= value <= option["high"]:
            raise ValueError(
                f"`{option['name']}` of the preset {name!r} must be a number from {option['low']} to {option['high']}; got "
                f"{value!r}. Move its slider."
            )
        chosen[option["name"]] = value
    data = {"features": None, "classes": None, **preset.data(**chosen)}
    return {**data, "name": name, "options": chosen, "algorithm": preset.algorithm, "parameters": preset.parameters}


def _fixed(X: list[list[float]], y: list[Any], **more: Any) -> Callable[..., Settings]:
    return lambda: {"X": X, "y": y, **more}


# The generated sets. `static/engine/presets.js` has the same lines: only sums, products and square roots, which every machine
# rounds alike, and the generator of RandomState, whose numbers NumPy keeps for ever. So a shared link shows the same points.


def _random(seed: float) -> np.random.RandomState:
    return np.random.RandomState(int(seed))


def _on_grid(value: float) -> float:
    """Round to a multiple of 1/8, so that sums of points have no rounding errors."""
    return round(value * 8) / 8


def _bell(rng: np.random.RandomState) -> float:
    """A sum of twelve uniform numbers: nearly normal, and without a logarithm."""
    total = 0.0
    for _ in range(12):
        total += rng.random_sample()
    return total - 6.0


def _direction(rng: np.random.RandomState) -> tuple[float, float]:
    """A vector of length 1 in a random direction."""
    while True:
        a, b = 2.0 * rng.random_sample() - 1.0, 2.0 * rng.random_sample() - 1.0
        square = a * a + b * b
        if 0.01 < square <= 1.0:
            length = math.sqrt(square)
            return a / length, b / length


def separable(points: float, margin: float, seed: float) -> Settings:
    """Points in a square with at least the distance `margin` to a line."""
    rng = _random(seed)
    u, v = _direction(rng)
    offset = 4.0 * rng.random_sample() - 2.0
    X: list[list[float]] = []
    while len(X) < int(points):
        a, b = _on_grid(8.0 * rng.random_sample() - 4.0), _on_grid(8.0 * rng.random_sample() - 4.0)
        # The classes alternate, so that both occur even with few points.
        side = 1 if len(X) % 2 else -1
        if side * (a * u + b * v - offset) >= margin:
            X.append([a, b])
    return {"X": X, "y": [1 if n % 2 else -1 for n in range(len(X))]}


def noisy(points: float, noise: float, seed: float) -> Settings:
    """Two clouds with a share of wrong labels."""
    rng = _random(seed)
    X, y = [], []
    for n in range(int(points)):
        side = 1 if n % 2 else -1
        X.append([_on_grid(_bell(rng) * 0.9 + side * 1.3), _on_grid(_bell(rng) * 0.9 + side)])
        y.append(-side if rng.random_sample() < noise else side)
    return {"X": X, "y": y}


CORNERS = ((2, 2), (2, -2), (-2, 2), (-2, -2))


def xor_clouds(points: float, seed: float) -> Settings:
    """Four clouds at the corners of a square; opposite corners have the same class."""
    rng = _random(seed)
    X, y = [], []
    for n in range(int(points)):
        a, b = CORNERS[n % 4]
        X.append([_on_grid(a + _bell(rng) * 0.6), _on_grid(b + _bell(rng) * 0.6)])
        y.append(1 if a == b else -1)
    return {"X": X, "y": y}


def circles(points: float, seed: float) -> Settings:
    """A disc inside a ring."""
    rng = _random(seed)
    X, y = [], []
    for n in range(int(points)):
        inner = n % 2 == 0
        radius = 1.3 * rng.random_sample() if inner else 2.2 + rng.random_sample()
        a, b = _direction(rng)
        X.append([_on_grid(radius * a), _on_grid(radius * b)])
        y.append(1 if inner else -1)
    return {"X": X, "y": y}


CENTRES = {
    3: ((2.1, 1.15), (-2.05, 1.25), (-0.05, -2.4)),
    4: ((2.1, 1.15), (-1.15, 2.1), (-2.1, -1.15), (1.15, -2.1)),
}


def clouds(points: float, classes: float, seed: float) -> Settings:
    """Clouds of three or four classes on a circle."""
    rng = _random(seed)
    X, y = [], []
    for n in range(int(points)):
        a, b = CENTRES[int(classes)][n % int(classes)]
        X.append([_on_grid(a + _bell(rng) * 0.6), _on_grid(b + _bell(rng) * 0.6)])
        y.append("abcd"[n % int(classes)])
    return {"X": X, "y": y}


def committee(experts: float, panel: float, rounds: float, seed: float) -> Settings:
    """Votes of experts; the majority of a hidden panel is the label."""
    rng = _random(seed)
    size = int(panel) if panel % 2 else int(panel) - 1
    members = rng.permutation(int(experts))[:size].tolist()
    X, y = [], []
    for _ in range(int(rounds)):
        votes = [-1 if rng.random_sample() < 0.5 else 1 for _ in range(int(experts))]
        X.append(votes)
        y.append(1 if sum(votes[k] for k in members) > 0 else -1)
    names = [f"expert {n + 1}{' (panel)' if n in members else ''}" for n in range(int(experts))]
    return {"X": X, "y": y, "features": names}


def _option(name: str, title: str, low: float, high: float, step: float, default: float) -> Settings:
    return {"name": name, "title": title, "low": low, "high": high, "step": step, "default": default}


_SEED = _option("seed", "random seed", 0, 99, 1, 1)
NOTES, MADE = "Worked examples", "Generated data"

PRESETS: dict[str, Preset] = {
    "separable": Preset(
        "Separable",
        MADE,
        "Two classes with a gap between them: the perceptron stops, and the theorem bounds its mistakes.",
        separable,
        parameters={"max_iter": 20},
        options=[
            _option("margin", "distance to the line", 0.02, 1.2, 0.02, 0.3),
            _option("points", "points", 4, 200, 2, 24),
            _SEED | {"default": 7},
        ],
    ),
    "noisy": Preset(
        "Noisy",
        MADE,
        "Two clouds with some wrong labels: no line separates them, and the pocket keeps the best weights so far.",
        noisy,
        "pocket",
        {"max_iter": 10, "shuffle": True},
        [
            _option("noise", "share of wrong labels", 0, 0.4, 0.02, 0.1),
            _option("points", "points", 10, 2000, 10, 60),
            _SEED,
        ],
    ),
    "xor": Preset(
        "Exclusive or",
        MADE,
        "Opposite corners have the same class: no line separates the classes, but a kernel does.",
        xor_clouds,
        "kernel",
        {"max_iter": 10, "kernel": "poly", "degree": 2},
        [_option("points", "points", 4, 200, 4, 40), _SEED],
    ),
    "circles": Preset(
        "Circles",
        MADE,
        "A disc in a ring: a kernel finds the round boundary.",
        circles,
        "kernel",
        {"max_iter": 10, "kernel": "rbf", "gamma": 0.5},
        [_option("points", "points", 10, 200, 2, 60), _SEED],
    ),
    "clouds": Preset(
        "Several classes",
        MADE,
        "One weight vector for each class; the class with the highest score is predicted.",
        clouds,
        parameters={"max_iter": 10},
        options=[_option("classes", "classes", 3, 4, 1, 3), _option("points", "points", 6, 200, 2, 36), _SEED],
    ),
    "committee": Preset(
        "Committee votes",
        MADE,
        "Experts vote, and the majority of a hidden panel is always right: Winnow finds the panel with few mistakes.",
        committee,
        "winnow",
        {"max_iter": 5, "fit_intercept": False, "eta": 0.2},
        [
            _option("experts", "experts", 5, 200, 5, 40),
            _option("panel", "members of the panel (odd)", 1, 5, 2, 5),
            _option("rounds", "rounds", 20, 1000, 20, 200),
            _SEED,
        ],
    ),
    "walk": Preset(
        "A walk in the plane",
        NOTES,
        "Four examples from zero weights, without bias: w becomes (4, 0), (3, −1), (1, −3).",
        _fixed([[4, 0], [1, 1], [0, 1], [-2, -2]], [1, -1, -1, 1]),
        parameters={"max_iter": 1, "fit_intercept": False, "on_zero": "update", "init": [0, 0]},
    ),
    "cycle": Preset(
        "The exclusive-or cycle",
        NOTES,
        "Every example is a mistake, and after a pass the weights are the initial ones: the run never ends.",
        _fixed([[1, 1], [1, -1], [-1, 1], [-1, -1]], [1, -1, -1, 1]),
        parameters={"max_iter": 1, "fit_intercept": False, "on_zero": "update", "init": [0, 0]},
    ),
    "table": Preset(
        "One pass as a table",
        NOTES,
        "Five examples with a bias, from (−1, 0, 0); a score of 0 predicts +1.",
        _fixed([[1, 1], [3, 2], [2, 4], [3, 4], [2, 3]], [-1, 1, 1, 1, -1]),
        parameters={"max_iter": 1, "fit_intercept": True, "on_zero": "positive", "init": [-1, 0, 0]},
    ),
    "correction": Preset(
        "One correction",
        NOTES,
        "One example in three dimensions: the score falls by exactly ‖x‖² = 17, from 10 to −7.",
        _fixed([[4, 0, 1]], [-1]),
        parameters={"max_iter": 1, "fit_intercept": False, "on_zero": "positive", "init": [2, 2, 2]},
    ),
    "three": Preset(
        "Three classes, one mistake",
        NOTES,
        "x is subtracted from the predicted class and added to the true one; with multiclass=all from every other class.",
        _fixed([[-2, 3, 1]], ["c"], classes=["a", "b", "c"]),
        parameters={
            "max_iter": 1,
            "fit_intercept": False,
            "multiclass": "max",
            "init": [[-2, 2, 1], [0, 3, 4], [1, 4, -2]],
        },
    ),
    "margins": Preset(
        "The margin of a vector",
        NOTES,
        "Four examples and w = (1, 0): one has distance 0.01 to the boundary, one is on the wrong side by 1.",
        _fixed([[1, -1], [-1, -1], [0.01, 0], [-1, 0]], [1, 1, 1, -1]),
        parameters={"max_iter": 1, "fit_intercept": False, "on_zero": "update", "init": [1, 0]},
    ),
}
