"""`to_c`: headers that predict and learn with the bits of the library, compiled with gcc."""

import ctypes
import json
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import rosenblatt as rb
from tests.cli.helpers import call
from tests.helpers import blobs

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")

LEARNING = {
    "perceptron": rb.Perceptron(),
    "positive": rb.Perceptron(on_zero="positive", fit_intercept=False, eta0=0.3),
    "averaged": rb.AveragedPerceptron(),
    "margin": rb.MarginPerceptron(b=0.75),
    "pa1": rb.PassiveAggressive(C=0.3),
    "pa2": rb.PassiveAggressive(variant="PA-II", fit_intercept=False, readout="average"),
    "pa": rb.PassiveAggressive(variant="PA"),
    "arow": rb.AROW(r=0.7),
    "arow_mean": rb.AROW(readout="average", fit_intercept=False),
    "cw": rb.CW(),
    "scw": rb.SoftConfidenceWeighted(C=0.5),
    "nherd": rb.NHERD(),
    "sop": rb.SecondOrderPerceptron(),
    "para": rb.PassiveAggressiveRegressor(variant="PA-II", epsilon=0.2, readout="average"),
    "arowr": rb.AROWRegressor(),
}
PREDICTING = {
    "winnow": rb.Winnow(balanced=True),
    "romma": rb.ROMMA(),
    "alma": rb.ALMA(readout="average"),
    "full": rb.AROW(covariance="full"),
    "ovr": rb.Perceptron(multiclass="ovr"),
}
CASES = [(name, classes, dtype) for name in LEARNING | PREDICTING for classes in (2, 3) for dtype in ("d", "f")]
CASES = [case for case in CASES if not (case[0] in ("para", "arowr") and case[1] == 3)]
ROWS, FEATURES = 40, 11


def problem(name, classes, dtype):
    """Examples in two halves and their labels, or targets."""
    X, y = blobs(2 * ROWS, FEATURES, classes, seed=3, dtype=np.float32 if dtype == "f" else np.float64)
    return X, (X @ np.arange(FEATURES) + y).astype(float) if name in ("para", "arowr") else y


def prefix(name, classes, dtype):
    return f"{name}_{classes}{dtype}"


def trained(name, classes, dtype):
    """A learner that knows the first half."""
    X, y = problem(name, classes, dtype)
    model = clone((LEARNING | PREDICTING)[name])
    if name not in ("para", "arowr") and dtype == "f":
        return model.partial_fit(X[:ROWS], y[:ROWS], classes=range(classes))
    return model.partial_fit(X[:ROWS], y[:ROWS])


FUNCTIONS = """
void run_@(const @_number *x, int rows, double *scores, double *guesses) {
    int i;
    for (i = 0; i < rows; i++) {
        @_scores(x + i * @U_FEATURES, scores + i * @U_VECTORS);
        guesses[i] = @_predict(x + i * @U_FEATURES);
    }
}
void sparse_@(const @_number *x, int rows, double *scores) {
    int i;
    for (i = 0; i < rows; i++) {
        size_t j, places[@U_FEATURES], count = 0;
        @_number values[@U_FEATURES];
        for (j = 0; j < @U_FEATURES; j++) {
            if (x[i * @U_FEATURES + j] != 0) {
                places[count] = j;
                values[count++] = x[i * @U_FEATURES + j];
            }
        }
        @_scores_sparse(places, values, count, scores + i * @U_VECTORS);
    }
}
"""
TEACHING = """
int teach_@(const @_number *x, const double *y, int rows, double *guesses, @_number *w, double *bias) {
    static @_model m;
    int i, bad = 0;
    @_start(&m);
    for (i = 0; i < rows; i++) {
        RESULT before;
        bad += @_learn(&m, x + i * @U_FEATURES, (RESULT)y[i], &before);
        guesses[i] = before;
    }
    memcpy(w, m.w, @U_FEATURES * @U_VECTORS * sizeof *w);
    memcpy(bias, m.bias, sizeof m.bias);
    return bad;
}
"""


