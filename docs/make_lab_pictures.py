"""Make the pictures of the lab and of the live page of the service: python -m docs.make_lab_pictures. Needs Chromium.

They are written to docs/_static.
"""

import io
import json
import random
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from PIL import Image

from rosenblatt.datasets import load_spam
from rosenblatt.lab.server import Server
from tests.lab.browser import chromium, idle, open_lab
from tests.serve import processes

FOLDER = Path(__file__).resolve().parent / "_static"
SHOTS = [
    ("lab-phone", 390, 844, "light", "separable", "lab.go(lab.run.nextMistake(lab.run.nextMistake(4)) + 1)"),
    ("lab-desk", 1440, 1000, "light", "separable", "lab.go(lab.run.nextMistake(lab.run.nextMistake(4)) + 1)"),
    ("lab-projector", 1600, 900, "dark", "circles", "lab.certificateCard.wanted.click(); lab.go(lab.run.last)"),
]


def save(page: Any, name: str) -> None:
    """Save a screenshot with at most 255 colours."""
    picture = Image.open(io.BytesIO(page.screenshot()))
    path = FOLDER / f"{name}.png"
    picture.convert("RGB").quantize(255, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(path, optimize=True)
    print(path.name, path.stat().st_size)


def service_picture(context: Any) -> None:
    """The live page while mails of the demo arrive; after two thousand of them, the labels are exchanged for a while."""
    texts, labels = load_spam()
    order = random.Random(0).sample(range(len(texts)), len(texts))
    mails = [{"features": {"words": texts[n].lower().split()[:200]}, "label": labels[n]} for n in order]
    other = {"ham": "spam", "spam": "ham"}
    turned = [{**mail, "label": other[mail["label"]]} for mail in mails[:500]]
    with tempfile.TemporaryDirectory() as folder, processes.Server(f"sqlite:///{folder}/log.db") as server:
        server.post("/v1/models/spam", {"algorithm": "averaged-perceptron"})
        server.post("/v1/models/spam/challenger", {"algorithm": "arow"})
        page = context.new_page()
        page.set_viewport_size({"width": 1200, "height": 1130})
        page.goto(server.address)
        stream = [*mails, *turned]
        for start in range(0, len(stream), 100):
            body = "\n".join(map(json.dumps, stream[start : start + 100])).encode()
            server.request("POST", "/v1/models/spam/learn", body, kind="application/x-ndjson")
            time.sleep(0.5)
        page.locator("#counts dd").first.wait_for()
        page.wait_for_timeout(6000)
        save(page, "service")


def main() -> None:
    """Open the page at three sizes and save screenshots."""
    with chromium() as context:
        service_picture(context)
    with Server(0) as server, chromium() as context:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name, width, height, theme, preset, action in SHOTS:
            page = open_lab(context, server.address, width, height)
            page.evaluate("preset => lab.usePreset(preset, {}, false, true)", preset)
            idle(page)
            page.evaluate(f"() => {{ lab.touch(); lab.setTheme('{theme}'); {action}; }}")
            page.wait_for_timeout(300)
            save(page, name)
            page.close()
        server.shutdown()


if __name__ == "__main__":
    main()
