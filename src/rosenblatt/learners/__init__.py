"""One file for each learning rule. Copy `_template.py` to add one."""

import functools
import importlib
import pkgutil
import re
from typing import Any

OF_SEQUENCES = {"SequencePerceptron": "sequence_perceptron"}
"""Learners whose examples are sequences, with their modules. `names`, `classes` and `find` list those whose examples are rows."""


@functools.cache
def names() -> tuple[str, ...]:
    """Names of the learners on the command line, such as "averaged-perceptron"; they follow from the file names."""
    found = (module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    modules = sorted(set(found) - set(OF_SEQUENCES.values()))
    return tuple(name.replace("_", "-") for name in modules)


@functools.cache
def classes() -> dict[str, str]:
    """Class names of the learners and their modules, such as {"AROW": "arow"}.

    The source text is searched instead of importing each file, because importing a learner also loads scikit-learn and Numba.
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
    """Find a learner by its name; "averaged", "averaged-perceptron" and "AveragedPerceptron" are the same.

    Parameters
    ----------
    name : str
        Name of a class or of its file, or the beginning of a name if it is unambiguous.

    Returns
    -------
    class
        The estimator class.
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
