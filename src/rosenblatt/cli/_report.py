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
from rosenblatt.cli.inspect import strongest
from rosenblatt.training.evaluation import Evaluation, evaluate_stream
from rosenblatt.training.schedule import held_out

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
    path: str, session: Session, facts: dict[str, Any], test: Evaluation | None, test_data: str | None
) -> None:
    """Write the page, completely or not at all."""
    from rosenblatt.model_file.atomic import replacing

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
        "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'>",
        f"<title>{_text(title)}</title><style>{STYLE}</style><h1>{_text(title)}</h1>",
        f"<p class='small'>Written by rosenblatt for the model {_text(facts['model'])}.{_no_pictures()}</p>",
        _summary(facts, result, where),
        _learning(session, facts),
    ]
    if result is not None:
        parts.append(_judgement(result, where, held or test is not None))
    if hasattr(session.estimator, "coef_"):
        parts.append(_features(session.estimator))
    parts += [_certificate(session), _settings(session)]
    return "\n".join(parts) + "</html>\n"


def _text(value: Any) -> str:
    return html.escape(str(value))


def _on_own_data(session: Session, held: bool) -> Evaluation | None:
    """Evaluate the model on the held-out examples, or else on the training data, if they can be read again."""
    if session.stream.bytes_total is None or session.history.stopped == "interrupted":
        return None
    session.estimator.encoder_.freeze()
    if not held:
        return evaluate_stream(session.estimator, session.stream)
    share, seed = session.schedule.holdout, session.schedule.seed
    return evaluate_stream(
        session.estimator, session.stream, chosen=lambda first, count: held_out(first, count, share, seed)
    )


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
        best = f" (epoch {facts['best_epoch']})"
        rows.append(
            (
                "Held out",
                f"{facts['held_out_accuracy']:.2%} correct on examples not used for training, with the saved model{best}",
            )
        )
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


def _judgement(result: Evaluation, where: str, tested: bool) -> str:
    note = "" if tested else " The model was trained on these examples: the accuracy on new ones will be lower."
    pictures = _picture(_pictures.confusion_figure, result) if len(result.labels) <= 40 else ""
    if result.roc_auc is not None:
        pictures += _picture(_pictures.roc_figure, result)
    if not pictures:
        pictures = f"<pre>{_text(result.to_text())}</pre>"
    return (
        f"<h2>Accuracy</h2><p>{result.mistakes:,} mistakes in {result.examples:,} examples of {_text(where)}.{note}</p>"
        f"<div class='side'>{pictures}</div>"
    )


def _features(estimator: Any) -> str:
    found = strongest(estimator, 20)
    pictures = "".join(
        _picture(_pictures.features_figure, label, features) or _weights(label, features)
        for label, features in list(found.items())[:12]
        if features
    )
    return f"<h2>Largest weights of each class</h2><div class='side'>{pictures}</div>"


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
