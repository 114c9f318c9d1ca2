"""The live page in a real browser."""

import json
import random
import shutil
import subprocess
from itertools import pairwise

import pytest

from rosenblatt.serve.app import live_page
from rosenblatt.serve.store import Store
from tests.lab.browser import chromium, needs_chromium
from tests.serve.processes import Server

pytestmark = needs_chromium

WORDS = {"spam": ["free", "offer", "win"], "ham": ["meeting", "report", "lunch"]}
EVIL = "<img src=x onerror=alert(1)>"


def examples(count, seed, *, turned=False):
    """Mails, whose labels are turned around from some day on."""
    draw = random.Random(seed)
    for _ in range(count):
        label = draw.choice(["ham", "ham", "spam"])
        words = draw.choices(WORDS[label if not turned else {"ham": "spam", "spam": "ham"}[label]], k=3)
        yield {"features": {"words": words}, "label": label}


def learn(server, name, lines, token=None):
    body = "\n".join(map(json.dumps, lines)).encode()
    assert server.request("POST", f"/v1/models/{name}/learn", body, token, "application/x-ndjson")[0] == 200


@pytest.fixture(scope="module")
def browser():
    with chromium() as context:
        yield context


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service with a model whose stream has turned, one without examples, and one with names that are HTML."""
    with Server(f"sqlite:///{tmp_path_factory.mktemp('page')}/log.db") as server:
        server.post("/v1/models/mail", {"algorithm": "averaged-perceptron"})
        server.post("/v1/models/mail/challenger", {"algorithm": "arow"})
        for part in range(10):
            learn(server, "mail", examples(200, part))
        learn(server, "mail", examples(900, 10, turned=True))
        server.post("/v1/models/mail/predict", {"id": "waits", "features": {"words": ["free"]}})
        server.post("/v1/models/mail/learn", {"id": "done", "features": {"words": ["free"]}, "label": "spam"})
        server.post("/v1/models/quiet", {"algorithm": "perceptron"})
        server.post("/v1/models/evil", {"algorithm": "perceptron"})
        learn(server, "evil", [{"features": {EVIL: 1}, "label": EVIL}, {"features": {"b": 1}, "label": "b"}] * 2)
        yield server


@pytest.fixture
def page(browser, service):
    yield from opened(browser, service, "#mail")


def opened(browser, server, rest, width=1280):
    page = browser.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda said: page.problems.append(said.text) if said.type in ("error", "warning") else None)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"{server.address}/{rest}")
    page.locator("#state.good, #login:not([hidden])").first.wait_for()
    yield page
    assert page.problems == []
    page.close()


def test_the_line_of_recent_examples_is_the_bold_one(page):
    widths = {
        kind: page.locator(f"#accuracy .{kind}").first.evaluate("line => parseFloat(getComputedStyle(line).strokeWidth)")
        for kind in ("recent", "all", "rival", "baseline")
    }  # fmt: skip
    assert widths["recent"] > max(widths["all"], widths["rival"], widths["baseline"])
    assert page.locator("#accuracy .alarm").count() >= 1
    assert "mistakes rose from" in page.locator("#alarms").inner_text()
    accuracy = page.locator("#counts .first dd").inner_text()
    assert float(accuracy.removesuffix(" %")) < 40
    assert "accuracy, last 1,000" in page.locator("#counts .first dt").inner_text().lower()
    # The line ends where the number says.
    points = page.locator("#accuracy polyline.recent").get_attribute("points").split()
    bottom, top = (
        float(page.locator("#accuracy .grid").nth(n).get_attribute("y1")) for n in (0, 5)
    )  # of 0 % and of 100 %
    end = 100 * (bottom - float(points[-1].partition(",")[2])) / (bottom - top)
    assert end == pytest.approx(float(accuracy.removesuffix(" %")), abs=0.5)


def test_the_axis_can_be_time(page):
    assert page.locator("#accuracy text", has_text="1,000").count() == 1
    page.check("input[value=time]")
    assert page.locator("#accuracy text", has_text=":").count() >= 1
    assert page.locator("#accuracy text", has_text="1,000").count() == 0


def test_errors_of_classes_and_the_challenger(page):
    rows = page.locator("#classes tbody tr").all_inner_texts()
    assert sorted(row.split()[0] for row in rows) == ["ham", "spam"]
    for row in rows:
        _, number, errors, *_ = row.split()
        assert 0 < int(errors) <= int(number)
    assert page.locator("#confusion .miss").count() == 2
    assert "arow has learned 2,901 examples" in page.locator("#rival").inner_text()
    assert "learn" in page.locator("#latency").inner_text()
    assert page.locator("#latency td", has_text="ms").count() >= 2


def test_an_id_is_found_and_explained(page):
    for identity, state in (
        ("waits", "waits for its label"),
        ("done", "was learned"),
        ("unknown", "No example with the id"),
    ):
        page.fill("#identity", identity)
        page.click("#search button")
        page.locator("#found", has_text=state).wait_for()
    page.fill("#identity", "done")
    page.click("#search button")
    page.locator("#found button").click()
    page.locator("#reasons .bar", has_text="words=free = 1").wait_for()
    page.locator("#reasons .bar", has_text="bias").wait_for()
    assert "label: spam" in page.locator("#reasons").inner_text()
    page.fill("#features", "{")
    page.click("#ask button")
    page.locator("#reasons .bad", has_text="must be a JSON object").wait_for()
    # The console names refused requests, which this test makes on purpose.
    page.problems = [problem for problem in page.problems if "status of 404" not in problem]


def test_only_mistakes_are_listed(page):
    page.check("#wrong")
    assert page.locator("#recent tbody tr").count() > 1
    assert page.locator("#recent tbody .good").count() == 0
    page.uncheck("#wrong")
    assert page.locator("#recent tbody .good").count() >= 1


def test_new_examples_appear_without_reloading(page, service):
    before = page.locator("#counts div", has_text="Waiting").inner_text()
    service.post("/v1/models/mail/predict", {"features": {"words": ["win"]}})
    page.locator("#counts div", has_text="Waiting").filter(has_not_text=before.split()[-1]).wait_for()


def test_a_model_without_examples_has_help(browser, service):
    for page in opened(browser, service, "#quiet"):
        page.locator("#empty pre").first.wait_for()
        assert f"{service.address}/v1/models/quiet/predict" in page.locator("#empty").inner_text()
        service.post("/v1/models/quiet/learn", {"features": {"x": 1}, "label": "a"})
        page.locator("#counts dd").first.wait_for()
        assert page.locator("#empty").is_hidden()


def test_names_and_labels_are_text(browser, service):
    for page in opened(browser, service, "#evil"):
        page.locator("#strongest strong", has_text=EVIL).wait_for()
        assert page.locator("img").count() == 0


def test_a_phone_shows_it_without_scrolling_sideways(browser, service):
    for page in opened(browser, service, "#mail", width=360):
        page.locator("#accuracy svg").wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        heights = page.locator("#accuracy text").evaluate_all(
            "texts => texts.map(text => text.getBoundingClientRect().height)"
        )
        assert min(heights) >= 11
        boxes = page.locator("#accuracy text[text-anchor=middle]").evaluate_all(
            "texts => texts.map(text => text.getBoundingClientRect()).map(box => [box.left, box.right])"
        )
        assert all(a[1] < b[0] for a, b in pairwise(boxes))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_violations(page, theme):
    from axe_playwright_python.sync_playwright import Axe

    page.emulate_media(color_scheme=theme)
    page.fill("#features", '{"words": ["free"]}')
    page.click("#ask button")
    page.locator("#reasons .bar").first.wait_for()
    found = Axe().run(page)
    assert not found.response["violations"], found.generate_report()


def test_a_token_is_asked_for(browser, tmp_path):
    store = Store(f"sqlite:///{tmp_path}/log.db")
    store.prepare()
    reader, boss = store.add_token("reader", "read"), store.add_token("boss", "admin")
    with Server(store.name) as server:
        server.post("/v1/models/m", {"algorithm": "perceptron"}, token=boss)
        learn(server, "m", examples(3, 0), boss)
        for page in opened(browser, server, ""):
            page.locator("#state", has_text="needs a token").wait_for()
            page.fill("#token", reader)
            page.click("#login button")
            page.locator("#counts dd").first.wait_for()
            assert "not readable with this token" in page.locator("#recent").inner_text()
            assert page.locator("#recent button").first.is_disabled()
            page.problems = [problem for problem in page.problems if "status of 401" not in problem]
    store.close()


def test_the_policy_names_the_script_of_the_page(service):
    page, policy = live_page()
    assert b"unsafe" not in policy
    assert service.get("/") == (200, page)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed; as root, `make test` installs it")
def test_times_to_answer_are_read_between_two_limits(tmp_path):
    source = live_page()[0].decode()
    function = source[source.index("function quantile") :]
    function = function[: function.index("\n}\n") + 3]
    program = (
        function
        + "console.log(JSON.stringify([quantile([10, 10, 0, 0], [1, 2, 4], 0.5), quantile([10, 10, 0, 0], [1, 2, 4], 0.75),"
    )
    program += " quantile([0, 0, 0, 5], [1, 2, 4], 0.5), quantile([0, 0, 0, 0], [1, 2, 4], 0.5)]))"
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [1, 1.5, 4, None]
