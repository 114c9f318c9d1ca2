"""Compare the results of two versions of the library bit for bit: ``python tools/compare_bits.py OLD_SRC NEW_SRC``.

OLD_SRC and NEW_SRC are the folders that contain the package `rosenblatt`, such as the `src` of two clones. Each runs all cases of
`tests/bit_cases.py` in its own process. Unlike in `tests/test_bits.py` nothing is rounded, because both run on the same
machine. `--data FOLDER`, a folder with the file `a9a` in svmlight format, adds cases on that data set.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
Records = dict[str, dict[str, dict[str, Any]]]


def records(source: Path, data: Path | None) -> Records:
    """The result of every case with the library in this folder, by learner and case."""
    command = [sys.executable, "-m", "tests.bit_cases", *(["--data", str(data)] if data else [])]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(source)}, text=True, check=False, stdout=subprocess.PIPE
    )
    if done.returncode:
        sys.exit(f"{source}: the cases could not be run; the reason is above")
    answer = json.loads(done.stdout)
    if Path(answer["library"]).parent != source:
        sys.exit(f"{source} holds no package `rosenblatt`; Python found {answer['library']}")
    found: Records = answer["records"]
    return found


def differences(old: Records, new: Records) -> list[str]:
    """One line for each value that differs."""
    lines = []
    for learner in old:
        for case, before in old[learner].items():
            now = new[learner].get(case, {})
            changed = [name for name in before if before[name] != now.get(name)]
            lines += [f"{learner}: {case}: {name} was {before.get(name)}, is {now.get(name)}" for name in changed]
        missing = [case for case in new[learner] if case not in old[learner]]
        lines += [f"{learner}: {case}: not in the old version" for case in missing]
    return lines


def main() -> None:
    """Run both versions and print the differences; the exit code is 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, metavar="OLD_SRC", help="the folder with the old version of the package")
    parser.add_argument("new", type=Path, metavar="NEW_SRC", help="the folder with the new version")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="a folder with the file a9a")
    chosen = parser.parse_args()
    data = None if chosen.data is None else chosen.data.resolve()
    if data is not None and not (data / "a9a").is_file():
        parser.error(f"{data} has no file a9a")
    old, new = (records(folder.resolve(), data) for folder in (chosen.old, chosen.new))
    different = differences(old, new)
    failed = sum("error" in result for results in old.values() for result in results.values())
    print("\n".join(different[:100]))
    if len(different) > 100:
        print(f"… and {len(different) - 100} more")
    count = sum(map(len, old.values()))
    print(f"{count} cases, {failed} of them fail with the old version; {len(different)} values differ")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
