"""What a training run has shown: a separator, that there is none, or how far the theorems reach."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.model.linear import Model
from rosenblatt.model.matrix import Table
from rosenblatt.training.loop import History, length, smallest_margin

from .blueprint import Blueprint

if TYPE_CHECKING:
    from rosenblatt.theory.run import RunCertificate

__all__ = ["Proving"]

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


class Proving(Blueprint):
    """Gives an estimator `certificate_` and `converged_` at the end of its run."""

    def _prove(
        self, model: Model, history: History, table: Table, codes: Codes, weight: Floats, X: Any, labels: Any
    ) -> None:
        """What the run has shown: `certificate_` and `converged_`."""
        lead = smallest_margin(model, *model.last(), table, codes, weight)
        certificate = self._certificate(model, history, lead, plain=not weight.size)
        in_doubt = certificate.margin[0] <= 1e-9 * certificate.radius  # rounding alone could have made it positive
        if (
            certificate.status == "separable"
            and in_doubt
            and not certificate.verify(X, labels, bool(self.fit_intercept))
        ):
            certificate = self._certificate(model, history, 0.0, plain=not weight.size)
        self.certificate_ = certificate
        self.converged_ = certificate.status == "separable"

    def _certificate(self, model: Model, history: History, lead: float, plain: bool) -> "RunCertificate":
        """What the run has proved; `lead` is the smallest margin of the final weights, `plain`: all examples count 1."""
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
        if lower > 0.0 and additive and plain:
            mistake_bound = self._mistake_bound(radius * (math.sqrt(2.0) if stacked else 1.0), lower, history)
        w = w[: model.n_features]
        coef = w[None, :].copy() if w.ndim == 1 else np.ascontiguousarray(w[:, : model.vectors].T)
        return RunCertificate(
            status="separable" if separable else "undecided" if history.cycle is None else "inseparable",
            mistakes=int(state.counters.mistakes),
            updates=int(state.counters.updates),
            epochs=len(history.mistakes),
            radius=radius,
            margin=(lower, upper),
            mistake_bound=mistake_bound,
            separator=(coef, bias.copy()) if separable else None,
            combination=None if history.cycle is None else history.cycle / history.cycle.sum(),
            counts=history.cycle,
        )

    def _mistake_bound(self, radius: float, margin: float, history: History) -> float | None:
        """The theorem's bound for rules with steps of one size: on mistakes, or on updates where the rule asks for a margin."""
        if self._constant_step is None:
            return None
        from rosenblatt.theory import bounds

        rate = float(getattr(self, self._constant_step))
        if self._target() <= 0.0:
            return bounds.from_starting_weights(radius, margin, history.start_norm, rate)
        return bounds.margin_rule_updates(radius, margin, self._target(), rate) if history.start_norm == 0.0 else None
