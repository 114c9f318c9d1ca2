"""Displays: drawing, labels and errors."""

import json
import re
import sys

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402
from matplotlib.contour import ContourSet  # noqa: E402
from PIL import Image  # noqa: E402

from rosenblatt import (  # noqa: E402
    AveragedPerceptron,
    PassiveAggressive,
    Perceptron,
    PocketPerceptron,
    VotedPerceptron,
)
from rosenblatt.experiments import losses_along, separable_examples, squeeze_curves  # noqa: E402
from rosenblatt.learners.kernel_perceptron import KernelPerceptron  # noqa: E402
from rosenblatt.plots import (  # noqa: E402
    CommitteeDisplay,
    DecisionRegionDisplay,
    DistanceDisplay,
    LossDisplay,
    MarginDisplay,
    MistakesDisplay,
    RunAnimation,
    SqueezeDisplay,
    animate,
)
from rosenblatt.plots._style import COLOURS, class_style  # noqa: E402
from rosenblatt.plots.figures import update  # noqa: E402
from rosenblatt.plots.regions import grid  # noqa: E402
from rosenblatt.trace import trace  # noqa: E402

OKABE_ITO = {"#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7"}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def blobs(*centres, n=20, spread=0.4, seed=0):
    rng = np.random.default_rng(seed)
    return np.vstack([rng.normal(c, spread, (n, 2)) for c in centres])


TWO, TWO_LABELS = blobs([-2, -1], [2, 1]), np.repeat(["spam", "ham"], 20)
THREE, THREE_LABELS = blobs([-2, 0], [2, 0], [0, 3]), np.repeat(["a", "b", "c"], 20)


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def texts(display):
    return [child.get_text() for child in display.ax_.texts if child.get_text()]


# ---- regions ----


def test_colours_are_those_of_okabe_and_ito_and_classes_differ():
    assert {colour.lower() for colour in COLOURS} == OKABE_ITO
    assert len({class_style(number) for number in range(70)}) == 70


def test_regions_of_two_classes():
    model = Perceptron(tol=None).fit(TWO, TWO_LABELS)
    display = DecisionRegionDisplay.from_estimator(model, TWO, TWO_LABELS, grid_resolution=50)
    assert display.figure_ is display.ax_.figure
    assert legend(display) == ["ham", "spam", "geometric margin"]
    assert texts(display) == ["w"]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("x1", "x2")
    signed = np.where(TWO_LABELS == "spam", 1, -1) * model.decision_function(TWO)
    np.testing.assert_allclose(display.margin, signed.min())
    points = [c for c in display.ax_.collections if len(c.get_offsets()) == 20]
    assert len(points) == 2
    assert {to_hex(c.get_facecolor()[0]) for c in points} <= OKABE_ITO
    assert len({str(c.get_paths()[0].vertices.shape) for c in points}) == 2  # different markers
    display.figure_.canvas.draw()


def test_the_arrow_is_perpendicular_to_the_boundary_and_starts_on_it():
    model = Perceptron(tol=None).fit(TWO, TWO_LABELS)
    display = DecisionRegionDisplay.from_estimator(model, TWO, TWO_LABELS, grid_resolution=20)
    arrow = next(child for child in display.ax_.texts if not child.get_text())
    tail, tip = np.array(arrow.xyann), np.array(arrow.xy)
    np.testing.assert_allclose(model.decision_function([tail]), 0, atol=1e-9)
    across = tip - tail
    np.testing.assert_allclose(np.cross([*across, 0], [*model.coef_[0], 0])[2], 0, atol=1e-9)
    assert across @ model.coef_[0] > 0


def test_the_margin_needs_separable_examples_and_labels():
    X, y = blobs([0, 0], [0.2, 0]), np.repeat([0, 1], 20)
    model = AveragedPerceptron(max_iter=3, tol=None).fit(X, y)
    assert DecisionRegionDisplay.from_estimator(model, X, y, grid_resolution=20).margin is None
    bare = DecisionRegionDisplay.from_estimator(model, X, grid_resolution=20, show_weights=False)
    assert bare.ax_.get_legend() is None
    assert texts(bare) == []


