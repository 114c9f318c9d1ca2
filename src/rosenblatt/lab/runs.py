"""Runs for the page: a trace with its steps as columns, the certificate, and the exports."""

import inspect
import itertools
import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_POINTS = 5_000
MOST_FEATURES = 200
MOST_CLASSES = 7
MOST_VISITS = 200_000
"""Maximum number of examples times passes."""
MOST_STEPS = 5_000
"""Maximum number of steps to send; of a longer run the first, the last, and mistakes between them."""

COMPARED = ("perceptron", "averaged", "voted")
"""Learners with the same updates, which differ in the weights that predict."""

Floats = NDArray[np.float64]
Body = dict[str, Any]


def run(body: Body) -> Body:
    """Steps of a run, its table, and everything else that the page draws."""
    X, y, arguments = _problem(body)
    trace = _trace(X, y, arguments)
    headings, rows = trace.to_cells(columns_of(trace.algorithm))
    answer = {
        "algorithm": trace.algorithm,
        "classes": list(trace.classes),
        "features": list(trace.features),
        "kind": trace.kind,
        "examples": trace.examples,
        "epochs": trace.epochs,
        "total": trace.total,
        "mistakes": trace.total_mistakes,
        "updates": trace.total_updates,
        "start": trace.start.tolist() if trace.kind != "dual" else [[0.0]] * len(trace.start),
        "weights": trace.weights.tolist() if trace.kind != "dual" else [[0.0]] * len(trace.start),
        "formula": trace.formula,
        "bound": _finite(trace.bound),
        "note": trace.note,
        "comparator": None,
        "steps": _columns(trace),
        "table": {"headings": headings, "rows": rows},
        "survivors": _survivors(X, y, trace, arguments),
        "kernel": _kernel(X, arguments) if trace.kind == "dual" else None,
        "band": _band(arguments) if trace.kind == "weights" else None,
        "winnow": _winnow(X, y, trace, arguments) if trace.algorithm == "winnow" else None,
    }
    if trace.comparator is not None:
        known = trace.comparator
        answer["comparator"] = {
            "weights": None if trace.kind == "dual" else known.weights.tolist(),
            "margin": known.margin,
            "radius": known.radius,
        }
    return answer


def columns_of(algorithm: str) -> list[str]:
    """The columns of the blackboard: those of lecture notes, and what the learner keeps besides its weights."""
    more = {"voted": ["survived"], "averaged": ["average"], "pocket": ["pocket"]}
    return ["step", "weights", "score", "correct", "update", *more.get(algorithm, [])]


def certificate(body: Body) -> Body:
    """Certificate whether the points are linearly separable."""
    from rosenblatt.theory import certify

    X, y, arguments = _problem(body)
    proved = certify(X, y, fit_intercept=arguments.get("fit_intercept", True))
    answer: Body = {
        "status": proved.status,
        "problem": proved.problem,
        "text": str(proved),
        "margin": [_finite(value) for value in proved.margin],
        "radius": proved.radius,
        "bound": _finite(proved.mistake_bound),
        "classes": proved.classes.tolist(),
        "separator": None,
        "combination": None,
        "common": None,
        "verified": proved.verify(),
    }
    if proved.separator is not None:
        coef, intercept = proved.separator
        length = math.sqrt(float((coef**2).sum() + (intercept**2).sum())) or 1.0
        answer["separator"] = (np.column_stack([intercept, coef]) / length).tolist()
    if proved.combination is not None:
        weight = proved.combination if proved.combination.ndim == 1 else proved.combination.sum(axis=1)
        used = np.flatnonzero(weight)
        answer["combination"] = [[int(row), float(weight[row])] for row in used]
        if proved.combination.ndim == 1 and len(proved.classes) == 2:
            answer["common"] = _common_point(X, y, weight, proved.classes, arguments.get("fit_intercept", True))
    return answer


def export(body: Body) -> Body:
    """Export a run as text: all steps as "csv", the table as "markdown", or a "python" script for the same run."""
    X, y, arguments = _problem(body)
    form = body.get("form")
    if form == "python":
        return {"text": python_code(X, y, arguments)}
    if form not in ("csv", "markdown"):
        raise ValueError(
            f"`form` of an export must be csv, markdown or python; got {form!r}. Choose one from the menu."
        )
    trace = _trace(X, y, arguments)
    return {"text": trace.to_csv() if form == "csv" else trace.to_markdown(columns_of(trace.algorithm))}


