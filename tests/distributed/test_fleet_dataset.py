"""Data sets of text files and the scripts that prepare their lines."""

import io
import random
import sys
from types import SimpleNamespace

import pytest

import paddle
from paddle import static
from paddle.distributed import fleet


@pytest.fixture
def program():
    main, startup = static.Program(), static.Program()
    paddle.enable_static()
    with static.program_guard(main, startup), static.scope_guard(static.Scope()):
        yield main
    paddle.disable_static()


@pytest.fixture
def files(tmp_path):
    """Seven samples in two files: an id, two numbers, a list of ids."""
    lines = [
        f"1 {i} 2 {i / 2} -1.5 {i % 3 + 1} {' '.join(str(10 * i + j) for j in range(i % 3 + 1))}\n" for i in range(7)
    ]
    (tmp_path / "a").write_text("".join(lines[:4]))
    (tmp_path / "b").write_text("\n" + "".join(lines[4:]))
    return [str(tmp_path / "a"), str(tmp_path / "b")]


def slots():
    return [static.data("id", [-1, 1], "int64"), static.data("x", [-1, 2]), static.data("list", [-1, -1], "int64")]


def test_batches(program, files):
    dataset = paddle.distributed.QueueDataset()
    dataset.init(batch_size=3, thread_num=2, use_var=slots(), pipe_command="cat")
    dataset.set_filelist(files)
    for _ in range(2):  # files are read anew
        batches = list(dataset._batches())
        assert [len(b["id"]) for b in batches] == [3, 3, 1]
    assert batches[1]["x"].tolist() == [[1.5, -1.5], [2, -1.5], [2.5, -1.5]]
    assert batches[0]["list"].tolist() == [[0, 0, 0], [10, 11, 0], [20, 21, 22]]
    dataset.init(pipe_command="sed s/-1.5/7/")
    assert next(dataset._batches())["x"].tolist()[0] == [0, 7]
    dataset.init(pipe_command="cat; exit 3")
    with pytest.raises(RuntimeError, match="code 3"):
        list(dataset._batches())


def test_lines_that_do_not_fit(program, tmp_path):
    dataset = fleet.QueueDataset()
    with pytest.raises(ValueError, match="use_var"):
        list(dataset._batches())
    dataset.init(use_var=slots())
    dataset.set_filelist([str(tmp_path / "f")])
    for line, what in (
        ("1 5 2 1.0", "line 2 of .*slot x: 2 values are announced, 1 are there"),
        ("1 a 2 1.0 2.0 1 3", "slot id"),
        ("1 5 2 1.0 2.0", "slot list"),
        ("1 5 3 1.0 2.0 3.0 1 1", "slot x has 3 values"),
        ("-1 5", "slot id: -1 values"),
    ):
        (tmp_path / "f").write_text("1 5 2 1 2 1 3\n" + line + "\n")
        with pytest.raises(ValueError, match=what):
            list(dataset._batches())
    (tmp_path / "f").write_text(f"1 {2**64 - 1} 2 1 2 1 3\n")  # ids of 64 bits
    assert next(dataset._batches())["id"].tolist() == [[-1]]
    with pytest.raises(ValueError, match="no setting 'batch'"):
        dataset.init(batch=3)
    with pytest.raises(ValueError, match="batch_size must be"):
        dataset.init(batch_size=0)
    with pytest.raises(ValueError, match="int64 or float32"):
        dataset.init(use_var=[static.data("h", [-1, 1], "float16")])
    with pytest.raises(NotImplementedError, match="fs_name"):
        dataset.init(fs_name="hdfs://x")


