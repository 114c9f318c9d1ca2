"""The published comparison of online learners, and ours: python -m benchmarks.libol --data FOLDER [-o FILE.json].

Table 3 of the LIBOL manual (Hoi, Wang and Zhao 2014) on svmguide3, with parameters tuned as in the manual: on the whole set, in
one order, from the same grids, with w·x and no bias, a score of 0 as the positive class, and full matrices for the second-order
rules. Then the mean of 20 other orders. Also results without tuning on test data: settings chosen on the first tenth of each
order, mistakes counted on the rest, our defaults (a bias, a tie is a mistake). The same for a9a and for elec2, both orders.

Last: one pass of our best learner, chosen on the first tenth, compared with one pass of scikit-learn's averaged SGD and of VW.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rosenblatt
from rosenblatt.experiments import Comparison, compare

from .harness import Options, environment

PUBLISHED = {
    "Perceptron": 0.332, "ROMMA": 0.329, "ALMA": 0.230, "PA-I": 0.236, "PA-II": 0.253, "SOP": 0.297, "AROW": 0.222,
    "SCW-I": 0.206, "SCW-II": 0.212,
}  # fmt: skip
"""Mistake rates on svmguide3."""

C = [2.0**k for k in range(-4, 5)]
ETA = [0.55 + 0.05 * k for k in range(9)]
P = [2, 4, 6, 8, 10]

Maker = Callable[..., Any]
Labelled = tuple[Any, NDArray[Any]]


def _alma(C: float = math.sqrt(2.0), eta: float = 0.9, p: float = 2.0, **fixed: Any) -> Any:
    """LIBOL's p only scales margin and step; it does not change the norm."""
    root = math.sqrt(p - 1.0)
    return rosenblatt.ALMA(alpha=eta, B=root / eta, C=C / root, **fixed)


def _scw(variant: str) -> Maker:
    def make(C: float = 1.0, eta: float = 0.75, **fixed: Any) -> Any:
        phi = NormalDist().inv_cdf(eta)
        return rosenblatt.SoftConfidenceWeighted(C=C, phi=phi, variant=variant, covariance="full", **fixed)

    return make


RULES: dict[str, tuple[Maker, dict[str, list[Any]]]] = {
    "Perceptron": (rosenblatt.Perceptron, {}),
    "ROMMA": (rosenblatt.ROMMA, {}),
    "ALMA": (_alma, {"C": C, "eta": ETA, "p": P}),
    "PA-I": (lambda C=1.0, **fixed: rosenblatt.PassiveAggressive(variant="PA-I", C=C, **fixed), {"C": C}),
    "PA-II": (lambda C=1.0, **fixed: rosenblatt.PassiveAggressive(variant="PA-II", C=C, **fixed), {"C": C}),
    "SOP": (lambda **fixed: rosenblatt.SecondOrderPerceptron(covariance="full", **fixed), {}),
    "AROW": (lambda C=1.0, **fixed: rosenblatt.AROW(r=C, covariance="full", **fixed), {"C": C}),
    "SCW-I": (_scw("SCW-I"), {"C": C, "eta": ETA}),
    "SCW-II": (_scw("SCW-II"), {"C": C, "eta": ETA}),
}


def _mistakes(make: Maker, settings: dict[str, Any], X: Any, y: Any, order: Any, **fixed: Any) -> int:
    return int(make(**settings, **fixed).partial_fit(X[order], y[order], classes=[-1, 1]).mistakes_)


def _tuned(make: Maker, grids: dict[str, list[Any]], X: Any, y: Any, **fixed: Any) -> dict[str, Any]:
    """Tune as LIBOL: one parameter after the other, in one order of the whole set, taking the last of the best values."""
    order = np.random.RandomState(1000).permutation(len(y))
    settings: dict[str, Any] = {}
    for name, values in grids.items():
        counts = [_mistakes(make, {**settings, name: value}, X, y, order, **fixed) for value in values]
        settings[name] = values[len(counts) - 1 - int(np.argmin(counts[::-1]))]
    return settings


def published(X: Any, y: Any) -> Iterator[dict[str, Any]]:
    """One row per published rate: our rate with LIBOL's conventions and with our own."""
    orders = [np.random.RandomState(seed).permutation(len(y)) for seed in range(20)]
    for name, (make, grids) in RULES.items():
        row: dict[str, Any] = {"rule": name, "published": PUBLISHED[name]}
        for what, fixed in (("libol", {"fit_intercept": False, "on_zero": "positive"}), ("ours", {})):
            settings = _tuned(make, grids, X, y, **fixed)
            rates = np.array([_mistakes(make, settings, X, y, order, **fixed) for order in orders]) / len(y)
            row[what] = {"rate": float(rates.mean()), "spread": float(rates.std()), "settings": settings}
        row["within 0.02"] = abs(row["libol"]["rate"] - row["published"]) <= 0.02
        yield row


# ---- data ----


def svmguide3(folder: Path) -> Labelled:
    """1,243 examples of 21 features."""
    table = np.loadtxt(folder / "svmguide3" / "svmguide3.csv", delimiter=",", skiprows=1)
    return np.ascontiguousarray(table[:, 1:]), table[:, 0].astype(int)


