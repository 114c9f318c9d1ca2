"""What a training run proves about sentences: Collins' bound, from the same squeeze as Novikoff's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SequenceCertificate:
    """The squeeze of a training run: ``margin * steps <= ‖w‖ <= √growth``.

    With Φ(x, y), the sum of the features of a sentence and its tags, each update adds τ times a difference Φ(x, y) - Φ(x, z) of
    the true tags y and the predicted tags z.

    Attributes
    ----------
    status : {"separable", "undecided"}
        Separable: the last weights of `fit` tag every training sentence correctly, with a margin above 0.
    mistakes : int
        The number of sentences that were predicted with a wrong tag before they were learned.
    radius : float
        The largest length of such a difference, R.
    margin : float
        The smallest margin δ of the last weights divided by their length, over all sentences; 0 unless they separate.
    steps, growth : float
        The sums of τ, and of τ² times the squared length of the difference.
    length : float
        ‖w‖, the length of the last weights.
    mistake_bound : float or None
        (R / δ)², Collins' bound on the mistakes (2002, theorem 1); None unless the last weights separate and every step is 1.
    """

    status: str
    mistakes: int
    radius: float
    margin: float
    steps: float
    growth: float
    length: float
    mistake_bound: float | None

    def verify(self) -> bool:
        """Check the inequalities of the proof on the numbers of this run, up to rounding."""
        slack = 1.0 + 1e-9
        below = self.margin * self.steps <= self.length * slack
        above = self.length <= self.growth**0.5 * slack
        return below and above and (self.mistake_bound is None or self.mistakes <= self.mistake_bound * slack)

    def __str__(self) -> str:
        text = [
            "separable: the last weights tag every sentence correctly"
            if self.status == "separable"
            else "undecided: the last weights do not tag every sentence correctly",
            f"{self.mistakes} mistakes, R = {self.radius:.4g}, δ = {self.margin:.4g}",
            f"the squeeze: {self.margin * self.steps:.6g} ≤ ‖w‖ = {self.length:.6g} ≤ {self.growth**0.5:.6g}",
        ]
        if self.mistake_bound is not None:
            text.append(f"bound of the theorem: {self.mistake_bound:.6g}")
        return "\n".join(text)