def test_regions_of_many_classes():
    model = AveragedPerceptron(max_iter=10, tol=None).fit(THREE, THREE_LABELS)
    display = DecisionRegionDisplay.from_estimator(model, THREE, THREE_LABELS, grid_resolution=60)
    assert legend(display) == ["a", "b", "c"]
    arrows = [child for child in display.ax_.texts if child.arrow_patch is not None]
    assert [to_hex(arrow.arrow_patch.get_facecolor()) for arrow in arrows] == [
        class_style(k)[0].lower() for k in range(3)
    ]
    mesh = display.ax_.collections[0].get_array()
    assert set(np.unique(mesh)) == {0, 1, 2}
    places = np.column_stack([display.first.ravel(), display.second.ravel()])
    np.testing.assert_array_equal(model.classes_[mesh.ravel()], model.predict(places))


@pytest.mark.parametrize(
    "model", [KernelPerceptron(degree=2, max_iter=50, tol=None), VotedPerceptron(max_iter=5, tol=None)]
)
def test_regions_without_weights(model):
    X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    y = X[:, 0] * X[:, 1] > 0
    display = DecisionRegionDisplay.from_estimator(model.fit(X, y), X, y, grid_resolution=30)
    assert display.weights is None
    assert legend(display)[:2] == ["False", "True"]
    assert texts(display) == []


def test_regions_of_a_frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(TWO, columns=["height", "width"])
    model = Perceptron(tol=None).fit(frame, TWO_LABELS)
    display = DecisionRegionDisplay.from_estimator(model, frame, TWO_LABELS, grid_resolution=20)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("height", "width")


def test_axes_given_by_the_user():
    _, (left, right) = plt.subplots(1, 2)
    model = Perceptron(tol=None).fit(TWO, TWO_LABELS)
    display = DecisionRegionDisplay.from_estimator(model, TWO, TWO_LABELS, grid_resolution=20, ax=right)
    assert display.ax_ is right
    assert not left.collections
    assert display.plot(ax=left) is display
    assert display.ax_ is left


def test_three_features_cannot_be_drawn():
    X = np.zeros((4, 3))
    with pytest.raises(
        ValueError, match=r"`X` must have two features to be drawn in the plane; got the shape \(4, 3\)"
    ):
        DecisionRegionDisplay.from_estimator(Perceptron(), X)
    with pytest.raises(ValueError, match="`grid_resolution` must be at least 2; got 1"):
        DecisionRegionDisplay.from_estimator(Perceptron(tol=None).fit(TWO, TWO_LABELS), TWO, grid_resolution=1)


# ---- curves ----


def test_mistakes_of_each_epoch():
    models = [
        Perceptron(tol=None, max_iter=9).fit(TWO, TWO_LABELS),
        PassiveAggressive(tol=None, max_iter=4).fit(TWO, TWO_LABELS),
    ]
    display = MistakesDisplay.from_estimator(*models, models[0], log=True)
    assert legend(display) == ["Perceptron", "PassiveAggressive", "Perceptron 2"]
    for line, model in zip(display.ax_.lines, models, strict=False):
        np.testing.assert_array_equal(line.get_ydata(), model.mistakes_per_epoch_)
        assert line.get_xdata()[0] == 1
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("epoch", "mistakes")
    with pytest.raises(ValueError, match=r"Perceptron has no mistakes_per_epoch_\. Call fit first"):
        MistakesDisplay.from_estimator(Perceptron())
    with pytest.raises(ValueError, match="at least one estimator; got none"):
        MistakesDisplay.from_estimator()


def test_the_squeeze_of_a_trace_is_drawn():
    X, y, _ = separable_examples(0.1, 80, 4)
    display = SqueezeDisplay.from_data(X, y, fit_intercept=False)
    assert legend(display) == ["√k·R", "‖w‖", "⟨w, u⟩", "kγ"]
    assert (
        display.ax_.get_title()
        == f"{display.curves.mistakes[-1]} mistakes, at most (R/γ)² = {display.curves.bound:.4g}"
    )
    turning = SqueezeDisplay.from_data(X, y, fit_intercept=False, angle=True)
    (angles,) = turning.figure_.axes[1].get_lines()
    cosine = turning.curves.along_comparator[1:] / turning.curves.length[1:]
    np.testing.assert_allclose(np.cos(np.radians(angles.get_ydata()[1:])), cosine, atol=1e-12)
    k = turning.curves.mistakes[1:]
    assert (cosine >= np.sqrt(k) * turning.curves.margin / turning.curves.radius - 1e-12).all()
    longer = SqueezeDisplay(display.curves).plot(to_bound=True)
    assert longer.ax_.get_xlim()[1] > display.curves.bound
    run = trace(X, y, fit_intercept=False, max_iter=100, limit=None)
    again = SqueezeDisplay.from_trace(run).curves
    expected = squeeze_curves(X, y, fit_intercept=False)
    np.testing.assert_array_equal(again.mistakes, expected.mistakes)
    np.testing.assert_allclose(again.length, expected.length)
    with pytest.raises(ValueError, match="The trace must have a squeeze from zero weights"):
        SqueezeDisplay.from_trace(trace(X, y, "winnow"))


