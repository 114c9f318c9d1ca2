"""Exports: a model file, a scikit-learn model, an ONNX graph."""

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.model.scores import sorting

if TYPE_CHECKING:
    from onnx import ModelProto


class Exports:
    """Conversions of a fitted estimator."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, which `rosenblatt.load` reads.

        Parameters
        ----------
        path : str or path
            The file. An existing file is replaced only when the new one is complete and on disk.
        """
        from rosenblatt.model_file import save

        save(self, path)

    def to_sklearn(self) -> Any:
        """Return a fitted `sklearn.linear_model.SGDClassifier` with the same weights, classes and predictions.

        At a score of exactly 0 scikit-learn predicts the first of two classes and this library the one that is +1 in its rule:
        the second, unless `positive` or a stream has made it the first. For the second the intercept is raised by the smallest
        possible amount, so that both predict it. Ties of many classes may differ after a stream.

        Returns
        -------
        SGDClassifier
            It can continue to learn with its `partial_fit`.
        """
        from sklearn.linear_model import SGDClassifier

        coef, intercept, classes, order = self._linear("to_sklearn")
        model = SGDClassifier(loss="perceptron", alpha=0.0, learning_rate="constant", eta0=1.0, penalty=None)
        model.coef_ = coef.astype(np.float64)
        model.intercept_ = np.nextafter(intercept, np.inf) if classes.size == 2 and order is None else intercept
        model.classes_ = classes
        model.n_features_in_ = coef.shape[1]
        model.n_iter_ = int(getattr(self, "n_iter_", 1))
        model.t_ = float(getattr(self, "t_", 1.0))
        names = getattr(self, "feature_names_in_", None)
        if names is not None:
            model.feature_names_in_ = names
        return model

    def to_onnx(self) -> "ModelProto":
        """Return an ONNX graph with the same predictions.

        Its input `X` is a matrix of the float type of the weights; its outputs are `label`, one class for each row, and
        `scores`, those of `decision_function`, one column for two classes. Needs the package `onnx`
        (``pip install rosenblatt[onnx]``).

        Returns
        -------
        onnx.ModelProto
            Write it with ``onnx.save(graph, "model.onnx")``.
        """
        try:
            from onnx import TensorProto, checker, helper, numpy_helper
        except ImportError as error:
            raise ImportError("`to_onnx` needs the package onnx: pip install rosenblatt[onnx]") from error

        coef, intercept, classes, order = self._linear("to_onnx")
        number = TensorProto.FLOAT if coef.dtype == np.float32 else TensorProto.DOUBLE
        if classes.dtype.kind == "U":
            texts: list[Any] = [str(label).encode() for label in classes]
            names = helper.make_tensor("classes", TensorProto.STRING, [classes.size], texts)
        else:
            kind = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}[classes.dtype.kind]
            names = numpy_helper.from_array(classes.astype(kind), "classes")
        constants = [
            numpy_helper.from_array(np.ascontiguousarray(coef.T), "weights"),
            numpy_helper.from_array(intercept.astype(coef.dtype), "intercepts"),
            names,
        ]
        nodes = [
            helper.make_node("MatMul", ["X", "weights"], ["products"]),
            helper.make_node("Add", ["products", "intercepts"], ["scores"]),
        ]
        if classes.size > 2 and order is None:
            nodes.append(helper.make_node("ArgMax", ["scores"], ["chosen"], axis=1, keepdims=0))
        elif classes.size > 2 and order is not None:  # of tied classes the one that came first is predicted
            constants.append(numpy_helper.from_array(np.argsort(order).astype(np.int64), "places"))
            nodes += [
                helper.make_node("Gather", ["scores", "places"], ["arrived"], axis=1),
                helper.make_node("ArgMax", ["arrived"], ["first"], axis=1, keepdims=0),
                helper.make_node("Gather", ["places", "first"], ["chosen"], axis=0),
            ]
        else:
            # A score of 0 predicts the class +1, the second in its rule; a model that has seen only one class has none.
            zero = np.zeros(1, coef.dtype) if classes.size == 2 else np.full(1, np.inf, coef.dtype)
            constants += [numpy_helper.from_array(zero, "zero"), numpy_helper.from_array(np.array([1]), "axis")]
            nodes += [
                helper.make_node("GreaterOrEqual" if order is None else "Greater", ["scores", "zero"], ["second"]),
                helper.make_node("Cast", ["second"], ["seconds"], to=TensorProto.INT64),
                helper.make_node("Squeeze", ["seconds", "axis"], ["chosen"]),
            ]
        nodes.append(helper.make_node("Gather", ["classes", "chosen"], ["label"], axis=0))
        rows = helper.make_tensor_value_info("X", number, ["rows", coef.shape[1]])
        label = helper.make_tensor_value_info("label", names.data_type, ["rows"])
        scores = helper.make_tensor_value_info("scores", number, ["rows", coef.shape[0]])
        graph = helper.make_graph(nodes, type(self).__name__, [rows], [label, scores], constants)
        made = helper.make_model(
            graph, producer_name="rosenblatt", opset_imports=[helper.make_opsetid("", 17)], ir_version=8
        )
        checker.check_model(made)
        return made

    def _linear(self, method: str) -> tuple[Any, Any, Any, list[int] | None]:
        """Return weights, intercepts, classes, and the numbers of the classes in the core model if these are not sorted."""
        fitted: Any = self
        classes = fitted.classes_
        linear = hasattr(self, "coef_")
        if not linear or fitted.coef_.shape[0] != (classes.size if classes.size > 2 else 1):
            raise ValueError(
                f"`{method}` needs a model with one weight vector for each class; {type(self).__name__} is a "
                f"{'committee of perceptrons' if linear else 'sum over examples'}. Train an AveragedPerceptron instead."
            )
        coef = fitted.coef_.toarray() if hasattr(fitted.coef_, "toarray") else fitted.coef_
        return coef, fitted.intercept_, classes, sorting(fitted.model_.classes)
