"""Print the declared minimum of every dependency, as constraints for pip: ``python tools/minimums.py [extra ...] > file``.

``pip install --constraint file '.[extra]'`` then installs an environment of minimums. `make minimums` makes one in
`.minimums` and runs the tests of the library there.
"""

import re
import sys
import tomllib
from pathlib import Path


def constraints(extras: list[str]) -> list[str]:
    """``name==version`` for each requirement with a lower bound."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    wanted, found = list(project["dependencies"]), {}
    waiting = list(extras)
    while waiting:
        for requirement in optional[waiting.pop()]:
            own = re.fullmatch(r"rosenblatt\[(.*)\]", requirement)
            if own:
                waiting += own[1].split(",")
            else:
                wanted.append(requirement)
    for requirement in wanted:
        bound = re.match(r"([\w.-]+)(\[.*?\])?>=([\w.]+)", requirement)
        if bound:
            found[bound[1]] = bound[3]
    return [f"{name}=={version}" for name, version in sorted(found.items())]


if __name__ == "__main__":
    print("\n".join(constraints(sys.argv[1:] or ["dev"])))
