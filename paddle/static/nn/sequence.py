"""Operators on sequences of ragged length, which are not built: tensors here carry no levels of detail."""

from __future__ import annotations

from typing import Any

from ...engine import errors

__all__ = [
    "sequence_conv",
    "sequence_expand",
    "sequence_first_step",
    "sequence_last_step",
    "sequence_pool",
    "sequence_softmax",
]


def _absent(name: str) -> Any:
    raise errors.NotImplemented_(
        f"{name}: sequences of ragged length (LoD tensors); pad them, and mask with paddle.nn.functional.sequence_mask"
    )


def sequence_conv(
    input,
    num_filters,
    filter_size=3,
    filter_stride=1,
    padding=True,
    padding_start=None,
    bias_attr=None,
    param_attr=None,
    act=None,
    name=None,
):
    """Not available: see the module."""
    _absent("sequence_conv")


def sequence_expand(x, y, ref_level=-1, name=None):
    """Not available: see the module."""
    _absent("sequence_expand")


def sequence_first_step(input):
    """Not available: see the module."""
    _absent("sequence_first_step")


def sequence_last_step(input):
    """Not available: see the module."""
    _absent("sequence_last_step")


def sequence_pool(input, pool_type, is_test=False, pad_value=0.0):
    """Not available: see the module."""
    _absent("sequence_pool")


def sequence_softmax(input, use_cudnn=False, name=None):
    """Not available: see the module."""
    _absent("sequence_softmax")
