"""Public functions in programs: with fixed lengths and with a batch whose length is not known, they give what they give
at once, and the shapes and types that are inferred are right.

A row is a function and the arrays that it gets; with an unknown batch, all arrays that are as long as the first one have it.
"""

import numpy as np
import pytest

import paddle
import paddle.nn.functional as F

rng = np.random.RandomState(0)
A, B = rng.randn(4, 6).astype("float32"), rng.randn(4, 6).astype("float32")
I, DIGITS, LEN = np.array([3, 1, 2, 0]), np.array([3, 1, 3, 0, 2]), np.array([3, 5])
M, P = A > 0, np.abs(A) + 0.1
IMG, SEQ = rng.randn(2, 3, 8, 8).astype("float32"), rng.randn(2, 5, 6).astype("float32")
IDS = np.array([[1, 2, 3], [0, 3, 1]])
THETA = paddle.to_tensor([[[1.0, 0, 0], [0, 1, 0]]]).tile([2, 1, 1])

CASES = {
    "nonzero_": (paddle.nonzero, DIGITS),
    "unique_": (paddle.unique, DIGITS),
    "unique_consecutive_": (paddle.unique_consecutive, DIGITS),
    "argsort_": (paddle.argsort, DIGITS),
    "sort_": (paddle.sort, DIGITS),
    "nonzero_tuple": (lambda x: paddle.nonzero(x, as_tuple=True), np.array([[3, 0], [0, 2]])),
    "masked_select": (paddle.masked_select, A, M),
    "mask_index": (lambda x, m: x[m], A, M),
    "mask_index_row": (lambda x, i: x[i > 1], A, I),
    "mask_set": (lambda x, m: paddle.static.setitem(x, m, 0.0), A, M),
    "where1": (lambda m: paddle.where(m), M),
    "unique_full": (lambda x: paddle.unique(x, return_index=True, return_inverse=True, return_counts=True), DIGITS),
    "bincount": (paddle.bincount, np.array([3, 1, 3])),
    "repeat_interleave_t": (lambda x, r: paddle.repeat_interleave(x, r, 0), A, I),
    "repeat_interleave_i": (lambda x: paddle.repeat_interleave(x, 2, 0), A),
    "histogram": (lambda x: paddle.histogram(x, 4, -1, 1), A),
    "searchsorted": (lambda a, b: paddle.searchsorted(a, b), np.array([1.0, 3, 5]), np.array([2.0, 4])),
    "bucketize": (lambda a, b: paddle.bucketize(b, a), np.array([1.0, 3, 5]), np.array([2.0, 4])),
    "one_hot": (lambda i: F.one_hot(i, 5), I),
    "shape_reshape": (lambda x: paddle.reshape(x, [paddle.shape(x)[0], 2, 3]), A),
    "flatten": (lambda x: paddle.flatten(x, 1), IMG),
    "reshape0": (lambda x: paddle.reshape(x, [0, -1]), IMG),
    "expand": (lambda x: paddle.expand(x.unsqueeze(1), [-1, 3, 6]), A),
    "expand_as": (lambda x, y: paddle.expand_as(x[:1], y), A, B),
    "broadcast_to": (lambda x: paddle.broadcast_to(x, [2, paddle.shape(x)[0], 6]), A),
    "tile": (lambda x: paddle.tile(x, [2, 1]), A),
    "split": (lambda x: paddle.split(x, [2, 4], 1), A),
    "chunk": (lambda x: paddle.chunk(x, 3, 1), A),
    "unbind": (lambda x: paddle.unbind(x, 1)[0], A),
    "stack": (lambda x, y: paddle.stack([x, y]), A, B),
    "concat": (lambda x, y: paddle.concat([x, y], 0), A, B),
    "gather": (lambda x, i: paddle.gather(x, i), A, I),
    "index_select": (lambda x, i: paddle.index_select(x, i), A, I),
    "gather_nd": (lambda x, i: paddle.gather_nd(x, i.unsqueeze(1)), A, I),
    "scatter": (lambda x, i, y: paddle.scatter(x, i, y), A, I, B),
    "take_along": (lambda x, i: paddle.take_along_axis(x, i.unsqueeze(1), 1), A, I),
    "index_add": (lambda x, i, y: paddle.index_add(x, i, 0, y), A, I, B),
    "slice_t": (lambda x, i: paddle.slice(x, [0], [0], [paddle.shape(x)[0] - 1]), A, I),
    "slice_t2": (lambda x, i: x[: i[1]], A, I),
    "neg": (lambda x: x[-1], A),
    "idx": (lambda x, i: x[i], A, I),
    "idx2": (lambda x, i: x[i, i], A, I),
    "step": (lambda x: x[::2, 1:-1], A),
    "none": (lambda x: x[None, :, None], A),
    "ell": (lambda x: x[..., 0], A),
    "zeros_like": (paddle.zeros_like, A),
    "full_like": (lambda x: paddle.full_like(x, 2.0), A),
    "zeros_shape": (lambda x: paddle.zeros(paddle.shape(x)), A),
    "zeros_shape2": (lambda x: paddle.zeros([x.shape[0], 3]), A),
    "full": (lambda x: paddle.full([paddle.shape(x)[0], 2], 3.0), A),
    "arange": (lambda x: paddle.arange(paddle.shape(x)[0]), A),
    "arange2": (lambda x: paddle.arange(0, x.shape[0]), A),
    "eye": (lambda x: paddle.eye(4) + paddle.mean(x), A),
    "linspace": (lambda x: paddle.linspace(0, 1, 5) * paddle.mean(x), A),
    "to_tensor": (lambda x: x + paddle.to_tensor(np.ones(6, "float32")), A),
    "assign": (lambda x: paddle.assign(x) * paddle.assign(np.ones(6, "float32")), A),
    "item_like": (lambda x: x * paddle.to_tensor(2.0), A),
    "topk": (lambda x: paddle.topk(x, 2), A),
    "argmax": (lambda x: paddle.argmax(x, 1), A),
    "sort": (lambda x: paddle.sort(x, 1), A),
    "kth": (lambda x: paddle.kthvalue(x, 2, 1), A),
    "median": (lambda x: paddle.median(x, 1), A),
    "mode": (lambda x: paddle.mode(x, 1), A),
    "norm": (lambda x: paddle.norm(x), A),
    "cumsum": (lambda x: paddle.cumsum(x, 0), A),
    "diff": (lambda x: paddle.diff(x), A),
    "roll": (lambda x: paddle.roll(x, 1, 0), A),
    "flip": (lambda x: paddle.flip(x, [0]), A),
    "tril": (lambda x: paddle.tril(x), A),
    "einsum": (lambda x, y: paddle.einsum("ij,ij->i", x, y), A, B),
    "matmul": (lambda x, y: paddle.matmul(x, y, transpose_y=True), A, B),
    "bmm": (lambda x: paddle.bmm(x, x.transpose([0, 2, 1])), SEQ),
    "addmm": (lambda x, y: paddle.addmm(x @ x.t(), x, y.t()), A, B),
    "dot": (lambda x, y: paddle.dot(x, y), A, B),
    "cross_entropy": (lambda x, i: F.cross_entropy(x, i), A, I),
    "ce_soft": (lambda x, y: F.cross_entropy(x, F.softmax(y), soft_label=True), A, B),
    "ce_w": (lambda x, i: F.cross_entropy(x, i.unsqueeze(1), weight=paddle.ones([6]), ignore_index=3), A, I),
    "smce": (lambda x, i: F.softmax_with_cross_entropy(x, i.unsqueeze(1)), A, I),
    "nll": (lambda x, i: F.nll_loss(F.log_softmax(x), i), A, I),
    "bce": (lambda x, y: F.binary_cross_entropy_with_logits(x, F.sigmoid(y)), A, B),
    "mse": (F.mse_loss, A, B),
    "l1": (F.l1_loss, A, B),
    "sl1": (F.smooth_l1_loss, A, B),
    "kl": (F.kl_div, A, np.abs(B)),
    "cosine": (F.cosine_similarity, A, B),
    "label_smooth": (lambda i: F.label_smooth(F.one_hot(i, 4).astype("float32")), I),
    "triplet": (lambda x, y: F.triplet_margin_loss(x, y, x * 2), A, B),
    "cosine_emb": (lambda x, y, i: F.cosine_embedding_loss(x, y, (i > 1).astype("int64") * 2 - 1), A, B, I),
    "softmax": (F.softmax, A),
    "log_softmax": (F.log_softmax, A),
    "gelu": (F.gelu, A),
    "dropout_eval": (lambda x: F.dropout(x, 0.5, training=False), A),
    "layer_norm": (lambda x: F.layer_norm(x, [6]), A),
    "layer_norm2": (lambda x: F.layer_norm(x, x.shape[1:]), A),
    "normalize": (F.normalize, A),
    "instance_norm": (F.instance_norm, IMG),
    "group_norm": (lambda x: F.group_norm(x, 3), IMG),
    "lrn": (lambda x: F.local_response_norm(x, 3), IMG),
    "maxpool": (lambda x: F.max_pool2d(x, 2), IMG),
    "avgpool": (lambda x: F.avg_pool2d(x, 2, ceil_mode=True), IMG),
    "maxpoolmask": (lambda x: F.max_pool2d(x, 2, return_mask=True), IMG),
    "unpool": (lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_mask=True), 2), IMG),
    "adaptive": (lambda x: F.adaptive_avg_pool2d(x, 3), IMG),
    "adaptive_max": (lambda x: F.adaptive_max_pool2d(x, 3), IMG),
    "interp": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), IMG),
    "interp2": (lambda x: F.interpolate(x, size=[5, 6], mode="nearest"), IMG),
    "upsample": (lambda x: F.upsample(x, scale_factor=2), IMG),
    "pad": (lambda x: F.pad(x, [1, 1, 2, 0]), IMG),
    "pad_r": (lambda x: F.pad(x, [1, 1, 2, 0], mode="reflect"), IMG),
    "unfold": (lambda x: F.unfold(x, 3), IMG),
    "fold": (lambda x: F.fold(F.unfold(x, 2, 2), [8, 8], 2, 2), IMG),
    "pixel_shuffle": (lambda x: F.pixel_unshuffle(x, 2), IMG),
    "affine": (lambda x: F.affine_grid(THETA, [2, 3, 4, 4]) + paddle.mean(x), IMG),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 3), IMG),
    "emb": (lambda i: F.embedding(i, paddle.to_tensor(A)), IDS),
    "sdpa": (lambda q: F.scaled_dot_product_attention(*[q.reshape([0, 0, 2, 3])] * 3, is_causal=True), SEQ),
    "seqmask": (lambda l: F.sequence_mask(l, maxlen=6), LEN),
    "seqmask2": (lambda l: F.sequence_mask(l), LEN),
    "glu": (F.glu, A),
    "maxout": (lambda x: F.maxout(x, 3), IMG),
    "temporal": (lambda x: F.temporal_shift(x, 2), IMG),
    "gumbel_hard": (lambda x: paddle.sum(F.gumbel_softmax(x, hard=True), -1), A),
    "unflatten": (lambda x: paddle.unflatten(x, 1, [2, 3]), A),
    "view": (lambda x: x.view([-1, 3]), A),
    "moveaxis": (lambda x: paddle.moveaxis(x, 0, 2), SEQ),
    "swapaxes": (lambda x: x.swapaxes(0, 1), A),
    "meshgrid": (lambda x: paddle.meshgrid(x[0], x[1]), A),
    "stft": (lambda x: paddle.signal.stft(x, 4), A),
    "fft": (lambda x: paddle.fft.rfft(x), A),
    "pinv": (lambda x: paddle.linalg.pinv(x), A),
    "cov": (lambda x: paddle.linalg.cov(x), A),
    "crop": (lambda x: paddle.crop(x, [-1, 2], [0, 1]), A),
    "multiplex": (lambda x, y, i: paddle.multiplex([x, y], (i % 2).astype("int32").unsqueeze(1)), A, B, I),
    "strided": (lambda x: paddle.strided_slice(x, [1], [0], [6], [2]), A),
    "numel": (paddle.numel, A),
    "rank": (paddle.rank, A),
    "is_empty": (paddle.is_empty, A),
    "shapeop": (paddle.shape, A),
    "allclose": (paddle.allclose, A, A),
    "equal_all": (paddle.equal_all, A, B),
    "clip_t": (lambda x: paddle.clip(x, paddle.min(x) * 0, paddle.max(x) * 0.5), A),
    "increment": (lambda x: paddle.increment(paddle.mean(x) * 1), A),
    "scatter_nd": (lambda i, x: paddle.scatter_nd(i.unsqueeze(1), x, [5, 6]), I, A),
    "put": (lambda x, i: paddle.put_along_axis(x, i.unsqueeze(1), 0.0, 1), A, I),
    "lerp": (lambda x, y: paddle.lerp(x, y, 0.3), A, B),
    "where": (lambda m, x, y: paddle.where(m, x, y), M, A, B),
    "cast": (lambda x: x.astype("int32").astype("bool"), A),
    "isnan": (paddle.isnan, A),
    "quantile": (lambda x: paddle.quantile(x, 0.5, axis=1), A),
    "unstack": (lambda x: paddle.unstack(x, 1)[0], A),
    "vander": (lambda x: paddle.vander(x[0]), A),
    "combinations": (lambda x: paddle.combinations(x[0]), A),
    "cdist": (lambda x, y: paddle.cdist(x, y), A, B),
    "cartesian": (lambda x: paddle.cartesian_prod([x[0], x[1]]), A),
    "segment_sum": (lambda x, i: paddle.geometric.segment_sum(x, paddle.sort(i)), A, I),
    "send": (lambda x, i: paddle.geometric.send_u_recv(x, i, i), A, I),
    "inplace": (lambda x: (x * 1).add_(paddle.ones([6])).scale_(2.0), A),
    "inplace2": (lambda x: (x * 1).unsqueeze_(0).squeeze_(0).reshape_([-1, 3]), A),
    "masked_fill": (lambda x, m: paddle.masked_fill(x, m, 0.0), A, M),
    "mscatter": (lambda x, m, y: paddle.masked_scatter(x, m, y), A, M, B),
    "index_put": (lambda x, i: paddle.index_put(x, [i], paddle.ones([6])), A, I),
    "nanmed": (paddle.nanmedian, A),
    "logcumsum": (lambda x: paddle.logcumsumexp(x, 0), A),
    "len": (lambda x: x.sum() * 1.0 + x.ndim, A),
    "numpy_mul": (lambda x: x * np.float32(2) + np.ones(6, "float32"), A),
    "rsub": (lambda x: 1 - x, A),
    "rdiv": (lambda x: 1 / (x * x + 1), A),
    "floordiv": (lambda x: x // 2, A),
    "mod": (lambda x: x % 2, A),
    "pow": (lambda x: x**2, A),
    "matrix": (lambda x: x @ x.T, A),
    "T": (lambda x: x.T, A),
    "mT": (lambda x: x.mT, SEQ),
    "norms": (lambda x: paddle.linalg.norm(x, 2, 1), A),
    "rot": (lambda x: paddle.rot90(x), A),
    "trace": (lambda x: paddle.trace(x), A),
    "diag_embed": (lambda x: paddle.diag_embed(x), A),
    "kron": (lambda x, y: paddle.kron(x, y), A, B),
    "matrix_rank": (paddle.linalg.matrix_rank, A),
    "index_put_mask": (lambda x, m: paddle.index_put(x, [m], paddle.to_tensor(0.0)), A, M),
    "setmask_vals": (lambda x, m: paddle.static.setitem(x, m, x[m] * 2), A, M),
    "segment_max": (lambda x, i: paddle.geometric.segment_max(x, paddle.sort(i)), A, I),
    "send_out": (lambda x, i: paddle.geometric.send_u_recv(x, i, i, out_size=6), A, I),
    "one_hot_auto": (lambda i: F.one_hot(i, -1), I),
    "randperm": (lambda x: paddle.sort(paddle.randperm(5)), A),
    "shape_arith": (lambda x: paddle.zeros([paddle.shape(x)[0] * 2, paddle.shape(x)[1] + 1]), A),
    "reshape_t": (lambda x: paddle.reshape(x, paddle.stack([paddle.shape(x)[1], paddle.shape(x)[0]])), A),
    "expand_t": (lambda x: paddle.expand(x[:1], paddle.shape(x)), A),
    "interp_t": (lambda x: F.interpolate(x, size=paddle.shape(x)[2:] * 2, mode="nearest"), IMG),
    "split_dyn": (lambda x: paddle.split(x, 2, 0), A),
    "arange_t": (lambda x, i: paddle.arange(0, paddle.max(i) + 1), A, I),
    "full_t": (lambda x, i: paddle.full([paddle.max(i) + 1, 2], 1.0), A, I),
    "tile_t": (lambda x, i: paddle.tile(x, [i[1], 1]), A, I),
    "topk_t": (lambda x, i: paddle.topk(x, i[2])[0], A, I),
    "cond_shape": (lambda x: x[: x.shape[0] // 2], A),
    "neg_slice": (lambda x: x[-2:], A),
    "rev": (lambda x: x[::-1], A),
    "loop_t": (lambda x: sum([x[:, k] for k in range(x.shape[1])]), A),
    "unsq": (lambda x: paddle.unsqueeze(x, [0, 2]), A),
    "mean_all": (lambda x: (x - x.mean(0)) / (x.std(0) + 1e-5), A),
    "batchnorm_eval": (lambda x: F.batch_norm(x, paddle.zeros([3]), paddle.ones([3])), IMG),
    "conv": (lambda x: F.conv2d(x, paddle.ones([2, 3, 3, 3]), padding="SAME"), IMG),
    "convT": (lambda x: F.conv2d_transpose(x, paddle.ones([3, 2, 3, 3]), stride=2), IMG),
    "gather_tree": (lambda i: F.gather_tree(i, i * 0), np.zeros((3, 2, 2), "int64")),
    "outer": (lambda x: paddle.outer(x[0], x[1]), A),
    "bincount_w": (lambda i: paddle.bincount(i, minlength=8), I),
    "isin": (lambda x: paddle.isin(x, x[:1]), A),
    "masked_mean": (lambda x, m: paddle.masked_select(x, m).mean(), A, M),
    "topmask": (lambda x: x[paddle.argmax(x, 0)], A),
    "sortidx": (lambda x: paddle.gather(x, paddle.argsort(x[:, 0])), A),
    "nz_gather": (lambda x, m: paddle.gather_nd(x, paddle.nonzero(m)), A, M),
    "uniq_counts": (lambda i: paddle.unique(i, return_counts=True)[1], I),
    "nz_loop": (lambda x, m: paddle.nonzero(m).shape[0] * paddle.ones([1]), A, M),
    "scatter_nz": (
        lambda x, m: paddle.scatter(
            x, paddle.nonzero(m[:, 0]).flatten(), paddle.zeros([paddle.nonzero(m[:, 0]).shape[0], 6])
        ),
        A,
        M,
    ),
}


def flat(outs):
    return [
        x
        for e in (outs if isinstance(outs, (list, tuple)) else [outs])
        for x in (flat(e) if isinstance(e, (list, tuple)) else [e])
    ]


def built(function, arrays, unknown):
    """A program, its results and the feed."""
    main = paddle.static.Program()
    with paddle.static.program_guard(main, paddle.static.Program()):
        inputs = []
        for i, a in enumerate(arrays):
            open_ = unknown and a.ndim and len(a) == len(arrays[0])
            inputs.append(paddle.static.data(f"x{i}", [None if open_ else len(a), *a.shape[1:]], str(a.dtype)))
        return main, inputs, function(*inputs), {f"x{i}": a for i, a in enumerate(arrays)}


@pytest.mark.parametrize("unknown", [False, True], ids=["fixed", "unknown"])
@pytest.mark.parametrize("name", CASES)
def test_functions_in_programs(name, unknown):
    function, *arrays = CASES[name]
    paddle.seed(1)
    want = [np.asarray(w) for w in flat(function(*map(paddle.to_tensor, arrays)))]
    main, _, outs, feed = built(function, arrays, unknown)
    outs = flat(outs)
    shapes = [list(o.shape) for o in outs]
    paddle.seed(1)
    got = paddle.static.Executor().run(main, feed, outs)
    for g, w, shape in zip(got, want, shapes, strict=True):
        assert g.shape == w.shape and g.dtype == w.dtype
        assert len(shape) == w.ndim and all(n in (-1, m) for n, m in zip(shape, w.shape)), shape
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


GRADIENTS = [
    "mask_index",
    "mask_index_row",
    "masked_select",
    "repeat_interleave_t",
    "segment_sum",
    "slice_t2",
    "gather",
    "cumsum",
]


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_through_shapes_that_depend_on_data(name):
    function, *arrays = CASES[name]
    tensors = [paddle.to_tensor(a) for a in arrays]
    tensors[0].stop_gradient = False
    out = function(*tensors)
    (out * out).sum().backward()

    def loss_gradient(*inputs):
        inputs[0].stop_gradient = False
        out = function(*inputs)
        return paddle.static.gradients([(out * out).sum()], [inputs[0]])

    main, _, outs, feed = built(loss_gradient, arrays, True)
    np.testing.assert_allclose(paddle.static.Executor().run(main, feed, outs)[0], tensors[0].grad.numpy(), rtol=1e-5)


LAYERS = {
    "LSTM": (lambda: paddle.nn.LSTM(6, 3, direction="bidirect"), SEQ),
    "GRU": (lambda: paddle.nn.GRU(6, 3, num_layers=2), SEQ),
    "Transformer": (lambda: paddle.nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0), SEQ),
    "MultiHeadAttention": (lambda: paddle.nn.MultiHeadAttention(6, 3), SEQ),
    "Conv": (
        lambda: paddle.nn.Sequential(
            paddle.nn.Conv2D(3, 4, 3),
            paddle.nn.BatchNorm2D(4),
            paddle.nn.ReLU(),
            paddle.nn.MaxPool2D(2),
            paddle.nn.Flatten(),
        ),
        IMG,
    ),
    "Embedding": (lambda: paddle.nn.Sequential(paddle.nn.Embedding(5, 4), paddle.nn.LayerNorm(4)), IDS),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_with_equal_weights(name):
    make, array = LAYERS[name]
    with paddle.utils.unique_name.guard():
        eager = make()
    want = flat(eager(paddle.to_tensor(array)))
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.scope_guard(paddle.static.Scope()):
        with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
            outs = flat(make()(paddle.static.data("x", [None, *array.shape[1:]], str(array.dtype))))
        exe = paddle.static.Executor()
        exe.run(startup)
        with paddle.utils.unique_name.guard():
            fresh = make()  # names and values as before the forward above moved statistics
        values = {p.name: p.numpy() for p in fresh.state_dict().values()}
        values.update((p.name, p.numpy()) for p in eager.parameters() if not p.stop_gradient)
        paddle.static.set_program_state(main, {n: v for n, v in values.items() if n in main.states})
        got = exe.run(main, {"x": array}, outs)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w.numpy(), rtol=1e-4, atol=1e-5)
