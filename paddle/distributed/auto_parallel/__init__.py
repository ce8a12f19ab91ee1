"""Parallelism by annotation: tensors that are spread over a mesh of processes."""

from ...utils.lazy import on_demand as _on_demand
from .api import dtensor_from_fn, reshard, shard_layer, unshard_dtensor
from .placement_type import Partial, Placement, ReduceType, Replicate, Shard
from .process_mesh import ProcessMesh, create_mesh, get_mesh, set_mesh

_WHERE = {
    "planner": "Cluster Link plan",
    "static.engine": "Engine",
    "strategy": "Strategy",
    "dist_model": "DistModel to_static",
    "parallelize": "parallelize_model parallelize_optimizer",
    "interface": """exclude_ops_in_recompute fetch parallel_manual_seed recompute shard_op shard_tensor""",
    "ring": "RingConv2d RingFlashAttention",
    "local": "dtensor_from_local dtensor_to_local moe_global_mesh_tensor moe_sub_mesh_tensors",
    "dataloader": "ShardDataloader",
}

__all__ = ["ProcessMesh", "create_mesh", "get_mesh", "set_mesh", "shard_tensor"]

__getattr__, __dir__ = _on_demand(__name__, _WHERE)
