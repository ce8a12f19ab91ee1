"""Versions and small inquiries."""

from __future__ import annotations

from typing import Any

from ..engine import errors
from ..version import full_version
from .enums import NAMES, DataType


def get_version() -> str:
    """The version of the inference library, as text.

    Example:
        >>> "version" in paddle.inference.get_version()
        True
    """
    return f"version: {full_version}\ncommit: unknown\nbranch: unknown\n"


def get_trt_compile_version() -> tuple[int, int, int]:
    """The TensorRT version that this was compiled with: none, (0, 0, 0)."""
    return 0, 0, 0


def get_trt_runtime_version() -> tuple[int, int, int]:
    """The TensorRT version that was found: none, (0, 0, 0)."""
    return 0, 0, 0


def get_num_bytes_of_data_type(dtype: DataType) -> int:
    """Bytes of one element. TypeError for what is no DataType.

    Example:
        >>> paddle.inference.get_num_bytes_of_data_type(paddle.inference.DataType.INT64)
        8
    """
    from ..engine.dtype import to_dtype

    if not isinstance(dtype, DataType):
        raise errors.TypeError_(f"get_num_bytes_of_data_type: dtype must be a DataType, got {errors.describe(dtype)}")
    return to_dtype(NAMES[dtype]).itemsize


def _get_phi_kernel_name(op_type: str) -> str:
    """The kernel of an operator: of the same name here."""
    return op_type


class InternalUtils:
    """Settings of vendor backends that are not here."""

    @staticmethod
    def set_transformer_posid(config: Any, posid: str) -> None:
        """For TensorRT's transformer plugin, which is not here: accepted."""

    @staticmethod
    def set_transformer_maskid(config: Any, maskid: str) -> None:
        """For TensorRT's transformer plugin, which is not here: accepted."""

    @staticmethod
    def disable_tensorrt_half_ops(config: Any, ops: Any) -> None:
        """For TensorRT, which is not here: accepted."""
