"""The networks of paddle.vision.models against the official package (see official_models.py), weights, options, errors."""

import json

import numpy as np
import pytest
from vision import official_models as official

import paddle
from paddle.vision import models

TABLE = json.loads(official.TABLE.read_text())
RUN = ["LeNet", "resnet18", "mobilenet_v1 scale", "squeezenet1_1 without pool", "shufflenet_v2_x0_25"]


@pytest.mark.parametrize("name", official.NETWORKS)
def test_keys_shapes_and_order_are_the_official_ones(name):
    assert official.structure(paddle, name) == TABLE[name]["structure"]


@pytest.mark.parametrize("name", RUN)
def test_results_are_the_official_ones(name):
    assert official.close(official.outputs(paddle, name), TABLE[name]["outputs"]) < 1e-4


def test_weights_come_from_the_cache_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    net = models.squeezenet1_1(num_classes=3)
    (tmp_path / "hapi/weights").mkdir(parents=True)
    paddle.save(net.state_dict(), str(tmp_path / "hapi/weights/SqueezeNet1_1_pretrained.pdparams"))
    with pytest.warns(UserWarning, match="not the published file"):
        loaded = models.squeezenet1_1(pretrained=True, num_classes=3)
    for key, value in net.state_dict().items():
        assert np.array_equal(loaded.state_dict()[key].numpy(), value.numpy())


def test_weights_that_nobody_has_are_an_error_that_names_the_file(tmp_path, monkeypatch):
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    monkeypatch.setattr("urllib.request.urlopen", lambda *a, **k: (_ for _ in ()).throw(OSError("no network")))
    with pytest.raises(RuntimeError, match=r"put it there as .*hapi/weights/shufflenet_v2_x0_25\.pdparams"):
        models.shufflenet_v2_x0_25(pretrained=True)
    with paddle.LazyGuard(), pytest.raises(RuntimeError, match=r"Put your own there as .*mobilenetv2_0\.3\.pdparams"):
        models.mobilenet_v2(pretrained=True, scale=0.3)


def test_unknown_variants_are_errors():
    with pytest.raises(AssertionError, match="layers must be one of"):
        models.DenseNet(layers=99)
    with pytest.raises(AssertionError, match="version must be one of"):
        models.SqueezeNet("9.9")
    with pytest.raises(NotImplementedError, match="scale must be one of"):
        models.ShuffleNetV2(scale=3.3)
    with pytest.raises(RuntimeError, match="act must be one of"):
        models.ShuffleNetV2(act="tanh")
    with pytest.raises(ValueError, match="depth must be one of"):
        models.ResNet(models.resnet.BottleneckBlock, 77)


def test_intermediate_results_of_a_network():
    from paddle.vision.models._utils import IntermediateLayerGetter

    net = models.resnet18(num_classes=4)
    net.eval()
    x = paddle.rand([1, 3, 32, 32])
    found = IntermediateLayerGetter(net, {"maxpool": "low", "layer1": "high"})(x)
    assert {k: v.shape for k, v in found.items()} == {"low": [1, 64, 8, 8], "high": [1, 64, 8, 8]}
    want = net.layer1(net.maxpool(net.relu(net.bn1(net.conv1(x)))))
    assert np.allclose(found["high"].numpy(), want.numpy(), atol=1e-5)
    with pytest.raises(ValueError, match="the model has no"):
        IntermediateLayerGetter(net, {"layer9": "x"})


def test_a_bottleneck_keeps_its_size_with_dilation():
    block = models.resnet.BottleneckBlock(8, 2, dilation=2)
    assert block(paddle.rand([1, 8, 6, 6])).shape == [1, 8, 6, 6] and block.conv2._dilation == [2, 2]
    with pytest.raises(NotImplementedError, match="dilation"):
        models.resnet.BasicBlock(8, 8, dilation=2)
