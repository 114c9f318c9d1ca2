"""One file for each learning rule; `_template.py` is the one to copy."""

import functools
import importlib
import pkgutil
import re
from typing import Any


@functools.cache
def names() -> tuple[str, ...]:
    """The learners by the names of their files, as one types them: "averaged-perceptron"."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    return tuple(name.replace("_", "-") for name in modules)


@functools.cache
def classes() -> dict[str, str]:
    """The name of each learner's class and of its module, such as "AROW": "arow".

    Read from the text of each file without importing it, since the import of a learner also loads scikit-learn and Numba.
    """
    found = {}
    for name in names():
        module = name.replace("-", "_")
        source = (pkgutil.get_data(__name__, f"{module}.py") or b"").decode()
        defined = re.findall(r"^class (\w+)", source, re.MULTILINE)
        learner = next((one for one in defined if _plain(one) == _plain(name)), None)
        if learner is None:
            raise ImportError(
                f"A learner's file must define a class with the name of the file; learners/{module}.py defines {defined}. "
                "Rename the file or the class, or begin the file's name with an underscore."
            )
        found[learner] = module
    return found


def find(name: str) -> type[Any]:
    """The learner of that name; "averaged", "averaged-perceptron" and "AveragedPerceptron" are the same.

    Parameters
    ----------
    name : str
        The name of a class or of its file, or the beginning of one if no other begins so.

    Returns
    -------
    class
        An estimator.
    """
    wanted = _plain(name)
    matches = [known for known in names() if _plain(known) == wanted]
    matches = matches or [known for known in names() if wanted and _plain(known).startswith(wanted)]
    if len(matches) != 1:
        raise ValueError(
            f"The algorithm must be one of {', '.join(names())}; got {name!r}"
            + (f", which could be {' or '.join(matches)}" if matches else "")
            + ". The beginning of a name is enough, such as 'averaged'."
        )
    module = matches[0].replace("-", "_")
    public = next(one for one, home in classes().items() if home == module)
    learner: type[Any] = getattr(importlib.import_module(f"{__name__}.{module}"), public)
    return learner


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())
