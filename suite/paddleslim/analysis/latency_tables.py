"""Latency from tables: none of the tables of devices come with this package."""

from __future__ import annotations

from typing import Any

from paddle.engine import errors


class LatencyEvaluator:
    """Base of classes that tell how long a program runs: override `latency`."""

    def latency(self, graph: Any) -> float:
        """Milliseconds of a program."""
        raise errors.NotImplemented_(f"{type(self).__name__}.latency must be overridden")


class TableLatencyEvaluator(LatencyEvaluator):
    """NotImplementedError: latency by a table of measured operators. `paddleslim.analysis.latency` measures."""

    def __init__(self, table_file: str, delimiter: str = ","):
        raise errors.NotImplemented_("TableLatencyEvaluator: tables of devices; paddleslim.analysis.latency measures")
