"""A training job that ends with a model in a repository, from which `python -m paddle.serving` takes it.

python deploy/train_digits.py --repository models --name digits
python deploy/job_queue.py put --queue redis://host:6379/0 deploy/train_digits.py --repository s3://bucket/models
"""

import argparse
import json
import os
import tempfile

import numpy as np

import paddle
from paddle import nn
from paddle.static import InputSpec
from paddle.vision.datasets import MNIST, digits_path

parser = argparse.ArgumentParser()
parser.add_argument("--repository", default="models", help="a folder, or an address such as s3://bucket/models")
parser.add_argument("--name", default="digits")
parser.add_argument("--epochs", type=int, default=8)
parser.add_argument("--hidden", type=int, default=64)
parser.add_argument("--rate", type=float, default=0.003)
args = parser.parse_args()


def arrays(mode):
    images, labels = zip(*MNIST(*digits_path(mode), mode=mode))
    return np.stack([np.asarray(i, "float32").reshape(-1) for i in images]), np.array(labels, "int64").reshape(-1)


(train_x, train_y), (test_x, test_y) = arrays("train"), arrays("test")
scale = float(train_x.max())
paddle.seed(0)
net = nn.Sequential(nn.Linear(train_x.shape[1], args.hidden), nn.ReLU(), nn.Linear(args.hidden, 10))
optimizer = paddle.optimizer.Adam(args.rate, parameters=net.parameters())
random = np.random.default_rng(0)
for epoch in range(args.epochs):
    order = random.permutation(len(train_x))
    for start in range(0, len(order), 64):
        pick = order[start : start + 64]
        loss = nn.functional.cross_entropy(
            net(paddle.to_tensor(train_x[pick] / scale)), paddle.to_tensor(train_y[pick])
        )
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    print(json.dumps({"epoch": epoch, "loss": loss.item()}), flush=True)
net.eval()
accuracy = float((net(paddle.to_tensor(test_x / scale)).numpy().argmax(1) == test_y).mean())
with tempfile.TemporaryDirectory() as folder:
    prefix = os.path.join(folder, "model")
    paddle.jit.save(net, prefix, input_spec=[InputSpec([None, train_x.shape[1]], "float32", "image")])
    version = paddle.serving.publish(prefix, args.repository, args.name)
print(json.dumps({"model": args.name, "version": version, "accuracy": accuracy}), flush=True)
