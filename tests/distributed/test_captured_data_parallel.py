"""Data parallel loops that capture compiles: one executable a step, whatever the processes do differently."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import paddle
import paddle.distributed as dist
from paddle import nn
from paddle.distributed.launch.main import free_ports
from paddle.engine import meshed
from paddle.engine.capture import Capture
from paddle.engine.deferred import Deferred
from paddle.engine.executable import Unit
from paddle.engine.modes import set_mode

from _jobs import Job


@pytest.fixture(scope="module")
def job():
    made = Job(2)
    yield made
    made.close()


class Net(nn.Layer):
    def __init__(self, norm=None, spare=False):
        super().__init__()
        paddle.seed(3)
        self.first, self.second = nn.Linear(4, 8, bias_attr=False if norm else None), nn.Linear(8, 3)
        self.scale = self.create_parameter([], default_initializer=nn.initializer.Constant(1.5))
        self.norm = norm(8) if norm else None
        self.spare = nn.Linear(4, 3) if spare else None

    def forward(self, x, spare=False):
        y = self.first(x)
        y = self.second(nn.functional.tanh(y if self.norm is None else self.norm(y))) * self.scale
        return y + self.spare(x) if spare else y


def batch(rank, step, n=4):
    rng = np.random.RandomState(1000 * rank + step)
    return paddle.to_tensor(rng.randn(n, 4).astype("float32")), paddle.to_tensor(rng.randn(n, 3).astype("float32"))


class Loop:
    """A data parallel loop; `made` is the capture that it runs under, None without."""

    def __init__(self, rank, made, buffer=25, norm=None, spare=False):
        self.rank, self.made = rank, made
        net = Net(norm, spare)
        self.net = nn.SyncBatchNorm.convert_sync_batchnorm(net) if norm else net
        self.model = paddle.DataParallel(self.net, comm_buffer_size=buffer, last_comm_buffer_size=buffer)
        self.optimizer = paddle.optimizer.AdamW(0.01, parameters=self.net.parameters())

    def loss(self, i, n=4, spare=False):
        x, y = batch(self.rank, i, n)
        return ((self.model(x, spare) - y) ** 2).mean()

    def update(self):
        self.optimizer.step()
        self.optimizer.clear_grad()

    def step(self, i, n=4, spare=False):
        self.loss(i, n, spare).backward()
        self.update()

    def state(self):
        return {k: v.numpy() for k, v in self.net.state_dict().items()}


def both(run, *args):
    """What a function of a capture gives without one, and with one that compiles at once."""
    with set_mode(capture=None):
        plain = run(None, *args)
    made = Capture(eager=True)
    with set_mode(capture=made):
        return plain, run(made, *args)


def compare(found, rtol=2e-5, atol=2e-6):
    """All processes have the same weights, bit by bit, and those of the loop without capture."""
    for plain, captured in found:
        for name, value in captured.items():
            np.testing.assert_array_equal(value, found[0][1][name], err_msg=name)
            np.testing.assert_allclose(value, plain[name], rtol=rtol, atol=atol, err_msg=name)


def counting(made, run):
    """(programs that ran, calls that ran at once, executables over the mesh that ran apart from programs) of a function."""
    apart, at_once, programs = [], [], made.programs_run
    over_mesh, call = meshed.OverMesh.__call__, Capture.run

    def watched_over_mesh(self, *args):
        apart.append(self)
        return over_mesh(self, *args)

    def watched(self, unit, arrays):
        out = call(self, unit, arrays)
        first = out[0] if isinstance(out, tuple) else out
        if not isinstance(first, Deferred) or first.array is not None:
            at_once.append(unit.name)
        return out

    meshed.OverMesh.__call__, Capture.run = watched_over_mesh, watched
    try:
        run()
    finally:
        meshed.OverMesh.__call__, Capture.run = over_mesh, call
    return made.programs_run - programs, at_once, len(apart)


def whole_steps(rank, buffer, norm):
    counts = []

    def run(made):
        loop = Loop(rank, made, buffer, norm)

        def steps(*numbers):
            for i in numbers:
                loop.step(i)

        steps(0, 1, 2, 3, 4)
        counts.append(counting(made, lambda: steps(5, 6, 7)) if made else steps(5, 6, 7))
        return loop.state()

    return *both(run), counts[1]


@pytest.mark.parametrize("buffer, norm", [(25, None), (1e-4, None), (25, nn.BatchNorm1D)])
def test_a_step_is_one_executable(job, buffer, norm):
    found = job.run(whole_steps, buffer, norm)
    for *_, (programs, at_once, apart) in found:
        assert programs == 3 and not at_once and apart == 0
    compare([f[:2] for f in found])


def going_astray(rank, seed):
    """In each step the process does something of its own, with values of its own, and reads what it likes."""

    def run(made):
        loop, own, joint = Loop(rank, made, 1e-4), np.random.RandomState(seed + 7 * rank), np.random.RandomState(seed)
        seen = []
        for i in range(24):
            what, n, parts = own.choice(8, p=[0.44, *[0.08] * 7]), 4, 1 + (joint.rand() < 0.2)
            if what == 1:
                n = 3  # a short batch
            for part in range(parts):
                if part < parts - 1:
                    with loop.model.no_sync():
                        loop.loss(100 * i, n).backward()
                    continue
                loss = loop.loss(i, n)
                if what == 2:
                    seen.append(loss.item())
                elif what == 3 and (loss > 1.0):  # a branch on a value
                    seen.append((loss * 2).item())
                loss.backward()
            if what == 4:
                seen.append(float(loop.net.first.weight.grad.abs().sum()))
            elif what == 5:
                seen.extend((p * 2).sum() for p in loop.net.parameters())  # further calls, read much later
            elif what == 6:
                loop.net.second.bias.grad.numpy()
            loop.optimizer.step()
            if what == 7:
                seen.append(loop.net.scale.item())
            loop.optimizer.clear_grad()
            if joint.rand() < 0.1:
                total = paddle.to_tensor([float(rank)])
                dist.all_reduce(total)
                seen.append(total)
        assert made is None or made.programs_run >= 4
        return {**loop.state(), **{f"seen {i}": np.asarray(s) for i, s in enumerate(seen)}}

    return both(run)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_processes_that_do_different_things(job, seed):
    found = job.run(going_astray, seed)
    compare([tuple({k: v for k, v in f.items() if "seen" not in k} for f in pair) for pair in found])
    for plain, captured in found:
        for name, value in captured.items():
            np.testing.assert_allclose(value, plain[name], rtol=1e-4, atol=1e-5, err_msg=name)


def unused(rank):
    def run(made):
        loop, none = Loop(rank, made, 1e-4, spare=True), []
        for i in range(9):
            loop.loss(i, spare=i % 3 == 1 and rank == 1).backward()
            none.append(loop.net.spare.weight.grad is None)
            loop.optimizer.step()
            for p in loop.net.parameters():
                p.clear_gradient(set_to_zero=False)
        assert none == [i % 3 != 1 for i in range(9)]
        return loop.state()

    return both(run)


@pytest.mark.slow
def test_a_parameter_that_one_process_uses_at_times(job):
    compare(job.run(unused))


def ready_at_different_times(rank, late):
    """Process `late` gets its programs only after some steps; the other has them from the start."""
    counts = []

    def run(made):
        loop = Loop(rank, made)
        if made is not None and rank == late:
            kept, made._submit = [], lambda *args: kept.append(args)
        for i in range(10):
            if made is not None and rank == late and i == 5:
                del made._submit
            loop.step(i)
            counts.append(made is not None and made.programs_run)
        return loop.state()

    return *both(run), counts


@pytest.mark.parametrize("late", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_processes_that_compile_at_different_times(job, late):
    found = job.run(ready_at_different_times, late)
    compare([f[:2] for f in found])
    early, other = found[1 - late][2][10:], found[late][2][10:]
    assert early[4] >= 2 and other[4] == 0 and other[9] >= 2


def between(rank, what, folder):
    """Rank 0 reads its gradients before it meets rank 1, whose part of the averages waits."""

    def run(made):
        loop = Loop(rank, made)
        for i in range(5):
            loop.step(i)
        loop.loss(5).backward()
        if made is not None:
            assert loop.net.scale.grad._raw.array is None
        flag = pathlib.Path(folder) / f"{what} {made is None}"
        if rank == 0:
            loop.net.scale.grad.item()
            flag.touch()
        if what == "file":
            end = time.monotonic() + 60
            while not flag.exists() and time.monotonic() < end:
                time.sleep(0.01)
            assert flag.exists()
        elif what == "barrier":
            dist.barrier()
        elif what == "message":
            if rank == 0:
                dist.send(paddle.ones([2]), 1)
            else:
                dist.recv(paddle.zeros([2]), 0)
        elif what == "objects":
            dist.all_gather_object([], rank)
        elif what == "sum":
            total = paddle.to_tensor([rank + 1.0])
            dist.all_reduce(total)
            assert total.item() == 3.0
        loop.update()
        return loop.state()

    return both(run)


@pytest.mark.parametrize("what", ["file", "barrier", "message", "objects", "sum"])
def test_what_waits_is_sent_before_its_process_waits(job, what, tmp_path):
    compare(job.run(between, what, str(tmp_path)))


def reordered(rank):
    """An executable that would send in another order, or other messages, is no program."""
    mesh = dist.get_group(0).mesh
    double = Unit(lambda x: lax.psum(x * 2, "ranks"), "double", mesh)
    pair = Unit(lambda x: (lax.psum(x, "ranks"), lax.pmax(x * x, "ranks")), "pair", mesh)
    spec = [jax.ShapeDtypeStruct((3,), jnp.float32)]

    def made(function):
        return meshed.Program(function, mesh, (), lambda f: f)

    program = made(lambda call, x: [call(double, [x]), call(double, [x + 1])])
    text = program.compile(spec).as_text()
    errors = []
    for function in (lambda call, x: [call(pair, [x])[0]], lambda call, x: [x + 0 * call(double, [x]).shape[0]]):
        try:
            made(function).compile(spec)
        except meshed.Differs as e:
            errors.append(str(e))
    x = jnp.full(3, rank + 1.0, jnp.float32)
    if rank == 0:  # one executable meets two
        out = program.run(x)
    else:
        out = [double.compiled(x), double.compiled(x + 1)]
    return meshed.messages_in(text), errors, [np.asarray(o).tolist() for o in out]


def test_messages_of_an_executable(job):
    for messages, errors, out in job.run(reordered):
        assert [m[:3] for m in messages] == [("all-reduce", "f32[3]", "add")] * 2
        assert "pair sends 2 messages" in errors[0] and "instead of" in errors[1]
        assert out == [[6.0] * 3, [10.0] * 3]


SCRIPT = """
import os, signal, sys
sys.path[:0] = {paths!r}
import test_captured_data_parallel as t
import paddle
from paddle.engine.capture import Capture
from paddle.engine.modes import set_mode
paddle.distributed.init_parallel_env()
rank = paddle.distributed.get_rank()
made = Capture(eager=True)
with set_mode(capture=made):
    loop = t.Loop(rank, made)
    for i in range(6):
        loop.step(i)
    assert made.programs_run >= 2
    {end}
