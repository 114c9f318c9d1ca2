"""The lab's engine in JavaScript: its steps are those of `rosenblatt.trace`."""

import functools
import itertools
import math
import re
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

import rosenblatt
from rosenblatt.lab.bundle import STATIC
from rosenblatt.lab.requests import RequestError, answer
from tests.lab.node import ask, same_csv

CATALOGUE = answer("catalogue", {})
PYTHON_ONLY: dict[str, str] = {}
"""The learners that the page without a server leaves out, each with the reason."""
LEARNERS = {one["name"]: one for one in CATALOGUE["learners"] if one["name"] not in PYTHON_ONLY}
PRESETS = [one["name"] for one in CATALOGUE["presets"]]

ROUNDED = {
    "winnow": "exp and log differ in the last bit between JavaScript and the C library",
    "parallel": "the starting weights are normal numbers, whose logarithm differs in the last bit",
    "kernel": "the sums of kernel values are those of BLAS, whose order is not known",
}
"""The learners whose numbers agree to 9 digits and not bit for bit, with the reason. Their mistakes and updates are the same."""

OTHER_NUMBERS = {
    "eta0": [0.5], "b": [0.3, 2.0], "C": [0.25], "eta": [0.1], "alpha": [0.5], "epsilon": [0.5], "B": [1.5], "r": [0.1],
    "phi": [0.3], "a": [0.3], "degree": [2], "gamma": [0.3], "coef0": [0.5], "max_iter": [3], "random_state": [5],
    "n_perceptrons": [3], "mu": [0.9],
}  # fmt: skip


@functools.cache
def points(preset: str, **options: Any) -> dict[str, Any]:
    return answer("preset", {"name": preset, "options": options})


@functools.cache
def small(preset: str) -> dict[str, Any]:
    """A small set; "rough" ones have numbers with all their digits, so that every sum is rounded."""
    if preset == "rough":  # more features than the eight lanes of a sum
        rng = np.random.default_rng(4)
        X = rng.normal(size=(14, 9))
        return {"X": X.tolist(), "y": np.where(X[:, 0] + X[:, 1] > 0, 1, -1).tolist(), "classes": None}
    if preset == "rough clouds":
        made = points("clouds", points=12)
        return made | {"X": (np.array(made["X"]) * 0.37).tolist()}
    if preset == "one class":  # points that a visitor adds before those of the second class
        return {"X": [[1.0, 2.0], [-0.5, 1.5], [2.0, -1.0], [0.25, -3.0]], "y": [1, 1, 1, 1], "classes": None}
    options = {
        "separable": {"points": 12}, "noisy": {"points": 12}, "xor": {"points": 8}, "circles": {"points": 10},
        "clouds": {"points": 12}, "committee": {"experts": 5, "rounds": 20},
    }.get(preset, {})  # fmt: skip
    return points(preset, **options)


def body(made: dict[str, Any], learner: str, **parameters: Any) -> dict[str, Any]:
    allowed = {"init", *(one["name"] for one in LEARNERS[learner]["parameters"])}
    own = {key: value for key, value in parameters.items() if key in allowed}
    return {"X": made["X"], "y": made["y"], "classes": made["classes"], "algorithm": learner, "parameters": own}


