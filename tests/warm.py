"""Modules that the processes of `tests.forked` have imported and compiled before they start."""

import contextlib

import numpy as np

import rosenblatt as rb

for _package in (
    "rosenblatt.dask",
    "distributed.cli.dask_scheduler",
    "distributed.cli.dask_worker",
    "rosenblatt.serve.service",
):
    with contextlib.suppress(ImportError):  # extras that are not installed are not tested
        __import__(_package)

rb.AveragedPerceptron(max_iter=1, tol=None).fit(np.eye(2), [0, 1])
_model = rb.Perceptron()
for _label in ("a", "b", "c"):
    _model.learn_one({"x": 1.0, _label: 1.0}, _label)
    _model.predict_one({"x": 1.0})
