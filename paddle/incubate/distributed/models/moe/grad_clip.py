"""Clipping by the norm of the gradients of all experts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from .....distributed.communication.group import Group
from .....distributed.communication.mesh import over_mesh
from .....engine import errors
from .....nn.clip import ClipGradBase, _positive, _squares


class ClipGradForMOEByGlobalNorm(ClipGradBase):
    """`ClipGradByGlobalNorm` for models with experts: the norm is that of the parameters that all processes have together
    with the experts of all processes.

    Args:
        clip_norm: the largest norm.
        is_expert_param_func: tells of a parameter whether it belongs to an expert.
        moe_group: the processes over which the experts are spread.
        group_name: for the official interface.

    Raises:
        ValueError: a group of several processes without `is_expert_param_func`.

    Example:
        >>> from paddle.incubate.distributed.models.moe import ClipGradForMOEByGlobalNorm
        >>> net = paddle.nn.Linear(2, 2)
        >>> clip = ClipGradForMOEByGlobalNorm(1.0)
        >>> sgd = paddle.optimizer.SGD(0.1, parameters=net.parameters(), grad_clip=clip)
    """

    def __init__(
        self,
        clip_norm: float,
        is_expert_param_func: Callable[[Any], bool] | None = None,
        moe_group: Group | None = None,
        group_name: str = "default_moe_group",
    ):
        self.clip_norm = _positive(self, "clip_norm", clip_norm)
        self.group_name = group_name
        self.moe_group = moe_group
        if moe_group is not None and moe_group.nranks > 1 and is_expert_param_func is None:
            raise errors.ValueError_(
                "ClipGradForMOEByGlobalNorm: is_expert_param_func must be given for a moe_group of several processes"
            )
        self.is_expert_param_func = is_expert_param_func

    def __str__(self) -> str:
        return f"Gradient Clip By GlobalNorm, global_norm={self.clip_norm:f}"

    def __call__(self, params_grads: list) -> list:
        pairs = [(p, g.merged() if g.is_selected_rows() else g) for p, g in params_grads if g is not None]
        chosen = [(p, g) for p, g in pairs if getattr(p, "need_clip", True)]
        spread = self.moe_group is not None and self.moe_group.nranks > 1
        mine = [bool(spread and self.is_expert_param_func(p)) for p, _ in chosen]  # type: ignore[misc]
        sums = [
            sum([_squares(g._value) for (_, g), e in zip(chosen, mine) if e is kind], jnp.float32(0))
            for kind in (True, False)
        ]
        if spread:
            (sums[0],) = over_mesh(self.moe_group, "all_reduce", [sums[0].reshape(1)], "sum")
        if not chosen and not spread:
            return pairs
        norm, limit = jnp.sqrt(sums[0] + sums[1]).reshape(()), jnp.float32(self.clip_norm)
        scale = jnp.where(norm > limit, limit / jnp.maximum(norm, limit), jnp.where(norm <= limit, 1.0, norm))
        for _, g in chosen:
            g._write_array(g._value * scale.astype(g._value.dtype))
        return pairs


ClipGradByGlobalNorm = ClipGradForMOEByGlobalNorm
