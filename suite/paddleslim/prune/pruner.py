"""Pruning of channels of programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from paddle.engine import errors
from paddle.static import Program, global_scope

from ..criteria import criterion_of
from ..sensitivities import RATIOS, Sensitivities, measure
from ..structure import Structure
from ..structure.plan import chosen, ratio_of
from ..structure.programs import array_of, pruned_program, refuse_training, results_of, write_pruned


class Pruner:
    """Prunes channels of a static program with everything that depends on them.

    Args:
        criterion: "l1_norm", "l2_norm", "geometry_median", or a function (weight, axis) -> a number for each channel, of
            which the smallest are removed.
        idx_selector: accepted.

    Raises:
        ValueError: an unknown criterion.

    Example:
        >>> import paddle.static as static, paddleslim
        >>> main, startup = static.Program(), static.Program()
        >>> with static.program_guard(main, startup):
        ...     x = static.data("x", [None, 1, 8, 8])
        ...     first = paddle.nn.Conv2D(1, 8, 3)
        ...     y = paddle.nn.Conv2D(8, 2, 3)(paddle.nn.functional.relu(first(x)))
        >>> exe = static.Executor(); _ = exe.run(startup)
        >>> pruner = paddleslim.prune.Pruner()
        >>> small, _, _ = pruner.prune(main, static.global_scope(), [first.weight.name], [0.5])
        >>> [p.shape for p in small.all_parameters()]
        [[4, 1, 3, 3], [4], [2, 4, 3, 3], [2]]
    """

    def __init__(self, criterion: str | Callable = "l1_norm", idx_selector: Any = "default_idx_selector"):
        self.criterion = criterion_of(criterion, "Pruner")
        self._left: dict[tuple[str, int], tuple[int, np.ndarray]] = {}

    def prune(
        self,
        program: Program,
        scope: Any,
        params: Sequence[str],
        ratios: Sequence[float],
        place: Any = None,
        lazy: bool = False,
        only_graph: bool = False,
        param_backup: bool = False,
        param_shape_backup: bool = False,
    ) -> tuple[Program, dict | None, dict | None]:
        """Prune parameters.

        Args:
            program: a Program without gradients; it stays as it is.
            scope: holds the parameters; None is the global one.
            params: names of weights; convolutions lose outputs, linear layers as well.
            ratios: the share of each that goes.
            place: accepted.
            lazy: only set what would go to zero.
            only_graph: leave the scope alone, for a second program with the same parameters.
            param_backup, param_shape_backup: give the old elements and shapes.

        Returns:
            (the pruned program, old arrays by name or None, old shapes by name or None).

        Raises:
            ValueError: an unknown name, a ratio outside of [0, 1), channels that cannot be removed (with the reason).
            NotImplementedError: a program with gradients.
        """
        if not isinstance(program, Program):
            raise errors.TypeError_(f"prune: program must be a Program, got {errors.describe(program)}")
        if len(params) != len(ratios):
            raise errors.ValueError_(f"prune: {len(params)} params but {len(ratios)} ratios")
        refuse_training(program, "prune")
        scope = scope or global_scope()
        structure = Structure(program, results_of(program))
        units: list[int] = []
        decided: set[int] = set()
        for name, ratio in zip(params, ratios):
            ratio_of("prune", ratio)
            axis = structure.propagation.owners.get(name, 0)
            own = set(structure.ids(name, axis).tolist())
            if ratio > 0 and not own <= decided:
                units += self._chosen(structure, name, axis, ratio, scope)
            decided |= own
        units = structure.spared(units)
        kept = structure.keep(units)
        names = dict.fromkeys(n for n, _ in kept)
        arrays = {n: array_of(program.states[n], scope, "prune") for n in names} if param_backup else None
        shapes = {n: list(program.states[n].value.shape) for n in names} if param_shape_backup else None
        for (name, axis), left in kept.items():
            self._left[name, axis] = program.states[name].value.shape[axis], left
        if lazy:
            made = program.clone()
            for (name, axis), left in kept.items():
                array = array_of(program.states[name], scope, "prune").copy()
                mask = np.zeros(array.shape[axis], bool)
                mask[left] = True
                scope.var(name).array = array * mask.reshape([-1 if i == axis else 1 for i in range(array.ndim)])
            return made, arrays, shapes
        made, _ = pruned_program(structure, units)
        if not only_graph:
            write_pruned(structure, kept, scope)
        return made, arrays, shapes

    def _chosen(self, structure: Structure, name: str, axis: int, ratio: float, scope: Any) -> list[int]:
        shape = structure.graph.states[name].value.shape
        array = array_of(structure.graph.states[name], scope, "prune")
        if array.shape == tuple(shape):
            return chosen(structure, name, axis, ratio, self.criterion(array, axis))
        known = self._left.get((name, axis))  # the scope was pruned before, with another program
        if known is None or known[0] != shape[axis]:
            raise errors.ValueError_(
                f"prune: {name} has shape {list(array.shape)} in the scope and {list(shape)} in the program"
            )
        ids = structure.ids(name, axis)
        return np.setdiff1d(ids, ids[known[1]]).tolist()


def sensitivity(
    program: Program,
    place: Any,
    param_names: Sequence[str],
    eval_func: Callable[..., float],
    sensitivities_file: str | None = None,
    pruned_ratios: Sequence[float] | None = None,
    eval_args: Sequence[Any] | None = None,
    criterion: str | Callable = "l1_norm",
) -> Sensitivities:
    """How far a metric falls when parameters of a program are pruned, one at a time.

    Args:
        program: a Program without gradients, whose parameters are in the global scope.
        place: accepted.
        param_names: names of weights.
        eval_func: a function of a program (and `eval_args`) that gives the metric.
        sensitivities_file: where results are written (JSON) and taken from.
        pruned_ratios: default 0.1, 0.2, ... 0.9.
        eval_args: further arguments of `eval_func`.
        criterion: see `Pruner`.

    Returns:
        ``{name: {ratio: loss}}``; a loss is a share of the metric without pruning.
    """
    scope, rest = global_scope(), tuple(eval_args or ())

    def pruned_metric(name: str, ratio: float) -> float:
        made, arrays, _ = Pruner(criterion).prune(program, scope, [name], [ratio], param_backup=True)
        try:
            return eval_func(made, *rest)
        finally:
            for each, array in (arrays or {}).items():
                scope.var(each).array = array

    ratios = RATIOS if pruned_ratios is None else pruned_ratios
    return measure(param_names, ratios, pruned_metric, lambda: eval_func(program, *rest), sensitivities_file)
