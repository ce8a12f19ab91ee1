"""paddle.quantization: models with integers, by training with rounding or by looking at data afterwards."""

from . import imperative, observers, quanters
from .base_observer import BaseObserver
from .base_quanter import BaseQuanter
from .config import QuantConfig
from .factory import quanter
from .imperative import (
    SUPPORT_ACT_QUANTIZERS,
    SUPPORT_WT_QUANTIZERS,
    AbsmaxQuantizer,
    BaseQuantizer,
    HistQuantizer,
    ImperativePTQ,
    ImperativeQuantAware,
    KLQuantizer,
    PerChannelAbsmaxQuantizer,
    PTQConfig,
    PTQRegistry,
    default_ptq_config,
)
from .post_training import PostTrainingStaticQuant
from .ptq import PTQ
from .qat import QAT
from .weight_only import WeightOnlyLinear, weight_only

__all__ = [
    "QuantConfig",
    "BaseQuanter",
    "BaseObserver",
    "quanter",
    "QAT",
    "PTQ",
    "PostTrainingStaticQuant",
    "WeightOnlyLinear",
    "weight_only",
]
