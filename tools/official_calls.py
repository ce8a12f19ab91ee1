"""The calls that `compare_official.py` makes: expressions over x, y, i, m (see `inputs`), crossed with types and shapes."""

from __future__ import annotations

from collections.abc import Iterator

DTYPES = "bool uint8 int8 int32 int64 float16 bfloat16 float32 float64 complex64".split()
FLOATS = "float16 bfloat16 float32 float64".split()
MAIN = "bool uint8 int32 int64 float32 float64 complex64".split()
SHAPES = {"0d": (), "empty": (2, 0, 3), "1d": (5,), "3d": (2, 3, 4)}

UNARY = """abs acos acosh angle argwhere asin asinh atan atanh atleast_1d atleast_2d atleast_3d bitwise_not bitwise_invert ceil
clone conj cos cosh deg2rad digamma erf erfinv exp expm1 floor frac frexp gammaln i0 i0e i1 i1e imag is_complex is_empty
is_floating_point is_integer isfinite isinf isnan isneginf isposinf isreal lgamma log log10 log1p log2 logical_not logit
nan_to_num neg negative nonzero numel ones_like positive rad2deg rank ravel real reciprocal round rsqrt sgn shape sign signbit
sin sinc sinh sqrt square squeeze stanh t tan tanh tolist trunc zeros_like isreal matrix_transpose increment assign diagflat
unique unique_consecutive bincount any all sum mean prod max min amax amin logsumexp std var median nanmedian nansum nanmean
cumsum logcumsumexp cummax cummin argmax argmin sort argsort msort mode count_nonzero diff trapezoid cumulative_trapezoid norm
flatten diag diag_embed diagonal tril triu trace rot90 view_as_real as_real view_as_complex as_complex full_like empty_like
vander cartesian_prod combinations histogram histogram_bin_edges cov corrcoef softmax flatten_ inverse cholesky""".split()

ACTIVATIONS = """relu relu6 leaky_relu thresholded_relu hardtanh hardsigmoid hardswish hardshrink softshrink gelu silu swish mish
softplus softsign tanhshrink log_sigmoid elu celu selu softmax log_softmax sigmoid tanh""".split()

BINARY = """add subtract multiply divide floor_divide remainder mod pow maximum minimum fmax fmin hypot atan2 logaddexp copysign
nextafter heaviside ldexp gcd lcm equal not_equal less_than less_equal greater_than greater_equal logical_and logical_or
logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift isclose allclose equal_all dist kron outer
inner matmul dot cross lerp_half expand_as gammainc gammaincc polar complex vecdot reduce_as view_as take_pair""".split()
PAIRS = [
    ((), ()),
    ((3,), ()),
    ((), (2, 3)),
    ((2, 3), (3,)),
    ((2, 3, 4), (3, 1)),
    ((0, 3), (3,)),
    ((3,), (3,)),
    ((2, 3), (4,)),
]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", ">=", "&", "|", "^", "@", "<<", ">>"]
NUMBERS = ["2", "2.5", "True", "-3", "0", "(1+2j)"]

