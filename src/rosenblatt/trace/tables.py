"""A trace as a readable table: plain text, Markdown, HTML."""

import html as escaping
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .steps import Floats, Step, Trace

WIDEST = 12
"""Longer vectors are abbreviated."""

HEADINGS = {
    "step": "step",
    "epoch": "epoch",
    "example": "example",
    "x": "x",
    "label": "label",
    "weights": "weights",
    "score": "score",
    "predicted": "predicted",
    "correct": "correct?",
    "update": "update",
    "after": "weights after",
    "average": "average",
    "survived": "survived",
    "pocket": "mistakes of the pocket",
    "squeeze": "squeeze",
    "cos_x": "cos(w, x)",
    "cos_x_after": "cos(w, x) after",
    "cos_u": "cos(w, u) after",
}
NOTES = ["step", "weights", "score", "correct", "update"]

Lines = list[str]


DUST = 1e-14
"""A number is shown as 0 if it is smaller than this part of the numbers that were added to get it."""

ON_A_TIE = "* a score of 0 counts as a mistake, although it predicts the label (on_zero)"
ON_TIED_CLASSES = "* an equal score of another class counts as a mistake, although the label is predicted (on_zero)"


def number(value: float, digits: int = 6, size: float = 0.0) -> str:
    """Format whole numbers without a decimal point, others with this number of significant digits.

    `size` is the magnitude of the terms of a sum: what rounding leaves of a sum that is exactly 0 is shown as 0.
    """
    value = float(value)
    if abs(value) <= DUST * size:
        return "0"
    if value == round(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.{digits}g}"


def vector(values: "Floats", digits: int = 6, sizes: "Floats | None" = None) -> str:
    """``[1, 0.5, -2]``; a long vector is abbreviated to the first entries and the last."""
    wide = len(values) > WIDEST
    places = [*range(WIDEST - 2), -1] if wide else range(len(values))
    shown = [number(values[k], digits, 0.0 if sizes is None else float(sizes[k])) for k in places]
    if wide:
        shown.insert(-1, f"… {len(values) - WIDEST + 1} more …")
    return f"[{', '.join(shown)}]"


