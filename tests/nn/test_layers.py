"""Layer classes: what they make, compute, print and refuse. Texts and shapes were read from the official package."""

import numpy as np
import pytest

import paddle
from paddle import nn
from tests._check import compare

REPRS = """
Linear(2,3,name='foo') | in_features=2, out_features=3, dtype=float32, name=foo
Conv1D(2,4,3) | 2, 4, kernel_size=[3], data_format=NCL
Conv2D(2,4,3,stride=2,padding=1,dilation=2,groups=2,padding_mode='reflect') | 2, 4, kernel_size=[3, 3], stride=[2, 2], \
padding=1, padding_mode=reflect, dilation=[2, 2], groups=2, data_format=NCHW
Conv2D(2,4,(3,1),padding='SAME',data_format='NHWC') | 2, 4, kernel_size=[3, 1], padding=SAME, data_format=NHWC
Conv1DTranspose(2,4,3,output_padding=1,stride=2) | 2, 4, kernel_size=[3], stride=[2], output_padding=1, data_format=NCL
BatchNorm1D(2) | num_features=2, momentum=0.9, epsilon=1e-05, data_format=NCL
BatchNorm2D(2,0.8,1e-4,name='n') | num_features=2, momentum=0.8, epsilon=0.0001, name=n
BatchNorm(2) |
LayerNorm([2,3]) | normalized_shape=[2, 3], epsilon=1e-05
GroupNorm(2,4) | num_groups=2, num_channels=4, epsilon=1e-05
InstanceNorm2D(3) | num_features=3, epsilon=1e-05
LocalResponseNorm(2) | size=2, alpha=0.0001, beta=0.75, k=1.0
Embedding(3,2,padding_idx=-1,sparse=True,name='e') | 3, 2, padding_idx=-1, sparse=True, scale_grad_by_freq=False, name=e
PReLU(3) | num_parameters=3, data_format=NCHW, init=0.25, dtype=float32
Dropout(0.3,axis=1,mode='downscale_in_infer',name='d') | p=0.3, axis=1, mode=downscale_in_infer, name=d, inplace=False
Dropout2D() | p=0.5, data_format=NCHW
Flatten() |
Unflatten(1,[2,2]) | axis=1, shape=[2, 2]
Upsample(scale_factor=2,mode='bilinear') | scale_factor=2, mode=bilinear, align_corners=False, align_mode=0, data_format=None
UpsamplingNearest2D(size=[2,2]) | size=[2, 2], data_format=NCHW
Pad2D(1,'reflect',name='x') | padding=[1, 1, 1, 1], mode=reflect, value=0.0, data_format=NCHW, name=x
CosineSimilarity() | axis=1, eps=1e-08
PairwiseDistance(1.0,keepdim=True) | p=1.0, keepdim=True
PixelShuffle(2) | upscale_factor=2
Fold(4,2) | kernel_size=2, dilation=1, padding=0, stride=1
Bilinear(2,2,2) | in1_features=2, in2_features=2, out_features=2, dtype=float32
MaxPool2D(2,return_mask=True) | kernel_size=2, stride=None, padding=0
LPPool2D(2,2) | norm_type=2.0, kernel_size=2, stride=2, padding=0
AdaptiveAvgPool2D((2,None)) | output_size=(2, None)
AdaptiveMaxPool1D(3) | output_size=3, return_mask=False
MaxUnPool1D(2) | output_size=None
GELU(True) | approximate=True
RReLU() | lower=0.125, upper=0.3333333333333333, training=True, dtype=float32
ReLU(name='r') | name=r
SELU() | scale=1.0507009873554805, alpha=1.6732632423543772
Softplus() | beta=1, threshold=20
ThresholdedReLU() | threshold=1.0, value=0.0
CrossEntropyLoss() |
""".strip().splitlines()


