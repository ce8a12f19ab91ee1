"""paddle.quantization: models with integers, by training with rounding or by looking at data afterwards."""

from . import observers, quanters
from .base_observer import BaseObserver
from .base_quanter import BaseQuanter
from .config import QuantConfig
from .factory import quanter
from .post_training import PostTrainingStaticQuant
from .ptq import PTQ
from .qat import QAT

__all__ = ["QuantConfig", "BaseQuanter", "BaseObserver", "quanter", "QAT", "PTQ", "PostTrainingStaticQuant"]
