"""Architectures of torchvision, timm, transformers and by hand through `convert_model`, as a table.

    python tests/torch_bridge/zoo_architectures.py [names ...]

Every model has random weights. Compared with PyTorch on the CPU, relative to the largest element: the results in eval mode at
another batch size than at the conversion, and the gradients of all parameters and the input (in float64 where those in
float32 differ, because an element lies beside a kink). Then one step of SGD in train mode.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
import warnings

import numpy as np
import torch
from torch import nn

import paddle
from paddle.torch_bridge import convert_model

PICTURE = (3, 64, 64)


# ---- by hand ----
class Tagger(nn.Module):
    """A bidirectional LSTM over embeddings, labels by token."""

    def __init__(self, kind=nn.LSTM):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.rnn = kind(16, 12, num_layers=2, bidirectional=True, batch_first=True, dropout=0.1)
        self.out = nn.Linear(24, 7)

    def forward(self, tokens):
        return self.out(self.rnn(self.embedding(tokens))[0])


class TextCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.convolutions = nn.ModuleList([nn.Conv1d(16, 8, k) for k in (2, 3, 4)])
        self.out = nn.Linear(24, 3)

    def forward(self, tokens):
        x = self.embedding(tokens).transpose(1, 2)
        return self.out(torch.cat([torch.relu(c(x)).max(dim=2)[0] for c in self.convolutions], 1))


def double(a, b):
    return nn.Sequential(
        nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
        nn.Conv2d(b, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
    )  # fmt: skip


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([double(3, 8), double(8, 16), double(16, 32)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(32, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)])
        self.merge = nn.ModuleList([double(32, 16), double(16, 8)])
        self.out = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(x if i == 0 else nn.functional.max_pool2d(x, 2))
            kept.append(x)
        for up, merge, skip in zip(self.up, self.merge, kept[-2::-1]):
            x = merge(torch.cat([skip, up(x)], 1))
        return self.out(x)


class DetectionHead(nn.Module):
    """Boxes of three scales decoded on their grids, as in YOLO."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.SiLU())
        self.heads = nn.ModuleList([nn.Conv2d(16, 3 * 9, 1) for _ in range(3)])

    def forward(self, x):
        found, x = [], self.stem(x)
        for head in self.heads:
            y = head(x)
            b, _, h, w = y.shape
            y = y.view(b, 3, 9, h, w).permute(0, 1, 3, 4, 2).contiguous()
            grid = torch.stack(torch.meshgrid(torch.arange(w), torch.arange(h), indexing="xy"), -1).to(y.dtype)
            xy = (y[..., :2].sigmoid() * 2 - 0.5 + grid) / w
            wh = (y[..., 2:4].sigmoid() * 2) ** 2
            found.append(torch.cat([xy, wh, y[..., 4:]], -1).view(b, -1, 9))
            x = nn.functional.max_pool2d(x, 2)
        return torch.cat(found, 1)


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(3, 8, 4, 2, 1), nn.PReLU(), nn.Conv2d(8, 16, 4, 2, 1), nn.Flatten())
        self.mean, self.spread, self.back = nn.Linear(4096, 8), nn.Linear(4096, 8), nn.Linear(8, 4096)
        self.decode = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 4, 2, 1),
            nn.InstanceNorm2d(8, affine=True),
            nn.ELU(),
            nn.ConvTranspose2d(8, 3, 4, 2, 1),
        )

    def forward(self, x):
        h = self.encode(x)
        mean, spread = self.mean(h), self.spread(h)
        z = mean + torch.exp(0.5 * spread) * (torch.randn_like(mean) if self.training else 0)
        return self.decode(self.back(z).view(-1, 16, 16, 16)).tanh()


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 16, 5, padding=2), nn.Conv2d(16, 12, 3, padding=1)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x):
        y = self.shuffle(self.second(torch.tanh(self.first(x))))
        return y + nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)


class TCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.utils.weight_norm(nn.Conv1d(8, 8, 3, dilation=2**i)) for i in range(3)])

    def forward(self, x):
        for i, block in enumerate(self.blocks):
            x = x + torch.relu(block(nn.functional.pad(x, (2 * 2**i, 0))))
        return x.mean(-1)


