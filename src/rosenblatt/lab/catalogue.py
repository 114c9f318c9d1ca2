"""Descriptions of the learners for the page, from their docstrings and declared parameters; a new rule needs no entry here."""

import functools
import inspect
import math
import re
import sys
from typing import Any

from rosenblatt.estimators.parameters import SWITCH, Parameter, declarations, defaults

HIDDEN = {
    "budget", "budget_policy", "block_size", "class_weight", "early_stopping", "l1_ratio", "max_support",
    "n_iter_no_change", "n_jobs", "normalize", "penalty", "positive", "readout", "tol", "validation_fraction",
    "verbose", "warm_start",
}  # fmt: skip
"""Parameters that have no effect on a trace, or that `trace` refuses."""

COMMON = ("max_iter", "fit_intercept", "on_zero", "multiclass", "shuffle", "random_state")
"""Parameters of nearly all learners; they are shown last."""

DEFAULTS = {"max_iter": 10, "shuffle": False}
"""Initial values in the lab that differ from the defaults of the learner, which are for real data."""

TITLES = {
    "max_iter": "passes",
    "fit_intercept": "bias",
    "on_zero": "a score of 0",
    "multiclass": "several classes",
    "shuffle": "order",
    "random_state": "seed",
}
"""Names of parameters on the page; the others have their own."""


@functools.cache
def catalogue() -> dict[str, Any]:
    """Everything that the page needs before the first run."""
    from rosenblatt._version import __version__

    from .presets import PRESETS
    from .runs import MOST_CLASSES, MOST_FEATURES, MOST_POINTS, MOST_STEPS, MOST_VISITS

    limits = {
        "points": MOST_POINTS,
        "features": MOST_FEATURES,
        "classes": MOST_CLASSES,
        "visits": MOST_VISITS,
        "steps": MOST_STEPS,
    }
    presets = [one.described(name) for name, one in PRESETS.items()]
    return {"version": __version__, "learners": learners(), "presets": presets, "limits": limits}


def learners() -> list[dict[str, Any]]:
    """All learners that can be traced."""
    from rosenblatt.learners import names as known
    from rosenblatt.trace.run import find_learner

    found = {}
    for algorithm in known():
        try:
            name, learner = find_learner(algorithm)
        except ValueError:
            continue
        found[name] = learner
    order = [
        "perceptron",
        "averaged",
        "voted",
        "pocket",
        "batch",
        "margin",
        "passive-aggressive",
        "winnow",
        "parallel",
        "kernel",
    ]
    names = [name for name in order if name in found] + [name for name in found if name not in order]
    return [_learner(name, found[name]) for name in names]


def _learner(name: str, learner: Any) -> dict[str, Any]:
    documentation = inspect.cleandoc(learner.__doc__ or "")
    return {
        "name": name,
        "title": re.sub(r"(?<=[a-z])(?=[A-Z])", " ", learner.__name__),
        "about": documentation.partition("\n\n")[0].replace("\n", " "),
        "source": _source(learner),
        "code": pseudocode(learner),
        "parameters": _parameters(name, learner),
    }


def _source(learner: Any) -> str:
    """Reference of the learner: the second paragraph of its file."""
    paragraphs = (sys.modules[learner.__module__].__doc__ or "").split("\n\n")
    return " ".join(paragraphs[1].split()) if len(paragraphs) > 1 else ""


def _parameters(name: str, learner: Any) -> list[dict[str, Any]]:
    declared, default = declarations(learner), defaults(learner) | DEFAULTS
    without = {"kernel": ("eta",), "parallel": ("multiclass", "on_zero")}.get(name, ())
    unused = {"alpha"} if "l1_ratio" in declared else set()  # the weight of a penalty, which a trace refuses
    shown = [key for key in declared if key not in HIDDEN | unused and key not in without]
    shown.sort(key=lambda key: COMMON.index(key) if key in COMMON else -1)
    return [{"name": key, "default": default[key], **_control(key, declared[key])} for key in shown]