class _Cells:
    """Converts a step to the cells of a row, each a list of lines: one for each weight vector."""

    def __init__(self, trace: "Trace", digits: int) -> None:
        self.trace = trace
        self.digits = digits
        self.many = len(trace.start) > 1
        self.marked = False
        # The largest value of each weight: a sum of updates that is far smaller is 0 up to rounding.
        self.sizes = np.abs(trace.start)
        for step in trace.steps:
            self.sizes = np.maximum(self.sizes, np.maximum(np.abs(step.after), np.abs(step.update)))

    def row(self, step: "Step", columns: list[str]) -> list[Lines]:
        self.marked = {"predicted", "correct"} <= set(columns)
        return [self._cell[column](self, step) for column in columns]

    def last_row(self, columns: list[str]) -> list[Lines]:
        """The weights after the last step, under the number of the next step."""
        last = self.trace.steps[-1]
        cells: dict[str, Lines] = {"step": [str(last.number + 1)], "weights": self.matrix(last.after)}
        return [cells.get(column, [""]) for column in columns]

    def named(self, lines: Lines) -> Lines:
        """Put the class in front of each line, if there are more than two."""
        if not self.many:
            return lines
        return [f"{label}: {line}" for label, line in zip(self.trace.vector_names, lines, strict=True)]

    def matrix(self, weights: "Floats | None") -> Lines:
        if weights is None:
            return [""]
        return self.named([vector(row, self.digits, sizes) for row, sizes in zip(weights, self.sizes, strict=True)])

    def correct(self, step: "Step") -> Lines:
        return ["yes" if step.correct else "no*" if step.tie and self.marked else "no"]

    def cosines(self, values: "Floats | None") -> Lines:
        if values is None:
            return [""]
        return self.named(["" if np.isnan(value) else number(value, self.digits, 1.0) for value in values])

    def score(self, step: "Step") -> Lines:
        if step.scores is None or step.x is None:
            return ["wrong: " + (", ".join(map(str, step.mistakes[:WIDEST])) or "none") + self.more(step.mistakes)]
        lines = []
        for weights, score, sizes in zip(step.before, step.scores, self.sizes, strict=True):
            result = number(score, self.digits, float(sizes @ np.abs(step.x)))
            if len(weights) <= WIDEST:
                result = f"{self.products(weights, step.x, sizes)} = {result}"
            lines.append(result)
        return self.named(lines)

    def products(self, weights: "Floats", x: "Floats", sizes: "Floats") -> str:
        """``-1·1 + 0·3``; a negative second factor is put in parentheses."""
        used = [(w, v, s) for w, v, s in zip(weights, x, sizes, strict=True) if self.trace.kind != "dual" or w != 0]
        factors = [(number(w, self.digits, s), number(v, self.digits)) for w, v, s in used] or [("0", "0")]
        return " + ".join(f"{w}·({v})" if v.startswith("-") else f"{w}·{v}" for w, v in factors)

    @staticmethod
    def more(mistakes: tuple[int, ...]) -> str:
        return f", … {len(mistakes) - WIDEST} more" if len(mistakes) > WIDEST else ""

    def update(self, step: "Step") -> Lines:
        if not step.moved:
            return ["none"]
        if step.moves is None or step.x is None:
            rows = zip(step.update, self.sizes, strict=True)
            lines = [f"+ {vector(row, self.digits, sizes)}" if row.any() else "" for row, sizes in rows]
        else:
            lines = [self.move(float(move), step) for move in step.moves]
        return [line for line, full in zip(self.named(lines), lines, strict=True) if full]

    def move(self, move: float, step: "Step") -> str:
        """``+ [1, 3, 2]``, ``- 0.5·[1, 3, 2]``, for Winnow ``× exp(…)``, for a kernel run ``+ φ(x3)``."""
        if move == 0 or step.x is None:
            return ""
        size = number(abs(move), self.digits)
        along = f"φ(x{step.example})" if self.trace.kind == "dual" else vector(step.x, self.digits)
        text = f"{'-' if move < 0 else '+'} {'' if size == '1' else size + '·'}{along}"
        return f"× exp({text})" if self.trace.kind == "logarithms" else text

    def squeeze(self, step: "Step") -> Lines:
        if step.squeeze is None:
            return [""]
        size = step.squeeze.length
        return [" ≤ ".join(number(value, min(self.digits, 4), size) for value in step.squeeze)]

    _cell: dict[str, Callable[["_Cells", "Step"], Lines]] = {  # noqa: RUF012 (never changed)
        "step": lambda self, step: [str(step.number)],
        "epoch": lambda self, step: [str(step.epoch)],
        "example": lambda self, step: ["" if step.example is None else str(step.example)],
        "x": lambda self, step: ["" if step.x is None else vector(step.x, self.digits)],
        "label": lambda self, step: [str(step.label)],
        "weights": lambda self, step: self.matrix(step.before),
        "score": score,
        "predicted": lambda self, step: [str(step.predicted)],
        "correct": correct,
        "update": update,
        "after": lambda self, step: self.matrix(step.after),
        "average": lambda self, step: self.matrix(step.average),
        "survived": lambda self, step: ["" if step.survived is None else number(step.survived, self.digits)],
        "pocket": lambda self, step: ["" if step.pocket is None else number(step.pocket, self.digits)],
        "squeeze": squeeze,
        "cos_x": lambda self, step: self.cosines(step.cos_x),
        "cos_x_after": lambda self, step: self.cosines(step.cos_x_after),
        "cos_u": lambda self, step: ["" if step.cos_u is None else number(step.cos_u, self.digits, 1.0)],
    }


def _columns(trace: "Trace", requested: Any) -> list[str]:
    if requested is not None:
        chosen = (NOTES if requested == "notes" else [requested]) if isinstance(requested, str) else list(requested)
        unknown = [column for column in chosen if column not in HEADINGS]
        if unknown or not chosen:
            raise ValueError(
                f"`columns` of a trace's table must be 'notes', None or some of {', '.join(HEADINGS)}; got {requested!r}. None "
                "chooses those that apply to the run."
            )
        return chosen
    first = trace.steps[0] if trace.steps else None
    batch = first is not None and first.example is None
    wide = trace.start.shape[1] > WIDEST
    shown = {
        "step": True,
        "epoch": trace.epochs > 1 and not batch,
        "example": not batch,
        "x": wide and not batch and trace.kind != "dual",
        "label": not batch,
        "weights": True,
        "score": True,
        "predicted": not batch,
        "correct": True,
        "update": True,
        "after": bool(trace.note),
        **{
            name: first is not None and getattr(first, name) is not None
            for name in ("average", "survived", "pocket", "squeeze")
        },
    }
    return [name for name in HEADINGS if shown.get(name)]


def grid(trace: "Trace", columns: Any, digits: int) -> tuple[list[str], list[list[Lines]]]:
    """The headings and the cells of the table, each cell a list of lines."""
    if digits < 1:
        raise ValueError(f"`digits` of a trace's table must be at least 1; got {digits}. It counts significant digits.")
    chosen = _columns(trace, columns)
    cells = _Cells(trace, digits)
    rows = [cells.row(step, chosen) for step in trace.steps]
    if rows and "weights" in chosen:
        rows.append(cells.last_row(chosen))
    headings = {**HEADINGS, "squeeze": trace.formula or HEADINGS["squeeze"]}
    return [headings[column] for column in chosen], rows


