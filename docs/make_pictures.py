"""Make the pictures of the documentation: python -m docs.make_pictures writes them to docs/_static.

With names, only these pictures of the tutorials and of the pages on theory: python -m docs.make_pictures certificates.
"""

import json
import sys
import types
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_iris

from docs.lesson_pictures import LESSONS
from rosenblatt import AveragedPerceptron, KernelPerceptron, PassiveAggressive, Perceptron, plots
from rosenblatt.experiments import separable_examples
from rosenblatt.plots import figures

FOLDER = Path(__file__).resolve().parent / "_static"


def save(display: object, name: str) -> None:
    """Write one picture, small enough for the repository."""
    figure = display.figure_  # type: ignore[attr-defined]
    figure.set_size_inches(5.6, 3.6)
    path = FOLDER / f"{name}.png"
    figure.savefig(path, dpi=80, bbox_inches="tight", metadata={"Software": None})
    print(path.name, path.stat().st_size)


def scaling() -> object:
    """Epochs on up to 1,000 workers, computed by `benchmarks.scaling` from its measurements."""
    import matplotlib.pyplot as plt

    from benchmarks.scaling import simulated

    figure, axes = plt.subplots()
    files = (FOLDER.parent.parent / "benchmarks/results").glob("*/scaling.json")
    kept = max((json.loads(file.read_text(encoding="utf-8")) for file in files), key=lambda file: file["made"])
    rates = [row["ours_all"][0] for row in kept["rows"] if row["benchmark"] == "cluster-rates"]
    for (terabytes, features, sparse), rows in simulated(*rates).items():
        if features == 1e8 and terabytes >= 1.0:
            total = [parts["total"] for parts in rows.values()]
            kind = "few weights change" if sparse else "all weights change"
            axes.loglog(list(rows), total, "o-" if sparse else "s--", label=f"{terabytes:g} TB, {kind}", ms=4)
    axes.set(xlabel="workers of one thread", ylabel="seconds of an epoch", title="100 million features")
    axes.grid(True, which="both", alpha=0.25)
    axes.legend()
    return types.SimpleNamespace(figure_=figure)


def slides() -> None:
    """The figures for slides, small, for `docs/figures.md` and the README."""
    import matplotlib.pyplot as plt

    drawn = {name: getattr(figures, name)() for name in figures.__all__}
    drawn["losses_relatives"] = figures.losses(relatives=True)
    drawn["update_dark"] = figures.update(w=(-2.6, 0.8), x=(1.0, 0.5), dark=True)
    (FOLDER / "figures").mkdir(exist_ok=True)
    for name, figure in drawn.items():
        path = FOLDER / "figures" / f"{name}.png"
        figure.savefig(path, dpi=64, metadata={"Software": None})
        plt.close(figure)
        print(f"figures/{path.name}", path.stat().st_size)


def lessons(names: list[str]) -> None:
    """The pictures of the tutorials and of the pages on theory."""
    import matplotlib.pyplot as plt

    (FOLDER / "lessons").mkdir(exist_ok=True)
    for name in names or LESSONS:
        figure = LESSONS[name]()
        path = FOLDER / "lessons" / f"{name}.png"
        figure.savefig(path, dpi=90, metadata={"Software": None})
        plt.close(figure)
        print(f"lessons/{path.name}", path.stat().st_size)


def main() -> None:
    """Draw all pictures."""
    mpl.use("Agg")
    FOLDER.mkdir(exist_ok=True)
    lessons(sys.argv[1:])
    if sys.argv[1:]:
        return
    slides()
    X, y = load_iris(return_X_y=True)
    petals, names = X[:, 2:], np.array(["setosa", "versicolor", "virginica"])[y]
    pair = y < 2
    save(
        plots.DecisionRegionDisplay.from_estimator(
            Perceptron(tol=None).fit(petals[pair], names[pair]), petals[pair], names[pair]
        ),
        "regions_two",
    )
    save(
        plots.DecisionRegionDisplay.from_estimator(
            AveragedPerceptron().fit(petals, names), petals, names, show_weights=False
        ),
        "regions_three",
    )
    xor, labels = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), ["even", "odd", "odd", "even"]
    save(
        plots.DecisionRegionDisplay.from_estimator(KernelPerceptron("poly", degree=2).fit(xor, labels), xor, labels),
        "regions_xor",
    )
    learners = (Perceptron(max_iter=30, tol=None), PassiveAggressive(C=0.1, max_iter=30, tol=None))
    save(plots.MistakesDisplay.from_estimator(*(m.fit(X[y > 0], y[y > 0]) for m in learners)), "mistakes")
    points, sides, _ = separable_examples(0.05, random_state=0)
    save(plots.SqueezeDisplay.from_data(points, sides, fit_intercept=False), "squeeze")
    save(plots.SqueezeDisplay.from_data(points, sides, fit_intercept=False, angle=True), "squeeze_angle")
    save(plots.CommitteeDisplay.from_experiment(experts=(30, 100, 300, 1000, 3000, 10_000)), "committee")
    save(plots.DistanceDisplay.from_experiment(), "distances")
    save(plots.MarginDisplay.from_experiment(), "margin")
    save(scaling(), "scaling")


if __name__ == "__main__":
    main()
