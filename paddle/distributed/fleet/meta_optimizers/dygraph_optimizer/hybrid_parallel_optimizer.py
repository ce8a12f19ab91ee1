"""The optimizer of hybrid parallelism: gradients are combined and clipped over the processes, then each makes its step."""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp

from .....engine import errors
from .....engine.dispatch import dispatch
from .....engine.executable import Kernel
from .....engine.modes import modes, set_mode
from .....engine.tensor import Tensor
from .....engine.value import Value
from .....nn.clip import ClipGradBase, ClipGradByGlobalNorm, _squares
from .....ops.creation import zeros
from .....optimizer import Optimizer
from ....communication.collectives import fill, run
from ....communication.differentiable import plain
from ...base.topology import ParallelMode
from ...utils.hybrid_parallel_util import fused_allreduce_gradients
from ...utils.mix_precision_utils import borrowed_gradients
from ..programs import minimize_in_program

__all__: list[str] = []


def _squares_of(*arrays: Any) -> Any:
    """The sum of the squares, [1], of one type in all processes, whatever the types of their gradients."""
    return jnp.asarray(sum(map(_squares, arrays), 0.0), jnp.float64).reshape(1)


def _scaled(limit: Any, total: Any, *arrays: Any) -> tuple:
    """The arrays, scaled down where the norm, whose square is `total`, is above the limit."""
    norm = jnp.sqrt(total.reshape(()))
    scale = jnp.where(norm > limit, limit / jnp.maximum(norm, limit), jnp.where(norm <= limit, 1.0, norm))
    return tuple(a * scale.astype(a.dtype) for a in arrays)


@functools.cache
def _kernel(function: Any, n: int) -> Kernel:
    return Kernel(function, "clip" + function.__name__, ("scalar",) * n, differentiable=False)


class HybridParallelClipGrad(ClipGradBase):
    """`ClipGradByGlobalNorm` with the norm of the gradients of all processes that hold parts of the model.

    Parameters that are divided over tensor parallelism (`is_distributed`) count in every process of it, others once;
    those that two stages of a pipeline share count in the first (`is_firstly_shared`).

    Args:
        clip: the ClipGradByGlobalNorm.
        hcg: the HybridCommunicateGroup.
    """

    _joint = True  # all processes call it, with gradients or without

    def __init__(self, clip: ClipGradByGlobalNorm, hcg: Any, split_norm_comm: bool = False, timers: Any = None):
        self._clip, self._hcg = clip, hcg

    @property
    def clip_norm(self) -> float:
        """The largest norm."""
        return self._clip.clip_norm

    def __call__(self, params_grads: list) -> list:
        pairs = [(p, g.merged() if g.is_selected_rows() else g) for p, g in params_grads if g is not None]
        chosen = [g for p, g in pairs if getattr(p, "need_clip", True)]
        counted = [(p, g) for p, g in pairs if getattr(p, "need_clip", True) and getattr(p, "is_firstly_shared", True)]
        if self._hcg.get_model_parallel_rank() > 0:  # what is not divided counts once
            counted = [(p, g) for p, g in counted if p.is_distributed]
        squares = [g for _, g in counted]
        with set_mode(grad=False, amp=None):
            total = dispatch(_kernel(_squares_of, len(squares)), tuple(squares)) if squares else zeros([1], "float64")
            total = plain(total, "sum", self._hcg.get_model_parts_group())
            found = (
                dispatch(_kernel(_scaled, len(chosen) + 2), (float(self.clip_norm), total, *chosen)) if chosen else ()
            )
            for g, new in zip(chosen, found):
                g._storage.write(new._raw)
        return pairs

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_clip"], name)


