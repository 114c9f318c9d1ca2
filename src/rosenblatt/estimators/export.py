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

    def to_sklearn(self, encoder: bool = True) -> Any:
        """Return a fitted scikit-learn model with the same weights, classes and predictions.

        It is a `sklearn.linear_model.SGDClassifier`, or for a regression an SGDRegressor. For a model of `rosenblatt train` on a
        table it is a Pipeline that takes frames with the columns of the table: scaling, one-hot encoding, words, and that model.
        The scores agree to about 12 digits, because sums are made in another order.

        At a score of exactly 0 scikit-learn predicts the first of two classes and this library the one that is +1 in its rule:
        the second, unless `positive` or a stream has made it the first. For the second the intercept is raised by the smallest
        possible amount, so that both predict it. Ties of many classes may differ after a stream.

        Parameters
        ----------
        encoder : bool, default=True
            Whether to include the encoding of a table. False: the model takes the encoded features.

        Returns
        -------
        SGDClassifier, SGDRegressor or Pipeline
            A model can continue to learn with its `partial_fit`: the classifier by the rule of the perceptron, with the penalty
            of this learner.
        """
        from sklearn.linear_model import SGDClassifier, SGDRegressor

        coef, intercept, classes, order = self._linear("to_sklearn")
        names = getattr(self, "feature_names_in_", None)
        transformer = None
        if encoder and self._encodes_a_table():
            from .columns import Columns, as_transformer, without_constant

            columns = Columns.of(vars(self)["encoder_"], "to_sklearn")
            transformer, places = as_transformer(columns)
            coef = without_constant(coef, columns)[:, places]
        if classes is None:
            model = SGDRegressor(loss="epsilon_insensitive", alpha=0.0, learning_rate="constant", penalty=None)
            model.coef_, model.intercept_ = coef[0].astype(np.float64), intercept
        else:
            eta0 = float(getattr(self, "eta0", 1.0))
            model = SGDClassifier(loss="perceptron", learning_rate="constant", eta0=eta0, **self._penalty_settings())
            model.coef_ = coef.astype(np.float64)
            model.intercept_ = np.nextafter(intercept, np.inf) if classes.size == 2 and order is None else intercept
            model.classes_ = classes
        model.n_features_in_ = coef.shape[1]
        model.n_iter_ = int(getattr(self, "n_iter_", 1))
        model.t_ = float(getattr(self, "t_", 1.0))
        if transformer is not None:
            from sklearn.pipeline import Pipeline

            return Pipeline([("columns", transformer), ("model", model)])
        if names is not None:
            model.feature_names_in_ = names
        return model

    def _penalty_settings(self) -> dict[str, Any]:
        """The penalty as parameters of scikit-learn's learners."""
        if getattr(self, "penalty", None) is None:
            return {"penalty": None, "alpha": 0.0}
        return {name: getattr(self, name) for name in ("penalty", "alpha", "l1_ratio")}

    def _encodes_a_table(self) -> bool:
        """Whether the model takes the columns of a table."""
        own = vars(self).get("encoder_")
        return own is not None and own.family == "table"

    def to_onnx(self, encoder: bool = True) -> "ModelProto":
        """Return an ONNX graph with the same predictions.

        Its input `X` is a matrix of the float type of the weights; its outputs are `label`, one class for each row, and
        `scores`, those of `decision_function`, one column for two classes. A regression has one output, `prediction`. For a model
        of `rosenblatt train` on a table, each column is an input of its own with the shape (rows, 1): float64 for a column of
        numbers, in which NaN is a missing value, and text without surrounding blanks for a column of categories. Words cannot be
        expressed. The scores agree to about 12 digits, because sums are made in another order. Needs the package `onnx` (``pip
        install rosenblatt[onnx]``).

        Parameters
        ----------
        encoder : bool, default=True
            Whether to include the encoding of a table. False: the input `X` holds the encoded features.

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
        if encoder and self._encodes_a_table():
            from .columns import Columns, as_nodes

            number = TensorProto.DOUBLE
            inputs, constants, nodes = as_nodes(Columns.of(vars(self)["encoder_"], "to_onnx"), coef, intercept)
        else:
            inputs = [helper.make_tensor_value_info("X", number, ["rows", coef.shape[1]])]
            constants = [
                numpy_helper.from_array(np.ascontiguousarray(coef.T), "weights"),
                numpy_helper.from_array(intercept.astype(coef.dtype), "intercepts"),
            ]
            nodes = [
                helper.make_node("MatMul", ["X", "weights"], ["products"]),
                helper.make_node("Add", ["products", "intercepts"], ["scores"]),
            ]
        if classes is None:
            nodes.append(helper.make_node("Identity", ["scores"], ["prediction"]))
            outputs = [helper.make_tensor_value_info("prediction", number, ["rows", 1])]
        else:
            names, more, choice = _choice(
                classes, order, np.dtype(np.float32 if number == TensorProto.FLOAT else np.float64)
            )
            constants, nodes = constants + more, nodes + choice
            outputs = [
                helper.make_tensor_value_info("label", names.data_type, ["rows"]),
                helper.make_tensor_value_info("scores", number, ["rows", coef.shape[0]]),
            ]
        graph = helper.make_graph(nodes, type(self).__name__, inputs, outputs, constants)
        versions = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 2)]
        made = helper.make_model(graph, producer_name="rosenblatt", opset_imports=versions, ir_version=8)
        checker.check_model(made)
        return made

    def to_c(self, name: str = "model", learn: bool = False) -> str:
        r"""Return a header of C99 that predicts, without any library but libc.

        Its functions are `NAME_predict(x)`, `NAME_scores(x, scores)` and the same for sparse examples,
        `NAME_predict_sparse(indices, values, count)`. `NAME_classes` has the labels in the order of the numbers that
        `NAME_predict` returns, and `NAME_feature("name")` finds a feature. The comment at the beginning describes them. Scores
        have the same bits as those of the library, with any compiler that rounds as IEEE 754 says; -ffast-math is refused.

        Parameters
        ----------
        name : str, default="model"
            The beginning of all names in the header.
        learn : bool, default=False
            Whether the header can learn, too, with the same bits as `learn_one`: ``NAME_model m; NAME_start(&m);`` and
            ``NAME_learn(&m, x, y, &before);``. For rules that add a multiple of the example, with a diagonal covariance if any.

        Returns
        -------
        str
            The text of the header.

        Examples
        --------
        >>> import rosenblatt
        >>> model = rosenblatt.Perceptron().fit([[0.0], [1.0]], ["no", "yes"])
        >>> print(model.to_c("answer").split("\n")[0])  # doctest: +ELLIPSIS
        /* Perceptron, made by rosenblatt ...: predicts one of 2 classes from 1 feature.
        """
        from .c_header import header

        self._fitted()  # type: ignore[attr-defined]
        return header(self, name, learn)

    def _linear(self, method: str) -> tuple[Any, Any, Any, list[int] | None]:
        """Return weights, intercepts, classes, and the numbers of the classes in the core model if these are not sorted.

        A regression has None in place of classes.
        """
        fitted: Any = self
        linear = hasattr(self, "coef_")
        coef = None if not linear else fitted.coef_.toarray() if hasattr(fitted.coef_, "toarray") else fitted.coef_
        if coef is not None and not hasattr(fitted, "classes_"):
            return coef.reshape(1, -1), fitted.intercept_, None, None
        classes = fitted.classes_
        if coef is None or coef.shape[0] != (classes.size if classes.size > 2 else 1):
            raise ValueError(
                f"`{method}` needs a model with one weight vector for each class; {type(self).__name__} is a "
                f"{'committee of perceptrons' if linear else 'sum over examples'}. Train an AveragedPerceptron instead."
            )
        return coef, fitted.intercept_, classes, sorting(fitted.model_.classes)


def _choice(classes: Any, order: list[int] | None, dtype: Any) -> tuple[Any, list[Any], list[Any]]:
    """The labels, and constants and nodes that compute `label` from `scores`."""
    from onnx import TensorProto, helper, numpy_helper

    if classes.dtype.kind == "U":
        texts: list[Any] = [str(label).encode() for label in classes]
        names = helper.make_tensor("classes", TensorProto.STRING, [classes.size], texts)
    else:
        kind = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}[classes.dtype.kind]
        names = numpy_helper.from_array(classes.astype(kind), "classes")
    constants, nodes = [names], []
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
        zero = np.zeros(1, dtype) if classes.size == 2 else np.full(1, np.inf, dtype)
        constants += [numpy_helper.from_array(zero, "zero"), numpy_helper.from_array(np.array([1]), "axis")]
        nodes += [
            helper.make_node("GreaterOrEqual" if order is None else "Greater", ["scores", "zero"], ["second"]),
            helper.make_node("Cast", ["second"], ["seconds"], to=TensorProto.INT64),
            helper.make_node("Squeeze", ["seconds", "axis"], ["chosen"]),
        ]
    nodes.append(helper.make_node("Gather", ["classes", "chosen"], ["label"], axis=0))
    return names, constants, nodes