@pytest.mark.parametrize("line", REPRS, ids=lambda line: line.split("|")[0].strip())
def test_repr_is_the_official_one(line):
    call, _, inside = (part.strip() for part in line.partition("|"))
    assert repr(eval("nn." + call)) == f"{call.split('(')[0]}({inside})"


@pytest.mark.parametrize(
    "make, shapes",
    [
        (lambda: nn.Conv2DTranspose(4, 4, 3, groups=2), {"weight": [4, 2, 3, 3], "bias": [4]}),
        (lambda: nn.Conv1D(4, 6, 3, groups=2, bias=False), {"weight": [6, 2, 3]}),
        (lambda: nn.Conv3D(2, 3, (1, 2, 3), bias_attr=False), {"weight": [3, 2, 1, 2, 3]}),
        (lambda: nn.Bilinear(2, 3, 4), {"weight": [4, 2, 3], "bias": [1, 4]}),
        (lambda: nn.LayerNorm([2, 3]), {"weight": [6], "bias": [6]}),
        (lambda: nn.LayerNorm(4, bias=False), {"weight": [4]}),
        (lambda: nn.LayerNorm(4, elementwise_affine=False), {}),
        (lambda: nn.GroupNorm(2, 4, affine=False), {}),
        (lambda: nn.BatchNorm2D(3, weight_attr=False, bias_attr=False), {"_mean": [3], "_variance": [3]}),
        (lambda: nn.BatchNorm(3), {"weight": [3], "bias": [3], "_mean": [3], "_variance": [3]}),
        (lambda: nn.InstanceNorm1D(3), {"scale": [3], "bias": [3]}),
        (lambda: nn.InstanceNorm1D(3, weight_attr=False, bias_attr=False), {}),
        (lambda: nn.SpectralNorm([2, 3], dim=1), {"weight_u": [3], "weight_v": [2]}),
        (lambda: nn.HSigmoidLoss(2, 3), {"weight": [2, 2], "bias": [2, 1]}),
        (lambda: nn.HSigmoidLoss(2, 3, is_custom=True, bias_attr=False), {"weight": [3, 2]}),
    ],
)
def test_parameters(make, shapes):
    layer = make()
    assert {k: v.shape for k, v in layer.state_dict().items()} == shapes
    assert {k for k, _ in layer.named_parameters()} == set(shapes) and not layer.buffers()


def test_dtype_of_conv_and_norm_layers():
    assert (
        nn.Conv2D(2, 2, 3, dtype="float64").bias.dtype
        == nn.LayerNorm(2, dtype="float64").weight.dtype
        == paddle.float64
    )
    assert nn.BatchNorm(3, dtype="float16").weight.dtype == paddle.float32


# ---- linear, embedding, shapes ----
def test_linear():
    layer = nn.Linear(4, 3)
    x = np.random.RandomState(0).randn(2, 5, 4).astype("float32")
    compare(layer(paddle.to_tensor(x)), x @ layer.weight.numpy() + layer.bias.numpy())
    assert layer(input=paddle.to_tensor(x)).shape == [2, 5, 3]
    bare = nn.Linear(4, 3, bias_attr=False)
    assert bare.bias is None and "bias" not in bare.state_dict()
    compare(bare(paddle.to_tensor(x)), x @ bare.weight.numpy())
    assert nn.Linear(0, 3)(paddle.ones([2, 0])).tolist() == [[0.0] * 3] * 2


def test_embedding():
    e = nn.Embedding(5, 3, padding_idx=-2)
    assert e.padding_idx == -2 and e.weight.numpy()[3].tolist() == [0, 0, 0]
    index = paddle.to_tensor([[1, 3], [3, 4]])
    want = e.weight.numpy()[[[1, 3], [3, 4]]]
    compare(e(input=index), want)
    e(index).sum().backward()
    assert e.weight.grad.numpy()[:, 0].tolist() == [0, 1, 0, 0, 1]
    given = nn.Embedding(2, 2, _weight=paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]]), _freeze=True)
    assert given(paddle.to_tensor([1])).tolist() == [[3.0, 4.0]] and given.weight.stop_gradient
    short = nn.Embedding(3, 2, max_norm=0.1, weight_attr=nn.initializer.Constant(1.0))
    assert float(short(paddle.to_tensor([0])).norm()) == pytest.approx(0.1, rel=1e-4)
    assert short.weight.numpy()[1].tolist() == [1, 1]


