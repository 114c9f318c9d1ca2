"""Answers to the page: runs, certificates and data from the library, and an error message for bad requests."""

import contextlib
import io
import json
from pathlib import Path

import numpy as np
import pytest

from rosenblatt import certify, trace
from rosenblatt.lab.requests import RequestError, answer
from rosenblatt.lab.runs import columns_of

CASES = json.loads((Path(__file__).parents[1] / "data" / "worked_examples.json").read_text(encoding="utf-8"))
X, Y = [[1, 1], [3, 2], [2, 4], [3, 4], [2, 3]], [-1, 1, 1, 1, -1]
CATALOGUE = answer("catalogue", {})
LEARNERS = {one["name"]: one for one in CATALOGUE["learners"]}


def run_of(preset, **more):
    made = answer("preset", {"name": preset})
    body = {key: made[key] for key in ("X", "y", "classes", "algorithm", "parameters")}
    return made, answer("run", body | more)


def weights_after(said):
    return [said["steps"]["vectors"][place] for place in said["steps"]["after"]]


class TestRun:
    @pytest.mark.parametrize("name", LEARNERS)
    def test_the_run_of_every_learner_equals_its_trace(self, name):
        parameters = {"max_iter": 3, "shuffle": True} if name != "batch" else {"max_iter": 3}
        said = answer("run", {"X": X, "y": Y, "algorithm": name, "parameters": parameters})
        run = trace(X, Y, name, **parameters)
        assert said["mistakes"] == run.total_mistakes
        assert said["updates"] == run.total_updates
        assert said["steps"]["correct"] == [step.correct for step in run]
        assert said["table"]["rows"] == run.to_cells(columns_of(name))[1]
        if run.kind != "dual":
            assert weights_after(said) == [step.after.tolist() for step in run]
            assert said["weights"] == run.weights.tolist()
        if run[0].squeeze is not None:
            assert said["steps"]["squeeze"] == [list(step.squeeze) for step in run]
            assert said["bound"] == run.bound

    def test_a_kernel_run_can_be_rebuilt_from_its_moves(self):
        made, said = run_of("circles")
        run = trace(made["X"], made["y"], "kernel", limit=None, **made["parameters"])
        dual = np.zeros_like(run.weights)
        for gaps, moves, example in zip(
            said["steps"]["gaps"], said["steps"]["moves"], said["steps"]["example"], strict=True
        ):
            for row, place, by in gaps:
                dual[row, place] += by
            dual[:, example] += moves
        assert np.array_equal(dual, run.weights)
        assert said["kernel"] == {"name": "rbf", "gamma": 0.5, "degree": 3, "coef0": 1.0}

    def test_gaps_of_a_long_kernel_run(self, monkeypatch):
        monkeypatch.setattr("rosenblatt.lab.runs.MOST_STEPS", 12)
        rng = np.random.default_rng(0)
        points, labels = rng.normal(size=(60, 2)).tolist(), rng.integers(0, 2, 60).tolist()
        said = answer("run", {"X": points, "y": labels, "algorithm": "kernel", "parameters": {"max_iter": 3}})
        assert said["note"]
        run = trace(np.array(points), labels, "kernel", max_iter=3, limit=None)
        dual = np.zeros_like(run.weights)
        for gaps, moves, example in zip(
            said["steps"]["gaps"], said["steps"]["moves"], said["steps"]["example"], strict=True
        ):
            for row, place, by in gaps:
                dual[row, place] += by
            dual[:, example] += moves
        assert np.array_equal(dual, run.weights)

    def test_survivors_give_the_average(self):
        parameters = {"max_iter": 4, "shuffle": True}
        said = answer("run", {"X": X, "y": Y, "algorithm": "perceptron", "parameters": parameters})
        counts = [count for _, count in said["survivors"]]
        mean = sum(np.array(weights) * count for weights, count in said["survivors"]) / sum(counts)
        assert sum(counts) == said["total"]
        assert np.allclose(mean, trace(X, Y, "averaged", **parameters).weights, rtol=1e-12)
        assert answer("run", {"X": X, "y": Y, "algorithm": "margin"})["survivors"] is None

    def test_bands_are_the_margins_of_the_rules(self):
        for name, parameters, band in (
            ("perceptron", {}, None),
            ("margin", {"b": 2.5}, 2.5),
            ("passive-aggressive", {}, 1),
        ):
            assert answer("run", {"X": X, "y": Y, "algorithm": name, "parameters": parameters})["band"] == band

    def test_a_voted_run_shows_how_long_its_weights_survived(self):
        said = answer("run", {"X": X, "y": Y, "algorithm": "voted", "parameters": {"max_iter": 2}})
        assert said["table"]["headings"][-1] == "survived"
        told = [row[-1][0] for row in said["table"]["rows"][:-1]]
        assert told == [f"{step.survived:g}" for step in trace(X, Y, "voted", max_iter=2)]

    def test_labels_may_be_words(self):
        said = answer("run", {"X": X, "y": ["no", "yes", "yes", "yes", "no"], "algorithm": "perceptron"})
        assert said["classes"] == ["no", "yes"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"X": []}, "at least one point"),
        ({"X": [[1, 2]] * 5001, "y": [1] * 5001}, "at most 5,000 points"),
        ({"y": [1, -1]}, "one label"),
        ({"X": [[1, 1], [3, 2], [2, 4], [3, 4], [2]]}, "list of 2 finite numbers"),
        ({"X": [[1, 1], [3, 2], [2, 4], [3, 4], [2, None]]}, "list of 2 finite numbers"),
        ({"X": [[0.0] * 201] * 5}, "1 to 200 numbers"),
        ({"y": [1, 2, 3, "a", 5]}, "got both"),
        ({"y": [1.5, 2, 3, 4, 5]}, "whole number"),
        ({"X": [[0, 1]] * 8, "y": list(range(8))}, "at most 7 classes"),
        ({"algorithm": "perception"}, "must be one of the list"),
        ({"parameters": {"max_iter": 100_000}}, "at most 200,000 examples"),
        ({"parameters": {"max_iter": 0}}, "“passes” must be a whole number of at least 1; got 0. More passes"),
        ({"parameters": {"eta0": -1}}, "eta0"),
        ({"parameters": {"nonsense": 1}}, "nonsense"),
        ({"parameters": {"init": [1, 2]}}, "“initial w” must have 3 numbers, the bias first"),
        ({"parameters": {"eta0": "much"}}, "much"),
        ({"parameters": {"limit": 10}}, "limit"),
        ({"parameters": [1]}, "parameters"),
        ({"algorithm": 3}, "learner"),
    ],
)
def test_bad_runs_are_refused_with_a_message(change, words):
    with pytest.raises(RequestError, match=words):
        answer("run", {"X": X, "y": Y, "algorithm": "perceptron"} | change)


