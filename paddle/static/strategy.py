"""Switches of the official graph compiler and executor, and what is meant for hardware that is not supported."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import Any

from ..engine import errors

__all__ = [
    "BuildStrategy",
    "ExecutionStrategy",
    "IpuCompiledProgram",
    "IpuStrategy",
    "ipu_shard_guard",
    "set_ipu_shard",
]


class ReduceStrategy(enum.IntEnum):
    """How gradients of several devices meet."""

    AllReduce = 0
    Reduce = 1
    _NoReduce = 2


class _Switches:
    """Attributes with defaults; others cannot be set."""

    _defaults: dict[str, Any] = {}

    def __init_subclass__(cls) -> None:
        for name, value in cls._defaults.items():
            setattr(cls, name, value)

    def __init__(self) -> None:
        for name, value in self._defaults.items():
            object.__setattr__(self, name, type(value)(value) if isinstance(value, (list, set)) else value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._defaults:
            raise AttributeError(f"{type(self).__name__} has no switch {name!r}; it has {', '.join(self._defaults)}")
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(" + ", ".join(f"{n}={getattr(self, n)!r}" for n in self._defaults) + ")"


class BuildStrategy(_Switches):
    """Switches of the official graph compiler, accepted; XLA decides by itself what they are about.

    Example:
        >>> strategy = paddle.static.BuildStrategy()
        >>> strategy.fuse_elewise_add_act_ops = True
    """

    ReduceStrategy = ReduceStrategy

    class GradientScaleStrategy(enum.IntEnum):
        """How the gradient of the loss of one device starts."""

        CoeffNumDevice = 0
        One = 1
        Customized = 2

    _defaults = dict(
        allow_cuda_graph_capture=False,
        async_mode=False,
        bkcl_comm_num=1,
        build_cinn_pass=False,
        cache_runtime_context=False,
        debug_graphviz_path="",
        enable_addto=False,
        enable_auto_fusion=False,
        enable_backward_optimizer_op_deps=True,
        enable_inplace=True,
        enable_sequential_execution=False,
        fuse_adamw=False,
        fuse_all_optimizer_ops=False,
        fuse_all_reduce_ops=True,
        fuse_bn_act_ops=False,
        fuse_bn_add_act_ops=True,
        fuse_broadcast_ops=True,
        fuse_dot_product_attention=False,
        fuse_elewise_add_act_ops=False,
        fuse_gemm_epilogue=False,
        fuse_relu_depthwise_conv=False,
        fuse_resunit=False,
        fused_attention=False,
        fused_feedforward=False,
        gradient_scale_strategy=GradientScaleStrategy.CoeffNumDevice,
        hierarchical_allreduce_inter_nranks=0,
        memory_optimize=None,
        mkldnn_enabled_op_types=set(),
        nccl_comm_num=1,
        num_trainers=1,
        onednn_enabled_op_types=set(),
        reduce_strategy=ReduceStrategy.AllReduce,
        remove_unnecessary_lock=True,
        sequential_run=False,
        sync_batch_norm=False,
        trainer_id=0,
        trainers_endpoints=[],
        use_hierarchical_allreduce=False,
    )


class ExecutionStrategy(_Switches):
    """Switches of the official executor, accepted."""

    class ExecutorType(enum.IntEnum):
        """Kinds of executors."""

        Default = 0
        Experimental = 1

    _defaults = dict(
        num_threads=0,
        num_iteration_per_drop_scope=100,
        num_iteration_per_run=1,
        use_thread_barrier=False,
        allow_op_delay=False,
        use_experimental_executor=False,
        dry_run=False,
    )


def _no_ipu(name: str) -> Any:
    raise errors.NotImplemented_(f"{name}: IPU devices")


class IpuStrategy:
    """Not available: there is no support for IPU devices."""

    def __init__(self) -> None:
        _no_ipu("IpuStrategy")


class IpuCompiledProgram:
    """Not available: there is no support for IPU devices."""

    def __init__(self, program: Any = None, scope: Any = None, ipu_strategy: Any = None):
        _no_ipu("IpuCompiledProgram")


@contextlib.contextmanager
def ipu_shard_guard(index: int = -1, stage: int = -1) -> Iterator[None]:
    """Not available: there is no support for IPU devices."""
    _no_ipu("ipu_shard_guard")
    yield


def set_ipu_shard(call_func: Any, index: int = -1, stage: int = -1) -> Any:
    """Not available: there is no support for IPU devices."""
    return _no_ipu("set_ipu_shard")
