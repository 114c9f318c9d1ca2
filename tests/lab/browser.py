"""A real browser for the lab's tests: Debian's Chromium, driven by Playwright."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))), None
)
# Without these options Chromium contacts hosts of Google at every start.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed; as root, `make test` installs Debian's package"
)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser context with an empty profile."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as profile, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=CHROMIUM,
            args=FLAGS,
            accept_downloads=True,
            # Without motion: otherwise the first picture would start to move under the tests.
            viewport={"width": 1440, "height": 900},
            reduced_motion="reduce",
        )
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(20_000)
        try:
            yield context
        finally:
            context.close()


def open_lab(context: Any, address: str, width: int = 1440, height: int = 900) -> Any:
    """The page of the lab with its first run; `page.problems` collects errors in the page.

    A page that is a file has no network: each request to a host fails and is a problem.
    """
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": height})
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda said: page.problems.append(said.text) if _is_problem(said) else None)
    if address.startswith("file:"):
        page.route(re.compile("^(?!file:|blob:|data:)"), lambda route: _refuse(page, route))
    page.goto(address)
    idle(page)
    return page


def _refuse(page: Any, route: Any) -> None:
    page.problems.append(f"The page asked for {route.request.url}")
    route.abort()


def _is_problem(said: Any) -> bool:
    """Whether a message is an error of the page; Chromium also logs refused requests, which some tests make on purpose."""
    return said.type in ("error", "warning") and "status of 422" not in said.text


def idle(page: Any) -> None:
    """Wait until no computation is running."""
    page.evaluate("() => lab.idle()")
