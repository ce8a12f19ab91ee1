"""The line that shows how far a run is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np


class ProgressBar:
    """Prints the step, values and the time for each step.

    Args:
        num: how many steps there are; None: not known.
        width: length of the drawn bar.
        verbose: 1 redraws one line with a bar (on a terminal that of tqdm, where it is installed), 2 prints a line for each
            update.
        start: start the clock at once.
        file: where to print; None: standard output at the time of printing.
        name: what a step is called.

    Example:
        >>> paddle.hapi.progressbar.ProgressBar(4, verbose=2).update(1, [("loss", 0.5)])  # doctest: +ELLIPSIS
        step 1/4 - loss: 0.5000 - ...s/step
    """

    def __init__(
        self,
        num: int | None = None,
        width: int = 30,
        verbose: int = 1,
        start: bool = True,
        file: Any = None,
        name: str = "step",
    ):
        if num is not None and (not isinstance(num, (int, np.integer)) or num <= 0):
            raise TypeError(f"(InvalidType) ProgressBar: num must be None or a positive integer, got {num!r}")
        self._num, self._width, self._verbose, self.file, self.name = num, width, verbose, file, name
        self._shown = 0  # characters of the line that is on the screen
        self._drawn: Any = None  # the bar on a terminal
        self._start = time.time() if start else 0.0

    def start(self) -> None:
        """Start the clock (again)."""
        self._start = time.time()

    def update(self, current_num: int, values: Iterable[tuple[str, Any]] = ()) -> None:
        """Show that `current_num` steps are done, and named values: numbers, or lists of numbers."""
        named = [
            (name, " ".join(_number(v) for v in (value if isinstance(value, (list, tuple)) else [value])))
            for name, value in (values.items() if isinstance(values, dict) else values)
        ]
        unfinished = self._num is not None and current_num < self._num
        if self._verbose == 1 and self.file is None and (self._drawn or sys.stdout.isatty()):
            if self._draw(current_num, named):
                if self._num is not None and not unfinished:
                    self.close()
                return
        digits = len(str(self._num)) if self._num is not None else 3
        line = f"{self.name} {current_num:{digits}d}" + (f"/{self._num}" if self._num is not None else "")
        each = (time.time() - self._start) / current_num if current_num else 0.0
        drawn = self._verbose == 1
        if drawn and self._num is not None:
            line += " " + self._bar(current_num)
        line += "".join(f" - {name}: {value}" for name, value in named)
        if drawn and unfinished:
            line += f" - ETA: {_remaining(each * (self._num - current_num))}"
        line += f" - {_duration(each)}/{self.name}"
        out = sys.stdout if self.file is None else self.file
        if drawn:
            padding = " " * (self._shown - len(line))
            start, end = "\b" * self._shown + ("\r" if self._num is not None else ""), "" if unfinished else "\n"
            out.write(start + line + padding + end)
            self._shown = len(line)
        else:
            out.write(line + "\n")
        out.flush()

    def _draw(self, done: int, named: list[tuple[str, str]]) -> bool:
        """Show it with tqdm. False where that is not installed."""
        if self._drawn is None:
            try:
                from tqdm import tqdm
            except ImportError:
                return False
            form = "{desc} {n_fmt}/{total_fmt} {bar}" if self._num else "{desc} {n_fmt}"
            self._drawn = tqdm(
                total=self._num,
                desc=self.name,
                unit=self.name,
                file=sys.stdout,
                dynamic_ncols=True,
                mininterval=0,
                bar_format=form + "{postfix} - {elapsed}" + ("<{remaining}" if self._num else "") + ", {rate_fmt}",
            )
            self._drawn.start_t = self._start
        self._drawn.n = done
        self._drawn.set_postfix_str(" - ".join(f"{name}: {value}" for name, value in named))
        return True

    def close(self) -> None:
        """Nothing more will be shown: what is drawn stays."""
        if self._drawn is not None:
            self._drawn.close()
            self._drawn = None

    def _bar(self, done: int) -> str:
        filled = min(int(done * self._width / self._num), self._width)
        if not filled:
            return "[" + "." * self._width + "]"
        head = "=" if done >= self._num else ">"
        return "[" + "=" * (filled - 1) + head + "." * (self._width - filled) + "]"


def _number(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        return f"{value:.4f}" if abs(value) > 1e-3 else f"{value:.4e}"
    return str(value)


def _duration(seconds: float) -> str:
    if seconds >= 1 or seconds == 0:
        return f"{seconds:.0f}s"
    return f"{seconds * 1e3:.0f}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us"


def _remaining(seconds: float) -> str:
    whole = int(seconds)
    if whole > 3600:
        return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
    return f"{whole // 60}:{whole % 60:02d}" if whole > 60 else f"{whole}s"
