"""`train --algorithm auto`: compare all learners on a part of the data that is not scored, and take the best."""

import dataclasses
import shlex
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rosenblatt.cli._errors import Usage
from rosenblatt.cli._examples import MEMORY, refuse_fractions
from rosenblatt.cli._files import open_stream
from rosenblatt.data.batch import compact, join
from rosenblatt.training.progress import Bar

MOST = 10_000
"""The largest number of examples on which learners are compared."""

REPEATS = 3


@dataclasses.dataclass
class Choice:
    """The learner that was chosen.

    Attributes
    ----------
    name : str
        Its name in the comparison.
    learner : str
        The name of its class.
    settings : dict
        Its parameters.
    mistakes : float
        Share of mistakes before learning.
    examples : int
        Number of examples on which all learners were compared.
    others : list of (str, float)
        The next best learners, with their shares of mistakes.
    """

    name: str
    learner: str
    settings: dict[str, Any]
    mistakes: float
    examples: int
    others: list[tuple[str, float]]

    def to_text(self) -> str:
        """What was chosen, and why."""
        options = shlex.join(part for name, value in self.settings.items() for part in ("--set", f"{name}={value}"))
        second = "".join(f", {name} {share:.2%}" for name, share in self.others[:2])
        return (
            f"chosen   -a {self.learner} {options}".rstrip()
            + f"\n         {self.name}: {self.mistakes:.2%} mistakes before learning{second}; "
            f"compared on {self.examples:,} examples, none of those set aside"
        )

    def to_json(self) -> dict[str, Any]:
        """The choice as JSON-compatible values."""
        return dataclasses.asdict(self)


def choose(
    data: Sequence[str], options: dict[str, Any], seed: int, held: Callable[[int, int], Any], quiet: bool
) -> Choice:
    """Compare learners on the first examples, without those that `held(first, count)` sets aside.

    If they are more than `MOST`, a random part of those that fit into memory is used, because a file may be sorted.
    """
    from rosenblatt.experiments.comparison import CONTENDERS, compare

    if "-" in data:
        raise Usage("--algorithm auto reads the data twice; got standard input. Save it to a file, or name a learner.")
    stream = open_stream(data, **options, ahead=MEMORY)
    kept, size = [], 0
    for batch in stream:
        kept.append(compact(batch))
        size += kept[-1].codes.size * 8 + _bytes(kept[-1].rows)
        if size > MEMORY:
            break
    refuse_fractions(stream.labels)
    whole = join(kept)
    rows = np.flatnonzero((whole.codes >= 0) & ~held(0, whole.codes.size))
    if rows.size > MOST:
        rows = np.sort(np.random.default_rng(seed).choice(rows, MOST, replace=False))
    labels = np.array(stream.labels)[whole.codes[rows]]
    with Bar("comparing learners", quiet) as bar:
        result = compare(
            whole.table(stream.encoder.n_features).take(rows), labels, repeats=REPEATS, prefix=0.2, seed=seed,
            progress=bar.update,
        )  # fmt: skip
    known = {one.name: one for one in CONTENDERS}
    first, *rest = [one for one in result.standings if one.name in known]
    contender = known[first.name]
    return Choice(
        first.name,
        contender.learner,
        {**contender.fixed, **first.favourite},
        float(first.rates.mean()),
        int(rows.size),
        [(one.name, float(one.rates.mean())) for one in rest],
    )


def _bytes(rows: Any) -> int:
    return sum(int(part.nbytes) for part in rows) if isinstance(rows, tuple) else int(rows.nbytes)
