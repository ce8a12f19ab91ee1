"""The sections of a configuration, with the official names and fields."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from paddle.engine import errors

WEIGHTED = ("conv2d", "depthwise_conv2d", "conv2d_transpose", "mul", "matmul", "matmul_v2")


def _weighted() -> list[str]:
    return list(WEIGHTED)


@dataclass
class QuantAware:
    """Training with rounding; see `paddleslim.quant.quant_aware` for the fields. `use_pact` is not built."""

    quantize_op_types: list[str] = field(default_factory=_weighted)
    weight_bits: int = 8
    activation_bits: int = 8
    not_quant_pattern: list[str] = field(default_factory=lambda: ["skip_quant"])
    use_pact: bool = False
    activation_quantize_type: str = "moving_average_abs_max"
    weight_quantize_type: str = "channel_wise_abs_max"
    dtype: str = "int8"
    window_size: int = 10000
    moving_rate: float = 0.9
    for_tensorrt: bool = False
    onnx_format: bool = True
    is_full_quantize: bool = False


@dataclass
class QuantPost:
    """Rounding after training; see `paddleslim.quant.quant_post_static`. Reconstruction (`recon_level`) is not built."""

    batch_size: int = 32
    batch_nums: int | None = None
    epochs: int = 20
    lr: float = 0.1
    algo: str = "hist"
    hist_percent: float = 0.999
    regions: Any = None
    region_weights_names: Any = None
    recon_level: str | None = None
    is_full_quantize: bool = False
    bias_correction: bool = False
    weight_quantize_type: str = "channel_wise_abs_max"
    activation_quantize_type: str = "range_abs_max"
    simulate_activation_quant: bool = False
    skip_tensor_list: Any = None
    onnx_format: bool = True
    quantize_op_types: list[str] = field(
        default_factory=lambda: ["conv2d", "depthwise_conv2d", "mul", "matmul", "matmul_v2"]
    )
    weight_bits: int = 8
    activation_bits: int = 8


@dataclass
class HyperParameterOptimization:
    """Several settings of QuantPost are tried, the best one stays."""

    ptq_algo: list[str] = field(default_factory=lambda: ["KL", "hist", "avg", "mse"])
    bias_correct: list[bool] = field(default_factory=lambda: [False])
    weight_quantize_type: list[str] = field(default_factory=lambda: ["channel_wise_abs_max"])
    hist_percent: list[float] = field(default_factory=lambda: [0.98, 0.999])
    batch_num: list[int] = field(default_factory=lambda: [10, 30])
    max_quant_count: int = 20


@dataclass
class Distillation:
    """The original model, or another one, teaches: `loss` ("l2", "soft_label", "dkd", "skd", or a list) between `node`s,
    names of variables of the model (a list, or a list of lists), by default its results; `alpha` weights."""

    loss: Any = "l2"
    node: list = field(default_factory=list)
    alpha: Any = 1.0
    teacher_model_dir: str | None = None
    teacher_model_filename: str | None = None
    teacher_params_filename: str | None = None


@dataclass
class ChannelPrune:
    """Channels of convolutions leave: a share, or one for each of `prune_params_name` (default: all that can be pruned)."""

    pruned_ratio: Any
    prune_params_name: list[str] | None = None
    criterion: str | Callable = "l1_norm"


@dataclass
class TransformerPrune:
    """Heads of attention and features between linear layers leave."""

    pruned_ratio: float


@dataclass
class ASPPrune:
    """Of four neighbours at most two weights stay, in `prune_params_name` (default: all that fit)."""

    prune_params_name: list[str] | None = None


@dataclass
class UnstructurePrune:
    """Single weights leave; see `paddleslim.prune.UnstructuredPruner`. `prune_strategy` is None, "base" or "gmp"."""

    prune_strategy: str | None = None
    prune_mode: str = "ratio"
    threshold: float = 0.01
    ratio: float = 0.55
    gmp_config: dict | None = None
    prune_params_type: str | None = "conv1x1_only"
    local_sparsity: bool = False


@dataclass
class TrainConfig:
    """Training.

    Attributes:
        epochs, train_iter: how long; one epoch when neither is given.
        learning_rate: a number, or a dict with the `type` of a schedule of `paddle.optimizer.lr` and its arguments.
        optimizer_builder: a dict: `optimizer` (a dict with the `type` of an optimizer and its arguments),
            `weight_decay`, `grad_clip` (a dict with a `type`).
        eval_iter: iterations between evaluations.
        logging_iter: accepted.
        origin_metric: the metric before compression; another one by more than 1 % is an error.
        target_metric: training ends when the metric is above.
        amp_config, recompute_config, sharding_config: raise NotImplementedError.
        sparse_model: accepted; masks are never part of a model.
    """

    epochs: int | None = None
    train_iter: int | None = None
    learning_rate: Any = 0.02
    optimizer_builder: Any = field(default_factory=lambda: {"optimizer": {"type": "SGD"}})
    eval_iter: int = 1000
    logging_iter: int = 10
    origin_metric: float | None = None
    target_metric: float | None = None
    amp_config: Any = None
    recompute_config: Any = None
    sharding_config: Any = None
    sparse_model: bool = False


SECTIONS: dict[str, type] = {
    c.__name__: c
    for c in (
        QuantAware, QuantPost, HyperParameterOptimization, Distillation, ChannelPrune, TransformerPrune, ASPPrune,
        UnstructurePrune, TrainConfig,
    )
}  # fmt: skip
_NOT_BUILT = ("MultiTeacherDistillation",)


def load_config(path: str) -> dict[str, Any]:
    """A configuration from a YAML file, read without executing anything.

    Raises:
        ValueError: there is no such file, or it holds no mapping.
        ImportError: PyYAML is not installed.
    """
    if not os.path.isfile(path):
        raise errors.ValueError_(f"load_config: there is no file {path!r}")
    try:
        import yaml
    except ImportError:
        raise ImportError("load_config: reading YAML needs the package pyyaml; a dict works without it")
    with open(path, "rb") as f:
        try:
            found = yaml.safe_load(f)
        except yaml.YAMLError as e:
            raise errors.ValueError_(f"load_config: {path!r} is no YAML that can be read: {e}")
    if not isinstance(found, dict):
        raise errors.ValueError_(f"load_config: {path!r} must hold a mapping, got {type(found).__name__}")
    return found


def sections_of(config: Any) -> dict[str, Any]:
    """A configuration as the objects of its sections.

    Args:
        config: a dict, the path of a YAML file, a list of names of sections with their defaults, or None. Keys that are no
            section (as `Global`, which examples use for themselves) are passed over when they hold a mapping.

    Raises:
        ValueError: an unknown field; a name in a list that is no section.
        TypeError: something else.
    """
    if config is None:
        return {}
    if isinstance(config, (str, os.PathLike)):
        config = load_config(os.fspath(config))
    if isinstance(config, (list, tuple, set)):
        config = dict.fromkeys(config)
    if not isinstance(config, dict):
        raise errors.TypeError_(f"AutoCompression: config must be a dict or a path, got {errors.describe(config)}")
    found = {}
    for name, fields in config.items():
        if name in _NOT_BUILT:
            raise errors.NotImplemented_(f"AutoCompression: {name}")
        if name not in SECTIONS:
            if name == "Global":
                continue
            raise errors.ValueError_(f"AutoCompression: there is no section {name!r}; there are {', '.join(SECTIONS)}")
        kind = SECTIONS[name]
        if dataclasses.is_dataclass(fields) and isinstance(fields, kind):
            found[name] = fields
            continue
        if fields is not None and not isinstance(fields, dict):
            raise errors.TypeError_(f"AutoCompression: {name} must be a dict, got {errors.describe(fields)}")
        known = [f.name for f in dataclasses.fields(kind)]
        for key in fields or {}:
            if key not in known:
                raise errors.ValueError_(f"AutoCompression: {name} has no {key!r}; it has {', '.join(known)}")
        try:
            found[name] = kind(**(fields or {}))
        except TypeError:
            raise errors.ValueError_(f"AutoCompression: {name} needs pruned_ratio")
    return found
