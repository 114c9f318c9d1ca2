"""Benchmarks of the lab's page in a real browser: frames a second while it plays, and the first picture.

They need Chromium and Playwright, and run the page in one file, as visitors of the documentation do. The peer is an empty page in
the same browser, which shows what the machine can do at that moment.
"""

import functools
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .harness import SMALLER, Options, Row, measure

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
SLOWED = 4
"""A phone in the middle of the market takes about as many times as long as a computer."""

EMPTY = "<!DOCTYPE html><meta name=viewport content='width=device-width'><p>nothing</p>"

FRAMES = """async seconds => {
    // The pictures in a time in which every picture shows another frame of the run.
    const began = performance.now();
    let pictures = 0;
    while (performance.now() - began < 1000 * seconds) {
        if (window.lab && !lab.transport.playing) { lab.transport.faster(100); lab.transport.start(); }
        await new Promise(requestAnimationFrame);
        pictures++;
    }
    window.lab?.transport.stop();
    return (performance.now() - began) / 1000 / pictures;
}"""

FIRST = """(() => {
    // The time of the first picture, which in the lab has the points and the run.
    let ready = 0;
    const look = () => {
        const there = document.querySelector("#lab") ? window.lab?.run : document.querySelector("p");
        const [picture] = performance.getEntriesByName("first-contentful-paint");
        if (there && !ready) ready = performance.now();
        if (ready && picture) window.first = Math.max(ready, picture.startTime) / 1000;
        else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
})()"""


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium with an empty profile; None if it or Playwright is missing."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        yield None
        return
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield made
        made.close()


@contextmanager
def pages() -> Iterator[tuple[Any, str, str]]:
    """The browser, and the addresses of the lab and of an empty page."""
    from rosenblatt.lab.bundle import one_file

    with tempfile.TemporaryDirectory() as folder, browser() as made:
        lab, empty = Path(folder) / "lab.html", Path(folder) / "empty.html"
        lab.write_text(one_file(), encoding="utf-8")
        empty.write_text(EMPTY, encoding="utf-8")
        yield made, lab.as_uri(), empty.as_uri()


NEEDED = "needs Chromium and Playwright"

RUNS = {
    "24 points, perceptron": (0.017, "separable", {}, "perceptron"),
    "2,000 points, perceptron": (0.0334, "noisy", {"points": 2000}, "perceptron"),
    "2,000 points, three answers": (0.0334, "noisy", {"points": 2000}, "averaged"),
    "2,000 points, pocket": (0.0334, "noisy", {"points": 2000}, "pocket"),
    "2,000 points, kernel": (0.0334, "noisy", {"points": 2000}, "kernel"),
}


def playing(options: Options) -> Iterator[Row]:
    """Time of a picture while the lab plays, each with another frame of the run: 60 a second for few points, 30 for 2,000."""
    with pages() as (made, lab, empty):
        if made is None:
            yield Row("pictures while a run plays", note=NEEDED)
            return
        seconds = 0.5 if options.quick else 2.0
        blank = made.new_page(viewport=DESK)
        blank.goto(empty)
        for what, (bar, preset, chosen, learner) in RUNS.items():
            page = made.new_page(viewport=DESK)
            page.goto(lab)
            page.evaluate(
                """async ([preset, chosen, learner]) => {
                    await lab.usePreset(preset, chosen);
                    lab.choose(learner);
                    lab.setParameter("max_iter", 2);
                    await lab.idle();
                }""",
                [preset, chosen, learner],
            )
            yield measure(
                what,
                functools.partial(_frames, page, seconds),
                functools.partial(_frames, blank, seconds),
                options,
                kind=SMALLER,
                bar=bar,
                bar_unit="s",
                ours="the lab, playing",
                peer="an empty page",
            )
            page.close()


def _frames(page: Any, seconds: float) -> float:
    page.bring_to_front()
    return float(page.evaluate(FRAMES, seconds))


def first_picture(options: Options) -> Iterator[Row]:
    """Time from the address to the picture with the points."""
    with pages() as (made, lab, empty):
        if made is None:
            yield Row("the first picture", note=NEEDED)
            return
        for what, size, slowed in (
            ("desktop", DESK, 1),
            (f"phone, processor slowed {SLOWED} times", PHONE, SLOWED),
        ):
            open_it: Callable[[str], float] = functools.partial(_first, made, size, slowed)
            yield measure(
                what,
                functools.partial(open_it, lab),
                functools.partial(open_it, empty),
                options,
                kind=SMALLER,
                bar=1.0,
                bar_unit="s",
                ours="the lab",
                peer="an empty page",
            )


def _first(made: Any, size: dict[str, int], slowed: int, address: str) -> float:
    page = made.new_page(viewport=size)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slowed})
    page.add_init_script(FIRST)
    page.goto(address)
    page.wait_for_function("() => window.first")
    first = float(page.evaluate("() => window.first"))
    page.context.close()
    return first


BENCHMARKS = {"lab-playing": playing, "lab-first-picture": first_picture}
