"""Networks for `infer.py`, in Paddle and in PyTorch; a function gives a step that runs one batch."""

from __future__ import annotations

import os
import tempfile

import networks
from networks import Names
from networks import data as _data


def _paddle(build, batch):
    def make(paddle):
        paddle.seed(0)
        net, shape = build(Names(paddle, False))
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
        net, shape = build(Names(torch, True))
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
        net, shape = build(Names(torch, True))
        net.eval()
        path = os.path.join(tempfile.mkdtemp(), "model.onnx")
        x = _data(batch, *shape)
        torch.onnx.export(net, (torch.from_numpy(x),), path, input_names=["x"], dynamo=False)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return lambda: session.run(None, {"x": x})[0]

    return make


for _name, _build, _batches in (
    ("mlp", networks.mlp, (1, 64)),
    ("lenet", networks.lenet, (1, 64)),
    ("resnet", networks.resnet, (1, 8)),
    ("mobile", networks.mobile, (1,)),
    ("encoder", networks.encoder, (1, 8)),
    ("lstm", networks.tagger, (8,)),
):
    for _batch in _batches:
        for _kind, _maker in (("paddle", _paddle), ("torch", _torch), ("onnx", _onnx)):
            globals()[f"{_kind}_{_name}_{_batch}"] = _maker(_build, _batch)