def test_losses_are_drawn():
    display = LossDisplay.from_estimator(Perceptron(), TWO, TWO_LABELS, epochs=3)
    assert legend(display) == ["0/1 loss", "perceptron criterion"]
    assert display.ax_.get_xlabel() == "epoch"
    shown = LossDisplay.from_predictions(["no", "yes", "yes"], [-1.0, 2.0, -3.0])
    assert legend(shown) == ["0/1 loss", "perceptron criterion max(0, -y·s)", "examples"]
    assert sorted(shown.margins) == [-1.5, 0.5, 1]  # divided by their median
    assert shown.ax_.get_xlim()[1] < 2
    along = LossDisplay(losses_along(TWO, TWO_LABELS, [0, 1, 1], [1, 0, 0])).plot()
    assert along.ax_.get_xlabel() == "step along the direction"
    for one in (display, shown, along):
        one.figure_.canvas.draw()


def test_experiments_are_drawn():
    committee = CommitteeDisplay.from_experiment(experts=(20, 100), examples=100, n_seeds=2)
    assert legend(committee) == ["perceptron, bound pk", "perceptron", "Winnow, bound 2k² ln(p/k)", "Winnow"]
    assert committee.ax_.get_xscale() == committee.ax_.get_yscale() == "log"
    distance = DistanceDisplay.from_experiment(dimensions=(2, 20), points=20)
    assert legend(distance) == ["farthest neighbour", "mean distance", "nearest neighbour"]
    margins = MarginDisplay.from_experiment(margins=(0.3, 0.1), examples=50, n_seeds=1)
    assert legend(margins) == ["bound (R/γ)²", "perceptron"]
    for one in (committee, distance, margins):
        one.figure_.canvas.draw()


def test_a_flat_cloud_is_not_drawn_as_a_thin_strip():
    """One scale for both axes, and a picture that is at most 1.5 times as wide as high, unless the ranges differ very much."""
    X = TWO * [1.0, 0.4]
    display = DecisionRegionDisplay.from_estimator(Perceptron().fit(X, TWO_LABELS), X, TWO_LABELS, grid_resolution=20)
    wide, high = np.ptp(display.ax_.get_xlim()), np.ptp(display.ax_.get_ylim())
    assert 1.0 <= wide / high <= 1.51
    assert display.ax_.get_aspect() == 1.0
    X = TWO * [100.0, 1.0]
    display = DecisionRegionDisplay.from_estimator(Perceptron().fit(X, TWO_LABELS), X, TWO_LABELS, grid_resolution=20)
    assert np.ptp(display.ax_.get_xlim()) / np.ptp(display.ax_.get_ylim()) > 30
    assert display.ax_.get_aspect() == "auto"


@pytest.mark.parametrize(("X", "y"), [(TWO, TWO_LABELS), (THREE, THREE_LABELS)])
def test_arrows_keep_away_from_the_examples(X, y):
    X = np.vstack([X, np.column_stack([np.linspace(-1.0, 1.0, 30), np.zeros(30)])])  # a crowd in the middle
    y = np.append(y, np.repeat(y[0], 30))
    model = AveragedPerceptron().fit(X, y)
    display = DecisionRegionDisplay.from_estimator(model, X, y, grid_resolution=20)
    arrows = [text for text in display.ax_.texts if text.arrow_patch is not None]
    assert len(arrows) == len(model.coef_)
    for arrow in arrows:
        start, tip = np.array(arrow.xyann), np.array(arrow.xy)
        path = start + np.linspace(0, 1, 20)[:, None] * (tip - start)
        assert np.linalg.norm(path[:, None] - X, axis=2).min() > 0.15
        if len(arrows) == 1:
            assert model.decision_function([start])[0] == pytest.approx(0, abs=1e-9)


