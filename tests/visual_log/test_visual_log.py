import struct
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import paddle
from paddle.visual_log import LogReader, LogWriter
from paddle.visual_log.records import crc32c, frame


@pytest.fixture
def log(tmp_path):
    """A log with a record of every kind; returns the path of the file."""
    rng = np.random.RandomState(0)
    labels, scores = rng.randint(0, 2, 50), rng.rand(50)
    with LogWriter(tmp_path / "run") as w:
        for step in range(5):
            w.add_scalar("train/loss", 1 / (step + 1), step, walltime=100.0 + step)
        w.add_scalar("from tensor", paddle.to_tensor(2.5), 3)
        w.add_image("picture", np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3), 1)
        w.add_image("grey", np.linspace(0, 1, 12, dtype="float32").reshape(3, 4), 1, dataformats="HW")
        w.add_image_matrix("sheet", [np.full((2, 2, 3), i, np.uint8) for i in range(3)], 1, rows=2)
        w.add_histogram("weights", np.array([0.0, 1.0, 1.0, 4.0, np.nan]), 2, buckets=4)
        w.add_text("note", "**hello** ä", 7)
        w.add_audio("sound", np.sin(np.arange(80) / 4), 1, 8000)
        w.add_pr_curve("pr", labels, scores, 1, num_thresholds=11)
        w.add_roc_curve("roc", labels, scores, 1, num_thresholds=11)
        w.add_hparams({"lr": 0.1, "name": "adam", "amp": True}, ["train/loss"])
        w.add_embeddings("points", rng.rand(3, 2), ["a", "b", "c"], step=1)
        w.add_graph(
            paddle.nn.Sequential(paddle.nn.Linear(4, 3), paddle.nn.ReLU()),
            [paddle.static.InputSpec([None, 4], name="x")],
        )
    return w.file_name


def test_checksum():
    # RFC 3720, B.4
    assert crc32c(b"") == 0
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(bytes([255] * 32)) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E
    assert crc32c(b"123456789") == 0xE3069283


def test_read_back(log):
    r = LogReader(file_path=log)
    tags = r.get_tags()
    assert tags["scalar"] == ["train/loss", "from tensor"] and tags["image"] == ["picture", "grey", "sheet"]
    curve = r.get_data("scalar", "train/loss")
    assert [c.id for c in curve] == list(range(5)) and [c.timestamp for c in curve] == [
        100000 + 1000 * i for i in range(5)
    ]
    np.testing.assert_allclose([c.value for c in curve], [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5], rtol=1e-7)
    picture = r.get_data("image", "picture")[0].value.numpy()
    assert np.array_equal(picture, np.arange(72, dtype=np.uint8).reshape(4, 6, 3))
    grey = r.get_data("image", "grey")[0].value.numpy()
    assert np.array_equal(grey[..., 0], np.round(np.linspace(0, 1, 12).reshape(3, 4) * 255))
    sheet = r.get_data("image", "sheet")[0].value.numpy()
    assert sheet.shape == (4, 4, 4) and sheet[2, 0, 0] == 2 and sheet[3, 3, 3] == 0
    h = r.get_data("histogram", "weights")[0].value
    assert (h.min, h.max, h.num, h.sum, h.sum_squares) == (0, 4, 4, 6, 18)
    assert h.limits.tolist() == [1, 2, 3, 4] and h.counts.tolist() == [1, 2, 0, 1]
    assert r.get_data("text", "note")[0].value == "**hello** ä"
    assert r.get_data("audio", "sound")[0].value.frames == 80
    assert r.get_data("embeddings", "points")[0].value.shape == (3, 2)
    assert len(tags["hyper_parameters"]) == 3 and tags["graph"] == ["graph"]


def test_curves_of_precision_and_recall(log):
    from sklearn.metrics import precision_score, recall_score

    rng = np.random.RandomState(0)
    labels, scores = rng.randint(0, 2, 50), rng.rand(50)
    r = LogReader(file_path=log)
    tp, fp, tn, fn, precision, recall = r.get_data("pr_curve", "pr")[0].value
    for i in (0, 3, 7):
        said = scores >= i / 10
        assert tp[i] == (said & (labels == 1)).sum() and fp[i] == (said & (labels == 0)).sum()
        assert tn[i] + fp[i] == (labels == 0).sum() and tp[i] + fn[i] == (labels == 1).sum()
        np.testing.assert_allclose(precision[i], precision_score(labels, said), rtol=1e-6)
        np.testing.assert_allclose(recall[i], recall_score(labels, said), rtol=1e-6)
    *_, true_rate, false_rate = r.get_data("roc_curve", "roc")[0].value
    assert true_rate[0] == false_rate[0] == 1


