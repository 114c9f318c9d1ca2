"""What the page says is true and in agreement with the library, on a desk, on a phone and by touch."""

import gzip
import html
import itertools
import re
import threading
from pathlib import Path

import numpy as np
import pytest

import rosenblatt
from rosenblatt.cli.lab import write_page
from rosenblatt.lab.requests import answer
from rosenblatt.lab.server import Server
from tests.lab.browser import chromium, idle, needs_chromium, open_lab
from tests.lab.test_page import at, choose, points

pytestmark = [pytest.mark.slow, needs_chromium]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("lab") / "lab.html"
    write_page(path)
    return path


@pytest.fixture(scope="module")
def served():
    with Server(0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.address
        server.shutdown()


@pytest.fixture(scope="module")
def context():
    with chromium() as made:
        yield made


@pytest.fixture
def page(request, context):
    """The page in one file, or with the parameter "served" that of the server."""
    served = getattr(request, "param", "alone") == "served"
    made = open_lab(context, request.getfixturevalue("served") if served else request.getfixturevalue("file").as_uri())
    yield made
    assert not made.problems
    made.close()


both = pytest.mark.parametrize("page", ["alone", "served"], indirect=True)
"""For tests of what the engine answers, which the page in one file has in JavaScript and the server in Python."""


def learner(page, name):
    page.get_by_role("combobox", name="Learner").select_option(name)
    idle(page)


def text_of(page, selector):
    return page.locator(selector).inner_text()


def ends(page, selector):
    """The ends of a drawn line in the coordinates of the points."""
    return page.evaluate(
        """selector => {
            const line = document.querySelector(selector), [x0, y0, x1, y1] = lab.plane.box;
            return [1, 2].map(k => [
                x0 + line.getAttribute("x" + k) / 800 * (x1 - x0), y1 - line.getAttribute("y" + k) / 600 * (y1 - y0)]);
        }""",
        selector,
    )


@both
class TestTheAnswerOfTheLearner:
    @pytest.mark.parametrize(
        ("name", "model"), [("averaged", rosenblatt.AveragedPerceptron), ("pocket", rosenblatt.PocketPerceptron)]
    )
    def test_the_plane_draws_the_weights_that_predict(self, page, name, model):
        choose(page, "noisy")
        learner(page, name)
        page.get_by_role("button", name="To the end").click()
        made = answer("preset", {"name": "noisy"})
        fitted = model(max_iter=10, shuffle=True, tol=None).fit(made["X"], made["y"])
        for x in ends(page, "line.boundary:not(.ghost)"):
            assert fitted.decision_function([x])[0] == pytest.approx(0, abs=1e-6 * np.abs(fitted.coef_).max())
        last = page.evaluate("() => lab.run.plane(lab.run.weightsAt(lab.frame))[0]")
        for x, y in ends(page, "line.boundary.ghost"):
            assert last[0] + last[1] * x + last[2] * y == pytest.approx(0, abs=1e-6 * np.abs(last).max())

    def test_a_vote_is_painted_and_counted_on_the_points(self, page):
        choose(page, "noisy")
        learner(page, "voted")
        page.get_by_role("button", name="To the end").click()
        made = answer("preset", {"name": "noisy"})
        told = {}
        for text in page.locator(".readouts button").all_inner_texts():
            title, count = text.removesuffix(" wrong").split("\n")
            told[title] = int(count)
        models = {
            "last w": rosenblatt.Perceptron,
            "average": rosenblatt.AveragedPerceptron,
            "vote": rosenblatt.VotedPerceptron,
        }
        fits = {
            title: model(max_iter=10, shuffle=True, tol=None).fit(made["X"], made["y"])
            for title, model in models.items()
        }
        assert told == {title: int((fit.predict(made["X"]) != made["y"]).sum()) for title, fit in fits.items()}
        assert page.locator("canvas.field").is_visible()
        seen = page.evaluate(
            """points => {
                const {box: [x0, y0, x1, y1]} = lab.plane, canvas = document.createElement("canvas");
                [canvas.width, canvas.height] = [lab.plane.canvas.width, lab.plane.canvas.height];
                const paper = canvas.getContext("2d", {willReadFrequently: true});
                paper.drawImage(lab.plane.canvas, 0, 0);
                return points.map(([x, y]) => {
                    const c = Math.floor((x - x0) / (x1 - x0) * canvas.width);
                    const r = Math.floor((y1 - y) / (y1 - y0) * canvas.height);
                    const [red, , blue] = paper.getImageData(c, r, 1, 1).data;
                    return red > blue ? 1 : -1;
                });
            }""",
            made["X"],
        )
        # A point beside the boundary may be in a cell whose middle is on the other side.
        assert (np.array(seen) == fits["vote"].predict(made["X"])).mean() > 0.95

    @pytest.mark.parametrize("name", ["averaged", "pocket", "voted"])
    def test_the_distance_and_the_angle_are_those_of_the_drawn_line(self, page, name):
        choose(page, "noisy")
        learner(page, name)
        for step in (153, 154, 155):
            page.evaluate(
                "step => lab.go(lab.run.frames.findIndex(one => one.step === step - 1 && one.phase === 'look'))", step
            )
            line = np.array(ends(page, "line.ghost" if name == "voted" else "line.boundary:not(.ghost)"))
            point = page.evaluate("step => lab.data.X[lab.run.steps.example[step - 1]]", step)
            along = np.subtract(*line)
            away = abs(np.linalg.det([along, point - line[0]])) / np.hypot(*along)
            facts = text_of(page, ".facts").replace("\n", " ")
            who = {"averaged": "the average", "pocket": "the pocket", "voted": "the last w"}[name]
            words = "distance to the line of the last w" if name == "voted" else "distance to the line"
            assert float(re.search(rf"{words}:? ([\d.]+)", facts).group(1)) == pytest.approx(away, rel=2e-3)
            assert f"angle of {who} and x" in facts

    def test_a_click_compares(self, page):
        choose(page, "noisy")
        learner(page, "averaged")
        page.get_by_role("button", name="To the end").click()
        assert page.locator("line.ghost").count() == 1
        page.locator(".readouts button", has_text="last w").click()
        assert page.locator("line.ghost").count() == 0
        assert page.evaluate("() => lab.state.show.answer") == "last"


@both
class TestWords:
    def test_one_bound_with_one_number(self, page):
        told = re.search(r"can make more than ([\d,]+):", text_of(page, ".proof .words"))
        certificate = re.search(
            r"a perceptron from zero weights makes at most ([\d,]+) mistakes", text_of(page, ".certificate")
        )
        assert told.group(1) == certificate.group(1)
        made = answer("preset", {"name": "separable"})
        assert int(told.group(1)) == int(rosenblatt.certify(made["X"], made["y"]).mistake_bound)

    def test_the_bound_of_a_perceptron_is_not_that_of_winnow(self, page):
        learner(page, "winnow")
        assert "a perceptron" not in text_of(page, ".certificate")
        assert "weights that are positive and have the sum 1" in text_of(page, ".proof")
        assert "there are none for these points" in text_of(page, ".proof")
        page.get_by_label("balanced").check()
        page.get_by_label("eta", exact=True).fill("0.005")
        page.get_by_label("eta", exact=True).press("Enter")
        idle(page)
        made = answer("preset", {"name": "separable"})
        bound = answer(
            "run",
            {key: made[key] for key in ("X", "y")}
            | {"algorithm": "winnow", "parameters": {"balanced": True, "eta": 0.005, "max_iter": 20}},
        )["winnow"]["bound"]
        assert f"at most ln 6 / (ηγ − ln cosh ηR) = {int(bound):,} mistakes" in text_of(page, ".proof")
        page.get_by_label("eta", exact=True).fill("0.5")
        page.get_by_label("eta", exact=True).press("Enter")
        idle(page)
        assert "does not hold for η = 0.5" in text_of(page, ".proof")
        page.get_by_label("balanced").uncheck()
        idle(page)
        assert page.get_by_label("initial w").get_attribute("placeholder") == "one"

    def test_margins_have_names(self, page):
        page.get_by_role("button", name="To the end").click()
        assert re.fullmatch(r"nearest point \S+ away", page.locator(".layer-arrows .note").text_content())
        assert "the largest margin of any u of length 1" in text_of(page, ".certificate")

    def test_no_rounding_errors_in_the_first_run(self, page):
        for _ in range(12):
            page.get_by_role("button", name="To the next mistake").click()
            assert not re.search(r"e[−-]\d", page.locator("main").inner_text())

    def test_one_mistake(self, page):
        choose(page, "correction")
        page.get_by_role("button", name="To the end").click()
        assert "1 mistake" in text_of(page, ".sentence")
        assert "1 mistakes" not in page.locator("main").inner_text()

    def test_the_promised_numbers_appear(self, page):
        choose(page, "margins")
        assert "1, −1, 0.01, 1" in text_of(page, ".facts")
        choose(page, "correction")
        page.get_by_role("button", name="To the next mistake").click()
        page.get_by_role("button", name="One step", exact=True).click()
        assert "10 → −7" in text_of(page, ".facts")
        assert "17" in text_of(page, ".facts")

    def test_no_angle_between_vectors_of_different_lengths_and_no_margin_of_a_class_without_points(self, page):
        choose(page, "three")
        for name in ("perceptron", "averaged", "batch", "margin", "passive-aggressive", "alma", "arow"):
            learner(page, name)
            page.get_by_role("button", name="To the end").click()
            assert not text_of(page, ".stage .error"), name
            assert "NaN" not in page.locator("main").inner_text(), name
        assert "One of the classes has no point, so that its margin is not known" in text_of(page, ".certificate")
        learner(page, "perceptron")
        assert "One of the classes has no point, so that its margin is not known" in text_of(page, ".proof")

    def test_the_proof_and_the_certificate_know_the_same_margin(self, page):
        choose(page, "correction")
        assert "4.123" in text_of(page, ".certificate")
        assert "not known" not in text_of(page, ".proof")
        assert page.evaluate("() => lab.run.comparator.margin") == pytest.approx(17**0.5)

    def test_one_example_and_one_mistake_of_a_batch(self, page):
        choose(page, "correction")
        learner(page, "batch")
        page.get_by_role("button", name="To the next mistake").click()
        assert "1 of 1 example is wrong" in text_of(page, ".sentence")
        page.get_by_role("button", name="One step", exact=True).click()
        assert "w changes along the only mistake" in text_of(page, ".sentence")

    @pytest.mark.parametrize(
        ("preset", "names"),
        [
            ("margins", ["alma", "perceptron"]),
            ("committee", ["alma", "romma", "second-order", "soft-confidence-weighted"]),
        ],
    )
    def test_rounding_errors_are_not_told_as_numbers(self, page, preset, names):
        choose(page, preset)
        for name in names:
            learner(page, name)
            told = page.evaluate(
                """() => lab.run.frames.map((_, frame) => {
                    lab.frame = frame;
                    if (lab.run.last < 100) lab.plane.show();
                    const facts = lab.run.facts(frame, lab.certificate.separator, lab.run.answers[0]);
                    return [lab.run.sentence(frame), ...facts.flat(), lab.plane.layers.arrows.textContent].join(" ");
                }).filter(text => /\\de[−-]?\\d/.test(text)).slice(0, 3)"""
            )
            assert told == [], name

    def test_why_there_is_no_proof(self, page):
        choose(page, "clouds")
        page.get_by_label("several classes").select_option("all")
        idle(page)
        assert "max, uniform or proportional" in text_of(page, ".proof")
        choose(page, "xor")
        learner(page, "perceptron")
        assert "No line separates" in text_of(page, ".proof")

    def test_the_vectors_of_a_committee_have_their_numbers(self, page):
        page.locator("[data-card=committee]").click()
        idle(page)
        assert page.locator(".vector-name").all_text_contents() == ["w1", "w2", "w3", "w4", "w5"]
        assert "5 weight vectors, one for each perceptron of the committee" in page.locator("main").inner_text()
        assert page.locator(".vectors [fill^='#']").count() == 0  # the colours are those of classes

    def test_a_certificate_of_many_features_or_classes(self, page):
        choose(page, "committee")
        assert "There are weights with which every point is classified correctly" in text_of(page, ".certificate")
        assert not re.search(r"e[−-]\d", text_of(page, ".certificate"))
        assert "bias included" not in text_of(page, ".certificate")
        choose(page, "clouds")
        assert "There are weights" in text_of(page, ".certificate")
        assert "bias included" in text_of(page, ".certificate")

    def test_a_run_that_repeats_itself(self, page):
        page.locator("[data-card=xor]").click()
        idle(page)
        page.get_by_role("button", name="To the end").click()
        assert "The weights are again those of the start" in text_of(page, ".sentence")
        choose(page, "separable")
        page.get_by_role("button", name="To the end").click()
        assert "again" not in text_of(page, ".sentence")

    def test_the_steps_of_a_long_run_have_its_numbers(self, page):
        page.evaluate(
            """async () => {
                await lab.usePreset('noisy', {points: 2000, noise: 0.1, seed: 1});
                await lab.idle();
                lab.go(lab.run.last);
            }"""
        )
        assert text_of(page, ".place") == "step 20000 of 20000"
        assert "of 20,000 steps are shown" in text_of(page, ".board-note")
        assert "limit" not in text_of(page, ".board-note")

    def test_arrows_and_names_are_above_the_points(self, page):
        page.get_by_role("button", name="To the end").click()
        above = page.evaluate(
            """() => {
                const name = document.querySelector(".arrow-name"), points = document.querySelector("canvas.points");
                return Boolean(points.compareDocumentPosition(name) & Node.DOCUMENT_POSITION_FOLLOWING);
            }"""
        )
        assert above

    def test_the_settings_of_a_preset_go_with_its_points(self, page):
        choose(page, "margins")
        page.get_by_label("eta0").fill("0.5")
        page.get_by_label("eta0").press("Enter")
        idle(page)
        page.get_by_role("button", name="Clear").click()
        idle(page)
        assert page.evaluate("() => lab.state.parameters") == {"eta0": 0.5}

    def test_one_point_of_three_features_has_sensible_ticks(self, page):
        choose(page, "correction")
        page.get_by_role("button", name="To the end").click()
        ticks = page.locator(".layer-axes .tick").all_text_contents()
        assert ticks
        assert not [tick for tick in ticks if "e" in tick]

    def test_a_single_point_has_sensible_ticks(self, page):
        page.get_by_role("button", name="Clear").click()
        page.mouse.click(*at(page, 1.5, 1))
        idle(page)
        page.get_by_role("button", name="Fit").click()
        ticks = page.locator(".layer-axes .tick").all_text_contents()
        assert ticks
        assert not [tick for tick in ticks if "e" in tick]


class TestTheRule:
    def lines(self, page):
        return page.locator(".code li").all_inner_texts()

    def test_options_and_starting_weights(self, page):
        choose(page, "table")
        assert self.lines(page)[0] == "w = (−1, 0, 0)"
        assert "if y <w, x> < 0, or <w, x> = 0 and y = −1:" in self.lines(page)
        page.get_by_label("a score of 0").select_option("no mistake")
        page.get_by_label("eta0").fill("0.5")
        page.get_by_label("eta0").press("Enter")
        idle(page)
        assert self.lines(page)[-2:] == ["if y <w, x> < 0:", "w = w + 0.5 y x"]

    def test_three_classes(self, page):
        choose(page, "clouds")
        assert "w_y = w_y + x" in self.lines(page)
        assert "w_r = w_r − x" in self.lines(page)
        page.get_by_label("several classes").select_option("ovr")
        idle(page)
        assert "w_k = w_k + y_k x" in self.lines(page)

    def test_counts_of_the_voted_perceptron(self, page):
        learner(page, "voted")
        assert "w = 0, c = 0" in self.lines(page)
        assert "c = c + 1" in self.lines(page)
        assert page.locator(".board th").all_inner_texts()[-1] == "survived"

    def test_the_kernel(self, page):
        learner(page, "kernel")
        assert self.lines(page)[:2] == ["k(x, z) = (gamma <x, z> + 1)^3 = <φ(x), φ(z)>", "a_i = 0 for every example i"]
        assert "average" not in " ".join(self.lines(page))
        page.get_by_label("kernel", exact=True).select_option("rbf")
        page.get_by_label("gamma", exact=True).fill("0.5")
        page.get_by_label("gamma", exact=True).press("Enter")
        idle(page)
        assert self.lines(page)[0].startswith("k(x, z) = exp(−0.5 ‖x − z‖²)")
        page.get_by_role("button", name="To the next mistake").click()
        page.get_by_role("button", name="One step", exact=True).click()
        assert page.locator(".code li.now").all_inner_texts() == ["a of this example = a + y, so w = w + y φ(x)"]

    def test_names_of_the_weights_stand_at_their_arrows(self, page):
        """The name of a vector is nearer to its own tip than that of the other weights."""
        for _ in range(4):
            page.get_by_role("button", name="To the next mistake").click()
            page.get_by_role("button", name="One step", exact=True).click()
            tips, names = page.evaluate(
                """() => {
                    const place = one => {
                        const box = one.getBoundingClientRect();
                        return [box.x + box.width / 2, box.y + box.height / 2];
                    };
                    const of = (list) => Object.fromEntries(list.map(one => [one.key, place(one.element)]));
                    const heads = ["old", "new"].map(key => ({key, element: document.querySelector(".vector-head." + key)}));
                    const texts = [...document.querySelectorAll(".vector-name")].map(element =>
                        ({key: {"w before": "old", "w after": "new"}[element.textContent], element})).filter(one => one.key);
                    return [of(heads.filter(one => one.element)), of(texts)];
                }"""
            )
            if len(names) == 2 and len(tips) == 2:
                for name, place in names.items():
                    distances = {tip: np.hypot(*np.subtract(place, where)) for tip, where in tips.items()}
                    assert min(distances, key=distances.get) == name

    def test_the_variant(self, page):
        learner(page, "passive-aggressive")
        page.get_by_label("variant").select_option("PA-II")
        idle(page)
        assert "tau = loss / (‖x‖² + 1 / (2C))" in self.lines(page)
        assert "PA-I)" not in " ".join(self.lines(page))

    def test_the_variances(self, page):
        for name in ("arow", "cw", "nherd", "second-order", "soft-confidence-weighted"):
            learner(page, name)
            page.get_by_label("covariance").select_option("diagonal")
            idle(page)
            diagonal = " ".join(self.lines(page))
            assert "σ_j = σ_j − beta (σ_j x_j)² for every j" in diagonal
            assert "Σ" not in diagonal
            page.get_by_label("covariance").select_option("full")
            idle(page)
            full = " ".join(self.lines(page))
            assert "Σ = Σ − beta Σ x (Σ x)ᵀ" in full
            assert "σ" not in full
        assert "min(C" in full
        page.get_by_label("variant").select_option("SCW-II")
        idle(page)
        assert "min(C" not in " ".join(self.lines(page))
        assert "1 / (2C)" in " ".join(self.lines(page))
        assert self.lines(page)[0] == "C = 1, phi = 1"

    def test_values_that_are_chosen_or_follow_from_others(self, page):
        learner(page, "alma")
        assert self.lines(page)[0] == "alpha = 0.9, C = 1.414, B = √8 / alpha = 3.143"
        learner(page, "parallel")
        assert "w_1 … w_5 random" in self.lines(page)
        learner(page, "winnow")
        for choice, line in (
            ("a mistake", "if y <w, x> <= 0:"),
            ("means +1", "if y <w, x> < 0, or <w, x> = 0 and y = −1:"),
            ("no mistake", "if y <w, x> < 0:"),
        ):
            page.get_by_label("a score of 0").select_option(choice)
            idle(page)
            assert line in self.lines(page)

    def test_three_classes_of_other_learners(self, page):
        choose(page, "clouds")
        learner(page, "winnow")
        lines = self.lines(page)
        assert "w_j = w_j exp(eta z_j) for every feature j" in lines
        assert "z = x for the class y, −x for the top rival, 0 for the others" in lines
        learner(page, "passive-aggressive")
        assert "tau = min(C, loss / (2 ‖x‖²))" in self.lines(page)
        page.get_by_label("several classes").select_option("ovr")
        idle(page)
        assert "w_k = w_k + tau y_k x" in self.lines(page)
        for one in page.evaluate("() => lab.catalogue.learners.map(one => one.name)"):
            if one != "parallel":
                learner(page, one)
                assert not re.search(r"undefined|NaN|its w and taken", " ".join(self.lines(page))), one


@both
class TestSeveralClasses:
    def test_regions_are_shaded_by_the_lead(self, page):
        choose(page, "clouds")
        page.get_by_role("button", name="To the end").click()
        made = answer("preset", {"name": "clouds"})
        model = rosenblatt.Perceptron(max_iter=10, shuffle=False, tol=None).fit(made["X"], made["y"])
        seen = page.evaluate(
            """points => points.map(([x, y]) => {
                const svg = document.querySelector("svg.back"), at = svg.createSVGPoint();
                [at.x, at.y] = [lab.plane.px(x), lab.plane.py(y)];
                const parts = [...document.querySelectorAll(".layer-regions polygon")].filter(one => one.isPointInFill(at));
                return parts.map(one => {
                    const slope = document.querySelector(one.getAttribute("fill").slice(4, -1));
                    const [x1, y1, x2, y2] = ["x1", "y1", "x2", "y2"].map(name => Number(slope.getAttribute(name)));
                    // How far along the slope the point is: its lead in units that all slopes share.
                    const part = ((at.x - x1) * (x2 - x1) + (at.y - y1) * (y2 - y1)) / ((x2 - x1) ** 2 + (y2 - y1) ** 2);
                    return [slope.querySelector("stop").getAttribute("stop-color"), part];
                });
            })""",
            made["X"],
        )
        colours = dict(zip("abc", ["#0072B2", "#E69F00", "#009E73"], strict=True))
        assert [[one[0] for one in parts] for parts in seen] == [[colours[y]] for y in model.predict(made["X"])]
        scores = np.sort(model.decision_function(made["X"]), axis=1)
        leads, parts = scores[:, -1] - scores[:, -2], np.array([parts[0][1] for parts in seen])
        assert parts == pytest.approx(leads * parts[0] / leads[0], rel=1e-3)

    @pytest.mark.parametrize("name", ["perceptron", "arow"])
    def test_the_boundaries_meet(self, page, name):
        choose(page, "clouds")
        learner(page, name)
        page.get_by_role("button", name="To the end").click()
        lines = page.eval_on_selector_all(
            "line.boundary",
            "all => all.map(one => [1, 2].map(k => ['x', 'y'].map(name => Number(one.getAttribute(name + k)))))",
        )
        assert len(lines) == 3
        assert any(all(np.hypot(*np.subtract(end, line).T).min() < 1e-6 for line in lines) for end in lines[0])

    def test_what_the_proof_without_a_bias_draws_is_defined_and_in_the_picture(self, page):
        choose(page, "cycle")
        notes = page.locator(".layer-proof .note").all()
        assert [note.text_content() for note in notes] == ["Σ λ·y·x = 0", "with weights λ > 0"]
        plane = page.locator("svg.plane").bounding_box()
        for note in notes:
            box = note.bounding_box()
            assert box["x"] + box["width"] <= plane["x"] + plane["width"]
        assert "with weights λ > 0, here (0.5, 0.5)" in text_of(page, ".certificate")

    def test_a_committee_of_many_features_is_placed_by_its_votes(self, page):
        choose(page, "committee")
        learner(page, "parallel")
        page.get_by_role("button", name="To the end").click()
        places = [x for x, _ in page.evaluate("() => lab.plane.positions()")]
        weights = np.array(page.evaluate("() => lab.run.weightsAt(lab.frame)"))
        scores = np.c_[np.ones(len(places)), points(page)][:, -weights.shape[1] :] @ weights.T
        assert places == pytest.approx(np.where(scores >= 0, 1, -1).mean(axis=1))


DRAG = """async ([x, y, u, v]) => {
    // A real drag, with the picture looked at in every frame.
    const seen = [];
    const svg = document.querySelector("svg.plane");
    const fire = (kind, clientX, clientY) => svg.dispatchEvent(
        new PointerEvent(kind, {pointerId: 1, clientX, clientY, bubbles: true, button: 0, isPrimary: true}));
    svg.setPointerCapture = () => {};
    fire("pointerdown", x, y);
    for (let k = 1; k <= 40; k++) {
        fire("pointermove", x + (u - x) * k / 40, y + (v - y) * k / 40);
        await new Promise(requestAnimationFrame);
        seen.push(document.querySelectorAll("line.boundary").length);
    }
    fire("pointerup", u, v);
    return seen;
}"""


class TestHands:
    @both
    def test_the_boundary_stays_while_a_point_is_dragged(self, page):
        page.get_by_role("button", name="To the end").click()
        x, y = points(page)[0]
        seen = page.evaluate(DRAG, [*at(page, x, y), *at(page, x + 1, y + 1)])
        assert len(seen) == 40
        assert min(seen) >= 1
        idle(page)
        assert points(page)[0] == pytest.approx([x + 1, y + 1], abs=0.03)

    def test_a_point_stays_in_view_and_the_view_can_be_fitted(self, page):
        x, y = points(page)[0]
        page.mouse.move(*at(page, x, y))
        page.mouse.down()
        page.mouse.move(*at(page, x, y - 30), steps=6)
        page.mouse.up()
        idle(page)
        box = page.evaluate("() => lab.plane.box")
        assert box[1] <= points(page)[0][1] <= box[1] + 0.1
        page.evaluate(
            "() => { lab.edit({X: lab.data.X.map(([x, y], k) => k ? [x, y] : [40, 40])}); return lab.idle(); }"
        )
        page.get_by_role("button", name="Fit").click()
        assert page.evaluate("() => lab.plane.box")[2] > 40

    def test_twenty_ticks_of_a_slider_are_one_undo_and_undo_moves_the_slider(self, page):
        slider = page.get_by_label("distance to the line")
        slider.focus()
        page.evaluate("() => { performance.now = () => 0; }")  # all at once, however busy the machine is
        for _ in range(20):
            page.keyboard.press("ArrowRight")
            page.wait_for_timeout(15)
        idle(page)
        assert slider.input_value() == "0.7"
        assert page.evaluate("() => lab.history.past.length") == 1
        page.get_by_role("button", name="Undo").click()
        idle(page)
        assert page.get_by_label("distance to the line").input_value() == "0.3"
        assert page.locator(".slider output").first.inner_text() == "0.3"

    def test_one_drag_of_a_slider_is_one_undo_however_long_it_rests(self, page):
        page.evaluate("() => { const now = performance.now(); window.clock = 0; performance.now = () => now + clock; }")
        box = page.get_by_label("distance to the line").bounding_box()
        y = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * 0.25, y)
        page.mouse.down()
        for part in (0.4, 0.6, 0.8):
            page.mouse.move(box["x"] + box["width"] * part, y, steps=3)
            idle(page)
            page.evaluate("() => { clock += 5000; }")
        page.mouse.move(box["x"] + box["width"] * 0.9, y)
        page.mouse.up()
        idle(page)
        assert page.evaluate("() => lab.history.past.length") == 1
        page.evaluate("() => { clock += 5000; }")
        page.mouse.click(box["x"] + box["width"] * 0.5, y)
        idle(page)
        assert page.evaluate("() => lab.history.past.length") == 2

    @both
    @pytest.mark.parametrize("preset", ["walk", "three"])
    def test_winnow_leaves_out_the_start_of_a_preset_and_says_so(self, page, preset):
        choose(page, preset)
        learner(page, "winnow")
        assert not page.locator(".stage .error").is_visible()
        assert "The initial weights were left out" in text_of(page, ".toast")
        assert page.evaluate("() => [lab.state.parameters.init, lab.run.algorithm]") == [None, "winnow"]

    @pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800), (1440, 900)])
    def test_all_cards_are_in_view(self, page, width, height):
        page.set_viewport_size({"width": width, "height": height})
        boxes = [one.bounding_box() for one in page.locator(".idea").all()]
        assert len(boxes) == 7
        for box in boxes:
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
        assert page.evaluate(
            "() => [...document.querySelectorAll('.idea')].every(one => one.scrollWidth <= one.clientWidth)"
        )
        assert page.locator(".plane").bounding_box()["y"] < height / 2

    def test_buttons_do_not_jump(self, page):
        place = """() => {
            const box = document.querySelector('.transport-play').getBoundingClientRect();
            return [box.x, box.y, box.width];
        }"""
        seen = {tuple(page.evaluate(f"() => {{ lab.go({frame}); return ({place})(); }}")) for frame in range(0, 80, 3)}
        page.evaluate("() => lab.go(0)")
        page.get_by_role("button", name="Play").click()
        seen.add(tuple(page.evaluate(place)))
        page.get_by_role("button", name="Pause").click()
        assert len(seen) == 1


