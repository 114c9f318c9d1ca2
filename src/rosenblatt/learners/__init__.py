"""One file for each learning rule. Copy `_template.py` to add one."""

import functools
import importlib
import pkgutil
import re
from typing import Any

OF_SEQUENCES = {"SequencePerceptron": "sequence_perceptron"}
"""Learners whose examples are sequences, with their modules. `names`, `classes` and `find` list those whose examples are rows."""

REGRESSION = "_regressor"
"""The end of the names of files with a rule for real targets. `regressors` lists them, and `names` and `classes` the others."""


@functools.cache
def names() -> tuple[str, ...]:
    """Names of the learners on the command line, such as "averaged-perceptron"; they follow from the file names."""
    return tuple(name.replace("_", "-") for name in _modules() if not name.endswith(REGRESSION))


@functools.cache
def _modules() -> tuple[str, ...]:
    """The modules of all rules."""
    found = (module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    return tuple(sorted(set(found) - set(OF_SEQUENCES.values())))


@functools.cache
def classes() -> dict[str, str]:
    """Class names of the learners and their modules, such as {"AROW": "arow"}.

    The source text is searched instead of importing each file, because importing a learner also loads scikit-learn and Numba.
    """
    return {learner: module for learner, module in _homes().items() if not module.endswith(REGRESSION)}


@functools.cache
def regressors() -> dict[str, str]:
    """Class names of the learners of real targets and their modules, such as {"AROWRegressor": "arow_regressor"}."""
    return {learner: module for learner, module in _homes().items() if module.endswith(REGRESSION)}


@functools.cache
def _homes() -> dict[str, str]:
    """Class names of all rules and their modules."""
    found = {}
    for module in _modules():
        name = module.replace("_", "-")
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


def find(name: str, *, regression: bool = False, sequences: bool = False) -> type[Any]:
    """Find a learner by its name; "averaged", "averaged-perceptron" and "AveragedPerceptron" are the same.

    Parameters
    ----------
    name : str
        Name of a class or of its file, or the beginning of a name if it is unambiguous.
    regression : bool, default=False
        Whether to find a learner of real targets: "arow" is then AROWRegressor. Its full name finds it in any case.
    sequences : bool, default=False
        Whether to look at the learners of sequences, too.

    Returns
    -------
    class
        The estimator class.
    """
    wanted = _plain(name)
    choice = [home.replace("_", "-") for home in regressors().values()] if regression else list(names())
    others = {module.replace("_", "-"): learner for learner, module in OF_SEQUENCES.items()} if sequences else {}
    choice += others
    matches = [known for known in (choice if regression else [*_modules(), *others]) if _plain(known) == wanted]
    matches = matches or [known for known in choice if wanted and _plain(known).startswith(wanted)]
    if len(matches) != 1:
        raise ValueError(
            f"The algorithm must be one of {', '.join(choice)}; got {name!r}"
            + (f", which could be {' or '.join(matches)}" if matches else "")
            + ". The beginning of a name is enough, such as 'averaged'."
        )
    module = matches[0].replace("-", "_")
    public = others.get(matches[0]) or next(one for one, home in _homes().items() if home == module)
    learner: type[Any] = getattr(importlib.import_module(f"{__name__}.{module}"), public)
    return learner


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())