def options_of(learner: str, parameters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every option of a learner, and those that work together."""
    options: list[dict[str, Any]] = [{}, {"init": True}, {"shuffle": True, "random_state": 3, "fit_intercept": False}]
    for one in parameters:
        values = one.get("choices", [True, False])
        if one["kind"] in ("whole", "number"):
            values = OTHER_NUMBERS.get(one["name"], [])
        options += [{one["name"]: value} for value in values if value != one["default"]]
    own = {one["name"] for one in parameters}
    for scheme in ("all", "uniform", "proportional", "ovr"):
        options += [{"multiclass": scheme, "on_zero": word} for word in ("positive", "keep")]
        options += [{"multiclass": scheme, "covariance": "full"}] if "covariance" in own else []
        options += [{"multiclass": scheme, "variant": "line-search"}] if learner == "batch" else []
    return options


def cases(learner: str) -> list[dict[str, Any]]:
    """A learner on every preset, and every option of it on every preset, made small, and on rough numbers."""
    found = []
    for one in [LEARNERS[learner]]:
        for preset in PRESETS:
            made = points(preset)
            parameters = {"max_iter": 4 if len(made["X"]) > 100 else 10}
            if made["algorithm"] == learner or learner in ("perceptron", "averaged", "voted", "pocket", "margin"):
                parameters |= made["parameters"]
            elif "fit_intercept" in made["parameters"]:
                parameters["fit_intercept"] = made["parameters"]["fit_intercept"]
            found.append(body(made, learner, **parameters))
        for data, chosen in itertools.product(
            ["rough", "rough clouds", "one class", *PRESETS], options_of(learner, one["parameters"])
        ):
            made = small(data)
            count = len(set(made["classes"] or made["y"]))
            if "multiclass" in chosen and count < 3:
                continue  # these need three classes
            wanted = {"max_iter": 6 if data.startswith("rough") else 3} | chosen
            if "init" in chosen:
                if learner in ("kernel", "parallel"):
                    continue
                rows = count if count > 2 else 1
                width = len(made["X"][0]) + 1
                start = np.linspace(0.3, 2.1, rows * width).reshape(rows, width)
                wanted["init"] = start.tolist() if rows > 1 else start[0].tolist()
            found.append(body(made, learner, **wanted))
    return found


def python_answer(name: str, asked: Any) -> dict[str, Any]:
    try:
        return {"answer": answer(name, asked)}
    except RequestError as error:
        return {"error": str(error)}


def flat(value: Any) -> list[float]:
    if isinstance(value, (list, tuple)):
        return [number for one in value for number in flat(one)]
    return [math.nan if value is None else float(value)]


def same(one: Any, other: Any, rounded: bool) -> bool:
    first, second = flat(one), flat(other)
    if len(first) != len(second):
        return False
    if rounded:
        return bool(np.allclose(first, second, rtol=1e-9, atol=1e-9, equal_nan=True))
    return bool(np.array_equal(first, second, equal_nan=True))


def same_bound(python: dict[str, Any] | None, script: dict[str, Any] | None) -> bool:
    if python is None or script is None:
        return python is script
    return python.keys() == script.keys() and same(list(python.values()), list(script.values()), True)


EXACTLY = (
    "classes",
    "features",
    "kind",
    "examples",
    "epochs",
    "total",
    "mistakes",
    "updates",
    "formula",
    "note",
    "band",
)
STEPS = ("number", "epoch", "example", "predicted", "correct", "moved", "missed", "pocket", "updates")


def difference(python: dict[str, Any], script: dict[str, Any]) -> str:
    """The first part of the answers that differs; empty if they agree."""
    rounded = python["algorithm"] in ROUNDED
    for name in EXACTLY:
        if python[name] != script[name]:
            return f"{name}: {python[name]!r} and {script[name]!r}"
    for name in STEPS:
        if python["steps"][name] != script["steps"][name]:
            return f"steps.{name}: {python['steps'][name]} and {script['steps'][name]}"
    for name in ("scores", "moves", "vectors", "before", "after", "gaps"):
        if not same(python["steps"].get(name), script["steps"].get(name), rounded):
            return f"steps.{name}: {python['steps'].get(name)} and {script['steps'].get(name)}"
    for name in ("start", "weights", "survivors"):
        if not same(python[name], script[name], rounded):
            return f"{name}: {python[name]} and {script[name]}"
    if not same_bound(python["winnow"], script["winnow"]):
        return f"winnow: {python['winnow']} and {script['winnow']}"
    if python["kernel"] != script["kernel"]:
        return f"kernel: {python['kernel']} and {script['kernel']}"
    if not rounded and python["table"] != script["table"]:
        pairs = zip(python["table"]["rows"], script["table"]["rows"], strict=False)
        return f"table: {next(pair for pair in pairs if pair[0] != pair[1])}"
    if (python["steps"]["squeeze"] is None) != (script["steps"]["squeeze"] is None):
        return "squeeze: only one has it"
    return ""


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_step_of_every_preset_and_option(learner):
    asked = cases(learner)
    assert len(asked) > 150
    for one, script in zip(asked, ask(("run", one) for one in asked), strict=True):
        which = {**one, "X": len(one["X"]), "y": None}
        python = python_answer("run", one)
        assert ("error" in python) == ("error" in script), (which, python.get("error"), script.get("error"))
        if "error" not in python:
            assert not difference(python["answer"], script["answer"]), which


def missing(learners: list[dict[str, Any]]) -> str:
    """What to do about learners that only Python offers; empty if there are none."""
    (told,) = ask([("catalogue", {})], {**CATALOGUE, "learners": learners})
    found = {one["name"] for one in learners} - {one["name"] for one in told["answer"]["learners"]} - set(PYTHON_ONLY)
    return (
        ""
        if not found
        else (
            f"The lab in one file leaves out {', '.join(sorted(found))}: add the step to lab/static/engine/learners.js, or the "
            "name and a reason to PYTHON_ONLY in tests/lab/test_engine.py."
        )
    )


def test_a_learner_that_only_python_offers_is_named():
    assert not missing(CATALOGUE["learners"])
    unknown = {**CATALOGUE["learners"][0], "name": "new-rule"}
    assert "leaves out new-rule: add the step" in missing([*CATALOGUE["learners"], unknown])


def test_the_bound_of_winnow_is_that_of_the_theory_and_holds():
    rng = np.random.default_rng(2)
    asked = []
    for balanced, bias, features in itertools.product([False, True], [False, True], [2, 12]):
        X = rng.choice([-1.0, 0.0, 1.0], size=(60, features)) * (1 if bias else 3)
        y = rng.choice([-1, 1], size=60)
        X[:, 1] = y * np.abs(X).max() / 3  # the second feature alone separates
        for eta in (0.02, 0.1, 2.0):
            parameters = {"eta": eta, "balanced": balanced, "fit_intercept": bias, "max_iter": 50}
            asked.append({"X": X.tolist(), "y": y.tolist(), "algorithm": "winnow", "parameters": parameters})
    bounded = 0
    for one, told in zip(asked, ask(("run", one) for one in asked), strict=True):
        python, script = answer("run", one), told["answer"]
        assert same_bound(python["winnow"], script["winnow"])
        found = python["winnow"]
        if found["bound"] is not None:
            bounded += 1
            largest = found["largest"]
            eta = one["parameters"]["eta"]
            expected = rosenblatt.theory.bounds.winnow(found["features"], found["margin"] / largest, eta * largest)
            assert found["bound"] == pytest.approx(expected)
            assert script["mistakes"] <= found["bound"]
    assert 0 < bounded < len(asked)


@pytest.mark.parametrize("change", [{"init": [1, 1, 1]}, {}])
def test_no_bound_of_winnow_without_a_theorem(change):
    made = small("clouds") if not change else small("separable")
    one = body(made, "winnow", **change)
    (told,) = ask([("run", one)])
    assert answer("run", one)["winnow"] is None
    assert told["answer"]["winnow"] is None


def test_generated_points_are_the_same_for_every_option():
    asked = []
    for preset in CATALOGUE["presets"]:
        options = [{}]
        for one in preset["options"]:
            options += [{one["name"]: one[end]} for end in ("low", "high")]
        options += [{"seed": seed} for seed in (2, 30)] * bool(preset["options"])
        asked += [{"name": preset["name"], "options": chosen} for chosen in options]
    for one, told in zip(asked, ask(("preset", one) for one in asked), strict=True):
        made = answer("preset", one)
        assert told["answer"] == {key: made[key] for key in told["answer"]}, one
        assert set(made) == set(told["answer"])


TABLES = [
    "a,b,kind\n1,2,x\n3,4,y\n",
    "1;2;0\n3;4;1\n5;6;1\n",
    "class\theight\twidth\tdepth\nrose\t1\t2\t3\nlily\t2\t1\t5\nrose\t4\t4\t4\n",
    'a,b,"the, kind"\n1,2,"say ""yes"""\n3,4,no\n',
    "a,b,y\n1,,-1\n2,3,1\n4,5,1\n",
    "a,b,c,y\n1,NAN,4,-1\n2,3,5,1\n4,5,6,1\n",
    "a,b,y\n1,2,3.0\n2,3,4\n",
    "a|b|y\r\n1|2|p\r\n2|3|q\r\n",
    "\ufeffa,b,y\n1e3,.5,p\n-2.,+3,q\n",
    "a,inf,y\n1,inf,p\n2,3,q\n",
]
BROKEN = [
    "",
    "   ",
    "a\n1\n",
    "a,b\n1,2,3\n",
    "a,a,y\n1,2,3\n",
    "a,b,y\n",
    "a,b,y\nu,v,w\n",
    "a,b\0,y\n1,2,3\n",
    "a,b,c\n1,2,x\n3,4\n",
]


