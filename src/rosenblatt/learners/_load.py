"""`load`: restore an estimator from a model file."""

import dataclasses
import os
import types
import warnings
from importlib import import_module
from typing import Any

import numpy as np

from rosenblatt import model_file
from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters
from rosenblatt.model.linear import Model
from rosenblatt.model_file import BadModel, Saved, rule_of, unusable
from rosenblatt.model_file.cores import linear_from_values

from . import OF_SEQUENCES, find


def load(path: str | os.PathLike[str], *, rule: type[Any] | None = None, kernel: Any = None) -> Any:
    """Read a model written by `save` or `rosenblatt train`. No code in the file is executed.

    Parameters
    ----------
    path : str or path
        The file.
    rule : class, default=None
        The learner, for a model whose class is not part of the library: made with `rosenblatt.rule`, or a subclass. Without it
        the model can predict, but not continue to learn.
    kernel : callable, default=None
        The kernel function, for a `KernelPerceptron` that was trained with one.

    Returns
    -------
    estimator
        An estimator of the saved class with the same parameters, attributes and predictions. It can continue to learn. A model
        trained on the command line also has the attribute `encoder_`, which converts other files to its features:
        ``rosenblatt.data.open_stream(path, encoder=model.encoder_)``. Words that are not in its vocabulary are ignored.

    Raises
    ------
    BadModel
        The file is truncated, changed, from a newer version, or not a model. BadModel is a ValueError.

    Examples
    --------
    >>> import rosenblatt
    >>> model = rosenblatt.Perceptron().fit([[0.0], [1.0]], ["no", "yes"])
    >>> model.save("yes-or-no.model")
    >>> rosenblatt.load("yes-or-no.model").predict([[2.0]])
    array(['yes'], dtype='<U3')
    """
    return restore(model_file.read(path), path, rule=rule, kernel=kernel)


def restore(saved: Saved, path: str | os.PathLike[str], *, rule: type[Any] | None = None, kernel: Any = None) -> Any:
    """Restore the estimator from the contents of a file; `path` is used in messages."""
    learner = _learner(saved, rule)
    if saved.kind == "kernel" and saved.core.get("settings", {}).get("kernel") is None and kernel is None:
        raise ValueError(
            f"{os.fspath(path)} is a KernelPerceptron trained with a kernel function, which a file cannot store; got no kernel. "
            "Pass the function: rosenblatt.load(path, kernel=function)."
        )
    try:
        return _estimator(saved, learner, kernel)
    except (
        BadModel,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        UnicodeError,
        RecursionError,
        MemoryError,
    ) as error:
        raise unusable(path, error) from error


def _learner(saved: Saved, rule: type[Any] | None) -> type[Any]:
    if rule is None:
        if saved.kind == "sequences" and saved.learner in OF_SEQUENCES and saved.rule is None:
            learner: type[Any] = getattr(import_module(f".{OF_SEQUENCES[saved.learner]}", __package__), saved.learner)
            return learner
        if saved.kind == "labels" and saved.learner == "MultiLabel" and saved.rule is None:
            from rosenblatt.estimators.multi_label import MultiLabel

            return MultiLabel
        return _read_only(saved) if saved.rule is not None else find(saved.learner)
    ours, theirs = rule_of(rule), saved.rule
    if rule.__name__ != saved.learner or (ours is None) != (theirs is None):
        raise ValueError(
            f"`rule` must be the class that was saved, {saved.learner}; got {rule.__name__}. Leave it out to predict only."
        )
    if ours is not None and theirs is not None and ours["sha256"] != theirs.get("sha256"):
        warnings.warn(
            f"The source of the rule {saved.learner} has changed since this model was trained. "
            "Predictions stay the same; further learning uses the new rule.",
            UserWarning,
            stacklevel=3,
        )
    return rule


