"""Traces: the tables of the lecture notes digit by digit, and the same final weights as the learners."""

import csv
import io
import json
import re

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import rosenblatt
from rosenblatt import ParallelPerceptron
from rosenblatt.learners.kernel_perceptron import KernelPerceptron
from rosenblatt.trace import Trace, trace

# The worked examples of the lecture notes.
WALK = {"X": [[4, 0], [1, 1], [0, 1], [-2, -2]], "y": [1, -1, -1, 1]}
XOR = {"X": [[1, 1], [1, -1], [-1, 1], [-1, -1]], "y": [1, -1, -1, 1]}
TABLE = {"X": [[1, 1], [3, 2], [2, 4], [3, 4], [2, 3]], "y": [-1, 1, 1, 1, -1]}
THREE = {"W": [[-2, 2, 1], [0, 3, 4], [1, 4, -2]], "x": [-2, 3, 1]}

TABLE_TEXT = """\
step  weights      score                  correct?  update
----  -----------  ---------------------  --------  -----------
1     [-1, 0, 0]   -1·1 + 0·1 + 0·1 = -1  yes       none
2     [-1, 0, 0]   -1·1 + 0·3 + 0·2 = -1  no        + [1, 3, 2]
3     [0, 3, 2]    0·1 + 3·2 + 2·4 = 14   yes       none
4     [0, 3, 2]    0·1 + 3·3 + 2·4 = 17   yes       none
5     [0, 3, 2]    0·1 + 3·2 + 2·3 = 12   no        - [1, 2, 3]
6     [-1, 1, -1]"""

TABLE_MARKDOWN = """\
| step | weights | score | correct? | update |
| --- | --- | --- | --- | --- |
| 1 | [-1, 0, 0] | -1·1 + 0·1 + 0·1 = -1 | yes | none |
| 2 | [-1, 0, 0] | -1·1 + 0·3 + 0·2 = -1 | no | + [1, 3, 2] |
| 3 | [0, 3, 2] | 0·1 + 3·2 + 2·4 = 14 | yes | none |
| 4 | [0, 3, 2] | 0·1 + 3·3 + 2·4 = 17 | yes | none |
| 5 | [0, 3, 2] | 0·1 + 3·2 + 2·3 = 12 | no | - [1, 2, 3] |
| 6 | [-1, 1, -1] |  |  |  |"""

WALK_TEXT = """\
step  weights  score                  correct?  update
----  -------  ---------------------  --------  ----------
1     [0, 0]   0·4 + 0·0 = 0          no        + [4, 0]
2     [4, 0]   4·1 + 0·1 = 4          no        - [1, 1]
3     [3, -1]  3·0 + -1·1 = -1        yes       none
4     [3, -1]  3·(-2) + -1·(-2) = -4  no        + [-2, -2]
5     [1, -3]"""

XOR_TEXT = """\
step  weights  score                 correct?  update
----  -------  --------------------  --------  ----------
1     [0, 0]   0·1 + 0·1 = 0         no        + [1, 1]
2     [1, 1]   1·1 + 1·(-1) = 0      no        - [1, -1]
3     [0, 2]   0·(-1) + 2·1 = 2      no        - [-1, 1]
4     [1, 1]   1·(-1) + 1·(-1) = -2  no        + [-1, -1]
5     [0, 0]"""

CORRECTION_TEXT = """\
step  weights     score                 correct?  update
----  ----------  --------------------  --------  -----------
1     [2, 2, 2]   2·4 + 2·0 + 2·1 = 10  no        - [4, 0, 1]
2     [-2, 2, 1]"""

