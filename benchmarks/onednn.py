"""oneDNN against plain XLA and PyTorch on the CPU: the products and convolutions of real networks, then whole networks.

Each contender is a process of its own; they take turns. A machine that does other things too disturbs the time that
passes more than the time that threads compute, so each cell holds the median of the processor time of the busiest thread,
or of all threads divided by the number of cores where that is more (what passes at least on a quiet machine), and in
brackets the least time that passed, in milliseconds; ratios are medians of the ratios of the turns.

    python benchmarks/onednn.py                    # operators
    python benchmarks/onednn.py networks           # networks
    python benchmarks/onednn.py r56 bfloat16       # what contains all of these words
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONTENDERS = ("oneDNN", "XLA", "torch")

# name: batch, channels, spatial shape, output channels, kernel, stride, padding, groups
CONVOLUTIONS = {
    "lenet.1": (64, 1, (28, 28), 6, 3, 1, 1, 1),
    "lenet.2": (64, 6, (14, 14), 16, 5, 1, 0, 1),
    "resnet.stem": (8, 3, (224, 224), 64, 7, 2, 3, 1),
    "resnet.r56": (8, 64, (56, 56), 64, 3, 1, 1, 1),
    "resnet.r56b1": (1, 64, (56, 56), 64, 3, 1, 1, 1),
    "resnet.r28": (8, 128, (28, 28), 128, 3, 1, 1, 1),
    "resnet.r28s2": (8, 64, (56, 56), 128, 3, 2, 1, 1),
    "resnet.r14": (8, 256, (14, 14), 256, 3, 1, 1, 1),
    "resnet.r7": (8, 512, (7, 7), 512, 3, 1, 1, 1),
    "resnet.r7b1": (1, 512, (7, 7), 512, 3, 1, 1, 1),
    "resnet.down": (8, 64, (56, 56), 128, 1, 2, 0, 1),
    "resnet.point56": (8, 64, (56, 56), 256, 1, 1, 0, 1),
    "resnet.point14": (8, 1024, (14, 14), 256, 1, 1, 0, 1),
    "resnext.grouped56": (8, 128, (56, 56), 128, 3, 1, 1, 32),
    "mobile.depthwise112": (8, 32, (112, 112), 32, 3, 1, 1, 32),
    "mobile.depthwise112s2": (8, 96, (112, 112), 96, 3, 2, 1, 96),
    "mobile.depthwise28": (8, 192, (28, 28), 192, 3, 1, 1, 192),
    "mobile.depthwise14b1": (1, 384, (14, 14), 384, 3, 1, 1, 384),
    "mobile.depthwise7": (8, 960, (7, 7), 960, 3, 1, 1, 960),
    "sound.1d": (8, 64, (1000,), 64, 5, 1, 2, 1),
    "video.3d": (2, 16, (16, 32, 32), 32, 3, 1, 1, 1),
}
# name: leading shape, m, k, n, transposed operands
PRODUCTS = {
    "square256": ((), 256, 256, 256, 0, 0),
    "square1024": ((), 1024, 1024, 1024, 0, 0),
    "row": ((), 1, 1024, 1024, 0, 0),
    "mlp": ((), 64, 784, 512, 0, 0),
    "transformer.up": ((), 512, 768, 3072, 0, 0),
    "transformer.weight gradient": ((), 768, 512, 3072, 1, 0),
    "transformer.input gradient": ((), 512, 3072, 768, 0, 1),
    "attention.scores": ((8, 12), 128, 64, 128, 0, 1),
    "attention.values": ((8, 12), 128, 128, 64, 0, 0),
}
KINDS = ("convolution", "input gradient", "weight gradient")
NETWORKS = ("lenet.train", "resnet18.infer.b1", "resnet18.train", "mobilenet.infer.b1", "mobilenet.train")


def operators() -> list[str]:
    found = [f"matmul/{n}/{t}" for t in ("float32", "bfloat16") for n in PRODUCTS]
    for dtype in ("float32", "bfloat16"):
        found += [f"{kind}/{n}/{dtype}/{order}" for n in CONVOLUTIONS for kind in KINDS for order in ("first", "last")]
    return found


# ---- the workers ----


def _jax_step(name: str):
    import jax
    import jax.numpy as jnp
    import numpy as np

    from paddle.ops import contraction

    kind, case, dtype, *order = name.split("/")
    last = order == ["last"]  # the channels, as inside of programs; PyTorch has them first in any case
    draw = np.random.RandomState(0)
    if kind == "matmul":
        lead, m, k, n, tx, ty = PRODUCTS[case]
        a = jnp.asarray(draw.randn(*lead, *((k, m) if tx else (m, k))), dtype)
        b = jnp.asarray(draw.randn(*lead, *((n, k) if ty else (k, n))), dtype)
        run = jax.jit(lambda a, b: contraction._matmul.bind(a, b, transpose_x=bool(tx), transpose_y=bool(ty)))
    else:
        batch, channels, spatial, out, k, s, p, groups = CONVOLUTIONS[case]
        d = len(spatial)
        geometry = contraction.Geometry((s,) * d, ((p, p),) * d, (1,) * d, groups, last, spatial, (k,) * d)
        x = jnp.asarray(draw.randn(batch, *((*spatial, channels) if last else (channels, *spatial))), dtype)
        w = jnp.asarray(draw.randn(out, channels // groups, *(k,) * d), dtype)
        g = jnp.asarray(draw.randn(batch, *((*geometry.outs, out) if last else (out, *geometry.outs))), dtype)
        a, b = {"convolution": (x, w), "input gradient": (g, w), "weight gradient": (x, g)}[kind]
        run = jax.jit(lambda a, b: contraction._convolution(kind, a, b, geometry))
    return lambda: run(a, b).block_until_ready()


def _torch_step(name: str):
    import torch

    torch.set_num_threads(os.cpu_count())
    kind, case, dtype, *_ = name.split("/")
    dtype = getattr(torch, dtype)
    if kind == "matmul":
        lead, m, k, n, tx, ty = PRODUCTS[case]
        a = torch.randn(*lead, *((k, m) if tx else (m, k))).to(dtype)
        b = torch.randn(*lead, *((n, k) if ty else (k, n))).to(dtype)
        return lambda: torch.matmul(a.transpose(-1, -2) if tx else a, b.transpose(-1, -2) if ty else b)
    batch, channels, spatial, out, k, s, p, groups = CONVOLUTIONS[case]
    d = len(spatial)
    x, w = torch.randn(batch, channels, *spatial).to(dtype), torch.randn(out, channels // groups, *(k,) * d).to(dtype)
    forward = {1: torch.conv1d, 2: torch.conv2d, 3: torch.conv3d}[d]
    g = torch.ones_like(forward(x, w, None, s, p, 1, groups))
    if kind == "convolution":
        return lambda: forward(x, w, None, s, p, 1, groups)
    mask = [kind == "input gradient", kind == "weight gradient", False]
    backward = torch.ops.aten.convolution_backward
    return lambda: backward(g, x, w, None, [s] * d, [p] * d, [1] * d, False, [0] * d, groups, mask)


def _paddle_network(name: str):
    import paddle

    which, mode = name.split(".")[:2]
    make = {"resnet18": paddle.vision.models.resnet18, "mobilenet": paddle.vision.models.mobilenet_v2}
    paddle.seed(0)
    net = paddle.vision.models.LeNet() if which == "lenet" else make[which](num_classes=10)
    if mode == "infer":
        net.eval()
        static, x = paddle.jit.to_static(net), paddle.randn([1, 3, 224, 224])

        def infer():
            with paddle.no_grad():
                return static(x).numpy()

        return infer
    x = paddle.randn([64, 1, 28, 28] if which == "lenet" else [8, 3, 96, 96])
    y = paddle.randint(0, 10, [x.shape[0]])
    optimizer = paddle.optimizer.Momentum(0.01, parameters=net.parameters())

    @paddle.jit.to_static
    def step(x, y):
        loss = paddle.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return lambda: float(step(x, y))


def _torch_network(name: str):
    import torch
    from torch import nn

    torch.set_num_threads(os.cpu_count())
    which, mode = name.split(".")[:2]
    torch.manual_seed(0)
    if which == "lenet":
        net = nn.Sequential(
            *(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU()),
            *(nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)),
        )
    else:
        net = _torch_resnet18() if which == "resnet18" else _torch_mobilenet()
    if mode == "infer":
        net.eval()
        x = torch.randn(1, 3, 224, 224)

        def infer():
            with torch.inference_mode():
                return net(x)

        return infer
    x = torch.randn(*((64, 1, 28, 28) if which == "lenet" else (8, 3, 96, 96)))
    y = torch.randint(0, 10, (x.shape[0],))
    optimizer = torch.optim.SGD(net.parameters(), 0.01, 0.9)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    return step


def _torch_resnet18():
    from torch import nn

    class Block(nn.Module):
        def __init__(self, before, width, stride):
            super().__init__()
            self.body = nn.Sequential(
                *(nn.Conv2d(before, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()),
                *(nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)),
            )
            self.side = nn.Identity()
            if stride > 1 or before != width:
                self.side = nn.Sequential(nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width))

        def forward(self, x):
            return nn.functional.relu(self.body(x) + self.side(x))

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(before, width, stride), Block(width, width, 1)]
        before = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def _torch_mobilenet():
    from torch import nn

    def part(before, width, kernel=1, stride=1, groups=1):
        pad = kernel // 2
        return nn.Conv2d(before, width, kernel, stride, pad, groups=groups, bias=False), nn.BatchNorm2d(width)

    class Block(nn.Module):
        def __init__(self, before, width, stride, wider):
            super().__init__()
            inner = before * wider
            first = [*part(before, inner), nn.ReLU6()] if wider > 1 else []
            self.body = nn.Sequential(*first, *part(inner, inner, 3, stride, inner), nn.ReLU6(), *part(inner, width))
            self.added = stride == 1 and before == width

        def forward(self, x):
            return x + self.body(x) if self.added else self.body(x)

    layers, before = [*part(3, 32, 3, 2), nn.ReLU6()], 32
    table = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    for wider, width, times, stride in table:
        for i in range(times):
            layers.append(Block(before, width, stride if i == 0 else 1, wider))
            before = width
    layers += [*part(320, 1280), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2)]
    return nn.Sequential(*layers, nn.Linear(1280, 10))


def _threads() -> dict[str, int]:
    found = {}
    for thread in os.listdir("/proc/self/task"):
        try:
            found[thread] = int(Path(f"/proc/self/task/{thread}/schedstat").read_text().split()[0])
        except OSError:
            pass  # it ended meanwhile
    return found


def _work(contender: str) -> None:
    steps: dict = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in steps:
            network = name in NETWORKS
            made = {True: (_torch_network, _paddle_network), False: (_torch_step, _jax_step)}[network]
            step = made[contender != "torch"](name)
            step()
            start = time.perf_counter()
            for _ in range(2):
                step()
            passed = (time.perf_counter() - start) / 2
            steps[name] = step, max(1, min(200, int(0.03 / passed)))  # the clock of threads is coarse
        step, calls = steps[name]
        before, start = _threads(), time.perf_counter()
        for _ in range(calls):
            step()
        passed, after = time.perf_counter() - start, _threads()
        busy = [(after[t] - before.get(t, 0)) / 1e6 / calls for t in after]
        print(json.dumps([max(*busy, sum(busy) / os.cpu_count(), 1e-3), passed * 1e3 / calls]), flush=True)


# ---- the turns ----


def _start(contender: str) -> subprocess.Popen:
    rival = os.environ.get("RIVALS_PYTHON") or str(HERE.parent / ".rivals" / "bin" / "python")
    env = {
        **os.environ,
        "PYTHONPATH": "" if contender == "torch" else str(HERE.parent),
        "PADDLE_XLA_ONEDNN": str(int(contender == "oneDNN")),
        "OMP_WAIT_POLICY": "passive",  # threads that wait are not busy
    }
    python = rival if contender == "torch" else sys.executable
    command = [python, "-P", str(HERE / "onednn.py"), "--work", contender]
    return subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def main() -> None:
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    turns = next((int(w[8:]) for w in sys.argv[1:] if w.startswith("--turns=")), 9)
    names = [*NETWORKS] if words == ["networks"] else operators() + [*NETWORKS] * bool(words)
    if words and words != ["networks"]:
        names = [n for n in names if all(w in n for w in words)]
    workers = {c: _start(c) for c in CONTENDERS}
    print("| workload | " + " | ".join(f"{c} ms" for c in CONTENDERS) + " | XLA / oneDNN | torch / oneDNN |")
    print("|---" * (len(CONTENDERS) + 3) + "|")
    for name in names:
        times: dict[str, list[float]] = {c: [] for c in workers}
        least: dict[str, float] = {}
        for _ in range(turns):
            for contender, worker in workers.items():
                worker.stdin.write(name + "\n")
                worker.stdin.flush()
                answer = worker.stdout.readline()
                if not answer:
                    raise RuntimeError(f"the worker of {contender} ended during {name}")
                computing, passed = json.loads(answer)
                times[contender].append(computing)
                least[contender] = min(passed, least.get(contender, passed))
        cells = [f"{statistics.median(times[c]):.2f} ({least[c]:.2f})" for c in CONTENDERS]
        for rival in CONTENDERS[1:]:
            cells.append(f"{statistics.median(r / o for r, o in zip(times[rival], times['oneDNN'])):.2f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    for worker in workers.values():
        worker.stdin.close()
        worker.wait(30)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        _work(sys.argv[2])
    else:
        main()
