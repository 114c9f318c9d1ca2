"""`load`: from a model file to the estimator that was saved."""

import dataclasses
import os
import types
import warnings
from typing import Any

from rosenblatt import model_file
from rosenblatt.estimators.base import LinearClassifier
from rosenblatt.estimators.parameters import OnlineParameters
from rosenblatt.model.linear import Model
from rosenblatt.model_file import BadModel, Saved, rule_of, unusable

from . import find


def load(path: str | os.PathLike[str], *, rule: type[Any] | None = None, kernel: Any = None) -> Any:
    """Read a model that `save` or `rosenblatt train` has written. Nothing in the file is run.

    Parameters
    ----------
    path : str or path
        The file.
    rule : class, default=None
        The learner, for a model whose class is not one of the library: what `rosenblatt.rule` made, or a subclass.
        Predicting works without it, learning on does not.
    kernel : callable, default=None
        The kernel, for a `KernelPerceptron` with a kernel of the user's own.

    Returns
    -------
    estimator
        Of the class that was saved, with the same parameters, attributes and predictions, and ready to learn on. One that the
        command line has trained has the attribute `encoder_`, which turns further files into the features that it
        knows: ``rosenblatt.data.open_stream(path, encoder=model.encoder_)``. Words that it has not learned are ignored.

    Raises
    ------
    BadModel
        A ValueError: the file is cut off, changed, from a newer version, or no model.

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
    """The estimator that a file describes; `path` is for what is said about it."""
    learner = _learner(saved, rule)
    if saved.kind == "kernel" and saved.core.get("settings", {}).get("kernel") is None and kernel is None:
        raise ValueError(
            f"{os.fspath(path)} holds a KernelPerceptron with a kernel of the user's own, which no file can hold; got none. "
            "Pass it: rosenblatt.load(path, kernel=function)."
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
        return _read_only(saved) if saved.rule is not None else find(saved.learner)
    ours, theirs = rule_of(rule), saved.rule
    if rule.__name__ != saved.learner or (ours is None) != (theirs is None):
        raise ValueError(
            f"`rule` must be the class that was saved, {saved.learner}; got {rule.__name__}. Leave it out to predict only."
        )
    if ours is not None and theirs is not None and ours["sha256"] != theirs.get("sha256"):
        warnings.warn(
            f"The step of the rule {saved.learner} is not the one that this model was trained with: its source has changed. "
            "Predictions stay the same; from now on it learns by the new one.",
            UserWarning,
            stacklevel=3,
        )
    return rule


class _ReadOnlyModel(Model):
    """A model whose rule is not known: it predicts and does not learn."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise ValueError(
            "This model was trained by a rule of the user's own, which is no part of its file, so it can predict but not learn; "
            "pass the rule to go on: rosenblatt.load(path, rule=YourRule)."
        )

    run = learn = learn_one = _refuse


def _read_only(saved: Saved) -> type[Any]:
    """A class that stands for a rule that is not there: the same name, parameters and predictions."""
    from .perceptron import step

    if saved.kind != "linear":
        raise ValueError(
            f"The model's class {saved.learner} is not one of the library; got no class. Pass it: load(path, rule=...)."
        )

    def refuse(self: Any, *_: Any, **__: Any) -> Any:
        _ReadOnlyModel._refuse(self)

    known = {field.name for field in dataclasses.fields(OnlineParameters)}
    own = {name: value for name, value in saved.parameters.items() if name not in known}
    fields: list[Any] = [(name, Any, dataclasses.field(default=None)) for name in own]
    readout = (saved.rule or {}).get("readout", "last")
    body = {
        "__doc__": f"Predicts what the rule {saved.learner} has learned.",
        "__annotations__": {name: kind for name, kind, _ in fields},
        **{name: default for name, _, default in fields},
        "fit": refuse,
        "partial_fit": refuse,
        "learn_one": refuse,
        "_check_parameters": lambda self: None,
        "_model_class": _ReadOnlyModel,
    }
    made = types.new_class(
        saved.learner,
        (OnlineParameters, LinearClassifier),
        {"step": step, "readout": readout},
        lambda namespace: namespace.update(body),
    )
    return dataclasses.dataclass(kw_only=True, eq=False, repr=False)(made)


def _estimator(saved: Saved, learner: type[Any], kernel: Any) -> Any:
    parameters = dict(saved.parameters)
    if saved.kind == "kernel" and parameters.get("kernel") is None:
        parameters["kernel"] = kernel
    estimator = learner(**parameters)
    for name, value in saved.fitted.items():
        attribute = getattr(learner, name, None)
        if callable(attribute) or isinstance(attribute, property) or name in parameters:
            raise BadModel(f"its attribute `{name}` is not one that a fit makes")
        setattr(estimator, name, value)
    core = saved.core_model(getattr(learner, "_step", None), kernel, getattr(learner, "_model_class", Model))
    if saved.kind == "kernel":
        classes = getattr(estimator, "classes_", None)
        if len(classes if classes is not None else ()) != core.n_classes:
            raise BadModel("its classes do not fit its weights")
        estimator._model, features = core, estimator.n_features_in_
    else:
        estimator._check_parameters()
        estimator.model_, features = core, core.n_features
    if saved.encoder is not None:
        from rosenblatt.data import Encoder

        estimator.encoder_ = Encoder.from_json(saved.encoder)
        estimator.encoder_.freeze()
        if estimator.encoder_.n_features > features:
            raise BadModel("its features do not fit its weights")
    return estimator
