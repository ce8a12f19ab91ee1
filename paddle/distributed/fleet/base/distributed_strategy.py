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
_DEGREES = {"dp_degree": -1, "mp_degree": 1, "pp_degree": 1, "sharding_degree": 1, "sep_degree": 1, "ep_degree": 1}
_CONFIGS: dict[str, dict] = {
    "hybrid_configs": {
        **_DEGREES,
        "order": ["dp", "pp", "sharding", "sep", "mp"],
        "mp_configs": {},
        "pp_configs": {},
        "sharding_configs": {},
    },
    "amp_configs": {
        "init_loss_scaling": 32768.0,
        "incr_every_n_steps": 1000,
        "decr_every_n_nan_or_inf": 2,
        "incr_ratio": 2.0,
        "decr_ratio": 0.8,
        "use_dynamic_loss_scaling": True,
        "custom_white_list": [],
        "custom_black_list": [],
        "use_pure_fp16": False,
        "use_bf16": False,
    },
    "gradient_merge_configs": {"k_steps": 1, "avg": True},
    "recompute_configs": {"checkpoints": [], "enable_offload": False, "checkpoint_shape": []},
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
    "dgc_configs": {"rampup_begin_step": 0, "rampup_step": 1, "sparsity": [0.999]},
    "a_sync_configs": {"k_steps": -1, "max_merge_var_num": 20, "send_queue_size": 20, "launch_barrier": True},
    "sharding_configs": {},
    "qat_configs": {},
    "trainer_desc_configs": {},
    "fs_client_param": {},
    "sparse_table_configs": {},
    "fleet_desc_configs": {},
}
_ON = {"sync_nccl_allreduce", "fuse_all_reduce_ops"}  # by default
_OPEN = {n for n, c in _CONFIGS.items() if not c}  # whose entries are not known here


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
        values |= _NUMBERS | copy.deepcopy(_CONFIGS) | {"build_strategy": None}
        object.__setattr__(self, "_values", values)

    def __getattr__(self, name: str) -> Any:
        values = self.__dict__.get("_values", {})
        if name in values:
            return values[name]
        raise AttributeError(f"DistributedStrategy has no setting {name!r}")

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
            unknown = sorted(set(value) - set(values[name]))
            if unknown and name not in _OPEN:
                raise errors.ValueError_(
                    f"DistributedStrategy: {name} has no entry {unknown[0]!r}; there are {', '.join(values[name])}"
                )
            value = {**values[name], **value}
        elif name in _NUMBERS and (isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0):
            raise errors.ValueError_(f"DistributedStrategy: {name} must be a positive number, got {value!r}")
        values[name] = value

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
