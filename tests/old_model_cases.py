"""Model files of an earlier version, and the results of that version.

`tests/old_models` holds the files, the training table of some of them, and `results.json`. They are never rewritten: a change
after which they do not load, or give other results, breaks the promise about model files. Files of a later version go into a
new folder; ``python -m tests.old_model_cases FOLDER`` writes them with the installed library.
`interrupted.model` was made by hand: the run of `table.model`, interrupted in its second epoch.
"""

import contextlib
import dataclasses
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

import rosenblatt as rb
from tests.bit_cases import data
from tests.cli.helpers import call

FOLDER = Path(__file__).with_name("old_models")


@dataclasses.dataclass(frozen=True)
class Case:
    """A model of `classes` classes, made by "fit" or "partial_fit".

    The `form` of its examples is "fractions", "whole numbers" or "signs".
    """

    learner: str
    classes: int
    parameters: dict[str, Any] = dataclasses.field(default_factory=dict)
    form: str = "fractions"
    how: str = "partial_fit"


CASES = {
    "perceptron": Case("Perceptron", 2),
    "many-classes": Case("PassiveAggressive", 3, {"multiclass": "uniform", "C": 0.3}),
    "averaged": Case("AveragedPerceptron", 3, {"max_iter": 5, "tol": None}, how="fit"),
    # The order of summation of matrix products depends on the CPU; with whole numbers nothing is rounded.
    "voted": Case("VotedPerceptron", 3, {"max_support": 200}, "whole numbers"),
    "kernel": Case("KernelPerceptron", 3, {"degree": 2}, "whole numbers"),
    "budget": Case("KernelPerceptron", 2, {"kernel": "linear", "budget": 12}, "whole numbers"),
    "winnow": Case("Winnow", 2, {"balanced": True, "eta": 0.1}, "signs"),
    "scaled": Case("ROMMA", 3, {"variant": "aggressive"}),
    "diagonal": Case("SoftConfidenceWeighted", 3, {"C": 0.5}),
    "full": Case("AROW", 2, {"covariance": "full", "readout": "average"}),
    "committee": Case("ParallelPerceptron", 2, {"n_perceptrons": 3}),
}
TABLES = ("table", "interrupted", "dask")
"""Models with an encoder, trained on `table.csv` by the command line and on a cluster."""

OPTIONS = ("--algorithm", "averaged", "--epochs", 3, "--set", "tol=none", "--holdout", 0.1, "--seed", 5, "--quiet")
"""Arguments with which the command line trained `table.model`."""


def examples(case: Case) -> tuple[Any, Any, Any]:
    """Examples to learn first, examples to learn afterwards, and rows to predict."""
    given = data(f"noise {case.classes}")
    forms = {
        "fractions": lambda X: X,
        "whole numbers": lambda X: np.rint(7 * X),
        "signs": lambda X: np.where(X > 0, 1.0, -1.0),
    }
    form = forms[case.form]
    return (form(given.X[:50]), given.y[:50]), (form(given.X[50:]), given.y[50:]), form(given.X_new[:8])


def result(model: Any, X: Any) -> dict[str, Any]:
    """Predictions and counters of a model, in values that JSON stores exactly."""
    epochs = getattr(model, "mistakes_per_epoch_", None)
    return {
        "predictions": model.predict(X).tolist(),
        "scores": model.decision_function(X).tolist(),
        "mistakes": int(model.mistakes_),
        "updates": int(model.updates_),
        **({} if epochs is None else {"mistakes per epoch": [int(count) for count in epochs]}),
    }


def results(case: Case, path: Path) -> dict[str, Any]:
    """Results of a model after it is loaded, and after it has learned more examples."""
    model = rb.load(path)
    _, further, X_new = examples(case)
    loaded = result(model, X_new)
    return {"loaded": loaded, "further": result(model.partial_fit(*further), X_new)}


def table_results(path: Path) -> dict[str, Any]:
    """The same for a model trained on the table."""
    model = rb.load(path)
    X, y = table(model)
    loaded = result(model, X[:8])
    return {"loaded": loaded, "further": result(model.partial_fit(X, y), X[:8])}


def table(model: Any) -> tuple[Any, Any]:
    """The rows of the table as encoded for a model, and their labels."""
    return rb.read(FOLDER / "table.csv", encoder=model.encoder_, label="label")


def resumed(path: Path, copy: Path) -> dict[str, Any]:
    """Results of the model of a local run after the run is resumed up to its sixth epoch."""
    shutil.copy(path, copy)
    with contextlib.chdir(FOLDER):  # the model file contains the relative path of the table
        call("train", "table.csv", "-m", copy, "--resume", "--epochs", 6, "--quiet")
    model = rb.load(copy)
    return result(model, table(model)[0][:8])


def resumed_on_cluster(path: Path, copy: Path, client: Any) -> dict[str, Any]:
    """Results of the model of a cluster run after the run is resumed up to its fourth epoch."""
    shutil.copy(path, copy)
    model = train_on_cluster(copy, 4, client)
    return result(model, table(model)[0][:8])


def train_on_cluster(path: Path, epochs: int, client: Any) -> Any:
    """Train on the table, or resume the run of this file."""
    from rosenblatt.dask import train

    learner = rb.AveragedPerceptron(max_iter=epochs, tol=None, random_state=4)
    return train(learner, str(FOLDER / "table.csv"), client=client, shards=3, checkpoint=path)


def write(folder: Path) -> None:
    """Write the models and their results, and the results of the models that are already in the folder."""
    found = {}
    for name, case in CASES.items():
        first, _, _ = examples(case)
        model = getattr(rb, case.learner)(**case.parameters)
        classes = {"classes": np.unique(first[1])} if case.how == "partial_fit" else {}
        getattr(model, case.how)(*first, **classes).save(folder / f"{name}.model")
        found[name] = results(case, folder / f"{name}.model")
    with contextlib.chdir(FOLDER):
        call("train", "table.csv", "-m", folder / "table.model", *OPTIONS)
    train_on_cluster(folder / "dask.model", 2, "local:2")
    copy = folder / "copy.model"
    for name in TABLES:
        path = folder / f"{name}.model"
        if path.exists():
            further = resumed_on_cluster(path, copy, "local:2") if name == "dask" else resumed(path, copy)
            found[name] = {**table_results(path), "resumed": further}
            copy.unlink()
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(values)}" for name, values in found.items())
    (folder / "results.json").write_text("{\n" + text + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.old_model_cases FOLDER")
    write(Path(sys.argv[1]).resolve())
