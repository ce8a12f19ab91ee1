"""Distributed training. The parts are imported when they are first used."""

from ..utils.lazy import names_of as _names_of
from ..utils.lazy import on_demand as _on_demand

_WHERE = {
    "auto_parallel": """Partial Placement ProcessMesh ReduceType Replicate Shard dtensor_from_fn get_mesh reshard set_mesh
        shard_layer unshard_dtensor""",
    "auto_parallel.api": "shard_tensor",
    "auto_parallel.dataloader": "shard_dataloader",
    "auto_parallel.dist_attribute": "DistAttr",
    "auto_parallel.dist_model": "DistModel to_static",
    "auto_parallel.high_level_api": "to_distributed",
    "auto_parallel.interface": "in_auto_parallel_align_mode shard_op",
    "auto_parallel.local": "LocalLayer local_map",
    "auto_parallel.parallelize": "parallelize",
    "auto_parallel.plans": """ColWiseParallel ContextParallel ConvParallel PrepareContextParallel PrepareLayerInput
        PrepareLayerOutput RowWiseParallel SequenceParallelBegin SequenceParallelDisable SequenceParallelEnable
        SequenceParallelEnd SplitPoint""",
    "auto_parallel.sharded_optimizer": "ShardingStage1 ShardingStage2 ShardingStage3 shard_optimizer shard_scaler",
    "auto_parallel.strategy": "Strategy",
    "block": "DistributedSampler Parallel",
    "communication": """P2POp ReduceOp all_gather all_gather_object all_reduce alltoall alltoall_single barrier
        batch_isend_irecv broadcast broadcast_object_list destroy_process_group gather get_backend get_group irecv
        is_initialized isend new_group recv recv_object_list reduce reduce_scatter scatter scatter_object_list send
        send_object_list stream wait""",
    "communication.group": "Group restart_process_group shutdown_process_group",
    "context_parallel": "ring_attention ulysses_attention",
    "entry_attr": "CountFilterEntry ProbabilityEntry ShowClickEntry",
    "fleet.base.topology": "ParallelMode create_nccl_config",
    "fleet.dataset": "InMemoryDataset QueueDataset",
    "fleet.layers.mpu.mp_layers": "split",
    "flex_checkpoint.dcp.load_state_dict": "load_merged_state_dict load_state_dict",
    "flex_checkpoint.dcp.save_state_dict": "save_state_dict",
    "flex_checkpoint.dcp.sharded_weight": "ShardedStateDict ShardedWeight build_sharded_state_dict shard_weight",
    "launch.main": "launch",
    "parallel": "DataParallel ParallelEnv get_rank get_world_size init_parallel_env",
    "parallel_with_gloo": "gloo_barrier gloo_init_parallel_env gloo_release",
    "sharding": "group_sharded_parallel save_group_sharded_model",
    "spawning": "spawn",
    "store": "TCPStore",
}
_MODULES = frozenset("auto_parallel communication context_parallel fleet fsdp io parallel rpc sharding utils".split())
_NAMES = _names_of(_WHERE)

__all__ = sorted({*_NAMES, *_MODULES} - {"Group", "TCPStore"})


def is_available() -> bool:
    """Whether this package can train with several processes: always.

    Example:
        >>> paddle.distributed.is_available()
        True
    """
    return True


__getattr__, __dir__ = _on_demand(__name__, _WHERE, _MODULES)