class HybridParallelOptimizer:
    """An optimizer whose `step` first combines the gradients of the processes: over data and segment parallelism, and
    with sharding to the process that updates the parameter. A `ClipGradByGlobalNorm` gets the norm of the whole model.

    Everything else is that of the optimizer inside.

    Args:
        optimizer: an Optimizer.
        hcg: the HybridCommunicateGroup.
        strategy: the DistributedStrategy.
    """

    def __init__(self, optimizer: Any, hcg: Any, strategy: Any):
        if not isinstance(optimizer, Optimizer) and not callable(getattr(optimizer, "minimize", None)):
            raise errors.TypeError_(
                f"HybridParallelOptimizer: optimizer must be an Optimizer, got {errors.describe(optimizer)}"
            )
        self._hcg, self._strategy = hcg, strategy
        configs = strategy.hybrid_configs
        data_parallel_only = hcg.get_parallel_mode() == ParallelMode.DATA_PARALLEL
        if not data_parallel_only:
            _clip_together(optimizer, hcg, configs["split_norm_comm"])
        self._sharding_enable = hcg.get_sharding_parallel_world_size() > 1 and modes.program is None
        if self._sharding_enable:
            from .dygraph_sharding_optimizer import DygraphShardingOptimizer, DygraphShardingOptimizerV2

            kind = DygraphShardingOptimizerV2 if configs["sharding_configs"].split_param else DygraphShardingOptimizer
            if not isinstance(optimizer, (DygraphShardingOptimizer, DygraphShardingOptimizerV2)):
                optimizer = kind(optimizer, hcg)
        self._inner_opt = optimizer
        # DataParallel has averaged the gradients already
        self._dp_enable = not data_parallel_only and hcg.get_data_parallel_world_size() > 1
        self._sep_enable = hcg.get_sep_parallel_world_size() > 1
        self._equal = configs["mp_configs"] if hcg.get_model_parallel_world_size() > 1 else None
        self._shared = configs["pp_configs"] if hcg.get_pipe_parallel_world_size() > 1 else None
        if self._sharding_enable and any(c is not None and c.sync_moment for c in (self._equal, self._shared)):
            raise errors.NotImplemented_(
                "HybridParallelOptimizer: sync_moment with states that are divided by sharding"
            )
        if configs["pp_configs"].dp_comm_overlap:  # the pipeline does it
            self._dp_enable = self._sep_enable = False
        if configs["pp_configs"].sharding_comm_overlap:
            self._sharding_enable = False

    def _hybrid_sync_grad(self, parameter_list: list[Tensor]) -> None:
        if self._sharding_enable:
            self._inner_opt.reduce_gradients(parameter_list, self._hcg)
            parameter_list = self._inner_opt.filter_parameters(parameter_list, self._hcg)
        if self._dp_enable or self._sep_enable:
            fused_allreduce_gradients(parameter_list, self._hcg)

    def step(self) -> None:
        """Combine the gradients and make a step."""
        with borrowed_gradients(self._inner_opt):
            self._hybrid_sync_grad(list(self._inner_opt._parameter_list))
            if not self._with_gradients():  # the other processes wait for the share of this one in the norm
                for clip in self._clips():
                    if isinstance(clip, HybridParallelClipGrad):
                        clip([])
            if self._equal is not None and self._equal.sync_grad:
                grads = [p._grad for p in self._alike() if p._grad is not None]
                self._make_equal(grads, self._hcg.get_model_parallel_group(), self._equal.sync_mode)
            self._inner_opt.step()
        self._keep_equal()

    def _keep_equal(self) -> None:
        """Make parameters and moments equal that are to be: copies over tensor parallelism, what stages of a pipeline share."""
        wanted: list[tuple[Any, list[Tensor], Any]] = []
        if self._equal is not None:
            wanted.append((self._equal, self._alike(), self._hcg.get_model_parallel_group()))
        if self._shared is not None and (self._shared.sync_param or self._shared.sync_moment):
            colors = [(p, getattr(p, "color", None)) for p in self._inner_opt._parameter_list]
            some = [(c["shared_weight_name"], c["broadcast_group"], p) for p, c in colors if isinstance(c, dict)]
            for _, group, p in sorted(some, key=lambda entry: entry[0]):
                wanted.append((self._shared, [p], group))
        for configs, params, group in wanted:
            mode = configs.get("sync_mode", "broadcast")
            if configs.sync_param:
                self._make_equal(params, group, mode)
            if configs.sync_moment:
                self._make_moments_equal(params, group, mode)

    def _alike(self) -> list[Tensor]:
        """The parameters that tensor parallelism does not divide and whose names `sync_param_name` of the strategy names."""
        words = self._strategy.sync_param_name
        params = [p for p in self._inner_opt._parameter_list if not p.is_distributed]
        return sorted((p for p in params if any(w in p.name for w in words)), key=lambda p: p.name)

    def _make_equal(self, tensors: list[Tensor], group: Any, mode: str) -> None:
        """Give all processes of a group the values of the first, or (sync_mode) their mean."""
        how = ("broadcast", 0) if mode == "broadcast" else ("mean_of_bucket",)
        for dtype in dict.fromkeys(t.dtype for t in tensors):
            some = [t for t in tensors if t.dtype is dtype]
            for tensor, array in zip(some, run(group, "HybridParallelOptimizer", how[0], some, *how[1:])):
                fill(tensor, array)

    def _make_moments_equal(self, params: list[Tensor], group: Any, mode: str) -> None:
        inner = self._inner_opt
        while not isinstance(inner, Optimizer):
            inner = inner._inner_opt
        names = [name for name in inner._states if "moment" in name]
        if not names:
            return
        missing = [p for p in params if id(p) not in inner._homes and not p.stop_gradient]
        if missing:  # of parameters without a gradient: the other processes send theirs
            inner._settle(missing, {id(p): inner._kind(p) for p in missing})
        state = inner.state_dict()
        keys = [inner._key(p, name) for p in params if id(p) in inner._homes for name in names]
        self._make_equal([state[key] for key in keys], group, mode)
        inner.set_state_dict(state)

    def minimize(
        self, loss: Tensor, startup_program: Any = None, parameters: Any = None, no_grad_set: Any = None
    ) -> Any:
        """Combine the gradients, which `loss.backward()` has computed, and make a step. In a program that is built by
        hand: add all that to it, and to the startup program that the processes begin with equal parameters."""
        if isinstance(loss, Tensor) and isinstance(loss._raw, Value) and not hasattr(modes.program, "outside"):
            return minimize_in_program(self, loss, startup_program, parameters, no_grad_set)
        chosen = list(parameters or self._inner_opt._parameter_list)
        self._hybrid_sync_grad(chosen)
        return self._inner_opt.minimize(loss, startup_program, chosen, no_grad_set)

    def __getattr__(self, name: str) -> Any:
        if name == "_inner_opt":
            raise AttributeError(name)
        return getattr(self._inner_opt, name)


def _clip_together(optimizer: Any, hcg: Any, split_norm_comm: bool) -> None:
    while not isinstance(optimizer, Optimizer):
        optimizer = getattr(optimizer, "_inner_opt", None) or getattr(optimizer, "_optimizer", None)
        if optimizer is None:
            return

    def shared(clip: Any) -> Any:
        return HybridParallelClipGrad(clip, hcg, split_norm_comm) if type(clip) is ClipGradByGlobalNorm else clip

    optimizer._grad_clip = shared(optimizer._grad_clip)
    for group in optimizer._param_groups:
        if "grad_clip" in group:
            group["grad_clip"] = shared(group["grad_clip"])
