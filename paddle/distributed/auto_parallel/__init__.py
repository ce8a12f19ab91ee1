"""Parallelism by annotation: tensors that are spread over a mesh of processes."""

from importlib import import_module as _import_module

from .api import dtensor_from_fn, reshard, shard_layer, shard_tensor, unshard_dtensor
from .placement_type import Partial, Placement, ReduceType, Replicate, Shard
from .process_mesh import ProcessMesh, create_mesh, get_mesh, set_mesh

_WHERE = {
    "planner": "Cluster Link plan",
    "static.engine": "Engine",
    "strategy": "Strategy",
    "dist_model": "DistModel to_static",
    "parallelize": "parallelize_model parallelize_optimizer",
    "local": "dtensor_from_local dtensor_to_local moe_global_mesh_tensor moe_sub_mesh_tensors",
    "dataloader": "ShardDataloader",
}
_NAMES = {name: where for where, names in _WHERE.items() for name in names.split()}

__all__ = ["ProcessMesh", "create_mesh", "get_mesh", "set_mesh", "shard_tensor"]


def __getattr__(name: str):
    if name in _NAMES:
        found = globals()[name] = getattr(_import_module(f"{__name__}.{_NAMES[name]}"), name)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
