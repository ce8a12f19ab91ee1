"""paddleslim.quant: quantisation of programs and saved models; the work is done by `paddle.static.quantization`."""

from paddle.static.quantization import convert, quant_aware

from .embedding import quant_embedding
from .post_training import quant_post, quant_post_dynamic, quant_post_only_weight, quant_post_static

__all__ = [
    "convert",
    "quant_aware",
    "quant_embedding",
    "quant_post",
    "quant_post_dynamic",
    "quant_post_only_weight",
    "quant_post_static",
]
