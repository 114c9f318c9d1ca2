"""Make the library: front end and back end in parallel processes, then one link."""

import concurrent.futures
import contextlib
import multiprocessing
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from rosenblatt.aot import parts
from rosenblatt.aot.signatures import catalogue, key, numbers, parse
from rosenblatt.engine.cache import SOURCES
from rosenblatt.engine.entries import ENTRIES, KINDS
from rosenblatt.engine.native import seal

HERE = Path(__file__).parent

LEVELS = {"x86_64": ("x86-64-v2", "x86-64-v3"), "aarch64": ("aarch64",)}
"""Levels of processors in the library of an architecture, from the lowest to the highest."""


ALONE = ("dual", "separation", "sequences", "text")
"""Modules and packages of the engine whose functions are a group of their own."""


class CannotBuild(Exception):  # noqa: N818 - users see the message only
    """The library cannot be made here."""


def this_platform() -> tuple[str, str]:
    """System and architecture of this machine."""
    system = {"Linux": "linux", "Darwin": "macos", "Windows": "windows"}.get(platform.system(), platform.system())
    machine = platform.machine().lower()
    return system, {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)


def groups() -> list[tuple[str, list[tuple[str, str, str]]]]:
    """What each process compiles: (symbol, function, signature) of related functions, the longest groups first."""
    made: dict[str, list[tuple[str, str, str]]] = {}
    for name, signatures in catalogue().items():
        for number, signature in enumerate(signatures):
            kind = name.partition("_")[0]
            # Weight vectors and matrices of a kind share little code, so they can be compiled side by side.
            many = "many" if kind in KINDS and re.match(r"q [df]2", signature) else "one"
            home = ENTRIES[name][0].partition(".")[0]
            group = f"{kind} {many}" if kind in KINDS else home if home in ALONE else "others"
            made.setdefault(group, []).append((f"rb_{name}_{number}", name, signature))
    made.setdefault("steps", [])
    return sorted(made.items(), key=lambda item: ("many" not in item[0], item[0] == "steps", -len(item[1])))


def front_end(group: str, wanted: list[tuple[str, str, str]]) -> tuple[bytes, dict[str, str]]:
    """LLVM code of a group, and its symbols with the letters of their results, or ``step`` and a hash; runs in a process."""
    from rosenblatt.aot import frontend

    frontend.stop_before_optimization()
    module = frontend.Module()
    for symbol, name, signature in wanted:
        module.add(symbol, name, signature)
    if group == "steps":
        for name, step in frontend.built_in_steps().items():
            module.add_step(f"rb_step_{name}", step)
    return module.bitcode(), module.symbols


def back_end(bitcode: bytes, level: str, system: str, path: Path) -> Path:
    """Write the object file of a group for a level; runs in a process of its own."""
    from rosenblatt.aot.backend import object_file

    path.write_bytes(object_file(bitcode, level, system))
    return path


def is_quick(kept: Path, system: str, architecture: str) -> bool:
    """Whether earlier builds have left everything but the step functions, which compile in seconds."""
    levels = LEVELS.get(architecture, ())
    places = [parts.folder_of(kept, group, wanted, system, levels) for group, wanted in groups()]
    return all(place is None or parts.load(place) is not None for place in places)


