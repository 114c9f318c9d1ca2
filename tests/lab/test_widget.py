"""The widget: its script is one module, its requests are messages, and it works in a real notebook."""

import re
import socket
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest
from click.testing import CliRunner

import rosenblatt
from rosenblatt.cli import app
from rosenblatt.lab import sharing
from rosenblatt.lab.bundle import STATIC, bundle, one_file
from rosenblatt.lab.runs import columns_of
from tests.lab.browser import chromium, needs_chromium

X, Y = [[4, 0], [1, 1], [0, 1], [-2, -2]], [1, -1, -1, 1]

NOTEBOOK = f"""
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    from rosenblatt.lab import Widget
    widget = mo.ui.anywidget(Widget({X}, {Y}, "voted", fit_intercept=False, max_iter=1))
    widget
    return mo, widget


@app.cell
def _(mo, widget):
    mo.md(f"The kernel sees {{len(widget.widget.points[0]) if widget.value else 0}} points.")
    return


if __name__ == "__main__":
    app.run()
"""


@pytest.fixture
def widget_class():
    from rosenblatt.lab import Widget

    return Widget


def test_importing_the_lab_imports_no_heavy_library():
    code = "import sys, rosenblatt.lab; print([m for m in ('anywidget', 'numpy', 'sklearn', 'http.server') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_bundle_has_no_imports():
    text = bundle(STATIC, "widget")
    assert "\nimport " not in text
    assert text.count("\nexport ") == 1
    assert "export default {render};" in text


def test_every_module_is_in_the_bundle():
    text = bundle(STATIC, "widget")
    for path in STATIC.glob("*.js"):
        if path.stem not in ("page", "widget"):
            assert f"const module_{path.stem} = " in text


def test_the_page_in_one_file_has_every_module():
    page = one_file()
    for path in STATIC.rglob("*.js"):
        if path.stem not in ("widget", "page", "worker"):  # the last two are not imported
            assert f"const module_{path.stem} = " in page
    assert (
        page.index('id="engine"')
        < page.index("const module_engine = ")
        < page.index("\nonmessage = ")
        < page.index("= mount(root")
    )
    assert not re.findall(r"^(?:import|export) ", page, re.MULTILINE)


def test_a_module_exports_one_name_per_line():
    """The bundle reads the exports of a module line by line and knows one name in each."""
    for path in STATIC.rglob("*.js"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("export const") and line.endswith(";"):
                assert not re.search(r"= [^(,=]+, \w+ = ", line), (path.name, line)


def test_the_command_writes_the_page(tmp_path):
    path = tmp_path / "lab.html"
    run = CliRunner().invoke(app, ["lab", "--export", str(path)])
    assert run.exit_code == 0, run.output
    assert path.read_text(encoding="utf-8") == one_file()
    assert [one.name for one in tmp_path.iterdir()] == ["lab.html"]
    run = CliRunner().invoke(app, ["lab", "--export", str(tmp_path / "no" / "lab.html")])
    assert run.exit_code != 0
    assert "cannot be written" in run.output


@needs_chromium
@pytest.mark.parametrize(("colour", "theme"), [("#111111", "dark"), ("#ffffff", "light"), ("transparent", None)])
def test_the_widget_has_the_colours_of_its_notebook(colour, theme):
    """A stand-in for a notebook: a page of this colour that renders the widget; the lab follows it, also when it changes."""
    script = bundle(STATIC, "widget").replace("export default", "window.widget =")
    with chromium() as context:
        page = context.new_page()
        page.emulate_media(color_scheme="light")
        page.set_content(
            f"<body style='background: {colour}'><div id='cell'></div><script type='module'>{script}</script>"
        )
        page.evaluate(
            """() => widget.render({el: document.getElementById("cell"), model: {
                on: () => {}, off: () => {}, send: () => {}, set: () => {}, save_changes: () => {}, get: () => ""}})"""
        )
        seen = "() => document.querySelector('.rosenblatt-lab').dataset.theme"
        assert page.evaluate(seen) == (theme or "auto")
        page.evaluate("() => { document.body.style.background = '#101018'; }")
        page.wait_for_function(f"() => ({seen})() === 'dark'")


def test_state_round_trip(widget_class):
    made = widget_class(X, Y, "AveragedPerceptron", max_iter=np.int64(3))
    state = sharing.decode(made.state)
    assert (state["algorithm"], state["parameters"]) == ("averaged", {"max_iter": 3})
    points, labels = made.points
    assert (points.tolist(), labels.tolist()) == (X, Y)
    assert widget_class(state=made.state).points[1].tolist() == Y
    assert len(widget_class().points[0]) == 24


def test_messages(widget_class):
    made, sent = widget_class(X, Y), []
    made.send = lambda content, buffers=None: sent.append(content)
    handle = made._handle_custom_msg
    handle({"id": 1, "name": "run", "body": {"X": X, "y": Y, "algorithm": "perceptron"}}, [])
    handle({"id": 2, "name": "run", "body": {"X": [], "y": []}}, [])
    handle("nonsense", [])
    assert sent[0]["answer"]["weights"] == rosenblatt.trace(X, Y).weights.tolist()
    assert sent[1]["id"] == 2
    assert "at least one point" in sent[1]["error"]
    assert len(sent) == 2


@pytest.mark.parametrize(
    ("arguments", "settings", "words"),
    [
        ([X], {}, "together or not at all"),
        ([X, [1]], {}, "one label"),
        ([X, Y, "perception"], {}, "name of a learner"),
        ([X, Y], {"nonsense": 1}, "nonsense"),
        ([], {"state": "cut!"}, "Share button"),
    ],
)
def test_bad_arguments(widget_class, arguments, settings, words):
    with pytest.raises(ValueError, match=words):
        widget_class(*arguments, **settings)


@pytest.mark.slow
@needs_chromium
def test_in_a_real_notebook(tmp_path):
    """marimo, headless: the widget runs, is played, and sends the drawn points to the kernel."""
    notebook = tmp_path / "notebook.py"
    notebook.write_text(NOTEBOOK, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "marimo", "run", str(notebook), "--headless", "--no-token", "--port", str(port)]
    address = f"http://127.0.0.1:{port}/"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for(address)
            with chromium() as context:
                context.set_default_timeout(120_000)
                page = context.new_page()
                page.goto(address)
                page.get_by_text("Before the first example").wait_for()
                rows = page.locator(".board tbody tr")
                run = rosenblatt.trace(X, Y, "voted", fit_intercept=False)
                assert rows.all_inner_texts() == [
                    "\t".join(cell[0] for cell in row) for row in run.to_cells(columns_of("voted"))[1]
                ]
                page.get_by_role("button", name="To the end").click()
                page.get_by_text("The end, after one pass: 3 mistakes").wait_for()
                page.locator("svg.plane").click(position={"x": 60, "y": 60})
                page.get_by_text("5 points, 2 classes").wait_for()
                page.get_by_text("The kernel sees 5 points.").wait_for()
        finally:
            process.terminate()
            process.wait(20)


def wait_for(address):
    for _ in range(240):
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    raise AssertionError("The notebook did not start.")
