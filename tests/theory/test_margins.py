"""Margins, radius and losses."""

import numpy as np
import pytest
import scipy.sparse as sp

from rosenblatt.theory import margin, perceptron_criterion, radius, zero_one_loss

X = np.array([[1, -1], [-1, -1], [0.01, 0], [-1, 0]])
Y = np.array([1, 1, 1, -1])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, np.ndarray.tolist])
def test_worked_example(kind):
    data = kind(X)
    assert margin([1, 0], data, Y) == -1.0
    assert margin([1, 0], data, Y, signed=False) == 0.01
    assert margin([7, 0], data, Y) == -1.0


def test_the_bias_is_part_of_both_vectors():
    points, labels = [[3.0], [1.0]], [1, -1]
    assert margin([1.0], points, labels, intercept=-2.0) == pytest.approx(1 / np.sqrt(5))
    assert margin([1.0], points, labels, intercept=-2.0, geometric=True) == pytest.approx(1)
    assert margin([[1.0]], points, ["yes", "no"], intercept=[-2.0]) == pytest.approx(1 / np.sqrt(5))


def test_the_margin_of_many_classes_is_the_smallest_lead():
    points, labels = np.eye(3), ["a", "b", "c"]
    assert margin(np.eye(3), points, labels) == pytest.approx(1 / np.sqrt(3))
    assert margin(np.eye(3), points, ["b", "a", "c"]) == pytest.approx(-1 / np.sqrt(3))
    assert margin(np.eye(3), points, labels, intercept=[0, 0.5, 0]) == pytest.approx(0.5 / np.sqrt(3.25))


def test_margin_refuses_wrong_input():
    with pytest.raises(ValueError, match="shape"):
        margin([1, 0, 0], X, Y)
    with pytest.raises(ValueError, match="not zero"):
        margin([0, 0], X, Y)
    with pytest.raises(ValueError, match="intercept"):
        margin([1, 0], X, Y, intercept=[1, 2])


def test_radius():
    points = np.array([[3.0, 4.0], [1, 0]])
    assert radius(points, fit_intercept=False) == 5
    assert radius(points) == pytest.approx(np.sqrt(26))
    assert radius(sp.csr_matrix(points)) == pytest.approx(np.sqrt(26))


def test_losses():
    scores, labels = [2.0, -3.0, 0.0, 0.0, 1.0], [1, 1, 1, -1, -1]
    assert zero_one_loss(scores, labels).tolist() == [0, 1, 1, 1, 1]
    assert zero_one_loss(scores, labels, on_zero="positive").tolist() == [0, 1, 0, 1, 1]
    assert zero_one_loss(scores, labels, on_zero="keep").tolist() == [0, 1, 0, 0, 1]
    assert perceptron_criterion(scores, labels).tolist() == [0, 3, 0, 0, 1]
    with pytest.raises(ValueError, match="on_zero"):
        zero_one_loss(scores, labels, on_zero="never")
    with pytest.raises(ValueError, match="−1 and"):
        perceptron_criterion(scores, [0, 1, 0, 1, 0])
    with pytest.raises(ValueError, match="one label per score"):
        perceptron_criterion(scores, [1])
