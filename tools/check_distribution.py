"""Install the built distributions into empty environments, and test them there: ``python tools/check_distribution.py dist``.

The wheel alone, the wheel with every extra, and the source distribution, each in a new environment with an empty home: the
self-test, which must find the compiled library, then the demo twice. `--python` adds other interpreters. Of wheels for other
platforms only the content is checked.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

LARGEST = 8e6
"""The size that a wheel may have, in bytes."""


def run(command: list[str], folder: Path, **variables: str) -> tuple[float, str]:
    """Run a command in this folder, which is also its home; return its time and output. If it fails, show that and stop."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ROSENBLATT", "VIRTUAL"))
    }
    start = time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env={**kept, "HOME": str(folder), **variables}, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        sys.exit(f"{done.stdout}\n{' '.join(command)} ended with {done.returncode}")
    return time.perf_counter() - start, done.stdout


def this_platform() -> str:
    """The name of this machine's platform, such as ``linux-x86_64``."""
    system = {"Darwin": "macos"}.get(platform.system(), platform.system().lower())
    machine = platform.machine().lower()
    return "-".join([system, {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)])


def check_content(wheel: Path) -> str:
    """Check the size of a wheel and that it has a library; return the platform that the library is for."""
    size = wheel.stat().st_size
    if size > LARGEST:
        sys.exit(f"{wheel.name} must have at most {LARGEST / 1e6:.0f} MB; it has {size / 1e6:.1f} MB")
    with zipfile.ZipFile(wheel) as archive:
        libraries = [
            item for item in archive.infolist() if re.fullmatch(r"rosenblatt/engine/_native\..*", item.filename)
        ]
        described = [name for name in archive.namelist() if name.endswith("extra_metadata/library.json")]
        if len(libraries) != 1 or len(described) != 1:
            sys.exit(
                f"{wheel.name} must have a compiled library and its description; it has {libraries} and {described}"
            )
        about: dict[str, str] = json.loads(archive.read(described[0]))
    print(
        f"{wheel.name}: {size / 1e6:.2f} MB, library {libraries[0].file_size / 1e6:.2f} MB, {', '.join(about['levels'])}"
    )
    return about["platform"]


def try_out(python: str, requirement: str) -> None:
    """Install into an empty environment and use the library."""
    with tempfile.TemporaryDirectory(prefix="rosenblatt-check-") as name:
        folder = Path(name)
        run([python, "-m", "venv", str(folder / "venv")], folder)
        programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        installed, _ = run([str(programs / "python"), "-m", "pip", "install", "--quiet", requirement], folder)
        selftest = [str(programs / "python"), "-W", "error", "-m", "rosenblatt.selftest"]
        tested, said = run(selftest, folder, ROSENBLATT_STRICT="1")
        level = re.search(r"library +compiled for (\S+)", said)
        if level is None:
            sys.exit(f"{said}\nno compiled library runs in an installation of {requirement}")
        (first, _), (second, _) = (run([str(programs / "rosenblatt"), "demo"], folder) for _ in range(2))
        if not (folder / "rosenblatt-demo" / "report.html").stat().st_size:
            sys.exit("the demo wrote no report")
        print(
            f"{python}, {Path(requirement).name}: {level[1]}, installed in {installed:.0f} s, self-test {tested:.0f} s, "
            f"demo {first:.0f} s, again {second:.0f} s",
            flush=True,
        )


def main() -> None:
    """Check every file of the folder; install those for this machine with every interpreter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="folder of the wheels and the source distribution")
    parser.add_argument("--python", action="append", metavar="PROGRAM", help="an interpreter; can be repeated")
    parser.add_argument("--platform", action="store_true", help="only print the name of this machine's platform")
    chosen = parser.parse_args()
    if chosen.platform:
        print(this_platform())
        return
    (source,) = chosen.folder.resolve().glob("*.tar.gz")
    own = [wheel for wheel in chosen.folder.resolve().glob("*.whl") if check_content(wheel) == this_platform()]
    if len(own) != 1:
        sys.exit(f"the folder must have one wheel for {this_platform()}; it has {len(own)}")
    for python in chosen.python or [sys.executable]:
        for requirement in (str(own[0]), f"{own[0]}[all]", str(source)):
            try_out(python, requirement)


if __name__ == "__main__":
    main()
