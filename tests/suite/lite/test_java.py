"""The Java classes: right results, clear exceptions, and a process that ends with the virtual machine."""

import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

import paddlelite as lite
from paddlelite.worker import serve

SOURCES = sorted(str(p) for p in (Path(lite.__file__).parent / "java").rglob("*.java"))
needs_jdk = pytest.mark.skipif(not (shutil.which("java") and shutil.which("javac")), reason="there is no JDK")

PROGRAM = """
import com.baidu.paddle.lite.*;
import java.nio.file.*;
import java.util.*;

public class Main {
    interface Call { Object call() throws Exception; }

    static void show(String name, Call call) throws Exception {
        Object found;
        try {
            found = call.call();
        } catch (RuntimeException e) {
            found = e.getClass().getSimpleName() + ": " + e.getMessage();
        }
        System.out.println(name + " = " + String.valueOf(found).replace("\\n", " "));
    }

    static PaddlePredictor open(byte[] data, int size) {
        return PaddlePredictor.createPaddlePredictor(PaddlePredictor.PaddleMobileConfig.create()
            .setModelFromBuffer(data, size).setThreads(2)
            .setPowerMode(PaddlePredictor.PowerMode.LITE_POWER_HIGH));
    }

    public static void main(String[] args) throws Exception {
        byte[] data = Files.readAllBytes(Paths.get(args[1]));
        if (args[0].equals("open")) {
            show("open", () -> open(data, data.length));
        } else if (args[0].equals("wait")) {
            open(data, data.length);
            System.out.println("ready");
            System.out.flush();
            Thread.sleep(600000);
        } else {
            all(data, args[1]);
        }
        System.exit(0);
    }

    static void all(byte[] data, String path) throws Exception {
        PaddlePredictor p = open(data, data.length);
        Tensor x = p.getInput(0);
        Tensor ids = p.getInput(1);
        show("early", () -> p.run());
        show("unread", () -> p.getOutput(0).getFloatData());
        show("unsized", () -> x.setData(new float[32]));
        show("resize", () -> x.resize(new long[] {2, 16}));
        show("misfit", () -> x.resize(new long[] {2, 15}));
        show("negative", () -> x.resize(new long[] {-1, 16}));
        show("huge", () -> x.resize(new long[] {1L << 60, 16}));
        show("null", () -> x.resize(null));
        show("short", () -> x.setData(new float[31]));
        show("empty", () -> x.setData(new float[0]));
        show("ints", () -> x.setData(new int[32]));
        float[] values = new float[32];
        for (int i = 0; i < 32; i++) values[i] = i / 16f - 1;
        show("set", () -> x.setData(values));
        show("half", () -> p.run());
        ids.resize(new long[] {2});
        ids.setData(new long[] {3, 4});
        show("run", () -> p.run());
        show("first", () -> Arrays.toString(p.getOutput(0).getFloatData()));
        show("second", () -> Arrays.toString(p.getOutput(1).getLongData()));
        show("shape", () -> Arrays.toString(p.getOutput(0).shape()));
        show("other", () -> p.getOutput(0).getIntData());
        show("readonly", () -> p.getOutput(0).setData(values));
        show("number", () -> p.getInput(2));
        show("none", () -> p.getTensor("nothing"));
        show("by name", () -> p.getTensor("ids") == ids);
        x.resize(new long[] {0, 16});
        x.setData(new float[0]);
        ids.resize(new long[] {0});
        ids.setData(new long[0]);
        show("nothing", () -> p.run() && p.getOutput(0).getFloatData().length == 0);
        show("cut", () -> open(data, data.length / 2));
        show("size", () -> open(data, data.length + 1));
        show("threads", () -> PaddlePredictor.PaddleMobileConfig.create().setThreads(0));
        show("config", () -> PaddlePredictor.createPaddlePredictor(null));
        show("unnamed", () -> PaddlePredictor.createPaddlePredictor(new MobileConfig()));
        MobileConfig official = new MobileConfig();
        official.setModelFromFile(path);
        official.setPowerMode(PowerMode.LITE_POWER_LOW);
        show("file", () -> PaddlePredictor.createPaddlePredictor(official).getInput(0).shape()[1]);
        official.setModelFromFile(path + ".gone");
        show("gone", () -> PaddlePredictor.createPaddlePredictor(official));
        official.setModelFromFile(path);
        official.setBackend("abacus");
        show("backend", () -> PaddlePredictor.createPaddlePredictor(official));
        p.close();
        show("closed", () -> p.run());
        p.close();
    }
}
"""


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("java")
    (folder / "Main.java").write_text(PROGRAM)
    made = subprocess.run(
        ["javac", "-Xlint:all", "-Werror", "-d", str(folder), str(folder / "Main.java"), *SOURCES],
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return str(folder)


def environment(python=sys.executable):
    env = dict(os.environ, PADDLE_LITE_PYTHON=python or "", PYTHONPATH=str(Path(lite.__file__).parents[1]))
    return env if python is not None else {k: v for k, v in env.items() if k != "PADDLE_LITE_PYTHON"}


def java(classes, *arguments, python=sys.executable):
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", classes, "Main", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, env=environment(python), timeout=200)
    assert ran.returncode == 0, ran.stderr
    return dict(line.split(" = ", 1) for line in ran.stdout.splitlines())


@needs_jdk
def test_calls(classes, saved):
    found = java(classes, "all", saved.nb)
    x = (np.arange(32, dtype="float32") / 16 - 1).reshape(2, 16)
    got = np.array([float(v) for v in found["first"].strip("[]").split(",")])
    np.testing.assert_allclose(got.reshape(2, 4), saved(x), rtol=1e-4, atol=1e-5)
    parts = {
        "early": "IllegalStateException: run: the input x has no value", "unread": "no value yet; run the predictor",
        "unsized": "call resize first", "resize": "true", "misfit": "has shape [-1, 16], got [2, 15]",
        "negative": "got [-1, 16]", "huge": "is too large", "null": "got null",
        "short": "of shape [2, 16] has 32 elements, got 31", "empty": "got 0", "ints": "another type", "set": "true",
        "half": "the input ids has no value", "run": "true", "second": "[4, 5]", "shape": "[2, 4]",
        "other": "another type", "readonly": "false", "number": "the model has 2", "none": "null", "by name": "true",
        "nothing": "true", "cut": "IllegalStateException: ValueError: the buffer: the file is damaged",
        "size": "IllegalArgumentException: setModelFromBuffer", "threads": "a number from 1", "config": "got null",
        "unnamed": "names no .nb file", "file": "16", "gone": ".gone cannot be read", "backend": "'abacus'",
        "closed": "is gone",
    }  # fmt: skip
    for name, part in parts.items():
        assert part in found[name], f"{name}: {found[name]}"
    assert set(found) == {*parts, "first"}


@needs_jdk
@pytest.mark.parametrize(
    ("python", "text"),
    [
        (None, "PADDLE_LITE_PYTHON must name an interpreter"),
        ("", "PADDLE_LITE_PYTHON must name an interpreter"),
        ("/no/such/python", "cannot be started: /no/such/python"),
        (shutil.which("true") or "/bin/true", "is gone"),
        (shutil.which("echo") or "/bin/echo", "paddlelite.worker"),  # gone, or its answer is no answer
    ],
)
def test_interpreters_that_are_missing_or_something_else(classes, saved, python, text):
    found = java(classes, "open", saved.nb, python=python)["open"]
    assert "IllegalStateException" in found and text in found


def children(pid):
    path = Path(f"/proc/{pid}/task")
    try:
        return [int(c) for task in path.iterdir() for c in (task / "children").read_text().split()]
    except OSError:
        return []


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@needs_jdk
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="there is no /proc")
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_the_process_ends_with_the_virtual_machine(classes, saved, sent):
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", classes, "Main", "wait", saved.nb]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as machine:
        try:
            assert machine.stdout.readline().strip() == "ready"
            (worker,) = children(machine.pid)
            machine.send_signal(sent)
            machine.wait(60)
            end = time.monotonic() + 60
            while alive(worker) and time.monotonic() < end:
                time.sleep(0.02)
            assert not alive(worker)
        finally:
            machine.kill()