def test_flatten_unflatten_identity():
    x = paddle.arange(24).reshape([2, 3, 4]).astype("float32")
    assert nn.Flatten()(x).shape == [2, 12] and nn.Flatten(0, 1)(x).shape == [6, 4]
    assert nn.Unflatten(2, [2, -1])(x).shape == [2, 3, 2, 2] and nn.Identity(1, a=2)(x) is x


# ---- convolution ----
@pytest.mark.parametrize("mode, numpy_mode", [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
@pytest.mark.parametrize(
    "padding, widths", [(1, ((1, 1), (1, 1))), ([2, 1], ((2, 2), (1, 1))), ([2, 1, 0, 1], ((2, 1), (0, 1)))]
)
def test_padding_modes(mode, numpy_mode, padding, widths):
    layer = nn.Conv2D(2, 3, 3, padding=padding, padding_mode=mode)
    x = np.random.RandomState(0).randn(1, 2, 5, 6).astype("float32")
    padded = np.pad(x, ((0, 0), (0, 0)) + widths, mode=numpy_mode)
    compare(
        layer(paddle.to_tensor(x)),
        nn.functional.conv2d(paddle.to_tensor(padded), layer.weight, layer.bias).numpy(),
        atol=1e-5,
    )


def test_transposed_convolution_undoes_the_shape():
    x = paddle.ones([1, 3, 7, 8])
    down = nn.Conv2D(3, 4, 3, stride=2, padding=1)(x)
    up = nn.Conv2DTranspose(4, 3, 3, stride=2, padding=1)
    assert up(down, output_size=[7, 8]).shape == [1, 3, 7, 8]
    assert nn.Conv1DTranspose(2, 3, 3, stride=2)(paddle.ones([1, 2, 4])).shape == [1, 3, 9]
    assert nn.Conv3DTranspose(2, 3, 2, stride=2)(paddle.ones([1, 2, 2, 3, 2])).shape == [1, 3, 4, 6, 4]
    assert nn.Conv2D(3, 2, 3, data_format="NHWC")(input=paddle.ones([1, 5, 5, 3])).shape == [1, 3, 3, 2]


# ---- normalization ----
@pytest.mark.parametrize(
    "layer, shape, axes",
    [
        (lambda: nn.BatchNorm1D(3), (4, 3), (0,)),
        (lambda: nn.BatchNorm1D(3), (4, 3, 5), (0, 2)),
        (lambda: nn.BatchNorm2D(3), (2, 3, 4, 4), (0, 2, 3)),
        (lambda: nn.BatchNorm2D(3, data_format="NHWC"), (2, 4, 4, 3), (0, 1, 2)),
        (lambda: nn.BatchNorm3D(3), (2, 3, 2, 2, 2), (0, 2, 3, 4)),
        (lambda: nn.SyncBatchNorm(3), (2, 3, 4, 4), (0, 2, 3)),
        (lambda: nn.BatchNorm(3), (2, 3, 4, 4), (0, 2, 3)),
    ],
)
def test_batch_norm_statistics(layer, shape, axes):
    layer = layer()
    rng = np.random.RandomState(0)
    mean, variance = np.zeros(3), np.ones(3)
    for _ in range(3):
        x = rng.randn(*shape).astype("float32") * 2 + 1
        y = layer(paddle.to_tensor(x))
        m, v = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)  # biased, also in the running variance
        compare(y, (x - m) / np.sqrt(v + 1e-5), rtol=1e-3, atol=1e-4)
        mean, variance = 0.9 * mean + 0.1 * m.ravel(), 0.9 * variance + 0.1 * v.ravel()
    compare(layer._mean, mean.astype("float32"), rtol=1e-4)
    compare(layer._variance, variance.astype("float32"), rtol=1e-4)
    layer.eval()
    before = layer._mean.numpy()
    wide = [-1 if i not in axes else 1 for i in range(len(shape))]
    compare(
        layer(paddle.to_tensor(x)),
        (x - mean.reshape(wide)) / np.sqrt(variance.reshape(wide) + 1e-5),
        rtol=1e-3,
        atol=1e-4,
    )
    assert (
        (layer._mean.numpy() == before).all()
        and layer._mean.stop_gradient
        and isinstance(layer._mean, paddle.Parameter)
    )


def test_old_batch_norm_options():
    x = paddle.to_tensor(np.random.RandomState(0).randn(2, 3, 4, 4).astype("float32"))
    assert nn.BatchNorm(3, act="relu")(x).numpy().min() == 0
    test = nn.BatchNorm(3, is_test=True)
    assert not test.training
    compare(test(x), x.numpy() / np.sqrt(1 + 1e-5))
    fixed = nn.BatchNorm(3, use_global_stats=True)
    compare(fixed(x), x.numpy() / np.sqrt(1 + 1e-5))
    assert not fixed._mean.numpy().any()
    always = nn.BatchNorm(3, trainable_statistics=True).eval()
    always(x)
    compare(always._mean, 0.1 * x.numpy().mean((0, 2, 3)), rtol=1e-4)


def test_batch_norm_trains():
    layer = nn.BatchNorm2D(3)
    x = paddle.to_tensor(np.random.RandomState(0).randn(2, 3, 4, 4).astype("float32"), stop_gradient=False)
    (layer(x) ** 2).sum().backward()
    assert layer.bias.grad is not None and layer._mean.grad is None
    compare(layer.weight.grad, np.full(3, 2 * 2 * 16), rtol=1e-3)  # the normalized x has unit variance
    compare(x.grad.sum([0, 2, 3]), np.zeros(3), atol=1e-3)


def test_convert_sync_batchnorm():
    bn = nn.BatchNorm2D(3, momentum=0.8)
    model = nn.Sequential(nn.Conv2D(2, 3, 3), nn.Sequential(bn), nn.BatchNorm1D(2, weight_attr=False))
    keys = list(model.state_dict())
    assert nn.SyncBatchNorm.convert_sync_batchnorm(model) is model
    assert type(model[1][0]) is type(model[2]) is nn.SyncBatchNorm and list(model.state_dict()) == keys
    assert model[1][0].weight is bn.weight and model[1][0]._mean is bn._mean and model[1][0]._momentum == 0.8
    assert type(nn.SyncBatchNorm.convert_sync_batchnorm(bn)) is nn.SyncBatchNorm


def test_layer_group_and_instance_norm():
    x = np.random.RandomState(0).randn(2, 4, 3, 5).astype("float32")

    def normal(a, axes):
        return (a - a.mean(axes, keepdims=True)) / np.sqrt(a.var(axes, keepdims=True) + 1e-5)

    compare(nn.LayerNorm([3, 5])(paddle.to_tensor(x)), normal(x, (2, 3)), rtol=1e-3, atol=1e-5)
    compare(
        nn.GroupNorm(2, 4)(paddle.to_tensor(x)), normal(x.reshape(2, 2, -1), 2).reshape(x.shape), rtol=1e-3, atol=1e-5
    )
    compare(nn.InstanceNorm2D(4)(paddle.to_tensor(x)), normal(x, (2, 3)), rtol=1e-3, atol=1e-5)


def test_spectral_norm_layer_finds_the_singular_value():
    w = np.random.RandomState(0).randn(4, 3, 2).astype("float32")
    layer = nn.SpectralNorm([4, 3, 2], dim=1, power_iters=50)
    sigma = np.linalg.svd(w.transpose(1, 0, 2).reshape(3, -1))[1][0]
    compare(layer(paddle.to_tensor(w)), w / sigma, rtol=1e-4)
    u = layer.weight_u.numpy()
    assert np.linalg.norm(u) == pytest.approx(1, rel=1e-5)


# ---- activations, dropout, padding, pooling ----
@pytest.mark.parametrize(
    "make, x, y",
    [
        (nn.ReLU, [-1.0, 2.0], [0.0, 2.0]),
        (lambda: nn.LeakyReLU(0.1), [-1.0, 2.0], [-0.1, 2.0]),
        (nn.PReLU, [-4.0, 1.0], [-1.0, 1.0]),
        (lambda: nn.Hardtanh(-0.5, 1.5), [-1.0, 2.0], [-0.5, 1.5]),
        (lambda: nn.Hardshrink(lambd=1.0), [-1.5, 0.5], [-1.5, 0.0]),
        (lambda: nn.Softshrink(lambd=0.5), [-1.5, 0.2], [-1.0, 0.0]),
        (nn.ReLU6, [7.0, -1.0], [6.0, 0.0]),
        (nn.Hardsigmoid, [0.0, 6.0], [0.5, 1.0]),
        (lambda: nn.GLU(dim=-1), [2.0, 0.0], [1.0]),
        (nn.Softmax, [0.0, 0.0], [0.5, 0.5]),
        (lambda: nn.ThresholdedReLU(1.0, -3.0), [0.5, 2.0], [-3.0, 2.0]),
        (nn.Softsign, [1.0, -3.0], [0.5, -0.75]),
        (nn.Hardswish, [-3.0, 3.0], [0.0, 3.0]),
    ],
)
def test_activation_values(make, x, y):
    compare(make()(paddle.to_tensor(x)), np.array(y, "float32"), rtol=1e-4)


def test_maxout_takes_the_largest_of_each_group():
    x = np.random.RandomState(0).randn(1, 4, 2, 2).astype("float32")
    compare(nn.Maxout(2)(paddle.to_tensor(x)), x.reshape(1, 2, 2, 2, 2).max(2))


def test_softmax2d_works_on_channels():
    x = paddle.randn([2, 3, 2, 2])
    compare(nn.Softmax2D()(x).sum(1), np.ones((2, 2, 2)))
    assert nn.Softmax2D()(x[0]).shape == [3, 2, 2]


@pytest.mark.parametrize("make", [nn.Dropout, nn.Dropout2D, nn.AlphaDropout, nn.RReLU])
def test_random_layers_change_with_the_mode(make):
    layer, x = make(), -paddle.ones([8, 16, 4, 4])
    a, b = layer(x).numpy(), layer(x).numpy()
    assert (a != b).any()
    layer.eval()
    assert (layer(x).numpy() == layer(x).numpy()).all()


def test_pads():
    x = np.arange(12.0, dtype="float32").reshape(1, 1, 3, 4)
    t = paddle.to_tensor(x)
    compare(nn.ZeroPad2D([1, 2, 0, 1])(t), np.pad(x, ((0, 0), (0, 0), (0, 1), (1, 2))))
    compare(nn.ConstantPad2D(1, 7.0)(t), np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=7))
    compare(
        nn.ReflectionPad2D(paddle.to_tensor([1, 0, 0, 1]))(t),
        np.pad(x, ((0, 0), (0, 0), (0, 1), (1, 0)), mode="reflect"),
    )
    compare(nn.ReplicationPad1D(np.int64(2))(t[0]), np.pad(x[0], ((0, 0), (0, 0), (2, 2)), mode="edge"))
    compare(nn.CircularPad1D([1, 2])(t[0]), np.pad(x[0], ((0, 0), (0, 0), (1, 2)), mode="wrap"))
    compare(nn.Pad2D(1, data_format="NHWC")(input=t), np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))))