class TestData:
    def test_a_thousand_rows(self, page):
        rng = np.random.default_rng(3)
        rows = "\n".join(f"{a:.3f},{b:.3f},{'p' if a + b > 0 else 'q'}" for a, b in rng.normal(size=(1000, 2)))
        page.get_by_role("button", name="CSV…").click()
        page.get_by_label("Paste it here").fill(f"a,b,kind\n{rows}\n")
        page.get_by_text("1,000 points, 2 classes").wait_for()
        page.get_by_role("button", name="Use these points").click()
        idle(page)
        assert page.evaluate("() => lab.run.examples") == 1000
        assert "compiled" not in page.locator(".stage").text_content()

    def test_a_column_that_is_left_out_is_named(self, page):
        page.get_by_role("button", name="CSV…").click()
        page.get_by_label("Paste it here").fill("a,b,c,kind\n1,NAN,2,p\n2,3,4,q\n3,4,1,p\n")
        page.get_by_text("The column b is left out, because “NAN” is not a number.").wait_for()

    @both
    def test_messages_have_no_insides(self, page):
        page.get_by_role("button", name="CSV…").click()
        page.get_by_label("Paste it here").fill("a,b,kind\n1,2,rose\n2,3,rose\n")
        page.get_by_text("2 points, 1 class").wait_for()
        page.get_by_role("button", name="Use these points").click()
        idle(page)
        for name in ("perceptron", "kernel"):
            learner(page, name)
            message = text_of(page, ".stage .error")
            assert "rose" in message
            assert "np." not in message

    def test_a_lost_server(self, context, served):
        page = open_lab(context, served)
        page.route("**/api/*", lambda route: route.abort())
        learner(page, "voted")
        assert text_of(page, ".stage .error").startswith("The lab does not answer.")
        page.close()

    def test_the_blackboard_is_full_at_the_end(self, page):
        choose(page, "noisy")
        page.get_by_role("button", name="To the end").click()
        page.locator(".board tr[aria-current] td", has_text="601").wait_for()
        assert page.locator(".board tbody tr").count() == 120
        numbers = [int(text) for text in page.locator(".board tbody tr td:first-child").all_inner_texts()]
        assert numbers == list(range(numbers[0], numbers[0] + 120))
        assert numbers[-1] == page.evaluate("() => lab.run.total") + 1
        page.evaluate("() => { document.querySelector('.board-scroll').scrollTop = 0; }")
        page.wait_for_function(
            "first => Number(document.querySelector('.board tbody td').innerText) < first", arg=numbers[0]
        )