def test_tensorboard_reads_it(log):
    pytest.importorskip("tensorboard")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        events = EventAccumulator(log.rsplit("/", 1)[0], size_guidance={"tensors": 0, "scalars": 0, "images": 0})
        events.Reload()
    tags = events.Tags()
    assert tags["graph"]
    # TensorBoard turns old kinds into tensors, except in the accumulator's own lists
    scalars = events.Scalars("train/loss")
    assert [s.step for s in scalars] == list(range(5)) and scalars[1].value == 0.5 and scalars[2].wall_time == 102.0
    assert events.Images("picture")[0].width == 6 and events.Images("picture")[0].height == 4
    histogram = events.Histograms("weights")[0].histogram_value
    assert list(histogram.bucket) == [1, 2, 0, 1] and list(histogram.bucket_limit) == [1, 2, 3, 4]
    assert events.Audio("sound")[0].sample_rate == 8000 and events.Audio("sound")[0].length_frames == 80
    assert events.Tensors("note")[0].tensor_proto.string_val[0].decode() == "**hello** ä"
    assert events.SummaryMetadata("note").plugin_data.plugin_name == "text"
    curve = events.Tensors("pr")[0].tensor_proto
    assert [d.size for d in curve.tensor_shape.dim] == [6, 11]
    assert events.SummaryMetadata("pr").plugin_data.plugin_name == "pr_curves"
    nodes = {n.name: n for n in events.Graph().node}
    assert nodes["x"].op == "input" and {"linear", "relu"} <= {n.op for n in nodes.values()}
    relu = next(n for n in nodes.values() if n.op == "relu")
    assert nodes[relu.input[0]].op == "linear" and "x" in nodes[relu.input[0]].input
    from tensorboard.plugins.hparams import metadata

    content = events.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    start = metadata.parse_session_start_info_plugin_data(content)
    assert start.hparams["lr"].number_value == 0.1 and start.hparams["name"].string_value == "adam"
    assert start.hparams["amp"].bool_value is True
    content = events.SummaryMetadata("_hparams_/experiment").plugin_data.content
    experiment = metadata.parse_experiment_plugin_data(content)
    assert experiment.metric_infos[0].name.tag == "train/loss"
    from google.protobuf import text_format
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

    folder = log.rsplit("/", 1)[0]
    assert Path(folder, "points", "00001", "metadata.tsv").read_text() == "a\nb\nc\n"
    config = text_format.Parse(Path(folder, "projector_config.pbtxt").read_text(), ProjectorConfig())
    assert np.loadtxt(f"{folder}/{config.embeddings[0].tensor_path}").shape == (3, 2)


def test_names_of_embeddings_are_quoted(tmp_path):
    pytest.importorskip("tensorboard")
    from google.protobuf import text_format
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

    with LogWriter(tmp_path) as w:
        w.add_embeddings('a "b" \\c', np.zeros((2, 2)))
    config = text_format.Parse((tmp_path / "projector_config.pbtxt").read_text(), ProjectorConfig())
    assert config.embeddings[0].tensor_name == 'a "b" \\c:0'


def test_file_names_and_continuing(tmp_path):
    first, second = LogWriter(tmp_path), LogWriter(tmp_path)
    assert first.file_name != second.file_name and "vdlrecords." in first.file_name and "tfevents" in first.file_name
    first.add_scalar("a", 1, 0)
    first.close()
    first.add_scalar("a", 2, 1)  # goes on in the same file
    first.close()
    second.add_scalar("b", float("inf"), 0)
    second.flush()
    assert [r.value for r in LogReader(file_path=first.file_name).get_data("scalar", "a")] == [1, 2]
    assert LogReader(tmp_path).get_tags()["scalar"] == ["a", "b"]
    second.close()
    with LogWriter(tmp_path, file_name="vdlrecords.mine") as w:
        w.add_scalar("a", 1, -5)
    with LogWriter(tmp_path, file_name="vdlrecords.mine") as w:
        w.add_scalar("a", 2, 6)
    assert [r.id for r in LogReader(file_path=str(tmp_path / "vdlrecords.mine")).get_data("scalar", "a")] == [-5, 6]
    with LogWriter(tmp_path / "many") as w:
        w.add_scalars("loss", {"train": 1.0, "test": 2.0}, 0)
        w.add_scalars("accuracy", {"test": 3.0}, 0)
    assert LogReader(tmp_path / "many" / "loss_test").get_data("scalar", "loss")[0].value == 2
    assert LogReader(tmp_path / "many" / "loss_test").get_tags()["scalar"] == ["loss"]
    assert LogReader(tmp_path / "many" / "accuracy_test").get_data("scalar", "accuracy")[0].value == 3


