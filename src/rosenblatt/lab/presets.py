"""The data to begin with: the worked examples of lecture notes, exactly as they stand there, and sets made to order."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Settings = dict[str, Any]


@dataclass(frozen=True)
class Preset:
    """One entry of the page's list.

    Attributes
    ----------
    title, group, about : str
        What the page shows.
    data : callable
        From the options to a dict with ``X``, ``y`` and what else belongs to the data (``classes``, ``features``).
    algorithm : str
        The learner that it is shown with.
    parameters : dict
        And the learner's parameters.
    options : list of dict
        Sliders: name, title, lowest, highest, step and default.
    """

    title: str
    group: str
    about: str
    data: Callable[..., Settings]
    algorithm: str = "perceptron"
    parameters: Settings = field(default_factory=dict)
    options: list[Settings] = field(default_factory=list)


def make(name: Any, options: Any) -> Settings:
    """The data of a preset and the run that it is shown with."""
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


def _random(seed: float) -> np.random.Generator:
    return np.random.default_rng(int(seed))


def _drawn(points: Any, labels: Any) -> Settings:
    return {"X": np.round(points, 1).tolist(), "y": np.asarray(labels).tolist()}


def separable(points: float, margin: float, seed: float) -> Settings:
    """Points of a square that keep the distance `margin` from a line."""
    rng = _random(seed)
    angle = rng.uniform(0, 2 * math.pi)
    u, offset = np.array([math.cos(angle), math.sin(angle)]), rng.uniform(-2, 2)
    kept: list[Any] = []
    while len(kept) < int(points):
        x = np.round(rng.uniform(-4, 4, 2), 1)
        # One class after the other, so that both are there however few the points.
        side = 1 if len(kept) % 2 else -1
        if side * (x @ u - offset) >= margin:
            kept.append(x)
    return _drawn(np.array(kept), [1 if n % 2 else -1 for n in range(len(kept))])


def noisy(points: float, noise: float, seed: float) -> Settings:
    """Two clouds, with a share of the labels wrong."""
    rng = _random(seed)
    y = np.where(np.arange(int(points)) % 2, 1, -1)
    X = rng.normal(size=(len(y), 2)) * 0.9 + np.outer(y, [1.3, 1.0])
    return _drawn(X, np.where(rng.uniform(size=len(y)) < noise, -y, y))


def xor_clouds(points: float, seed: float) -> Settings:
    """Four clouds at the corners of a square; opposite corners are of one class."""
    rng = _random(seed)
    corner = np.arange(int(points)) % 4
    centre = np.array([[2, 2], [2, -2], [-2, 2], [-2, -2]])[corner]
    return _drawn(centre + rng.normal(size=(len(corner), 2)) * 0.6, np.where((corner == 0) | (corner == 3), 1, -1))


def circles(points: float, seed: float) -> Settings:
    """A disc inside a ring."""
    rng = _random(seed)
    inner = np.arange(int(points)) % 2 == 0
    radius = np.where(inner, rng.uniform(0, 1.3, len(inner)), rng.uniform(2.2, 3.2, len(inner)))
    angle = rng.uniform(0, 2 * math.pi, len(inner))
    return _drawn(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), np.where(inner, 1, -1))


def clouds(points: float, classes: float, seed: float) -> Settings:
    """Clouds of three or four classes around a circle."""
    rng = _random(seed)
    code = np.arange(int(points)) % int(classes)
    angle = 2 * math.pi * code / int(classes) + 0.5
    X = 2.4 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(size=(len(code), 2)) * 0.6
    return _drawn(X, np.array(["a", "b", "c", "d"])[code])


def committee(experts: float, panel: float, rounds: float, seed: float) -> Settings:
    """Votes of experts, of whom a hidden panel decides."""
    from rosenblatt.experiments import committee_examples

    size = int(panel)
    X, y, members = committee_examples(int(experts), size if size % 2 else size - 1, int(rounds), int(seed))
    names = [f"expert {n + 1}{' (panel)' if n in members else ''}" for n in range(int(experts))]
    return {"X": X.tolist(), "y": y.tolist(), "features": names}


def _option(name: str, title: str, low: float, high: float, step: float, default: float) -> Settings:
    return {"name": name, "title": title, "low": low, "high": high, "step": step, "default": default}


_SEED = _option("seed", "draw", 0, 99, 1, 1)
NOTES, MADE = "Worked examples", "Made to order"

PRESETS: dict[str, Preset] = {
    "separable": Preset(
        "Separable",
        MADE,
        "Two classes with a gap between them: the perceptron must stop, and the theorem says when.",
        separable,
        parameters={"max_iter": 20},
        options=[
            _option("margin", "distance kept from the line", 0.02, 1.2, 0.02, 0.3),
            _option("points", "points", 4, 200, 2, 24),
            _SEED | {"default": 7},
        ],
    ),
    "noisy": Preset(
        "Noisy",
        MADE,
        "Two clouds with wrong labels among them: no line is right about all, and the pocket keeps the best it has seen.",
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
        "Opposite corners belong together: no line can do it, a kernel can.",
        xor_clouds,
        "kernel",
        {"max_iter": 10, "kernel": "poly", "degree": 2},
        [_option("points", "points", 4, 200, 4, 40), _SEED],
    ),
    "circles": Preset(
        "Circles",
        MADE,
        "A disc in a ring: a round boundary, found by a kernel.",
        circles,
        "kernel",
        {"max_iter": 10, "kernel": "rbf", "gamma": 0.5},
        [_option("points", "points", 10, 200, 2, 60), _SEED],
    ),
    "clouds": Preset(
        "Many classes",
        MADE,
        "One weight vector for each class; the highest score answers.",
        clouds,
        parameters={"max_iter": 10},
        options=[_option("classes", "classes", 3, 4, 1, 3), _option("points", "points", 6, 200, 2, 36), _SEED],
    ),
    "committee": Preset(
        "Committee votes",
        MADE,
        "Experts vote, and a hidden panel of them is always right: Winnow finds the panel among many with few mistakes.",
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
        "Four examples from zero weights, without bias: w goes (4, 0), (3, −1), (1, −3).",
        _fixed([[4, 0], [1, 1], [0, 1], [-2, -2]], [1, -1, -1, 1]),
        parameters={"max_iter": 1, "fit_intercept": False, "on_zero": "update", "init": [0, 0]},
    ),
    "cycle": Preset(
        "The exclusive-or cycle",
        NOTES,
        "Every example a mistake, and after the pass the weights are back where they began: so it goes for ever.",
        _fixed([[1, 1], [1, -1], [-1, 1], [-1, -1]], [1, -1, -1, 1]),
        parameters={"max_iter": 1, "fit_intercept": False, "on_zero": "update", "init": [0, 0]},
    ),
    "table": Preset(
        "One pass as a table",
        NOTES,
        "Five examples with a bias, from (−1, 0, 0); a score of 0 is answered +1.",
        _fixed([[1, 1], [3, 2], [2, 4], [3, 4], [2, 3]], [-1, 1, 1, 1, -1]),
        parameters={"max_iter": 1, "fit_intercept": True, "on_zero": "positive", "init": [-1, 0, 0]},
    ),
    "correction": Preset(
        "One correction",
        NOTES,
        "One example in three dimensions: the score falls by exactly ‖x‖² = 17, from 10 to −7.",
        _fixed([[4, 0, 1]], [-1], classes=[-1, 1]),
        parameters={"max_iter": 1, "fit_intercept": False, "on_zero": "positive", "init": [2, 2, 2]},
    ),
    "three": Preset(
        "Three classes, one mistake",
        NOTES,
        "The predicted class gives, the true class takes; with multiclass=all every other class gives.",
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
        "Four examples before w = (1, 0): one lies 0.01 from the boundary, one is on the wrong side by 1.",
        _fixed([[1, -1], [-1, -1], [0.01, 0], [-1, 0]], [1, 1, 1, -1]),
        parameters={"max_iter": 1, "fit_intercept": False, "on_zero": "update", "init": [1, 0]},
    ),
}
