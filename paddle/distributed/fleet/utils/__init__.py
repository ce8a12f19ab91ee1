"""Helpers of distributed training."""

from ....utils.lazy import on_demand as _on_demand
from ..recompute import recompute, recompute_sequential

_WHERE = {"fs": "HDFSClient LocalFS"}
_MODULES = frozenset("fs hybrid_parallel_util log_util sequence_parallel_utils".split())

__all__ = ["HDFSClient", "LocalFS", "recompute"]

__getattr__, __dir__ = _on_demand(__name__, _WHERE, _MODULES)