@pytest.mark.parametrize(("name", "body"), [("nothing", {}), ("run", []), ("run", None), ("preset", {"name": "no"})])
def test_other_requests_are_refused(name, body):
    with pytest.raises(RequestError):
        answer(name, body)


class TestPresets:
    @pytest.mark.parametrize(
        ("preset", "case"), list(zip(["walk", "cycle", "table", "correction"], CASES["binary_passes"], strict=True))
    )
    def test_worked_examples(self, preset, case):
        made, said = run_of(preset)
        assert (made["X"], made["y"]) == (case["X"], case["y"])
        for name in ("on_zero", "fit_intercept", "init"):
            assert made["parameters"][name] == case[name]
        assert [scores[0] for scores in said["steps"]["scores"]] == case["scores"]
        assert [not right for right in said["steps"]["correct"]] == case["mistake"]
        assert [weights[0] for weights in weights_after(said)] == case["weights_after"]

    @pytest.mark.parametrize("scheme", ["max", "all"])
    def test_three_classes(self, scheme):
        (case,) = CASES["multiclass"]
        made = answer("preset", {"name": "three"})
        parameters = made["parameters"] | {"multiclass": scheme}
        said = answer(
            "run", {key: made[key] for key in ("X", "y", "classes", "algorithm")} | {"parameters": parameters}
        )
        assert made["parameters"]["init"] == case["W"]
        assert said["steps"]["scores"] == [case["scores"]]
        assert weights_after(said) == [case["after"][scheme]]

    def test_margins(self):
        (case,) = CASES["margins"]
        made = answer("preset", {"name": "margins"})
        assert (made["X"], made["y"], made["parameters"]["init"]) == (case["X"], case["y"], case["w"])

    @pytest.mark.parametrize("preset", [one["name"] for one in CATALOGUE["presets"]])
    def test_every_preset_runs(self, preset):
        _, said = run_of(preset)
        assert said["total"] > 0

    @pytest.mark.parametrize("margin", [0.02, 0.5, 1.2])
    def test_separable_points_keep_the_margin(self, margin):
        made = answer("preset", {"name": "separable", "options": {"margin": margin, "points": 30, "seed": 3}})
        assert certify(made["X"], made["y"]).status == "separable"
        assert len(made["X"]) == 30

    @pytest.mark.parametrize("options", [{"margin": 9}, {"margin": "wide"}, [1]])
    def test_bad_options(self, options):
        with pytest.raises(RequestError, match="margin"):
            answer("preset", {"name": "separable", "options": options})


