"""paddle.nn.functional.flash_attention: the attention functions under their other path."""

from ...ops.attention import flash_attention, flash_attn_qkvpacked, scaled_dot_product_attention, sdp_kernel  # noqa: F401
from ...ops.masked_attention import (  # noqa: F401
    flash_attention_v3_varlen,
    flash_attn_unpadded,
    flash_attn_varlen_qkvpacked,
    flashmask_attention,
)
