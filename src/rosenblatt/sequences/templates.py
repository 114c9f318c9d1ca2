"""Templates: which strings near a token are its features."""

import dataclasses
import functools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.engine.conventions import Shaping

_WINDOW = range(-2, 3)

WORDS = (
    "bias",
    *(f"word[{k}]" for k in (-2, -1, 0, 1, 2)),
    *(f"lower(word[{k}])" for k in (-1, 0, 1)),
    "word[-1]|word[0]",
    "word[0]|word[1]",
    *(f"prefix{n}(word)" for n in (1, 2, 3, 4)),
    *(f"suffix{n}(word)" for n in (1, 2, 3, 4)),
    "suffix3(word[-1])",
    "suffix3(word[1])",
    *(f"shape(word[{k}])" for k in (-1, 0, 1)),
    "digit(word)",
    "hyphen(word)",
    "upper(word)",
)
"""The default templates for words."""

WORDS_AND_POS = (
    *(f"word[{k}]" for k in _WINDOW),
    "word[-1]|word[0]",
    "word[0]|word[1]",
    *(f"pos[{k}]" for k in _WINDOW),
    *(f"pos[{k}]|pos[{k + 1}]" for k in range(-2, 2)),
    *(f"pos[{k}]|pos[{k + 1}]|pos[{k + 2}]" for k in range(-2, 1)),
)
"""The usual templates for chunks: words and parts of speech in a window of five tokens, and their pairs and triples."""

NAMED = {"words": WORDS, "words+pos": WORDS_AND_POS}
"""Sets of templates with a name."""

_FUNCTIONS = {
    "prefix": Shaping.PREFIX,
    "suffix": Shaping.SUFFIX,
    "shape": Shaping.SHAPE,
    "digit": Shaping.DIGIT,
    "hyphen": Shaping.HYPHEN,
    "upper": Shaping.UPPER,
}
_PART = re.compile(
    r"(?:(prefix|suffix)([1-9]\d?)\(|(shape|digit|hyphen|upper)\()?(lower\()?(\w+)(?:\[([+-]?\d{1,3})\])?(\)*)"
)
_MOST_PARTS = 3
_MOST_TEMPLATES = 1000


@dataclasses.dataclass(frozen=True)
class Templates:
    """Parsed templates.

    Attributes
    ----------
    names : tuple of str
        The templates as they were written.
    columns : tuple of str
        The columns of a token.
    sources : tuple of (str, bool)
        The texts that are shaped: a column, and whether in lower case.
    shapings : tuple of (int, int, int)
        The distinct shaped strings: the number of a source, what is taken of it, and how many letters.
    table : array of shape (n_templates, 7)
        For each template the number of its parts, then for each part the number of its shaping and the position beside the token.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    sources: tuple[tuple[str, bool], ...]
    shapings: tuple[tuple[int, int, int], ...]
    table: NDArray[np.int64] = dataclasses.field(compare=False)

    @functools.cached_property
    def source_of(self) -> NDArray[np.int64]:
        """The number of the source of each shaping."""
        return np.array([source for source, _, _ in self.shapings], dtype=np.int64)

    @functools.cached_property
    def sources_of(self) -> list[list[int]]:
        """The numbers of the sources of the parts of each template."""
        return [[self.shapings[row[1 + 2 * part]][0] for part in range(row[0])] for row in self.table.tolist()]


def parse(templates: str | Sequence[str], columns: Sequence[str] | None = None) -> Templates:
    """Parse templates, or the name of a set of them; without `columns` they are those of the templates in order.

    Parameters
    ----------
    templates : str or sequence of str
        A name of `NAMED`, or templates such as ``word[-1]`` and ``pos[0]|suffix3(word)``.
    columns : sequence of str, default=None
        The names of the columns of a token.
    """
    return _parse(
        templates if isinstance(templates, str) else tuple(templates), None if columns is None else tuple(columns)
    )


@functools.lru_cache(maxsize=64)
def _parse(templates: str | tuple[str, ...], columns: tuple[str, ...] | None) -> Templates:
    if isinstance(templates, str):
        if templates not in NAMED:
            raise ValueError(
                f"`templates` must be a list of templates, None, or one of {', '.join(NAMED)}; got {templates!r}. Write a single "
                "template as a list."
            )
        templates = NAMED[templates]
    if not templates or len(templates) > _MOST_TEMPLATES:
        raise ValueError(
            f"`templates` must hold between 1 and {_MOST_TEMPLATES} templates; got {len(templates)}. Use templates='words' "
            "for the default ones."
        )
    found: list[list[tuple[str, bool, int, int, int]]] = [_parts(template) for template in templates]
    used = list(dict.fromkeys(part[0] for parts in found for part in parts))
    names = tuple(used) if columns is None else columns
    for column in used:
        if column not in names:
            raise ValueError(
                f"A template may use the columns {', '.join(names)}; got one that uses `{column}`. Change the template, or name "
                "the columns of your tokens with `columns`."
            )
    if not names:
        raise ValueError("At least one template must use a column; got only 'bias'. Add a template such as 'word[0]'.")
    if len(set(names)) < len(names):
        raise ValueError(f"The names in `columns` must differ; got {', '.join(names)}. Rename one of them.")
    sources: dict[tuple[str, bool], int] = {}
    shapings: dict[tuple[int, int, int], int] = {}
    table = np.zeros((len(templates), 1 + 2 * _MOST_PARTS), np.int64)
    for row, parts in zip(table, found, strict=True):
        row[0] = len(parts)
        for place, (column, lower, shaping, letters, offset) in enumerate(parts):
            source = sources.setdefault((column, lower), len(sources))
            row[1 + 2 * place] = shapings.setdefault((source, shaping, letters), len(shapings))
            row[2 + 2 * place] = offset
    return Templates(tuple(templates), names, tuple(sources), tuple(shapings), table)


def _parts(template: Any) -> list[tuple[str, bool, int, int, int]]:
    """Column, lower case, shaping, number of letters and position of each part of a template."""
    if template == "bias":
        return []
    parts = template.split("|") if isinstance(template, str) else []
    found: list[tuple[str, bool, int, int, int]] = []
    for part in parts:
        match = _PART.fullmatch(part.replace(" ", ""))
        opened = 0 if match is None else sum(group is not None for group in (match[1] or match[3], match[4]))
        if match is None or len(match[7]) != opened:
            found = []
            break
        kind = _FUNCTIONS[match[1] or match[3]] if match[1] or match[3] else Shaping.WHOLE
        found.append((match[5], match[4] is not None, int(kind), int(match[2] or 0), int(match[6] or 0)))
    if not 1 <= len(found) <= _MOST_PARTS:
        raise ValueError(
            "A template must be 'bias' or one to three parts with | between them, each a column such as word[-1], or lower, "
            f"prefix3, suffix3, shape, digit, hyphen or upper of one, such as suffix3(word); got {template!r}. Change it."
        )
    return found