class TestCsv:
    @pytest.mark.parametrize(
        "wish", [{}, {"projection": True}, {"label": "y"}, {"columns": ["b", "a"]}, {"columns": ["zz"]}]
    )
    def test_tables_are_read_alike(self, wish):
        for text, told in zip(TABLES, ask(("csv", {"text": text, **wish}) for text in TABLES), strict=True):
            python = python_answer("csv", {"text": text, **wish})
            if "error" in python:
                assert told == python, text
                continue
            script, python = told["answer"], python["answer"]
            assert np.allclose(script.pop("X"), python.pop("X"), rtol=0, atol=2e-6), text
            python["unused"] = [list(one) for one in python["unused"]]
            assert script == python, text

    def test_broken_tables_get_the_same_message(self):
        for text, told in zip(BROKEN, ask(("csv", {"text": text}) for text in BROKEN), strict=True):
            with pytest.raises(RequestError) as raised:
                answer("csv", {"text": text})
            assert told.get("error") == str(raised.value), text

    def test_a_column_with_a_wrong_cell_is_named(self):
        (told,) = ask([("csv", {"text": "a,b,c,y\n1,NAN,4,-1\n2,3,5,1\n4,5,6,1\n"})])
        assert told["answer"]["unused"] == [["b", "NAN"]]


