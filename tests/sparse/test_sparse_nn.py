"""paddle.sparse.nn against the layers of paddle.nn on dense tensors."""

import numpy as np
import pytest

import paddle
from tests._check import compare

S, F, D, t = paddle.sparse, paddle.sparse.nn.functional, paddle.nn.functional, paddle.to_tensor


def volume(shape=(2, 3, 4, 3, 2), seed=0, keep=0.4):
    rng = np.random.RandomState(seed)
    return (rng.randn(*shape) * (rng.rand(*shape[:-1], 1) < keep)).astype("float32")


def weight(*shape, seed=1):
    return np.random.RandomState(seed).randn(*shape).astype("float32")


def dense_conv(x, w, **kwargs):
    n = x.ndim - 2
    kind, layout = (D.conv2d, "NHWC") if n == 2 else (D.conv3d, "NDHWC")
    return kind(t(x), t(np.moveaxis(w, (-1, -2), (0, 1)).copy()), data_format=layout, **kwargs).numpy()


CONVOLUTIONS = [
    dict(),
    dict(padding=1),
    dict(stride=2, padding=1),
    dict(dilation=2, padding=2),
    dict(padding="SAME", stride=2),
    dict(padding=[1, 0, 1]),
    dict(padding=[1, 0, 0, 1, 1, 1]),
]


@pytest.mark.parametrize("kwargs", CONVOLUTIONS)
def test_conv3d(kwargs):
    x, w = volume(), weight(2, 3, 2, 2, 4)
    compare(F.conv3d(t(x).to_sparse_coo(4), t(w), **kwargs).to_dense(), dense_conv(x, w, **kwargs), atol=1e-4)


def test_conv2d_with_bias_stores_what_windows_meet():
    x = np.zeros((1, 5, 5, 1), "float32")
    x[0, 1, 1] = 2.0
    w = weight(3, 3, 1, 2)
    y = F.conv2d(t(x).to_sparse_coo(3), t(w), t([1.0, 2.0]))
    assert y.indices().tolist() == [[0] * 4, [0, 0, 1, 1], [0, 1, 0, 1]]
    want = dense_conv(x, w) + np.array([1.0, 2.0], "float32")
    compare(y.values(), want[0, :2, :2].reshape(4, 2))


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize(
    "name, n", [("subm_conv2d", 2), ("subm_conv3d", 3), ("subm_conv2d_igemm", 2), ("subm_conv3d_igemm", 3)]
)
def test_submanifold_convolution_keeps_the_places(name, n, dilation):
    x, w = volume((1, 3, 4, 3, 2)[: n + 1] + (2,)), weight(*[3] * n, 2, 3)
    y = getattr(F, name)(t(x).to_sparse_coo(n + 1), t(w), dilation=dilation)
    assert y.indices().tolist() == t(x).to_sparse_coo(n + 1).indices().tolist()
    want = dense_conv(x, w, dilation=dilation, padding=dilation) * (x != 0).any(-1, keepdims=True)
    compare(y.to_dense(), want, atol=1e-4)


def test_unsorted_input_keeps_its_order():
    x = S.sparse_coo_tensor([[0, 0], [2, 0], [1, 1]], [[1.0], [2.0]], [1, 3, 3, 1])
    y = F.subm_conv2d(x, t(np.arange(1, 10, dtype="float32").reshape(3, 3, 1, 1)))
    assert y.indices().tolist() == x.indices().tolist() and y.values().tolist() == [[5.0], [10.0]]