def end_with_parent() -> None:
    """End this process when the process that started it has ended, also if that was killed. Ctrl-C is for that one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextlib.contextmanager
def processes(count: int) -> Iterator[concurrent.futures.ProcessPoolExecutor]:
    """Processes that compile. They end at once if anything fails, and on Ctrl-C, instead of finishing what they do."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(count, context, end_with_parent, max_tasks_per_child=1) as pool:
        try:
            yield pool
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def build(
    target: Path,
    system: str,
    architecture: str,
    say: bool = True,
    kept: Path | None = None,
    workers: int | None = None,
    scratch: Path | None = None,
) -> Path:
    """Make the library in a file; it is replaced at once when complete.

    Parameters
    ----------
    target : Path
        The file to make.
    system, architecture : str
        What the library is for.
    say : bool, default=True
        Whether to report the progress on standard error.
    kept : Path, default=None
        The folder in which parts are kept for later builds; None compiles everything.
    workers : int, default=None
        Number of processes that compile; None for one on each core.
    scratch : Path, default=None
        The folder of temporary files; None for that of the system.
    """
    linker = find_linker(system, architecture)
    levels = LEVELS[architecture]
    started = time.monotonic()
    # The front end must use no instruction that the lowest level lacks; the shapes of the svmlight parser are x86 only.
    features = "+sse2,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16" if architecture == "x86_64" else ""
    compiler = {"NUMBA_CPU_NAME": "x86-64-v2" if features else "generic", "NUMBA_CPU_FEATURES": features}
    compiler["ROSENBLATT_LIBRARY"] = "off"
    before = {name: os.environ.get(name) for name in compiler}
    os.environ.update(compiler)
    workers = min(len(groups()), workers or os.cpu_count() or 1)
    try:
        with (
            tempfile.TemporaryDirectory(prefix=".rosenblatt-build-", dir=scratch) as folder,
            processes(workers) as pool,
        ):
            symbols: dict[str, str] = {}
            objects: list[Path] = []
            compiling, optimizing = {}, []
            for group, wanted in groups():
                place = kept and parts.folder_of(kept, group, wanted, system, levels)
                names = [f"{group} {level}.o".replace(" ", "_") for level in levels]
                found = parts.load(place)
                if place and found is not None:
                    symbols |= found
                    objects += [place / name for name in names]
                else:
                    compiling[pool.submit(front_end, group, wanted)] = place, [Path(folder, name) for name in names]
            for part in concurrent.futures.as_completed(compiling):
                place, paths = compiling[part]
                bitcode, found = part.result()
                symbols |= found
                tasks = [
                    pool.submit(back_end, bitcode, level, system, path)
                    for level, path in zip(levels, paths, strict=True)
                ]
                optimizing.append((place, found, tasks))
                if say:
                    print(f"rosenblatt: {len(symbols)} functions, {time.monotonic() - started:.0f} s", file=sys.stderr)
            for place, found, tasks in optimizing:
                finished = [task.result() for task in tasks]
                objects += finished
                parts.save(place, found, finished)
            Path(folder, "table.h").write_text(table(symbols, levels), encoding="ascii")
            made = Path(folder, "made")
            link(linker, folder, [str(path) for path in objects], made, system)
            if system == "linux":
                made.write_bytes(made.read_bytes() + seal(made.read_bytes()))
            if (system, architecture) == this_platform():
                check(made)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".", suffix=".tmp", delete=False) as copy:
                copy.write(made.read_bytes())
            os.chmod(copy.name, 0o755)  # noqa: PTH101
            os.replace(copy.name, target)  # noqa: PTH105
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    if say:
        print(
            f"rosenblatt: {target}, {target.stat().st_size / 1e6:.1f} MB, {time.monotonic() - started:.0f} s",
            file=sys.stderr,
        )
    return target


def file_name(target: str) -> str:
    """The name of the library in the package for a platform such as ``linux-x86_64``."""
    return "_native.pyd" if target.startswith("windows") else "_native.abi3.so"


def description(target: str) -> dict[str, Any]:
    """What the metadata of a wheel say of its library."""
    return {
        "levels": LEVELS[target.partition("-")[2]],
        "sources": SOURCES,
        "made_by": f"Numba {metadata.version('numba')}",
    }