class TestCertificate:
    def test_separable(self):
        said = answer("certify", {"X": X, "y": Y, "algorithm": "perceptron"})
        known = certify(X, Y)
        assert (said["status"], said["bound"], said["verified"]) == ("separable", known.mistake_bound, True)
        (u,) = said["separator"]
        assert np.hypot.reduce(u) == pytest.approx(1)
        assert all(y * (u[0] + u[1] * x[0] + u[2] * x[1]) > 0 for x, y in zip(X, Y, strict=True))

    def test_the_common_point_is_in_both_hulls(self):
        made = answer("preset", {"name": "xor"})
        said = answer("certify", {key: made[key] for key in ("X", "y")})
        points, labels = np.array(made["X"]), np.array(made["y"])
        assert said["status"] == "inseparable"
        for label in (-1, 1):
            used = [(row, share) for row, share in said["combination"] if labels[row] == label]
            total = sum(share for _, share in used)
            assert np.allclose(sum(points[row] * share for row, share in used) / total, said["common"]["point"])

    def test_without_a_bias_the_common_point_is_the_origin(self):
        made = answer("preset", {"name": "cycle"})
        said = answer("certify", {key: made[key] for key in ("X", "y", "parameters")})
        assert said["common"]["kind"] == "origin"


class TestExport:
    @pytest.mark.parametrize("preset", ["table", "walk", "three", "circles", "committee"])
    def test_exported_python_code_gives_the_same_run(self, preset):
        made, said = run_of(preset)
        body = {key: made[key] for key in ("X", "y", "classes", "algorithm", "parameters")}
        code = answer("export", body | {"form": "python"})["text"]
        names: dict = {}
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, names)
        assert names["run"].total_mistakes == said["mistakes"]
        assert names["run"].total == said["total"]
        if names["run"].kind != "dual":
            assert names["run"].weights.tolist() == said["weights"]
        assert "margin" in printed.getvalue()

    def test_tables(self):
        body = {"X": X, "y": Y, "algorithm": "perceptron", "parameters": {"init": [-1, 0, 0], "on_zero": "positive"}}
        run = trace(X, Y, init=[-1, 0, 0], on_zero="positive")
        assert answer("export", body | {"form": "markdown"})["text"] == run.to_markdown("notes")
        assert answer("export", body | {"form": "csv"})["text"] == run.to_csv()
        with pytest.raises(RequestError, match="form"):
            answer("export", body | {"form": "pdf"})


class TestCatalogue:
    def test_every_learner_has_code_and_a_description(self):
        assert {"perceptron", "averaged", "voted", "pocket", "batch", "margin", "passive-aggressive", "winnow"} <= set(
            LEARNERS
        )
        for learner in LEARNERS.values():
            roles = {line["role"] for line in learner["code"]}
            assert {"decide", "update"} <= roles or learner["name"] == "batch", learner["name"]
            assert learner["about"]
            assert learner["source"]
            for parameter in learner["parameters"]:
                assert parameter["help"], (learner["name"], parameter["name"])

    def test_it_is_json(self):
        json.dumps(CATALOGUE, allow_nan=False)

    def test_parameters(self):
        known = {one["name"]: one for one in LEARNERS["passive-aggressive"]["parameters"]}
        assert known["variant"]["choices"] == ["PA", "PA-I", "PA-II"]
        assert known["C"] == {
            "name": "C",
            "title": "C",
            "default": 1.0,
            "kind": "number",
            "optional": False,
            "help": known["C"]["help"],
            "limits": {"above": 0, "least": None, "most": None, "odd": False},
            "must": [
                "“C” must be a number greater than 0; got ",
                ". Smaller values take smaller steps.",
            ],
        }
        assert known["shuffle"]["default"] is False
