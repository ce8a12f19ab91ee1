"""Operators of ATen that make tensors, or arrange, pick and write elements."""

from __future__ import annotations

from typing import Any

import paddle as P

from ...engine import errors
from ...engine.tensor import Tensor
from .elementwise import pair
from .table import aten

# ---- arranging ----


@aten("view", "reshape", "_unsafe_view", "_reshape_copy", "view_copy")
def reshape(self, shape=None, size=None):
    return P.reshape(self, list(size if shape is None else shape))


@aten("view_as", "reshape_as")
def view_as(self, other):
    return P.reshape(self, other.shape)


@aten("view.dtype")
def view_dtype(self, dtype):
    return self.view(dtype)


@aten("flatten")
def flatten(self, start_dim=0, end_dim=-1):
    return P.flatten(self, start_dim, end_dim) if self.ndim else self.reshape([1])


@aten("unflatten")
def unflatten(self, dim, sizes):
    dim %= self.ndim
    return P.reshape(self, [*self.shape[:dim], *sizes, *self.shape[dim + 1 :]])


@aten("permute", "permute_copy")
def permute(self, dims):
    return P.transpose(self, [d % self.ndim for d in dims])


@aten("transpose", "swapaxes", "swapdims")
def transpose(self, dim0, dim1):
    order = list(range(self.ndim))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return P.transpose(self, order)


@aten("t", "numpy_T")
def t(self):
    return P.transpose(self, list(range(self.ndim))[::-1])


@aten("mT")
def matrix_transpose(self):
    return transpose(self, -1, -2)


@aten("movedim")
def movedim(self, source, destination):
    return P.moveaxis(self, source, destination)


@aten("unsqueeze")
def unsqueeze(self, dim):
    return P.unsqueeze(self, dim)


@aten("squeeze")
def squeeze(self, dim=None):
    return P.squeeze(self, dim)


@aten("expand")
def expand(self, size, implicit=False):
    extra = len(size) - self.ndim
    have = [None] * extra + list(self.shape)
    return P.expand(self, [h if isinstance(s, int) and s == -1 else s for h, s in zip(have, size)])


@aten("expand_as")
def expand_as(self, other):
    return P.expand(self, other.shape)


@aten("broadcast_tensors")
def broadcast_tensors(tensors):
    return tuple(P.broadcast_tensors(list(tensors)))


@aten("broadcast_to")
def broadcast_to(self, size):
    return expand(self, size)


@aten("repeat")
def repeat(self, repeats):
    return P.tile(self, list(repeats))


@aten("tile")
def tile(self, dims):
    return P.tile(self, list(dims))


@aten("repeat_interleave")
def repeat_interleave(self, repeats=None, dim=None, output_size=None):
    return P.repeat_interleave(self, repeats, dim)


@aten("flip")
def flip(self, dims):
    return P.flip(self, list(dims))


@aten("roll")
def roll(self, shifts, dims=()):
    shifts, dims = ([v] if isinstance(v, int) else list(v) for v in (shifts, dims))
    return P.roll(self, shifts, dims or None)


@aten("cat", "concat", "concatenate")
def cat(tensors, dim=0):
    kept = [x for x in tensors if not (x.ndim == 1 and x.shape[0] == 0)] or list(tensors)[:1]
    kind = kept[0]
    for x in kept[1:]:
        kind = pair(kind.reshape([-1])[:0], x.reshape([-1])[:0])[0] if kind.dtype != x.dtype else kind
    return P.concat([x if x.dtype == kind.dtype else x.astype(kind.dtype) for x in kept], dim)


@aten("stack")
def stack(tensors, dim=0):
    return P.stack(list(tensors), dim)