THREE_TEXT = """\
step  weights         score                        correct?  update
----  --------------  ---------------------------  --------  ---------------
1     0: [-2, 2, 1]   0: -2·(-2) + 2·3 + 1·1 = 11  no        1: - [-2, 3, 1]
      1: [0, 3, 4]    1: 0·(-2) + 3·3 + 4·1 = 13             2: + [-2, 3, 1]
      2: [1, 4, -2]   2: 1·(-2) + 4·3 + -2·1 = 8
2     0: [-2, 2, 1]
      1: [2, 0, 3]
      2: [-1, 7, -1]"""


def notes_table():
    return trace(**TABLE, init=[-1, 0, 0], on_zero="positive")


def test_the_table_of_the_notes_as_text():
    assert notes_table().to_text(columns="notes") == TABLE_TEXT


def test_the_table_of_the_notes_as_markdown():
    assert notes_table().to_markdown(columns="notes") == TABLE_MARKDOWN


def test_the_tables_of_the_walk_and_the_exclusive_or():
    assert trace(**WALK, fit_intercept=False).to_text("notes") == WALK_TEXT
    run = trace(**XOR, fit_intercept=False)
    assert run.to_text("notes") == XOR_TEXT
    assert run.comparator is None
    assert all(step.squeeze is None for step in run)


def test_one_correction_with_a_single_label():
    run = trace([[4, 0, 1]], [-1], init=[2, 2, 2], fit_intercept=False, on_zero="positive")
    assert run.to_text("notes") == CORRECTION_TEXT
    assert run.classes == (-1, 1)
    assert run.weights @ [4, 0, 1] == 10 - 17  # the score falls by the squared length of the example


@pytest.mark.parametrize("shuffle", [True, "replacement"])
def test_missing_classes_do_not_change_the_order_of_the_examples(shuffle):
    X = np.arange(12.0).reshape(6, 2)
    visits = [
        [step.example for step in trace(X, [0, 1, 0, 1, 0, 1], classes=known, max_iter=3, shuffle=shuffle)]
        for known in ([0, 1], [0, 1, 2, 3])
    ]
    assert visits[0][:12] == visits[1][:12]
    assert len(visits[1]) % 6 == 0


@pytest.mark.parametrize(
    ("multiclass", "after"),
    [("max", [[-2, 2, 1], [2, 0, 3], [-1, 7, -1]]), ("all", [[0, -1, 0], [2, 0, 3], [-1, 7, -1]])],
)
def test_three_classes_one_mistake(multiclass, after):
    run = trace([THREE["x"]], [2], classes=[0, 1, 2], init=THREE["W"], fit_intercept=False, multiclass=multiclass)
    (step,) = run
    assert step.scores.tolist() == [11, 13, 8]
    assert (step.predicted, step.label, step.correct) == (1, 2, False)
    assert step.before.tolist() == THREE["W"]
    assert step.after.tolist() == run.weights.tolist() == after
    assert (step.before + step.update).tolist() == after
    if multiclass == "max":
        assert run.to_text("notes") == THREE_TEXT


def test_every_field_of_a_step():
    step = notes_table()[1]
    assert (step.number, step.epoch, step.example) == (2, 1, 2)
    assert step.x.tolist() == [1, 3, 2]
    assert (step.label, step.predicted, step.correct, step.moved) == (1, -1, False, True)
    assert step.scores.tolist() == [-1]
    assert step.moves.tolist() == [1]
    assert (step.before.tolist(), step.update.tolist(), step.after.tolist()) == ([[-1, 0, 0]], [[1, 3, 2]], [[0, 3, 2]])
    assert step.squeeze.holds