def a9a(folder: Path) -> Labelled:
    """32,561 sparse examples of 123 features."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(folder / "a9a" / "a9a"), n_features=123)
    return X, y.astype(int)


def elec2(folder: Path) -> Labelled:
    """45,312 examples of 6 features in chronological order."""
    table = np.loadtxt(folder / "elec2" / "elec.csv", delimiter=",", skiprows=1)
    return np.ascontiguousarray(table[:, :-1]), np.where(table[:, -1] > 0, 1, -1)


def sms(folder: Path) -> Labelled:
    """5,574 text messages as sets of words, in the order of the file."""
    from sklearn.feature_extraction.text import CountVectorizer

    lines = (folder / "sms-spam" / "SMSSpamCollection").read_text(encoding="utf-8").splitlines()
    labels, texts = zip(*(line.split("\t", 1) for line in lines if line), strict=True)
    X = CountVectorizer(binary=True, dtype=float).fit_transform(texts)
    return X.tocsr(), np.where(np.array(labels) == "spam", 1, -1)


# ---- peers ----


def sgd(X: Any, y: Any, start: int) -> float:
    """The progressive error of SGDClassifier(average=True) after its first `start` examples."""
    from sklearn.linear_model import SGDClassifier

    model, wrong = SGDClassifier(average=True, random_state=0), 0
    for t in range(len(y)):
        if t >= start:
            wrong += int(model.predict(X[t : t + 1])[0] != y[t])
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[-1, 1])
    return wrong / (len(y) - start)


def vw(X: Any, y: Any, start: int) -> float:
    """The same for VW with its defaults: squared loss on labels of -1 and 1, the sign of the prediction."""
    from vowpalwabbit import Workspace

    workspace, wrong = Workspace(quiet=True), 0
    for t in range(len(y)):
        x = X[t]
        if hasattr(X, "tocsr"):
            x = X[t : t + 1]
            features = " ".join(f"{j}:{value:.17g}" for j, value in zip(x.indices, x.data, strict=True))
        else:
            features = " ".join(f"{j}:{value:.17g}" for j, value in enumerate(x))
        if t >= start:
            wrong += int((1 if workspace.predict(f"| {features}") >= 0 else -1) != y[t])
        workspace.learn(f"{y[t]} | {features}")
    workspace.finish()
    return wrong / (len(y) - start)


def against_peers(name: str, X: Any, y: Any) -> dict[str, Any]:
    """Compare one pass in the given order; our learner is the one with the fewest mistakes on the first tenth."""
    result = compare(X, y, shuffle=False)
    start = len(y) - result.scored
    best = _chosen(X, y, start)
    ours = next(one for one in result.standings if one.name == best)
    return {
        "data": name, "ours": {"name": best, "rate": float(ours.rates[0]), "settings": ours.chosen[0]},
        "best afterwards": {"name": result.standings[0].name, "rate": float(result.standings[0].rates[0])},
        "SGDClassifier(average=True)": sgd(X, y, start), "vw": vw(X, y, start),
    }  # fmt: skip


def _chosen(X: Any, y: Any, start: int) -> str:
    """The learner with the fewest mistakes on the second half of the first part; settings are chosen on its first half."""
    result = compare(X[:start], y[:start], shuffle=False, prefix=0.5)
    return next(one.name for one in result.standings if one.name != "most frequent class")


def _shown(title: str, result: Comparison) -> dict[str, Any]:
    print(f"\n{title}\n{result}", flush=True)
    return {"data": title, **result.to_json()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.libol", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="folder of the data sets")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.json", help="file for the results")
    chosen = parser.parse_args()
    facts = environment(Options(20, False, chosen.data))
    facts["command"] = facts["command"].replace("-m benchmarks", "-m benchmarks.libol", 1)
    print(f"{'svmguide3':12}{'published':>10}{'as LIBOL':>18}{'our conventions':>18}  within 0.02")
    facts["published"] = []
    for row in published(*svmguide3(chosen.data)):
        facts["published"].append(row)
        cells = [f"{row[what]['rate']:.4f} ± {row[what]['spread']:.4f}" for what in ("libol", "ours")]
        print(
            f"{row['rule']:12}{row['published']:>10.3f}{cells[0]:>18}{cells[1]:>18}  {row['within 0.02']}", flush=True
        )
    sets = {"svmguide3": svmguide3, "a9a": a9a, "elec2": elec2}
    facts["honest"] = [_shown(f"{name}, shuffled", compare(*load(chosen.data))) for name, load in sets.items()]
    facts["honest"].append(_shown("elec2, in its own order", compare(*elec2(chosen.data), shuffle=False)))
    facts["peers"] = []
    for name, load in {"a9a": a9a, "elec2": elec2, "sms": sms}.items():
        facts["peers"].append(against_peers(name, *load(chosen.data)))
        print(json.dumps(facts["peers"][-1]), flush=True)
    facts["complete"] = True
    if chosen.output is not None:
        chosen.output.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"Kept in {chosen.output}")


if __name__ == "__main__":
    main()
