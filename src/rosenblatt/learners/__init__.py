"""One file for each learning rule; `_template.py` is the one to copy."""

import functools
import importlib
import pkgutil
from typing import Any

__all__ = ["find", "names"]


@functools.cache
def names() -> tuple[str, ...]:
    """The learners by the names of their files, as one types them: "averaged-perceptron"."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    return tuple(name.replace("_", "-") for name in modules)


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
    module = importlib.import_module(f"rosenblatt.learners.{matches[0].replace('-', '_')}")
    classes = (value for value in vars(module).values() if isinstance(value, type))
    return next(found for found in classes if _plain(found.__name__) == _plain(matches[0]))


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())