REDUCTIONS = """sum mean prod max min amax amin logsumexp std var median nanmedian nansum nanmean any all count_nonzero norm
argmax argmin""".split()
AXES = ["0", "-1", "1", "[0]", "[0, 1]", "[0, -1]", "()", "[]", "5", "-4", "[0, 0]", "None", "1.5", "'a'"]
ALONG = """cumsum cumprod logcumsumexp cummax cummin sort argsort mode softmax unbind squeeze unsqueeze flip diff trapezoid
cumulative_trapezoid nanquantile_half quantile_half median unique unique_consecutive kthvalue_2 topk_2 split_2 chunk_2 roll_1
stack_2 concat_2 take_0 renorm_2 log_softmax glu repeat_interleave_2 tensor_split_2 unflatten_2 index_select_ gather_ moveaxis_0
swapaxes_0 vecdot_ cross_ index_fill_ index_add_ unstack normalize_ select_0 narrow_ logsumexp nanmedian""".split()
SPELLED = {
    "lerp_half": "paddle.lerp(x, y, 0.5)",
    "take_pair": "paddle.take(x, y)",
    "quantile_half": "paddle.quantile(x, 0.5, axis={axis})",
    "nanquantile_half": "paddle.nanquantile(x, [0.25, 0.6], axis={axis})",
    "kthvalue_2": "paddle.kthvalue(x, 2, axis={axis})",
    "topk_2": "paddle.topk(x, 2, axis={axis})",
    "split_2": "paddle.split(x, 2, axis={axis})",
    "chunk_2": "paddle.chunk(x, 2, axis={axis})",
    "roll_1": "paddle.roll(x, 1, axis={axis})",
    "stack_2": "paddle.stack([x, x], axis={axis})",
    "concat_2": "paddle.concat([x, x], axis={axis})",
    "renorm_2": "paddle.renorm(x, 2.0, {axis}, 1.5)",
    "take_0": "paddle.take_along_axis(x, paddle.zeros_like(x).astype('int64'), {axis})",
    "log_softmax": "F.log_softmax(x, axis={axis})",
    "glu": "F.glu(x, axis={axis})",
    "normalize_": "F.normalize(x, axis={axis})",
    "repeat_interleave_2": "paddle.repeat_interleave(x, 2, axis={axis})",
    "tensor_split_2": "paddle.tensor_split(x, 3, axis={axis})",
    "unflatten_2": "paddle.unflatten(x, {axis}, [-1, 1])",
    "index_select_": "paddle.index_select(x, i, axis={axis})",
    "gather_": "paddle.gather(x, i, axis={axis})",
    "moveaxis_0": "paddle.moveaxis(x, {axis}, 0)",
    "swapaxes_0": "paddle.swapaxes(x, {axis}, 0)",
    "vecdot_": "paddle.vecdot(x, x, axis={axis})",
    "cross_": "paddle.cross(x, x, axis={axis})",
    "index_fill_": "paddle.index_fill(x, i, {axis}, 3)",
    "index_add_": "paddle.index_add(x, i, {axis}, paddle.index_select(x, i, {axis}))",
    "select_0": "x.select({axis}, 0)",
    "narrow_": "paddle.narrow(x, {axis}, 0, 1)",
}

