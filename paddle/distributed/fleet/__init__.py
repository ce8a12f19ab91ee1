"""Distributed training of large models. The parts are imported when they are first used."""

from importlib import import_module as _import_module

_WHERE = {
    "base.distributed_strategy": "DistributedStrategy",
    "base.role_maker": "PaddleCloudRoleMaker Role UserDefinedRoleMaker",
    "base.topology": "CommunicateTopology HybridCommunicateGroup ParallelMode",
    "data_generator": "MultiSlotDataGenerator MultiSlotStringDataGenerator",
    "dataset": "DatasetBase InMemoryDataset QueueDataset",
    "fleet": "Fleet UtilBase",
    "utils.log_util": "check_memory_usage get_log_level_code get_log_level_name set_log_level",
}
_NAMES = {name: where for where, names in _WHERE.items() for name in names.split()}
_METHODS = frozenset(
    """all_reduce barrier_worker collective_perf distributed_model distributed_optimizer distributed_scaler
    get_hybrid_communicate_group get_hybrid_parallel_topology init is_coordinator is_first_worker is_server is_worker
    local_device_ids local_rank minimize node_num server_endpoints server_index server_num util worker_endpoints
    worker_index worker_num world_device_ids
    check_save_pre_patch_done get_fl_client init_coordinator init_server init_worker load_inference_model load_model
    load_one_table make_fl_strategy print_table_stat run_server save_cache_model save_cache_table save_dense_params
    save_inference_model save_one_table save_persistables set_date shrink stop_worker""".split()
)
_OTHER_WORDS = {
    "nranks": "worker_num",
    "rank": "worker_index",
    "rank_in_node": "local_rank",
    "world_size": "worker_num",
}

__all__ = sorted({*_NAMES, *_METHODS, *_OTHER_WORDS, "utils"} - {"DatasetBase", "ParallelMode"})


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _instance():
    found = globals().get("_fleet")
    if found is None:
        found = globals()["_fleet"] = _import_module(f"{__name__}.fleet").Fleet()
        globals()["fleet"] = found  # officially the name of the object, not of the module
    return found


def __getattr__(name: str):
    if name in _NAMES:
        found = getattr(_import_module(f"{__name__}.{_NAMES[name]}"), name)
        globals()[name] = found
        return found
    if name == "fleet":
        return _instance()
    if name in _METHODS or name in _OTHER_WORDS:
        return getattr(_instance(), _OTHER_WORDS.get(name, name))
    if name == "auto":
        return _import_module("paddle.distributed.auto_parallel")
    if name in (
        "base",
        "data_generator",
        "dataset",
        "layers",
        "meta_optimizers",
        "meta_parallel",
        "metrics",
        "runtime",
        "utils",
        "recompute",
    ):
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(
        f"module 'paddle.distributed.fleet' has no attribute {name!r}: no part of the API, or not built yet "
        "(docs/status.md)"
    )
