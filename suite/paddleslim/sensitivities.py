"""How much a metric falls when one weight is pruned: files, and the ratios that follow."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

from paddle.engine import errors
from paddle.utils.files import atomic_write

Sensitivities = dict[str, dict[float, float]]
RATIOS = tuple(round(0.1 * i, 1) for i in range(1, 10))


def load_sensitivities(sensitivities_file: str | None) -> Sensitivities:
    """Read what `sensitivity` wrote: JSON, so nothing of the file is executed. Without a file, {}.

    Raises:
        ValueError: the file holds something else (the pickles of the official package are refused).
    """
    if not sensitivities_file or not os.path.isfile(sensitivities_file):
        return {}
    with open(sensitivities_file, "rb") as f:
        content = f.read()
    try:
        found = json.loads(content)
        return {str(n): {float(r): float(x) for r, x in losses.items()} for n, losses in found.items()}
    except (ValueError, AttributeError, TypeError):
        raise errors.ValueError_(f"load_sensitivities: {sensitivities_file!r} holds no sensitivities as JSON")


def save_sensitivities(sensitivities: Sensitivities, sensitivities_file: str) -> None:
    """Write sensitivities as JSON."""
    text = json.dumps({n: {str(r): x for r, x in losses.items()} for n, losses in sensitivities.items()}, indent=1)
    with atomic_write(sensitivities_file) as f:
        f.write(text.encode())


def merge_sensitive(sensitivities: list[Sensitivities] | list[str]) -> Sensitivities:
    """Several sensitivities, or files of them, as one; of equal entries the last counts.

    Raises:
        ValueError: an empty list.

    Example:
        >>> import paddleslim
        >>> paddleslim.prune.merge_sensitive([{"a": {0.1: 0.0}}, {"a": {0.2: 0.5}}])
        {'a': {0.1: 0.0, 0.2: 0.5}}
    """
    if not sensitivities:
        raise errors.ValueError_("merge_sensitive: there is nothing to merge")
    merged: Sensitivities = {}
    for each in sensitivities:
        for name, losses in (each if isinstance(each, dict) else load_sensitivities(each)).items():
            merged.setdefault(name, {}).update(losses)
    return merged


def get_ratios_by_loss(sensitivities: Sensitivities, loss: float) -> dict[str, float]:
    """The largest ratio of each weight whose loss alone stays below a bound, interpolated between the measured ones.

    Args:
        sensitivities: loss by ratio, by name.
        loss: the bound.

    Example:
        >>> import paddleslim
        >>> paddleslim.dygraph.get_ratios_by_loss({"w": {0.2: 0.0, 0.4: 0.1, 0.6: 0.3}}, 0.2)
        {'w': 0.5}
    """
    ratios = {}
    for name, losses in sensitivities.items():
        points = sorted((float(r), float(x)) for r, x in losses.items())
        below = [i for i, (_, x) in enumerate(points) if x <= loss]
        if not below:
            ratios[name] = 0.0
            continue
        ratio, lower = points[below[-1]]
        if below[-1] + 1 < len(points):
            further, upper = points[below[-1] + 1]
            ratio += (loss - lower) * (further - ratio) / (upper - lower)
        ratios[name] = ratio
    return ratios


def measure(
    names: Iterable[str],
    ratios: Iterable[float],
    pruned_metric: Callable[[str, float], float],
    baseline: Callable[[], float],
    file: str | None,
) -> Sensitivities:
    """Prune each weight by each ratio and note how far the metric falls, as a share of what it was. What is in the file is
    not measured again; each result is written at once."""
    found, before = load_sensitivities(file), None
    for name in names:
        losses = found.setdefault(name, {})
        for ratio in ratios:
            ratio = round(float(ratio), 6)
            if ratio in losses:
                continue
            if before is None:
                before = float(baseline())
            losses[ratio] = (before - float(pruned_metric(name, ratio))) / (before if before else 1e-3)
            if file:
                save_sensitivities(found, file)
    return found


def searched(ratios_of: Callable[[float], dict[str, float]], share_of: Callable[[dict], float], wanted: float) -> Any:
    """(ratios, share) for the loss whose pruning takes the wanted share of the operations, by bisection."""
    low, high = 0.0, 1.0
    best: tuple[dict[str, float], float] | None = None
    for _ in range(14):
        ratios = ratios_of((low + high) / 2)
        share = share_of(ratios)
        if best is None or abs(share - wanted) < abs(best[1] - wanted):
            best = ratios, share
        if abs(share - wanted) < 1e-3:
            break
        low, high = ((low + high) / 2, high) if share < wanted else (low, (low + high) / 2)
    return best