# ---- the process by itself ----


def message(kind, body):
    return kind + len(body).to_bytes(8, "big") + body


def answers(*messages):
    """(kind, body) of each answer."""
    sink = BytesIO()
    serve(BytesIO(b"".join(messages)), sink)
    data, found = sink.getvalue(), []
    while data:
        size = int.from_bytes(data[1:9], "big")
        found.append((data[:1], data[9 : 9 + size]))
        data = data[9 + size :]
    return found


def load(saved, power=3, threads=1, backend=b""):
    head = struct.pack(">BiH", power, threads, len(backend)) + backend
    return message(b"L", head + Path(saved.nb).read_bytes())


def tensor(array, kind):
    head = struct.pack(f">BB{array.ndim}q", kind, array.ndim, *array.shape)
    return head + array.astype(array.dtype.newbyteorder("<")).tobytes()


def test_worker_answers(saved):
    x = np.random.RandomState(0).randn(2, 16).astype("float32")
    body = struct.pack(">I", 2) + tensor(x, 1) + tensor(np.arange(2), 7)
    (loaded, ports), (ran, out), (again, _) = answers(load(saved), message(b"R", body), message(b"R", body))
    assert (loaded, ran, again) == (b"K", b"K", b"K")
    assert ports.startswith(struct.pack(">IH", 2, 1) + b"x" + struct.pack(">BBqq", 1, 2, -1, 16))
    assert out[:4] == struct.pack(">I", 2)
    got = np.frombuffer(out[4 + 2 + 16 :][:32], "<f4").reshape(2, 4)
    np.testing.assert_allclose(got, saved(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (message(b"Q", b""), "unknown"),
        (message(b"R", b""), "too short"),
        (message(b"R", struct.pack(">I", 3)), "the model has 2 inputs"),
        (message(b"R", struct.pack(">I", 2) + tensor(np.zeros((2, 16), "f8"), 10)), "has type float32, got float64"),
        (message(b"R", struct.pack(">IBBq", 2, 1, 1, -1)), "is wrong"),
        (message(b"R", struct.pack(">IBBqq", 2, 1, 2, 2**62, 2**62)), "too short"),
        (message(b"R", struct.pack(">IBB", 2, 77, 0)), "type 77"),
        (message(b"L", b""), "too short"),
        (message(b"L", struct.pack(">BiH", 9, 1, 0)), "PowerMode"),
        (message(b"L", struct.pack(">BiH", 3, 0, 0)), "set_threads"),
        (message(b"L", struct.pack(">BiH", 3, 1, 0)), "is empty"),
        (message(b"L", struct.pack(">BiH", 3, 1, 3) + b"\xff\xff\xff"), "UnicodeDecodeError"),
    ],
)
def test_worker_answers_wrong_messages_and_goes_on(saved, wrong, text):
    body = struct.pack(">I", 2) + tensor(np.zeros((1, 16), "f4"), 1) + tensor(np.arange(1), 7)
    first, second, third = answers(load(saved), wrong, message(b"R", body))
    assert (first[0], second[0], third[0]) == (b"K", b"E", b"K")
    assert text in second[1].decode()


def test_worker_without_a_model_and_with_half_a_message():
    assert answers(message(b"R", b""))[0] == (b"E", b"ValueError: no model is loaded")
    for cut in (b"", b"L", message(b"L", bytes(8))[:12]):
        assert answers(cut) == []
