"""Conversion of a trace to JSON, CSV and pandas."""

import csv
import dataclasses
import io
import json
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rosenblatt.theory.bounds import Squeeze

if TYPE_CHECKING:
    from .steps import Step, Trace

    TraceType = TypeVar("TraceType", bound=Trace)


def to_json(trace: "Trace", indent: int | None) -> str:
    """Arrays become lists, a squeeze becomes a dict of its four numbers."""
    return json.dumps(_plain(trace), indent=indent, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Squeeze):
        return value._asdict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in value]
    return value


def from_json(kind: "type[TraceType]", text: str) -> "TraceType":
    """Read the JSON that `to_json` wrote."""
    from .steps import Comparator, Step, Survivor

    saved = json.loads(text)
    names = {field.name for field in dataclasses.fields(kind)}
    if not isinstance(saved, dict) or set(saved) != names:
        raise ValueError(
            f"The text must be JSON that Trace.to_json wrote, an object with {', '.join(sorted(names))}; got something else. "
            "Check that it is the whole file."
        )
    saved["steps"] = tuple(_step(Step, step) for step in saved["steps"])
    saved["survivors"] = tuple(Survivor(_array(one["weights"]), one["count"]) for one in saved["survivors"])
    if saved["comparator"] is not None:
        weights = _array(saved["comparator"].pop("weights"))
        saved["comparator"] = Comparator(weights=weights, **saved["comparator"])
    for name in ("classes", "features"):
        saved[name] = tuple(saved[name])
    for name in ("start", "weights"):
        saved[name] = _array(saved[name])
    return kind(**saved)


def _step(kind: "type[Step]", saved: dict[str, Any]) -> "Step":
    for name in ("x", "scores", "before", "after", "moves", "update", "average"):
        saved[name] = _array(saved[name])
    saved["mistakes"] = tuple(saved["mistakes"])
    if saved["squeeze"] is not None:
        saved["squeeze"] = Squeeze(**saved["squeeze"])
    return kind(**saved)


def _array(values: Any) -> Any:
    return None if values is None else np.array(values, dtype=np.float64)


def _records(trace: "Trace") -> list[dict[str, Any]]:
    """One flat record for each step, all with the same columns."""
    vectors = [""] if len(trace.start) == 1 else [f"{name}:" for name in trace.vector_names]
    records = []
    for step in trace.steps:
        record: dict[str, Any] = {"step": step.number, "epoch": step.epoch}
        if step.example is not None and step.x is not None and step.scores is not None:
            record |= {"example": step.example, "label": step.label, "predicted": step.predicted}
            record |= dict(zip([f"{name}score" for name in vectors], step.scores.tolist(), strict=True))
            record |= dict(zip([f"x:{name}" for name in trace.features], step.x.tolist(), strict=True))
        else:
            record["mistakes"] = len(step.mistakes)
        record["correct"] = step.correct
        for part in ("before", "after", "update", "average"):
            weights = getattr(step, part)
            if weights is not None:
                names = [f"{part}:{vector}{feature}" for vector in vectors for feature in trace.features]
                record |= dict(zip(names, weights.ravel().tolist(), strict=True))
        record |= {name: getattr(step, name) for name in ("survived", "pocket") if getattr(step, name) is not None}
        if step.squeeze is not None:
            record |= step.squeeze._asdict()
        records.append(record)
    return records


def to_csv(trace: "Trace") -> str:
    """CSV with a header; lines end with a line feed."""
    records = _records(trace)
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(records[0]) if records else ["step"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()


def to_frame(trace: "Trace") -> Any:
    """A data frame with one row for each step."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            "Trace.to_frame needs pandas, which is not installed. Install it with `pip install pandas`, or use to_csv."
        ) from None
    return pd.DataFrame.from_records(_records(trace))
