"""What one process does wrong is an error in all of them, with its rank, not a wait without end."""

import datetime
import socket
import struct
import subprocess
import sys

import pytest

import paddle
import paddle.distributed as dist
from paddle import nn
from paddle.distributed.launch.main import free_ports
from paddle.distributed.sharding import group_sharded_parallel, save_group_sharded_model

from _jobs import Job, raised
from _launched import environment, finish


@pytest.fixture(scope="module")
def job():
    made = Job(2)
    yield made
    made.close()


def objects(rank):
    bad = (lambda: 0) if rank == 0 else 1  # cannot be pickled
    out = [
        raised(dist.all_gather_object, [], bad),
        raised(dist.broadcast_object_list, [bad], 0),
        raised(dist.scatter_object_list, [], [1, bad], 0),
        raised(dist.scatter_object_list, [], [1], 0),
        raised(dist.send_object_list, [bad], 1) if rank == 0 else raised(dist.recv_object_list, [None], 0),
    ]
    found = []
    dist.all_gather_object(found, rank + 10)
    return out, found


def test_objects_that_cannot_be_sent(job):
    (first, found), (second, again) = job.run(objects)
    assert found == again == [10, 11]
    assert [kind for kind, _ in first] == ["TypeError", "TypeError", "TypeError", "ValueError", "TypeError"]
    for kind, message in second:
        assert kind == "RuntimeError" and "it failed in rank 0" in message
        assert "cannot be pickled" in message or "one object for each" in message


def saving(rank, folder):
    net = nn.Linear(2, 2)
    model, optimizer, _ = group_sharded_parallel(net, paddle.optimizer.SGD(0.1, parameters=net.parameters()), "os")
    return raised(save_group_sharded_model, model, folder, optimizer)


def test_a_sharded_model_that_cannot_be_saved(job):
    (kind, _), (other, message) = job.run(saving, "/dev/null")
    assert kind == "FileExistsError" and other == "RuntimeError" and "it failed in rank 0" in message


def halves(rank):
    """Nothing is sent by a call that is refused."""
    x, y = paddle.ones([4]) * (rank + 1), paddle.zeros([4])
    out = [
        raised(dist.batch_isend_irecv, [dist.P2POp(dist.isend, x, 1 - rank), dist.P2POp(dist.isend, x, 7)]),
        raised(dist.P2POp, dist.isend, [1.0], 1 - rank),
        raised(dist.alltoall_single, y, x, [1, 3] if rank == 0 else [3, 1], [2, 2]),
        raised(dist.alltoall_single, y, x, 4, 4),
        raised(dist.all_reduce, x, [1]),
        raised(dist.new_group, [0, 1], timeout=datetime.timedelta(seconds=-1)),
    ]
    x = x + 10
    for task in dist.batch_isend_irecv([dist.P2POp(dist.isend, x, 1 - rank), dist.P2POp(dist.irecv, y, 1 - rank)]):
        task.wait()
    received = y.tolist()
    dist.alltoall_single(y, x, paddle.to_tensor([3, 1] if rank == 0 else [1, 3]), [3, 1] if rank == 0 else [1, 3])
    return [kind for kind, _ in out], received, y.tolist()


def test_a_call_that_is_refused_has_sent_nothing(job):
    kinds = ["ValueError", "ValueError", "ValueError", "TypeError", "ValueError", "TypeError"]
    assert job.run(halves) == [
        (kinds, [12.0] * 4, [11.0, 11.0, 11.0, 12.0]),
        (kinds, [11.0] * 4, [11.0, 12.0, 12.0, 12.0]),
    ]


def truth(rank):
    """The mean of truth values is what rounding down makes of it, in all forms."""
    y, x = paddle.zeros([2], "bool"), paddle.to_tensor([True, rank == 0])
    dist.all_reduce(x, dist.ReduceOp.AVG)
    dist.stream.reduce_scatter(y, paddle.to_tensor([True, True, True, rank == 0]), dist.ReduceOp.AVG)
    return x.tolist(), str(y.dtype), y.tolist()


def test_means_of_truth_values(job):
    assert job.run(truth) == [
        ([True, False], "paddle.bool", [True, True]),
        ([True, False], "paddle.bool", [True, False]),
    ]


def late(rank):
    y = paddle.zeros([2])
    if rank == 1:
        task = dist.irecv(y, 0)
        early = raised(task.wait, 0.2)
    dist.barrier()
    if rank == 0:
        dist.send(paddle.ones([2]), 1)
        return None
    task.wait(datetime.timedelta(seconds=60))
    return early[0], y.tolist()


def test_a_task_that_is_not_done_in_time_can_be_waited_for_again(job):
    assert job.run(late)[1] == ("Timeout", [1.0, 1.0])


def strangers(rank):
    """Bytes of somebody else at the ports of the job."""
    from paddle.distributed import world

    job = world.current()
    if rank == 0:
        mailbox = job.store.get("mailbox/1").decode().rsplit(":", 2)[:2]
        for host, port in (mailbox, (job.store.host, job.store.port)):
            for text in (
                b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                struct.pack("!iQIQ", 0, 0, 2, 1 << 62) + b"{}",
                b"\xff" * 64,
            ):
                with socket.create_connection((host, int(port))) as s:
                    s.sendall(text)
    dist.barrier()
    if rank == 0:
        dist.send(paddle.ones([2]), 1)
        return job.store.get("mailbox/1").decode()
    y = paddle.zeros([2])
    dist.recv(y, 0)
    return y.tolist()


def test_strangers_at_the_ports_disturb_nobody(job):
    address, received = job.run(strangers)
    assert received == [1.0, 1.0]
    assert address.startswith("127.0.0.1:")  # and listens there alone
    with pytest.raises(OSError), socket.create_connection((_other_address(), int(address.split(":")[1])), 2):
        pass


def _other_address():
    """Another address of this machine."""
    return "127.0.0.2"


# ---- what has no end ----
MISMATCH = """
import datetime, sys, time
import paddle, paddle.distributed as dist
from paddle.distributed.communication import watch
watch.LOOK, watch.PATIENCE = 0.1, 0.3
group = dist.init_parallel_env()
dist.all_reduce(paddle.ones([1]))
rank, kind = dist.get_rank(), sys.argv[1]
if kind == "shape":
    dist.all_reduce(paddle.ones([2 + rank]))
elif kind == "barrier":
    dist.all_reduce(paddle.ones([2])) if rank else dist.barrier()
else:
    short = dist.new_group([0, 1], timeout=datetime.timedelta(seconds=2))
    time.sleep(60) if rank else dist.all_reduce(paddle.ones([2]), group=short)
time.sleep(60)
"""


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("shape", "rank 0 has called all_reduce(sum, float32[2]), this process, rank 1, all_reduce(sum, float32[3])"),
        pytest.param("barrier", "rank 0 has called barrier()", marks=pytest.mark.slow),
        pytest.param("late", "not over after 2 seconds in rank 0; rank 1 did not come", marks=pytest.mark.slow),
    ],
)
def test_collectives_that_do_not_agree_end_with_the_rank(tmp_path, kind, said):
    (tmp_path / "script.py").write_text(MISMATCH)
    port = free_ports(1, None)[0]
    started = [
        subprocess.Popen(
            [sys.executable, "script.py", kind],
            cwd=tmp_path,
            env=environment(PADDLE_TRAINER_ID=str(r), PADDLE_TRAINERS_NUM="2", PADDLE_MASTER=f"127.0.0.1:{port}"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for r in range(2)
    ]
    ended = [finish(process) for process in started]
    assert all(code for code, _, _ in ended)
    assert said in "".join(err for _, _, err in ended)
