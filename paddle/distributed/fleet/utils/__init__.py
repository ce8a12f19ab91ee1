"""Helpers of distributed training."""

from ....utils.lazy import on_demand as _on_demand
from ..recompute import recompute, recompute_sequential

_WHERE = {"fs": "HDFSClient LocalFS", "ps_util": "DistributedInfer"}
_MODULES = frozenset("fs hybrid_parallel_util log_util mix_precision_utils sequence_parallel_utils".split())

__all__ = ["DistributedInfer", "HDFSClient", "LocalFS", "recompute"]

__getattr__, __dir__ = _on_demand(__name__, _WHERE, _MODULES)
