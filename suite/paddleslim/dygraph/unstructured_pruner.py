"""Sparsity without structure, of layers: single weights become zero and stay it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from paddle import nn
from paddle.engine import errors
from paddle.engine.modes import modes
from paddle.engine.tensor import Tensor
from paddle.nn.layer import Layer

from ..masks import Schedule, check_settings, checked_block, is_pointwise, masks_of, threshold_of, zeros_share

NORMS = (
    nn.BatchNorm, nn.BatchNorm1D, nn.BatchNorm2D, nn.BatchNorm3D, nn.GroupNorm, nn.LayerNorm, nn.SpectralNorm,
    nn.InstanceNorm1D, nn.InstanceNorm2D, nn.InstanceNorm3D, nn.SyncBatchNorm, nn.LocalResponseNorm,
)  # fmt: skip


class UnstructuredPruner:
    """Sets the weights with the smallest magnitudes to zero and keeps them there: `step` after each step of the optimizer
    chooses anew, before each forward pass what was chosen is zero.

    Args:
        model: a Layer, changed in place.
        mode: "ratio" or "threshold".
        threshold: smaller magnitudes go.
        ratio: the share of weights that goes.
        prune_params_type: None for all but norms and vectors, "conv1x1_only".
        skip_params_func: a function from the model to a set of names of parameters that are left alone.
        local_sparsity: each weight loses the same share.
        sparse_block: weights go in blocks of rows and columns.

    Raises:
        ValueError: another mode or type, a ratio outside of [0, 1), `local_sparsity` with a threshold.

    Example:
        >>> from paddleslim.dygraph import UnstructuredPruner
        >>> net = paddle.nn.Linear(10, 10, bias_attr=False)
        >>> pruner = UnstructuredPruner(net, "ratio", ratio=0.6)
        >>> pruner.step(); pruner.update_params()
        >>> round(UnstructuredPruner.total_sparse(net), 2)
        0.6
    """

    def __init__(
        self,
        model: Layer,
        mode: str,
        threshold: float = 0.01,
        ratio: float = 0.55,
        prune_params_type: str | None = None,
        skip_params_func: Callable[[Layer], set] | None = None,
        local_sparsity: bool = False,
        sparse_block: Any = (1, 1),
    ):
        name = type(self).__name__
        if not isinstance(model, Layer):
            raise errors.TypeError_(f"{name}: model must be a Layer, got {errors.describe(model)}")
        check_settings(name, mode, ratio, prune_params_type, local_sparsity)
        self.model, self.mode, self.threshold, self.ratio = model, mode, threshold, ratio
        self.local_sparsity, self.sparse_block = local_sparsity, checked_block(sparse_block, name)
        skip = skip_params_func(model) if skip_params_func is not None else self._skipped(model, prune_params_type)
        self.skip_params = set(skip)
        self._pruned = {p.name: p for p in model.parameters() if p.name not in self.skip_params}
        self.masks = {n: Tensor(np.ones(p.shape, str(p._raw.dtype))) for n, p in self._pruned.items()}
        self._hook = model.register_forward_pre_hook(self._before)

    @staticmethod
    def _skipped(model: Layer, kind: str | None) -> set[str]:
        found = set()
        for layer in model.sublayers(include_self=True):
            for p in layer.parameters(include_sublayers=False):
                other = kind is not None and not is_pointwise(p.shape)
                if isinstance(layer, NORMS) or len(p.shape) == 1 or other:
                    found.add(p.name)
        return found

    def _before(self, layer: Layer, inputs: Any) -> None:
        if modes.program is None:
            self.update_params()

    def mask_parameters(self, param: Any, mask: Any) -> None:
        """Multiply a parameter by its mask, in place; to be overridden for other rules."""
        param._write_array(param._value * mask._value)

    def update_threshold(self) -> None:
        """Find the magnitude that belongs to the ratio."""
        _, self.threshold = masks_of(self._arrays(), self.ratio, None, self.local_sparsity, self.sparse_block)

    def _arrays(self) -> dict[str, np.ndarray]:
        return {n: p.numpy() for n, p in self._pruned.items()}

    def step(self) -> None:
        """Choose what is zero, by the weights as they are now."""
        bound = self.threshold if self.mode == "threshold" else None
        found, self.threshold = masks_of(self._arrays(), self.ratio, bound, self.local_sparsity, self.sparse_block)
        for name, mask in found.items():
            self.masks[name]._write_array(mask)

    def set_static_masks(self) -> None:
        """Keep zero what is zero now, as after loading a sparse model."""
        for name, p in self._pruned.items():
            self.masks[name]._write_array(p.numpy() != 0)

    def update_params(self) -> None:
        """Set to zero what was chosen; call it before saving or evaluating with something else than the model's forward."""
        for name, p in self._pruned.items():
            self.mask_parameters(p, self.masks[name])

    def summarize_weights(self, model: Layer, ratio: float = 0.1) -> float:
        """The magnitude below which a share of all weights lies."""
        return threshold_of(np.concatenate([np.abs(p.numpy()).reshape(-1) for p in model.parameters()]), ratio)

    @staticmethod
    def total_sparse(model: Layer) -> float:
        """The share of zeros in all parameters."""
        return zeros_share(p.numpy() for p in model.parameters())

    @staticmethod
    def total_sparse_conv1x1(model: Layer) -> float:
        """The share of zeros in the weights of 1x1 convolutions."""
        return zeros_share(p.numpy() for p in model.parameters() if is_pointwise(p.shape))


class GMPUnstructuredPruner(UnstructuredPruner):
    """`UnstructuredPruner` with a ratio that rises while the model trains; see `paddleslim.masks.Schedule`.

    Args:
        model, ratio, prune_params_type, skip_params_func, local_sparsity, sparse_block: see UnstructuredPruner.
        configs: a dict with `stable_iterations`, `pruning_iterations`, `tunning_iterations`, `pruning_steps`,
            `initial_ratio` and perhaps `resume_iteration`.
    """

    def __init__(
        self,
        model: Layer,
        ratio: float = 0.55,
        prune_params_type: str | None = None,
        skip_params_func: Callable[[Layer], set] | None = None,
        local_sparsity: bool = False,
        sparse_block: Any = (1, 1),
        configs: dict[str, Any] | None = None,
    ):
        super().__init__(model, "ratio", 0.0, ratio, prune_params_type, skip_params_func, local_sparsity, sparse_block)
        self.schedule = Schedule(configs, ratio)
        self.cur_iteration = int((configs or {}).get("resume_iteration") or 0)
        self.ratio = self.schedule.at(self.cur_iteration)

    def step(self) -> None:
        """The next iteration; chooses anew when the ratio rises."""
        ratio = self.schedule.at(self.cur_iteration)
        if ratio != self.ratio or self.cur_iteration == 0:
            self.ratio = ratio
            super().step()
        self.cur_iteration += 1