class WaveGate(nn.Module):
    def __init__(self):
        super().__init__()
        self.filter, self.gate, self.norm = (
            nn.Conv1d(8, 16, 3, padding=1),
            nn.Conv1d(8, 16, 3, padding=1),
            nn.GroupNorm(4, 16),
        )

    def forward(self, x):
        return self.norm(torch.tanh(self.filter(x)) * torch.sigmoid(self.gate(x))).transpose(1, 2)


class DLRM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(20, 8) for _ in range(4)])
        self.top = nn.Sequential(nn.Linear(8 + 10, 16), nn.ReLU(), nn.Linear(16, 1))
        self.bottom = nn.Sequential(nn.Linear(5, 8), nn.ReLU())

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        rows = torch.stack([x, *[t(sparse[:, i]) for i, t in enumerate(self.tables)]], 1)
        products = torch.bmm(rows, rows.transpose(1, 2))
        i, j = torch.tril_indices(5, 5, -1)
        return self.top(torch.cat([x, products[:, i, j]], 1)).squeeze(-1)


def tokens(length=12, high=50):
    return lambda n: (np.random.RandomState(1).randint(1, high, (n, length)).astype("int64"),)


def pictures(*shape):
    return lambda n: (np.random.RandomState(1).standard_normal((n, *shape)).astype("float32"),)


def dlrm_inputs(n):
    random = np.random.RandomState(1)
    return random.standard_normal((n, 5)).astype("float32"), random.randint(0, 20, (n, 4)).astype("int64")


def by_hand():
    layer = lambda: nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)  # noqa: E731
    return {
        "mlp": (
            lambda: nn.Sequential(nn.Linear(20, 32), nn.Softplus(), nn.LayerNorm(32), nn.Linear(32, 4)),
            pictures(20),
        ),
        "lstm_tagger": (Tagger, tokens()),
        "gru_tagger": (lambda: Tagger(nn.GRU), tokens()),
        "text_cnn": (TextCNN, tokens()),
        "unet": (UNet, pictures(3, 32, 32)),
        "yolo_head": (DetectionHead, pictures(*PICTURE)),
        "autoencoder": (Autoencoder, pictures(*PICTURE)),
        "super_resolution": (SuperResolution, pictures(3, 16, 16)),
        "tcn": (TCN, pictures(8, 20)),
        "wave_gate": (WaveGate, pictures(8, 20)),
        "dlrm": (DLRM, dlrm_inputs),
        "transformer_encoder": (lambda: nn.TransformerEncoder(layer(), 2, enable_nested_tensor=False), pictures(9, 16)),
    }


# ---- torchvision ----
def of_torchvision():
    from torchvision import models as m
    from torchvision.models import detection, segmentation
    from torchvision.models.detection.retinanet import RetinaNetHead
    from torchvision.models.detection.rpn import RPNHead
    from torchvision.ops import FeaturePyramidNetwork

    class Pyramid(nn.Module):
        def __init__(self, head):
            super().__init__()
            self.body = nn.ModuleList([nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 16, 3, 2, 1), nn.Conv2d(16, 32, 3, 2, 1)])
            self.fpn, self.head = FeaturePyramidNetwork([8, 16, 32], 16), head

        def forward(self, x):
            features = {}
            for i, layer in enumerate(self.body):
                x = torch.relu(layer(x))
                features[str(i)] = x
            return self.head(list(self.fpn(features).values()))

    names = (
        "alexnet vgg11_bn resnet18 resnet50 resnext50_32x4d wide_resnet50_2 densenet121 squeezenet1_1 mobilenet_v2 "
        "mobilenet_v3_small shufflenet_v2_x1_0 mnasnet0_5 efficientnet_b0 efficientnet_v2_s regnet_y_400mf regnet_x_400mf "
        "convnext_tiny swin_t swin_v2_t"
    ).split()
    found = {n: (lambda n=n: getattr(m, n)(weights=None), pictures(*PICTURE)) for n in names}
    found["googlenet"] = (lambda: m.googlenet(weights=None, init_weights=False), pictures(*PICTURE))
    found["inception_v3"] = (lambda: m.inception_v3(weights=None, init_weights=False), pictures(3, 96, 96))
    found["vit"] = (lambda: m.VisionTransformer(32, 8, 2, 4, 32, 64), pictures(3, 32, 32))
    nets = segmentation
    for n in ("fcn_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"):
        make = lambda n=n: getattr(nets, n)(weights=None, weights_backbone=None, num_classes=4)  # noqa: E731
        found[n] = (make, pictures(*PICTURE))
    found["retinanet_head"] = (lambda: Pyramid(RetinaNetHead(16, 3, 4)), pictures(*PICTURE))
    found["rpn_head"] = (lambda: Pyramid(RPNHead(16, 3)), pictures(*PICTURE))
    found["ssd_head"] = (lambda: Pyramid(detection.ssd.SSDHead([16] * 3, [4] * 3, 5)), pictures(*PICTURE))
    return {f"torchvision/{n}": row for n, row in found.items()}