def test_the_squeeze_agrees_with_the_proof():
    run = trace(**WALK, fit_intercept=False, max_iter=5)
    gamma, R = run.comparator.margin, run.comparator.radius
    u = run.comparator.weights.ravel()
    assert np.isclose(np.linalg.norm(u), 1)
    assert run.formula == "kγ ≤ ⟨w,u⟩ ≤ ‖w‖ ≤ √k·R"
    k = 0
    for step in run:
        k += step.moved
        expected = (k * gamma, step.after.ravel() @ u, np.linalg.norm(step.after), np.sqrt(k) * R)
        np.testing.assert_allclose(step.squeeze, expected, atol=1e-12)
        assert step.squeeze.holds
    assert run.total_updates <= run.bound
    assert run.formula in run.to_text()


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        ("perceptron", {"init": [-3, 5, 5], "eta0": 0.5}),
        ("averaged", {}),
        ("voted", {"eta0": 2.0}),
        ("pocket", {}),
        ("margin", {"b": 2.0, "eta0": 0.5}),
    ],
)
def test_the_squeeze_holds_for_every_mistake_driven_rule(algorithm, options):
    run = trace(**TABLE, algorithm=algorithm, max_iter=200, limit=None, **options)
    assert run.total_updates > 3
    assert all(step.squeeze.holds for step in run)
    assert run.total_updates <= run.bound


@pytest.mark.parametrize("multiclass", ["max", "uniform", "proportional"])
def test_the_squeeze_of_many_classes(multiclass):
    X, y = three_blobs(0.3)
    run = trace(X, y, max_iter=50, multiclass=multiclass, limit=None)
    assert run.total_updates >= 3
    assert all(step.squeeze.holds for step in run)
    assert trace(X, y, multiclass="all").comparator is None
    assert trace(X, y, multiclass="ovr").comparator is None


def test_the_survivors_and_the_average_of_the_walk():
    voted = trace(**WALK, algorithm="voted", fit_intercept=False)
    assert [(one.weights.tolist(), one.count) for one in voted.survivors] == [
        ([[4, 0]], 1),
        ([[3, -1]], 2),
        ([[1, -3]], 1),
    ]
    assert [step.survived for step in voted] == [1, 1, 2, 1]
    assert "survivors: [4, 0] × 1, [3, -1] × 2, [1, -3] × 1" in voted.to_text()
    averaged = trace(**WALK, algorithm="averaged", fit_intercept=False)
    assert (4 * averaged.weights).tolist() == [[11, -5]]
    assert [step.average.tolist() for step in averaged][:2] == [[[4, 0]], [[3.5, -0.5]]]
    assert "average" in averaged.to_text().splitlines()[0]


def test_the_pocket_shows_its_mistakes():
    X, y = noisy()
    run = trace(X, y, "pocket", max_iter=5, limit=None)
    pockets = [step.pocket for step in run]
    assert pockets == sorted(pockets, reverse=True)
    model = rosenblatt.PocketPerceptron(max_iter=5, shuffle=False).fit(X, y)
    assert pockets[-1] >= model.pocket_mistakes_
    assert "mistakes of the pocket" in run.to_text()


def test_batch_has_one_step_for_each_epoch():
    run = trace(**WALK, algorithm="batch", fit_intercept=False, max_iter=5)
    assert [step.mistakes for step in run] == [(1, 2, 3, 4), ()]
    assert run[0].update.tolist() == [[0.25, -1]]
    assert "wrong: 1, 2, 3, 4" in run.to_text()


def test_winnow_shows_factors():
    run = trace(**WALK, algorithm="winnow", fit_intercept=False)
    step = run[1]
    np.testing.assert_allclose(step.after, step.before * np.exp(step.update))
    assert "× exp(- 0.5·[1, 1])" in run.to_text()
    assert step.squeeze is None


def test_a_step_of_passive_aggressive_is_written_with_its_size():
    assert "+ 0.0625·[4, 0]" in trace(**WALK, algorithm="passive-aggressive", fit_intercept=False).to_text()


# ---- the real learners ----


def noisy(classes=2):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 3))
    scores = X @ rng.normal(size=(3, classes)) + 0.7 * rng.normal(size=(40, classes))
    return X, scores.argmax(axis=1)


def three_blobs(spread):
    rng = np.random.default_rng(2)
    centres = np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 2.5]])
    return np.vstack([rng.normal(c, spread, (12, 2)) for c in centres])[::-1].copy(), np.repeat(["a", "b", "c"], 12)


