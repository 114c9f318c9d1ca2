"""How good the predictions of a model are: in all, as a learning curve, and for the last thousand examples."""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from operator import ne
from typing import Any, NamedTuple

from rosenblatt.serve.drift import Alarm, Drift

POINTS, WINDOW, ALARMS = 256, 1000, 100
"""Maximum number of points of the learning curve, of examples of the window, and of alarms, to keep."""

MOST_CLASSES = 100
"""Maximum number of classes whose counts are shown."""


class Point(NamedTuple):
    """A point of the learning curve: examples and mistakes so far, the time, and the share of right predictions in the window."""

    examples: int
    mistakes: int
    time: float
    recent: float


class Tally:
    """Counts of the predictions whose labels are known.

    Attributes
    ----------
    examples, mistakes : int
        All examples, and the wrong predictions among them.
    curve : list of Point
        The learning curve; at most 256 points, evenly spaced.
    window : deque
        Pairs (prediction, label) of the last thousand examples.
    drift : Drift
        The detector of drifts.
    alarms : list of Alarm
        Its last hundred alarms; `drifts` counts all of them.
    """

    def __init__(self) -> None:
        self.examples = self.mistakes = self.drifts = 0
        self.curve: list[Point] = []
        self.stride = 1
        self.window: deque[tuple[Any, Any]] = deque(maxlen=WINDOW)
        self.drift = Drift()
        self.alarms: list[Alarm] = []
        self._told = 0

    def add(self, predictions: Sequence[Any], labels: Sequence[Any], time: float) -> None:
        """Count examples, one or many: their predictions and their labels."""
        wrong, start = list(map(ne, predictions, labels)), self.examples
        at, count = 0, len(wrong)
        while at < count:
            end = min(count, at + self.stride - self.examples % self.stride)
            self.mistakes += sum(wrong[at:end])
            self.examples += end - at
            self.window.extend(zip(predictions[at:end], labels[at:end]))
            at = end
            if self.examples % self.stride == 0:
                self.curve.append(Point(self.examples, self.mistakes, time, self.accuracy_of_window or 0.0))
                if len(self.curve) > POINTS:
                    self.curve, self.stride = self.curve[1::2], 2 * self.stride
        for place, before, after in self.drift.add(wrong):
            self.alarms = [*self.alarms[1 - ALARMS :], Alarm(start + place, time, before, after)]
            self.drifts += 1

    def new_alarms(self) -> list[Alarm]:
        """The alarms since the last call."""
        new = self.drifts - self._told
        self._told = self.drifts
        return self.alarms[-new:] if new else []

    @property
    def accuracy(self) -> float | None:
        """Share of right predictions; None without examples."""
        return 1.0 - self.mistakes / self.examples if self.examples else None

    @property
    def accuracy_of_window(self) -> float | None:
        """Share of right predictions among the last thousand; None without examples."""
        if not self.window:
            return None
        window = tuple(self.window)  # a thread may add examples
        return 1.0 - int(sum(prediction != label for prediction, label in window)) / len(window)

    @property
    def baseline(self) -> float | None:
        """Share of the most frequent label in the window: the accuracy of always predicting it."""
        counts: Counter[Any] = Counter(map(_key, (label for _, label in tuple(self.window))))
        return max(counts.values()) / counts.total() if counts else None

    def facts_of_window(self) -> dict[str, Any]:
        """Accuracy, baseline, precision and recall of each class, and confusions of the last thousand examples."""
        pairs: Counter[Any] = Counter(
            (_key(prediction), _key(label)) for pair in self.window for prediction, label in _parts(*pair)
        )
        labels, guesses, right = Counter[Any](), Counter[Any](), Counter[Any]()
        for (guess, label), count in pairs.items():
            labels[label] += count
            guesses[guess] += count
            right[label] += count if guess == label else 0
        names = [name for name, _ in (labels + guesses).most_common(MOST_CLASSES + 1) if name[1] is not None]
        return {
            "examples": len(self.window),
            "accuracy": self.accuracy_of_window,
            "baseline": self.baseline,
            "classes": [
                {
                    "label": name[1], "examples": labels[name], "predicted": guesses[name], "right": right[name],
                    "precision": right[name] / guesses[name] if guesses[name] else None,
                    "recall": right[name] / labels[name] if labels[name] else None,
                }
                for name in names[:MOST_CLASSES]
            ],
            "confusion": [
                {"label": label[1], "prediction": guess[1], "count": count}
                for (guess, label), count in pairs.most_common(MOST_CLASSES)
            ],
        }  # fmt: skip

    # ---- snapshots ----

    def to_values(self) -> dict[str, Any]:
        """The counts as plain values; labels that repeat are stored once."""
        numbers: dict[Any, int] = {}
        window = [[_stored(value, numbers) for value in pair] for pair in self.window]
        return {
            "examples": self.examples, "mistakes": self.mistakes, "drifts": self.drifts, "stride": self.stride,
            "curve": list(map(tuple, self.curve)), "alarms": list(map(tuple, self.alarms)),
            "labels": [value for _, value in numbers], "window": window,
            "drift": [[list(row) for row in self.drift.rows], self.drift.count, self.drift.wrong],
        }  # fmt: skip

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> "Tally":
        """Restore what `to_values` gave."""
        tally, labels = cls(), values["labels"]
        for name in ("examples", "mistakes", "drifts", "stride"):
            setattr(tally, name, values[name])
        tally.curve = [Point(*point) for point in values["curve"]]
        tally.alarms, tally._told = [Alarm(*alarm) for alarm in values["alarms"]], tally.drifts
        tally.window.extend((_read(guess, labels), _read(label, labels)) for guess, label in values["window"])
        tally.drift.rows, tally.drift.count, tally.drift.wrong = values["drift"]
        return tally


def _key(value: Any) -> tuple[type, Any]:
    """A label as a key of a dict, where 1 and true differ."""
    return type(value), tuple(map(_key, value)) if type(value) is list else value


def _stored(value: Any, numbers: dict[Any, int]) -> Any:
    """The number of a label, or the list of those of the tags of a sentence; new ones are added."""
    if type(value) is list:
        return [numbers.setdefault(_key(tag), len(numbers)) for tag in value]
    return numbers.setdefault(_key(value), len(numbers))


def _read(stored: Any, labels: list[Any]) -> Any:
    """The label, or the tags, of what `_stored` gave."""
    return [labels[number] for number in stored] if type(stored) is list else labels[stored]


def _parts(prediction: Any, label: Any) -> Iterable[tuple[Any, Any]]:
    """A prediction and a label; of sequences each predicted and true tag."""
    if type(label) is not list:
        return ((prediction, label),)
    return zip([None] * len(label) if prediction is None else prediction, label, strict=True)