def test_exports_are_the_same():
    asked = []
    for learner in LEARNERS:
        made = small("clouds" if learner != "parallel" else "separable")
        asked += [
            {**body(made, learner, max_iter=2, multiclass="uniform"), "form": form}
            for form in ("markdown", "csv", "python")
        ]
        asked.append({**body(small("three"), learner, max_iter=2, fit_intercept=False), "form": "python"})
    for one, told in zip(asked, ask(("export", one) for one in asked), strict=True):
        if one["algorithm"] in ROUNDED and one["form"] != "python":
            continue
        python = answer("export", one)["text"]
        if one["form"] == "csv":
            same_csv(told["answer"]["text"], python)
        else:
            assert told["answer"]["text"] == python, (one["algorithm"], one["form"])


def random_sets() -> list[dict[str, Any]]:
    rng = np.random.default_rng(8)
    sets = []
    for number in range(120):
        classes, features, count = 2 + number % 3 % 2 * 2, 1 + number % 4, int(rng.integers(3, 30))
        X = np.round(rng.normal(size=(count, features)), int(rng.integers(0, 4)))
        y = rng.integers(0, classes, count)
        if number % 2:  # labels of a linear rule, so that about half of the sets are separable
            W = rng.normal(size=(features + 1, classes))
            y = (np.c_[np.ones(count), X] @ W).argmax(axis=1)
        if len(np.unique(y)) > 1:
            sets.append({"X": X.tolist(), "y": y.tolist(), "parameters": {"fit_intercept": bool(number % 5)}})
    return sets


