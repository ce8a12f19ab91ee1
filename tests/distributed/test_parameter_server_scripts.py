"""A whole script as it is written for parameter servers: files, a generator, wide and deep, metrics, saving, going on."""

import json

import numpy as np
import pytest

import paddle
from paddle import static

from _launched import finish, launch, logs

READER = """
import paddle.distributed.fleet as fleet

class Reader(fleet.MultiSlotDataGenerator):
    def generate_sample(self, line):
        def samples():
            label, *values = line.split()
            numbers, ids = [float(v) for v in values[:3]], [int(v) for v in values[3:]]
            yield [("dense", numbers)] + [(f"C{i}", [v]) for i, v in enumerate(ids)] + [("label", [int(label)])]
        return samples

Reader().run_from_stdin()
"""

SCRIPT = """
import json, sys
import paddle
import paddle.distributed.fleet as fleet
import paddle.static as static

again = sys.argv[1:] == ["again"]
paddle.enable_static()
paddle.seed(4)
role = fleet.PaddleCloudRoleMaker(is_collective=False)
fleet.init(role)

dense = static.data("dense", [None, 3], "float32")
slots = [static.data(f"C{i}", [None, 1], "int64") for i in range(3)]
label = static.data("label", [None, 1], "int64")
inputs = [dense, *slots, label]
rows = [
    static.nn.embedding(x, [1000, 4], is_sparse=True, param_attr=paddle.ParamAttr(
        name="deep_embedding", initializer=paddle.nn.initializer.Uniform(-0.1, 0.1))).sum(1)
    for x in slots
]
deep = static.nn.fc(paddle.concat([*rows, dense], 1), 16, activation="relu")
predict = static.nn.fc(paddle.concat([static.nn.fc(dense, 4), deep], 1), 2, activation="softmax")
cost = paddle.nn.functional.cross_entropy(predict, label, use_softmax=False).mean()
auc, batch_auc, states = static.auc(predict, label, num_thresholds=1000)
test = static.default_main_program().clone(for_test=True)

strategy = fleet.DistributedStrategy()
strategy.a_sync = True
optimizer = fleet.distributed_optimizer(paddle.optimizer.Adam(0.01), strategy)
optimizer.minimize(cost)

if fleet.is_server():
    fleet.init_server(*(["model"] if again else []))
    fleet.run_server()
elif fleet.is_worker():
    exe = static.Executor(paddle.CPUPlace())
    exe.run(static.default_startup_program())
    fleet.init_worker()
    dataset = paddle.distributed.InMemoryDataset()
    dataset.init(batch_size=50, thread_num=1, use_var=inputs, pipe_command=sys.executable + " reader.py")
    dataset.set_filelist(fleet.util.get_file_shard([f"part-{i}" for i in range(2)]))
    dataset.load_into_memory()
    if not again:
        dataset.global_shuffle(fleet)
        for epoch in range(4):
            exe.train_from_dataset(static.default_main_program(), dataset, fetch_list=[cost], fetch_info=["cost"],
                                   print_period=10)
        fleet.barrier_worker()
    total, found = 0.0, 0
    for feed in dataset._batches():
        total += float(exe.run(test, feed=feed, fetch_list=[cost])[0]) * len(feed["label"])
        found += len(feed["label"])
    everyone = fleet.metrics.sum([total]), fleet.metrics.sum([found])
    if fleet.is_first_worker():
        if not again:
            fleet.save_persistables(exe, "model", static.default_main_program())
            fleet.save_inference_model(exe, "infer", [v.name for v in inputs[:-1]], [predict])
        with open("again.json" if again else "first.json", "w") as f:
            json.dump([float(everyone[0][0] / everyone[1][0]), int(everyone[1][0])], f)
    fleet.stop_worker()
"""


def write_files(folder):
    rng = np.random.RandomState(0)
    numbers, ids = rng.randn(1200, 3), rng.zipf(1.4, (1200, 3)) % 1000
    labels = (numbers[:, 0] + (ids[:, 0] % 2) * 2 - 1 + 0.5 * rng.randn(1200) > 0).astype(int)
    lines = [" ".join(map(str, [y, *n, *i])) + "\n" for y, n, i in zip(labels, numbers, ids)]
    for part in range(2):
        (folder / f"part-{part}").write_text("".join(lines[part::2]))
    (folder / "reader.py").write_text(READER)
    (folder / "script.py").write_text(SCRIPT)
    return numbers.astype("float32"), ids, labels


@pytest.mark.slow
def test_train_save_and_go_on(tmp_path):
    numbers, ids, labels = write_files(tmp_path)
    code, out, err = finish(launch(tmp_path, "script.py", flags=("--server_num", "1", "--trainer_num", "2")))
    assert code == 0, err + logs(tmp_path)
    assert "batch 10: cost: " in out
    loss, samples = json.loads((tmp_path / "first.json").read_text())
    assert samples == 1200 and loss < 0.45

    paddle.enable_static()  # the model for inference, without any server
    with static.scope_guard(static.Scope()):
        exe = static.Executor()
        model, feeds, fetches = static.load_inference_model(str(tmp_path / "infer" / "model"), exe)
        feed = {"dense": numbers, **{f"C{i}": ids[:, i : i + 1] for i in range(3)}}
        predicted = exe.run(model, feed={n: feed[n] for n in feeds}, fetch_list=fetches)[0]
    paddle.disable_static()
    own = -np.log(predicted[np.arange(1200), labels]).mean()
    np.testing.assert_allclose(own, loss, rtol=1e-4)

    # other numbers of servers and workers
    code, out, err = finish(launch(tmp_path, "script.py", "again", flags=("--server_num", "2", "--trainer_num", "1")))
    assert code == 0, err + logs(tmp_path)
    np.testing.assert_allclose(json.loads((tmp_path / "again.json").read_text())[0], loss, rtol=1e-4)