def platform_tag(target: str, portable: str | None) -> str:
    """The platform in the name of a wheel: the portable one if Zig has linked the library, else that of this machine."""
    system, architecture = target.split("-", 1)
    if portable is not None and "-target" in find_linker(system, architecture):
        return portable
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def check(path: Path) -> None:
    """Load the library in a new process: nothing that it needs may be missing."""
    program = (
        "import sys, pathlib; from rosenblatt.engine.native import load_file; load_file(pathlib.Path(sys.argv[1]))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotBuild(f"The library that was made cannot be loaded: {done.stderr.strip().splitlines()[-1]}")


def table(symbols: dict[str, str], levels: Iterable[str]) -> str:
    """The header with the table of all entries."""
    from rosenblatt.aot.backend import level_symbol

    suffixes = [level_symbol(level) for level in levels]
    steps = sorted(symbol for symbol, results in symbols.items() if results.startswith("step "))
    lines = ["/* Generated by rosenblatt.aot.build. */", "#include <stdint.h>"]
    lines += ["typedef int32_t (*Entry)(void *, void **, int64_t *);", f"enum {{ LEVEL_COUNT = {len(suffixes)} }};"]
    lines += ["typedef struct { const char *name, *key, *numbers, *results; Entry entries[LEVEL_COUNT]; } Variant;"]
    lines += ["typedef struct { const char *name, *source; void (*entries[LEVEL_COUNT])(void); } Step;"]
    lines += [
        f"extern int32_t {s}_{level}(void *, void **, int64_t *);"
        for s in symbols
        if s not in steps
        for level in suffixes
    ]
    lines += [f"extern void {symbol}_{level}(void);" for symbol in steps for level in suffixes]
    lines += [f"static const char *LEVELS[] = {{{', '.join(f'{chr(34)}{level}{chr(34)}' for level in levels)}}};"]
    lines += [f'#define SOURCES "{SOURCES}"', f'#define MADE_BY "Numba {metadata.version("numba")}"']
    rows = []
    for name in ENTRIES:
        for number, signature in enumerate(catalogue()[name]):
            symbol, arguments = f"rb_{name}_{number}", parse(signature)
            cells = [name, key(arguments), numbers(arguments), symbols[symbol]]
            entries = ", ".join(f"{symbol}_{level}" for level in suffixes)
            rows.append(f"    {{{', '.join(f'{chr(34)}{cell}{chr(34)}' for cell in cells)}, {{{entries}}}}},")
    lines += [
        "static const Variant TABLE[] = {",
        *rows,
        "};",
        f"enum {{ ROWS = {len(rows)} }};",
        "static const Step STEPS[] = {",
    ]
    for symbol in steps:
        entries = ", ".join(f"{symbol}_{level}" for level in suffixes)
        name, source = symbol.removeprefix("rb_step_"), symbols[symbol].removeprefix("step ")
        lines.append(f'    {{"{name}", "{source}", {{{entries}}}}},')
    lines += ["};", f"enum {{ STEP_ROWS = {len(steps)} }};", ""]
    return "\n".join(lines)


ZIG = {
    ("linux", "x86_64"): "x86_64-linux-gnu.2.17",
    ("linux", "aarch64"): "aarch64-linux-gnu.2.17",
    ("macos", "x86_64"): "x86_64-macos.11.0",
    ("macos", "aarch64"): "aarch64-macos.11.0",
    ("windows", "x86_64"): "x86_64-windows-gnu",
}
"""Targets of Zig's C compiler, which links for old versions of the C library, and for other systems."""


def find_linker(system: str, architecture: str) -> list[str]:
    """The command of a C compiler for a target: Zig's if it is installed, else that of this machine."""
    if (system, architecture) not in ZIG:
        known = ", ".join(sorted("-".join(target) for target in ZIG))
        raise CannotBuild(f"A library can be built for {known}; got {system}-{architecture}. Numba compiles there.")
    try:
        import ziglang

        return [
            sys.executable,
            str(Path(ziglang.__file__).with_name("__main__.py")),
            "cc",
            "-target",
            ZIG[system, architecture],
        ]
    except ImportError:
        pass
    if (system, architecture) != this_platform():
        raise CannotBuild(f"To build for {system} on {architecture} from here, install Zig: pip install ziglang")
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and shutil.which(name):
            return [name]
    raise CannotBuild("To build the library, a C compiler is needed: install one, or Zig with: pip install ziglang")


def link(linker: list[str], folder: str, objects: list[str], target: Path, system: str) -> None:
    """Compile the C files and link everything."""
    headers = sysconfig.get_path("include")
    if not Path(headers, "Python.h").exists():
        raise CannotBuild(f"To build the library, the headers of Python are needed; {headers} has no Python.h")
    command = [*linker, "-O2", "-std=c11", "-shared", "-fvisibility=hidden", f"-I{headers}", f"-I{folder}"]
    command += [str(HERE / "caller.c"), str(HERE / "runtime.c"), *objects, "-o", str(target)]
    if system == "windows":
        command += _windows_options(linker, folder)
    elif system == "macos":
        command += ["-fPIC", "-undefined", "dynamic_lookup", "-lm"]
    else:
        command += ["-fPIC", "-Wl,--gc-sections", "-s", "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotBuild(f"The linker failed: {done.stderr.strip()[-2000:]}")


def _windows_options(linker: list[str], folder: str) -> list[str]:
    """Options for Windows, where an extension module is linked with the list of functions of Python's stable ABI.

    The headers of another system are used; the sizes of types, which they take from a generated file, are given here.
    """
    imports = str(Path(folder, "python3.a"))
    command = [
        *linker[: linker.index("cc")],
        "dlltool",
        "-m",
        "i386:x86-64",
        "-d",
        str(HERE / "python3.def"),
        "-l",
        imports,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotBuild(f"The list of Python's functions could not be linked: {done.stderr.strip()[-2000:]}")
    sizes = {"VOID_P": 8, "LONG": 4, "LONG_LONG": 8, "SIZE_T": 8, "INT": 4, "SHORT": 2, "WCHAR_T": 2}
    options = [f"-DSIZEOF_{name}={size}" for name, size in sizes.items()]
    options += [
        "-DPy_PYCONFIG_H",
        "-DMS_WINDOWS",
        "-DMS_WIN64",
        "-DALIGNOF_SIZE_T=8",
        "-DHAVE_DECLSPEC_DLL",
        "-DPy_ENABLE_SHARED",
    ]
    return [*options, imports, "-Wl,--gc-sections", "-s"]