def _control(name: str, parameter: Parameter) -> dict[str, Any]:
    """Description of the control for a parameter, with the error message before and after the given value."""
    title = TITLES.get(name, name)
    one: dict[str, Any] = {
        "title": title,
        "help": parameter.about + (f" A number{parameter.limits}." if parameter.limits else ""),
    }

    def must(allowed: str) -> list[str]:
        return [f"“{title}” must be {allowed}; got ", f". {parameter.advice.replace('epochs', 'passes')}"]

    if parameter.choices == SWITCH:
        return one | {"kind": "switch", "must": must("True or False")}
    if parameter.choices and not parameter.number:
        choices = [word for word in parameter.choices if word != "precomputed"]
        return one | {"kind": "choice", "choices": choices, "must": must(f"one of {', '.join(map(repr, choices))}")}
    limits = {
        "above": None if parameter.above == -math.inf else parameter.above,
        "least": parameter.least,
        "most": parameter.most,
        "odd": parameter.odd,
    }
    kind = "whole" if parameter.number == "int" else "number"
    noun = "a number" if kind == "number" else "an odd number" if parameter.odd else "a whole number"
    words = must(noun + parameter.limits + (", or empty" if parameter.none else ""))
    return one | {"kind": kind, "optional": parameter.none, "limits": limits, "must": words}


def allows(one: dict[str, Any], value: Any) -> bool:
    """Whether a value is allowed for a parameter that is described by `_control`."""
    if one["kind"] == "switch":
        return isinstance(value, bool)
    if one["kind"] == "choice":
        return any(type(value) is type(choice) and value == choice for choice in one["choices"])
    if isinstance(value, bool) or not isinstance(value, int if one["kind"] == "whole" else (int, float)):
        return False
    above, least, most, odd = (one["limits"][key] for key in ("above", "least", "most", "odd"))
    return (
        math.isfinite(value)
        and (above is None or value > above)
        and (least is None or value >= least)
        and (most is None or value <= most)
        and not (odd and value % 2 == 0)
    )


def pseudocode(learner: Any) -> list[dict[str, Any]]:
    """Lines of the pseudocode in the file of the learner, each with its role.

    Roles: "start" before the run, "take" the next example, "decide" whether to update, "update" the weights, "keep" the weights
    in the pocket, "answer" for the weights that predict.
    """
    module = sys.modules[learner.__module__]
    lines: list[dict[str, Any]] = []
    for line in _block(module.__doc__ or ""):
        inherited = re.match(r"learn as the perceptron does", line)
        if inherited:
            from rosenblatt.learners.perceptron import Perceptron

            lines += pseudocode(Perceptron)
            lines = [one for one in lines if not one["text"].startswith("predict")]
            continue
        indent = len(line) - len(line.lstrip())
        head, colon, rest = line.strip().partition(":  ")
        if colon and head.startswith(("if ", "on a mistake")):
            lines.append({"text": head + ":", "indent": indent // 4, "role": _role(head, lines)})
            lines.append(
                {
                    "text": rest.strip(),
                    "indent": indent // 4 + 1,
                    "role": "keep" if lines[-1]["role"] == "keep" else "update",
                }
            )
        else:
            lines.append({"text": line.strip(), "indent": indent // 4, "role": _role(line.strip(), lines)})
    return lines


def _block(documentation: str) -> list[str]:
    """First paragraph in which all lines begin with four spaces."""
    for paragraph in documentation.split("\n\n"):
        lines = paragraph.strip("\n").split("\n")
        if all(line.startswith("    ") for line in lines):
            return [line[4:] for line in lines]
    return []


def _role(text: str, before: list[dict[str, Any]]) -> str:
    looping = any(one["role"] == "take" for one in before)
    if re.match(r"(for each|repeat)", text):
        return "take"
    if text.startswith(("last:", "answer", "until", "predict with", "predict the sign of Σ", "predict the sign of <Σ")):
        return "answer"
    if text.startswith("when") or (before and before[-1]["role"] == "keep"):
        return "keep"
    if re.match(r"(if|on a mistake|predict|loss|tau\b|w·φ)", text):
        return "decide"
    if re.search(r"(?<![<>≤≥])=", text):
        return "update" if looping else "start"
    return "decide" if looping else "start"