SHAPE_CALLS = """paddle.reshape(x, [-1])|paddle.reshape(x, [4, -1])|paddle.reshape(x, [0, -1])|paddle.reshape(x, [])|paddle.reshape(x, [3, 0, 2])
paddle.flatten(x, 0, 1)|paddle.flatten(x, 1, -1)|paddle.transpose(x, [2, 0, 1])|paddle.transpose(x, [0])|paddle.transpose(x, [0, 1, 1])
paddle.expand(x, [2, 2, 3, 4])|paddle.expand(x, [2, -1, -1, -1])|paddle.expand(x, [5])|paddle.expand(x, [2, 5])|paddle.broadcast_to(x, [3, 2, 3, 4])
paddle.tile(x, [2])|paddle.tile(x, [2, 1, 3, 1])|paddle.tile(x, [0])|paddle.tile(x, 2)|paddle.tile(x, [])
paddle.roll(x, 2)|paddle.roll(x, [1, 2], [0, 1])|paddle.flip(x, [0, 1])|paddle.flip(x, [])|paddle.rot90(x, 1, [0, 1])|paddle.rot90(x, -3, [1, 2])
paddle.split(x, [1, -1], 0)|paddle.split(x, [1, 1], 1)|paddle.split(x, 3, -1)|paddle.split(x, [], 0)|paddle.chunk(x, 3, 1)
paddle.hsplit(x, 2)|paddle.vsplit(x, 2)|paddle.dsplit(x, 2)|paddle.tensor_split(x, [1, 3], 2)|paddle.tensor_split(x, 5)
paddle.hstack([x, x])|paddle.vstack([x, x])|paddle.dstack([x, x])|paddle.column_stack([x, x])|paddle.row_stack([x, x])|paddle.block_diag([x, x])
paddle.unsqueeze(x, [0, 2])|paddle.unsqueeze(x, [-1, 0])|paddle.squeeze(x, [0, 1])|paddle.unbind(x)|paddle.unstack(x)
paddle.moveaxis(x, [0, 1], [1, 0])|paddle.as_strided(x, [2, 2], [1, 1])|x.unfold(0, 2, 1)|paddle.view(x, [-1])|paddle.slice(x, [0], [0], [1])
paddle.slice(x, [0, 1], [-2, 1], [100, 2])|paddle.strided_slice(x, [0], [-1], [-100], [-1])|paddle.crop(x, [1, 2, 2], [0, 1, 1])
paddle.tril(x, 1)|paddle.triu(x, -1)|paddle.diag(x, 1)|paddle.diag(x, -1, 2)|paddle.diagonal(x, 1, 0, 1)|paddle.diagonal(x, 0, 0, 0)
paddle.diag_embed(x, 1, 0, 2)|paddle.diagflat(x, -1)|paddle.trace(x, 1, 1, 2)|paddle.repeat_interleave(x, 2)|paddle.repeat_interleave(x, 0)
paddle.repeat_interleave(x, -1)|paddle.diagonal_scatter(x, paddle.diagonal(x), 0)|paddle.select_scatter(x, x[0], 0, 1)
paddle.slice_scatter(x, x[0:1], [0], [1], [2], [1])|paddle.masked_fill(x, m, 2)|paddle.masked_fill(x, m, 2.5)|paddle.masked_select(x, m)
paddle.where(m, x, x)|paddle.where(m, x, 1)|paddle.where(m, 1.5, x)|paddle.where(x > 0)|paddle.masked_scatter(x, m, x)|paddle.nonzero(x, as_tuple=True)
paddle.gather(x, i)|paddle.gather(x, i[0])|paddle.gather_nd(x, i.unsqueeze(-1))|paddle.gather_nd(x, i)|paddle.index_select(x, i)|paddle.take(x, i)
paddle.take(x, i + 100)|paddle.take(x, i + 100, mode='wrap')|paddle.take(x, i + 100, mode='clip')|paddle.take(x, i - 3)|paddle.index_fill(x, i, 0, 1.5)
paddle.index_add(x, i, 0, x[0:2])|paddle.scatter(x, i, x[0:2])|paddle.scatter(x, i, x[0:2], overwrite=False)|paddle.scatter_nd_add(x, i.unsqueeze(-1), x[0:2])
paddle.index_put(x, (i,), x[0:2])|paddle.index_put(x, (i,), x[0:2], True)|paddle.index_sample(x, i)|paddle.put_along_axis(x, i, 1, 0)
paddle.put_along_axis(x, paddle.zeros_like(x).astype('int64'), x, 0, 'add')|paddle.put_along_axis(x, paddle.zeros_like(x).astype('int64'), x, 0, 'mul')
paddle.put_along_axis(x, paddle.zeros_like(x).astype('int64'), x, 0, 'amax')|paddle.put_along_axis(x, paddle.zeros_like(x).astype('int64'), x, -1, 'mean', include_self=False)
paddle.scatter_add(x, 0, paddle.zeros_like(x).astype('int64'), x)|paddle.scatter_reduce(x, 0, paddle.zeros_like(x).astype('int64'), x, 'prod')
paddle.topk(x, 2)|paddle.topk(x, 2, largest=False)|paddle.topk(x, 100)|paddle.topk(x, 0)|paddle.kthvalue(x, 1)|paddle.kthvalue(x, 9)|paddle.sort(x, descending=True)
paddle.argsort(x, descending=True, stable=True)|paddle.argmax(x, keepdim=True)|paddle.argmax(x, dtype='int32')|paddle.argmin(x, 0, True)
paddle.searchsorted(paddle.sort(x), x)|paddle.searchsorted(paddle.sort(x), x, right=True, out_int32=True)|paddle.bucketize(x, paddle.sort(x.flatten()))
paddle.unique(x, True, True, True)|paddle.unique(x, axis=0)|paddle.unique_consecutive(x, True, True)|paddle.unique_consecutive(x, axis=0)
paddle.bincount(x, minlength=4)|paddle.bincount(x, x)|paddle.histogram(x, 4, -2, 2)|paddle.histogram(x, 4, -2, 2, density=True)|paddle.histogram(x, 4, 2, -2)
paddle.histogram_bin_edges(x, 4, -2, 2)|paddle.isin(x, x[0:1])|paddle.isin(x, x, invert=True)|paddle.cdist(x, x)|paddle.cdist(x, x, 1.0)|paddle.pdist(x)
paddle.clip(x, -1, 1)|paddle.clip(x, -0.5, 0.5)|paddle.clip(x, min=1)|paddle.clip(x, max=1)|paddle.clip(x, 2, 1)|paddle.clip(x)|paddle.clip(x, x, x)
paddle.scale(x, 2.0, 1.0)|paddle.scale(x, 2, 1, False)|paddle.pow(x, 2)|paddle.pow(x, 0.5)|paddle.pow(x, -1)|paddle.lerp(x, x, 0.3)|paddle.round(x, 1)
paddle.nan_to_num(x, 1.0, 2.0, 3.0)|paddle.stanh(x, 0.5, 2.0)|paddle.polygamma(x, 1)|paddle.polygamma(x, 0)|paddle.polygamma(x, -1)|paddle.multigammaln(x, 2)
paddle.logit(x, 0.1)|paddle.heaviside(x, x)|paddle.cumsum(x, dtype='float64')|paddle.cumprod(x, 0)|paddle.cumprod(x, dim=0, dtype='float64')|paddle.cumprod(x)
paddle.sum(x, dtype='int64')|paddle.sum(x, 0, 'float64', True)|paddle.prod(x, 0, True, 'float64')|paddle.mean(x, 0, True)|paddle.std(x, 0, False, True)|paddle.var(x, [0, 1], False)
paddle.median(x, 0, True, 'min')|paddle.median(x, 0, mode='min')|paddle.nanmedian(x, 0, True)|paddle.quantile(x, [0.1, 0.9], 0, True)|paddle.quantile(x, 0.3, interpolation='nearest')
paddle.quantile(x, 1.5)|paddle.quantile(x, 0.5, interpolation='lower')|paddle.norm(x, 1)|paddle.norm(x, float('inf'))|paddle.norm(x, 0)|paddle.norm(x, 'fro')|paddle.norm(x, 3, 0)
paddle.norm(x, float('-inf'), 0, True)|paddle.norm(x, 2, [0, 1])|paddle.norm(x, 'nuc', [0, 1])|paddle.diff(x, 2)|paddle.diff(x, prepend=x)|paddle.diff(x, 1, 0, append=x)
paddle.trapezoid(x, dx=0.5)|paddle.trapezoid(x, x)|paddle.vander(x, 3, True)|paddle.logcumsumexp(x, 0, 'float64')|paddle.cummax(x, 0, 'int32')|paddle.cummin(x, dtype='int32')
paddle.expand_as(x, x)|paddle.full_like(x, 2.5)|paddle.full_like(x, 3, 'int32')|paddle.zeros_like(x, 'float64')|paddle.ones_like(x, dtype='bool')|paddle.meshgrid(x, x)
paddle.broadcast_tensors([x, x])|paddle.multiplex([x, x], i.unsqueeze(-1).astype('int32'))|paddle.add_n([x, x])|paddle.tensordot(x, x, 1)|paddle.tensordot(x, x, [[0], [0]])
paddle.einsum('...->', x)|paddle.einsum('i,i->i', x, x)|paddle.einsum('abc,abc->ab', x, x)|paddle.mm(x, x)|paddle.bmm(x, x)|paddle.mv(x, x)|paddle.addmm(x, x, x)
paddle.matmul(x, x, transpose_y=True)|paddle.matmul(x, x, True)|paddle.baddbmm(x, x, x)|paddle.shard_index(x, 20, 2, 0)|paddle.rank(x)|paddle.cast(x, 'bool')
paddle.cast(x, 'uint8')|paddle.cast(x, 'int32')|paddle.cast(x, 'int64')|paddle.cast(x, 'float16')|paddle.cast(x, 'bfloat16')|paddle.cast(x, 'float64')|paddle.cast(x, 'complex64')
x.view('int32')|x.view('uint8')|x.astype('int16')|x.T|x.mT|x.H|x.ndim|x.size|len(x)|x.item()|x.item(0)|x.strides|bool(x)|int(x)|float(x)|-x|~x|abs(x)|[*x]|x.numel()|x.tolist()
x.element_size()|x.nbytes|x.is_contiguous()|x.contiguous()|x.dim()|x.cpu()|x.detach()|x.fill_(2)|x.zero_()|x.fill_diagonal_(1)|x.clip_(-1, 1)|x.add_(x)|x.divide_(x)|x.exp_()
x.squeeze_()|x.reshape_([-1])|x.cast_('float64')|x.masked_fill_(m, 1)|x.index_fill_(i, 0, 2)|x.flatten_()|x.t_()|x.sqrt_()|x.floor_()|x.scale_(2.0)|x.clip_(0)|x.pow_(2)|x.remainder_(x)
x.equal_(x)|x.logical_not_()|x.bitwise_not_()|x.tril_()|x.cumsum_()|x.lerp_(x, 0.5)|x.sign().dtype|x.sigmoid()|F.one_hot(x, 6)|F.pad(x, [1, 1])|F.pad(x, [1, 1, 1, 1, 1, 1], value=2)
F.normalize(x)|F.cosine_similarity(x, x)|F.label_smooth(x)|F.prelu(x, paddle.to_tensor([0.2]))|F.maxout(x, 1, -1)|F.sequence_mask(x, 6)|F.mse_loss(x, x * 2)|F.l1_loss(x, x * 2)
F.smooth_l1_loss(x, x * 2)|F.softmax_with_cross_entropy(x, x)|F.kl_div(x, x)|F.log_loss(x, x)|F.square_error_cost(x, x)|F.dropout(x, 0.0)|F.gelu(x, True)|F.linear(x, x)""".replace(
    "\n", "|"
).split("|")

