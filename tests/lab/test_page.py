"""The page in a real browser: actions of a visitor and their visible results."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest

import rosenblatt
from rosenblatt.cli.lab import write_page
from rosenblatt.lab.requests import answer
from rosenblatt.lab.server import Server
from tests.lab.browser import chromium, idle, needs_chromium, open_lab
from tests.lab.node import same_csv

pytestmark = [pytest.mark.slow, needs_chromium]

CASES = json.loads((Path(__file__).parents[1] / "data" / "worked_examples.json").read_text(encoding="utf-8"))
FLOWERS = "length,width,depth,kind\n1,2,0,rose\n2,1,1,lily\n3,5,1,rose\n4,2,0,lily\n"


@pytest.fixture(scope="module", params=["served", "alone"])
def address(request, tmp_path_factory):
    """The page of the server, and the page in one file, which computes everything itself."""
    if request.param == "alone":
        path = tmp_path_factory.mktemp("lab") / "lab.html"
        write_page(path)
        yield path.as_uri()
        return
    with Server(0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.address
        server.shutdown()


@pytest.fixture(scope="module")
def context():
    with chromium() as made:
        yield made


@pytest.fixture
def page(context, address):
    made = open_lab(context, address)
    yield made
    assert not made.problems
    made.close()


@pytest.fixture(scope="module")
def kept_page(context, address):
    """One page for all tests that begin by choosing data and learner."""
    made = open_lab(context, address)
    yield made
    made.close()


@pytest.fixture
def used_page(kept_page):
    yield kept_page
    assert not kept_page.problems


def choose(page, name):
    page.get_by_role("combobox", name="Data").select_option(name)
    idle(page)
    assert page.evaluate("() => lab.data.preset.name") == name


def table(page):
    return page.eval_on_selector_all(
        ".board tbody tr", "rows => rows.map(row => [...row.cells].map(cell => cell.innerText))"
    )


def points(page):
    return page.evaluate("() => lab.data.X")


def at(page, x, y):
    """The screen position of a point of the plane."""
    box = page.locator("svg.plane").bounding_box()
    u, v = page.evaluate("([x, y]) => [lab.plane.px(x) / 800, lab.plane.py(y) / 600]", [x, y])
    return box["x"] + u * box["width"], box["y"] + v * box["height"]


class TestWorkedExamples:
    @pytest.mark.parametrize(
        ("preset", "case"), list(zip(["walk", "cycle", "table", "correction"], CASES["binary_passes"], strict=True))
    )
    def test_tables(self, used_page, preset, case):
        page = used_page
        choose(page, preset)
        headings = page.locator(".board th").all_inner_texts()
        assert headings == ["step", "weights", "score", "correct?", "update"]
        rows = table(page)
        weights = [case["init"], *case["weights_after"]]
        assert [json.loads(row[1]) for row in rows] == weights
        assert [float(row[2].rpartition("=")[2]) for row in rows[:-1]] == case["scores"]
        assert [row[3] for row in rows[:-1]] == ["no" if wrong else "yes" for wrong in case["mistake"]]
        # The signed update equals the change.
        for row, before, after in zip(rows, weights, weights[1:], strict=False):
            change = (np.array(after) - before).tolist()
            if row[4] == "none":
                assert not any(change)
            else:
                assert ((1 if row[4][0] == "+" else -1) * np.array(json.loads(row[4][2:]))).tolist() == change

    def test_the_table_of_the_notes_word_for_word(self, used_page):
        page = used_page
        choose(page, "table")
        run = rosenblatt.trace(
            [[1, 1], [3, 2], [2, 4], [3, 4], [2, 3]], [-1, 1, 1, 1, -1], init=[-1, 0, 0], on_zero="positive"
        )
        assert table(page) == [["\n".join(cell) for cell in row] for row in run.to_cells("notes")[1]]
        page.get_by_role("button", name="Copy Markdown").click()
        page.get_by_text("copied as Markdown").wait_for()
        assert page.evaluate("() => navigator.clipboard.readText()") == run.to_markdown("notes")
        page.get_by_role("button", name="Copy CSV").click()
        page.get_by_text("copied as CSV").wait_for()
        same_csv(page.evaluate("() => navigator.clipboard.readText()"), run.to_csv())

    @pytest.mark.parametrize("scheme", ["max", "all"])
    def test_three_classes(self, used_page, scheme):
        page = used_page
        (case,) = CASES["multiclass"]
        choose(page, "three")
        page.get_by_label("several classes").select_option(label=scheme)
        idle(page)
        first, last = table(page)
        read = [[json.loads(line.partition(": ")[2]) for line in row[1].split("\n")] for row in (first, last)]
        assert read == [case["W"], case["after"][scheme]]
        assert [float(line.rpartition("=")[2]) for line in first[2].split("\n")] == case["scores"]

    def test_the_play_head_marks_its_row(self, page):
        choose(page, "table")
        page.get_by_role("button", name="To the next mistake").click()
        assert page.locator(".board tr[aria-current]").inner_text().startswith("2")
        assert "example 2 is +1; score −1" in page.locator(".sentence").inner_text()
        assert page.locator(".code li.now").all_inner_texts()[-1] == "if y <w, x> < 0, or <w, x> = 0 and y = −1:"
        page.get_by_role("button", name="One step", exact=True).click()
        assert "w + (1, 3, 2) = (0, 3, 2)" in page.locator(".sentence").inner_text()
        assert page.locator(".code li.now").all_inner_texts() == ["w = w + y x"]
        assert page.locator(".vectors").get_attribute("aria-label") == "(0, 0) + (3, 2) = (3, 2), bias −1 → 0"
        page.get_by_role("button", name="To the end").click()
        assert page.locator(".board tr[aria-current]").inner_text().startswith("6")


class TestData:
    def test_click_drag_and_undo(self, page):
        page.get_by_role("button", name="Clear").click()
        idle(page)
        assert "Click anywhere" in page.locator(".hint").inner_text()
        page.mouse.click(*at(page, -2, 1))
        page.get_by_role("radio", name="+1").click()
        page.mouse.click(*at(page, 2, -1))
        idle(page)
        assert points(page) == pytest.approx(np.array([[-2, 1], [2, -1]]), abs=0.02)
        assert page.evaluate("() => lab.data.y") == [-1, 1]
        assert page.evaluate("() => lab.certificate.status") == "separable"
        page.mouse.move(*at(page, 2, -1))
        page.mouse.down()
        page.mouse.move(*at(page, 1, 2), steps=5)
        page.mouse.up()
        idle(page)
        assert points(page)[1] == pytest.approx([1, 2], abs=0.02)
        page.keyboard.press("Control+z")
        assert points(page)[1] == pytest.approx([2, -1], abs=0.02)
        page.get_by_role("button", name="Redo").click()
        assert points(page)[1] == pytest.approx([1, 2], abs=0.02)
        for _ in range(3):
            page.get_by_role("button", name="Undo").click()
        assert points(page) == []
        page.get_by_role("button", name="Undo").click()
        idle(page)
        assert len(points(page)) == 24

    def test_a_third_and_a_fourth_class(self, page):
        page.get_by_role("button", name="Clear").click()
        for code, place in enumerate([(-2, 1), (2, 1), (-2, -2), (2, -2)]):
            page.keyboard.press(str(code + 1))
            page.mouse.click(*at(page, *place))
        idle(page)
        assert page.evaluate("() => lab.run.classes.length") == 4
        page.get_by_role("radio", name="erase").click()
        page.mouse.click(*at(page, 2, -2))
        idle(page)
        assert page.evaluate("() => lab.run.classes.length") == 3

    def test_the_margin_slider(self, page):
        margins = []
        for place in ("0.1", "1.1"):
            page.get_by_label("distance to the line").fill(place)
            idle(page)
            margins.append(page.evaluate("() => lab.certificate.margin[0]"))
        assert margins[0] < margins[1]

    def drop(self, page, name, text):
        page.evaluate(
            """([name, text]) => {
                const transfer = new DataTransfer();
                transfer.items.add(new File([text], name, {type: "text/csv"}));
                document.querySelector("svg.plane").dispatchEvent(
                    new DragEvent("drop", {bubbles: true, cancelable: true, dataTransfer: transfer}));
            }""",
            [name, text],
        )

    def test_csv_dropped(self, page):
        self.drop(page, "flowers.csv", FLOWERS)
        page.get_by_text("4 points, 2 classes", exact=True).wait_for()
        page.get_by_label("vertical", exact=True).select_option("depth")
        idle(page)
        page.get_by_role("button", name="Use these points").click()
        idle(page)
        assert points(page) == [[1, 0], [2, 1], [3, 1], [4, 0]]
        assert page.evaluate("() => lab.data.y") == ["rose", "lily", "rose", "lily"]
        assert page.locator(".axis-name").all_text_contents() == ["length", "depth"]

    @pytest.mark.parametrize(("way", "width"), [("projection", 2), ("all", 3)])
    def test_csv_pasted(self, page, way, width):
        page.get_by_role("button", name="CSV…").click()
        page.get_by_label("Paste it here").fill(FLOWERS)
        page.get_by_label("features", exact=True).select_option(way)
        idle(page)
        page.get_by_role("button", name="Use these points").click()
        idle(page)
        assert np.shape(points(page)) == (4, width)
        assert page.evaluate("() => lab.run.total") >= 4

    def test_a_broken_csv_keeps_the_old_data(self, page):
        before = points(page)
        self.drop(page, "broken.csv", "a,b,c\n1,2,x\n3,4\n")
        message = page.locator("dialog.csv .error")
        message.get_by_text("line 3: A row must have 3 fields").wait_for()
        assert page.get_by_role("button", name="Use these points").is_disabled()
        page.keyboard.press("Escape")
        assert points(page) == before
        assert page.evaluate("() => lab.history.past.length") == 0


class TestLearners:
    @pytest.mark.parametrize("name", [one["name"] for one in answer("catalogue", {})["learners"]])
    def test_every_learner_plays_to_its_end(self, used_page, name):
        page = used_page
        choose(page, "separable")
        page.get_by_role("combobox", name="Learner").select_option(name)
        idle(page)
        page.get_by_role("button", name="To the end").click()
        assert "The end" in page.locator(".sentence").inner_text()
        made = answer("preset", {"name": "separable"})
        shuffle = {} if name == "batch" else {"shuffle": False}
        run = rosenblatt.trace(made["X"], made["y"], name, max_iter=20, limit=None, **shuffle)
        assert page.evaluate("() => lab.run.mistakes") == run.total_mistakes
        if run.kind != "dual":
            assert page.evaluate("() => lab.run.weightsAt(lab.frame)") == run.steps[-1].after.tolist()

    def test_parameters(self, page):
        page.get_by_role("combobox", name="Learner").select_option("passive-aggressive")
        idle(page)
        page.get_by_label("variant").select_option("PA")
        idle(page)
        made = answer("preset", {"name": "separable"})
        run = rosenblatt.trace(made["X"], made["y"], "passive-aggressive", max_iter=20, variant="PA")
        assert page.evaluate("() => lab.run.mistakes") == run.total_mistakes
        page.get_by_label("C", exact=True).fill("-1")
        page.get_by_label("C", exact=True).press("Enter")
        page.get_by_text("“C” must be a number greater than 0").wait_for()
        page.get_by_label("C", exact=True).fill("much")
        page.get_by_label("C", exact=True).press("Enter")
        page.get_by_text("must be a number; got “much”").wait_for()

    def test_last_average_and_vote_agree_with_the_learners(self, used_page):
        page = used_page
        choose(page, "noisy")
        page.get_by_role("combobox", name="Learner").select_option("voted")
        idle(page)
        page.get_by_role("button", name="To the end").click()
        told = [int(text.split()[0]) for text in page.locator(".wrong-count").all_inner_texts()]
        made = answer("preset", {"name": "noisy"})
        settings = {"max_iter": 10, "shuffle": True, "tol": None}
        wrong = [
            sum(model(**settings).fit(made["X"], made["y"]).predict(made["X"]) != made["y"])
            for model in (rosenblatt.Perceptron, rosenblatt.AveragedPerceptron, rosenblatt.VotedPerceptron)
        ]
        assert told == wrong

    def test_kernel_regions_agree_with_the_learner(self, used_page):
        page = used_page
        choose(page, "circles")
        page.get_by_role("button", name="To the end").click()
        made = answer("preset", {"name": "circles"})
        model = rosenblatt.KernelPerceptron("rbf", gamma=0.5, shuffle=False, max_iter=10, tol=None)
        model.fit(np.array(made["X"]), made["y"])
        read = page.evaluate(
            """() => {
                const {grid, field} = lab.plane, [, score] = field.at(lab.frame), found = [];
                for (let r = 0; r < grid.rows; r += 7) for (let c = 0; c < grid.columns; c += 7)
                    found.push([grid.x[r * grid.columns + c], grid.y[r * grid.columns + c], score[r * grid.columns + c]]);
                return found;
            }"""
        )
        grid = np.array(read)
        assert np.allclose(model.decision_function(grid[:, :2]), grid[:, 2], atol=1e-5)

    def test_going_back_undoes_a_kernel_run_exactly(self, used_page):
        page = used_page
        choose(page, "circles")
        read = (
            "frame => { lab.go(frame); return lab.plane.field.at(lab.frame)[1].reduce((a, b) => a + Math.abs(b), 0) }"
        )
        page.evaluate(read, 10_000)
        assert page.evaluate(read, 0) == pytest.approx(0, abs=1e-3)


class TestProof:
    def test_the_squeeze_follows_the_play_head(self, page):
        choose(page, "table")
        page.get_by_role("button", name="To the end").click()
        run = rosenblatt.trace(
            [[1, 1], [3, 2], [2, 4], [3, 4], [2, 3]], [-1, 1, 1, 1, -1], init=[-1, 0, 0], on_zero="positive"
        )
        shown = [float(text.replace("−", "-")) for text in page.locator(".legend b").all_inner_texts()]
        assert shown == pytest.approx(list(run[-1].squeeze), rel=1e-3)
        assert f"{int(run.bound):,}" in page.locator(".proof .words").inner_text()
        page.get_by_label("show up to the bound").check()
        assert page.locator(".squeeze .bound").count() == 1

    def test_the_common_point_is_drawn(self, page):
        choose(page, "xor")
        assert "Not separable" in page.locator(".certificate").inner_text()
        assert page.locator(".hull").count() == 2
        assert page.locator("path.common").count() == 1
        page.get_by_label("draw it in the plane").uncheck()
        assert page.locator("path.common").count() == 0

    def test_the_separator_is_drawn_on_request(self, page):
        assert "Separable" in page.locator(".certificate").inner_text()
        assert page.locator("line.separator").count() == 0
        page.get_by_label("draw it in the plane").check()
        assert page.locator("line.separator").count() == 1


class TestSharing:
    def test_the_address_opens_the_same_run(self, page, context):
        page.mouse.click(*at(page, 0, -3))
        page.get_by_role("combobox", name="Learner").select_option("margin")
        idle(page)
        page.get_by_label("b", exact=True).fill("2.5")
        page.get_by_label("b", exact=True).press("Enter")
        idle(page)
        page.evaluate("() => lab.go(17)")
        page.get_by_role("button", name="Share").click()
        page.get_by_text("The link was copied").wait_for()
        other = open_lab(context, page.evaluate("() => navigator.clipboard.readText()"))
        see = "() => [lab.data.X, lab.data.y, lab.state, lab.frame, document.querySelector('.sentence').innerText]"
        assert other.evaluate(see) == page.evaluate(see)
        assert other.evaluate("() => lab.state.parameters.b") == 2.5
        assert not other.problems
        other.close()

    def test_a_truncated_address_shows_an_error(self, context, address):
        page = open_lab(context, address + "#eJyrVkrLz1eyUkpKLFKqBQA")
        assert "may be incomplete" in page.locator(".stage .error").inner_text()
        assert len(points(page)) == 24
        page.close()

    def save(self, page, item):
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as waiting:
            page.get_by_role("menuitem", name=item).click()
        return Path(waiting.value.path()).read_bytes()

    def test_exports(self, page):
        choose(page, "circles")
        png = self.save(page, "Picture as PNG")
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(png[16:20]) == 1600
        svg = self.save(page, "Picture as SVG").decode()
        assert svg.startswith("<svg")
        assert "var(" not in svg
        assert svg.count("<path") >= 60
        assert "data:image/png" in svg
        made = answer("preset", {"name": "circles"})
        body = {key: made[key] for key in ("X", "y", "algorithm", "parameters")}
        csv = self.save(page, "Steps as CSV").decode()
        same_csv(csv, answer("export", body | {"form": "csv"})["text"])
        code = self.save(page, "Python code as file").decode()
        names: dict = {}
        exec(code.replace("print(", "str("), names)
        assert names["run"].total_mistakes == page.evaluate("() => lab.run.mistakes")


def test_the_page_works_with_the_keyboard_only(page):
    """Draw three points, choose a learner, run it to the end: without a mouse."""

    def reach(selector):
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"{selector} cannot be reached by Tab")

    reach(".row button:nth-child(3)")
    page.keyboard.press("Enter")
    reach("svg.plane")
    page.keyboard.press("Enter")
    page.keyboard.press("2")
    for _ in range(4):
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+ArrowUp")
    page.keyboard.press("Shift+ArrowUp")
    page.keyboard.press("Enter")
    idle(page)
    assert page.evaluate("() => lab.data.y") == [-1, 1, 1]
    page.keyboard.press("[")
    before = points(page)[2]
    page.keyboard.press("Alt+ArrowUp")
    assert points(page)[2][1] > before[1]
    page.keyboard.press("Delete")
    idle(page)
    assert len(points(page)) == 2
    reach(".transport-play")
    page.keyboard.press("Home")
    assert page.evaluate("() => lab.frame") == 0
    page.keyboard.press("ArrowRight")
    page.keyboard.press("m")
    page.keyboard.press("End")
    assert "The end" in page.locator(".sentence").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_function("() => lab.frame > 0 && lab.frame < lab.run.last")
    page.keyboard.press("?")
    assert page.locator("dialog.help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog.help").is_visible()


def test_touch(context, address):
    """A finger drags a point for as long as it wants; beside the points it scrolls the page."""
    page = open_lab(context, address, 390, 844)
    session = context.new_cdp_session(page)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    x, y = points(page)[0]
    page.locator("svg.plane").scroll_into_view_if_needed()
    start, end = at(page, x, y), at(page, x + 0.5, y - 1.5)
    touch = lambda kind, place: session.send(  # noqa: E731
        "Input.dispatchTouchEvent",
        {"type": kind, "touchPoints": [{"x": place[0], "y": place[1]}] if place else []},
    )
    touch("touchStart", start)
    for k in range(1, 13):
        touch("touchMove", [a + (b - a) * k / 12 for a, b in zip(start, end, strict=True)])
    touch("touchEnd", None)
    idle(page)
    assert points(page)[0] == pytest.approx([x + 0.5, y - 1.5], abs=0.1)
    page.close()


def test_playing(page):
    page.get_by_label("Speed").fill("70")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => lab.transport.playing && lab.frame > 3")
    page.get_by_role("button", name="Pause").click()
    there = page.evaluate("() => lab.frame")
    page.wait_for_timeout(200)
    assert page.evaluate("() => lab.frame") == there


@pytest.mark.parametrize("learner", ["perceptron", "pocket", "kernel"])
def test_a_frame_of_two_thousand_points_changes_few_elements(page, learner):
    """What a frame costs does not depend on the number of points: they are painted once, and rows are written when it rests."""
    page.evaluate(
        "async () => { await lab.usePreset('noisy', {points: 2000, noise: 0.1, seed: 1}); await lab.idle(); }"
    )
    page.evaluate("async name => { lab.setParameter('max_iter', 2); lab.choose(name); await lab.idle(); }", learner)
    assert len(points(page)) == 2000
    made, painted = page.evaluate(
        """async () => {
            const made = [];
            let painted = 0;
            const plain = lab.plane.paintPoints;
            lab.plane.paintPoints = () => { painted++; plain.call(lab.plane); };
            const count = node => node.querySelectorAll ? 1 + node.querySelectorAll("*").length : 0;
            const watch = new MutationObserver(() => {});
            watch.observe(lab.root, {subtree: true, childList: true});
            for (let k = 0; k < 20; k++) {
                lab.transport.scrub.value = Math.round(k / 19 * lab.run.last);
                lab.transport.scrub.dispatchEvent(new Event("input"));
                made.push(watch.takeRecords().flatMap(one => [...one.addedNodes]).reduce((sum, one) => sum + count(one), 0));
            }
            lab.plane.paintPoints = plain;
            return [made, painted];
        }"""
    )
    assert max(made) < 60
    assert painted == 0
    page.wait_for_function(
        "() => document.querySelector('.board tr[aria-current] td')?.innerText === String(lab.run.total + 1)"
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("preset", "size"),
    [
        ("separable", (390, 844)),
        ("separable", (1280, 800)),
        ("xor", (1440, 900)),
        ("committee", (390, 844)),
        ("three", (1280, 800)),
    ],
)
def test_axe_finds_no_violations(used_page, preset, size, theme):
    page = used_page
    from axe_playwright_python.sync_playwright import Axe

    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.evaluate("theme => lab.setTheme(theme)", theme)
    choose(page, preset)
    page.evaluate("() => lab.go(lab.run.nextMistake(0))")
    found = Axe().run(page).response["violations"]
    page.set_viewport_size({"width": 1440, "height": 900})
    assert not [(one["id"], one["nodes"][0]["html"]) for one in found]


@pytest.mark.parametrize("name", ["CSV…", "Keys", "Export"])
def test_axe_in_dialogs_and_menus(page, name):
    from axe_playwright_python.sync_playwright import Axe

    page.get_by_role("button", name=name).click()
    assert not [one["id"] for one in Axe().run(page).response["violations"]]


@pytest.mark.parametrize(("width", "height"), [(360, 740), (820, 1180), (1440, 900), (2560, 1440)])
def test_the_page_fits_the_width(context, address, width, height):
    page = open_lab(context, address, width, height)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    box = page.locator(".transport-play").bounding_box()
    assert 0 <= box["x"] <= width - box["width"]
    assert box["y"] + box["height"] <= height, "Play must be visible without scrolling"
    assert box["height"] >= 36
    page.close()


def test_colours_follow_the_system_and_the_button(page):
    read = "() => getComputedStyle(lab.root).backgroundColor"
    page.emulate_media(color_scheme="light")
    light = page.evaluate(read)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(read)
    assert light != dark
    page.get_by_role("button", name="Colours").click()
    assert page.evaluate(read) == light
    page.evaluate("() => localStorage.clear()")


def test_pages_of_other_origins_get_no_answer(context, address, monkeypatch):
    """A page of another origin in the same browser: its requests do not reach the library, and it cannot read any answer."""
    reached = []
    with Server(0) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        page = context.new_page()
        # An answer of another server, without a content security policy.
        page.route(
            "**/elsewhere", lambda route: route.fulfill(body="<title>elsewhere</title>", content_type="text/html")
        )
        page.goto(f"http://localhost:{other.port}/elsewhere")
        monkeypatch.setattr("rosenblatt.lab.server.answer", lambda name, body: reached.append(name) or {})
        for mode, kind in (("cors", "application/json"), ("cors", "text/plain"), ("no-cors", "text/plain")):
            read = page.evaluate(
                """async ([address, mode, kind]) => {
                    try {
                        const answer = await fetch(address + "api/catalogue",
                            {method: "POST", mode, headers: {"Content-Type": kind}, body: "{}"});
                        return await answer.text();
                    } catch (error) { return "refused" }
                }""",
                [address, mode, kind],
            )
            assert read in ("refused", "")
        page.close()
        other.shutdown()
    assert not reached