# ---- timm ----
def of_timm():
    import timm

    sizes = {
        "deit_tiny_patch16_224": {"img_size": 64}, "vit_tiny_patch16_224": {"img_size": 64},
        "mixer_s32_224": {"img_size": 64}, "resmlp_12_224": {"img_size": 64}, "gmlp_ti16_224": {"img_size": 64},
        "cait_xxs24_224": {"img_size": 64}, "pit_ti_224": {"img_size": 64}, "beit_base_patch16_224": {"img_size": 64, "depth": 2},
        "convit_tiny": {"img_size": 64}, "twins_svt_small": {"img_size": 64}, "visformer_tiny": {"img_size": 64},
        "eva02_tiny_patch14_224": {"img_size": 56}, "coat_lite_tiny": {"img_size": 64}, "xcit_nano_12_p16_224": {},
    }  # fmt: skip
    plain = (
        "resnetv2_50 seresnet50 ghostnet_100 hrnet_w18_small dla34 res2net50_26w_4s resnest14d skresnet18 cspresnet50 darknet53 "
        "ese_vovnet19b_dw repvgg_a0 nfnet_l0 convnextv2_atto mobilevit_xxs edgenext_xx_small poolformer_s12 pvt_v2_b0 xception41 "
        "efficientformerv2_s0 fastvit_t8 rexnet_100 tf_efficientnet_lite0 lcnet_050 mobileone_s0 focalnet_tiny_srf "
        "levit_128s inception_next_atto gernet_s selecsls42b hardcorenas_a dpn68"
    ).split()
    found = {n: (lambda n=n: timm.create_model(n, num_classes=10), pictures(*PICTURE)) for n in plain}
    found["levit_128s"] = (lambda: timm.create_model("levit_128s", num_classes=10), pictures(3, 224, 224))
    found["efficientformerv2_s0"] = (
        lambda: timm.create_model("efficientformerv2_s0", num_classes=10), pictures(3, 224, 224),
    )  # fmt: skip
    for n, more in sizes.items():
        size = more.get("img_size", 64)
        found[n] = (lambda n=n, more=more: timm.create_model(n, num_classes=10, **more), pictures(3, size, size))
    return {f"timm/{n}": row for n, row in found.items()}


