"""Translators of the operators of legacy programs, one function for each type of operator."""

from . import (
    activation,
    control,
    creation,
    detection,
    fused,
    math,
    more,
    nms,
    quantization,
    recurrent,
    reduction,
    shape,
    vision,
)
from .call import TRANSLATORS, Call
