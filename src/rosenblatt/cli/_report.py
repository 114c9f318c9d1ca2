"""`--report`: a self-contained HTML page with all results and figures."""

import html
import importlib.util
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rosenblatt.cli import _pictures
from rosenblatt.cli._errors import writing
from rosenblatt.cli._session import Session
from rosenblatt.cli._targets import shown
from rosenblatt.cli.inspect import strongest
from rosenblatt.model.scores import predicted_classes
from rosenblatt.training.evaluation import Evaluation, evaluate_stream
from rosenblatt.training.regression import Errors, evaluate_targets

CHEAP = 2_000_000
"""Largest number of non-zero values for which the certificate is computed."""

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .4rem; border-bottom: 1px solid #ddd; }
table { border-collapse: collapse; } td, th { padding: .15rem .9rem .15rem 0; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.side { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start; } .side svg { max-width: 100%; height: auto; }
.big { font-size: 2rem; font-weight: 600; } .small { color: #666; font-size: .9rem; }
pre { background: #f6f6f4; padding: .7rem; overflow-x: auto; }
"""


def write_report(
    path: str, session: Session, facts: dict[str, Any], test: Evaluation | Errors | None, test_data: str | None
) -> None:
    """Write the page, completely or not at all."""
    from rosenblatt.model_file.atomic import replacing

    if isinstance(test, Errors) or session.regression:
        assert not isinstance(test, Evaluation)
        page = _regression_page(session, facts, test, test_data)
    else:
        page = _page(session, facts, test, test_data)
    with writing(path), replacing(path) as draft:
        Path(draft).write_text(page, encoding="utf-8")


def _page(session: Session, facts: dict[str, Any], test: Evaluation | None, test_data: str | None) -> str:
    title = f"{facts['algorithm']} on {', '.join(Path(name).name for name in facts['data'])}"
    held = facts.get("held_out_accuracy") is not None
    result, where = (test, f"the test file {test_data}") if test is not None else (_on_own_data(session, held), "")
    if result is not None and not where:
        where = f"the {result.examples:,} held-out examples" if held else "the training data"
    parts = [
        _opening(title, facts),
        _summary(facts, result, where),
        _learning(session, facts),
    ]
    if result is not None:
        parts.append(_judgement(result, where, held or test is not None, test is None))
    parts.append(_reasons(session, held))
    if hasattr(session.estimator, "coef_"):
        parts.append(_features(session.estimator))
    parts += [_certificate(session), _settings(session)]
    return "\n".join(parts) + "</html>\n"


def _regression_page(session: Session, facts: dict[str, Any], test: Errors | None, test_data: str | None) -> str:
    """The page of a regression."""
    title = f"{facts['algorithm']} on {', '.join(Path(name).name for name in facts['data'])}"
    held = facts.get("held_out_r2") is not None
    result, where = test, f"the test file {test_data}"
    if result is None and session.stream.bytes_total is not None and session.history.stopped != "interrupted":
        session.estimator.encoder_.freeze()
        judge = (session.judge if held else None) or session.estimator
        result = evaluate_targets(judge, session.stream, chosen=session.held if held else None)
        where = f"the {result.examples:,} held-out examples" if held else "the training data"
    summary = _text(shown(facts, None))
    parts = [_opening(title, facts), f"<pre>{summary}</pre>"]
    if result is not None and result.examples:
        share = "" if result.r2 is None else f"<p><span class='big'>R² {result.r2:.4f}</span> on {_text(where)}</p>"
        pictures = _picture(_pictures.targets_figure, result) + _picture(_pictures.errors_figure, result)
        parts.insert(1, share)
        parts.append(
            f"<h2>Errors on {_text(where)}</h2><div class='side'>{pictures}</div><pre>{_text(result.to_text())}</pre>"
        )
    if held:
        parts.append(f"<h2>Training</h2>{_picture(_pictures.progress_figure, facts['epochs'])}")
    if (block := session.whole) is not None:
        model, estimator = session.estimator.model_, session.estimator
        rows = np.flatnonzero(block.labelled)[: 2 * EACH].tolist()
        found = "".join(
            f"<div><h3>example {row + 1:,}, target {block.codes.view(np.float64)[row]:.6g}</h3>"
            f"<pre>{_text(estimator._explain_row(model, block.table, row, None).to_text(8))}</pre></div>"
            for row in rows
        )
        parts.append(f"<h2>Reasons of some predictions</h2><div class='side'>{found}</div>")
    return "\n".join([*parts, _features(session.estimator), _settings(session)]) + "</html>\n"


def _opening(title: str, facts: dict[str, Any]) -> str:
    """The beginning of a page."""
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f"<title>{_text(title)}</title><style>{STYLE}</style><h1>{_text(title)}</h1>"
        f"<p class='small'>Written by rosenblatt for the model {_text(facts['model'])}.{_no_pictures()}</p>"
    )


def _text(value: Any) -> str:
    return html.escape(str(value))


def _on_own_data(session: Session, held: bool) -> Evaluation | None:
    """Evaluate the model on the held-out examples, or else on the training data, if they can be read again."""
    if session.stream.bytes_total is None or session.history.stopped == "interrupted":
        return None
    session.estimator.encoder_.freeze()
    if not held:
        return evaluate_stream(session.estimator, session.stream)
    return evaluate_stream(session.judge or session.estimator, session.stream, chosen=session.held)


def _summary(facts: dict[str, Any], result: Evaluation | None, where: str) -> str:
    rows = [
        ("Examples", f"{facts['examples']:,}"), ("Classes", ", ".join(str(label) for label in facts["classes"][:50])),
        ("Features", f"{facts['features']:,}"), ("Epochs", f"{len(facts['epochs'])}, ended by: {facts['stopped']}"),
        ("Time", f"{facts['seconds']:.2f} s"),
    ]  # fmt: skip
    if facts["epochs"]:
        rows.append(("First epoch", f"{facts['epochs'][0]['accuracy']:.2%} correct, before learning each example"))
    if "training_accuracy" in facts:
        rows.append(("Training data", f"{facts['training_accuracy']:.2%} correct, with the saved model"))
    if facts.get("held_out_accuracy") is not None:
        how = "before the model learned all examples" if facts["relearned"] else "with the saved model"
        text = f"{facts['held_out_accuracy']:.2%} correct on examples set aside, {how} (epoch {facts['best_epoch']})"
        rows.append(("Held out", text))
    if (cross := facts.get("cross_validation")) is not None:
        parts = f"{len(cross['folds'])} parts, each predicted by a model of the others"
        parts = f"{cross['mean']:.2%} ± {cross['spread']:.2%} correct in {parts}"
        rows.append(("Cross-validation", parts))
    if (chosen := facts.get("chosen")) is not None:
        rows.append(("Learner", f"{chosen['name']}, chosen on {chosen['examples']:,} examples"))
    if facts.get("bad_rows"):
        rows.append(("Bad rows", f"{facts['bad_rows']:,}, left out"))
    table = "".join(f"<tr><th>{name}</th><td>{_text(value)}</td></tr>" for name, value in rows)
    big = "" if result is None else f"<p><span class='big'>{result.accuracy:.2%}</span> correct on {_text(where)}</p>"
    return f"{big}<table>{table}</table>"


def _learning(session: Session, facts: dict[str, Any]) -> str:
    epochs = facts["epochs"]
    if not epochs:
        return ""
    lines = "".join(
        f"<tr><td class='n'>{number}</td><td class='n'>{epoch['mistakes']:,}</td><td class='n'>{epoch['updates']:,}</td>"
        f"<td class='n'>{epoch['accuracy']:.2%}</td>{_share(epoch['held_out_accuracy'])}</tr>"
        for number, epoch in enumerate(epochs[:100], start=1)
    )
    names = ["epoch", "mistakes", "updates", "accuracy", *(["held out"] if epochs[0]["held_out"] else [])]
    head = "".join(f"<th class='n'>{name}</th>" for name in names)
    return (
        "<h2>Training</h2><p class='small'>Mistakes are counted before each example is learned.</p><div class='side'>"
        f"{_picture(_pictures.mistakes_figure, epochs)}<table><tr>{head}</tr>{lines}</table></div>"
    )


def _share(value: float | None) -> str:
    return "" if value is None else f"<td class='n'>{value:.2%}</td>"


def _judgement(result: Evaluation, where: str, tested: bool, own: bool) -> str:
    note = "" if tested else " The model was trained on these examples: the accuracy on new ones will be lower."
    pictures = _picture(_pictures.confusion_figure, result) if len(result.labels) <= 40 else ""
    if result.roc_auc is not None:
        pictures += _picture(_pictures.roc_figure, result) + _picture(_pictures.precision_figure, result)
    if result.judgement is not None and own:
        note += " The probabilities were fitted on these examples, so they look a little better than they are."
    if result.judgement is not None:
        pictures += _picture(_pictures.reliability_figure, result.judgement)
    return (
        f"<h2>Accuracy</h2><p>{result.mistakes:,} mistakes in {result.examples:,} examples of {_text(where)}.{note}</p>"
        f"<div class='side'>{pictures}</div><pre>{_text(result.to_text())}</pre>"
    )


EACH = 3
"""Number of right and of wrong predictions whose reasons are shown."""


def _reasons(session: Session, held: bool) -> str:
    """The features that moved the scores of some right and some wrong predictions, of examples in memory."""
    block, estimator = session.whole, (session.judge if held else None) or session.estimator
    if block is None or not hasattr(estimator, "explain") or estimator.model_.readout in ("vote", "committee"):
        return ""
    model, out = estimator.model_, session.held(0, block.codes.size)
    rows = np.flatnonzero((block.codes >= 0) & out if held else block.codes >= 0)[:10_000]
    guesses = predicted_classes(model.scores(block.table.some(rows)), len(model.classes))
    parts = []
    for title, which in (("Right", guesses == block.codes[rows]), ("Wrong", guesses != block.codes[rows])):
        for row in rows[which][:EACH].tolist():
            found = estimator._explain_row(model, block.table, row, None)
            truth = model.classes[block.codes[row]]
            parts.append(
                f"<div><h3>{title}: example {row + 1:,}, {_text(truth)}</h3><pre>{_text(found.to_text(8))}</pre></div>"
            )
    where = "examples set aside" if held else "the training data"
    return f"<h2>Reasons of some predictions, of {where}</h2><div class='side'>{''.join(parts)}</div>"


def _features(estimator: Any) -> str:
    found = strongest(estimator, 20)
    pictures = "".join(
        _picture(_pictures.features_figure, label, features) or _weights(label, features)
        for label, features in list(found.items())[:12]
        if features
    )
    of_each = " of each class" if getattr(estimator, "classes_", None) is not None else ""
    return f"<h2>Largest weights{of_each}</h2><div class='side'>{pictures}</div>"


def _certificate(session: Session) -> str:
    """Prove whether the training data are separable, if that is cheap."""
    block = session.whole
    if block is None:
        return ""
    size = block.table.rows.values.size if block.table.sparse else block.table.rows.size
    if size > CHEAP:
        shown = getattr(session.estimator, "certificate_", None)
        separated = shown is not None and shown.status == "separable"
        text = "The last weights separate the training data: they are linearly separable." if separated else ""
        return f"<h2>Linear separability</h2><p>{text}</p>" if text else ""
    from rosenblatt.theory.separation import certify

    kept = np.flatnonzero(block.codes >= 0)
    certificate = certify(
        block.table.take(kept), block.codes[kept], fit_intercept=bool(getattr(session.estimator, "fit_intercept", True)),
        tol=None, max_steps=2_000,
    )  # fmt: skip
    return f"<h2>Linear separability of the training data</h2><pre>{_text(certificate)}</pre>"


def _settings(session: Session) -> str:
    settings = "".join(
        f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>"
        for name, value in sorted(session.estimator.get_params().items())
    )
    return (
        f"<h2>Data and parameters</h2><pre>{_text(session.stream.describe())}</pre><details><summary>All parameters</summary>"
        f"<table>{settings}</table></details>"
    )


def _weights(label: str, features: list[list[Any]]) -> str:
    """Table of the largest weights of a class."""
    lines = "".join(f"<tr><td>{_text(name)}</td><td class='n'>{weight:.4g}</td></tr>" for name, weight in features)
    return f"<table><tr><th>for {_text(label)}</th><th class='n'>weight</th></tr>{lines}</table>"


def _no_pictures() -> str:
    """Note for a report without figures."""
    if importlib.util.find_spec("matplotlib") is not None:
        return ""
    return " For figures, <code>pip install rosenblatt[plots]</code>."


def _picture(draw: Callable[..., Any], *arguments: Any) -> str:
    """Figure as SVG for use in HTML; empty without matplotlib."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        return ""

    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "rosenblatt", "font.family": "sans-serif"}):
        draw(*arguments).savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