def scalars_of_tensorboard(folder):
    pytest.importorskip("tensorboard")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
        events.Reload()
    return [(e.step, e.value) for e in events.Scalars("a")]


def test_continuing_behind_half_a_record(tmp_path):
    name = "vdlrecords.tfevents"
    with LogWriter(tmp_path, file_name=name) as w:
        for step in range(3):
            w.add_scalar("a", step, step)
    data, path = Path(w.file_name).read_bytes(), tmp_path / name
    last = len(data) - len(data) % 16
    for end in range(last - 60, len(data), 7):
        path.write_bytes(data[:end])
        kept = [(r.id, r.value) for r in LogReader(file_path=str(path)).get_data("scalar", "a")]
        with LogWriter(tmp_path, file_name=name) as w:
            w.add_scalar("a", 9, 9)
        assert scalars_of_tensorboard(tmp_path) == [*kept, (9, 9.0)]
        assert len(LogReader(file_path=str(path)).get_data("scalar", "a")) == len(kept) + 1
    path.write_bytes(b"\x01" * 40)
    with pytest.raises(ValueError, match="damaged"):
        LogWriter(tmp_path, file_name=name)


def test_a_writer_that_is_killed(tmp_path):
    """Everything but the records that waited in memory is there, for TensorBoard too."""
    program = f"""
import itertools, sys
from paddle.visual_log import LogWriter
with LogWriter({str(tmp_path)!r}, max_queue=3) as w:
    for step in itertools.count():
        w.add_scalar("a", step, step)
        print(step, flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        for _ in range(50):
            seen = int(process.stdout.readline())
        process.kill()
        seen = max([seen, *map(int, process.stdout.read().split())])
    finally:
        process.kill()
        process.communicate(timeout=60)
    found = scalars_of_tensorboard(tmp_path)
    assert found == [(i, float(i)) for i in range(len(found))] and len(found) >= seen - 3


def test_many_threads(tmp_path):
    with LogWriter(tmp_path) as w:
        threads = [
            threading.Thread(target=lambda k=k: [w.add_scalar(f"t{k}", i, i) for i in range(200)]) for k in range(4)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    r = LogReader(tmp_path)
    for k in range(4):
        assert [c.id for c in r.get_data("scalar", f"t{k}")] == list(range(200))


def test_wrong_arguments(tmp_path):
    with LogWriter(tmp_path) as w:
        for call in (
            lambda: w.add_scalar("", 1, 0),
            lambda: w.add_scalar("a", [1, 2], 0),
            lambda: w.add_scalar("a", "x", 0),
            lambda: w.add_scalar("a", 1, 0.5),
        ):
            with pytest.raises(TypeError):
                call()
        for call in (
            lambda: w.add_image("a", np.zeros((2, 2, 5)), 0),
            lambda: w.add_image("a", np.zeros((2, 2)), 0),
            lambda: w.add_histogram("a", [], 0),
            lambda: w.add_pr_curve("a", [1], [0.5, 0.5], 0),
            lambda: w.add_embeddings("a", np.zeros(3)),
            lambda: w.add_embeddings("a", np.zeros((3, 2)), ["x"]),
            lambda: w.add_image_matrix("a", [], 0),
            lambda: LogReader(tmp_path).get_data("scalar", "nothing"),
        ):
            with pytest.raises(ValueError):
                call()
    with pytest.raises(ValueError, match="vdlrecords"):
        LogWriter(tmp_path, file_name="other.log")
    with pytest.raises(FileNotFoundError):
        LogReader(tmp_path / "nowhere")


def test_damaged_and_unfinished_files(tmp_path):
    with LogWriter(tmp_path) as w:
        w.add_scalar("a", 1, 0)
        w.add_scalar("a", 2, 1)
    data = Path(w.file_name).read_bytes()
    for end in range(len(data)):  # a writer that is still at work
        (tmp_path / "part").write_bytes(data[:end])
        LogReader(file_path=str(tmp_path / "part"))
    for at in range(len(data)):
        bad = bytearray(data)
        bad[at] ^= 0x41
        (tmp_path / "bad").write_bytes(bad)
        with pytest.raises(ValueError, match="damaged"):
            LogReader(file_path=str(tmp_path / "bad"))
    for content in (b"\x08", b"\x0a\xff\x01x", b"\xff" * 12, b"\x0b", struct.pack("<B", 0x2A) + b"\x02\x0a\x05"):
        (tmp_path / "odd").write_bytes(frame(content))
        with pytest.raises(ValueError):
            LogReader(file_path=str(tmp_path / "odd"))
