"""Metrics for Prometheus."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.gc_collector import GCCollector
from prometheus_client.process_collector import ProcessCollector

if TYPE_CHECKING:
    from rosenblatt.serve.service import Service

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """Counters of the service; those of the models are read when Prometheus collects them."""

    def __init__(self, service: "Service") -> None:
        self.registry = CollectorRegistry()
        self.service = service
        ProcessCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self.events = Counter("rosenblatt_events", "Events on disk.", registry=self.registry)
        self.failures = Counter(
            "rosenblatt_store_failures", "Groups that could not be written.", registry=self.registry
        )
        self.snapshots = Counter("rosenblatt_snapshots", "Snapshots taken.", registry=self.registry)
        self.snapshot_failures = Counter(
            "rosenblatt_snapshot_failures", "Snapshots that could not be taken.", registry=self.registry
        )
        self.removed = Counter("rosenblatt_events_removed", "Events removed by --keep-events.", registry=self.registry)
        self._commit = Histogram(
            "rosenblatt_commit_seconds", "Time to write a group to disk.", buckets=_SECONDS, registry=self.registry
        )
        # Plain dicts, because the thread-safe counters of prometheus_client take a tenth of the time of a request.
        self._answers: dict[tuple[str, int], int] = {}
        self._times: dict[str, list[float]] = {}
        self.registry.register(self)

    def committed(self, events: int, seconds: float) -> None:
        """Count a group that was written."""
        if events:
            self.events.inc(events)
            self._commit.observe(seconds)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._answers[route, status] = self._answers.get((route, status), 0) + 1
        times = self._times.get(route)
        if times is None:
            times = self._times[route] = [0.0] * (len(_SECONDS) + 2)
        times[bisect_left(_SECONDS, seconds)] += 1
        times[-1] += seconds

    def times_of(self, routes: Iterable[str]) -> dict[str, Any]:
        """How many requests were answered within each limit in seconds, and after the last one, for the live page."""
        counts = {route: list(map(int, self._times[route][:-1])) for route in routes if route in self._times}
        return {"limits": _SECONDS, "routes": counts}

    def collect(self) -> Iterator[Any]:
        """Current counts of the models."""
        ready = GaugeMetricFamily("rosenblatt_ready", "Whether events are accepted.")
        ready.add_metric([], float(self.service.state == "ready"))
        yield ready
        answers = CounterMetricFamily("rosenblatt_requests", "Answers.", labels=["route", "status"])
        for (route, status), count in tuple(self._answers.items()):
            answers.add_metric([route, str(status)], count)
        yield answers
        seconds = HistogramMetricFamily("rosenblatt_request_seconds", "Time to answer a request.", labels=["route"])
        for route, times in tuple(self._times.items()):
            totals = list(accumulate(times[:-1]))
            limits = [*(str(limit) for limit in _SECONDS), "+Inf"]
            seconds.add_metric([route], list(zip(limits, totals, strict=True)), times[-1])
        yield seconds
        counters = {
            name: CounterMetricFamily(f"rosenblatt_model_{name}", text, labels=["model"])
            for name, text in (
                ("examples", "Examples learned."),
                ("mistakes", "Wrong predictions among them."),
                ("predictions", "Predictions given."),
                ("expired", "Predictions that expired without a label."),
            )
        }
        pending = GaugeMetricFamily(
            "rosenblatt_model_pending", "Predictions that wait for their label.", labels=["model"]
        )
        drifts = CounterMetricFamily(
            "rosenblatt_model_drifts", "Alarms: the share of mistakes has risen.", labels=["model"]
        )
        window = GaugeMetricFamily(
            "rosenblatt_model_window_accuracy", "Share of right predictions of the last 1,000.", labels=["model"]
        )
        baseline = GaugeMetricFamily(
            "rosenblatt_model_baseline", "Share of the most frequent label of the last 1,000.", labels=["model"]
        )
        rival = GaugeMetricFamily(
            "rosenblatt_challenger_window_accuracy", "The same of the challenger.", labels=["model"]
        )
        kept = GaugeMetricFamily("rosenblatt_model_log_bytes", "Bytes of the events in the log.", labels=["model"])
        for served in tuple(self.service.models.values()):
            kept.add_metric([served.name], self.service.retention.kept_bytes(served))
            for name, family in counters.items():
                family.add_metric([served.name], getattr(served, name))
            pending.add_metric([served.name], len(served.pending))
            drifts.add_metric([served.name], served.tally.drifts)
            if served.tally.window:
                window.add_metric([served.name], served.tally.accuracy_of_window or 0.0)
                baseline.add_metric([served.name], served.tally.baseline or 0.0)
            if served.challenger is not None and served.challenger.tally.window:
                rival.add_metric([served.name], served.challenger.tally.accuracy_of_window or 0.0)
        yield from (*counters.values(), pending, drifts, window, baseline, rival, kept)
        aside = GaugeMetricFamily("rosenblatt_models_set_aside", "Models that could not be rebuilt from the log.")
        aside.add_metric([], len(self.service.aside))
        yield aside

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return bytes(generate_latest(self.registry))