INDEX_CALLS = """x[0]|x[-1]|x[5]|x[-6]|x[1:]|x[::2]|x[::-1]|x[3:1]|x[-2:]|x[100:]|x[...]|x[None]|x[..., None]|x[..., 0]|x[:, None]|x[0, ...]|x[1:, 0]
x[..., ::-2]|x[()]|x[i]|x[[0, 1]]|x[[1]]|x[(0, 1)]|x[m]|x[x > 0]|x[True]|x[False]|x[:, i]|x[i, i]|x[i, 0]|x[0, i]|x[0, :, i]|x[i, :, i]|x[:, i, i]|x[None, i]|x[i, None]|x[..., i]
x[i.unsqueeze(0)]|x[[True, False]]|x[paddle.to_tensor([True, False])]|x[:, paddle.to_tensor([True, False, True])]|x[1.0]|x['a']|x[None, None]|x[0:0]|x[i + 7]|x[-i]
x[slice(None, None, -2)]|x[1:2, 0:1]|x[..., ...]|x[0, 0, 0]|x[0, 0, 0, 0]|x[i.astype('int32')]|x[i.astype('float32')]|x[[[0, 1], [1, 0]]]|x[range(2)]|x[paddle.to_tensor(1)]|x[np.array([0, 1])]|x[np.int64(1)]""".replace(
    "\n", "|"
).split("|")
VALUES = ["1", "2.5", "x[0]", "x[0:1]", "True", "paddle.ones([2])", "np.ones(1)", "[1, 2]"]

