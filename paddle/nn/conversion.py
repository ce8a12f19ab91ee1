"""Another dtype or device for all parameters and buffers of a layer."""

from __future__ import annotations

from typing import Any

import jax

from ..engine import errors
from ..engine import place as places
from ..engine.dtype import DType, to_dtype
from ..engine.storage import Storage
from ..engine.tensor import Tensor
from ..engine.value import ABSTRACT


class ConversionMethods:
    """The part of Layer that converts and moves its tensors, in place."""

    def _convert(
        self, dtype: DType | None, device: Any = None, floating_only: bool = True, keep: tuple[type, ...] = ()
    ) -> Any:
        for layer in self.sublayers(include_self=True):
            if isinstance(layer, keep):
                continue
            for tensor in (*layer._parameters.values(), *layer._buffers.values()):
                for each in (tensor, tensor._grad) if tensor is not None else ():
                    if each is not None:
                        _convert(each, dtype if not floating_only or each.dtype.is_floating else None, device)
            if dtype is not None:
                layer._dtype = dtype.name
        return self

    def to(
        self, device: Any = None, dtype: Any = None, blocking: bool | None = None, non_blocking: bool | None = None
    ) -> Any:
        """Move and convert all parameters and buffers in place.

        Args:
            device: "cpu", "gpu:0", a Place; None stays.
            dtype: None stays. As in the official package buffers of integers are converted, too; `float()` and
                `bfloat16()` leave them alone.
            blocking, non_blocking: without effect, transfers are asynchronous and safe.

        Returns:
            This layer.

        Raises:
            ValueError: no device.
            TypeError: no dtype.

        Example:
            >>> paddle.nn.Linear(1, 1).to(dtype="float64").weight.dtype
            paddle.float64
        """
        if blocking not in (None, True, False) or non_blocking not in (None, True, False):
            raise errors.ValueError_(f"to: blocking must be True, False or None, got {blocking!r}, {non_blocking!r}")
        if device is not None:
            device = places.parse_place(device).device()
        return self._convert(None if dtype is None else to_dtype(dtype), device, floating_only=False)

    def astype(self, dtype: Any = None) -> Any:
        """Convert the floating parameters and buffers; returns this layer. ValueError when `dtype` is none."""
        if dtype is None:
            raise errors.ValueError_("astype: dtype must be a data type, got None")
        try:
            return self._convert(to_dtype(dtype))
        except TypeError as e:
            raise errors.ValueError_(f"astype: {e}") from None

    def type(self, dst_type: Any) -> Any:
        """Convert all parameters and buffers, see `to`."""
        return self.to(dtype=dst_type)

    def double(self) -> Any:
        """Convert all parameters and buffers to float64."""
        return self.to(dtype="float64")

    def half(self) -> Any:
        """Convert all parameters and buffers to float16."""
        return self.to(dtype="float16")

    def _to_floating(self, dtype: str, excluded_layers: Any) -> Any:
        kinds = excluded_layers or ()
        if not isinstance(kinds, (list, tuple)):
            kinds = [kinds]
        if not all(isinstance(k, type) and issubclass(k, ConversionMethods) for k in kinds):
            raise errors.TypeError_(f"excluded_layers must be Layer classes, got {errors.describe(excluded_layers)}")
        return self._convert(to_dtype(dtype), keep=tuple(kinds))

    def float(self, excluded_layers: Any = None) -> Any:
        """Convert the floating parameters and buffers to float32, except in layers of the classes `excluded_layers`."""
        return self._to_floating("float32", excluded_layers)

    def float16(self, excluded_layers: Any = None) -> Any:
        """Convert the floating parameters and buffers to float16, except in layers of the classes `excluded_layers`.

        Example:
            >>> paddle.nn.Linear(1, 1).float16().weight.dtype
            paddle.float16
        """
        return self._to_floating("float16", excluded_layers)

    def bfloat16(self, excluded_layers: Any = None) -> Any:
        """Convert the floating parameters and buffers to bfloat16, except in layers of the classes `excluded_layers`.

        Example:
            >>> paddle.nn.Linear(1, 1).bfloat16().weight.dtype
            paddle.bfloat16
        """
        return self._to_floating("bfloat16", excluded_layers)

    def cpu(self) -> Any:
        """Move to the CPU."""
        return self.to(device="cpu")

    def cuda(self, device: Any = None) -> Any:
        """Move to a GPU: a number, a Place, by default the first."""
        return self.to(device=f"gpu:{device or 0}" if device is None or isinstance(device, int) else device)

    def xpu(self, device: Any = None) -> Any:
        """Move to an XPU."""
        return self.to(device=f"xpu:{device or 0}" if device is None or isinstance(device, int) else device)


def _convert(tensor: Tensor, dtype: DType | None, device: Any) -> None:
    """Another dtype or device for a tensor, in place and outside the tape."""
    value = tensor._value
    if dtype is not None and tensor.dtype is not dtype:
        if tensor.dtype.is_complex and not dtype.is_complex:
            value = jax.numpy.real(value)
        value = value.astype(dtype.numpy)
    if device is not None and not isinstance(value, ABSTRACT) and device not in value.devices():
        value = places.put(value, device)
    if value is not tensor._value:
        tensor._storage = Storage(value)  # a slot of its own: who shares the old one keeps it