class TestCertificate:
    def test_the_status_is_that_of_python_and_the_margins_overlap(self):
        asked = random_sets() + [{"X": made["X"], "y": made["y"], "parameters": {}} for made in map(points, PRESETS)]
        found = set()
        for one, told in zip(asked, ask(("certify", one) for one in asked), strict=True):
            script, python = told["answer"], answer("certify", one)
            assert script["status"] == python["status"], one
            assert script["verified"]
            assert script["classes"] == python["classes"]
            assert script["radius"] == pytest.approx(python["radius"], rel=1e-12)
            found.add(script["status"])
            if script["status"] == "separable":
                (low, high), (least, most) = script["margin"], python["margin"]
                assert low <= most * (1 + 1e-12)
                assert least <= high * (1 + 1e-12)
                assert high <= low * 1.0102
                self.check_separator(one, script)
            else:
                self.check_combination(one, script)
        assert found == {"separable", "inseparable"}

    def check_separator(self, asked, script):
        """The margin is reached by the separator, whose length is 1."""
        bias = asked["parameters"].get("fit_intercept", True)
        u = np.array(script["separator"])
        X = np.c_[np.ones(len(asked["X"])) if bias else np.zeros(len(asked["X"])), asked["X"]]
        scores, codes = X @ u.T, [script["classes"].index(one) for one in asked["y"]]
        assert np.linalg.norm(u) == pytest.approx(1)
        if len(u) == 1:
            lead = scores[:, 0] * (
                1
                if len(script["classes"]) == 1 and script["classes"][0] != -1
                else np.where(np.array(codes) == 1, 1, -1)
            )
        else:
            lead = np.array([row[code] - np.delete(row, code).max() for row, code in zip(scores, codes, strict=True)])
        assert lead.min() == pytest.approx(script["margin"][0], rel=1e-9)

    def check_combination(self, asked, script):
        """The shares are positive and have the sum 1; of two classes the combination of the rows y·x is 0."""
        shares = dict(script["combination"])
        assert min(shares.values()) > 0
        assert sum(shares.values()) == pytest.approx(1)
        if len(script["classes"]) == 2:
            bias = asked["parameters"].get("fit_intercept", True)
            total = sum(
                share
                * (1 if asked["y"][i] == script["classes"][1] else -1)
                * np.array([1.0, *asked["X"][i]] if bias else asked["X"][i])
                for i, share in shares.items()
            )
            assert np.abs(total).max() < 1e-12 * max(1, script["radius"])

    @pytest.mark.parametrize(
        ("X", "y", "status"),
        [
            # A gap far below the precision of floats, closed or not.
            ([[1.0, 0.0], [1.0, 2.0**-60], [0.0, 0.0]], [0, 1, 0], "separable"),
            ([[0.1, 0.1], [0.2, 0.2], [0.1 + 0.2, 0.1 + 0.2]], [0, 1, 0], "inseparable"),
            ([[0.5, 1e-200], [0.5, -1e-200]], [0, 1], "separable"),
            ([[1e80, 1.0], [1e80, 2.0], [1e80, 3.0]], [0, 1, 0], "inseparable"),
            ([[3.0, 4.0], [3.0, 4.0]], [0, 1], "inseparable"),
        ],
    )
    def test_hard_sets(self, X, y, status):
        asked = {"X": X, "y": y, "parameters": {}}
        (told,) = ask([("certify", asked)])
        assert told["answer"]["status"] == answer("certify", asked)["status"] == status


def test_the_squeeze_of_a_separator_is_that_of_the_trace():
    """With the same separator u, the four curves of the proof agree, and so does the bound."""
    learners = ["perceptron", "averaged", "voted", "pocket", "margin"]
    asked = [body(small(preset), learner, **more) for preset in ("separable", "clouds") for learner in learners
             for more in ({}, {"eta0": 0.5, "init": None if preset == "clouds" else [1, 2, 3]})]  # fmt: skip
    for one, told in zip(asked, ask(("run", one) for one in asked), strict=True):
        script = told["answer"]
        settings = {key: value for key, value in one["parameters"].items() if value is not None}
        run = rosenblatt.trace(
            one["X"],
            one["y"],
            one["algorithm"],
            **{"max_iter": 10, "limit": None, "comparator": script["comparator"]["weights"], **settings},
        )
        assert np.allclose(script["steps"]["squeeze"], [list(step.squeeze) for step in run], rtol=1e-9, atol=1e-9)
        assert script["formula"] == run.formula
        assert script["bound"] == (None if run.bound is None else pytest.approx(run.bound, rel=1e-9))