def test_max_pool_and_back():
    x = paddle.to_tensor(np.random.RandomState(0).permutation(64).reshape(1, 4, 4, 4).astype("float32"))
    pooled, mask = nn.MaxPool2D(2, return_mask=True)(x)
    back = nn.MaxUnPool2D(2)(pooled, mask)
    compare(back, np.where(np.isin(x.numpy(), pooled.numpy()), x.numpy(), 0))
    compare(nn.AdaptiveAvgPool2D((1, None))(input=x), x.numpy().mean(2, keepdims=True))
    assert nn.AdaptiveMaxPool2D(2, return_indices=True)(x)[1].shape == [1, 4, 2, 2]
    assert nn.AvgPool1D(2)(x[0]).shape == [4, 4, 2]


# ---- losses ----
def test_losses_agree_with_their_formulas():
    rng = np.random.RandomState(0)
    x, y = rng.randn(4, 3).astype("float32"), rng.randn(4, 3).astype("float32")
    label = np.array([0, 2, 1, 2])
    tx, ty, tl = paddle.to_tensor(x), paddle.to_tensor(y), paddle.to_tensor(label)
    log_p = x - np.log(np.exp(x).sum(1, keepdims=True))
    picked = -log_p[np.arange(4), label]
    compare(nn.CrossEntropyLoss()(tx, tl), picked.mean())
    compare(nn.CrossEntropyLoss()(tx, target=tl), picked.mean())
    weight = np.array([1.0, 2.0, 3.0], "float32")
    compare(
        nn.CrossEntropyLoss(weight=paddle.to_tensor(weight))(tx, tl),
        (picked * weight[label]).sum() / weight[label].sum(),
    )
    compare(nn.NLLLoss(reduction="sum")(paddle.to_tensor(log_p), tl), picked.sum())
    compare(nn.MSELoss()(tx, ty), ((x - y) ** 2).mean())
    compare(nn.L1Loss("sum")(tx, ty), abs(x - y).sum())
    d = abs(x - y)
    compare(nn.SmoothL1Loss("none")(tx, target=ty), np.where(d < 1, 0.5 * d * d, d - 0.5))
    target = (y > 0).astype("float32")
    prob = 1 / (1 + np.exp(-x))
    bce = -(target * np.log(prob) + (1 - target) * np.log(1 - prob)).mean()
    compare(nn.BCELoss()(paddle.to_tensor(prob), paddle.to_tensor(target)), bce)
    compare(nn.BCEWithLogitsLoss()(tx, paddle.to_tensor(target)), bce)
    sign = np.where(target > 0, 1, -1).astype("float32")
    compare(nn.MarginRankingLoss(0.1)(tx, ty, paddle.to_tensor(sign)), np.maximum(0, 0.1 - sign * (x - y)).mean())
    compare(nn.HingeEmbeddingLoss()(tx, paddle.to_tensor(sign)), np.where(sign > 0, x, np.maximum(0, 1 - x)).mean())
    q = np.exp(log_p)
    compare(nn.KLDivLoss("sum")(paddle.to_tensor(log_p), paddle.to_tensor(q)), 0.0, atol=1e-6)


