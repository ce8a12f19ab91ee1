"""How long steps take: loading, the whole step, and samples in a second."""

from __future__ import annotations

import time
from typing import Any

WARM_UP = 10  # steps that the summary leaves out


class Average:
    """Sum, number and extremes of some durations."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.total = 0.0
        self.count = 0
        self.samples = 0
        self.least, self.most = float("inf"), 0.0

    def record(self, seconds: float, samples: int = 0) -> None:
        """Add one duration."""
        self.total += seconds
        self.count += 1
        self.samples += samples
        self.least, self.most = min(self.least, seconds), max(self.most, seconds)

    def average(self) -> float:
        """The mean, 0 of nothing."""
        return self.total / self.count if self.count else 0.0


class Benchmark:
    """Measures steps: `begin`, then in each step optionally `before_reader` and `after_reader`, and `step`; `end`.
    Loading is measured by itself while a `paddle.profiler.Profiler` runs.

    Example:
        >>> timer = paddle.profiler.timer.Benchmark()
        >>> timer.begin()
        >>> timer.step(num_samples=32)
        >>> timer.step_info()  # doctest: +ELLIPSIS
        ' batch_cost: ... s ips: ... samples/s'
    """

    def __init__(self) -> None:
        self.num_samples: int | None = None
        self._running = False
        self._clear()

    def _clear(self) -> None:
        self._recent = (Average(), Average(), Average())  # reading, steps, samples in a second
        self._whole = (Average(), Average(), Average())
        self._steps = 0
        self._reading: float | None = None
        self._read = 0.0
        self._reads = False  # whether loading is measured
        self._unit = "samples"
        self._shown: str | None = None  # the unit that the user named

    def begin(self) -> None:
        """Start."""
        self._clear()
        self._running = True
        self._mark = time.perf_counter()

    def before_reader(self) -> None:
        """Loading begins."""
        self._reading = time.perf_counter()

    def after_reader(self) -> None:
        """Loading ends."""
        if self._reading is not None:
            self._read += time.perf_counter() - self._reading
            self._reading = None
            self._reads = True

    def step(self, num_samples: int | None = None) -> None:
        """A step ends."""
        if not self._running:
            return
        now = time.perf_counter()
        cost, self._mark = now - self._mark, now
        self.num_samples = num_samples
        self._steps += 1
        self._unit = "steps" if num_samples is None else "samples"
        speed = (1 if num_samples is None else num_samples) / max(cost, 1e-12)
        for reading, steps, speeds in (self._recent, self._whole):
            if steps is self._whole[1] and self._steps <= WARM_UP:
                continue
            if self._reads:
                reading.record(self._read)
            steps.record(cost, 1 if num_samples is None else num_samples)
            speeds.record(speed)
        self._read = 0.0

    after_step = step

    def step_info(self, unit: str | None = None) -> str:
        """The averages since the last call as text; "" when there was no step. `unit` is what samples are called."""
        reading, steps, _ = self._recent
        if not steps.count:
            return ""
        if unit is not None:
            self._shown = unit
        text = f" reader_cost: {reading.average():.5f} s" if reading.count else ""
        text += f" batch_cost: {steps.average():.5f} s ips: {steps.samples / max(steps.total, 1e-12):.3f}"
        for average in self._recent:
            average.reset()
        return f"{text} {unit or self._unit}/s"

    def end(self) -> None:
        """Stop, and print a summary if there were more than ten steps."""
        if not self._running:
            return
        self._running = False
        reading, steps, speeds = self._whole
        if not steps.count:
            return
        print(f"{'Perf Summary':=^100}")
        rows: list[tuple[str, Any, Any, Any]] = []
        if reading.count:
            print(f"Reader Ratio: {100 * reading.total / max(steps.total, 1e-12):.3f}%")
            rows.append(("reader_cost", reading.average(), reading.most, reading.least))
        print(f"Time Unit: s, IPS Unit: {self._shown or self._unit}/s")
        rows.append(("batch_cost", steps.average(), steps.most, steps.least))
        rows.append(("ips", steps.samples / max(steps.total, 1e-12), speeds.most, speeds.least))
        for row in [("", "avg", "max", "min"), *rows]:
            cells = [c if isinstance(c, str) else f"{c:.5f}" for c in row]
            print("|" + "".join(c.center(17) + "|" for c in cells))


_benchmark = Benchmark()


def benchmark() -> Benchmark:
    """The timer that `paddle.profiler.Profiler` uses."""
    return _benchmark