LEARNERS = {
    "perceptron": rosenblatt.Perceptron,
    "averaged": rosenblatt.AveragedPerceptron,
    "voted": rosenblatt.VotedPerceptron,
    "pocket": rosenblatt.PocketPerceptron,
    "batch": rosenblatt.BatchPerceptron,
    "margin": rosenblatt.MarginPerceptron,
    "passive-aggressive": rosenblatt.PassiveAggressive,
    "winnow": rosenblatt.Winnow,
}


@pytest.mark.parametrize("algorithm", LEARNERS)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("shuffle", [False, True, "replacement"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_trace_ends_with_the_weights_of_fit(algorithm, classes, shuffle, fit_intercept):
    X, y = noisy(classes)
    parameters = {"max_iter": 4, "fit_intercept": fit_intercept}
    if algorithm != "batch":
        parameters |= {"shuffle": shuffle, "random_state": 3, "tol": None}
    model = LEARNERS[algorithm](**parameters).fit(X, y)
    run = trace(X, y, algorithm, comparator=None, **parameters)
    coef, intercept = model.model_.coef()
    expected = np.hstack([intercept[:, None], coef]) if fit_intercept else coef
    np.testing.assert_array_equal(run.weights, expected)
    updates = sum(step.moved for step in run) if algorithm == "batch" else model.updates_
    assert (run.epochs, run.total_mistakes, run.total_updates) == (model.n_iter_, model.mistakes_, updates)


@pytest.mark.parametrize("multiclass", ["all", "uniform", "proportional", "ovr"])
def test_every_scheme_ends_with_the_weights_of_fit(multiclass):
    X, y = noisy(4)
    model = rosenblatt.Perceptron(multiclass=multiclass, max_iter=3, tol=None, shuffle=False).fit(X, y)
    run = trace(X, y, multiclass=multiclass, max_iter=3)
    np.testing.assert_array_equal(run.weights[:, 1:], model.coef_)
    np.testing.assert_array_equal(run.weights[:, 0], model.intercept_)
    for step in run:
        np.testing.assert_allclose(step.before + step.update, step.after, atol=1e-12)


def test_steps_follow_from_each_other():
    X, y = noisy()
    run = trace(X, y, max_iter=3, limit=None)
    np.testing.assert_array_equal(run[0].before, run.start)
    for before, after in zip(run.steps, run.steps[1:], strict=False):
        assert after.before is before.after
    for step in run:
        np.testing.assert_allclose(step.before @ step.x, step.scores, atol=1e-12)
        assert step.label == y[step.example - 1]


def test_sparse_and_dense_give_the_same_trace():
    X, y = noisy()
    assert trace(csr_matrix(X), y, comparator=None).to_json() == trace(X, y, comparator=None).to_json()


def test_a_frame_names_its_features():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(TABLE["X"], columns=["height", "width"])
    assert trace(frame, TABLE["y"]).features == ("1", "height", "width")


@pytest.mark.parametrize(("names", "bias"), [(["0", "1"], "bias"), (["bias", "1"], "bias'")])
def test_the_bias_and_the_features_have_different_names(names, bias):
    pd = pytest.importorskip("pandas")
    run = trace(pd.DataFrame(TABLE["X"], columns=names), TABLE["y"])
    assert run.features == (bias, *names)
    columns = [f"x:{name}" for name in (bias, *names)]
    assert run.to_frame()[columns].to_numpy().tolist() == [step.x.tolist() for step in run]
    assert ",".join(columns) in run.to_csv()


@pytest.mark.parametrize("multiclass", ["max", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_kernel_trace_ends_with_the_coefficients_of_fit(classes, multiclass):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (30, 2)).astype(float)
    y = np.array(["a", "b", "c"])[(X[:, 0] * X[:, 1] > 0).astype(int) + (classes == 3) * (X[:, 0] > 1)]
    parameters = {"degree": 2, "multiclass": multiclass, "max_iter": 6, "shuffle": True, "random_state": 1}
    model = KernelPerceptron(**parameters, tol=None).fit(X, y)
    run = trace(X, y, "kernel", **parameters)
    expected = np.zeros_like(run.weights)
    expected[:, model.support_] = model.dual_coef_
    np.testing.assert_array_equal(run.weights, expected)
    assert (run.epochs, run.total_updates) == (model.n_iter_, model.updates_)
    for step in run:
        np.testing.assert_allclose(step.before @ step.x, step.scores)


def test_a_kernel_solves_exclusive_or_within_its_bound():
    run = trace(**XOR, algorithm="kernel", degree=2, max_iter=10)
    assert run.total_mistakes == 4 <= run.bound
    assert all(step.squeeze.holds for step in run)
    assert "- φ(x2)" in run.to_text()
    assert "1·1 + -1·1 + -1·1 = -1" in run.to_text()


# ---- forms ----


@pytest.mark.parametrize("algorithm", [*LEARNERS, "kernel"])
def test_json_round_trips(algorithm):
    X, y = three_blobs(0.5)
    run = trace(X, y, algorithm, max_iter=2)
    saved = run.to_json()
    data = json.loads(saved, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert data["algorithm"] == algorithm
    assert len(data["steps"]) == len(run)
    back = Trace.from_json(saved)
    assert back.to_json() == saved
    assert back.to_text() == run.to_text()
    assert back.to_html() == run.to_html()
    np.testing.assert_array_equal(back[0].after, run[0].after)


@pytest.mark.parametrize("text", ["[]", "{}", '{"algorithm": "perceptron"}'])
def test_other_json_is_refused(text):
    with pytest.raises(ValueError, match=r"must be JSON that Trace\.to_json wrote"):
        Trace.from_json(text)


def test_labels_are_escaped():
    wicked = ["<script>alert(1)</script>", "a|b*c_d&"]
    run = trace([[1.0], [-1.0]], wicked, max_iter=2)
    page = run.to_html()
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "a|b*c_d&amp;" in page
    markdown = run.to_markdown()
    assert r"a\|b\*c\_d&amp;" in markdown
    assert "<script>" not in markdown
    assert {row["label"] for row in csv.DictReader(io.StringIO(run.to_csv()))} == set(wicked)
    assert "http" not in page


def test_html_is_one_table():
    page = notes_table().to_html()
    assert page.count("<table") == page.count("</table>") == 1
    assert page.count("<tr") == 1 + 5 + 1
    assert page.count('class="mistake"') == 2
    assert notes_table()._repr_html_() == page


def test_csv_and_frame_hold_the_same_numbers():
    pytest.importorskip("pandas")
    run = notes_table()
    rows = list(csv.DictReader(io.StringIO(run.to_csv())))
    frame = run.to_frame()
    assert list(rows[0]) == list(frame.columns)
    assert [float(row["score"]) for row in rows] == frame["score"].tolist() == [-1, -1, 14, 17, 12]
    assert frame[["after:1", "after:x1", "after:x2"]].to_numpy()[-1].tolist() == [-1, 1, -1]
    assert frame["correct"].tolist() == [True, False, True, True, False]


def test_to_frame_without_pandas_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match=r"needs pandas.*to_csv"):
        notes_table().to_frame()


@pytest.mark.parametrize("value", ["text", "markdown", "html"])
def test_columns_and_digits(value):
    run = trace(**WALK, algorithm="winnow", fit_intercept=False)
    form = getattr(run, f"to_{value}")
    assert "0.61" in form(columns=["step", "after"], digits=2)
    assert "0.6065" not in form(columns=["step", "after"], digits=2)
    with pytest.raises(ValueError, match=r"`columns` of a trace's table must be .*; got \['nonsense'\]"):
        form(columns=["nonsense"])
    with pytest.raises(ValueError, match="`digits` of a trace's table must be at least 1; got 0"):
        form(digits=0)


def test_long_vectors_are_shortened():
    rng = np.random.default_rng(0)
    run = trace(rng.integers(0, 9, (4, 300)), [0, 1, 0, 1])
    assert max(map(len, run.to_text().splitlines())) < 400
    assert "… 290 more …" in run.to_text()
    assert run[0].x.shape == (301,)


# ---- sampling ----


def test_a_long_run_is_sampled_with_a_note():
    X, y = noisy()
    everything = trace(X, y, max_iter=30, limit=None)
    assert len(everything) == everything.total == 30 * 40
    assert not everything.note
    sampled = trace(X, y, max_iter=30, limit=40)
    assert len(sampled) <= 40
    assert sampled.total == everything.total
    numbers = [step.number for step in sampled]
    assert numbers == sorted(set(numbers))
    assert numbers[:10] == list(range(1, 11))
    assert numbers[-10:] == list(range(1191, 1201))
    middle = sampled.steps[10:-10]
    assert len(middle) >= 10
    assert not any(step.correct for step in middle)
    wrong = [step.number for step in everything if not step.correct and step.number > 10]
    assert len({*np.diff([wrong.index(step.number) for step in middle])}) == 1  # evenly spread over the whole run
    assert middle[-1].number > 900
    assert f"{len(sampled)} of 1,200 steps are shown: the first 10, the last 10" in sampled.to_text()
    assert "weights after" in sampled.to_text()
    np.testing.assert_array_equal(sampled.weights, everything.weights)
    for step in sampled:
        np.testing.assert_array_equal(step.after, everything[step.number - 1].after)


@pytest.mark.parametrize("limit", [4, 5, 7, 39, 40, 41, 160])
def test_the_sample_never_exceeds_its_limit(limit):
    X, y = noisy()
    run = trace(X, y, max_iter=4, limit=limit)
    assert len(run) <= limit
    assert run[0].number == 1
    assert run[-1].number == run.total == 160
    assert (len(run) == run.total) == (limit >= 160) == (not run.note)


def test_the_default_keeps_few_steps():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    assert len(trace(X, X[:, 0] > 0.1, max_iter=2)) <= 200


# ---- errors ----


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"algorithm": "svm"},
            "`algorithm` of trace must be the name of a learner; got 'svm'. Choose one of perceptron",
        ),
        ({"limit": 3}, "`limit` of trace must be a whole number of at least 4, or None for all steps; got 3"),
        ({"init": [1, 2]}, r"`init` of trace must hold 3 numbers, the bias first; got the shape \(2,\)"),
        ({"y": [1, -1]}, r"`y` of trace must have one label for each of the 5 examples; got the shape \(2,\)"),
        ({"classes": [1, 2]}, r"`classes` of trace must hold every label of y, which has \[-1, 1\]; got \[1, 2\]"),
        ({"comparator": "best"}, "`comparator` of trace must be 'auto', None or the weights of a separator"),
        (
            {"comparator": [1, 1, 1]},
            "`comparator` of trace must separate the examples, with a margin greater than 0; got",
        ),
        ({"comparator": [1, 1]}, "`comparator` of trace must hold 1 × 3 finite weights, the bias first; got the shape"),
        ({"early_stopping": True}, "`early_stopping` of trace must be False"),
        ({"on_zero": "keep"}, 'on_zero="keep" of Perceptron needs starting weights'),
        ({"algorithm": "kernel", "init": [1, 2, 3]}, "`init` of trace must be None here"),
        ({"algorithm": "kernel", "budget": 3}, "`budget` of a traced kernel run must be None"),
        ({"max_iter": 0}, "`max_iter` of Perceptron must be a whole number of at least 1; got 0"),
    ],
)
def test_errors_name_the_parameter(change, said):
    with pytest.raises(ValueError, match=said):
        trace(**{**TABLE, **change})