MATRIX = """paddle.inverse(x)|paddle.linalg.det(x)|paddle.linalg.slogdet(x)|paddle.linalg.cholesky(x)|paddle.linalg.qr(x)|paddle.linalg.svdvals(x)|paddle.linalg.eigvalsh(x)
paddle.linalg.matrix_rank(x)|paddle.linalg.pinv(x)|paddle.linalg.matrix_power(x, 2)|paddle.linalg.matrix_power(x, -1)|paddle.linalg.cond(x)|paddle.linalg.cond(x, 1)|paddle.linalg.solve(x, x)
paddle.linalg.lstsq(x, x)|paddle.linalg.lu(x)|paddle.linalg.norm(x)|paddle.linalg.matrix_norm(x)|paddle.linalg.vector_norm(x, 1)|paddle.linalg.cov(x)|paddle.linalg.corrcoef(x)
paddle.linalg.matrix_exp(x)|paddle.linalg.triangular_solve(x, x)|paddle.linalg.cholesky_solve(x, x)|paddle.linalg.multi_dot([x, x])|paddle.linalg.householder_product(x, x[..., 0, :])
paddle.linalg.matrix_transpose(x)|paddle.linalg.eigvals(x).abs()|paddle.linalg.svd(x)[1]|paddle.linalg.eigh(x)[0]|paddle.linalg.cholesky_inverse(x)|paddle.linalg.ormqr(x, x[..., 0, :], x)
paddle.fft.fft(x)|paddle.fft.ifft(x)|paddle.fft.rfft(x)|paddle.fft.irfft(x)|paddle.fft.hfft(x)|paddle.fft.ihfft(x)|paddle.fft.fft2(x)|paddle.fft.fftn(x)|paddle.fft.rfft2(x)|paddle.fft.irfftn(x)
paddle.fft.fft(x, 5, 0, 'ortho')|paddle.fft.fft(x, 0)|paddle.fft.fft(x, axis=7)|paddle.fft.fftshift(x)|paddle.fft.ifftshift(x, [0])|paddle.fft.fft(x, norm='bad')|paddle.fft.irfft(x, 3, -1, 'forward')
paddle.signal.frame(x, 2, 1)|paddle.signal.frame(x, 2, 1, 0)|paddle.signal.overlap_add(x, 1)|paddle.signal.stft(x, 4)|paddle.geometric.segment_sum(x, i)|paddle.geometric.segment_mean(x, i)
paddle.geometric.segment_max(x, i)|paddle.geometric.segment_min(x, i)|paddle.geometric.send_u_recv(x, i, i)|paddle.geometric.send_u_recv(x, i, i, 'max')|paddle.geometric.send_uv(x, x, i, i)""".replace(
    "\n", "|"
).split("|")
MATRIX_SHAPES = {
    "3x3": (3, 3),
    "batch": (2, 3, 3),
    "wide": (2, 3),
    "empty": (0, 3, 3),
    "0x0": (0, 0),
    "1d": (4,),
    "0d": (),
}

