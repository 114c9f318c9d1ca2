"""Types of what the clients return: dicts whose members a type checker knows. At run time they are plain dicts."""

from typing import Any, NotRequired, Required, TypeAlias, TypedDict, final

Tag: TypeAlias = str | int | bool
Label: TypeAlias = Tag | list[Tag]
"""A class, or of a model of sequences the tags of a sentence."""


@final
class ClassScore(TypedDict):
    """A class with its score; the probability is None for a model that has not learned to give probabilities."""

    label: Label
    score: float
    probability: float | None


@final
class Reason(TypedDict):
    """A feature and its part of the score, value times weight; of a sentence with the number of the token instead of these."""

    feature: str
    part: float
    value: NotRequired[float]
    weight: NotRequired[float]
    token: NotRequired[int]


@final
class Prediction(TypedDict):
    """Answer of `predict`; the prediction is None before the first label. `scores`, `reasons` and `bias` as in `Score`."""

    id: str
    prediction: Label | None
    repeated: bool
    scores: NotRequired[list[ClassScore]]
    reasons: NotRequired[list[Reason] | None]
    bias: NotRequired[float]


@final
class Learned(TypedDict):
    """Answer of `reveal` and `learn`; `repeated` means that it was known before and nothing has changed."""

    id: str
    prediction: Label | None
    label: Label
    mistake: bool
    repeated: bool


@final
class Score(TypedDict):
    """Answer of `score`; `scores` with `top`, `reasons` with `reasons` (None for a learner that has none)."""

    prediction: Label | None
    scores: NotRequired[list[ClassScore]]
    reasons: NotRequired[list[Reason] | None]
    bias: NotRequired[float]


@final
class Refusal(TypedDict):
    """Answer to one of many requests that was refused; `line` is its number in its batch."""

    error: str
    status: int
    line: int
    id: NotRequired[str]
    label: NotRequired[Label]


@final
class Challenger(TypedDict):
    """The challenger of a model; `model_accuracy` is that of the model on the same examples."""

    challenger: int
    algorithm: str
    parameters: dict[str, Any]
    since: int
    examples: int
    mistakes: int
    accuracy: float | None
    window_accuracy: float | None
    model_accuracy: float | None
    refused: int


@final
class ModelInfo(TypedDict):
    """Description of a model; the accuracies are None before the first example."""

    name: str
    algorithm: str
    parameters: dict[str, Any]
    created: float
    examples: int
    mistakes: int
    accuracy: float | None
    window_accuracy: float | None
    baseline: float | None
    drifts: int
    predictions: int
    pending: int
    expired: int
    classes: list[Tag]
    features: int
    sequence: int
    snapshot: int
    log_begins_after: int
    corrections: int
    probabilities: bool
    bits: int | None
    columns: dict[str, str] | None
    aliases: list[str]
    challenger: Challenger | None
    standby: bool


@final
class EventLine(TypedDict, total=False):
    """One example of an event, as it was sent; features are None if they are long or may not be read."""

    id: str | None
    features: Any
    label: Label
    prediction: Label | None
    top: int
    reasons: int


class Event(TypedDict, total=False):
    """An event of a model; what it has besides `kind` depends on its kind.

    The first one of a stream has the kind `model` and the members of `ModelInfo`; `gap` stands for the events `first` to `last`,
    which the service has removed.
    """

    kind: Required[str]
    sequence: int
    time: float
    token: str | None
    examples: int
    mistakes: int
    pending: int
    count: int
    lines: list[EventLine]
    first: int
    last: int
    reason: str