def test_an_unknown_parameter_is_named():
    with pytest.raises(TypeError, match=r"must be those of Perceptron; got 'C'\. Choose from alpha, class_weight"):
        trace(**TABLE, C=1.0)


def test_a_trace_that_does_not_fit_in_memory_is_refused():
    with pytest.raises(ValueError, match=r"A trace may keep 50,000,000 weights at most; .* Lower limit to 50"):
        trace(csr_matrix((300, 999_999)), np.arange(300) % 2)


def test_a_failed_run_has_no_side_effects():
    with pytest.raises(ValueError, match="row 1, feature 0 is NaN"):
        trace([[1.0], [np.nan]], [0, 1], comparator=None)


@pytest.mark.parametrize("name", ["averaged", "AveragedPerceptron", "averaged-perceptron", "averaged_perceptron"])
def test_the_name_of_a_learner_has_many_spellings(name):
    assert trace(**WALK, algorithm=name).algorithm == "averaged"


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [0, 1], [7, 9]])
def test_labels_of_any_kind(labels):
    y = [labels[label == 1] for label in WALK["y"]]
    run = trace(WALK["X"], y, fit_intercept=False)
    assert run.to_text("notes") == WALK_TEXT
    assert run.classes == tuple(labels)
    assert [step.label for step in run] == y