class TestSharing:
    def test_a_link_has_the_check_boxes(self, page, context):
        page.get_by_label("show up to the bound").check()
        page.get_by_label("draw it in the plane").check()
        page.locator(".readouts button", has_text="average").click()
        page.get_by_role("button", name="Share").click()
        page.get_by_text("The link was copied").wait_for()
        other = open_lab(context, page.evaluate("() => location.href"))
        assert other.get_by_label("show up to the bound").is_checked()
        assert other.locator(".squeeze .bound").count() == 1
        assert other.get_by_label("draw it in the plane").is_checked()
        assert other.locator("line.separator").count() == 1
        assert other.locator(".readouts button[aria-pressed=true]").inner_text().startswith("average")
        other.close()

    def test_a_link_shows_the_same_points_on_the_server_and_alone(self, page, context, served):
        choose(page, "noisy")
        page.get_by_label("random seed").fill("12")
        idle(page)
        link = page.evaluate("async () => { await lab.store(); return location.hash; }")
        other = open_lab(context, served + link)
        see = """() => [lab.data.X, lab.data.y, lab.state.parameters, lab.run.steps.vectors, lab.run.mistakes,
            lab.certificate.status]"""
        assert other.evaluate(see) == page.evaluate(see)
        other.close()

    @pytest.mark.parametrize("theme", ["light", "dark"])
    def test_paper(self, page, theme):
        page.evaluate("theme => lab.setTheme(theme)", theme)
        page.evaluate("() => lab.go(lab.run.nextMistake(4))")
        page.set_viewport_size({"width": 794, "height": 1123})  # A4
        page.emulate_media(media="print")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 794
        assert page.locator(".board table").bounding_box()["width"] < 794
        now = page.locator(".code li.now").first
        assert now.evaluate("one => getComputedStyle(one).color") == "rgb(0, 0, 0)"
        assert now.evaluate("one => getComputedStyle(one).backgroundColor") == "rgb(255, 240, 191)"
        for hidden in ("nav", ".transport", ".side", ".ideas"):
            assert not page.locator(hidden).first.is_visible()
        assert page.locator("svg.plane").is_visible()
        assert page.locator(".board table").is_visible()


