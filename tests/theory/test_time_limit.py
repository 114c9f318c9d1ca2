"""`certify` with a time limit: it ends, claims nothing that it has not proved, and reports its progress."""

import json
import time

import numpy as np
import pytest

import rosenblatt as rb
from tests.cli.helpers import call


def hard(n=3000, d=300):
    """Overlapping classes whose decision takes many steps."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, d)) + 0.3 * y[:, None] * rng.normal(size=d), y


def test_a_search_that_is_out_of_time_is_undecided():
    X, y = hard()
    began = time.monotonic()
    certificate = rb.certify(X, y, max_seconds=0.05)
    assert time.monotonic() - began < 10.0
    assert certificate.status == "undecided"
    assert certificate.limit == "max_seconds"
    assert certificate.separator is None
    assert certificate.combination is None
    assert not certificate.verify()
    assert "stopped   by the limit of max_seconds; raise it" in str(certificate)
    by_steps = rb.certify(X, y, max_steps=3)
    assert (by_steps.status, by_steps.limit) == ("undecided", "max_steps")


def test_a_margin_that_is_out_of_time_is_wide_but_true():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 200))
    w = rng.normal(size=200)
    X, y = X[np.abs(X @ w) > 1.0], (X @ w > 0)[np.abs(X @ w) > 1.0]
    certificate = rb.certify(X, y, tol=1e-6, max_seconds=1e-6)
    if certificate.status == "separable":  # the short perceptron run comes before the search
        assert certificate.limit == "max_seconds"
        assert certificate.verify()
    else:
        assert (certificate.status, certificate.limit) == ("undecided", "max_seconds")


def test_without_a_limit_nothing_is_said_of_one():
    certificate = rb.certify([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 1], max_seconds=60.0)
    assert (certificate.status, certificate.limit) == ("separable", None)
    assert "stopped" not in str(certificate)
    with pytest.raises(ValueError, match="`max_seconds` of certify must be greater than 0"):
        rb.certify([[0.0], [1.0]], [0, 1], max_seconds=0)


def test_progress_is_reported():
    X, y = hard(1500, 150)
    said = []
    rb.certify(X, y, max_steps=200, max_seconds=30, progress=lambda *state: said.append(state))
    assert said
    assert all(steps >= 0 and rows >= 1 and 0.0 <= share <= 1.0 for steps, rows, share in said)


def test_the_time_limit_on_the_command_line(tmp_path):
    X, y = hard(1200, 120)
    table = tmp_path / "hard.csv"
    table.write_text("".join(f"{','.join(map(repr, row))},{label}\n" for row, label in zip(X.tolist(), y, strict=True)))
    done = json.loads(call("certify", str(table), "--no-header", "--json", "--max-seconds", "0.001").stdout)
    assert (done["status"], done["limit"], done["verified"]) == ("undecided", "max_seconds", False)