def test_a_comparator_given_by_the_user():
    run = trace(**WALK, fit_intercept=False, comparator=[1, -4])
    assert np.isclose(run.comparator.margin, 3 / np.sqrt(17))
    assert all(step.squeeze.holds for step in run)
    assert trace(**WALK, comparator=None).comparator is None


@pytest.mark.parametrize("algorithm", ["AROW", "SoftConfidenceWeighted", "second-order", "ROMMA", "ALMA"])
@pytest.mark.parametrize("y", [[-1, 1, 1, 1, -1], ["a", "b", "c", "b", "a"]])
def test_rules_that_add_more_than_a_multiple_of_the_example(algorithm, y):
    run = trace(TABLE["X"], y, algorithm=algorithm, max_iter=2)
    moved = 0
    for step in run.steps:
        np.testing.assert_allclose(step.before + step.update, step.after, atol=1e-12)
        moved += bool(np.any(step.update))
    assert moved == run.total_updates > 0
    assert run.to_text().count("+ [") >= moved


# --- ties, rounding and angles ----------------------------------------------------------------------------------------


def test_what_rounding_leaves_of_a_sum_is_shown_as_zero():
    run = trace([[1.0], [3.0], [2.0]], [1, 1, -1], "passive-aggressive", max_iter=3, variant="PA", C=1.0)
    tiny = trace([[0.1, 1], [0.3, -1], [-0.1, 1], [0.3, 0.3]], [1, -1, 1, -1], eta0=0.1, max_iter=4)
    tenths = trace([[0.1], [0.2], [0.3]], [1, 1, -1], "margin", b=9.0, fit_intercept=False)
    left = tenths.steps[-1].after[0, 0]
    assert 0 < abs(left) < 1e-15, "0.1 + 0.2 - 0.3 in floats"
    for shown in (tenths.to_text(), tenths.to_markdown(), tenths.to_html(), tiny.to_text(), run.to_text()):
        assert not re.search(r"\de-1[4-9]", shown)
    assert tenths.to_text(columns="notes").splitlines()[-1].split() == ["4", "[0]"]
    assert json.loads(tenths.to_json())["steps"][-1]["after"] == [[left]], "data are not rounded"


