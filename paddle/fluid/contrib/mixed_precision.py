"""Mixed precision of programs by its older place; see `paddle.static.amp`."""

from ...static.amp import AutoMixedPrecisionLists, CustomOpLists, bf16, decorate, fp16_guard

__all__ = ["AutoMixedPrecisionLists", "CustomOpLists", "bf16", "decorate", "fp16_guard"]