print("end of", rank)
"""
KILLED = """
    import time
    from paddle.distributed.communication import watch
    watch.waiting = lambda: time.sleep(1) or ""  # the error of the transport comes before who ended is known
    loop.loss(6).backward()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    loop.update()
    print(loop.net.scale.item())
"""
WITHOUT_A_CUT = """
    loop.loss(6).backward()
    loop.optimizer.step()
    if rank == 0:
        print("weight", loop.net.scale.item())
"""


def processes(end):
    port = free_ports(1, None)[0]
    here = pathlib.Path(__file__)
    paths = [str(here.parent), str(here.parents[1]), str(pathlib.Path(paddle.__file__).parents[1])]
    script = SCRIPT.format(paths=paths, end=end.strip())
    running = []
    for rank in range(2):
        env = {**os.environ, "PADDLE_TRAINER_ID": str(rank), "PADDLE_TRAINERS_NUM": "2"}
        env["PADDLE_MASTER"] = f"127.0.0.1:{port}"
        running.append(
            subprocess.Popen([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        )
    try:
        outs = [p.communicate(timeout=120) for p in running]
    finally:
        for p in running:
            p.kill()
            p.wait()
    return [(p.returncode, out.decode(), error.decode()) for p, (out, error) in zip(running, outs)]


def test_a_killed_process_is_named():
    (code, out, error), (killed, _, _) = processes(KILLED)
    assert killed == -signal.SIGKILL and code not in (0, -signal.SIGKILL) and "end of" not in out
    assert "rank 1" in error


def test_what_waits_at_the_end_is_sent():
    (first, out, error), (second, _, other) = processes(WITHOUT_A_CUT)
    assert first == 0 and second == 0, error + other
    assert "weight" in out and "end of 0" in out


def four(rank):
    return going_astray(rank, 5)


@pytest.mark.slow
def test_four_processes():
    job = Job(4)
    try:
        found = job.run(four)
    finally:
        job.close()
    compare([tuple({k: v for k, v in f.items() if "seen" not in k} for f in pair) for pair in found])
