"""Check an installation and list its extras: ``python -m rosenblatt.selftest``."""

import json
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata, resources
from pathlib import Path
from typing import Any


class Wrong(Exception):  # noqa: N818 - users see the message only
    """A failed check."""


def _expect(got: object, wanted: object, what: str) -> None:
    if got != wanted:
        raise Wrong(f"{what} must be {wanted!r}; got {got!r}")


def files() -> None:
    """Check that all data files are installed."""
    package = resources.files("rosenblatt")
    for name in (
        "py.typed",
        "datasets/spam.csv.gz",
        "lab/static/index.html",
        "lab/static/lab.js",
        "serve/page/index.html",
    ):
        _expect(package.joinpath(name).is_file(), True, f"whether {name} exists")


def learning() -> None:
    """Train a perceptron on five points, dense and sparse, and compare weights and a prediction."""
    from scipy.sparse import csr_matrix

    from rosenblatt import Perceptron

    X, y = [[1.0, 1.0], [3.0, 2.0], [2.0, 4.0], [3.0, 4.0], [2.0, 3.0]], [-1, 1, 1, 1, -1]
    for form in (X, csr_matrix(X)):
        model = Perceptron(max_iter=1, tol=None, shuffle=False, on_zero="positive")
        model.fit(form, y, coef_init=[[0.0, 0.0]], intercept_init=[-1.0])
        _expect([*model.intercept_.tolist(), *model.coef_[0].tolist()], [-1.0, 1.0, -1.0], "the weights")
    _expect(model.predict([[3.0, 0.0]]).tolist(), [1], "the prediction")


def proving() -> None:
    """Verify a certificate of separability and one of inseparability in exact arithmetic."""
    from rosenblatt import certify

    X = [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    for y, status in (([0, 0, 0, 1], "separable"), ([0, 1, 1, 0], "inseparable")):
        certificate = certify(X, y)
        _expect((certificate.status, certificate.verify()), (status, True), "the certificate")


def commands() -> None:
    """Run the commands `train` and `predict` in processes."""
    command = (sys.executable, "-m", "rosenblatt.cli")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "data.csv").write_text("size,label\n-2,small\n-1,small\n1,large\n2,large\n", encoding="utf-8")
        for arguments in (("train", "data.csv", "-m", "size.model", "--quiet"), ("predict", "size.model", "data.csv")):
            done = subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                raise Wrong(f"rosenblatt {arguments[0]} must succeed; got {done.stderr.strip()}")
    _expect(done.stdout.split(), ["small", "small", "large", "large"], "the predictions")


def library() -> str:
    """Which machine code runs: the library's for a level of processors, or that of Numba, and why."""
    from rosenblatt.engine.cache import SOURCES
    from rosenblatt.engine.native import LIBRARY, switched_off

    failed = f"cannot be loaded: {'; '.join(LIBRARY.problems)}. " if LIBRARY.problems else ""
    if LIBRARY.level is None:
        missing = "switched off by a variable" if switched_off() else "not installed"
        return f"{failed or missing + ': '}Numba compiles each function at its first call"
    said = f"{failed}compiled for {LIBRARY.level} by {LIBRARY.module.made_by}"
    if wheel := of_the_wheel():
        said += f"; the wheel for {wheel['platform']} has {', '.join(wheel['levels'])}"
    if LIBRARY.module.sources != SOURCES:
        said += (
            ". The code of the engine has been changed since, without effect: set ROSENBLATT_LIBRARY=off to compile it, or "
            "reinstall rosenblatt"
        )
    return said


def of_the_wheel() -> dict[str, Any] | None:
    """What the metadata of the wheel say of its library; None for an installation without one."""
    try:
        text = metadata.distribution("rosenblatt").read_text("extra_metadata/library.json")
    except metadata.PackageNotFoundError:
        return None
    return json.loads(text) if text else None


CHECKS: tuple[Callable[[], None], ...] = (files, learning, proving, commands)


def _extras() -> dict[str, list[str]]:
    """Packages of each extra for users, from the metadata of the installed package."""
    try:
        requirements = metadata.requires("rosenblatt") or []
    except metadata.PackageNotFoundError:
        return {}
    found: dict[str, list[str]] = {}
    for line in requirements:
        if match := re.fullmatch(r"([\w.-]+)[^;]*; extra == ['\"](\w+)['\"]", line):
            found.setdefault(match[2], []).append(match[1])
    everything = set(found.get("all", []))
    return {extra: names for extra, names in found.items() if extra != "all" and set(names) <= everything}


def _installed(package: str) -> bool:
    try:
        return bool(metadata.version(package))
    except metadata.PackageNotFoundError:
        return False


def main() -> int:
    """Run all checks; the exit code is 0 if they pass."""
    from rosenblatt import __version__

    print(f"rosenblatt {__version__} on Python {platform.python_version()}, {platform.platform()}")
    print(f"  {'library':10}{library()}")
    failed = 0
    for check in CHECKS:
        start, said = time.perf_counter(), "works"
        try:
            check()
        except Exception as error:  # noqa: BLE001 - report every failure and continue with the next check
            failed, said = failed + 1, f"FAILED: {type(error).__name__}: {error}"
        print(f"  {check.__name__:10}{said} ({time.perf_counter() - start:.1f} s)")
    for extra, packages in _extras().items():
        missing = [name for name in packages if not _installed(name)]
        said = f"not installed ({', '.join(missing)}): pip install 'rosenblatt[{extra}]'" if missing else "installed"
        print(f"  {'[' + extra + ']':10}{said}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
