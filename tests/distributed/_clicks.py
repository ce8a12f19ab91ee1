"""A script for the tests of parameter servers: DeepFM on synthetic clicks, as users write it for fleet. Arguments: folder,
mode (sync, async, geo, alone), steps. Started alone it trains in one process."""

import json
import os
import sys

import numpy as np

import paddle
import paddle.distributed.fleet as fleet

IDS, FIELDS, WIDTH, NUMBERS = 4000, 6, 4, 3
BATCH = 200


def clicks(n, seed):
    """Zipf-distributed ids in six fields, three numbers, and clicks that follow from both."""
    world = np.random.RandomState(11)
    weight, taste = world.randn(IDS) * 0.7, world.randn(IDS, 3) * 0.5
    slope = np.array([0.8, -0.6, 0.4])
    rng = np.random.RandomState(seed)
    ids = (rng.zipf(1.3, (n, FIELDS)) * 7919 + np.arange(FIELDS) * 104729) % IDS
    numbers = rng.randn(n, NUMBERS).astype("float32")
    t = taste[ids]
    pairs = ((t.sum(1) ** 2 - (t**2).sum(1)) / 2).sum(1)
    logit = weight[ids].sum(1) + 0.5 * pairs + numbers @ slope - 0.5
    return ids.astype("int64"), numbers, (rng.rand(n, 1) < 1 / (1 + np.exp(-logit[:, None]))).astype("float32")


def network():
    """DeepFM (Guo et al., 2017)."""
    ids = [paddle.static.data(f"C{i}", [None, 1], "int64") for i in range(FIELDS)]
    numbers = paddle.static.data("I", [None, NUMBERS], "float32")
    label = paddle.static.data("label", [None, 1], "float32")
    F = paddle.nn.functional

    def rows(x, name, width):
        attr = paddle.ParamAttr(name=name, initializer=paddle.nn.initializer.Uniform(-0.01, 0.01))
        return paddle.static.nn.sparse_embedding(x, [IDS, width], param_attr=attr)

    first = paddle.add_n([rows(x, "linear", 1) for x in ids])
    vectors = paddle.stack([rows(x, "vectors", WIDTH) for x in ids], axis=1)
    second = 0.5 * ((vectors.sum(1) ** 2) - (vectors**2).sum(1)).sum(1, keepdim=True)
    deep = paddle.concat([vectors.reshape([-1, FIELDS * WIDTH]), numbers], axis=1)
    deep = paddle.static.nn.fc(deep, 16, activation="relu")
    logit = first + second + paddle.static.nn.fc(deep, 1) + paddle.static.nn.fc(numbers, 1)
    loss = F.binary_cross_entropy_with_logits(logit, label)
    return [*ids, numbers, label], F.sigmoid(logit), loss


def feed(ids, numbers, label):
    return {**{f"C{i}": ids[:, i : i + 1] for i in range(FIELDS)}, "I": numbers, "label": label}


def auc(predicted, label):
    order = np.argsort(predicted)
    ranks = np.empty(len(order))
    ranks[order] = np.arange(1, len(order) + 1)
    positive = label > 0
    n = positive.sum()
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(label) - n)))


def main(folder, mode, steps):
    paddle.enable_static()
    paddle.seed(1)
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = mode in ("async", "geo")
    if mode == "geo":
        strategy.a_sync_configs = {"k_steps": 5}
    fleet.init(fleet.PaddleCloudRoleMaker(is_collective=False), strategy=strategy)
    _, predicted, loss = network()
    test = paddle.static.default_main_program().clone(for_test=True)
    optimizer = fleet.distributed_optimizer(paddle.optimizer.Adagrad(0.05), strategy)
    optimizer.minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        return
    exe = paddle.static.Executor(paddle.CPUPlace())
    exe.run(paddle.static.default_startup_program())
    fleet.init_worker()
    rank, size = fleet.worker_index(), fleet.worker_num()
    ids, numbers, label = clicks(BATCH * steps, 5)
    part = BATCH // size
    for step in range(steps):
        own = slice(BATCH * step + rank * part, BATCH * step + (rank + 1) * part)
        exe.run(feed=feed(ids[own], numbers[own], label[own]), fetch_list=[loss])
    fleet.barrier_worker()
    if fleet.is_first_worker():
        ids, numbers, label = clicks(8000, 6)
        found = exe.run(test, feed=feed(ids, numbers, label), fetch_list=[predicted])[0]
        with open(os.path.join(folder, f"{mode}.json"), "w") as f:
            json.dump({"auc": auc(found.ravel(), label.ravel()), "workers": size, "servers": fleet.server_num()}, f)
    fleet.barrier_worker()
    fleet.stop_worker()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