def footnote(trace: "Trace", columns: Any) -> list[str]:
    """The meaning of the mark of a prediction that is right and yet a mistake, if the table has one."""
    if not {"predicted", "correct"} <= set(_columns(trace, columns)) or not any(step.tie for step in trace.steps):
        return []
    return [ON_TIED_CLASSES if len(trace.start) > 1 else ON_A_TIE]


def summary(trace: "Trace", digits: int = 6) -> list[str]:
    """The lines below the table."""
    size = f"{_count(trace.examples, 'example')}, {_count(trace.epochs, 'pass', 'passes')}"
    made = f"{_count(trace.total_mistakes, 'mistake')}, {_count(trace.total_updates, 'update')}"
    lines = [*footnote(trace, None), f"{trace.algorithm}: {size}, {made}"]
    cells = _Cells(trace, digits)
    if trace.steps and not np.array_equal(trace.weights, trace.steps[-1].after) and not trace.survivors:
        lines.append(f"the learner ends with the weights {'; '.join(cells.matrix(trace.weights))}")
    if trace.survivors:
        votes = [f"{'; '.join(cells.matrix(one.weights))} × {number(one.count, digits)}" for one in trace.survivors]
        hidden = f", … {len(votes) - WIDEST} more" if len(votes) > WIDEST else ""
        lines.append(f"survivors: {', '.join(votes[:WIDEST])}{hidden}")
    if trace.comparator is not None:
        known = trace.comparator
        bound = "" if trace.bound is None else f", so at most {number(trace.bound)} updates in any run"
        lines.append(f"a separator u has the margin γ = {number(known.margin)}; R = {number(known.radius)}{bound}")
    return [*lines, trace.note] if trace.note else lines


def _count(amount: int, one: str, many: str = "") -> str:
    return f"{amount:,} {one if amount == 1 else many or one + 's'}"


def text(trace: "Trace", columns: Any, digits: int) -> str:
    """Columns padded with spaces; if `columns` is given, without the summary."""
    headings, rows = grid(trace, columns, digits)
    widths = [
        max([len(heading), *(len(line) for row in rows for line in row[place])])
        for place, heading in enumerate(headings)
    ]

    def padded(cells: list[str]) -> str:
        return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()

    lines = [padded(headings), padded(["-" * width for width in widths])]
    for row in rows:
        for line in range(max(map(len, row))):
            lines.append(padded([cell[line] if line < len(cell) else "" for cell in row]))  # noqa: PERF401
    below = summary(trace, digits) if columns is None else footnote(trace, columns)
    return "\n".join([*lines, "", *below] if below else lines)


def markdown(trace: "Trace", columns: Any, digits: int) -> str:
    """A pipe table; markup in labels is escaped."""
    headings, rows = grid(trace, columns, digits)

    def line(cells: list[str]) -> str:
        return f"| {' | '.join(cells)} |"

    body = [line(["<br>".join(_escape_markdown(one) for one in cell) for cell in row]) for row in rows]
    lines = [line(headings), line(["---"] * len(headings)), *body]
    below = summary(trace, digits) if columns is None else footnote(trace, columns)
    return "\n".join([*lines, "", *(f"- {_escape_markdown(entry)}" for entry in below)] if below else lines)


def _escape_markdown(cell: str) -> str:
    cell = escaping.escape(cell, quote=False).replace("\n", " ")
    for mark in "\\|*_`":
        cell = cell.replace(mark, "\\" + mark)
    return cell


STYLE = (
    ".rosenblatt-trace{border-collapse:collapse;font:14px/1.5 ui-monospace,monospace;font-variant-numeric:tabular-nums}"
    ".rosenblatt-trace th,.rosenblatt-trace td{padding:.2em .8em;text-align:left;vertical-align:top;"
    "border-bottom:1px solid #8884;white-space:nowrap}.rosenblatt-trace tr.mistake{background:#d55e0022}"
    ".rosenblatt-trace caption{caption-side:bottom;text-align:left;padding:.6em .8em}"
)


def html(trace: "Trace", columns: Any, digits: int) -> str:
    """A table with its own style; mistakes are shaded."""
    headings, rows = grid(trace, columns, digits)
    head = "".join(f'<th scope="col">{escaping.escape(heading)}</th>' for heading in headings)
    body = []
    for place, row in enumerate(rows):
        wrong = place < len(trace.steps) and not trace.steps[place].correct
        cells = "".join(f"<td>{'<br>'.join(escaping.escape(line) for line in cell)}</td>" for cell in row)
        body.append(f'<tr class="mistake">{cells}</tr>' if wrong else f"<tr>{cells}</tr>")
    caption = "<br>".join(escaping.escape(entry) for entry in summary(trace, digits))
    return (
        f'<style>{STYLE}</style>\n<table class="rosenblatt-trace">\n<caption>{caption}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n" + "\n".join(body) + "\n</tbody>\n</table>"
    )