def test_small_values_that_are_no_rounding_errors_are_shown():
    run = trace([[1e-20, 1.0], [-1e-20, 1.0]], [1, -1], fit_intercept=False, max_iter=3)
    assert "1e-20" in run.to_text()


def test_a_mistake_with_the_predicted_label_has_a_footnote():
    run = trace(**WALK, fit_intercept=False)
    assert [step.tie for step in run] == [True, False, False, False]
    row, *others = [line for line in run.to_text().splitlines() if line[:1].isdigit()]
    assert " no*" in row
    assert not any("no*" in line for line in others)
    for shown in (run.to_text(), run.to_html(), run.to_text(columns=["label", "predicted", "correct"])):
        assert "* a score of 0 counts as a mistake, although it predicts the label" in shown
    assert r"\* a score of 0 counts" in run.to_markdown()
    assert "*" not in run.to_text(columns="notes"), "without the prediction nothing is contradictory"
    assert "*" not in trace(**WALK, fit_intercept=False, on_zero="positive").to_text()
    many = trace([[1, 0], [0, 1], [1, 1]], ["a", "b", "c"]).to_text()
    assert "* an equal score of another class counts as a mistake" in many


def test_a_batch_step_is_one_update():
    run = trace(**WALK, algorithm="batch", max_iter=5)
    assert (run.total_mistakes, run.total_updates) == (4, 1)
    assert "batch: 4 examples, 2 passes, 4 mistakes, 1 update" in run.to_text()


