import numpy as np
import pytest

import paddle
from paddle import nn

NET = lambda: nn.Sequential(nn.Conv2D(3, 4, 3), nn.BatchNorm2D(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10))

# Of the official package, without the numbers of the layers.
TABLE = """\
---------------------------------------------------------------------------
 Layer (type)       Input Shape          Output Shape         Param #    
===========================================================================
   Conv2D-N        [[1, 3, 8, 8]]        [1, 4, 6, 6]           112      
 BatchNorm2D-N     [[1, 4, 6, 6]]        [1, 4, 6, 6]           16       
    ReLU-N         [[1, 4, 6, 6]]        [1, 4, 6, 6]            0       
   Flatten-N       [[1, 4, 6, 6]]          [1, 144]              0       
   Linear-N          [[1, 144]]            [1, 10]             1,450     
===========================================================================
Total params: 1,578
Trainable params: 1,570
Non-trainable params: 8
---------------------------------------------------------------------------
Input size (MB): 0.00
Forward/backward pass size (MB): 0.00
Params size (MB): 0.01
Estimated Total Size (MB): 0.01
---------------------------------------------------------------------------

"""  # noqa: W291


@pytest.fixture(autouse=True)
def fresh_names():
    with paddle.utils.unique_name.guard():
        yield


def test_table(capsys):
    assert paddle.summary(NET(), (1, 3, 8, 8)) == {"total_params": 1578, "trainable_params": 1570}
    assert capsys.readouterr().out == TABLE.replace("-N", "-1")


@pytest.mark.parametrize(
    "size", [(-1, 3, 8, 8), (None, 3, 8, 8), [1, 3, 8, 8], [(1, 3, 8, 8)], paddle.static.InputSpec([None, 3, 8, 8])]
)
def test_ways_to_give_the_size(size):
    assert paddle.summary(NET(), size)["total_params"] == 1578


def test_shapes_of_structures(capsys):
    class Words(nn.Layer):
        def __init__(self):
            super().__init__()
            self.e, self.l, self.f = nn.Embedding(10, 4), nn.LSTM(4, 5), nn.Linear(5, 2)

        def forward(self, x):
            return self.f(self.l(self.e(x))[0])

    assert paddle.summary(Words(), (2, 3), dtypes="int64") == {"total_params": 272, "trainable_params": 272}
    out = capsys.readouterr().out.splitlines()
    # official lines
    assert out[0] == "-" * 90 and out[1] == (
        " Layer (type)       Input Shape                 Output Shape                 Param #    "
    )
    assert out[4] == "    LSTM-1          [[2, 3, 4]]      [[2, 3, 5], [[1, 2, 5], [1, 2, 5]]]       220      "


def test_frozen_shared_and_own_parameters(capsys):
    net = NET()
    for p in net[0].parameters():
        p.stop_gradient = True
    assert paddle.summary(net, (1, 3, 8, 8)) == {"total_params": 1578, "trainable_params": 1458}

    class Own(nn.Layer):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(4, 4)
            self.again = self.a
            self.w = self.create_parameter([4, 4])

        def forward(self, x, y=None):
            return self.again(self.a(x) @ self.w)

    # the layer's own parameter counts as well (officially that of the outermost layer does not)
    assert paddle.summary(Own(), (2, 4))["total_params"] == 20 + 16
    assert paddle.summary(Own(), [(2, 4), (2, 4)])["total_params"] == 36
    assert paddle.summary(Own(), input=paddle.ones([2, 4]))["total_params"] == 36


def test_nothing_changes():
    net = NET()
    net[1].eval()
    state = paddle.get_rng_state()[0]
    before = {k: v.numpy() for k, v in net.state_dict().items()}
    paddle.summary(net, (1, 3, 8, 8))
    paddle.flops(net, [1, 3, 8, 8])
    assert net.training and not net[1].training and net[0].training
    assert all(np.array_equal(before[k], v.numpy()) for k, v in net.state_dict().items())
    assert str(paddle.get_rng_state()[0]) == str(state)
    assert not net[0]._forward_post_hooks
    with pytest.raises(ValueError):
        paddle.summary(net, (1, 5, 8, 8))
    assert net.training and not net[0]._forward_post_hooks


