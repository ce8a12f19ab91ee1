"""What a job asks of `fleet`."""

from __future__ import annotations

import copy
import json
import os
from typing import Any

from ....engine import errors

_SWITCHES = """a_sync adam_d2sum amp asp qat recompute sync_nccl_allreduce use_hierarchical_allreduce sync_batch_norm
fuse_all_reduce_ops find_unused_parameters sharding without_graph_optimization fuse_grad_merge pipeline is_fl_ps_mode
is_with_coordinator tensor_parallel localsgd adaptive_localsgd dgc fp16_allreduce gradient_merge lars lamb elastic auto
semi_auto auto_search split_data heter_ccl_mode cudnn_exhaustive_search cudnn_batchnorm_spatial_persistent""".split()
_NUMBERS = {
    "hierarchical_allreduce_inter_nranks": 1,
    "fuse_grad_size_in_MB": 32,
    "last_comm_group_size_MB": 1.0,
    "nccl_comm_num": 1,
    "fuse_grad_size_in_num": 8,
    "conv_workspace_size_limit": 512,
}


class Config(dict):
    """Settings that are read and written as entries and as attributes."""

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(f"there is no setting {name!r}; there are {', '.join(self)}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self:
            raise AttributeError(f"there is no setting {name!r}; there are {', '.join(self)}")
        self[name] = value

    def __deepcopy__(self, memo: dict) -> Config:
        return Config(copy.deepcopy(dict(self), memo))


_AXES = ["dp", "pp", "sharding", "sep", "cp", "mp"]
_SYNC = {"sync_param": False, "sync_grad": False, "sync_moment": False, "sync_mode": "broadcast"}
_GROUP = {"nccl_config": None}
_CHECKED = {**_GROUP, "check_nccl_config": None}
_HYBRID: dict[str, Any] = {
    "dp_degree": -1,
    **dict.fromkeys(
        "mp_degree pp_degree sharding_degree sep_degree cp_degree cp_sharding_degree ep_degree moe_sharding_degree".split(),
        1,
    ),
    "enable_optimizer_timer": False,
    "split_norm_comm": False,
    "mp_configs": Config(
        **_SYNC,
        mp_async_allreduce=False,
        mp_skip_c_identity=False,
        mp_fused_linear_param_grad_add=False,
        need_broadcast_data=True,
        recompute_allgather=False,
        sp_async_reduce_scatter=False,
        **_GROUP,
    ),
    "pp_configs": Config(
        **dict.fromkeys(
            """dp_comm_overlap delay_scale_loss enable_timer sharding_comm_overlap profiling release_gradients
            overlap_p2p_comm clear_every_step_cache best_unbalanced_scheduler enable_offload_queue enable_dynamic_shape
            use_dualpipev forward_backward_overlap_scheduler sync_param sync_moment""".split(),
            False,
        ),
        use_batch_p2p_comm=True,
        sync_mode="broadcast",
        coll_nccl_config=None,
        p2p_nccl_config=None,
    ),
    "sharding_configs": Config(
        tensor_fusion=False,
        accumulate_steps=1,
        comm_overlap=False,
        split_param=False,
        fuse_optimizer=True,
        use_reduce_avg=True,
        comm_buffer_size_MB=256,
        release_gradients=False,
        free_grads_in_comm=False,
        enable_fuse_optimizer_states=False,
        offload_opt_buffer_size=-1,
        **_CHECKED,
    ),
    "dp_configs": Config(_CHECKED),
    "moe_sharding_configs": Config(_CHECKED),
    **{
        f"{name}_configs": Config(_GROUP)
        for name in "sep dp_sep pp_tp ep default_comm_group cp cp_sharding dp_cp cp_mp".split()
    },
}
_CONFIGS: dict[str, dict] = {
    "hybrid_configs": _HYBRID,
    "amp_configs": {
        "init_loss_scaling": 32768.0,
        "incr_every_n_steps": 1000,
        "decr_every_n_nan_or_inf": 2,
        "incr_ratio": 2.0,
        "decr_ratio": 0.8,
        "use_dynamic_loss_scaling": True,
        "custom_white_list": [],
        "custom_black_list": [],
        "custom_black_varnames": [],
        "use_pure_fp16": False,
        "use_pure_bf16": False,
        "use_fp16_guard": True,
        "use_optimizer_fp16": False,
    },
    "gradient_merge_configs": {"k_steps": 1, "avg": True},
    "recompute_configs": {
        "checkpoints": [],
        "enable_offload": False,
        "checkpoint_shape": [],
        "enable_tuning": False,
        "refined_ops_patterns": [],
    },
    "pipeline_configs": {
        "accumulate_steps": 1,
        "micro_batch_size": 1,
        "schedule_mode": "1F1B",
        "p2p_cache_shape": True,
        "enable_partial_send_recv": True,
    },
    "tensor_parallel_configs": {"tensor_parallel_degree": 1, "tensor_init_seed": -1},
    "gradient_scale_configs": {"scale_strategy": "avg", "scale_gradient": False},
    "localsgd_configs": {"k_steps": 1, "begin_step": 1},
    "adaptive_localsgd_configs": {"init_k_steps": 1, "begin_step": 1},
    "lars_configs": {"lars_coeff": 0.001, "lars_weight_decay": 0.0005, "epsilon": 0, "exclude_from_weight_decay": []},
    "lamb_configs": {"lamb_weight_decay": 0.01, "exclude_from_weight_decay": []},
    "dgc_configs": {"rampup_begin_step": 0, "rampup_step": 1, "sparsity": []},
    "a_sync_configs": {
        "k_steps": -1,
        "max_merge_var_num": 1,
        "send_queue_size": 16,
        "independent_recv_thread": False,
        "min_send_grad_num_before_recv": 1,
        "thread_pool_size": 1,
        "send_wait_times": 1,
        "runtime_split_send_recv": False,
        "launch_barrier": True,
        "heter_worker_device_guard": "cpu",
        "lr_decay_steps": 10,
        "use_ps_gpu": 0,
        "use_gpu_graph": 0,
    },
    "sharding_configs": {
        "sharding_segment_strategy": "segment_broadcast_MB",
        "segment_broadcast_MB": 32.0,
        "segment_anchors": [],
        "sharding_degree": 8,
        "mp_degree": 1,
        "dp_degree": 1,
        "pp_degree": 1,
        "hybrid_dp": False,
        "gradient_merge_acc_step": 1,
        "stage": 1,
        **dict.fromkeys(
            """optimize_offload pp_allreduce_in_optimize optimize_cast _dp_as_optimizer_sharding enable_tuning
            use_calc_stream""".split(),
            False,
        ),
    },
    "qat_configs": {
        "channel_wise_abs_max": True,
        "weight_bits": 8,
        "activation_bits": 8,
        "not_quant_pattern": [],
        "algo": "",
    },
    "trainer_desc_configs": {
        "dump_fields_path": "",
        "dump_fields": [],
        "dump_param": [],
        "stat_var_names": [],
        "trainer": "",
        "device_worker": "",
        "local_sparse": [],
        "remote_sparse": [],
    },
    "fs_client_param": {},
    "sparse_table_configs": {},
    "fleet_desc_configs": {},
}
_ON = {"a_sync", "fuse_all_reduce_ops", "split_data", "sync_nccl_allreduce", "without_graph_optimization"}  # by default
_OPEN = {n for n, c in _CONFIGS.items() if not c}  # whose entries are not known here
_SYNCED = ["embedding", "layer_norm", ".b_"]  # parameters that `sync_param` keeps equal over tensor parallelism


def _merged(values: dict, name: str, changes: dict) -> dict:
    """Settings with some entries changed, nested ones too."""
    made = copy.copy(values[name])
    for key, value in changes.items():
        old = made.get(key)
        if name == "hybrid_configs" and key == "order":
            values["hybrid_parallel_order"] = _axes(value)
        elif key not in made and name not in _OPEN:
            raise errors.ValueError_(
                f"DistributedStrategy: {name} has no entry {key!r}; there are {', '.join(map(str, made))}"
            )
        elif isinstance(old, Config):
            if not isinstance(value, dict):
                raise errors.TypeError_(f"DistributedStrategy: {key} must be a dict, got {errors.describe(value)}")
            made[key] = _merged(made, key, value)
        elif name == "hybrid_configs" and key.endswith("_degree"):
            if isinstance(value, bool) or not isinstance(value, int) or value < -1:
                raise errors.ValueError_(f"DistributedStrategy: {key} must be an int of at least -1, got {value!r}")
            made[key] = value
        else:
            made[key] = value
    return made


def _axes(order: Any) -> list[str]:
    known = [*_AXES, "ep", "moe_sharding"]
    if not isinstance(order, (list, tuple)) or len(set(order)) < len(order) or not set(order) <= set(known):
        raise errors.ValueError_(
            f"DistributedStrategy: order must be a list of different ones of {known}, got {order!r}"
        )
    return list(order)


class DistributedStrategy:
    """The wishes of a job: switches (`amp`, `gradient_merge`, ...) and their settings (`hybrid_configs`, ...), which are
    dicts; an assignment changes the entries that it names.

    Raises ValueError for a name or an entry that does not exist, TypeError for a value of another type.

    Example:
        >>> strategy = paddle.distributed.fleet.DistributedStrategy()
        >>> strategy.hybrid_configs = {"dp_degree": 2}
        >>> strategy.hybrid_configs["dp_degree"], strategy.hybrid_configs["mp_degree"]
        (2, 1)
    """

    def __init__(self) -> None:
        values: dict[str, Any] = {name: name in _ON for name in _SWITCHES}
        values |= _NUMBERS | copy.deepcopy(_CONFIGS)
        values |= {"build_strategy": None, "hybrid_parallel_order": list(_AXES), "sync_param_name": list(_SYNCED)}
        object.__setattr__(self, "_values", values)

    def __setattr__(self, name: str, value: Any) -> None:
        values = self._values
        if name not in values:
            raise errors.ValueError_(f"DistributedStrategy: there is no setting {name!r}")
        if name in _SWITCHES:
            if not isinstance(value, bool):
                raise errors.TypeError_(f"DistributedStrategy: {name} must be a bool, got {errors.describe(value)}")
        elif name in _CONFIGS:
            if not isinstance(value, dict):
                raise errors.TypeError_(f"DistributedStrategy: {name} must be a dict, got {errors.describe(value)}")
            value = _merged(values, name, value)
        elif name in _NUMBERS and (isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0):
            raise errors.ValueError_(f"DistributedStrategy: {name} must be a positive number, got {value!r}")
        values[name] = value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._values})

    def save_to_prototxt(self, output: str) -> None:
        """Write the settings to a file (as JSON)."""
        with open(output + ".part", "w") as f:
            json.dump({k: v for k, v in self._values.items() if k != "build_strategy"}, f, indent=1)
        os.replace(output + ".part", output)

    def load_from_prototxt(self, pb_file: str) -> None:
        """Read settings that `save_to_prototxt` wrote."""
        with open(pb_file) as f:
            for name, value in json.load(f).items():
                setattr(self, name, value)

    def __deepcopy__(self, memo: dict) -> DistributedStrategy:
        made = DistributedStrategy()
        made._values.update(copy.deepcopy({k: v for k, v in self._values.items()}, memo))
        return made

    def __repr__(self) -> str:
        return "DistributedStrategy(" + ", ".join(f"{k}={v!r}" for k, v in self._values.items() if v) + ")"


def _add_settings() -> None:
    """Every setting as a property, for tools that look at the class."""

    def setting(name: str) -> property:
        def read(self: DistributedStrategy) -> Any:
            return self._values[name]

        return property(read, doc=f"The setting {name!r}.")

    for name in DistributedStrategy()._values:
        setattr(DistributedStrategy, name, setting(name))


_add_settings()
