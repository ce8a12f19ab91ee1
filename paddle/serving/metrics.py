"""Figures for Prometheus, over all processes of a server where PROMETHEUS_MULTIPROC_DIR names their common folder."""

from __future__ import annotations

import os
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """The figures of one application.

    Example:
        >>> metrics = paddle.serving.Metrics()
        >>> metrics.started.set(1); b"paddle_serving_worker_starts" in metrics.text()
        True
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def make(kind: Any, name: str, text: str, labels: str = "", **more: Any) -> Any:
            return kind(f"paddle_serving_{name}", text, labels.split(), registry=self.registry, **more)

        self.requests = make(Counter, "requests_total", "Requests answered", "model version code")
        self.seconds = make(
            Histogram, "request_seconds", "From the head of a request to its answer", "model version", buckets=_SECONDS
        )
        self.runs = make(Counter, "runs_total", "Runs of a model", "model version")
        self.joined = make(Counter, "run_requests_total", "Requests, or parts of them, in runs", "model version")
        self.rows = make(Counter, "rows_total", "Rows run, without padding", "model version")
        self.padding = make(Counter, "padded_rows_total", "Rows of padding", "model version")
        self.run_seconds = make(Histogram, "run_seconds", "Time of a run", "model version", buckets=_SECONDS)
        self.run_rows = make(Histogram, "run_rows", "Rows of a run", "model version", buckets=_ROWS)
        self.waiting = make(
            Gauge, "waiting_rows", "Rows that wait for a run", "model version", multiprocess_mode="livesum"
        )
        self.open = make(Gauge, "open_requests", "Requests that are read or answered", multiprocess_mode="livesum")
        self.bytes = make(Counter, "request_bytes_total", "Bytes of bodies", "model version")
        self.started = make(Gauge, "worker_starts", "Processes started so far", multiprocess_mode="max")
        self.compiled = make(
            Gauge, "warm_up_seconds", "Time to load and compile", "model version", multiprocess_mode="max"
        )

    def text(self) -> bytes:
        """What Prometheus reads."""
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)
            return generate_latest(registry)
        return generate_latest(self.registry)