def test_gradients_of_convolutions_are_those_of_dense_ones():
    x, w = volume((1, 3, 3, 3, 2)), weight(2, 2, 2, 2, 3)
    grads = []
    for sparse in (True, False):
        a, b = t(x, stop_gradient=False), t(w, stop_gradient=False)
        if sparse:
            out = F.conv3d(a.to_sparse_coo(4), b, padding=1).to_dense()
        else:
            out = D.conv3d(a, b.transpose([4, 3, 0, 1, 2]), padding=1, data_format="NDHWC")
        (out**2).sum().backward()
        grads.append((a.grad.numpy(), b.grad.numpy()))
    stored = (x != 0).any(-1, keepdims=True)
    np.testing.assert_allclose(grads[0][0], grads[1][0] * stored, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(grads[0][1], grads[1][1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "kwargs",
    [
        dict(kernel_size=2),
        dict(kernel_size=2, stride=1),
        dict(kernel_size=3, stride=2, padding=1),
        dict(kernel_size=2, ceil_mode=True),
        dict(kernel_size=[1, 2, 2]),
    ],
)
def test_max_pool_sees_stored_values_only(kwargs):
    x = volume((1, 3, 4, 5, 2), keep=0.3)
    stored = (x != 0).any(-1, keepdims=True)
    low = np.where(stored, x, -np.inf).astype("float32")
    want = D.max_pool3d(t(low), data_format="NDHWC", **kwargs).numpy()
    compare(F.max_pool3d(t(x).to_sparse_coo(4), **kwargs).to_dense(), np.where(np.isinf(want), 0, want))


def test_equal_maxima_all_get_the_gradient():
    x = t(np.array([2, 2, 1, 2], "float32").reshape(1, 1, 1, 4, 1), stop_gradient=False)
    F.max_pool3d(x.to_sparse_coo(4), [1, 1, 2], stride=1).to_dense().sum().backward()
    assert x.grad.flatten().tolist() == [1, 2, 0, 1]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.conv3d(x, t(weight(2, 2, 2, 3, 1))),
        lambda x: F.conv3d(x, t(weight(2, 2, 2, 2))),
        lambda x: F.conv3d(x, t(weight(9, 2, 2, 2, 1))),
        lambda x: F.conv3d(x, t(weight(1, 1, 1, 2, 1)), groups=2),
        lambda x: F.conv3d(x, t(weight(1, 1, 1, 2, 1)), data_format="NCDHW"),
        lambda x: F.conv3d(x, t(weight(1, 1, 1, 2, 1)), stride=0),
        lambda x: F.conv3d(x, t(weight(1, 1, 1, 2, 1)), t([1.0, 2.0])),
        lambda x: F.conv3d(t(volume()).to_sparse_coo(5), t(weight(1, 1, 1, 2, 1))),
        lambda x: F.conv2d(x, t(weight(1, 1, 2, 1))),
        lambda x: F.max_pool3d(x, 9),
        lambda x: F.max_pool3d(x, 2, padding=2),
        lambda x: F.max_pool3d(x, 2, data_format="NCDHW"),
        lambda x: S.nn.Conv3D(2, 4, 3, groups=2),
        lambda x: S.nn.Conv3D(2, 4, 3, padding_mode="reflect"),
        lambda x: S.nn.SubmConv3D(2, 4, 3, backend="foo"),
        lambda x: S.nn.BatchNorm(2)(S.sparse_coo_tensor([[0]], [1.0], [2])),
    ],
)
def test_refused(call):
    with pytest.raises(ValueError, match="conv|Conv|pool|Norm"):
        call(t(volume()).to_sparse_coo(4))


def test_nothing_stored():
    x = paddle.zeros([1, 3, 3, 3, 2]).to_sparse_coo(4)
    for y in (
        F.conv3d(x, t(weight(2, 2, 2, 2, 3))),
        F.subm_conv3d(x, t(weight(3, 3, 3, 2, 3))),
        F.max_pool3d(x, 2),
        F.relu(x),
        F.softmax(x),
    ):
        assert y.nnz() == 0 and float(y.to_dense().abs().sum()) == 0


def test_activations():
    x = S.sparse_coo_tensor([[0, 1, 2]], [-1.0, 3.0, 9.0], [4])
    assert F.relu(x).values().tolist() == [0, 3, 9] and F.relu6(x).values().tolist() == [0, 3, 6]
    compare(F.leaky_relu(x, 0.1).values(), [-0.1, 3, 9])


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_softmax_is_over_stored_values(axis):
    x = np.array([[1, 0, 2], [0, 0, 0], [3, 4, 5]], "float32")
    low = np.where(x != 0, x, -np.inf)
    with np.errstate(invalid="ignore"):
        want = np.exp(low - low.max(axis, keepdims=True))
        want = np.nan_to_num(want / want.sum(axis, keepdims=True))
    compare(F.softmax(t(x).to_sparse_coo(2), axis).to_dense(), want)
    if axis != 0:
        compare(F.softmax(t(x).to_sparse_csr(), axis).to_dense(), want)
    else:
        with pytest.raises(NotImplementedError):
            F.softmax(t(x).to_sparse_csr(), axis)
    compare(F.softmax(t(x).to_sparse_coo(1), -1).values(), D.softmax(t(x[[0, 2]])).numpy())


