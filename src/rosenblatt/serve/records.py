"""Models that begin with a file of `rosenblatt train`: its columns, and the checks of the file."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rosenblatt.data.encoder import Encoder
from rosenblatt.data.errors import BadData
from rosenblatt.data.frames import encode
from rosenblatt.engine.conventions import CSR
from rosenblatt.estimators.parameters import declarations, defaults
from rosenblatt.learners._load import restore
from rosenblatt.model.linear import Model
from rosenblatt.model_file import BadModel, Saved
from rosenblatt.model_file.container import from_bytes
from rosenblatt.serve.choice import canonical, new_estimator
from rosenblatt.serve.events import Limits
from rosenblatt.serve.examples import LARGEST, Refused, checked_label

MOST_NAMES = 100_000
"""Number of names after which the vocabulary of requests begins anew; it has no effect on the results."""

_KINDS = frozenset({str, int, float, bool, type(None), list})


class Records:
    """The form of requests with the columns of a table, as the file of the model has them.

    Parameters
    ----------
    saved : mapping
        The encoder, as in the file of a model.
    """

    def __init__(self, saved: Mapping[str, Any]) -> None:
        self.saved = self.for_files = {**saved, "vocabulary": []}
        self.columns = {str(name): str(kind) for name, kind in saved["columns"]}
        self._begin()

    def _begin(self) -> None:
        self._encoder = encoder = Encoder.from_json(self.saved)
        encoder.learned_moments = True
        self._ignored = {encoder.label, encoder.weight, *encoder.left_out}

    def expanded(self, features: Any, most: int = 1 << 62, size: int = 0) -> dict[str, float]:
        """Features by name, as `rosenblatt train` made them of a row with these columns."""
        encoder = self._encoder
        if type(features) is not dict:
            raise Refused(422, f"`features` must be an object with the columns {', '.join(encoder.sources)}.")
        for name, value in features.items():
            if name not in encoder.sources and name not in self._ignored:
                raise Refused(
                    422,
                    f"The columns are {', '.join(encoder.sources)}; got {name[:60]!r}. Leave it out, or check the spelling.",
                )
            if type(value) not in _KINDS or (type(value) is list and any(type(word) is not str for word in value)):
                raise Refused(422, f"The column {name!r} must be text, a number, true, false, null or a list of words.")
        row = {name: " ".join(value) if type(value) is list else value for name, value in features.items()}
        try:
            rows: Any = encode([{name: row.get(name) for name in encoder.sources}], encoder, 1 << 30).rows
        except (BadData, OverflowError) as error:
            raise Refused(422, str(error)) from error
        if isinstance(rows, CSR):
            columns, values = rows.indices.tolist(), rows.values.tolist()
        else:
            columns, values = list(range(rows.shape[1])), np.asarray(rows)[0].tolist()
        found = {encoder.feature_name(column): value for column, value in zip(columns, values, strict=True) if value}
        if len(found) > most:
            raise Refused(422, f"An example may have at most {most} features; got {len(found)}. Shorten the text.")
        if found and max(map(abs, found.values())) > LARGEST:
            raise Refused(422, f"The value of a feature must be between -{LARGEST:g} and {LARGEST:g}. Scale it.")
        if len(encoder.vocabulary) > MOST_NAMES:
            self._begin()
        return dict(sorted(found.items()))  # whatever was read before

    def checked_label(self, label: Any) -> Any:
        """Check a label."""
        return checked_label(label)


def give_names(model: Model, names: list[str]) -> None:
    """Let a model of numbered features take dicts, in which new names may appear."""
    model.features, model.frozen = {name: number for number, name in enumerate(names)}, False
    model.state = model.state  # it depends on the names how rows are taken


def take_names(estimator: Any, saved: Mapping[str, Any]) -> None:
    """The reverse of `give_names`, for a file that the command line can read."""
    model = estimator.model_
    if saved["bits"] and list(model.features) != [f"#{n}" for n in range(1 << saved["bits"])]:
        raise Refused(
            409,
            "A model with hashed columns has no file after `clear` or with a promoted challenger, because its weights are not "
            "in the order of the hashes. Upload a trained file as a new model.",
        )
    encoder = Encoder.from_json({**saved, "vocabulary": [] if saved["bits"] else list(model.features)})
    encoder.freeze()
    model.features, model.frozen = None, True
    model.state = model.state
    estimator.encoder_, estimator.n_features_in_ = encoder, model.n_features


def opened(data: bytes, limits: Limits) -> tuple[Any, str, dict[str, Any]]:
    """The learner of a model file, its name and its parameters; raises `Refused` for a file that is not accepted."""
    try:
        header, tensors = from_bytes(data, "The file")
        saved = Saved(header, tensors)
        if saved.kind not in ("linear", "sequences") or saved.rule is not None:
            raise Refused(
                422,
                "A model can begin with the file of a linear learner or a tagger of the library; this one is of another kind.",
            )
        estimator = restore(saved, "The file")
    except (BadModel, KeyError, TypeError, ValueError) as error:
        raise Refused(422, str(error)) from error
    learner = type(estimator)
    standard = defaults(learner)
    parameters = {
        name: value
        for name in declarations(learner)
        if (value := getattr(estimator, name)) != standard[name] and name not in ("verbose", "n_jobs")
    }
    algorithm = canonical(learner.__name__)
    new_estimator(algorithm, parameters)
    if saved.kind == "sequences":
        chain = estimator._chain
        _check_size(int(chain.counts[0]), chain.tags, limits)
        if chain.vocabulary.size > limits.names:
            raise Refused(422, f"The strings of a tagger may have {limits.names} characters in all (--max-names).")
        return estimator, algorithm, parameters
    model = estimator.model_
    _check_size(model.n_features, model.classes, limits)
    if not all(np.isfinite(array).all() for array in (model.state.w, model.state.bias)):
        raise Refused(422, "The weights of the model must be finite numbers.")
    encoder = estimator.__dict__.get("encoder_")
    if encoder is not None and model.features is None:
        names = encoder.names()
        if len(names) != model.n_features or len(set(names)) != len(names):
            raise Refused(422, "The names of the features do not fit the weights of the model.")
        if sum(map(len, names)) > limits.names:
            raise Refused(422, f"The names of the features may have {limits.names} characters in all (--max-names).")
        give_names(model, names)
    if encoder is not None and encoder.family != "table":
        del estimator.encoder_
    return estimator, algorithm, parameters


def _check_size(features: int, classes: list[Any], limits: Limits) -> None:
    """Refuse a model that is too large, or has labels that the service does not take."""
    count = features * (len(classes) if len(classes) > 2 else 1)
    if count > limits.weights or len(classes) > limits.classes:
        raise Refused(
            422,
            f"A model may have at most {limits.weights} weights (--max-weights) and {limits.classes} classes (--max-classes); "
            f"this file has {count} and {len(classes)}.",
        )
    for label in classes:
        checked_label(label)
