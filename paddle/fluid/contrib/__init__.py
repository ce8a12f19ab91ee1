"""What `paddle.fluid.contrib` offered, as far as it is built: mixed precision."""

from . import mixed_precision

__all__ = ["mixed_precision"]
