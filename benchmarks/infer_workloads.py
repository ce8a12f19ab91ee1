"""Networks for `infer.py`, in Paddle and in PyTorch; a function gives a step that runs one batch."""

from __future__ import annotations

import os
import tempfile

import numpy as np


def _data(*shape):
    return np.random.RandomState(0).randn(*shape).astype("float32")


class _Names:
    """The same layers under the names of both libraries."""

    def __init__(self, library, torch: bool):
        nn = library.nn
        self.nn, self.torch, self.library = nn, torch, library
        self.conv = nn.Conv2d if torch else nn.Conv2D
        self.norm = nn.BatchNorm2d if torch else nn.BatchNorm2D
        self.max_pool = nn.MaxPool2d if torch else nn.MaxPool2D
        self.mean_pool = nn.AdaptiveAvgPool2d if torch else nn.AdaptiveAvgPool2D
        self.module = nn.Module if torch else nn.Layer

    def conv_norm(self, i, o, k, stride=1, groups=1, act=True):
        bias = {"bias": False} if self.torch else {"bias_attr": False}
        layers = [self.conv(i, o, k, stride=stride, padding=k // 2, groups=groups, **bias), self.norm(o)]
        return self.nn.Sequential(*layers, *([self.nn.ReLU()] if act else []))


def _mlp(n):
    nn = n.nn
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)), (784,)


def _lenet(n):
    nn = n.nn
    return nn.Sequential(
        n.conv(1, 6, 3, padding=1), nn.ReLU(), n.max_pool(2, 2), n.conv(6, 16, 5), nn.ReLU(), n.max_pool(2, 2),
        nn.Flatten(), nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10),
    ), (1, 28, 28)  # fmt: skip


def _residual(n, body, shortcut):
    class Residual(n.module):
        def __init__(self):
            super().__init__()
            self.body, self.shortcut, self.relu = body, shortcut, n.nn.ReLU()

        def forward(self, x):
            return self.relu(self.body(x) + (x if self.shortcut is None else self.shortcut(x)))

    return Residual()


def _resnet(n):
    """The layers of ResNet-18 (He et al., 2016)."""
    layers = [n.conv_norm(3, 64, 7, 2), n.max_pool(3, 2, padding=1)]
    width = 64
    for i, out in enumerate((64, 128, 256, 512)):
        for j in range(2):
            stride = 2 if i and not j else 1
            body = n.nn.Sequential(n.conv_norm(width, out, 3, stride), n.conv_norm(out, out, 3, act=False))
            shortcut = n.conv_norm(width, out, 1, stride, act=False) if stride > 1 else None
            layers.append(_residual(n, body, shortcut))
            width = out
    return n.nn.Sequential(*layers, n.mean_pool(1), n.nn.Flatten(), n.nn.Linear(512, 1000)), (3, 224, 224)


def _mobile(n):
    """Depthwise separable blocks as in MobileNet (Howard et al., 2017)."""
    layers = [n.conv_norm(3, 32, 3, 2)]
    width = 32
    for out, stride in (
        (64, 1),
        (128, 2),
        (128, 1),
        (256, 2),
        (256, 1),
        (512, 2),
        *[(512, 1)] * 5,
        (1024, 2),
        (1024, 1),
    ):
        layers += [n.conv_norm(width, width, 3, stride, groups=width), n.conv_norm(width, out, 1)]
        width = out
    return n.nn.Sequential(*layers, n.mean_pool(1), n.nn.Flatten(), n.nn.Linear(1024, 1000)), (3, 224, 224)


def _encoder(n):
    nn = n.nn
    if n.torch:
        layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True)
        return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), (128, 256)
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 8, 1024), 4), (128, 256)


def _lstm(n):
    class Tagger(n.module):
        def __init__(self):
            super().__init__()
            more = {"bidirectional": True, "batch_first": True} if n.torch else {"direction": "bidirect"}
            self.lstm, self.out = n.nn.LSTM(64, 128, num_layers=2, **more), n.nn.Linear(256, 20)

        def forward(self, x):
            return self.out(self.lstm(x)[0])

    return Tagger(), (50, 64)


def _paddle(build, batch):
    def make(paddle):
        paddle.seed(0)
        net, shape = build(_Names(paddle, False))
        net.eval()
        path = os.path.join(tempfile.mkdtemp(), "model")
        paddle.jit.save(net, path, input_spec=[paddle.static.InputSpec([None, *shape], "float32", "x")])
        model = path + (".pdmodel" if os.path.exists(path + ".pdmodel") else ".json")
        config = paddle.inference.Config(model, path + ".pdiparams")
        config.disable_glog_info()
        config.set_cpu_math_library_num_threads(os.cpu_count())
        config.switch_ir_optim(True)
        config.enable_mkldnn()
        predictor = paddle.inference.create_predictor(config)
        x = _data(batch, *shape)
        inputs = predictor.get_input_handle(predictor.get_input_names()[0])
        outputs = predictor.get_output_handle(predictor.get_output_names()[0])

        def step():
            inputs.reshape(x.shape)
            inputs.copy_from_cpu(x)
            predictor.run()
            return outputs.copy_to_cpu()

        return step

    return make


def _torch(build, batch):
    def make(torch):
        torch.manual_seed(0)
        net, shape = build(_Names(torch, True))
        net.eval()
        x = _data(batch, *shape)

        def step():
            with torch.inference_mode():
                return net(torch.from_numpy(x)).numpy()

        return step

    return make


def _onnx(build, batch):
    def make(torch):
        import onnxruntime

        torch.manual_seed(0)
        net, shape = build(_Names(torch, True))
        net.eval()
        path = os.path.join(tempfile.mkdtemp(), "model.onnx")
        x = _data(batch, *shape)
        torch.onnx.export(net, (torch.from_numpy(x),), path, input_names=["x"], dynamo=False)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return lambda: session.run(None, {"x": x})[0]

    return make


for _name, _build, _batches in (
    ("mlp", _mlp, (1, 64)),
    ("lenet", _lenet, (1, 64)),
    ("resnet", _resnet, (1, 8)),
    ("mobile", _mobile, (1,)),
    ("encoder", _encoder, (1, 8)),
    ("lstm", _lstm, (8,)),
):
    for _batch in _batches:
        for _kind, _maker in (("paddle", _paddle), ("torch", _torch), ("onnx", _onnx)):
            globals()[f"{_kind}_{_name}_{_batch}"] = _maker(_build, _batch)