def test_the_angles_of_a_run():
    u = np.array([1.0, -5.0]) / np.sqrt(26)
    run = trace(**WALK, fit_intercept=False, max_iter=2, comparator=u)
    for step in run:
        x, before, after = step.x, step.before[0], step.after[0]
        assert step.cos_u == pytest.approx(after @ u / np.linalg.norm(after))
        assert step.cos_x_after[0] == pytest.approx(after @ x / np.linalg.norm(after) / np.linalg.norm(x))
        if before.any():
            assert step.cos_x[0] == pytest.approx(before @ x / np.linalg.norm(before) / np.linalg.norm(x))
            assert np.sign(step.cos_x[0]) == (step.label if step.correct else -step.label)
        if step.moved and before.any():
            assert step.label * step.cos_x_after[0] > step.label * step.cos_x[0], "the update turns w towards y·x"
    assert np.isnan(run[0].cos_x[0]), "weights 0 have no angle"
    table = run.to_text(columns=["step", "cos_x", "cos_x_after", "cos_u"]).splitlines()
    assert table[0].split("  ") == ["step", "cos(w, x)", "cos(w, x) after", "cos(w, u) after"]
    assert table[3].split() == ["2", "0.707107", "0.447214", "0.496139"]
    assert trace(**WALK, algorithm="batch")[0].cos_x is None
    kernel = trace(**WALK, algorithm="kernel", max_iter=9)
    assert kernel[-1].cos_x is None
    assert kernel[-1].cos_u == pytest.approx(1), "the comparator of a kernel run is its last w"
    assert trace(**XOR)[0].cos_u is None


def test_a_committee_is_traced_perceptron_by_perceptron():
    X, y = [[1, 1], [1, -1], [-1, 1], [-1, -1]], [1, -1, -1, 1]
    run = trace(X, y, "parallel", max_iter=30, limit=None, eta=0.05, random_state=2)
    model = ParallelPerceptron(max_iter=30, shuffle=False, tol=None, eta=0.05, random_state=2).fit(X, y)
    assert run.kind == "committee"
    assert np.array_equal(run.weights, np.column_stack([model.intercept_, model.coef_]))
    assert np.array_equal(run[-1].after, run.weights)
    for step in run:
        assert np.allclose(step.scores, step.before @ step.x)
        majority = 1 if (step.scores >= 0).sum() > 2 else -1
        assert step.predicted == majority
        assert step.correct == (majority == step.label)
    assert "w5: [" in run.to_text()
    assert "before:w3:x1" in run.to_csv()
    with pytest.raises(ValueError, match="random"):
        trace(X, y, "parallel", init=[0, 0, 0])
