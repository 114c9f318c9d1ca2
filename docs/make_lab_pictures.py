"""Make the pictures of the page on the lab: python -m docs.make_lab_pictures writes them to docs/_static. Needs Chromium."""

import io
import threading
from pathlib import Path

from PIL import Image

from rosenblatt.lab.server import Server
from tests.lab.browser import chromium, idle, open_lab

FOLDER = Path(__file__).resolve().parent / "_static"
SHOTS = [
    ("lab-phone", 390, 844, "light", "separable", "lab.go(lab.run.nextMistake(lab.run.nextMistake(4)) + 1)"),
    ("lab-desk", 1440, 1000, "light", "separable", "lab.go(lab.run.nextMistake(lab.run.nextMistake(4)) + 1)"),
    ("lab-projector", 1600, 900, "dark", "circles", "lab.certificateCard.wanted.click(); lab.go(lab.run.last)"),
]


def main() -> None:
    """Open the page at three sizes and save screenshots."""
    with Server(0) as server, chromium() as context:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name, width, height, theme, preset, action in SHOTS:
            page = open_lab(context, server.address, width, height)
            page.evaluate("preset => lab.usePreset(preset, {}, false, true)", preset)
            idle(page)
            page.evaluate(f"() => {{ lab.touch(); lab.setTheme('{theme}'); {action}; }}")
            page.wait_for_timeout(300)
            picture = Image.open(io.BytesIO(page.screenshot()))
            path = FOLDER / f"{name}.png"
            picture.convert("RGB").quantize(255, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
                path, optimize=True
            )
            print(path.name, path.stat().st_size)
            page.close()
        server.shutdown()


if __name__ == "__main__":
    main()