def test_adaptive_softmax_is_a_distribution_and_trains_its_tails():
    layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0, head_bias=True)
    x, label = paddle.randn([6, 8]), paddle.to_tensor([0, 4, 5, 9, 10, 19])
    log_prob = layer.log_prob(x)
    compare(log_prob.exp().sum(1), np.ones(6), rtol=1e-4)
    assert (layer.predict(x).numpy() == log_prob.numpy().argmax(1)).all()
    out, loss = layer(x, label)
    compare(out, log_prob.numpy()[np.arange(6), label.numpy()], rtol=1e-4)
    loss.backward()
    assert all(p.grad is not None for p in layer.parameters()) and len(layer.parameters()) == 6


def test_a_small_network_learns():
    rng = np.random.RandomState(0)
    net = nn.Sequential(
        nn.Conv2D(1, 4, 3, padding=1), nn.BatchNorm2D(4), nn.ReLU(), nn.MaxPool2D(2), nn.Flatten(), nn.Linear(16, 2)
    )
    x = paddle.to_tensor(rng.randn(32, 1, 4, 4).astype("float32"))
    label = paddle.to_tensor((x.numpy().mean((1, 2, 3)) > 0).astype("int64"))
    loss_of = nn.CrossEntropyLoss()
    losses = []
    for _ in range(25):
        loss = loss_of(net(x), label)
        loss.backward()
        with paddle.no_grad():
            for p in net.parameters():
                if p.grad is not None:
                    p.set_value(p - 0.3 * p.grad)
        net.clear_gradients()
        losses.append(float(loss))
    assert losses[-1] < 0.5 * losses[0]


