"""The end of a training run: the fitted attributes and the certificate of what the run has proved."""

import math
import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rosenblatt.model.linear import Model
from rosenblatt.training.history import History
from rosenblatt.training.loop import length

if TYPE_CHECKING:
    from rosenblatt.theory.run import RunCertificate


class Finishing:
    """The end of a training run, the same for `fit`, the command line and a cluster."""

    fit_intercept: bool
    _constant_step: ClassVar[str | None] = None
    _target: Callable[[], float]

    def _finish(
        self, model: Model, history: History, lead: float | None, verify: tuple[Any, Any] | None = None
    ) -> None:
        """Set the fitted attributes.

        Parameters
        ----------
        model, history
            The trained model and its history.
        lead : float or None
            The smallest margin of the last weights over all training examples, including held-out ones; None if the examples
            cannot be visited again.
        verify : tuple or None
            All examples and their labels, for a check without rounding errors if a margin is very small.
        """
        epochs = history.epochs
        self.model_ = model
        self.n_iter_ = len(epochs)
        self.mistakes_per_epoch_ = np.array([epoch.mistakes for epoch in epochs], np.int64)
        self.updates_per_epoch_ = np.array([epoch.updates for epoch in epochs], np.int64)
        self.loss_per_epoch_ = np.array([epoch.mean_loss for epoch in epochs], np.float64)
        self._certify(model, history, 0.0 if lead is None else lead, verify)

    def _certify(self, model: Model, history: History, lead: float, verify: tuple[Any, Any] | None) -> None:
        certificate = self._certificate(model, history, lead)
        in_doubt = certificate.margin[0] <= 1e-9 * certificate.radius  # rounding alone could have made it positive
        if (
            certificate.status == "separable"
            and in_doubt
            and (verify is None or not certificate.verify(*verify, bool(self.fit_intercept)))
        ):
            certificate = self._certificate(model, history, 0.0)
        self.certificate_ = certificate
        self.converged_ = certificate.status == "separable"

    def _certificate(self, model: Model, history: History, lead: float) -> "RunCertificate":
        """Make the certificate; `lead` is the smallest margin of the last weights."""
        from rosenblatt.theory.run import RunCertificate

        state, scheme = model.state, model.rule.multiclass
        w, bias = model.last()
        stacked = len(model.classes) > 2
        radius = math.sqrt(state.counters.reach)
        additive = model.rule.additive and not (stacked and scheme in ("all", "ovr"))
        upper = history.distance / history.steps if additive and history.steps else math.inf
        separable = lead > 0.0
        lower = lead / length(w, bias) if separable and math.isfinite(lead) else 0.0
        mistake_bound = None
        if lower > 0.0 and additive and not history.weighted and not history.mixed:
            mistake_bound = self._mistake_bound(radius * (math.sqrt(2.0) if stacked else 1.0), lower, history)
        w = w[: model.n_features]
        coef = w[None, :].copy() if w.ndim == 1 else np.ascontiguousarray(w[:, : model.vectors].T)
        return RunCertificate(
            status="separable" if separable else "undecided" if history.cycle is None else "inseparable",
            mistakes=sum(epoch.mistakes for epoch in history.epochs),
            updates=sum(epoch.updates for epoch in history.epochs),
            epochs=len(history.epochs),
            radius=radius,
            margin=(lower, upper),
            mistake_bound=mistake_bound,
            separator=(coef, bias.copy()) if separable else None,
            combination=None if history.cycle is None else history.cycle / history.cycle.sum(),
            counts=history.cycle,
            positive=None if stacked else model.classes[-1],
            penalized=model.rule.penalty is not None,
        )

    def _mistake_bound(self, radius: float, margin: float, history: History) -> float | None:
        """Bound for rules with a constant step size: on mistakes, or on updates if the rule requires a margin."""
        if self._constant_step is None or math.isnan(history.start_norm):
            return None
        from rosenblatt.theory import bounds

        rate = float(getattr(self, self._constant_step))
        if self._target() <= 0.0:
            return bounds.from_starting_weights(radius, margin, history.start_norm, rate)
        return bounds.margin_rule_updates(radius, margin, self._target(), rate) if history.start_norm == 0.0 else None


def warn_of_last_epoch(estimator: Any) -> None:
    """Warn that `max_iter` ended training before `tol` did. The warning names the line of the user's code."""
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"{type(estimator).__name__} stopped after max_iter={estimator.max_iter} epochs, before {estimator.n_iter_no_change} "
        "epochs without improvement could end training. Raise max_iter, or set tol=None to train for that many epochs without "
        "this warning.",
        ConvergenceWarning,
        stacklevel=level_of_user(),
    )


def level_of_user() -> int:
    """The `stacklevel` with which a warning of the caller names the first line outside of this package and scikit-learn."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
        "rosenblatt",
        "sklearn",
    ):
        frame, level = frame.f_back, level + 1
    return level