def test_attention_sees_what_all_masks_allow():
    rng = np.random.RandomState(0)
    q, k, v = (rng.randn(2, 3, 4, 5).astype("float32") for _ in range(3))
    mask = (rng.rand(6, 4, 4) < 0.6).astype("float32")
    keys, seen = (rng.rand(2, 4) < 0.7).astype("float32"), (rng.rand(4, 4) < 0.8).astype("float32")
    allowed = (mask.reshape(2, 3, 4, 4) * keys[:, None, None] * seen) > 0
    scores = np.where(allowed, q @ k.swapaxes(-1, -2) / np.sqrt(5), -np.inf)
    with np.errstate(invalid="ignore"):
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p = np.nan_to_num(p / p.sum(-1, keepdims=True))
    out = F.attention(t(q), t(k), t(v), t(mask).to_sparse_csr(), t(keys), t(seen))
    compare(out, p @ v, atol=1e-5)
    x = t(q, stop_gradient=False)
    F.attention(x, x, x, t(mask).to_sparse_csr(), t(keys), t(seen)).sum().backward()
    assert np.isfinite(x.grad.numpy()).all()
    with pytest.raises(ValueError, match="sparse_mask"):
        F.attention(t(q), t(k), t(v), t(mask[:3]).to_sparse_csr())
    with pytest.raises(TypeError, match="sparse_mask"):
        F.attention(t(q), t(k), t(v), t(mask))


def test_batch_norm_is_that_of_the_stored_values():
    x = t(volume()).to_sparse_coo(4)
    layer, reference = S.nn.BatchNorm(2), paddle.nn.BatchNorm1D(2)
    for _ in range(2):
        compare(layer(x).values(), reference(x.values()).numpy())
    compare(layer._mean, reference._mean.numpy())
    layer.eval(), reference.eval()
    compare(layer(x).values(), reference(x.values()).numpy())
    assert repr(layer) == "BatchNorm(num_features=2, momentum=0.9, epsilon=1e-05, data_format=NDHWC)"


def test_conversion_to_sync_batch_norm_takes_sparse_layers_only():
    model = paddle.nn.Sequential(S.nn.Conv3D(2, 2, 3), S.nn.BatchNorm(2), paddle.nn.BatchNorm1D(2))
    weight = model[1].weight
    made = S.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert type(made[1]) is S.nn.SyncBatchNorm and made[1].weight is weight and type(made[2]) is paddle.nn.BatchNorm1D


def test_texts_and_parameters():
    layer = S.nn.Conv3D(2, 3, 3)
    assert repr(layer) == "Conv3D(2, 3, kernel_size=[3, 3, 3], data_format=NDHWC)"
    assert layer.weight.shape == [3, 3, 3, 2, 3] and layer.bias.tolist() == [0, 0, 0]
    assert S.nn.Conv3D(2, 3, 3, bias_attr=False).bias is None
    assert (
        repr(S.nn.SubmConv2D(2, 3, 3, padding=1)) == "SubmConv2D(2, 3, kernel_size=[3, 3], padding=1, data_format=NHWC)"
    )
    assert repr(S.nn.MaxPool3D(2)) == "MaxPool3D(kernel_size=2, stride=None, padding=0)"
    std = float(S.nn.Conv3D(50, 30, 3).weight.std())
    assert abs(std - (2 / (50 * 27)) ** 0.5) < 0.001


def test_a_small_network_learns():
    paddle.seed(1)
    net = paddle.nn.Sequential(
        S.nn.SubmConv3D(2, 4, 3), S.nn.BatchNorm(4), S.nn.ReLU(), S.nn.MaxPool3D(2), S.nn.Conv3D(4, 1, 1)
    )
    optimizer = paddle.optimizer.Adam(0.02, parameters=net.parameters())
    x, losses = t(volume((2, 4, 4, 4, 2))).to_sparse_coo(4), []
    for _ in range(8):
        loss = ((net(x).values() - 1.0) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    assert losses[-1] < 0.5 * losses[0]