# ---- errors ----
@pytest.mark.parametrize(
    "call",
    [
        "Conv2D(3,4,3,groups=2)",
        "Conv2D(3,4,3,padding_mode='foo')",
        "Conv2D(3,4,3,padding=[1,1,1])",
        "Conv2D(3,4,3,padding='foo')",
        "Conv2D(3,4,3,data_format='foo')",
        "Conv2D(3,4,[3])",
        "Conv2D(3,3,3,groups=0)",
        "Conv2DTranspose(4,3,3,groups=2)",
        "Linear(-1,3)",
        "Embedding(0,3)",
        "Embedding(3,0)",
        "Embedding(4,3,padding_idx=5)",
        "Embedding(4,3,padding_idx=-5)",
        "Embedding(3,2,_weight=paddle.ones([2,2]))",
        "GroupNorm(2,4,data_format='foo')",
        "GroupNorm(3,4)(paddle.ones([1,4,2,2]))",
        "BatchNorm2D(3)(paddle.ones([2,3]))",
        "BatchNorm1D(3)(paddle.ones([2,3,4,4]))",
        "BatchNorm2D(3)(paddle.ones([2,4,2,2]))",
        "LayerNorm(4)(paddle.ones([2,3]))",
        "LayerNorm(4,epsilon=0.1)(paddle.ones([2,4]))",
        "InstanceNorm2D(3)(paddle.ones([2,3]))",
        "InstanceNorm2D(3,weight_attr=False)",
        "SpectralNorm([2,3],dim=2)",
        "SpectralNorm([2,3])(paddle.ones([3,2]))",
        "MSELoss('foo')",
        "L1Loss('foo')",
        "BCELoss(reduction='foo')",
        "NLLLoss(reduction='foo')",
        "MarginRankingLoss(reduction='foo')",
        "CosineEmbeddingLoss(margin=2)",
        "TripletMarginLoss(reduction='foo')",
        "PoissonNLLLoss(epsilon=0)",
        "HSigmoidLoss(2,1)",
        "AdaptiveLogSoftmaxWithLoss(4,10,[6,3])",
        "AdaptiveLogSoftmaxWithLoss(4,10,[])",
        "AdaptiveLogSoftmaxWithLoss(4,10,[10])",
        "PixelShuffle(2,data_format='foo')",
        "PixelUnshuffle(0)",
        "ChannelShuffle(0)",
    ],
)
def test_value_errors(call):
    with pytest.raises(ValueError):
        eval("nn." + call)


@pytest.mark.parametrize(
    "call",
    [
        "PixelShuffle('a')",
        "Pad2D('a')",
        "LayerNorm('a')",
        "Conv2D(3,4,'a')",
        "Fold(4,2,stride=1,strides=1)",
        "Linear(2,3,bias=False)",
        "SyncBatchNorm.convert_sync_batchnorm(3)",
    ],
)
def test_type_errors(call):
    with pytest.raises(TypeError):
        eval("nn." + call)
