"""Prediction and learning of single examples with an estimator, together or separately."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rosenblatt.dual.rows import Block
from rosenblatt.engine.conventions import CSR
from rosenblatt.learners import OF_SEQUENCES
from rosenblatt.model.calibration import Calibration
from rosenblatt.model.linear import Model
from rosenblatt.model.rule import FullVariances
from rosenblatt.serve import examples, sentences
from rosenblatt.serve.events import Limits
from rosenblatt.serve.examples import LARGEST, LONGEST_KEY, Refused, shown
from rosenblatt.serve.hashing import Hashed
from rosenblatt.serve.records import Records
from rosenblatt.training.progressive import Pupil, learn_records

NAME_BYTES = 150
"""About the bytes in memory of the name of a feature."""

LARGE, LARGE_READ = 4 << 20, 32 << 20
"""Bytes of weights that can be copied, and of stored examples that can be read, without a noticeable delay of other requests."""

_LABELS = (str, int, float, bool)


class Form(Protocol):
    """Checks of what clients send: `examples` for rows, `sentences` for sequences."""

    def expanded(self, features: Any, most: int = ..., size: int = ...) -> Any:
        """Features as the learner needs them."""

    def checked_label(self, label: Any) -> Any:
        """The label, or the tags."""


class Taught:
    """Use of an estimator by a served model.

    Parameters
    ----------
    name : str
        Name of the model.
    estimator : estimator
        The learner.
    """

    records: Records | Hashed | None = None
    """How requests become features: the columns of the file that the model began with, or hashing; None: by their names."""

    judged = False
    """Whether it learns to give probabilities."""

    def __init__(self, name: str, estimator: Any) -> None:
        self.name = name
        self.weight_of_all: Callable[[], int] = lambda: self.weight
        self.adopt(estimator)

    def adopt(self, estimator: Any) -> None:
        """Continue with this learner."""
        self.estimator = estimator
        self.calibration: Calibration | None = estimator.__dict__.pop("calibration_", None)
        estimator._notes_scores = False  # a judged model learns its probabilities itself
        if isinstance(model := getattr(estimator, "model_", None), Model):
            model.stop_noting()
        self.judged = self.judged or self.calibration is not None
        self._can_judge = hasattr(estimator, "_rule") and callable(getattr(type(estimator), "calibrate", None))
        encoder = estimator.__dict__.pop("encoder_", None)
        if encoder is not None:
            self.records = Records(encoder.to_json())
        plain = sentences if type(estimator).__name__ in OF_SEQUENCES else examples
        self.form: Form = self.records or plain
        self._averages = getattr(self.estimator, "_readout", None) == "average"
        self._apart = getattr(self.estimator, "_readout", "last") != "last"
        self._linear = hasattr(self.estimator, "_rule")
        self._weighted = getattr(self.estimator, "class_weight", None) is not None
        self._pupil: Pupil | None = None
        self._judge: Pupil | None = None
        self._plain: Model | None = None  # set if examples can be passed directly to the core model
        self._room = self._expected = 0
        self._named = self._name_bytes = 0
        self._weighed: Any = None  # the arrays whose bytes are known
        self._array_bytes, self._stored = 0, (0, 0)

    # ---- size ----

    @property
    def weight(self) -> int:
        """About the bytes of its weights and names, or of the examples that it stores."""
        model = getattr(self.estimator, "model_", None)
        if model is None:
            chain, kernel = getattr(self.estimator, "_chain", None), getattr(self.estimator, "_model", None)
            if chain is not None:
                return int(chain.w.nbytes + chain.u.nbytes + chain.sigma.nbytes + 2 * chain.vocabulary.size)
            return 0 if kernel is None else self._stored_bytes(len(kernel.machine.rows))
        if self._weighed is not model.state:
            self._weighed, self._array_bytes = model.state, model.nbytes
        kept = 0 if model.support is None else self._stored_bytes(len(model.support))
        return self._array_bytes + kept + (NAME_BYTES * model.n_features if model.features is not None else 0)

    def _stored_bytes(self, count: int) -> int:
        """About the bytes of so many stored examples; they are measured when there is an eighth more of them."""
        known, size = self._stored
        if not known <= count <= known + known // 8:
            model = getattr(self.estimator, "model_", None)
            if model is None:
                machine = self.estimator._model.machine
                size = _bytes_of(machine.rows.slice(0, count).rows) + 16 * count * machine.columns
            else:
                size = sum(map(_bytes_of, model.support.blocks)) + model.support.steps.nbytes
            self._stored = count, size
        return size * count // max(1, self._stored[0])

    def is_heavy(self, labels: Sequence[Any], more: int) -> bool:
        """Whether it may take long to learn or predict examples with these labels and so many new features at most."""
        weight = self.weight
        if weight * len(labels) < LARGE:
            return False
        model = getattr(self.estimator, "model_", None)
        if self.tags_sentences:
            return weight >= LARGE or len(labels) * len(self.classes) ** 2 >= LARGE
        if model is None or model.support is not None:
            return weight * len(labels) >= LARGE_READ
        known = model.class_number
        new = {label for label in labels if type(label) in _LABELS and label not in known}
        return weight * len(new) >= LARGE or (weight >= LARGE and model.n_features + more > len(model.state.w))

    def expect(self, labels: Sequence[Any], limits: Limits) -> None:
        """Prepare for the classes of these labels, so that the weights are copied once for all of them."""
        self._expected = 0
        if len(labels) == 1:
            return
        known = getattr(getattr(self.estimator, "model_", None), "class_number", {})
        new = {label for label in labels if type(label) in _LABELS and label not in known}
        self._expected = min(limits.classes, len(known) + len(new))

    @property
    def tags_sentences(self) -> bool:
        """Whether an example is a sentence, and its label a list of tags."""
        return self.form is sentences

    def expanded(self, features: Any, most: int = 1 << 62, size: int = 0) -> Any:
        """Convert the features of a request to those of the learner, or raise `Refused`."""
        return self.form.expanded(features, most, size)

    def checked_label(self, label: Any) -> Any:
        """Check a label, or the tags of a sentence."""
        return self.shared(self.form.checked_label(label))

    def sample(self, label: str) -> dict[str, Any]:
        """A request that the learner can learn."""
        if not self.tags_sentences:
            return {"features": {"x": 1.0, label: 1.0}, "label": label}
        templates = self.estimator._parsed()
        return {"features": [["x"] * (1 if templates is None else len(templates.columns))], "label": [label]}

    def shared(self, label: Any) -> Any:
        """The same label; the known tags of a sentence are those of the model, which saves memory."""
        chain = getattr(self.estimator, "_chain", None)
        if chain is None or type(label) is not list:
            return label
        tags, number = chain.tags, chain.number
        return [tags[number[tag]] if type(tag) is str and tag in number else tag for tag in label]

    def guess(self, x: Any) -> Any:
        """Predict the class of an example, or the tags of a sentence; None before the first label."""
        estimator = self.estimator
        if self.tags_sentences:
            self._check_steps(len(x), len(self.classes))
            return estimator.predict_one(x)
        if type(x) is list:
            x = np.array(x, np.float64)
        if self._averages and type(x) is dict and (model := getattr(estimator, "model_", None)) is not None:
            # Averaging all weights for one example would take time in proportion to the number of features.
            if self._pupil is None or self._pupil.model is not model:
                self._pupil = Pupil(model)
            return self._pupil.label(self._pupil.predict(model._row_table(x), 0))
        prediction = estimator.predict_one(x)
        return prediction.item() if isinstance(prediction, np.generic) else prediction

    def read_as(self, records: Records | Hashed | None) -> None:
        """Convert requests in this way."""
        self.records = records
        self.adopt(self.release())

    def release(self) -> Any:
        """The estimator, with its probabilities, for another one to adopt."""
        if self.calibration is not None:
            self.estimator.calibration_ = self.calibration
        return self.estimator

    def judge(self) -> None:
        """Learn to give probabilities from now on, with the scores of each example before it is learned."""
        if not self._can_judge:
            raise Refused(
                409, f"{type(self.estimator).__name__} has no probabilities. Use a learner with linear weights."
            )
        self.judged, self._plain = True, None

    def _observe(self, x: Any, label: Any) -> None:
        """Improve the probabilities with an example that will be learned next."""
        model = getattr(self.estimator, "model_", None)
        if (
            not self.judged
            or not self._can_judge
            or model is None
            or len(model.classes) < 2
            or label not in model.class_number
        ):
            return
        scores = self.scores(x).reshape(1, -1)
        if self.calibration is None or not self.calibration.fits(scores.size):
            self.calibration = Calibration.of(scores.size)
        self.calibration.observe(scores, np.array([model.class_number[label]]))

    def probabilities(self, scores: NDArray[np.float64]) -> list[float] | None:
        """The probability of each class; None if the model has not learned to give them."""
        if self.calibration is None or not self.calibration.fits(scores.size):
            return None
        return self.calibration.probabilities(scores.reshape(1, -1))[0].tolist()  # type: ignore[no-any-return]

    def scores(self, x: Any) -> NDArray[np.float64]:
        """One score for each class, or one for the second of two classes."""
        estimator = self.estimator
        if type(x) is list:
            x = np.array(x, np.float64)
        model = getattr(estimator, "model_", None)
        if model is None:
            row = estimator._row(x, estimator._vocabulary, False)
            kernel_scores: NDArray[np.float64] = estimator._model.decide(
                Block.of(row), estimator.readout, estimator.normalize
            )[0]
            return kernel_scores
        if self._judge is None or self._judge.model is not model:
            self._judge = Pupil(model)
        return self._judge.scores(model._row_table(x), np.zeros(1, np.int64))[0]  # type: ignore[no-any-return]

    def _teach(self, x: Any, label: Any) -> None:
        """Learn an example that has been predicted before."""
        self._observe(x, label)
        estimator = self.estimator
        if type(x) is list and not self.tags_sentences:
            x = np.array(x, np.float64)
        model = getattr(estimator, "model_", None) if self._apart else None
        if model is None:
            estimator.learn_one(x, label)
            return
        weights = estimator.class_weight
        model.teach(x, label, 1.0 if weights is None else float(weights.get(label, 1.0)))

    def _learn_rows(self, rows: list[Any], labels: list[Any], most: int) -> list[Any] | None:
        """Predictions for simple examples, which are learned; None if there are others, and nothing was done."""
        if (
            self._plain is None
            or self.records is not None
            or not {dict}.issuperset(map(type, rows))
            or not {str}.issuperset(map(type, labels))  # 1, 1.0 and true are equal in Python but different labels
            or max(map(len, rows)) > most
        ):
            return None
        return learn_records(self._plain, rows, labels, LARGEST)

    def _guess_and_teach(self, x: Any, label: Any) -> Any:
        if self.tags_sentences:
            return self.estimator.learn_one(x, label)
        if self._apart or type(x) is list or not self._linear:
            prediction = self.guess(x)
            self._teach(x, label)
            return prediction
        self._observe(x, label)
        prediction = self.estimator.learn_one(x, label)
        if not self._weighted and not self.judged and self._plain is None:
            self._plain = self.estimator.model_
        return prediction

    def _check_room(self, x: Any, label: Any, limits: Limits) -> None:
        """Refuse an example that would make the model too large, or whose label is of another type."""
        if self.tags_sentences:
            self._check_room_of_tags(x, label, limits)
            return
        model = getattr(self.estimator, "model_", None)
        classes = self.classes if model is None else model.classes
        known = label in (classes if model is None else model.class_number)
        self._check_label(label, classes, known, limits)
        count = len(classes) + (not known)
        if model is None:
            kernel = getattr(self.estimator, "_model", None)
            rows = 0 if kernel is None else len(kernel.machine.rows)
            self._check_numbers((rows + 1) * (len(x) + count), limits, "a smaller `budget`")
            self._check_total(16 * (len(x) + count), limits, "a smaller `budget`")
            return
        if type(x) is list or model.support is not None:
            vectors = 1 if count < 3 else count
            self._check_numbers(len(x) * count, limits, "fewer features")
            if model.support is not None:
                self._check_numbers(len(model.support) * max(len(x), vectors), limits, "a smaller `max_support`")
                self._check_total(16 * (len(x) + vectors), limits, "a smaller `max_support`")
            if type(x) is list:
                self._check_covariance(model, len(x), vectors, limits)
                self._check_memory(model, vectors, len(x), 0, limits)
                return
        elif self._room >= len(x) and known:
            self._room -= len(x)
            return
        names = model.features or {}
        new = [name for name in x if name not in names]
        features, vectors = len(names) + len(new), 1 if count < 3 else count
        self._check_numbers(features * count, limits, "fewer features")
        self._check_covariance(model, features, vectors, limits)
        self._name_bytes += sum(map(len, islice(reversed(names), max(0, len(names) - self._named))))
        self._named = len(names)
        rest = limits.names - self._name_bytes - sum(map(len, new))
        if rest < 0:
            raise Refused(
                409,
                f"The names of the features of `{self.name}` may have at most {limits.names} characters in all; this example "
                "would exceed that. Use shorter names, or raise --max-names.",
            )
        left = self._check_memory(model, vectors, features, NAME_BYTES * len(new), limits)
        self._room = min(limits.weights // max(count, 1) - features, rest // LONGEST_KEY, left)
        if isinstance(model.memory, FullVariances):
            self._room = 0

    def _check_memory(self, model: Model, vectors: int, features: int, names: int, limits: Limits) -> int:
        """Refuse an example for which there is no memory; returns how many new features there is memory for at least."""
        known, grown = model.nbytes, model.nbytes_with(vectors, features)
        if self._expected > vectors > 2 and grown > known:
            room = model.nbytes_with(self._expected, features)
            if self.weight_of_all() + room + names <= limits.memory:
                model.make_room(self._expected)
                known, grown = model.nbytes, model.nbytes_with(vectors, features)
        more = names + (grown if grown > known else 0)
        free = self._check_total(more, limits, "fewer classes or features")
        capacity = len(model.state.w)
        larger = model.nbytes_with(vectors, max(features, capacity) + 1)
        most = 2 * capacity if larger <= free else capacity
        return max(0, min(most - features, (free - (larger if larger <= free else 0)) // NAME_BYTES))

    def _check_total(self, more: int, limits: Limits, advice: str) -> int:
        """Refuse what would take more memory than all models may have; returns how many bytes are left."""
        free = limits.memory - self.weight_of_all() - more
        if free < 0 and more:
            raise Refused(
                409,
                f"The weights of all models may take {limits.memory} bytes of memory; this example would make `{self.name}` too "
                f"large. Use {advice}, or raise --max-memory.",
            )
        return free

    def _check_room_of_tags(self, x: Any, tags: Any, limits: Limits) -> None:
        """The same for a sentence; its features are counted as if all were new."""
        chain = getattr(self.estimator, "_chain", None) or self.estimator._new_chain()
        classes = list(chain.tags)
        for tag in dict.fromkeys(tags):
            known = tag in chain.number
            self._check_label(tag, classes, known, limits)
            if not known:
                classes.append(tag)
        self._check_steps(len(x), len(classes))
        strings = list(_strings(x))
        text = sum(map(len, strings))
        shapings = 1 if chain.templates is None else len(chain.templates.shapings)
        features = len(strings) if chain.templates is None else len(x) * len(chain.templates.names)
        rows = int(chain.counts[0]) + features + len(classes) + 1
        self._check_numbers(rows * len(classes), limits, "fewer templates")
        have, width = chain.w.shape
        if rows > have or len(classes) > width:
            room = have if rows <= have else max(rows, 2 * have)
            arrays = 3 if chain.second_order else 2
            self._check_total(8 * arrays * room * max(width, len(classes) + 7), limits, "fewer templates or tags")
        if chain.vocabulary.size + 8 * shapings * text > limits.names:
            raise Refused(
                409,
                f"The strings of the features of `{self.name}` may have at most {limits.names} characters in all; this sentence "
                "could exceed that. Use fewer templates, or raise --max-names.",
            )

    def _check_steps(self, tokens: int, classes: int) -> None:
        if tokens * classes * classes > sentences.MOST_STEPS:
            raise Refused(
                409,
                f"A sentence of {tokens} tokens takes too long with {classes} tags in `{self.name}`; tokens times tags times "
                f"tags may be {sentences.MOST_STEPS} at most. Split the sentence.",
            )

    def _check_label(self, label: Any, classes: Sequence[Any], known: bool, limits: Limits) -> None:
        if classes and (type(label) is bool) != (type(classes[0]) is bool):  # in Python true is equal to 1
            raise Refused(
                409,
                f"The labels of `{self.name}` must all be of one type, such as {shown(classes[0])}; got {shown(label)}. "
                "Convert them.",
            )
        if not known and len(classes) >= limits.classes:
            raise Refused(
                409,
                f"`{self.name}` may have at most {limits.classes} classes after this request; got the new label "
                f"{shown(label)}. Send fewer new labels in one request, or raise --max-classes.",
            )

    def _check_covariance(self, model: Model, features: int, vectors: int, limits: Limits) -> None:
        if isinstance(model.memory, FullVariances):
            self._check_numbers(vectors * (features + 1) ** 2, limits, 'covariance="diagonal"')

    def _check_numbers(self, count: int, limits: Limits, advice: str) -> None:
        if count > limits.weights:
            raise Refused(
                409,
                f"The model `{self.name}` may have at most {limits.weights} weights (features times classes, or numbers that it "
                f"stores instead); this example would make it {count}. Use {advice}, or raise --max-weights.",
            )

    @property
    def fitted(self) -> bool:
        """Whether anything was learned."""
        return any(hasattr(self.estimator, name) for name in ("model_", "_model", "_chain"))

    @property
    def keeps_examples(self) -> bool:
        """Whether the model consists of examples, as kernel and voted perceptrons do."""
        model = getattr(self.estimator, "model_", None)
        return hasattr(self.estimator, "_model") if model is None else model.support is not None

    @property
    def classes(self) -> list[Any]:
        """Classes in the order of their first label."""
        model = getattr(self.estimator, "model_", None)
        if model is not None:
            return list(model.classes)
        if self.tags_sentences:
            return list(getattr(getattr(self.estimator, "_chain", None), "tags", ()))
        return [label.item() for label in getattr(self.estimator, "classes_", ())]

    @property
    def features(self) -> int:
        """Number of features so far."""
        model = getattr(self.estimator, "model_", None)
        if self.tags_sentences:
            return int(self.estimator.n_features_) if self.fitted else 0
        return int(getattr(self.estimator, "n_features_in_", 0) if model is None else model.n_features)


def _bytes_of(rows: Any) -> int:
    """Bytes of rows, dense or sparse."""
    if isinstance(rows, np.ndarray):
        return rows.nbytes
    values = rows.values if isinstance(rows, CSR) else rows.data
    return int(values.nbytes + rows.indices.nbytes + 8 * rows.shape[0])


def _strings(sentence: list[Any]) -> Iterator[str]:
    """The strings of a checked sentence."""
    for token in sentence:
        if type(token) is str:
            yield token
        elif type(token) is list:
            yield from token
        else:
            for name, value in token.items():
                words = value if type(value) is list else [value]
                yield from (name + ":" + word if type(word) is str else name for word in words)
