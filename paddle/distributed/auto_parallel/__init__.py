"""Parallelism by annotation: tensors that are spread over a mesh of processes."""

from .api import dtensor_from_fn, reshard, shard_layer, shard_tensor, unshard_dtensor
from .placement_type import Partial, Placement, ReduceType, Replicate, Shard
from .process_mesh import ProcessMesh, create_mesh, get_mesh, set_mesh

__all__ = ["ProcessMesh", "create_mesh", "get_mesh", "set_mesh", "shard_tensor"]