class _ReadOnlyModel(Model):
    """Model whose rule is unknown. It can predict, but not learn."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise ValueError(
            "This model was trained with a custom rule, which is not stored in its file, so it can predict but not learn. "
            "Pass the rule to continue: rosenblatt.load(path, rule=YourRule)."
        )

    run = learn = learn_one = _refuse


def _read_only(saved: Saved) -> type[Any]:
    """Make a class that replaces a missing rule: same name, parameters and predictions."""
    from .perceptron import step

    if saved.kind != "linear":
        raise ValueError(
            f"The class {saved.learner} of the model is not part of the library; got no class. Pass it: load(path, rule=...)."
        )

    def refuse(self: Any, *_: Any, **__: Any) -> Any:
        _ReadOnlyModel._refuse(self)

    known = {field.name for field in dataclasses.fields(OnlineParameters)}
    own = {name: value for name, value in saved.parameters.items() if name not in known}
    fields: list[Any] = [(name, Any, dataclasses.field(default=None)) for name in own]
    readout = (saved.rule or {}).get("readout", "last")
    body = {
        "__doc__": f"Model trained with the custom rule {saved.learner}; it can only predict.",
        "__annotations__": {name: kind for name, kind, _ in fields},
        **{name: default for name, _, default in fields},
        "fit": refuse,
        "partial_fit": refuse,
        "learn_one": refuse,
        "_check_parameters": lambda self, *names: None,
        "_model_class": _ReadOnlyModel,
    }
    made = types.new_class(
        saved.learner,
        (OnlineParameters, LinearClassifier),
        {"step": step, "readout": readout},
        lambda namespace: namespace.update(body),
    )
    return dataclasses.dataclass(kw_only=True, eq=False, repr=False)(made)


def _of_labels(estimator: Any, saved: Saved) -> Any:
    """Restore the models of a MultiLabel."""
    step = estimator._learner()._step
    models = [linear_from_values(values, step, Model) for values in saved.core["models"]]
    labels = saved.fitted.get("_labels")
    if (
        not isinstance(labels, list)
        or len(labels) != len(models)
        or any(model.classes != [False, True] for model in models)
    ):
        raise BadModel("its labels do not fit its weights")
    estimator.models_ = models
    _set_encoder(estimator, saved, min((model.n_features for model in models), default=0))
    return estimator


def _set_encoder(estimator: Any, saved: Saved, features: int) -> None:
    """Restore the encoder of a model of the command line."""
    if saved.encoder is not None:
        from rosenblatt.data import Encoder

        estimator.encoder_ = Encoder.from_json(saved.encoder)
        estimator.encoder_.freeze()
        if estimator.encoder_.n_features > features:
            raise BadModel("its features do not fit its weights")


def _estimator(saved: Saved, learner: type[Any], kernel: Any) -> Any:
    parameters = dict(saved.parameters)
    if saved.kind == "kernel" and parameters.get("kernel") is None:
        parameters["kernel"] = kernel
    if saved.kind == "labels" and parameters.get("learner") is not None:
        name, own = parameters["learner"]
        parameters["learner"] = find(name)(**own)
    estimator = learner(**parameters)
    for name, value in saved.fitted.items():
        attribute = getattr(learner, name, None)
        if callable(attribute) or isinstance(attribute, property) or name in parameters:
            raise BadModel(f"its attribute `{name}` is not a fitted attribute")
        setattr(estimator, name, value)
    if saved.kind == "sequences":
        from rosenblatt.model_file.sequences import sequence_from_values

        estimator._check_parameters()
        estimator._chain = sequence_from_values(saved.core, *estimator._step_of_rule())
        return estimator
    if saved.kind == "labels":
        return _of_labels(estimator, saved)
    core = saved.core_model(getattr(learner, "_step", None), kernel, getattr(learner, "_model_class", Model))
    if saved.kind == "kernel":
        classes = getattr(estimator, "classes_", None)
        if len(classes if classes is not None else ()) != core.n_classes:
            raise BadModel("its classes do not fit its weights")
        if "_arrived" not in saved.fitted:  # in older files `classes_` was in that order
            estimator._arrived, estimator.classes_ = classes, np.sort(np.asarray(classes))
        estimator._model, features = core, estimator.n_features_in_
    else:
        estimator._check_parameters()
        estimator.model_, features = core, core.n_features
    _set_encoder(estimator, saved, features)
    return estimator
