"""Convolutional networks of the library against PaddleClas: keys and shapes of the weights, results from equal
weights."""

import json

import pytest
from vision import zoo_paddleclas as ppcls

import paddle
from paddle.vision import create_model, list_models

from _check import sampled

TABLE = json.loads(ppcls.TABLE.read_text())
SMALL = "FasterNet_T0 GhostNet_x0_5 PPLCNetV2_small ResNet18_vd StarNet_S1".split()


@pytest.mark.parametrize("name", sorted({*ppcls.CONVOLUTIONS, *[n for n in TABLE if n not in ppcls.ATTENTION][::8]}))
def test_keys_and_shapes_are_those_of_paddleclas(name):
    assert ppcls.structure(ppcls.ours(paddle, name)) == TABLE[name]["structure"]


@pytest.mark.parametrize("name", sampled(SMALL))
def test_results_are_those_of_paddleclas(name):
    net, size = ppcls.small(paddle, name)
    assert ppcls.gap(name, ppcls.run(paddle, net, name, size), TABLE[name]["output"]) < 1e-3


def test_weights_of_paddleclas_load(tmp_path):
    path = tmp_path / "PPLCNet_x0_25.pdparams"
    weights = create_model("PPLCNet_x0_25").state_dict()
    assert list(weights)[:2] == ["conv1.conv.weight", "conv1.bn.weight"]
    paddle.save({k: v + 1 for k, v in weights.items()}, str(path))
    loaded = create_model("PPLCNet_x0_25", pretrained=str(path)).state_dict()
    assert all(bool((loaded[k] == v + 1).all()) for k, v in weights.items())


def test_names():
    names = list_models()
    assert len(names) >= 500
    with paddle.LazyGuard():
        shapes = [[p.shape for p in create_model(n).parameters()] for n in ("RegNetX_200MF", "regnetx_002")]
    assert shapes[0] == shapes[1]
    assert {"xception41", "inception_v4", "dpn68", "resnest50", "darknet53", "tinynet_a", "vovnet39a"} <= set(names)


@pytest.mark.parametrize(
    "name", ["xception41_deeplab", "rexnet_1_0", "dla34", "hardnet39_ds", "micronet_m0", "mobileone_s0"]
)
def test_without_classes_the_features_come_out(name):
    with paddle.LazyGuard():
        net, whole = create_model(name, num_classes=0), create_model(name, num_classes=5)
    assert len(net.state_dict()) < len(whole.state_dict())