def test_in_memory(program, files):
    dataset = paddle.distributed.InMemoryDataset()
    dataset.init(batch_size=7, use_var=slots(), pipe_command="cat", data_feed_type="MultiSlotInMemoryDataFeed")
    dataset.set_filelist(files)
    dataset.preload_into_memory()
    dataset.wait_preload_done()
    assert dataset.get_memory_data_size() == 7
    (batch,) = dataset._batches()
    assert batch["id"].ravel().tolist() == list(range(7))
    random.seed(1)
    dataset.global_shuffle()
    (batch,) = dataset._batches()
    ids = batch["id"].ravel().tolist()
    assert ids != list(range(7)) and sorted(ids) == list(range(7)) and dataset.get_shuffle_data_size() == 7
    assert (batch["x"][:, 0] == batch["id"][:, 0] / 2).all()
    dataset.slots_shuffle(["x"])
    (batch,) = dataset._batches()
    assert (batch["x"][:, 0] != batch["id"][:, 0] / 2).any() and sorted(batch["x"][:, 0]) == [i / 2 for i in range(7)]
    mine = []
    util = SimpleNamespace(all_gather=lambda parts: mine.extend(parts) or [parts, [["theirs"], []]])
    dataset.global_shuffle(SimpleNamespace(worker_num=lambda: 2, worker_index=lambda: 0, util=util))
    assert len(mine[0]) + len(mine[1]) == 7 and mine[0] and mine[1]
    assert "theirs" in dataset._memory and dataset.get_memory_data_size() == 1 + len(mine[0])
    dataset.release_memory()
    assert dataset.get_memory_data_size() == 0
    dataset.set_filelist(["nowhere"])
    dataset.preload_into_memory()
    with pytest.raises(FileNotFoundError):
        dataset.wait_preload_done()


def test_train_from_dataset(program, files, capsys):
    ids, x, _ = used = slots()
    w = static.create_parameter([2, 1], "float32", default_initializer=paddle.nn.initializer.Constant(0.0))
    loss = ((x @ w - ids.astype("float32")) ** 2).mean()
    test = program.clone(for_test=True)
    paddle.optimizer.SGD(0.05).minimize(loss)
    exe = static.Executor()
    exe.run(static.default_startup_program())
    dataset = fleet.InMemoryDataset()
    dataset.init(batch_size=2, use_var=used)
    dataset.set_filelist(files)
    dataset.load_into_memory()
    for _ in range(60):
        exe.train_from_dataset(program, dataset, fetch_list=[loss], fetch_info=["error"], print_period=2)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 120 and lines[0].startswith("batch 2: error: ")
    assert float(lines[-1].split()[-1]) < 0.05 * float(lines[0].split()[-1])
    before = static.global_scope().find_var(w.name).numpy()
    exe.infer_from_dataset(test, dataset)
    assert (before == static.global_scope().find_var(w.name).numpy()).all()
    with pytest.raises(TypeError, match="dataset must be"):
        exe.train_from_dataset(program, files)
    with pytest.raises(ValueError, match="fetch_info"):
        exe.train_from_dataset(program, dataset, fetch_list=[loss], fetch_info=["a", "b"])


class Pairs(fleet.MultiSlotDataGenerator):
    def generate_sample(self, line):
        def each():
            a, b = line.split(",")
            yield [("id", [int(a)]), ("x", [float(b), 0.5])]
            yield None

        return each

    def generate_batch(self, samples):
        return lambda: iter(samples[::-1])


def test_generators(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO("1,2.5\n3,4\n5,6\n"))
    pairs = Pairs()
    pairs.set_batch(2)
    pairs.run_from_stdin()
    assert capsys.readouterr().out == "1 3 2 4.0 0.5\n1 1 2 2.5 0.5\n1 5 2 6.0 0.5\n"
    strings = fleet.MultiSlotStringDataGenerator()
    assert strings._gen_str([("a", ["x", "y"]), ("b", ["z"])]) == "2 x y 1 z\n"
    for bad in ("text", [("a", [])], [("a", 3)], [(1, [2])], [("a", ["b"])], [("other", [1])]):
        with pytest.raises(ValueError):
            pairs._gen_str(bad)
    with pytest.raises(NotImplementedError, match="generate_sample"):
        fleet.MultiSlotDataGenerator().generate_sample("x")
