"""QAT, PTQ, convert, quanters and observers, with values recorded from the official package (3.3.1, CPU)."""

import numpy as np
import pytest

import paddle
import paddle.nn as nn
import paddle.quantization as Q
from paddle.nn.quant.format import LinearDequanter, LinearQuanter
from paddle.quantization import observers as O
from paddle.quantization.observers.groupwise import GroupWiseWeightObserverLayer
from paddle.quantization.quanters import FakeQuanterWithAbsMaxObserver as Fake
from paddle.static import InputSpec

from _check import compare


def net():
    draw = np.random.RandomState(0)
    model = nn.Sequential(nn.Conv2D(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
    for p in model.parameters():
        p.set_value(draw.randn(*p.shape).astype("float32") * 0.3)
    return model


DRAW = np.random.RandomState(1)
X = DRAW.randn(3, 1, 4, 4).astype("float32")
W = DRAW.randn(4, 3).astype("float32")
G = DRAW.randn(128, 2).astype("float32")


def calibrated():
    model = net().eval()
    ptq = Q.PTQ(Q.QuantConfig(activation=O.AbsmaxObserver(), weight=O.AbsmaxObserver()))
    watched = ptq.quantize(model)
    for factor in (1, 0.5):
        watched(paddle.to_tensor(X * np.float32(factor)))
    return model, ptq, watched


def test_ptq_converts_to_the_official_integers():
    model, ptq, watched = calibrated()
    made = ptq.convert(watched)
    assert [type(x).__name__ for x in made] == ["QuantedConv2D", "ObserveWrapper", "ObserveWrapper", "QuantedLinear"]
    assert made[0].weight.dtype == made[3].weight.dtype == paddle.int8 and made[3].weight.stop_gradient
    assert made[0].weight.flatten().tolist() == [
        100, 23, 55, 127, 106, -55, 54, -9, -6, 23, 8, 82, 43, 7, 25, 19, 85, -12,
    ]  # fmt: skip
    assert made[3].weight.flatten().tolist() == [
        -127, 33, 43, -37, 113, -72, 2, -9, 76, 73, 8, 19, -44, -99, -17, 8, 61, 60, -19, -15, -52, -71, -85, 97,
    ]  # fmt: skip
    compare(made[0].activation_quanter._quanter._scales, 2.3015387)
    compare(made[3].weight_quanter._dequanter._scales, 0.7658970)
    compare(made[1]._observer._quanter._scales, 1.6659592)
    want = [
        -0.20485809,
        -0.19270477,
        -0.38298821,
        0.02112103,
        0.46020895,
        -0.65084374,
        -0.20868824,
        -0.05094650,
        -0.41435295,
    ]
    compare(made(paddle.to_tensor(X)).flatten(), want, atol=1e-6)
    assert watched[0].weight.dtype == paddle.float32  # a copy was converted
    kept = ptq.convert(watched, remain_weight=True)
    assert kept[0].weight.dtype == paddle.float32
    compare(kept(paddle.to_tensor(X)).flatten(), want, atol=1e-6)


def test_saved_models_hold_integers_and_compute_the_same(tmp_path):
    model, ptq, watched = calibrated()
    made = ptq.convert(watched)
    path = str(tmp_path / "int8")
    paddle.jit.save(made, path, [InputSpec([None, 1, 4, 4])])
    want = made(paddle.to_tensor(X)).numpy()
    loaded = paddle.jit.load(path)
    compare(loaded(paddle.to_tensor(X)), want, atol=1e-6)
    assert [p.dtype.name for p in loaded.state_dict().values()].count("int8") == 2
    names = [o.name for o in loaded.program().block.operators]
    assert names.count("quantize_linear") == 4 and names.count("dequantize_linear") == 6
    predictor = paddle.inference.create_predictor(paddle.inference.Config(path))
    handle = predictor.get_input_handle(predictor.get_input_names()[0])
    handle.copy_from_cpu(X)
    predictor.run()
    compare(predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu(), want, atol=1e-5)


def test_qat_learns_as_officially():
    fake = Fake(moving_rate=0.8, bit_length=4), Fake(moving_rate=0.8)
    model = Q.QAT(Q.QuantConfig(activation=fake[0], weight=fake[1])).quantize(net())
    optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
    for want in (0.12338049, 0.09033436, 0.07867877):
        loss = (model(paddle.to_tensor(X)) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        compare(loss, want, rtol=1e-5)
    compare(model[3].weight.flatten()[:4], [-0.76589698, 0.19608559, 0.25933087, -0.22553919], rtol=1e-5)
    compare(model[3].activation_quanter.scales(), [1.0417156], rtol=1e-5)
    compare(model[0].weight_quanter.scales(), [0.7188441], rtol=1e-5)
    model.eval()
    want = [
        -0.17674875,
        -0.20350139,
        -0.20917767,
        0.13511565,
        0.29359156,
        -0.44732869,
        -0.13422179,
        -0.13545825,
        -0.29139647,
    ]
    compare(model(paddle.to_tensor(X)).flatten(), want, rtol=1e-5)


def test_qat_models_convert():
    """Officially `convert` fails on this quanter, which has no zero points."""
    qat = Q.QAT(Q.QuantConfig(activation=Fake(), weight=Fake()))
    model = qat.quantize(net())
    for _ in range(30):
        model(paddle.to_tensor(X))
    model.eval()
    made = qat.convert(model)
    assert made[3].weight.dtype == paddle.int8
    compare(made(paddle.to_tensor(X)), model(paddle.to_tensor(X)).numpy(), atol=0.03)
    with pytest.raises(AssertionError, match="only once"):
        made[3]._convert()


def test_few_bits_stop_the_gradient_of_what_was_cut_off():
    layer = Fake(bit_length=2)._instance(None)
    layer.eval()
    layer._scale.set_value(np.float32([1.0]))
    x = paddle.to_tensor([0.6, 3.0], stop_gradient=False)
    layer(x).sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]


def test_integers_of_quanters():
    top = np.abs(W).max(0)
    whole = LinearQuanter(top, None, 1)(paddle.to_tensor(W))
    assert whole.flatten().tolist() == [16, 69, 43, -48, -127, -50, -28, 65, 120, 127, 32, 127]
    assert whole.dtype == paddle.float32
    want = [
        0.11730420,
        0.62073821,
        0.29969347,
        -0.35191262,
        -1.14251816,
        -0.34848079,
        -0.20528235,
        0.58475339,
        0.83635390,
    ]
    compare(LinearDequanter(top, None, 1)(whole).flatten()[:9], want, rtol=1e-6)
    group = GroupWiseWeightObserverLayer(None, 4, 64)
    group(paddle.to_tensor(G))
    compare(group.scales(), [[2.5283258, 2.4348378], [3.0308571, 2.4493687]])
    whole = LinearQuanter(group.scales(), group.zero_points(), bit_length=4, group_size=64)(paddle.to_tensor(G)).numpy()
    assert whole[:3].tolist() == [[-2, 4], [1, -1], [1, 0]] and (whole.sum(), np.abs(whole).sum()) == (71, 537)
    for bits, whole, back in (
        ((4, 3), [26, 144, 64, -80, -256], [0.11607143, 0.64285713, 0.28571430, -0.35714287, -1.14285719]),
        ((5, 2), [3584, 16384, 8192, -10240, -32768], [0.125, 0.57142860, 0.28571430, -0.35714287, -1.14285719]),
    ):
        got = LinearQuanter(2.0, bit_length=bits)(paddle.to_tensor(W))
        assert got.flatten()[:5].tolist() == whole
        compare(LinearDequanter(2.0, bit_length=bits)(got).flatten()[:5], back)
    with pytest.raises(NotImplementedError, match="zero points"):
        LinearQuanter(2.0, 3.0)


def test_configurations_by_name_layer_type_and_leaf():
    fake = Fake()
    model = nn.Sequential(
        nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.ReLU()), nn.Linear(2, 2), nn.Conv2D(1, 1, 1)
    )
    config = Q.QuantConfig(None, None)
    config.add_type_config([nn.Linear], weight=fake)
    config.add_name_config([model[2].full_name()], activation=fake)
    config.add_layer_config([model[1]], activation=fake, weight=fake)
    made = Q.QAT(config).quantize(model)
    assert type(made[0]).__name__ == "QuantedLinear" and made[0].activation_quanter is None
    assert made[2].weight_quanter is None and made[2].activation_quanter is not None
    assert type(made[1][1]).__name__ == "ObserveWrapper" and type(made[3]) is nn.Conv2D
    assert "weight: FakeQuanterWithAbsMaxObserver(name=None" in str(config._type2config[nn.Linear])

    class Mine(nn.Layer):
        def __init__(self, layer, q_config):
            super().__init__()
            self.inner, self.quanter = layer, q_config.activation._instance(layer)

        def forward(self, x):
            return self.inner(self.quanter(x))

    config = Q.QuantConfig(fake, fake)
    config.add_qat_layer_mapping(nn.Conv2D, Mine)
    config.add_customized_leaf(nn.Sequential)
    made = Q.QAT(config).quantize(model)
    assert type(made[3]) is Mine and type(made[1]).__name__ == "ObserveWrapper"
    with pytest.raises(AssertionError):
        config.add_qat_layer_mapping(nn.Conv2D, int)
    with pytest.raises(AssertionError, match="training mode"):
        Q.QAT(config).quantize(net().eval())
    with pytest.raises(AssertionError, match="evaluation mode"):
        Q.PTQ(config).quantize(net())


def test_quanters_of_ones_own():
    @Q.quanter("HalfFactory")
    class Half(Q.BaseQuanter):
        def __init__(self, layer, by=2.0):
            super().__init__()
            self.by = by

        def forward(self, input):
            return input / self.by

        def scales(self):
            return None

        zero_points = quant_axis = bit_length = scales

    factory = globals().pop("HalfFactory")
    assert repr(factory(4.0)) == "HalfFactory(4.0)"
    made = Q.QAT(Q.QuantConfig(activation=factory(by=4.0), weight=None)).quantize(nn.Sequential(nn.Flatten()))
    compare(made(paddle.ones([1, 2])), [[0.25, 0.25]])


@pytest.mark.parametrize(
    "factory, want",
    [
        # algorithms of the official static quantisation on the same two batches
        (O.AVGObserver, 2.7115467),
        (O.MSEObserver, 2.5019299),
        (O.EMDObserver, 2.5019299),
        (O.AbsmaxObserver, 5.5451856),
    ],
)
def test_observers_agree_with_the_official_algorithms(factory, want):
    data = np.random.RandomState(0).randn(64, 8).astype("float32")
    observer = factory()._instance(nn.ReLU())
    assert observer.scales() is None
    for batch in (data[:32], data[32:] * 2):
        assert observer(paddle.to_tensor(batch)).numpy() is not None
    compare(np.float32(observer.scales()), want, rtol=1e-6)
    assert observer.bit_length() == 8 and observer.quant_axis() == -1


def test_observers_by_histogram_and_channel():
    data = np.random.RandomState(3).randn(4000).astype("float32")
    data[0] = 40.0  # an outlier
    cut = {}
    for factory in (O.HistObserver(percent=0.999), O.KLObserver(), O.AbsmaxObserver()):
        observer = factory._instance(None)
        for part in np.split(data, 4):
            observer(paddle.to_tensor(part[::-1].copy()))
        cut[type(observer).__name__] = float(observer.scales())
    assert abs(cut["HistObserverLayer"] - np.quantile(np.abs(data), 0.999)) < 0.05
    assert cut["KLObserverLayer"] <= cut["AbsmaxObserverLayer"] == 40.0
    weight = paddle.to_tensor(W)
    for factory in (O.AbsMaxChannelWiseWeightObserver(), O.MSEChannelWiseWeightObserver(quant_bits=3)):
        observer = factory._instance(nn.Linear(4, 3))
        observer(weight)
        assert observer.quant_axis() == 1 and np.shape(observer.scales()) == (3,)
    assert (observer.scales() <= np.abs(W).max(0) + 1e-6).all()

    def error(scale):
        step = scale / 3
        return ((W - np.clip(np.round(W / step), -4, 3) * step) ** 2).sum()

    assert error(observer.scales()) <= error(np.abs(W).max(0))


def test_observers_cannot_be_saved_before_they_are_converted(tmp_path):
    ptq = Q.PTQ(Q.QuantConfig(O.AVGObserver(), O.AbsmaxObserver()))
    watched = ptq.quantize(nn.Sequential(nn.Linear(2, 2)).eval())
    with pytest.raises(RuntimeError, match="convert"):
        paddle.jit.save(watched, str(tmp_path / "x"), [InputSpec([1, 2])])
    with pytest.raises(ValueError, match="no scales"):
        watched[0].weight_quanter(paddle.ones([2, 2]))
        ptq.convert(watched)


def test_mistakes_are_told():
    with pytest.raises(TypeError, match="activation"):
        Q.QuantConfig(activation="int8", weight=None)
    observer = O.HistObserver()._instance(None)
    with pytest.raises(ValueError, match="NaN"):
        observer(paddle.to_tensor([1.0, float("nan")]))
    with pytest.raises(ValueError, match="from 2 to 16"):
        Fake(bit_length=1)._instance(None)(paddle.ones([2]))
    with pytest.raises(ValueError, match="64 or 128"):
        GroupWiseWeightObserverLayer(None, 8, 32)
    with pytest.raises(ValueError, match="axis"):
        LinearQuanter([1.0, 2.0, 3.0], None, 0)(paddle.ones([2, 3]))
    with pytest.raises(ValueError, match="bits"):
        LinearQuanter(1.0, bit_length=33)
    empty = O.AbsmaxObserver()._instance(None)
    empty(paddle.zeros([0, 3]))
    compare(empty.scales(), 0.0)
    assert LinearQuanter(1.0).integers(paddle.zeros([0, 3])).shape == [0, 3]