def python_code(X: Floats, y: Any, arguments: Body) -> str:
    """Script that makes the same run."""
    from rosenblatt.trace import trace

    defaults = {key: one.default for key, one in inspect.signature(trace).parameters.items()}
    given = {key: value for key, value in arguments.items() if key not in defaults or defaults[key] != value}
    given.pop("limit", None)
    words = [repr(given.pop("algorithm"))] if "algorithm" in given else []
    words += [f"{key}={value!r}" for key, value in given.items()]
    rows = [f"[{', '.join(_short(value) for value in row)}]" for row in X.tolist()]
    lines = [
        "from rosenblatt import certify, trace",
        "",
        f"X = [{', '.join(rows)}]",
        f"y = {y.tolist()!r}",
        "",
        f"run = trace({', '.join(['X', 'y', *words])})",
        "print(run)",
        f"print(certify(X, y{'' if given.get('fit_intercept', True) else ', fit_intercept=False'}))",
    ]
    return "\n".join(lines) + "\n"


def _short(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _problem(body: Body) -> tuple[Floats, Any, Body]:
    """Check the request and return points, labels and the arguments of `trace`."""
    points, labels = body.get("X"), body.get("y")
    if not isinstance(points, list) or not isinstance(labels, list) or not points:
        raise ValueError("There must be at least one point with a label; got none. Click into the plane to add points.")
    if len(points) > MOST_POINTS:
        raise ValueError(
            f"There may be at most {MOST_POINTS:,} points; got {len(points):,}. Use `rosenblatt train` for more."
        )
    if len(points) != len(labels):
        raise ValueError(f"Each point must have one label; got {len(points):,} points and {len(labels):,} labels.")
    width = len(points[0]) if isinstance(points[0], list) else 0
    if not 1 <= width <= MOST_FEATURES:
        raise ValueError(f"A point must have 1 to {MOST_FEATURES} numbers; got {width}. Choose fewer columns.")
    if not all(isinstance(row, list) and len(row) == width and all(map(_is_number, row)) for row in points):
        raise ValueError(f"Every point must be a list of {width} finite numbers; got something else. Reload the page.")
    if not all(isinstance(label, (str, int)) and not isinstance(label, bool) for label in labels):
        raise ValueError(
            "Every label must be a word or a whole number; got something else. Choose another label column."
        )
    if len({type(label) for label in labels}) > 1:
        raise ValueError("All labels must be words, or all whole numbers; got both. Choose another label column.")
    if len(set(labels)) > MOST_CLASSES:
        raise ValueError(
            f"There may be at most {MOST_CLASSES} classes; got {len(set(labels)):,}. Choose another label column."
        )
    arguments = {"algorithm": body.get("algorithm", "perceptron"), **_parameters(body)}
    if body.get("classes"):
        arguments["classes"] = body["classes"]
    passes = arguments.get("max_iter", 1)
    if isinstance(passes, int) and passes * len(points) > MOST_VISITS:
        raise ValueError(
            f"A run may visit at most {MOST_VISITS:,} examples; {passes:,} passes over {len(points):,} points are "
            f"{passes * len(points):,}. Lower the number of passes to {MOST_VISITS // len(points):,}."
        )
    return np.array(points, dtype=np.float64), np.array(labels), arguments


def _parameters(body: Body) -> Body:
    """Check the parameters; only those that the page shows are allowed."""
    from .catalogue import allows, catalogue

    given, algorithm = body.get("parameters") or {}, body.get("algorithm", "perceptron")
    if not isinstance(given, dict):
        raise ValueError(f"The parameters must be an object; got {given!r}. Reload the page.")
    shown = next((one["parameters"] for one in catalogue()["learners"] if one["name"] == algorithm), None)
    if shown is None:
        raise ValueError(f"The learner must be one of the list; got {algorithm!r}. Choose another one.")
    known = {"init", *(one["name"] for one in shown)}
    unknown = sorted(set(given) - known)
    if unknown:
        raise ValueError(
            f"The parameters of {algorithm} must be among {', '.join(sorted(known))}; got {unknown[0]!r}. Leave it out."
        )
    given = {key: value for key, value in given.items() if value is not None}
    for one in shown:
        if one["name"] in given and not allows(one, given[one["name"]]):
            raise ValueError(repr(given[one["name"]]).join(one["must"]))
    return given


def _check_start(X: Floats, y: Any, arguments: Body) -> None:
    """Check what the learner needs of the points and of the initial weights; the messages use the words of the page."""
    from rosenblatt.trace.kernel import LARGEST_SET

    algorithm, init = arguments["algorithm"], arguments.get("init")
    classes = sorted({*y.tolist(), *arguments.get("classes", ())})
    if algorithm == "kernel" and arguments.get("classes"):
        raise ValueError(
            "A kernel run takes the classes from the points, so that each class must have a point. Add points of the missing "
            "class, or choose another learner."
        )
    if algorithm == "kernel" and len(X) > LARGEST_SET:
        raise ValueError(
            f"A kernel run may have at most {LARGEST_SET:,} points, because every step shows the coefficient of each; got "
            f"{len(X):,}. Use fewer points."
        )
    if len(classes) < 2 and (algorithm == "kernel" or classes[0] not in (-1, 1)):
        raise ValueError(
            f"There must be points of at least 2 classes; got 1 class, {classes[0]!r}. Add points of another class."
        )
    if algorithm == "parallel" and len(classes) > 2:
        raise ValueError(
            f"A committee of perceptrons learns 2 classes; got {len(classes)}. Choose another learner, or remove the points of "
            "the other classes."
        )
    if init is None:
        return
    if algorithm in ("parallel", "kernel"):
        raise ValueError(
            f"“initial w” must be empty for this learner, whose initial weights are fixed; got {init!r}. Leave it empty."
        )
    width, vectors = X.shape[1] + bool(arguments.get("fit_intercept", True)), len(classes) if len(classes) > 2 else 1
    rows = init if isinstance(init, list) and init and isinstance(init[0], list) else [init]
    if len(rows) != vectors or not all(
        isinstance(row, list) and len(row) == width and all(map(_is_number, row)) for row in rows
    ):
        shape = f"{width} numbers" if vectors == 1 else f"{vectors} rows of {width} numbers, one for each class"
        first = ", the bias first" if arguments.get("fit_intercept", True) else ""
        raise ValueError(f"“initial w” must have {shape}{first}; got {init!r}. Leave it empty for the usual start.")
    least = min(value for row in rows for value in row)
    if algorithm == "winnow" and not arguments.get("balanced") and least <= 0:
        raise ValueError(
            f"“initial w” of Winnow must have numbers greater than 0; got {least!r}. Leave it empty to start from 1, or switch "
            "“balanced” on."
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e100


def _trace(X: Floats, y: Any, arguments: Body) -> Any:
    from rosenblatt.trace import trace

    _check_start(X, y, arguments)
    try:
        return trace(X, y, **{"limit": MOST_STEPS, **arguments})
    except ValueError as error:
        raise ValueError(_in_page_words(str(error))) from error


def _in_page_words(message: str) -> str:
    """An error that only shows during the run, with the names and the advice of the page instead of those of Python."""
    if "on_zero" in message:
        return (
            "“a score of 0” must be another choice than “no mistake” for initial weights of 0, because then every score is 0 and "
            "nothing is ever learned. Choose “a mistake”, or give an initial w if the learner has one."
        )
    if "finite" in message:
        return "The numbers of the run must be finite; they became too large. Use smaller points or smaller steps."
    return message


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _columns(trace: Any) -> Body:
    """Convert the steps to one list per attribute; weights only where they changed."""
    steps = trace.steps
    codes = {label: place for place, label in enumerate(trace.classes)}
    packed: Body = {
        "number": [step.number for step in steps],
        "epoch": [step.epoch for step in steps],
        "example": [None if step.example is None else step.example - 1 for step in steps],
        "predicted": [codes.get(step.predicted) for step in steps],
        "correct": [step.correct for step in steps],
        "moved": [step.moved for step in steps],
        "scores": [None if step.scores is None else step.scores.tolist() for step in steps],
        "moves": [None if step.moves is None else step.moves.tolist() for step in steps],
        "missed": [[number - 1 for number in step.mistakes] for step in steps if step.example is None],
        "squeeze": [list(step.squeeze) for step in steps] if steps and steps[0].squeeze is not None else None,
        "pocket": [step.pocket for step in steps] if steps and steps[0].pocket is not None else None,
        "updates": _count_updates(steps),
    }
    if trace.kind == "dual":
        return packed | {"gaps": _gaps(trace)}
    vectors: list[Any] = [trace.start.tolist()]
    last = trace.start
    before: list[int] = []
    after: list[int] = []
    for step in steps:
        for part, places in ((step.before, before), (step.after, after)):
            if part is not last:
                if not np.array_equal(part, last):
                    vectors.append(part.tolist())
                last = part
            places.append(len(vectors) - 1)
    return packed | {"vectors": vectors, "before": before, "after": after}


def _count_updates(steps: Any) -> list[int]:
    """Cumulative number of updates in the kept steps."""
    return list(itertools.accumulate(int(step.moved) for step in steps))


def _gaps(trace: Any) -> list[Any]:
    """Changes between two kept steps of a kernel run: (vector, example, change)."""
    last, gaps = trace.start, []
    for step in trace.steps:
        change = [] if step.before is last else np.argwhere(step.before != last).tolist()
        gaps.append([[row, place, float(step.before[row, place] - last[row, place])] for row, place in change])
        last = step.after
    return gaps


def _survivors(X: Floats, y: Any, trace: Any, arguments: Body) -> list[Any] | None:
    """Weight vectors with the numbers of examples that they survived, from which average and vote are computed."""
    if trace.algorithm not in COMPARED:
        return None
    if trace.algorithm != "voted":
        trace = _trace(X, y, {**arguments, "algorithm": "voted", "comparator": None})
    return [[one.weights.tolist(), one.count] for one in trace.survivors]


def _kernel(X: Floats, arguments: Body) -> Body:
    from rosenblatt.dual.functions import resolve_gamma
    from rosenblatt.learners.kernel_perceptron import KernelPerceptron

    known = KernelPerceptron().get_params()
    kernel, gamma, degree, coef0 = (arguments.get(key, known[key]) for key in ("kernel", "gamma", "degree", "coef0"))
    return {"name": kernel, "gamma": resolve_gamma(kernel, gamma, X), "degree": degree, "coef0": coef0}


def _band(arguments: Body) -> float | None:
    """Score below which the rule updates, if it is greater than 0."""
    from rosenblatt.trace.run import find_learner

    _, learner = find_learner(arguments["algorithm"])
    own = {key: value for key, value in arguments.items() if key in inspect.signature(learner).parameters}
    target = learner(**own)._target() if hasattr(learner, "_target") else 0.0
    return target if 0.0 < target < math.inf else None


def _winnow(X: Floats, y: Any, trace: Any, arguments: Body) -> Body | None:
    """Bound of Winnow; None if there is no theorem for this run or the search for a margin would take long."""
    from rosenblatt.learners.winnow import Winnow
    from rosenblatt.theory.simplex import winnow_bound
    from rosenblatt.trace.proof import LARGEST_SEARCH

    if (
        len(np.unique(y)) != 2
        or len(trace.classes) != 2
        or arguments.get("init") is not None
        or X.size > LARGEST_SEARCH
    ):
        return None
    eta, balanced, bias = (arguments.get(key, getattr(Winnow(), key)) for key in ("eta", "balanced", "fit_intercept"))
    return winnow_bound(X, y == trace.classes[1], eta, balanced, bias)


def _common_point(X: Floats, y: Any, weight: Floats, classes: Any, fit_intercept: bool) -> Body:
    """Common point of the convex hulls of two classes; without a bias, the combination of rows y·x that is 0."""
    positive = y == classes[1]
    if not fit_intercept:
        return {"kind": "origin", "point": [0.0] * X.shape[1]}
    return {"kind": "hulls", "point": (weight[positive] @ X[positive] / weight[positive].sum()).tolist()}


def as_json(answer: Body) -> bytes:
    """Encode as compact, strict JSON."""
    return json.dumps(answer, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