class TestPhone:
    def test_the_proof_is_near_and_text_can_be_read(self, context, file):
        page = open_lab(context, file.as_uri(), 390, 844)
        page.wait_for_function("() => lab.plane.wide > 0 && lab.plane.wide < 390")
        assert page.locator(".proof").bounding_box()["y"] < 1000
        sizes = page.evaluate(
            """() => [...document.querySelectorAll(".layer-axes text")].map(text =>
                parseFloat(getComputedStyle(text).fontSize) * document.querySelector("svg.plane").clientWidth / 800)"""
        )
        assert min(sizes) >= 11
        # Text does not cover other text or the boundary that it belongs to.
        page.get_by_role("button", name="To the end").click()
        tops = page.evaluate(
            """() => [...document.querySelectorAll(".layer-axes text")].map(one => one.getBoundingClientRect().toJSON())"""
        )
        for one, other in itertools.combinations(tops, 2):
            assert (
                one["right"] <= other["left"]
                or other["right"] <= one["left"]
                or one["bottom"] <= other["top"]
                or other["bottom"] <= one["top"]
            )
        # In one step, because the page draws its elements anew.
        shown = page.wait_for_function(
            """() => {
                const found = ["line.boundary", ".layer-arrows .note"].map(where => document.querySelector(where));
                return found.every(Boolean) && found.map(one => one.getBoundingClientRect().toJSON());
            }"""
        )
        line, note = shown.json_value()
        assert note["y"] >= line["y"]
        page.close()


