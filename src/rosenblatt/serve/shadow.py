"""The challenger of a served model: another learner that learns the same stream, whose predictions are only counted."""

from typing import Any

from rosenblatt.serve.choice import new_estimator
from rosenblatt.serve.events import Limits
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.tally import Tally
from rosenblatt.serve.teaching import Taught

ERRORS = (Refused, ValueError, OverflowError)


class Shadow(Taught):
    """A challenger.

    Parameters
    ----------
    name : str
        Name of the model.
    number : int
        Number of the event that started it.
    algorithm, parameters
        Its learner.
    since : int
        Number of examples that the model had learned before.

    Attributes
    ----------
    tally : Tally
        How good its predictions are.
    rival : int
        Mistakes of the model on the same examples.
    refused : int
        Examples that it could not predict or learn; they count as mistakes.
    """

    def __init__(self, name: str, number: int, algorithm: str, parameters: dict[str, Any], since: int) -> None:
        super().__init__(name, new_estimator(algorithm, parameters))
        self.number, self.algorithm, self.parameters, self.since = number, algorithm, parameters, since
        self.restart(number, since)

    def restart(self, number: int, since: int) -> None:
        """Count from here on."""
        self.number, self.since = number, since
        self.tally, self.rival, self.refused = Tally(), 0, 0

    def asked(self, x: Any) -> tuple[int, Any]:
        """Its number and its prediction, to be kept until the label arrives."""
        try:
            return self.number, self.guess(x)
        except ERRORS:
            return self.number, None

    def check(self, x: Any, label: Any, limits: Limits) -> None:
        """Raise `Refused` if it would become too large."""
        self._check_room(x, label, limits)

    def told(self, x: Any, label: Any, guess: tuple[int, Any] | None, rival: Any, time: float) -> None:
        """Learn an example that it may have predicted before; `rival` is the prediction of the model."""
        try:
            self._teach(x, label)
        except ERRORS:
            self.refused += 1
        if guess is not None and guess[0] == self.number:
            self._count([guess[1]], [label], [rival], time)

    def shown(self, rows: list[Any], labels: list[Any], rivals: list[Any], time: float) -> None:
        """Predict and learn examples; `rivals` are the predictions of the model."""
        guesses = self._learn_rows(rows, labels, 1 << 62) if len(rows) > 1 else None
        if guesses is None:
            guesses = [self._guess_and_learn(x, label) for x, label in zip(rows, labels, strict=True)]
        failed = [isinstance(guess, ValueError) for guess in guesses]
        self.refused += sum(failed)
        self._count([None if bad else guess for guess, bad in zip(guesses, failed, strict=True)], labels, rivals, time)

    def _guess_and_learn(self, x: Any, label: Any) -> Any:
        try:
            return self._guess_and_teach(self.expanded(x), label)
        except ERRORS as error:
            return ValueError(str(error))

    def _count(self, guesses: list[Any], labels: list[Any], rivals: list[Any], time: float) -> None:
        self.tally.add(guesses, labels, time)
        self.tally.new_alarms()  # only those of the model are told
        self.rival += sum(rival != label for rival, label in zip(rivals, labels, strict=True))

    def facts(self) -> dict[str, Any]:
        """Its settings and how good it is, beside the model on the same examples."""
        tally = self.tally
        return {
            "challenger": self.number, "algorithm": self.algorithm, "parameters": self.parameters, "since": self.since,
            "examples": tally.examples, "mistakes": tally.mistakes, "accuracy": tally.accuracy,
            "window_accuracy": tally.accuracy_of_window,
            "model_accuracy": 1.0 - self.rival / tally.examples if tally.examples else None,
            "refused": self.refused,
        }  # fmt: skip
