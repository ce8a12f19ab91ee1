"""Sparsity without structure, of programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from paddle.engine import errors
from paddle.static import Program, global_scope

from ..masks import Schedule, check_settings, checked_block, is_pointwise, masks_of, threshold_of, zeros_share

_NORMS = ("batch_norm", "layer_norm", "group_norm", "instance_norm", "rms_norm")


def _arrays(program: Program, scope: Any = None) -> dict[str, np.ndarray]:
    scope = scope or global_scope()
    found = {p.name: scope.find_var(p.name) for p in program.all_parameters()}
    return {n: np.asarray(v.array) for n, v in found.items() if v is not None and v.array is not None}


class UnstructuredPruner:
    """Sets the weights of a program with the smallest magnitudes to zero: `step` after each run chooses anew and sets them.

    Args:
        program: a Program, for training or not.
        mode: "ratio" or "threshold".
        ratio: the share of weights that goes.
        threshold: smaller magnitudes go.
        scope: holds the parameters; default: the global one.
        place: accepted.
        prune_params_type: None for all but norms and vectors, "conv1x1_only".
        skip_params_func: a function from the program to a set of names of parameters that are left alone.
        local_sparsity: each weight loses the same share.
        sparse_block: weights go in blocks of rows and columns.

    Raises:
        ValueError: another mode or type, a ratio outside of [0, 1), `local_sparsity` with a threshold.
    """

    def __init__(
        self,
        program: Program,
        mode: str,
        ratio: float = 0.55,
        threshold: float = 0.01,
        scope: Any = None,
        place: Any = None,
        prune_params_type: str | None = None,
        skip_params_func: Callable[[Program], set] | None = None,
        local_sparsity: bool = False,
        sparse_block: Any = (1, 1),
    ):
        name = type(self).__name__
        if not isinstance(program, Program):
            raise errors.TypeError_(f"{name}: program must be a Program, got {errors.describe(program)}")
        check_settings(name, mode, ratio, prune_params_type, local_sparsity)
        self.program, self.mode, self.ratio, self.threshold = program, mode, ratio, threshold
        self.scope, self.local_sparsity = scope or global_scope(), local_sparsity
        self.sparse_block = checked_block(sparse_block, name)
        skip = skip_params_func(program) if skip_params_func else self._skipped(program, prune_params_type)
        self.skip_params = set(skip)
        self.masks: dict[str, np.ndarray] = {}

    @staticmethod
    def _skipped(program: Program, kind: str | None) -> set[str]:
        norms = {v.name for o in program.block.operators if o.name in _NORMS for v in o.reads()}
        return {
            p.name
            for p in program.all_parameters()
            if p.name in norms or len(p.shape) == 1 or kind is not None and not is_pointwise(p.shape)
        }

    def _weights(self) -> dict[str, np.ndarray]:
        return {n: a for n, a in _arrays(self.program, self.scope).items() if n not in self.skip_params}

    def mask_parameters(
        self, parameters: dict[str, np.ndarray], masks: dict[str, np.ndarray], program: Program
    ) -> None:
        """Multiply the parameters in the scope by masks; to be overridden for other rules."""
        for name, mask in masks.items():
            self.scope.var(name).set(parameters[name] * mask)

    def update_threshold(self) -> None:
        """Find the magnitude that belongs to the ratio."""
        _, self.threshold = masks_of(self._weights(), self.ratio, None, self.local_sparsity, self.sparse_block)

    def step(self) -> None:
        """Choose what is zero, by the weights as they are now, and set it."""
        bound = self.threshold if self.mode == "threshold" else None
        weights = self._weights()
        self.masks, self.threshold = masks_of(weights, self.ratio, bound, self.local_sparsity, self.sparse_block)
        self.mask_parameters(weights, self.masks, self.program)

    def set_static_masks(self) -> None:
        """Keep zero what is zero now; `update_params` sets it again."""
        self.masks = {n: a != 0 for n, a in self._weights().items()}

    def update_params(self) -> None:
        """Set to zero what was chosen."""
        self.mask_parameters(self._weights(), self.masks, self.program)

    def summarize_weights(self, program: Program, ratio: float = 0.1) -> float:
        """The magnitude below which a share of all weights lies."""
        return threshold_of(
            np.concatenate([np.abs(a).reshape(-1) for a in _arrays(program, self.scope).values()]), ratio
        )

    def sparse_by_layer(self, program: Program) -> dict[str, float]:
        """The share of zeros of each parameter."""
        return {n: zeros_share([a]) for n, a in _arrays(program, self.scope).items()}

    @staticmethod
    def total_sparse(program: Program) -> float:
        """The share of zeros in all parameters, in the global scope."""
        return zeros_share(_arrays(program).values())

    @staticmethod
    def total_sparse_conv1x1(program: Program) -> float:
        """The share of zeros in the weights of 1x1 convolutions, in the global scope."""
        return zeros_share(a for a in _arrays(program).values() if is_pointwise(a.shape))


class GMPUnstructuredPruner(UnstructuredPruner):
    """`UnstructuredPruner` with a ratio that rises from run to run; see `paddleslim.masks.Schedule`.

    Args:
        program, ratio, scope, place, prune_params_type, skip_params_func, local_sparsity, sparse_block: see
            UnstructuredPruner.
        configs: see `paddleslim.masks.Schedule`.
    """

    def __init__(
        self,
        program: Program,
        ratio: float = 0.55,
        scope: Any = None,
        place: Any = None,
        prune_params_type: str | None = None,
        skip_params_func: Callable[[Program], set] | None = None,
        local_sparsity: bool = False,
        sparse_block: Any = (1, 1),
        configs: dict[str, Any] | None = None,
    ):
        super().__init__(
            program,
            "ratio",
            ratio,
            0.0,
            scope,
            place,
            prune_params_type,
            skip_params_func,
            local_sparsity,
            sparse_block,
        )
        self.schedule = Schedule(configs, ratio)
        self.cur_iteration = int((configs or {}).get("resume_iteration") or 0)
        self.ratio = self.schedule.at(self.cur_iteration)

    def step(self) -> None:
        """The next iteration; between rises what was chosen stays zero."""
        ratio = self.schedule.at(self.cur_iteration)
        if ratio != self.ratio or not self.masks:
            self.ratio = ratio
            super().step()
        else:
            self.update_params()
        self.cur_iteration += 1