def test_arrows_keep_away_from_the_examples_where_the_axes_have_different_scales():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X.sum(axis=1) > 0, 1, -1)
    X *= [1.0, 100.0]
    for order in (X, X[:, ::-1]):
        display = DecisionRegionDisplay.from_estimator(Perceptron(max_iter=50).fit(order, y), order, y)
        (arrow,) = (text for text in display.ax_.texts if text.arrow_patch is not None)
        spans = [np.ptp(display.ax_.get_xlim()), np.ptp(display.ax_.get_ylim())]
        start, tip = np.array(arrow.xyann), np.array(arrow.xy)
        assert np.linalg.norm((tip - start) / spans) == pytest.approx(0.2)
        path = start + np.linspace(0, 1, 20)[:, None] * (tip - start)
        assert np.linalg.norm((path[:, None] - order) / spans, axis=2).min() > 0.02


def test_votes_have_no_margin():
    model = VotedPerceptron(max_iter=20).fit(TWO, TWO_LABELS)
    display = DecisionRegionDisplay.from_estimator(model, TWO, TWO_LABELS, grid_resolution=40)
    assert display.margin is None
    assert "geometric margin" not in legend(display)
    linear = DecisionRegionDisplay.from_estimator(Perceptron().fit(TWO, TWO_LABELS), TWO, TWO_LABELS)
    assert "geometric margin" in legend(linear)


def test_a_legend_does_not_cover_other_axes():
    figure, axes = plt.subplots(1, 2)
    model = Perceptron().fit(TWO, TWO_LABELS)
    for ax in axes:
        DecisionRegionDisplay.from_estimator(model, TWO, TWO_LABELS, ax=ax, grid_resolution=20)
    figure.canvas.draw()
    frame = axes[0].get_legend().get_window_extent()
    assert frame.x1 <= axes[0].get_window_extent().x1


@pytest.mark.parametrize(
    ("w", "x", "y"),
    [
        ((0.6, 1.5), (1.9, -1.3), 1),
        ((2, 1), (2, 1.1), -1),
        ((2, 1), (-2, -1.1), 1),
        ((2, 1), (2.05, 1), -1),
        ((1, 0), (0, 1), -1),
        ((-1, 2), (1, -2), 1),
    ],
)
def test_names_in_the_picture_of_an_update_cover_nothing(w, x, y):
    figure = update(w, x, y)
    figure.canvas.draw()
    after = np.add(w, np.multiply(y, x))
    for ax, vectors in zip(figure.axes, ([w, x], [w, x, after]), strict=True):
        names = [one for one in ax.texts if one.get_text()]
        boxes = [one.get_window_extent() for one in names]
        for k, box in enumerate(boxes):
            for other in boxes[:k]:
                assert not box.overlaps(other)
            for vector in vectors:
                way = ax.transData.transform(np.linspace(0, 1, 60)[:, None] * np.asarray(vector, dtype=float))
                assert not ((way > box.min) & (way < box.max)).all(axis=1).any(), names[k].get_text()


# ---- animation ----

WALK = {"X": [[4, 0], [1, 1], [0, 1], [-2, -2]], "y": [1, -1, -1, 1]}


@pytest.mark.slow
def test_a_gif_has_a_picture_for_each_step(tmp_path):
    film = animate(**WALK, fit_intercept=False, interval=100)
    assert len(film) == 9
    path = film.save(tmp_path / "run.gif")
    with Image.open(path) as image:
        assert image.format == "GIF"
        assert image.n_frames >= 4  # equal pictures are merged
    assert not plt.get_fignums()


@pytest.mark.parametrize("algorithm", ["perceptron", "batch", "winnow"])
def test_every_picture_can_be_drawn(algorithm):
    film = animate(THREE, THREE_LABELS, algorithm, max_iter=1, limit=8)
    _, ax = plt.subplots()
    for frame in range(len(film)):
        film.draw(ax, frame)
    assert ax.get_title()
    film.film()._draw_was_started = True  # avoids a warning that the animation was never drawn


def test_a_picture_shows_the_example_and_the_verdict():
    film = animate(**WALK, fit_intercept=False)
    _, ax = plt.subplots()
    film.draw(ax, 0)
    assert ax.get_title() == "start: w = [0, 0]"
    film.draw(ax, 2)
    assert ax.get_title() == "step 2: example 2, mistake, w = [3, -1]"
    ring = ax.collections[-1]
    assert ring.get_offsets().tolist() == [[1, 1]]