class TestTheFirstPicture:
    def test_the_plane_comes_before_the_cards_around_it(self, context, file):
        page = context.new_page()
        page.add_init_script(
            """const look = () => {
                if (!window.lab?.run) { requestAnimationFrame(look); return; }
                // Called after the layout of this frame, before it is painted.
                new ResizeObserver(() => {
                    window.first ??= [document.querySelectorAll(".card").length, lab.plane.points.width > 300];
                }).observe(lab.plane.element);
            };
            requestAnimationFrame(look);"""
        )
        page.goto(file.as_uri())
        idle(page)
        assert page.evaluate("() => window.first") == [1, True]
        assert page.locator(".card").count() == 9
        page.close()

    @pytest.mark.parametrize("theme", ["light", "dark"])
    def test_the_points_are_painted_in_the_colours_of_their_classes(self, page, theme):
        page.evaluate("theme => lab.setTheme(theme)", theme)
        seen = page.evaluate(
            """() => {
                const {points, box: [x0, y0, x1, y1]} = lab.plane, canvas = document.createElement("canvas");
                [canvas.width, canvas.height] = [points.width, points.height];
                const paper = canvas.getContext("2d", {willReadFrequently: true});
                paper.drawImage(points, 0, 0);
                const hex = value => value.toString(16).padStart(2, "0");
                const pixel = (x, y) => [...paper.getImageData(x, y, 1, 1).data].map(hex).join("");
                const size = lab.plane.size * points.width / 800;
                return lab.data.X.map(([x, y]) => {
                    const [u, v] = [(x - x0) / (x1 - x0) * points.width, (y1 - y) / (y1 - y0) * points.height];
                    return [pixel(u, v), pixel(u + 3 * size, v + 3 * size)];
                });
            }"""
        )
        labels = page.evaluate("() => lab.data.y")
        assert [middle for middle, _ in seen] == [{-1: "0072b2ff", 1: "e69f00ff"}[label] for label in labels]
        assert "00000000" in {beside for _, beside in seen}

    def test_cards_out_of_view_are_up_to_date_after_playback(self, page):
        page.set_viewport_size({"width": 390, "height": 500})
        page.wait_for_function("() => !lab.inView.has(lab.vectors.element)")
        page.evaluate(
            """() => {
                lab.transport.playing = true;
                lab.go(20);
                lab.behind = document.querySelector(".vectors").getAttribute("aria-label");
                lab.transport.stop();
            }"""
        )
        now = page.locator(".vectors").get_attribute("aria-label")
        assert now != page.evaluate("() => lab.behind")
        page.evaluate("() => lab.go(20)")
        assert page.locator(".vectors").get_attribute("aria-label") == now


