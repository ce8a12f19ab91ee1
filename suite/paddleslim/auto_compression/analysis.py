"""Which weights of a saved model are sensitive to pruning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paddle.static import scope_guard

from ..prune import get_ratios_by_loss, sensitivity
from .compressor import AutoCompression
from .models import Model
from .training import evaluation


def analysis_prune(
    eval_function: Callable,
    model_dir: str,
    model_filename: str | None,
    params_filename: str | None,
    analysis_file: str | None,
    pruned_ratios: Sequence[float],
    target_loss: float | None = None,
    criterion: str = "l1_norm",
) -> Any:
    """Measure how the metric of a saved model falls when each group of channels is pruned alone.

    Args:
        eval_function: as `eval_callback` of AutoCompression.
        model_dir, model_filename, params_filename: the model.
        analysis_file: where results are written (JSON) and taken from.
        pruned_ratios: shares to try.
        target_loss: with it, the ratios that cost as much are given.
        criterion: which channels go.

    Returns:
        ``{name: {ratio: loss}}``, or with `target_loss` ``{name: ratio}``.
    """
    model = Model.read(model_dir, model_filename, params_filename)
    evaluate = evaluation(eval_function)
    assert evaluate is not None
    names = AutoCompression._prunable(model)

    def metric(program: Any) -> float:
        return evaluate(Model(program, model.scope))

    with scope_guard(model.scope):
        found = sensitivity(model.program, None, names, metric, analysis_file, pruned_ratios, criterion=criterion)
    return found if target_loss is None else get_ratios_by_loss(found, target_loss)