# ---- transformers ----
class First(nn.Module):
    """The first result of a model of transformers, of named inputs."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask=None):
        more = {} if attention_mask is None else {"attention_mask": attention_mask}
        return self.model(input_ids, return_dict=False, **more)[0]


def masked_tokens(n):
    mask = np.ones((n, 12), "int64")
    mask[: n // 2, 9:] = 0
    return *tokens()(n), mask


def of_transformers():
    import transformers as t

    t.logging.set_verbosity_error()
    small = {
        "vocab_size": 50,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    heads = {**small, "num_key_value_heads": 1}
    gpt = {"vocab_size": 50, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32}
    t5 = {"vocab_size": 50, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2}
    no_cache = {"use_cache": False}

    def make(model, config, **values):
        return lambda: First(getattr(t, model)(getattr(t, config)(**values)))

    rows = {
        "bert": (make("BertForSequenceClassification", "BertConfig", **small), masked_tokens),
        "roberta": (make("RobertaModel", "RobertaConfig", **small), masked_tokens),
        "distilbert": (
            make("DistilBertModel", "DistilBertConfig", vocab_size=50, dim=16, n_layers=2, n_heads=2, hidden_dim=32),
            masked_tokens,
        ),
        "albert": (make("AlbertModel", "AlbertConfig", embedding_size=8, **small), masked_tokens),
        "electra": (make("ElectraModel", "ElectraConfig", embedding_size=8, **small), masked_tokens),
        "mpnet": (make("MPNetModel", "MPNetConfig", **small), masked_tokens),
        "deberta_v2": (make("DebertaV2Model", "DebertaV2Config", **small), masked_tokens),
        "gpt2": (make("GPT2LMHeadModel", "GPT2Config", **gpt, **no_cache), tokens()),
        "gpt_neox": (make("GPTNeoXForCausalLM", "GPTNeoXConfig", **small, **no_cache), tokens()),
        "opt": (
            make("OPTForCausalLM", "OPTConfig", vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
                 ffn_dim=32, word_embed_proj_dim=16, **no_cache), tokens(),
        ),
        "llama": (make("LlamaForCausalLM", "LlamaConfig", **heads, **no_cache), tokens()),
        "mistral": (make("MistralForCausalLM", "MistralConfig", **heads, **no_cache), tokens()),
        "qwen2": (make("Qwen2ForCausalLM", "Qwen2Config", **heads, **no_cache), tokens()),
        "gemma": (make("GemmaForCausalLM", "GemmaConfig", head_dim=8, **heads, **no_cache), tokens()),
        "phi": (make("PhiForCausalLM", "PhiConfig", **small, **no_cache), tokens()),
        "bloom": (
            make("BloomForCausalLM", "BloomConfig", vocab_size=50, hidden_size=16, n_layer=2, n_head=2, **no_cache), tokens(),
        ),
        "t5_encoder": (make("T5EncoderModel", "T5Config", **t5, **no_cache), masked_tokens),
        "bart": (
            make("BartModel", "BartConfig", vocab_size=51, d_model=16, encoder_layers=2, decoder_layers=2,
                 encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, **no_cache),
            tokens(),
        ),
        "vit": (make("ViTModel", "ViTConfig", image_size=32, patch_size=8, **{k: v for k, v in small.items() if k[0] != "v"}),
                pictures(3, 32, 32)),
        "clip_text": (make("CLIPTextModel", "CLIPTextConfig", **small), masked_tokens),
        "fnet": (make("FNetModel", "FNetConfig", **{k: v for k, v in small.items() if "heads" not in k}), tokens()),
    }  # fmt: skip
    return {f"transformers/{n}": row for n, row in rows.items()}


# ---- comparing ----
def outputs_of(x):
    """The floating tensors of a result."""
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, (list, tuple)):
        return [z for y in x for z in outputs_of(y)]
    return [x] if x is not None and "float" in str(x.dtype) else []


def gap(ours, theirs):
    ours, theirs = np.asarray(ours, "float64"), np.asarray(theirs, "float64")
    return float(np.abs(ours - theirs).max(initial=0) / max(np.abs(theirs).max(initial=0), 1e-6))


def gradients_of(theirs, ours, given, seed=2):
    """(gap of outputs, gap of gradients, ours' loss after a step of SGD in train mode)."""
    a = [torch.from_numpy(g) for g in given]
    b = [paddle.to_tensor(g) for g in given]
    for x, y in zip(a, b):
        if x.is_floating_point():
            x.requires_grad_(True)
            y.stop_gradient = False
    wanted, found = outputs_of(theirs(*a)), outputs_of(ours(*b))
    assert len(wanted) == len(found)
    outputs = max(gap(f.numpy(), w.detach().numpy()) for f, w in zip(found, wanted))
    random = np.random.RandomState(seed)
    weights = [random.standard_normal(tuple(w.shape)).astype(w.detach().numpy().dtype) for w in wanted]
    sum((w * torch.from_numpy(k)).sum() for w, k in zip(wanted, weights)).backward()
    sum((f * paddle.to_tensor(k)).sum() for f, k in zip(found, weights)).backward()
    named = ours.state_dict()
    largest = max(float(p.grad.abs().max()) for p in theirs.parameters() if p.grad is not None)
    gradients = 0.0
    for name, p in theirs.named_parameters():
        if p.grad is None:
            continue
        g = named[name].grad.numpy()
        g = g.T if name in ours.transposed else g
        scale = max(float(p.grad.abs().max()), 1e-3 * largest)
        gradients = max(gradients, float(np.abs(g - p.grad.numpy()).max()) / scale)
    for x, y in zip(a, b):
        if x.grad is not None:
            gradients = max(gradients, gap(y.grad.numpy(), x.grad.numpy()))
    return outputs, gradients


def train_one_step(ours, given):
    """One step of SGD in train mode changes the weights."""
    ours.train()
    ours.clear_gradients()
    named = dict(ours.named_parameters())
    optimizer = paddle.optimizer.SGD(learning_rate=1e-3, parameters=ours.parameters())
    loss = sum(f.square().mean() for f in outputs_of(ours(*[paddle.to_tensor(g) for g in given])))
    before = {n: p.numpy().copy() for n, p in named.items()}
    loss.backward()
    optimizer.step()
    assert np.isfinite(float(loss)), "the loss is not finite"
    assert any((p.numpy() != before[n]).any() for n, p in named.items()), "the step changed nothing"


def compare(make, inputs):
    """(seconds of the conversion, gap of outputs, gap of gradients, notes); an error where something is wrong."""
    torch.manual_seed(0)
    theirs = make()
    for p in theirs.parameters():  # zeros would hide mistakes
        if not p.detach().abs().max():
            nn.init.normal_(p, std=0.02)
    theirs.eval()
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ours = convert_model(theirs, example_inputs=inputs(2))
    seconds = time.perf_counter() - began
    notes = [str(w.message)[:160] for w in told if str(w.message).startswith("convert_model")]
    ours.eval()
    given = inputs(2 if any("batch size" in n for n in notes) else 3)
    outputs, gradients = gradients_of(theirs, ours, given)
    if gradients > 1e-3:  # an element beside the kink of a ReLU or a maximum: in float64 none is that near
        theirs = theirs.double()
        theirs.zero_grad()
        twice = [[g.astype("float64") if g.dtype.kind == "f" else g for g in inputs(n)] for n in (2, len(given[0]))]
        exact = convert_model(theirs, example_inputs=twice[0])
        exact.eval()
        notes.append(f"gradients in float32: {gradients:.0e}")
        _, gradients = gradients_of(theirs, exact, twice[1])
    train_one_step(ours, given)
    return seconds, outputs, gradients, notes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", help="which; default all")
    parser.add_argument("--json", help="append a line for each architecture to this file; those that it has pass over")
    options = parser.parse_args()
    rows = {**by_hand(), **of_transformers(), **of_torchvision(), **of_timm()}
    done = set()
    if options.json:
        try:
            with open(options.json) as file:
                done = {json.loads(line)["name"] for line in file}
        except FileNotFoundError:
            pass
    good = total = 0
    print("| architecture | conversion, s | outputs | gradients | step | note |\n|---|---|---|---|---|---|")
    for name in options.names or rows:
        make, inputs = rows[name]
        if name in done:
            continue
        total += 1
        row = {"name": name}
        try:
            seconds, outputs, gradients, notes = compare(make, inputs)
            ok = outputs <= 1e-4 and gradients <= 1e-3
            row |= {"ok": ok, "seconds": seconds, "outputs": outputs, "gradients": gradients, "note": "; ".join(notes)}
            print(
                f"| {name} | {seconds:.1f} | {outputs:.1e} | {gradients:.1e} | yes | {'' if ok else 'GAP '}{row['note']} |"
            )
            good += ok
        except Exception as e:
            text = " ".join(str(e).split())[:300].replace("|", "/")
            row |= {"ok": False, "note": f"{type(e).__name__}: {text}"}
            print(f"| {name} | | | | | {row['note']} |")
            if options.names:
                traceback.print_exc()
        sys.stdout.flush()
        if options.json:
            with open(options.json, "a") as file:
                file.write(json.dumps(row) + "\n")
    print(f"\n{good} of {total} agree")


if __name__ == "__main__":
    main()
