"""Pooling layers for sparse tensors."""

from __future__ import annotations

from ....engine import errors
from ....nn.layer import Layer
from ....nn.layers.common import with_name
from .. import functional as F


class MaxPool3D(Layer):
    """The maxima of the stored values in each window, see `paddle.sparse.nn.functional.max_pool3d`.

    Args:
        kernel_size, stride, padding, ceil_mode: as in `paddle.nn.MaxPool3D`.
        return_mask: False.
        data_format: "NDHWC".

    Raises:
        NotImplementedError: `return_mask` is True.

    Example:
        >>> paddle.sparse.nn.MaxPool3D(2)(paddle.ones([1, 4, 4, 4, 2]).to_sparse_coo(4)).shape
        [1, 2, 2, 2, 2]
    """

    def __init__(
        self, kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, data_format="NDHWC", name=None
    ):
        super().__init__()
        if return_mask:
            raise errors.NotImplemented_("MaxPool3D: return_mask of a sparse tensor")
        self.ksize = self.kernel_size = kernel_size
        self.stride, self.padding, self.return_mask, self.ceil_mode = stride, padding, return_mask, ceil_mode
        self.data_format, self.name = data_format, name

    def forward(self, x):
        return F.max_pool3d(x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.data_format)

    def extra_repr(self):
        return with_name(f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}", self.name)