def test_wrong_arguments():
    for call, error in (
        (lambda: paddle.summary(NET()), ValueError),
        (lambda: paddle.summary(NET(), (0, 3, 8, 8)), ValueError),
        (lambda: paddle.summary(NET(), (-2, 3, 8, 8)), ValueError),
        (lambda: paddle.summary(NET(), (1.0, 3, 8, 8)), TypeError),
        (lambda: paddle.summary(NET(), ("a", 3)), TypeError),
        (lambda: paddle.summary(NET(), "a"), TypeError),
        (lambda: paddle.summary(3, (1, 2)), TypeError),
        (lambda: paddle.summary(NET(), (1, 3, 8, 8), ["float32", "float32"]), ValueError),
    ):
        with pytest.raises(error):
            call()


def test_flops_table(capsys):
    assert paddle.flops(NET(), [1, 3, 8, 8], print_detail=True) == 5760
    out = capsys.readouterr().out.splitlines()
    assert out[0].endswith("Conv2D'>'s flops has been counted")
    assert out[3].startswith("Cannot find suitable count function for <class") and out[3].endswith("as zero FLOPs.")
    # official lines
    assert out[5:] == [
        "+----------------+--------------+--------------+--------+-------+",
        "|   Layer Name   | Input Shape  | Output Shape | Params | Flops |",
        "+----------------+--------------+--------------+--------+-------+",
        "|    conv2d_0    | [1, 3, 8, 8] | [1, 4, 6, 6] |  112   |  4032 |",
        "| batch_norm2d_0 | [1, 4, 6, 6] | [1, 4, 6, 6] |   16   |  288  |",
        "|    re_lu_0     | [1, 4, 6, 6] | [1, 4, 6, 6] |   0    |   0   |",
        "|   flatten_0    | [1, 4, 6, 6] |   [1, 144]   |   0    |   0   |",
        "|    linear_0    |   [1, 144]   |   [1, 10]    |  1450  |  1440 |",
        "+----------------+--------------+--------------+--------+-------+",
        "Total Flops: 5760     Total Params: 1578",
    ]


@pytest.mark.parametrize(
    "layer, shape, count",  # of the official package
    [
        (lambda: nn.Conv1D(3, 4, 3), [1, 3, 9], 280),
        (lambda: nn.Conv2D(4, 8, 3, groups=2, padding=1), [2, 4, 6, 6], 10944),
        (lambda: nn.Conv2D(4, 8, 3, bias_attr=False), [2, 4, 6, 6], 9216),
        (lambda: nn.Conv3D(2, 3, 2), [1, 2, 4, 4, 4], 1377),
        (lambda: nn.Conv1DTranspose(3, 4, 3), [1, 3, 9], 440),
        (lambda: nn.Conv2DTranspose(4, 8, 3), [2, 4, 6, 6], 37888),
        (lambda: nn.Conv2DTranspose(4, 8, 3, groups=2, stride=2), [2, 4, 6, 6], 51376),
        (lambda: nn.BatchNorm2D(4), [2, 4, 5, 5], 400),
        (lambda: nn.BatchNorm1D(4), [2, 4, 5], 0),
        (lambda: nn.LeakyReLU(), [2, 4], 8),
        (lambda: nn.Linear(4, 5), [2, 4], 40),
        (lambda: nn.Linear(4, 5, bias_attr=False), [2, 3, 4], 120),
        (lambda: nn.AvgPool2D(2), [2, 4, 6, 6], 72),
        (lambda: nn.AdaptiveAvgPool1D(2), [2, 4, 6], 64),
        (lambda: nn.AdaptiveAvgPool2D((None, 3)), [2, 4, 6, 6], 432),
        (lambda: nn.AdaptiveAvgPool3D(2), [2, 4, 6, 6, 6], 1792),
        (lambda: nn.MaxPool2D(2), [2, 4, 6, 6], 0),
        (lambda: nn.GELU(), [2, 4], 0),
    ],
)
def test_flops_of_layers(layer, shape, count):
    assert paddle.flops(nn.Sequential(layer()), shape) == count


def test_flops_of_other_things(capsys):
    def seven(layer, x, y):
        layer.total_ops += 7

    assert paddle.flops(NET(), [1, 3, 8, 8], {nn.Linear: seven}) == 5760 - 1440 + 7
    assert "Customize Function has been applied to" in capsys.readouterr().out
    assert paddle.flops(paddle.vision.models.LeNet(), [1, 1, 28, 28]) == 347560  # official
    assert paddle.flops(nn.Linear(3, 4), [2, 3]) == 24  # officially 0
    with pytest.warns(UserWarning, match="must be an instance"):
        assert paddle.flops(3, [1, 3]) == -1
