"""Translators of products, decompositions and transforms."""

from __future__ import annotations

from typing import Any

import paddle as P

from .format import damaged
from .read_elementwise import _activation
from .reading import READERS, Call, reads

F = P.nn.functional
L = P.linalg

READERS["matmul"] = lambda c: P.matmul(c.x, c.y, c.transpose_x, c.transpose_y)
READERS["bmm"] = lambda c: P.bmm(c.x, c.y)
READERS["mv"] = lambda c: P.mv(c.x, c.vec)
READERS["addmm"] = lambda c: P.addmm(c.input, c.x, c.y, c.beta, c.alpha)
READERS["baddbmm"] = lambda c: P.baddbmm(c.input, c.x, c.y, c.beta, c.alpha)
READERS["cross"] = lambda c: P.cross(c.x, c.y, c.axis)
READERS["multi_dot"] = lambda c: L.multi_dot(c.x)
READERS["bilinear"] = lambda c: F.bilinear(c.x, c.y, c.weight, c.bias)
READERS["cholesky"] = lambda c: L.cholesky(c.x, c.upper)
READERS["cholesky_solve"] = lambda c: L.cholesky_solve(c.x, c.y, c.upper)
READERS["inverse"] = lambda c: L.inv(c.x)
READERS["det"] = lambda c: L.det(c.x)
READERS["slogdet"] = lambda c: L.slogdet(c.x)
READERS["matrix_power"] = lambda c: L.matrix_power(c.x, c.n)
READERS["solve"] = lambda c: L.solve(c.x, c.y)
READERS["triangular_solve"] = lambda c: L.triangular_solve(c.x, c.y, c.upper, c.transpose, c.unitriangular)
READERS["svd"] = lambda c: tuple(L.svd(c.x, c.full_matrices))
READERS["svdvals"] = lambda c: L.svdvals(c.x)
READERS["eigh"] = lambda c: tuple(L.eigh(c.x, c.UPLO))
READERS["eigvalsh"] = lambda c: (L.eigvalsh(c.x, c.uplo), None)
READERS["eigvals"] = lambda c: L.eigvals(c.x)
READERS["matrix_rank"] = lambda c: L.matrix_rank(c.x, None if c.use_default_tol else c.tol, c.hermitian)


@reads("einsum")
def _einsum(call: Call) -> Any:
    return P.einsum(call.equation, *call.x), None, None


@reads("qr")
def _qr(call: Call) -> Any:
    out = L.qr(call.x, call.mode)
    return tuple(out) if isinstance(out, (tuple, list)) else (None, out)


@reads("legacy_matmul")
def _legacy_matmul(call: Call) -> Any:
    return P.matmul(call.x, call.y, call.transpose_x, call.transpose_y) * call.alpha


def _rows(x: Any, n: int) -> Any:
    """As a matrix, whose rows are the first n axes."""
    if not 0 < n < x.ndim:
        raise damaged(f"a product that flattens from axis {n} of a tensor of shape {list(x.shape)}")
    x = P.flatten(x, n) if n < x.ndim - 1 else x
    return P.flatten(x, 0, n - 1) if n > 1 else x


@reads("matmul_with_flatten")
def _mul(call: Call) -> Any:
    x, y = call.x, call.y
    out = P.matmul(_rows(x, call.x_num_col_dims), _rows(y, call.y_num_col_dims))
    left, right = x._raw.shape[: call.x_num_col_dims], y._raw.shape[call.y_num_col_dims :]
    return P.reshape(out, [*left, *right]) if len(left) + len(right) > 2 else out


@reads("fc")
def _fc(call: Call) -> Any:
    x, w, n = call.input, call.w, call.in_num_col_dims
    if x.ndim - n == 1:
        out = P.matmul(x, w)
    else:
        left = x._raw.shape[:n]
        out = P.matmul(_rows(x, n), w)
        out = P.reshape(out, [*left, w.shape[-1]]) if n > 1 else out
    if call.has("bias"):
        out = out + call.bias.reshape([-1])
    return _activation(call.activation_type, out)


@reads("fused_gemm_epilogue")
def _gemm(call: Call) -> Any:
    out = P.matmul(call.x, call.y, call.trans_x, call.trans_y) + call.bias
    return _activation(call.activation, out), None


@reads("fused_bias_act")
def _bias_act(call: Call) -> Any:
    x = call.x if not call.has("bias") else call.x + call.bias
    if call.act_method in ("swiglu", "geglu"):
        a, b = P.split(x, 2, axis=-1)
        return (F.silu(a) if call.act_method == "swiglu" else F.gelu(a)) * b
    return _activation(call.act_method, x)


# ---- Fourier ----


_OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


@reads("fft_c2c")
def _fft_c2c(call: Call) -> Any:
    # the file says how the transform itself is scaled, the functions how the pair is
    scaled, axes = call.normalization, list(call.axes)
    if call.forward:
        return P.fft.fftn(call.x, axes=axes, norm=scaled)
    return P.fft.ifftn(call.x, axes=axes, norm=scaled)


@reads("fft_r2c")
def _fft_r2c(call: Call) -> Any:
    axes, norm = list(call.axes), call.normalization
    if not call.forward:
        norm = norm if norm in _OPPOSITE else "backward"
        full = (
            P.fft.ihfftn(call.x, axes=axes, norm=norm) if call.onesided else P.fft.ifftn(call.x, axes=axes, norm=norm)
        )
        return full
    return P.fft.rfftn(call.x, axes=axes, norm=norm) if call.onesided else P.fft.fftn(call.x, axes=axes, norm=norm)


@reads("fft_c2r")
def _fft_c2r(call: Call) -> Any:
    axes, norm = list(call.axes), call.normalization
    lengths = [call.x._raw.shape[a] for a in axes]
    lengths[-1] = call.last_dim_size or 2 * (lengths[-1] - 1)
    function = P.fft.hfftn if call.forward else P.fft.irfftn
    return function(call.x, s=lengths, axes=axes, norm=norm)


READERS["frame"] = lambda c: P.signal.frame(c.x, c.frame_length, c.hop_length, c.axis)
READERS["overlap_add"] = lambda c: P.signal.overlap_add(c.x, c.hop_length, c.axis)
