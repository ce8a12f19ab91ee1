"""Pictures of training runs: curves as PNG, drawn with Pillow."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..engine import errors

__all__ = ["PlotData", "Ploter", "plot_run"]

_COLOURS = ["#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b", "#17becf", "#7f7f7f"]
_LEFT, _TOP, _RIGHT, _BOTTOM = 64, 28, 16, 28  # around a panel's axes


class PlotData:
    """A curve: steps and values."""

    def __init__(self) -> None:
        self.reset()

    def append(self, step: float, value: float) -> None:
        """Add a point."""
        self.step.append(float(step))
        self.value.append(float(value))

    def reset(self) -> None:
        """Forget all points."""
        self.step: list[float] = []
        self.value: list[float] = []


class Ploter:
    """Collects curves and draws them in one picture (the interface of the early official releases).

    Args:
        titles: the names of the curves.

    Example:
        >>> ploter = paddle.utils.plot.Ploter("train cost", "test cost")
        >>> for step in range(10):
        ...     ploter.append("train cost", step, 1 / (step + 1))
        >>> ploter.plot("cost.png")
    """

    def __init__(self, *titles: str):
        self._curves = {title: PlotData() for title in titles}

    def append(self, title: str, step: float, value: Any) -> None:
        """Add a point to the curve `title`.

        Raises:
            ValueError: there is no such curve.
        """
        if title not in self._curves:
            raise errors.ValueError_(f"Ploter.append: there is no curve {title!r}; there are {list(self._curves)}")
        array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
        if array.size != 1:
            raise errors.TypeError_(f"Ploter.append: value must be one number, got {errors.describe(value)}")
        self._curves[title].append(step, array.reshape(()))

    def plot(self, path: str | None = None) -> None:
        """Write the picture to `path` (its end names the format), or show it on the screen."""
        picture = draw([("", {t: (c.step, c.value) for t, c in self._curves.items()})])
        if path is None:
            picture.show()
        else:
            _save(picture, path)

    def reset(self) -> None:
        """Forget all points."""
        for curve in self._curves.values():
            curve.reset()


def plot_run(logdir: str, path: str, tags: Sequence[str] | None = None, smooth: float = 0.0) -> None:
    """Draw the scalars of a visual log, a panel for each tag.

    Args:
        logdir: a folder of event files, or one file.
        path: the picture to write.
        tags: which; default all.
        smooth: from 0 to less than 1, the weight of the past in the drawn averages.

    Raises:
        ValueError: there is no such tag, or no scalar at all.

    Example:
        >>> with paddle.visual_log.LogWriter("run") as writer:
        ...     for step in range(5): writer.add_scalar("loss", 1 / (step + 1), step)
        >>> paddle.utils.plot.plot_run("run", "run.png")
    """
    from ..visual_log import LogReader

    if not 0 <= smooth < 1:
        raise errors.ValueError_(f"plot_run: smooth must be from 0 to less than 1, got {smooth!r}")
    reader = LogReader(logdir)
    tags = list(reader.get_tags().get("scalar", [])) if tags is None else list(tags)
    if not tags:
        raise errors.ValueError_(f"plot_run: there is no scalar in {logdir!r}")
    panels = []
    for tag in tags:
        records = reader.get_data("scalar", tag)
        panels.append((tag, {tag: ([r.id for r in records], _smoothed([r.value for r in records], smooth))}))
    _save(draw(panels), path)


def _smoothed(values: list[float], weight: float) -> list[float]:
    """The running average, corrected for its start (as Adam's, Kingma and Ba, 2015)."""
    out, past, share = [], 0.0, 0.0
    for v in values:
        if not weight or not math.isfinite(v):
            out.append(v)
            continue
        past, share = weight * past + (1 - weight) * v, weight * share + (1 - weight)
        out.append(past / share)
    return out


def _save(picture: Any, path: str) -> None:
    folder = os.path.dirname(os.fspath(path))
    if folder:
        os.makedirs(folder, exist_ok=True)
    picture.save(path)


def draw(panels: list[tuple[str, dict[str, tuple[Sequence[float], Sequence[float]]]]], width: int = 480) -> Any:
    """A picture (of Pillow) with panels: (title, {name: (steps, values)})."""
    from PIL import Image, ImageDraw

    height = width * 2 // 3
    columns = min(len(panels), 2)
    sheet = Image.new("RGB", (columns * width, -(-len(panels) // columns) * height), "white")
    pen = ImageDraw.Draw(sheet)
    for i, (title, curves) in enumerate(panels):
        _panel(pen, title, curves, i % columns * width, i // columns * height, width, height)
    return sheet


def _panel(pen: Any, title: str, curves: dict, left: int, top: int, width: int, height: int) -> None:
    x0, x1 = left + _LEFT, left + width - _RIGHT
    y0, y1 = top + height - _BOTTOM, top + _TOP
    finite = {
        name: [(s, v) for s, v in zip(*curve) if abs(s) < 1e300 and abs(v) < 1e300] for name, curve in curves.items()
    }
    points = [p for curve in finite.values() for p in curve]
    low_x, high_x = _range([p[0] for p in points])
    low_y, high_y = _range([p[1] for p in points])

    def place(x: float, y: float) -> tuple[float, float]:
        return x0 + (x - low_x) / (high_x - low_x) * (x1 - x0), y0 + (y - low_y) / (high_y - low_y) * (y1 - y0)

    pen.text((left + width // 2, top + 8), title, fill="black", anchor="ma")
    for v in _ticks(low_y, high_y):
        y = place(low_x, v)[1]
        pen.line([(x0, y), (x1, y)], fill="#dddddd")
        pen.text((x0 - 6, y), f"{v:.4g}", fill="black", anchor="rm")
    for v in _ticks(low_x, high_x):
        x = place(v, low_y)[0]
        pen.line([(x, y0), (x, y0 + 4)], fill="black")
        pen.text((x, y0 + 6), f"{v:.4g}", fill="black", anchor="ma")
    pen.rectangle([x0, y1, x1, y0], outline="black")
    for i, (name, curve) in enumerate(finite.items()):
        colour = _COLOURS[i % len(_COLOURS)]
        spots = [place(*p) for p in curve]
        if len(spots) > 1:
            pen.line(spots, fill=colour, width=2, joint="curve")
        for x, y in spots if len(spots) <= 20 else []:
            pen.ellipse([x - 2, y - 2, x + 2, y + 2], fill=colour)
        if len(finite) > 1:
            pen.line([(x1 - 24, y1 + 12 + 14 * i), (x1 - 8, y1 + 12 + 14 * i)], fill=colour, width=2)
            pen.text((x1 - 30, y1 + 12 + 14 * i), name, fill="black", anchor="rm")


def _range(values: list[float]) -> tuple[float, float]:
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    space = (high - low) * 0.05 or abs(low) * 0.05 or 0.5
    return low - space, high + space


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers."""
    rough = (high - low) / 5
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(k * size for k in (1, 2, 5, 10) if k * size >= rough)
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