BAD = [
    {"X": []}, {"X": [[1, 2]] * 5001, "y": [1] * 5001}, {"y": [1, -1]}, {"X": [[1, 1], [3, 2], [2]]}, {"X": [[0.0] * 201] * 3},
    {"y": [1, 2, "a"]}, {"y": [1.5, 2, 3]}, {"X": [[0, 1]] * 8, "y": list(range(8))}, {"parameters": {"max_iter": 100_000}},
    {"parameters": {"max_iter": 0}}, {"parameters": {"eta0": -1}}, {"parameters": {"nonsense": 1}},
    {"parameters": {"on_zero": "never"}}, {"algorithm": "perception"}, {"algorithm": 3}, {"parameters": {"random_state": 1.5}},
    {"algorithm": "kernel", "parameters": {"gamma": "scale"}}, {"algorithm": "parallel", "parameters": {"n_perceptrons": 4}},
    {"parameters": {"fit_intercept": 1}}, {"parameters": {"shuffle": 1}}, {"y": ["a"] * 3},
    {"y": ["a"] * 3, "algorithm": "kernel"}, {"y": [1] * 3, "algorithm": "kernel"}, {"y": [1, 2, 3], "algorithm": "parallel"},
    {"algorithm": "kernel", "classes": [-1, 1, 2]},
    {"algorithm": "kernel", "X": [[1, 2]] * 2001, "y": [1, -1, 1] * 667}, {"parameters": {"on_zero": "keep"}},
    {"algorithm": "kernel", "parameters": {"on_zero": "keep"}}, {"algorithm": "margin", "parameters": {"init": [1, 2]}},
    {"parameters": {"init": "x"}}, {"parameters": {"init": [1, "a", 2]}}, {"parameters": {"init": [[1, 2, 3], [3, 4, 5]]}},
    {"y": [1, 2, 3], "parameters": {"init": [1, 2, 3], "fit_intercept": False}},
    {"algorithm": "winnow", "parameters": {"init": [0.5, 0, 1]}},
    {"algorithm": "parallel", "parameters": {"init": [1, 2, 3]}}, {"algorithm": "kernel", "parameters": {"init": [1, 2, 3]}},
    {"X": [[1e90, 1], [-1e99, 3], [1e99, 1]], "parameters": {"eta0": 1e300, "max_iter": 10}},
    {"X": [[1e60, 1], [1, 1], [2, 1e70]], "algorithm": "kernel", "parameters": {"degree": 9}},
]  # fmt: skip

PYTHON_WORDS = re.compile(r"`|trace|Perceptron\b|partial_fit|max_iter|on_zero|fit_intercept|np\.")
"""Names that a visitor of the page does not know."""


def test_bad_requests_get_the_same_message_in_the_words_of_the_page():
    plain = {"X": [[1, 1], [3, 2], [2, 4]], "y": [-1, 1, 1], "algorithm": "perceptron", "parameters": {}}
    for change, told in zip(BAD, ask(("run", plain | change) for change in BAD), strict=True):
        with pytest.raises(RequestError) as raised:
            answer("run", plain | change)
        assert told.get("error") == str(raised.value), change
        if "nonsense" not in str(change) and len(change.get("X", [])) < 5001:
            assert not PYTHON_WORDS.search(str(raised.value)), change


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    """All modules of the page, with the compiler of TypeScript beside them."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("types")
    shutil.copytree(STATIC, folder, dirs_exist_ok=True)
    (folder / "package.json").write_text('{"type": "module"}')
    quiet = ["--no-audit", "--no-fund", "--silent", "--prefer-offline"]
    subprocess.run([npm, "install", *quiet, "typescript@5"], cwd=folder, check=True, capture_output=True, timeout=300)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strict", "entries"),
    [("true", ["engine/worker.js"]), ("false", ["page.js", "widget.js"])],
    ids=["engine", "page"],
)
def test_the_types(modules, strict, entries):
    """`tsc --checkJs` finds no error: in the engine every value has a declared type, in the page those that need one."""
    options = ["--noEmit", "--allowJs", "--checkJs", "--strict", strict, "--target", "es2022", "--module", "es2022"]
    options += ["--moduleResolution", "bundler", "--lib", "es2023,dom,dom.iterable"]
    done = subprocess.run(
        [shutil.which("node"), "node_modules/typescript/bin/tsc", *options, *entries],
        cwd=modules, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
