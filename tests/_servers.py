"""Servers in processes of their own, and models for them."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np

import paddle
from paddle import nn
from paddle.static import InputSpec

ROOT = Path(paddle.__file__).parents[1]


class Digits(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(784, 32), nn.Linear(32, 10)

    def forward(self, image):
        return self.second(nn.functional.relu(self.first(image)))


class Words(nn.Layer):
    """A masked mean of embeddings, and each of them."""

    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(50, 8), nn.Linear(8, 3)

    def forward(self, ids, mask):
        each = self.table(ids) * mask.unsqueeze(-1)
        return self.out(each.sum(1) / mask.sum(1, keepdim=True)), each


class Pictures(nn.Layer):
    def __init__(self):
        super().__init__()
        self.convolution, self.out = nn.Conv2D(3, 4, 3, stride=2), nn.Linear(4, 5)

    def forward(self, picture):
        return self.out(self.convolution(picture).mean([2, 3]))


class Centred(nn.Layer):
    """What a row becomes depends on the other rows."""

    def forward(self, x):
        return x - x.mean(0, keepdim=True)


class Slow(nn.Layer):
    """Multiplies matrices for a while."""

    def __init__(self, turns):
        super().__init__()
        self.turns = turns
        self.matrix = self.create_parameter([1200, 1200])

    def forward(self, x):
        y = self.matrix + x.mean()
        for _ in range(self.turns):
            y = nn.functional.tanh(self.matrix @ y)
        return x + y[:4].mean()


def saved(layer, folder, specs, **options):
    """Saves a layer as a version of a model; options go into serving.json."""
    layer.eval()
    paddle.jit.save(layer, str(folder / "model"), specs)
    if options:
        (folder.parent / "serving.json").write_text(json.dumps(options))
    return layer


def digits(folder, seed=0, **options):
    paddle.seed(seed)
    return saved(Digits(), folder, [InputSpec([None, 784], "float32", "image")], **options)


def environment(**more):
    kept = {k: v for k, v in os.environ.items() if "CACHE" in k or not k.startswith(("PADDLE_", "PROMETHEUS_"))}
    return {**kept, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", **more}


class Server:
    """`python -m paddle.serving` on a free port, with its log."""

    def __init__(self, models, *flags, log, **more):
        self.log = Path(log)
        command = [sys.executable, "-m", "paddle.serving", str(models), "--port", "0", *map(str, flags)]
        with open(log, "wb") as file:
            self.process = subprocess.Popen(command, stderr=file, stdout=file, env=environment(**more))
        found = self.wait(lambda: re.search(r"http://127.0.0.1:(\d+)", self.log.read_text()))
        self.url = f"http://127.0.0.1:{found[1]}"

    def wait(self, condition, seconds=120):
        end = time.monotonic() + seconds
        while True:
            if found := condition():
                return found
            assert self.process.poll() is None, self.log.read_text()[-5000:]
            assert time.monotonic() < end, self.log.read_text()[-5000:]
            time.sleep(0.02)

    def ready(self):
        """Waits until it answers."""

        def answers():
            with contextlib.suppress(httpx.TransportError):
                return httpx.get(self.url + "/readyz", timeout=10, verify=False).status_code == 200

        self.wait(answers)
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.kill()

    def client(self, **more):
        return httpx.Client(base_url=self.url, timeout=60, verify=False, **more)

    def lines(self):
        """What it logged."""
        return [json.loads(line) for line in self.log.read_text().split("\n") if line.endswith("}")]

    def workers(self):
        """The ids of its processes."""
        found = []
        for each in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                parent = int((each / "stat").read_text().rsplit(")", 1)[1].split()[1])
                if parent == self.process.pid:
                    found.append(int(each.name))
        return sorted(found)

    def figure(self, name, **labels):
        """A figure of /metrics, summed over the labels that are not given."""
        total = 0.0
        for line in httpx.get(self.url + "/metrics", timeout=60, verify=False).text.splitlines():
            found = re.fullmatch(rf"paddle_serving_{name}(?:\{{(.*)\}})? (\S+)", line)
            if found and all(f'{k}="{v}"' in (found[1] or "") for k, v in labels.items()):
                total += float(found[2])
        return total

    def stop(self, seconds=60):
        """SIGTERM; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        finally:
            self.kill()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()  # its workers see that and end
            self.process.wait()


def rows(count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, 784)).astype("float32")
