"""What compression did: parameters, operations, time and accuracy, before and after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from paddle.engine import errors
from paddle.nn.layer import Layer

from .counting import flops, latencies, model_size


@dataclass
class Measurement:
    """A network at one moment.

    Attributes:
        parameters: numbers in its parameters.
        flops: multiply-additions of one sample.
        latency: median milliseconds of a run.
        accuracy: what the function of the user gave; None without one.
    """

    parameters: int
    flops: int
    latency: float
    accuracy: float | None = None


def measure(model: Layer, inputs: Any, evaluate: Callable[[Layer], float] | None = None, runs: int = 30) -> Measurement:
    """Measure a network.

    Args:
        model: a Layer.
        inputs: the shape of its input, or a list of shapes or tensors.
        evaluate: from the Layer to a number.
        runs: how many runs are timed.

    Example:
        >>> import paddleslim
        >>> paddleslim.analysis.measure(paddle.nn.Linear(4, 2), [1, 4]).parameters
        10
    """
    (milliseconds,) = latencies([(model, inputs)], runs=runs)
    return Measurement(model_size(model), flops(model, inputs), milliseconds, evaluate and float(evaluate(model)))


@dataclass
class Report:
    """Two measurements; `str` is a table.

    Attributes:
        before, after: the measurements.
    """

    before: Measurement
    after: Measurement

    def __str__(self) -> str:
        rows = [("", "before", "after", "share")]
        for title, name, form in (
            ("parameters", "parameters", "{:,}"),
            ("FLOPs", "flops", "{:,}"),
            ("latency, ms", "latency", "{:.3f}"),
            ("accuracy", "accuracy", "{:.4f}"),
        ):
            a, b = getattr(self.before, name), getattr(self.after, name)
            if a is None or b is None:
                continue
            share = f"{b / a:.3f}" if name != "accuracy" and a else ""
            rows.append((title, form.format(a), form.format(b), share))
        widths = [max(len(r[i]) for r in rows) for i in range(4)]
        return "\n".join(
            "  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(r, widths))) for r in rows
        )


def report(
    before: Layer, after: Layer, inputs: Any, evaluate: Callable[[Layer], float] | None = None, runs: int = 30
) -> Report:
    """Compare two networks; their runs are timed in turns.

    Args:
        before, after: Layers, for example a copy (`copy.deepcopy`) and what became of it.
        inputs: the shape of their input, or a list of shapes or tensors.
        evaluate: from a Layer to its accuracy.
        runs: how many runs of each are timed.

    Raises:
        TypeError: no Layers.

    Example:
        >>> import paddleslim
        >>> made = paddleslim.analysis.report(paddle.nn.Linear(4, 8), paddle.nn.Linear(4, 2), [1, 4])
        >>> made.before.parameters, made.after.parameters, made.after.flops
        (40, 10, 8)
    """
    for which, model in (("before", before), ("after", after)):
        if not isinstance(model, Layer):
            raise errors.TypeError_(f"report: {which} must be a Layer, got {errors.describe(model)}")
    times = latencies([(before, inputs), (after, inputs)], runs=runs)
    made = [
        Measurement(model_size(m), flops(m, inputs), t, evaluate and float(evaluate(m)))
        for m, t in zip((before, after), times)
    ]
    return Report(*made)