@pytest.fixture(scope="module", params=["-std=c99 -O2", "-std=gnu99 -O3 -march=native -ffp-contract=fast"])
def library(request, tmp_path_factory):
    """All headers, compiled together."""
    folder, source = tmp_path_factory.mktemp("c"), []
    for case in CASES:
        for learn in (False, True) if case[0] in LEARNING else (False,):
            name = prefix(*case) + "_learn" * learn
            (folder / f"{name}.h").write_text(trained(*case).to_c(name, learn=learn))
            result = "double" if case[0] in ("para", "arowr") else "int"
            text = (TEACHING if learn else FUNCTIONS).replace("RESULT", result)
            source.append(f'#include "{name}.h"\n' + text.replace("@U", name.upper()).replace("@", name))
    (folder / "all.c").write_text("\n".join(source))
    flags = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-shared", "-fPIC"]
    made = subprocess.run(
        ["gcc", *request.param.split(), *flags, "all.c", "-o", "all.so", "-lm"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr[:3000]
    return ctypes.CDLL(str(folder / "all.so"))


def address(array):
    return array.ctypes.data_as(ctypes.c_void_p)


@pytest.mark.parametrize("case", CASES, ids=lambda case: prefix(*case))
def test_scores_and_predictions_have_the_same_bits(library, case):
    model, X = trained(*case), np.ascontiguousarray(problem(*case)[0][ROWS:])
    vectors = model.model_.vectors
    scores, sparse, guesses = np.empty((ROWS, vectors)), np.empty((ROWS, vectors)), np.empty(ROWS)
    getattr(library, f"run_{prefix(*case)}")(address(X), ROWS, address(scores), address(guesses))
    getattr(library, f"sparse_{prefix(*case)}")(address(X), ROWS, address(sparse))
    assert np.array_equal(scores, model._scores(X))
    assert np.array_equal(sparse, scores)
    classes = model.model_.classes
    assert (
        [classes[int(guess)] for guess in guesses] == model.predict(X).tolist()
        if classes
        else (guesses.tolist() == model.predict(X).tolist())
    )


@pytest.mark.parametrize("case", [case for case in CASES if case[0] in LEARNING], ids=lambda case: prefix(*case))
def test_learning_gives_the_same_weights(library, case):
    model, (X, y) = trained(*case), problem(*case)
    X, y = np.ascontiguousarray(X[ROWS:]), y[ROWS:]
    core = model.model_
    w = np.empty((FEATURES, core.vectors), X.dtype)
    bias, guesses = np.empty(core.vectors), np.empty(ROWS)
    codes = np.array([core.class_number[label] for label in y.tolist()] if core.classes else y, float)
    bad = getattr(library, f"teach_{prefix(*case)}_learn")(
        address(X), address(codes), ROWS, address(guesses), address(w), address(bias)
    )
    assert bad == 0
    before = [model.learn_one(x, label) for x, label in zip(X, y.tolist(), strict=True)]
    assert [core.classes[int(guess)] if core.classes else guess for guess in guesses] == before
    state = model.model_.state
    assert np.array_equal(w, state.w[:FEATURES].reshape(FEATURES, -1)[:, : core.vectors])
    assert np.array_equal(bias, state.bias)


ODD = 'co@_l"our?\\'
"""A column whose name has characters that mean something in C or in the templates of the header."""


def test_names_of_a_table(tmp_path):
    """Categories are found by name, and numbers are scaled as by the encoder."""
    frame = pd.DataFrame({"size": [1.5, 2.5, 4.0, 3.5, 0.25] * 8, ODD: ["NAME_", "grün", "NAME_", "grün", "@U_"] * 8})
    frame.assign(label=["no", "yes", "no", "yes", "no"] * 8).to_csv(tmp_path / "a.csv", index=False)
    call("train", tmp_path / "a.csv", "-m", tmp_path / "a.model", "--epochs", 3, "--label", "label")
    model = rb.load(tmp_path / "a.model")
    (tmp_path / "t.h").write_text(model.to_c("t"), encoding="utf-8")
    category = json.dumps(f"{ODD}=grün", ensure_ascii=False)
    (tmp_path / "t.c").write_text(
        f"""
#include "t.h"
#include <stdio.h>
int main(void)
{{
    int j;
    double x[T_FEATURES] = {{0}}, scores[1];
    for (j = 0; j < T_FEATURES; j++)
        printf("%s\\n", t_features[j]);
    x[t_feature("size")] = t_column(0, 2.5);
    x[t_feature({category})] = 1;
    t_scores(x, scores);
    printf("%a %s %d\\n", scores[0], t_classes[t_predict(x)], t_feature("nothing"));
    return 0;
}}
""",
        encoding="utf-8",
    )
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-trigraphs"]
    subprocess.run(["gcc", *strict, "t.c", "-o", "t", "-lm"], cwd=tmp_path, check=True)
    *names, last = subprocess.run([tmp_path / "t"], capture_output=True, check=True).stdout.decode().splitlines()
    assert names == model.encoder_.names()
    score, label, nothing = last.split()
    assert float.fromhex(score) == model.decision_function(frame.iloc[[1]])[0]
    assert label == model.predict(frame.iloc[[1]])[0]
    assert nothing == "-1"


def test_what_cannot_be_written_in_c_is_refused():
    X, y = blobs(30, 3, 3)
    for model, message in (
        (rb.VotedPerceptron(), "predicts by votes"),
        (rb.ParallelPerceptron(), "predicts by votes"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(X, y > 0).to_c()
    for model, message in (
        (rb.ROMMA(), "ROMMA does not"),
        (rb.Winnow(), "Winnow does not"),
        (rb.AROW(covariance="full"), "diagonal covariance"),
        (rb.Perceptron(multiclass="uniform"), "got 'uniform'"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(np.abs(X), y).to_c(learn=True)
    with pytest.raises(ValueError, match="a name of C"):
        rb.Perceptron().fit(X, y).to_c("two words")

    @rb.rule
    def loops(margin, eta=1.0):
        total = 0.0
        for _ in range(3):
            total += eta
        return total if margin <= 0 else 0.0

    with pytest.raises(ValueError, match=r"cannot write the step function `loops` in C, because it has the statement"):
        loops().fit(X, y).to_c(learn=True)