@aten("chunk")
def chunk(self, chunks, dim=0):
    n = self.shape[dim]
    return split(self, -(-n // chunks), dim)


@aten("split.Tensor", "split")
def split(self, split_size, dim=0):
    n = self.shape[dim]
    size = split_size
    return tuple(slice_(self, dim, start, min(start + size, n)) for start in range(0, n, size)) if n else (self,)


@aten("split_with_sizes", "split.sizes", "split_with_sizes_copy")
def split_with_sizes(self, split_sizes=None, dim=0, split_size=None):
    start, parts = 0, []
    for size in split_size if split_sizes is None else split_sizes:
        parts.append(slice_(self, dim, start, start + size))
        start = start + size
    return tuple(parts)


@aten("tensor_split.sections")
def tensor_split(self, sections, dim=0):
    n = self.shape[dim]
    sizes = [n // sections + (i < n % sections) for i in range(sections)]
    return split_with_sizes(self, sizes, dim)


@aten("unbind")
def unbind(self, dim=0):
    return tuple(P.unbind(self, dim))


@aten("pixel_shuffle")
def pixel_shuffle(self, upscale_factor):
    return P.nn.functional.pixel_shuffle(self, upscale_factor)


@aten("pixel_unshuffle")
def pixel_unshuffle(self, downscale_factor):
    return P.nn.functional.pixel_unshuffle(self, downscale_factor)


@aten("channel_shuffle")
def channel_shuffle(self, groups):
    return P.nn.functional.channel_shuffle(self, groups)


@aten("meshgrid")
def meshgrid(tensors, indexing="ij"):
    found = P.meshgrid(*tensors)
    return tuple(transpose(x, 0, 1) for x in found) if indexing == "xy" and len(tensors) > 1 else tuple(found)


@aten("diagonal")
def diagonal(self, offset=0, dim1=0, dim2=1):
    return P.diagonal(self, offset, dim1, dim2)


@aten("unfold")
def unfold(self, dimension, size, step):
    return P.unfold(self, dimension, size, step)


# ---- picking ----


def _at(ndim: int, dim: int, item: Any) -> tuple:
    return (slice(None),) * (dim % ndim) + (item,)


@aten("select")
def select(self, dim, index):
    return self[_at(self.ndim, dim, index)]


@aten("slice", "slice_copy")
def slice_(self, dim=0, start=None, end=None, step=1):
    start = None if isinstance(start, int) and start == 0 else start
    end = None if isinstance(end, int) and end >= 2**31 else end
    if start is None and end is None and step == 1:
        return self
    return self[_at(self.ndim, dim, slice(start, end, step))]


@aten("narrow")
def narrow(self, dim, start, length):
    return slice_(self, dim, start, start + length)


@aten("index")
def index(self, indices):
    return self[_positions(self, indices)]


def _positions(self: Tensor, indices: list) -> tuple:
    return tuple(slice(None) if i is None else i for i in indices)


@aten("index_select")
def index_select(self, dim, index):
    return P.index_select(self, index, dim)


@aten("gather")
def gather(self, dim, index, sparse_grad=False):
    return P.take_along_axis(self, index, dim, broadcast=False)


@aten("take_along_dim")
def take_along_dim(self, indices, dim=None):
    return P.take_along_axis(self, indices, dim)


@aten("masked_select")
def masked_select(self, mask):
    return P.masked_select(self, mask)


@aten("nonzero")
def nonzero(self):
    return P.nonzero(self)


@aten("tril")
def tril(self, diagonal=0):
    return P.tril(self, diagonal)


@aten("triu")
def triu(self, diagonal=0):
    return P.triu(self, diagonal)


# ---- writing ----


@aten("index_put", "_unsafe_index_put")
def index_put(self, indices, values, accumulate=False):
    items = _positions(self, indices)
    if not accumulate:
        out = self.clone()
        out[items] = values.astype(self.dtype)
        return out
    if any(isinstance(i, slice) for i in items) or any(i.dtype.name == "bool" for i in items):
        raise errors.NotImplemented_("convert_model: aten.index_put with accumulate over whole axes or masks")
    return P.index_put(self, tuple(items), values, accumulate=True)


@aten("scatter.src", "scatter.value")
def scatter(self, dim, index, src=None, value=None):
    if src is None:
        src = P.full(index.shape, value, self.dtype)
    return P.put_along_axis(self, index, src, dim, broadcast=False)


@aten("scatter_add")
def scatter_add(self, dim, index, src):
    return P.put_along_axis(self, index, src, dim, reduce="add", broadcast=False)


@aten("index_add")
def index_add(self, dim, index, source, alpha=1):
    return P.index_add(self, index, dim, source * alpha if alpha != 1 else source)


@aten("slice_scatter")
def slice_scatter(self, src, dim=0, start=None, end=None, step=1):
    out = self.clone()
    end = None if isinstance(end, int) and end >= 2**31 else end
    out[_at(self.ndim, dim, slice(start, end, step))] = src
    return out


@aten("select_scatter")
def select_scatter(self, src, dim, index):
    out = self.clone()
    out[_at(self.ndim, dim, index)] = src
    return out


# ---- making ----


@aten("zeros", "empty", "empty.memory_format", "new_zeros", "new_empty")
def zeros(size, self=None, dtype=None):
    if self is not None and not isinstance(self, Tensor):
        self, size = size, self
    return P.zeros(list(size), dtype or (self.dtype if self is not None else "float32"))


@aten("new_zeros", "new_empty")
def new_zeros(self, size, dtype=None):
    return P.zeros(list(size), dtype or self.dtype)


@aten("ones")
def ones(size, dtype=None):
    return P.ones(list(size), dtype or "float32")


@aten("new_ones")
def new_ones(self, size, dtype=None):
    return P.ones(list(size), dtype or self.dtype)


def _kind(value: Any) -> str:
    return "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float32"


@aten("full")
def full(size, fill_value, dtype=None):
    return P.full(list(size), fill_value, dtype or _kind(fill_value))


@aten("new_full")
def new_full(self, size, fill_value, dtype=None):
    return P.full(list(size), fill_value, dtype or self.dtype)


@aten("zeros_like", "empty_like")
def zeros_like(self, dtype=None):
    return P.zeros_like(self, dtype)


@aten("ones_like")
def ones_like(self, dtype=None):
    return P.ones_like(self, dtype)


@aten("full_like")
def full_like(self, fill_value, dtype=None):
    return P.full_like(self, fill_value, dtype)


@aten("scalar_tensor")
def scalar_tensor(s, dtype=None):
    return P.full([], s, dtype or "float32")


@aten("arange")
def arange(end, dtype=None):
    return P.arange(0, end, 1, dtype or ("float32" if isinstance(end, float) else "int64"))


@aten("arange.start", "arange.start_step")
def arange_from(start, end, step=1, dtype=None):
    real = any(isinstance(v, float) for v in (start, end, step))
    return P.arange(start, end, step, dtype or ("float32" if real else "int64"))


@aten("linspace")
def linspace(start, end, steps, dtype=None):
    return P.linspace(start, end, steps, dtype or "float32")


@aten("eye", "eye.m")
def eye(n, m=None, dtype=None):
    return P.eye(n, m, dtype or "float32")


@aten("tril_indices")
def tril_indices(row, col, offset=0, dtype=None):
    return P.tril_indices(row, col, offset, dtype or "int64")


@aten("triu_indices")
def triu_indices(row, col, offset=0, dtype=None):
    return P.triu_indices(row, col, offset, dtype or "int64")


@aten("one_hot")
def one_hot(self, num_classes=-1):
    return P.nn.functional.one_hot(self, num_classes).astype("int64")


@aten("rand")
def rand(size, dtype=None):
    return P.rand(list(size), dtype or "float32")


@aten("randn")
def randn(size, dtype=None):
    return P.randn(list(size), dtype or "float32")


@aten("rand_like")
def rand_like(self, dtype=None):
    return P.rand(self.shape, dtype or self.dtype)


@aten("randn_like")
def randn_like(self, dtype=None):
    return P.randn(self.shape, dtype or self.dtype)


@aten("bernoulli")
def bernoulli(self, p=None):
    return P.bernoulli(self) if p is None else P.bernoulli(P.full_like(self, p))


@aten("uniform")
def uniform(self, from_=0.0, to=1.0, **others):
    low = others.get("from", from_)
    return P.rand(self.shape, self.dtype) * (to - low) + low
