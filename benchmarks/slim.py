"""A network for digits with 15 % of its parameters: parameters, operations, latency and accuracy before and after.

    python benchmarks/slim.py [--ratio 0.625] [--epochs 10] [--tuning 20] [--seed 8] [--json FILE]

The digits ship with the package (1437 to train, 360 to test). The network has three convolutions, the last with a residual
sum. It is trained, two ratios prune everything that depends on them, and it is tuned with the labels and with what the
original network answers. Latencies are medians of runs with batches of 1 and 64, both networks in turns.
"""

import argparse
import copy
import dataclasses
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "suite"))

import paddle  # noqa: E402
import paddle.nn.functional as F  # noqa: E402
from paddle import nn  # noqa: E402
from paddle.vision.datasets import MNIST, digits_path  # noqa: E402
from paddleslim.analysis import latencies, report  # noqa: E402
from paddleslim.dist.losses import kl_loss  # noqa: E402
from paddleslim.dygraph import L1NormFilterPruner  # noqa: E402


class Net(nn.Layer):
    """Three convolutions, the last one with a residual sum."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2D(1, 32, 3, stride=2, padding=1), nn.BatchNorm2D(32)
        self.conv2, self.bn2 = nn.Conv2D(32, 64, 3, stride=2, padding=1), nn.BatchNorm2D(64)
        self.conv3, self.bn3 = nn.Conv2D(64, 64, 3, padding=1), nn.BatchNorm2D(64)
        self.pool, self.fc = nn.AdaptiveAvgPool2D(1), nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        x = x + F.relu(self.bn3(self.conv3(x)))
        return self.fc(self.pool(x).flatten(1))


def digits(mode):
    data = MNIST(*digits_path(mode), mode=mode)
    pictures, labels = zip(*(data[i] for i in range(len(data))))
    x = np.stack([np.asarray(p, "float32").reshape(1, 28, 28) for p in pictures]) / 255
    return x, np.array([int(np.asarray(y).item()) for y in labels])


def fit(net, x, y, epochs, seed, teacher=None):
    """Train with labels and, if there is a teacher, with its softened answers."""
    net.train()
    steps = len(x) // 64
    rate = paddle.optimizer.lr.CosineAnnealingDecay(0.005, T_max=epochs * steps)
    optimizer = paddle.optimizer.Adam(parameters=net.parameters(), learning_rate=rate)
    for epoch in range(epochs):
        order = np.random.RandomState(seed + epoch).permutation(len(x))
        for i in range(steps):
            pick = order[64 * i : 64 * i + 64]
            pictures = paddle.to_tensor(x[pick])
            found = net(pictures)
            loss = F.cross_entropy(found, paddle.to_tensor(y[pick]))
            if teacher is not None:
                with paddle.no_grad():
                    wanted = teacher(pictures)
                loss = loss + kl_loss(wanted, found, 4.0)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            rate.step()
    net.eval()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--ratio", type=float, default=0.625, help="share of the channels that goes (default 0.625)")
    options.add_argument("--epochs", type=int, default=10, help="passes of training (default 10)")
    options.add_argument("--tuning", type=int, default=20, help="passes of tuning (default 20)")
    options.add_argument("--seed", type=int, default=8)
    options.add_argument("--json", help="also write the figures there")
    given = options.parse_args()
    (x, y), (test_x, test_y) = digits("train"), digits("test")

    def accuracy(net):
        with paddle.no_grad():
            return float((net(paddle.to_tensor(test_x)).numpy().argmax(1) == test_y).mean())

    paddle.seed(given.seed)
    net = Net()
    fit(net, x, y, given.epochs, 0)
    before = copy.deepcopy(net)
    pruner = L1NormFilterPruner(net, [1, 1, 28, 28])
    pruner.prune_vars({net.conv1.weight.name: given.ratio, net.conv2.weight.name: given.ratio}, axis=0)
    at_once = accuracy(net)
    fit(net, x, y, given.tuning, 50, before)
    made = report(before, net, [1, 1, 28, 28], accuracy, runs=200)
    of_64 = latencies([(before, [64, 1, 28, 28]), (net, [64, 1, 28, 28])], runs=50)
    print(made)
    print(f"accuracy after pruning, before tuning: {at_once:.4f}")
    print(f"latency of a batch of 64, ms: {of_64[0]:.2f} before, {of_64[1]:.2f} after ({of_64[1] / of_64[0]:.3f})")
    if given.json:
        found = {**dataclasses.asdict(made), "pruned": at_once, "batch_64": of_64}
        Path(given.json).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
