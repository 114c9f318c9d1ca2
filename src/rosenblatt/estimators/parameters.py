"""The parameters that every online learner has."""

import dataclasses
from typing import Any

from .checks import check_tol, is_real

__all__ = ["ONLINE_PARAMETERS", "OnlineParameters"]

ONLINE_PARAMETERS = """\
    fit_intercept : bool, default=True
        Whether to add a constant feature 1, whose weight is `intercept_`.
    max_iter : int, default=1000
        Epochs at most; has no effect on `partial_fit` and `learn_one`.
    tol : float or None, default=1e-3
        Stop when the mean loss has not fallen by this much for `n_iter_no_change` epochs. None: train until no mistake is left,
        or `max_iter`.
    shuffle : bool or "replacement", default=True
        Visit the examples in a fresh order each epoch; "replacement" draws them at random, some twice and some never.
    random_state : int, RandomState or None, default=0
        Seed of the order.
    early_stopping : bool, default=False
        Set `validation_fraction` of the examples aside and stop when the accuracy on them no longer rises by `tol`.
    validation_fraction : float, default=0.1
        The share set aside, between 0 and 1.
    n_iter_no_change : int, default=5
        So many epochs without improvement end training.
    class_weight : dict, "balanced" or None, default=None
        A factor for the steps of each class; raising it makes mistakes on that class count more.
    warm_start : bool, default=False
        Begin `fit` with the weights of the last one.
    on_zero : {"update", "positive", "keep"}, default="update"
        What a score of exactly 0 is: always a mistake; a prediction of the second class (the first of tied classes); never one.
    multiclass : {"max", "all", "uniform", "proportional", "ovr"}, default="max"
        Who gives way when one of three or more classes gains: the top rival; every other class; all that score as high, evenly
        or by their lead; or nobody, K learners each against the rest.
    verbose : int, default=0
        1 prints a line for each epoch.
    n_jobs : None, default=None
        Accepted for compatibility: all classes are learned in one pass.
"""


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class OnlineParameters:
    """The parameters that every online learner has; stands before `LinearClassifier` among the bases."""

    fit_intercept: bool = True
    max_iter: int = 1000
    tol: float | None = 1e-3
    shuffle: bool | str = True
    random_state: Any = 0
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 5
    class_weight: Any = None
    warm_start: bool = False
    on_zero: str = "update"
    multiclass: str = "max"
    verbose: int = 0
    n_jobs: int | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()  # type: ignore[misc]
        check: Any = self
        name = type(self).__name__
        check._check_word("shuffle", [True, False, "replacement"])
        check._check_count("n_iter_no_change", "Larger values wait longer for an improvement.")
        check_tol(self)
        if self.early_stopping and not (is_real(self.validation_fraction) and 0 < self.validation_fraction < 1):
            raise ValueError(
                f"`validation_fraction` of {name} must lie between 0 and 1; got {self.validation_fraction!r}. It is the share "
                "of the examples set aside to decide when to stop."
            )
