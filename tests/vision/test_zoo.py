"""The library of networks: published numbers of parameters, one small network of each kind, names, weights."""

import json

import numpy as np
import pytest
from vision import zoo_networks as networks

import paddle
from paddle.vision import create_model, list_models

from _check import sampled

TABLE = json.loads(networks.TABLE.read_text())
SIZED = [n for n in TABLE["published"] if n not in ("efficientnet_l2", "vit_huge_patch14_224")][::5]


@pytest.mark.parametrize("name", sorted({*SIZED, *networks.NETWORKS} & set(TABLE["published"])))
def test_number_of_parameters_is_the_published_one(name):
    assert networks.count(paddle, name) == TABLE["published"][name]


@pytest.mark.parametrize("name", sampled(networks.NETWORKS))
def test_results_are_those_recorded(name):
    got, want = networks.run(paddle, name), TABLE["results"][name]
    assert got[0] == want[0] == [2, 5]
    assert np.allclose(got[1:], want[1:], rtol=1e-3, atol=1e-3 * want[1])


def test_names():
    names = list_models()
    assert len(names) >= 600 and names == sorted(names) and set(TABLE["published"]) <= set(names)
    assert list_models("dla60*") == ["dla60", "dla60x", "dla60x_c"]
    assert set(list_models("levit")) == {n for n in names if n.startswith("levit")}
    assert list_models("nothing*") == []
    with pytest.raises(ValueError, match="no network 'resnet19'; near: .*resnet18"):
        create_model("resnet19")
    with pytest.raises(ValueError, match="no network 5"):
        create_model(5)


def test_a_name_may_be_written_as_elsewhere():
    with paddle.LazyGuard():
        shapes = [
            [p.shape for p in create_model(name, num_classes=3).parameters()]
            for name in ("ResNet18_vd", "resnet18-vd", "resnet18_vd")
        ]
    assert shapes[0] == shapes[1] == shapes[2] and shapes[0][-1] == [3]


def test_without_classes_the_features_come_out():
    net = create_model("pplcnet_x0_25", num_classes=0)
    assert net(paddle.rand([2, 3, 32, 32])).shape == [2, 1280]


def test_weights_from_the_cache_and_from_a_path(tmp_path, monkeypatch):
    monkeypatch.setenv("PADDLE_HOME", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"hapi/weights/pplcnet_x0_25\.pdparams"):
        create_model("PPLCNet_x0_25", pretrained=True)
    path = tmp_path / "hapi/weights/pplcnet_x0_25.pdparams"
    path.parent.mkdir(parents=True)
    net = create_model("pplcnet_x0_25", num_classes=3)
    paddle.save(net.state_dict(), str(path))
    for pretrained in (True, str(path)):
        loaded = create_model("pplcnet_x0_25", num_classes=3, pretrained=pretrained).state_dict()
        assert all(np.array_equal(loaded[k].numpy(), v.numpy()) for k, v in net.state_dict().items())
    with pytest.raises(FileNotFoundError, match="there is no file"):
        create_model("pplcnet_x0_25", pretrained=str(tmp_path / "absent"))


def test_hub():
    folder = paddle.vision.zoo.__path__[0]
    assert set(paddle.hub.list(folder, source="local")) == set(list_models())
    net = paddle.hub.load(folder, "pplcnet_x0_25", source="local", num_classes=4)
    assert net.fc.weight.shape == [1280, 4]


def test_windows_that_do_not_fill_the_picture_are_an_error():
    with pytest.raises(ValueError, match="img_size, 60"):
        create_model("swin_tiny_patch4_window7_224", img_size=60)
