"""Networks of `paddle.vision` through ONNX Runtime: which export, how far the results are from ours, of what nodes they are.

PYTHONPATH=. python tests/_onnx_zoo.py [NAME ...] [--opset N] [--markdown]
"""

import argparse
import collections
import time
import warnings

import numpy as np
import onnxruntime

import paddle
from paddle import nn
from paddle.jit.saving import program_of
from paddle.onnx.convert import to_onnx
from paddle.static import InputSpec
from paddle.vision import create_model

# network: length of the pictures' sides
NETWORKS = {
    "alexnet": 224, "vgg11_bn": 64, "resnet18": 64, "resnet50": 64, "resnext50_32x4d": 64, "wide_resnet50_2": 64,
    "mobilenet_v1": 64, "mobilenet_v2": 64, "mobilenet_v3_small": 64, "mobilenet_v3_large": 64, "mobilenetv4_conv_small": 64,
    "shufflenet_v2_x0_25": 64, "squeezenet1_1": 96, "googlenet": 224, "densenet121": 64, "inception_v3": 128,
    "ghostnet_x0_5": 64, "efficientnet_b0": 64, "efficientnetv2_b0": 64, "mnasnet_075": 64, "semnasnet_100": 64,
    "mixer_s16_224": 224, "deit_tiny_patch16_224": 224, "deit3_small_patch16_224": 224, "vit_tiny_patch16_224": 224,
    "swin_tiny_patch4_window7_224": 224, "swin_transformer_v2_tiny_patch4_window8_256": 256, "convnext_pico": 64,
    "convnextv2_atto": 64, "regnetx_002": 64, "regnety_004": 64, "res2net50_vd_26w_4s": 64,
    "resnest50_fast_4s2x40d": 64, "hrnet_w18_small_v2": 64, "se_resnet18_vd": 64, "xception41": 96,
    "poolformer_s12": 64, "mobilevit_xxs": 64, "mobilevitv2_x0_5": 64, "pvt_tiny": 224, "uniformer_small": 224,
    "fasternet_t0": 64, "repvgg_a0": 64, "repghostnet_050": 64, "dla34": 64, "tinynet_e": 64, "pplcnet_x0_25": 64,
    "pphgnet_tiny": 64, "pphgnetv2_b0": 64, "cait_xxs24_224": 224, "xcit_nano_12_p16_224": 224, "focalnet_tiny_srf": 224,
    "caformer_s18": 64, "convformer_s18": 64, "cvt_13_224": 224, "nextvit_small_224": 224, "rednet26": 64,
    "esnet_x0_25": 64, "ese_vovnet19b_dw": 64, "levit_128s": 224, "gmlp_s16_224": 224, "beit_base_patch16_224": 224,
    "cswin_transformer_tiny_224": 224, "dsnet_tiny": 224,
}  # fmt: skip
GROWING = {"rednet26"}  # whose layers multiply activations by each other
TOLERANCE = 1e-3  # of the largest element of a result


class Row:
    """What became of one network.

    Attributes:
        nodes: how many nodes of each kind.
        gap: the largest difference to our result, by its largest element.
        why: an error, "" when all is well.
    """

    def __init__(self, name, nodes, gap, why, seconds):
        self.name, self.nodes, self.gap, self.why, self.seconds = name, nodes, gap, why, seconds

    @property
    def fine(self):
        return not self.why and self.gap <= TOLERANCE


def settle(layer, x):
    """Give batch normalisation the statistics of x: without, products of activations may grow beyond all bounds."""
    norms = [each for each in layer.sublayers() if isinstance(each, nn.BatchNorm2D)]
    before = [norm._momentum for norm in norms]
    for norm in norms:
        norm._momentum = 0.0
    layer.train()
    with paddle.no_grad():
        layer(x)
    layer.eval()
    for norm, momentum in zip(norms, before):
        norm._momentum = momentum


def check(name, size, opset=17, batch=2):
    """Export one network with an open batch, and run it."""
    start = time.perf_counter()
    paddle.seed(0)
    layer = create_model(name, num_classes=5)
    layer.eval()
    rng = np.random.default_rng(0)
    for _, parameter in layer.named_parameters():  # what starts with zeros or ones would hide mistakes
        if parameter.ndim == 1:
            parameter.set_value(np.asarray(parameter) + rng.normal(0, 0.02, parameter.shape).astype("float32"))
    x = rng.standard_normal((batch, 3, size, size)).astype("float32")
    try:
        if name in GROWING:
            settle(layer, paddle.to_tensor(x))
        model = to_onnx(*program_of("zoo", layer, [InputSpec([None, 3, size, size], "float32", "image")]), opset)
        nodes = collections.Counter(n.op_type for n in model.graph.node)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        gap = 0.0
        wanted = paddle.jit.to_static(layer)(paddle.to_tensor(x))
        wanted = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        for rows in (batch, 1):  # the batch is open
            for have, want in zip(session.run(None, {"image": x[:rows]}), wanted):
                want = np.asarray(want)[:rows]
                assert np.isfinite(want).all(), "the results are not finite"
                gap = max(gap, float(np.abs(have - want).max() / max(np.abs(want).max(), 1e-6)))
        return Row(name, nodes, gap, "", time.perf_counter() - start)
    except Exception as e:
        return Row(name, {}, float("nan"), f"{type(e).__name__}: {str(e)[:600]}", time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--opset", type=int, default=17)
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in given.names or NETWORKS:
        row = check(name, NETWORKS.get(name, 224), given.opset)
        rows.append(row)
        total, kinds = sum(row.nodes.values()), len(row.nodes)
        if given.markdown:
            print(f"| {name} | {'yes' if row.fine else 'no'} | {row.gap:.1e} | {total} | {kinds} |", flush=True)
        else:
            print(
                f"{name:<46} {'ok' if row.fine else 'NO':<3} {row.gap:.1e} {total:>5} nodes {row.seconds:5.1f} s {row.why}",
                flush=True,
            )
    print(f"{sum(r.fine for r in rows)} of {len(rows)} agree within {TOLERANCE:g} of the largest element")


if __name__ == "__main__":
    main()
