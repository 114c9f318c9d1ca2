"""Install the built distributions into empty environments, and test them there: ``python tools/check_distribution.py dist``.

The wheel alone, the wheel with every extra, and the source distribution, each in a new environment with an empty home: the
self-test, then the demo twice, the second time with compiled kernels. `--python` adds other interpreters.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def run(command: list[str], folder: Path) -> float:
    """Run a command in this folder, which is also its home, and return its time; show its output if it fails."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ROSENBLATT", "VIRTUAL"))
    }
    start = time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env={**kept, "HOME": str(folder)}, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{done.stdout}\n{' '.join(command)} ended with {done.returncode}")
    return time.perf_counter() - start


def try_out(python: str, requirement: str) -> None:
    """Install into an empty environment and use the library."""
    with tempfile.TemporaryDirectory(prefix="rosenblatt-check-") as name:
        folder = Path(name)
        run([python, "-m", "venv", str(folder / "venv")], folder)
        programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        installed = run([str(programs / "python"), "-m", "pip", "install", "--quiet", requirement], folder)
        tested = run([str(programs / "python"), "-W", "error", "-m", "rosenblatt.selftest"], folder)
        first, second = (run([str(programs / "rosenblatt"), "demo"], folder) for _ in range(2))
        if not (folder / "rosenblatt-demo" / "report.html").stat().st_size:
            sys.exit("the demo wrote no report")
        print(
            f"{python}, {Path(requirement).name}: installed in {installed:.0f} s, self-test {tested:.0f} s, "
            f"demo {first:.0f} s, again {second:.0f} s",
            flush=True,
        )


def main() -> None:
    """Check every file of the folder with every interpreter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of the wheel and the source distribution")
    parser.add_argument("--python", action="append", metavar="PROGRAM", help="an interpreter; can be repeated")
    chosen = parser.parse_args()
    (wheel,), (source,) = (list(chosen.folder.resolve().glob(pattern)) for pattern in ("*.whl", "*.tar.gz"))
    for python in chosen.python or [sys.executable]:
        for requirement in (str(wheel), f"{wheel}[all]", str(source)):
            try_out(python, requirement)


if __name__ == "__main__":
    main()