CREATION = """paddle.zeros([])|paddle.zeros([2, 0])|paddle.zeros(3)|paddle.zeros([-1])|paddle.ones([2], 'int32')|paddle.full([2], 3)|paddle.full([2], True)|paddle.full([2], 1.5, 'int64')|paddle.full([], 2)
paddle.full([2], 1j)|paddle.full([1], 2**40)|paddle.arange(5)|paddle.arange(5.0)|paddle.arange(1, 5, 2)|paddle.arange(5, 1)|paddle.arange(5, 1, -2)|paddle.arange(0, 1, 0.3)|paddle.arange(0, 1, 0)|paddle.arange(3, dtype='float64')
paddle.arange(3, dtype='int32')|paddle.arange(-3)|paddle.arange(2.5, 4)|paddle.range(0, 4, 2)|paddle.linspace(0, 1, 5)|paddle.linspace(0, 10, 5, 'int64')|paddle.linspace(0, 1, 1)|paddle.linspace(0, 1, 0)
paddle.logspace(0, 3, 4)|paddle.logspace(0, 3, 4, 2.0, 'float64')|paddle.eye(3)|paddle.eye(2, 3)|paddle.eye(0)|paddle.eye(2, dtype='int32')|paddle.eye(-1)|paddle.tril_indices(3, 3)|paddle.triu_indices(3, 4, 1)
paddle.tril_indices(0, 3)|paddle.to_tensor(1)|paddle.to_tensor(1.5)|paddle.to_tensor(True)|paddle.to_tensor(1j)|paddle.to_tensor([])|paddle.to_tensor([[]])|paddle.to_tensor([1, 2.5])|paddle.to_tensor([True, 2])
paddle.to_tensor([1, 2j])|paddle.to_tensor('a')|paddle.to_tensor(None)|paddle.to_tensor([[1], [2, 3]])|paddle.to_tensor(np.float64(1))|paddle.to_tensor(np.arange(3, dtype='float64'))|paddle.to_tensor([1, 2], 'float16')
paddle.to_tensor([1.7, -1.7], 'int32')|paddle.to_tensor(2**40)|paddle.to_tensor(2**63)|paddle.to_tensor([np.float32(1), np.float32(2)])|paddle.to_tensor((1, 2))|paddle.to_tensor(range(3))|paddle.assign(2.5)|paddle.assign([1, 2])
paddle.assign(True)|paddle.assign(np.ones(2))|paddle.complex(paddle.ones([2]), paddle.ones([2]))|paddle.polar(paddle.ones([2]), paddle.ones([2]))|paddle.empty([2, 0])|paddle.vander(paddle.to_tensor([1., 2.]), 0)
paddle.bartlett_window(5)|paddle.hann_window(5)|paddle.hamming_window(0)|paddle.kaiser_window(4)|paddle.blackman_window(1)|paddle.hann_window(4, False, dtype='float64')|paddle.hann_window(-1)|paddle.fft.fftfreq(5)|paddle.fft.rfftfreq(4, 0.5)
paddle.broadcast_shape([2, 1], [3])|paddle.broadcast_shape([2], [3])|paddle.broadcast_shape([], [3])|paddle.meshgrid(paddle.ones([2]), paddle.ones([3]))|paddle.finfo('float32').max|paddle.iinfo('int8').min|paddle.finfo(paddle.bfloat16).eps
paddle.ones([2]).shape|paddle.ones([2, 3]) @ paddle.ones([4])|paddle.concat([paddle.ones([2]), paddle.ones([2], 'float64')])|paddle.concat([])|paddle.stack([])|paddle.concat([paddle.ones([]), paddle.ones([])])|paddle.rand([0]).shape
paddle.randint(5, 5)|paddle.randint(5, 1, [2])|paddle.randperm(0)|paddle.randperm(-1)|paddle.multinomial(paddle.to_tensor([0., 0.]))|paddle.multinomial(paddle.to_tensor([.2, .8]), 3)|paddle.bernoulli(paddle.to_tensor([2.]))|paddle.normal(0, -1, [2])
paddle.rand([2], 'int32')|paddle.rand([2], 'float64').dtype|paddle.randn([2], 'float16').dtype|paddle.uniform([2], 'float32', 2, 1)|paddle.poisson(paddle.to_tensor([-1.]))|paddle.standard_normal([]).shape|paddle.randint(3).shape|paddle.randint_like(paddle.ones([2]), 3).dtype""".replace(
    "\n", "|"
).split("|")


