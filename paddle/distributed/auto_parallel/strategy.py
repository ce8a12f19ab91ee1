"""What a distributed program is to do beside the placements of its tensors."""

from __future__ import annotations

import copy
from typing import Any

from ...engine import errors

_DEFAULTS: dict[str, dict[str, Any]] = {
    "base": {
        "auto_mode": "semi",
        "gradient_scale": True,
        "gradient_scale_using_allreduce_avg": False,
        "use_cache": True,
        "return_numpy": True,
        "all_ranks": False,
        "split_data": True,
        "seed": None,
        "reinit": False,
    },
    "recompute": {
        "enable": False,
        "checkpoints": [],
        "no_recompute_segments": [],
        "sr": 0,
        "refined_ops_patterns": [],
        "enable_tuning": False,
    },
    "amp": {
        "enable": False,
        "dtype": "float16",
        "level": "o1",
        "init_loss_scaling": 32768.0,
        "incr_every_n_steps": 1000,
        "decr_every_n_nan_or_inf": 2,
        "incr_ratio": 2.0,
        "decr_ratio": 0.8,
        "use_dynamic_loss_scaling": True,
        "custom_white_list": [],
        "custom_black_list": [],
        "custom_black_varnames": [],
        "use_fp16_guard": False,
        "use_bf16_guard": False,
        "use_master_grad": False,
        "use_promote": True,
    },
    "sharding": {
        "enable": False,
        "stage": 1,
        "degree": 8,
        "enable_overlap": False,
        "param_comm_stream_num": 1,
        "grad_comm_stream_num": 1,
        "param_bucket_size_numel": 1,
        "grad_bucket_size_numel": 1,
        "enable_hierarchical_comm": False,
        "partition_algor": "greedy_even",
        "enable_tuning": False,
        "tuning_range": [],
        "release_gradients": False,
        "comm_buffer_size_MB": 256,
        "enable_tensor_fusion": False,
        "save_unbalanced_param": True,
    },
    "gradient_merge": {"enable": False, "k_steps": 1, "avg": True},
    "pipeline": {
        "enable": False,
        "schedule_mode": "1F1B",
        "pp_degree": 1,
        "vpp_degree": 1,
        "vpp_seg_method": "",
        "micro_batch_size": 1,
        "accumulate_steps": 1,
        "generation_batch_size": 1,
        "enable_send_recv_overlap": False,
        "job_schedule_profiler_start": -1,
        "job_schedule_profiler_stop": -1,
        "program_runtimes": [61, 72, 71, 34, 3],
        "memory_limit_times": -1,
        "split_backward": False,
        "auto_parallel_sync_shared_params": False,
    },
    "fused_passes": {"enable": False, "gemm_epilogue": False, "dropout_add": False, "fused_passes_list": []},
    "mp_optimization": {
        "allreduce_matmul_grad_overlapping": False,
        "replace_with_c_embedding": False,
        "replace_with_parallel_cross_entropy": False,
    },
    "dp_optimization": {
        "enable": False,
        "fuse_all_reduce_ops": True,
        "fuse_grad_size_in_MB": 32,
        "overlap_comm_cacl": True,
        "gradient_sync_after_accumulate": False,
    },
    "sp_optimization": {"enable": True},
}


class Config:
    """The settings of one category as attributes."""

    def __init__(self, category: str, config_dict: dict | None = None):
        if config_dict is not None and not isinstance(config_dict, dict):
            raise errors.ValueError_(f"Strategy: {category} must be a dict, got {errors.describe(config_dict)}")
        self._category = category
        for name, value in copy.deepcopy(_DEFAULTS[category]).items():
            setattr(self, name, value)
        if category == "fused_passes" and config_dict:
            for name in config_dict:
                if name not in _DEFAULTS[category]:
                    raise errors.ValueError_(f"Strategy: unknown fuse pass {name!r}")
        if config_dict:
            self.from_dict(config_dict)

    def from_dict(self, config_dict: dict) -> None:
        """Take over what a dict says; other names are left alone."""
        for name in _DEFAULTS[self._category]:
            if name in config_dict:
                setattr(self, name, config_dict[name])

    def to_dict(self) -> dict[str, Any]:
        """The settings as a dict."""
        found = {name: getattr(self, name) for name in _DEFAULTS[self._category]}
        found.update((name, value.to_dict()) for name, value in vars(self).items() if isinstance(value, Config))
        return found

    def get(self, k: str, d: Any = None) -> Any:
        """A setting by its name, `d` where there is none."""
        return self.to_dict().get(k, d)

    def __deepcopy__(self, memo: dict) -> Config:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update((name, copy.deepcopy(value, memo)) for name, value in vars(self).items())
        return made

    def __repr__(self) -> str:
        return "{" + "".join(f'"{name}":"{value}",' for name, value in self.to_dict().items()) + "}"


class Strategy(Config):
    """What `dist.to_static` is to do: mixed precision, sharding of the optimizer, adding up gradients, micro-batches.

    Settings that steer how the official runtime communicates (fusing, overlap, streams) are accepted; XLA decides that.

    Args:
        config: a dict of dicts by category: "amp", "sharding", "gradient_merge", "pipeline", "fused_passes",
            "recompute"; "full_graph" is a bool.

    Raises:
        ValueError: `config` is no dict.

    Example:
        >>> strategy = paddle.distributed.Strategy({"gradient_merge": {"enable": True, "k_steps": 4}})
        >>> strategy.gradient_merge.k_steps, strategy.sharding.stage
        (4, 1)
    """

    _CATEGORIES = (
        "sharding",
        "gradient_merge",
        "pipeline",
        "amp",
        "fused_passes",
        "recompute",
        "mp_optimization",
        "dp_optimization",
        "sp_optimization",
    )

    def __init__(self, config: dict | None = None):
        if config is not None and not isinstance(config, dict):
            raise errors.ValueError_(f"Strategy: config must be a dict, got {errors.describe(config)}")
        config = copy.deepcopy(config or {})
        self._config_dict = config
        super().__init__("base", config)
        for category in self._CATEGORIES:
            setattr(self, "_" + category, Config(category, config.get(category)))
        self._full_graph = config.get("full_graph", True)

    full_graph = property(lambda self: self._full_graph, doc="Whether a model has to become one program.")
    sharding = property(lambda self: self._sharding, doc="enable, stage (1, 2, 3), degree.")
    gradient_merge = property(lambda self: self._gradient_merge, doc="enable, k_steps, avg.")
    fused_passes = property(lambda self: self._fused_passes, doc="Accepted; XLA fuses by itself.")
    pipeline = property(lambda self: self._pipeline, doc="enable, accumulate_steps (micro-batches of a call).")
    amp = property(lambda self: self._amp, doc="enable, dtype, level, the settings of the loss scale.")
    recompute = property(
        lambda self: self._recompute, doc="enable: repeated blocks are computed again in the backward."
    )
    mp_optimization = property(lambda self: self._mp_optimization, doc="Accepted; XLA decides.")
    dp_optimization = property(lambda self: self._dp_optimization, doc="Accepted; XLA decides.")
    sp_optimization = property(lambda self: self._sp_optimization, doc="Accepted; XLA decides.")