class TestTheFirstTenSeconds:
    @pytest.fixture
    def moving(self, context, file):
        page = context.new_page()
        page.emulate_media(reduced_motion="no-preference")
        page.goto(file.as_uri())
        page.wait_for_function("() => window.lab && lab.run")
        yield page
        page.close()

    def test_it_starts_by_itself_and_moves_smoothly(self, moving):
        page = moving
        page.wait_for_function("() => lab.transport.playing && lab.frame > 0")
        whole = page.evaluate("() => lab.run.frames.reduce((sum, _, frame) => sum + lab.transport.pace(frame), 0)")
        assert 6000 < whole < 13000
        pace = page.evaluate(
            """() => lab.run.frames.slice(0, -1).map((one, k) => [
                lab.run.steps.correct[one.step] && one.phase === "look", lab.transport.pace(k)])"""
        )
        assert max(ms for quick, ms in pace if quick) * 4 < min(ms for quick, ms in pace if not quick)
        # One update: the boundary passes through places between the old and the new one.
        seen = page.evaluate(
            """() => {
                // The clock is held, so that the places do not depend on how busy the machine is.
                let time = 1e6;
                performance.now = () => time;
                lab.transport.stop();
                lab.go(lab.run.nextMistake(3));
                const place = later => {
                    time += later;
                    lab.plane.show();
                    const line = document.querySelector("line.boundary:not(.before)");
                    return line.getAttribute("x1") + " " + line.getAttribute("y1");
                };
                const before = place(1000);
                lab.go(lab.frame + 1);
                return [before, place(0), place(100), place(100), place(100)];
            }"""
        )
        assert seen[0] == seen[1]
        assert len(set(seen)) == 3
        assert seen[3] == seen[4]

    def test_it_rests_without_motion(self, page):
        page.wait_for_timeout(700)
        assert page.evaluate("() => [lab.frame, lab.transport.playing]") == [0, False]
        before, after = page.evaluate(
            """() => {
                lab.go(lab.run.nextMistake(3));
                lab.go(lab.frame + 1);
                const line = () => document.querySelector("line.boundary:not(.before)").getAttribute("x1"), first = line();
                return new Promise(done => setTimeout(() => { lab.plane.show(); done([first, line()]); }, 300));
            }"""
        )
        assert before == after

    def test_a_click_in_the_plane_stops_it(self, moving):
        moving.wait_for_function("() => lab.transport.playing")
        moving.mouse.click(*at(moving, 0, -1))
        assert not moving.evaluate("() => lab.transport.playing")

    @both
    @pytest.mark.parametrize(
        ("card", "words"),
        [
            ("stop", "the run has converged"),
            ("xor", "after one pass: 4 mistakes"),
            ("kernel", "the run has converged"),
            ("committee", "The end"),
            ("pocket", "The end"),
            ("average", "The end"),
            ("rate", "the run has converged"),
        ],
    )
    def test_cards(self, page, card, words):
        page.locator(f"[data-card={card}]").click()
        idle(page)
        page.get_by_role("button", name="To the end").click()
        assert words in text_of(page, ".sentence")

    def test_the_committee_solves_exclusive_or(self, page):
        page.locator("[data-card=committee]").click()
        idle(page)
        page.get_by_role("button", name="To the end").click()
        wrong = page.evaluate(
            """() => {
                const {correct, epoch} = lab.run.steps;
                return correct.filter((right, k) => !right && epoch[k] === lab.run.epochs).length;
            }"""
        )
        assert wrong == 0
        assert page.locator("canvas.field").is_visible()
        assert page.locator("line.edge").count() == 5

    def test_angles(self, page):
        page.evaluate("() => lab.go(lab.run.last - 1)")
        angle = float(re.search(r"angle of w and u:?\s*([\d.]+)°", text_of(page, ".facts")).group(1))
        made = answer("preset", {"name": "separable"})
        run = rosenblatt.trace(made["X"], made["y"], max_iter=20, limit=None)
        w, u = run[-1].before.ravel(), run.comparator.weights.ravel()
        assert angle == pytest.approx(np.degrees(np.arccos(w @ u / np.linalg.norm(w))), abs=0.06)

    @pytest.mark.parametrize("name", ["passive-aggressive", "winnow", "arow"])
    def test_the_angle_with_the_separator_of_the_certificate(self, page, name):
        learner(page, name)
        page.evaluate("() => lab.go(lab.run.last)")
        angle = float(re.search(r"angle of w and u:?\s*([\d.]+)°", text_of(page, ".facts")).group(1))
        w, u = (
            np.ravel(page.evaluate(where))
            for where in ("() => lab.run.weightsAt(lab.frame)", "() => lab.certificate.separator")
        )
        assert angle == pytest.approx(np.degrees(np.arccos(w @ u / np.linalg.norm(w))), abs=0.06)


