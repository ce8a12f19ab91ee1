"""The older faces: layers that are changed in place, and quantizers that hooks feed."""

from .ptq import ImperativePTQ, PTQConfig, PTQRegistry, default_ptq_config
from .ptq_quantizer import (
    SUPPORT_ACT_QUANTIZERS,
    SUPPORT_WT_QUANTIZERS,
    AbsmaxQuantizer,
    BaseQuantizer,
    HistQuantizer,
    KLQuantizer,
    PerChannelAbsmaxQuantizer,
)
from .qat import ImperativeQuantAware

__all__ = [
    "SUPPORT_ACT_QUANTIZERS",
    "SUPPORT_WT_QUANTIZERS",
    "AbsmaxQuantizer",
    "BaseQuantizer",
    "HistQuantizer",
    "ImperativePTQ",
    "ImperativeQuantAware",
    "KLQuantizer",
    "PTQConfig",
    "PTQRegistry",
    "PerChannelAbsmaxQuantizer",
    "default_ptq_config",
]