def calls() -> Iterator[tuple[str, str, tuple, str, tuple]]:
    """(expression, type of x, shape of x, type of y, shape of y) of every call."""

    def spell(name: str, rest: str) -> str:
        return f"paddle.{name}({rest})"

    for name in UNARY:
        for shape in SHAPES.values():
            yield from ((spell(name, "x"), t, shape, t, shape) for t in DTYPES)
        yield from ((spell(name, "x"), t, "special", t, "special") for t in FLOATS + ["complex64"])
    for name in ACTIVATIONS:
        for shape in (*SHAPES.values(), "special"):
            yield from (
                (f"F.{name}(x)", t, shape, t, shape) for t in ("int32", "float16", "bfloat16", "float32", "complex64")
            )
    for name in BINARY:
        call = SPELLED.get(name, spell(name, "x, y"))
        for a, b in PAIRS:
            yield from ((call, t, a, t, b) for t in (DTYPES if (a, b) in (PAIRS[3], PAIRS[6]) else MAIN))
        yield from ((call, t, "special", t, "mirrored") for t in FLOATS)
    for sign in OPERATORS:
        for a in DTYPES:
            yield from ((f"x {sign} y", a, (3,), b, (3,)) for b in DTYPES)
            yield from ((f"x {sign} y", a, (3,), b, ()) for b in DTYPES)
            for number in NUMBERS:
                yield f"x {sign} {number}", a, (3,), a, ()
                yield f"{number} {sign} x", a, (3,), a, ()
    for name in "add multiply divide maximum fmax where pow remainder less_than atan2 lerp concat stack".split():
        call = {
            "where": "paddle.where(x > 0, x, y)",
            "lerp": "paddle.lerp(x, y, 0.5)",
            "concat": "paddle.concat([x, y])",
            "stack": "paddle.stack([x, y])",
        }.get(name, spell(name, "x, y"))
        for a in DTYPES:
            yield from ((call, a, (3,), b, (3,)) for b in DTYPES)
    for name in REDUCTIONS:
        for axis in AXES:
            for shape in ((2, 3, 4), (2, 0, 3), (), (5,)):
                for t in ("float32", "int32", "bool"):
                    yield spell(name, f"x, axis={axis}"), t, shape, t, shape
        for keepdim in ("x, 0, keepdim=True", "x, keepdim=True", "x, -1, keepdim=True"):
            for t in DTYPES:
                yield spell(name, keepdim), t, (2, 3, 4), t, ()
    for name in ALONG:
        call = SPELLED.get(name, f"paddle.{name}(x, axis={{axis}})")
        for axis in ("0", "-1", "1", "2", "3", "-4", "None", "'a'"):
            for shape in ((2, 3, 4), (), (4,), (2, 0, 4), (2, 2)):
                yield call.format(axis=axis), "float32", shape, "float32", shape
        for t in DTYPES:
            yield call.format(axis="-1"), t, (2, 3, 4), t, ()
    for call in SHAPE_CALLS:
        for shape in ((2, 3, 4), (), (4,), (2, 0, 3), (2, 2)):
            yield from ((call, t, shape, t, shape) for t in ("int32", "float32"))
        yield from ((call, t, (2, 3, 4), t, ()) for t in DTYPES if t not in ("int32", "float32"))
        yield call, "int64", (4,), "int64", (4,)
        yield call, "float32", "special", "float32", "special"
    for call in INDEX_CALLS:
        for shape in ((2, 3, 4), (), (5,), (2, 0, 3), (2, 2)):
            yield call, "float32", shape, "float32", shape
            for value in VALUES:
                yield f"assign_to({call}, {value})", "float32", shape, "float32", shape
        yield from ((call, t, (2, 3, 4), t, ()) for t in ("bool", "int64", "bfloat16", "complex64"))
        yield from ((f"assign_to({call}, 1)", t, (2, 3, 4), t, ()) for t in ("bool", "int64", "bfloat16", "complex64"))
    for call in MATRIX:
        for shape in MATRIX_SHAPES.values():
            yield from ((call, t, shape, t, shape) for t in ("float32", "float64", "int32", "complex64"))
    yield from ((call, "float32", (), "float32", ()) for call in CREATION)