def test_an_average_is_drawn_beside_the_last_weights():
    rng = np.random.default_rng(1)
    y = np.repeat([-1, 1], 15)
    X = rng.normal(size=(30, 2)) + 0.5 * y[:, None]
    film = animate(X, y, "averaged", max_iter=1)
    _, ax = plt.subplots()
    film.draw(ax, len(film) - 1)
    assert "last w" in [text.get_text() for text in ax.get_legend().get_texts()]
    step = film.trace.steps[-1]
    lines = [one for one in ax.collections if isinstance(one, ContourSet) and one.levels.tolist() == [0.0]]
    assert len(lines) == 2
    for drawn, (w,) in zip(lines, (step.average, step.after), strict=True):
        places = np.vstack([path.vertices for path in drawn.get_paths()])
        assert np.abs(w[0] + places @ w[1:]).max() < 1e-6 * np.abs(w).max() * 10
    data = json.loads(re.search(r'id="run">(.*?)</script>', film.to_html(), re.DOTALL)[1])
    assert data["frames"][-1]["w"] == step.average.tolist()
    assert data["frames"][-1]["last"] == step.after.tolist()


@pytest.mark.parametrize(("algorithm", "model"), [("voted", VotedPerceptron), ("pocket", PocketPerceptron)])
def test_the_answer_of_the_learner_is_drawn(algorithm, model):
    rng = np.random.default_rng(1)
    y = np.repeat([-1, 1], 20)
    X = rng.normal(size=(40, 2)) + 0.8 * y[:, None]
    film = animate(X, y, algorithm, max_iter=3)
    for count in (30, 77, 120):
        _, ax = plt.subplots()
        film.draw(ax, count)
        shown = ax.collections[0].get_array().ravel()
        first, second = grid(X, 120, 0.2)
        places = np.column_stack([first.ravel(), second.ravel()])
        if algorithm == "voted":
            votes = sum(np.sign(places @ w[1:] + w[0]) for w in (step.after[0] for step in voters(film, count)))
            assert (shown == (votes >= 0)).all()
        elif count == len(film) - 1:
            fitted = model(max_iter=3, shuffle=False, tol=None).fit(X, y)
            assert (shown == (fitted.predict(places) == 1)).all()
        else:
            w = film.trace.steps[count - 1].held[0]
            assert (shown == (places @ w[1:] + w[0] >= 0)).all()
            assert (np.sign(X @ w[1:] + w[0]) != y).sum() == film.trace.steps[count - 1].pocket
    assert "last w" in [text.get_text() for text in ax.get_legend().get_texts()]
    data = json.loads(re.search(r'id="run">(.*?)</script>', film.to_html(), re.DOTALL)[1])
    assert bool(data["voters"]) == (algorithm == "voted")
    assert data["frames"][-1]["done"] == len(film.trace.steps)


def voters(film, count):
    """The steps of which each gives one vote: the weights that the example left."""
    return film.trace.steps[:count]


def test_the_html_page_is_self_contained(tmp_path):
    wicked = ["</script><b>", "ok"]
    film = animate(WALK["X"], [wicked[label == 1] for label in WALK["y"]], max_iter=2)
    page = film.save(tmp_path / "run.html").read_text(encoding="utf-8")
    assert page == film.to_html()
    assert not re.search(r"""(src|href)\s*=\s*["']""", page)
    assert set(re.findall(r"https?://[^\s\"']+", page)) == {"http://www.w3.org/2000/svg"}
    assert "</script><b>" not in page
    data = json.loads(re.search(r'id="run">(.*?)</script>', page, re.DOTALL)[1])
    assert data["classes"] == sorted(wicked)
    assert len(data["frames"]) == len(film)
    assert data["frames"][-1]["w"] == film.trace.weights.tolist()
    assert "{{" not in page
    assert "&lt;/script&gt;" in film._repr_html_() or "srcdoc" in film._repr_html_()


def test_errors_of_animations(tmp_path):
    with pytest.raises(ValueError, match="An animation needs a run of a linear learner"):
        animate(**WALK, algorithm="kernel")
    with pytest.raises(ValueError, match=r"must have two features; got the shape \(2, 3\)"):
        animate(np.eye(3)[:2], [0, 1])
    with pytest.raises(ValueError, match=r"must end in .gif or .html; got 'run.mp4'"):
        animate(**WALK).save(tmp_path / "run.mp4")
    with pytest.raises(ValueError, match="`interval` of an animation must be at least 20 milliseconds; got 1"):
        RunAnimation(trace(**WALK), **WALK, interval=1)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install rosenblatt\[plots\]"):
        DistanceDisplay.from_experiment(dimensions=(2,), points=5)
    assert animate(**WALK).to_html()


@pytest.mark.slow
def test_plots_can_be_imported_without_matplotlib(tmp_path):
    import subprocess

    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import rosenblatt.plots, rosenblatt.experiments\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