class TestOneFile:
    def test_it_is_small_and_names_no_host(self, file):
        assert len(gzip.compress(file.read_bytes())) < 200_000
        assert not re.findall(r"""(?:src|href)=["']https?:""", file.read_text(encoding="utf-8"))

    def test_the_page_is_alive_during_a_long_run(self, page):
        pictures = page.evaluate(
            """async () => {
                await lab.usePreset("noisy", {points: 1000});
                lab.choose("kernel");
                let pictures = 0;
                const count = () => { if (lab.run?.kind !== "dual") { pictures++; requestAnimationFrame(count); } };
                requestAnimationFrame(count);
                await lab.idle();
                return pictures;
            }"""
        )
        assert pictures > 3

    def test_everything_works_without_a_network(self, context, file):
        context.set_offline(True)
        try:
            page = open_lab(context, file.as_uri())
            asked = []
            page.on("request", lambda request: asked.append(request.url))
            for preset in ("clouds", "circles", "committee"):
                choose(page, preset)
                page.get_by_role("button", name="To the end").click()
                assert "The end" in text_of(page, ".sentence")
            assert [url for url in asked if not url.startswith(("blob:", "data:"))] == []
            assert not page.problems
            page.close()
        finally:
            context.set_offline(False)

    def test_in_a_frame(self, context, file, tmp_path):
        outer = tmp_path / "outer.html"
        outer.write_text(
            f'<iframe src="{file.as_uri()}" width="1000" height="900"></iframe>'
            f'<iframe sandbox="allow-scripts" src="{file.as_uri()}"></iframe>'
        )
        page = context.new_page()
        problems = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(outer.as_uri())
        page.wait_for_timeout(300)
        for number in (1, 2):
            frame = page.frames[number]
            frame.wait_for_function("() => window.lab && lab.run")
            frame.evaluate("() => { lab.go(3); return lab.store(); }")
            assert "Step" in frame.locator(".sentence").inner_text()
        assert not problems
        page.close()


class TestTheDocumentation:
    """The script of the pages of the documentation, in a page with blocks of code and the lab in a frame."""

    @pytest.fixture
    def documentation(self, context, file, tmp_path):
        script = Path(__file__).parents[2] / "docs" / "_static" / "copy.js"
        blocks = [
            "$ rosenblatt train a.svm \\\n    -m model\nlearned\n$ rosenblatt inspect model\n",
            ">>> for x in X:\n...     print(x)\n...\n1\n2\n>>> 3 + 4\n7\n",
            "x = 1\n\nprint(x)\n",
        ]
        (tmp_path / "page.html").write_text(
            f"<body data-theme='light'><script src='{script.as_uri()}'></script>"
            + "".join(f"<div class='highlight'><pre>{html.escape(text)}</pre></div>" for text in blocks)
            + f"<iframe class='moving-lab' width=900 height=700 src='{file.as_uri()}'></iframe>"
        )
        page = context.new_page()
        page.goto((tmp_path / "page.html").as_uri())
        yield page
        page.close()

    def test_what_is_typed_is_copied_without_prompts_and_output(self, documentation):
        copied = []
        for button in documentation.locator(".copy-code").all():
            button.click()
            button.get_by_text("Copied").wait_for()
            copied.append(documentation.evaluate("() => navigator.clipboard.readText()"))
        assert copied == [
            "rosenblatt train a.svm \\\n    -m model\nrosenblatt inspect model",
            "for x in X:\n    print(x)\n\n3 + 4",
            "x = 1\n\nprint(x)",
        ]

    def test_the_lab_has_the_colours_of_the_page_around_it(self, documentation):
        frame = documentation.frames[1]
        for theme in ("light", "dark", "light"):
            documentation.evaluate("theme => { document.body.dataset.theme = theme; }", theme)
            frame.wait_for_function("theme => window.lab?.root.dataset.theme === theme", arg=theme)
        documentation.evaluate("() => { document.body.dataset.theme = 'auto'; }")
        frame.wait_for_function("() => lab.root.dataset.theme === 'auto'")
