"""Collectives, transfers and objects between processes, against NumPy and values of the official package (gloo)."""

import datetime
import time
import warnings

import numpy as np
import pytest

import paddle
import paddle.distributed as dist

from _jobs import Job, raised

SIZE = 3
INTS = ["int8", "uint8", "int16", "int32", "int64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]


@pytest.fixture(scope="module")
def job():
    made = Job(SIZE)
    yield made
    made.close()


def values(rank, dtype):
    return {"bool": np.array([rank == 1, True, False, rank > 0])}.get(
        dtype, np.array([[rank + 1, 2], [3, rank]]) * (1 + 1j * rank if "complex" in dtype else 1)
    )


def tensor(rank, dtype):
    return paddle.to_tensor(values(rank, dtype)).astype(dtype)


def numbers(t):
    return t.astype("float64").numpy() if "float" in str(t.dtype) else t.numpy()


# ---- all_reduce and reduce ----
def reduce_all(rank):
    out = {}
    for dtype in [*INTS, *FLOATS, "bool", "complex64", "complex128"]:
        for op in ("SUM", "MAX", "MIN", "PROD", "AVG"):
            if "complex" in dtype and op in ("MAX", "MIN"):
                continue
            x = tensor(rank, dtype)
            task = dist.all_reduce(x, op=getattr(dist.ReduceOp, op))
            assert task.wait() is True and task.is_completed() and task.is_sync()
            out[dtype, op] = str(x.dtype), numbers(x)
    return out


def test_all_reduce_of_every_type_and_operation(job):
    want = {"SUM": np.sum, "MAX": np.max, "MIN": np.min, "PROD": np.prod, "AVG": np.mean}
    for found in job.run(reduce_all):
        for (dtype, op), (got_type, got) in found.items():
            stacked = np.stack([values(r, dtype) for r in range(SIZE)])
            if dtype == "bool":
                expected = stacked.any(0) if op in ("SUM", "MAX") else stacked.all(0)
                if op == "AVG":
                    continue
            else:
                expected = want[op](stacked, axis=0)
            if dtype in INTS:
                expected = np.floor(expected)
            tolerance = {"float16": 1e-3, "bfloat16": 1e-2}.get(dtype, 1e-6)
            assert got_type == f"paddle.{dtype}"
            np.testing.assert_allclose(got, expected, rtol=tolerance, err_msg=f"{dtype} {op}")


def reduce_shapes(rank):
    zero_d, empty, one = paddle.to_tensor(rank + 1.0), paddle.zeros([0, 3]), paddle.to_tensor([rank + 1.0])
    dist.all_reduce(zero_d)
    assert dist.all_reduce(empty).wait() and empty.shape == [0, 3]
    dist.reduce(one, dst=2)
    base = paddle.arange(4.0).reshape([2, 2])
    column = base[:, 0]
    dist.all_reduce(column)  # what is in the memory of another tensor
    task = dist.all_reduce(x := paddle.to_tensor([1.0]), sync_op=False)
    assert not task.is_sync() and task.wait() is True
    leaf = paddle.ones([2])
    leaf.stop_gradient = False
    y = leaf * 2
    dist.all_reduce(y)  # no gradient flows through it, as officially
    y.sum().backward()
    return zero_d.item(), one.item(), base.tolist(), x.item(), y.tolist(), leaf.grad.tolist(), zero_d.shape


def test_all_reduce_of_scalars_empty_tensors_views_and_leaves(job):
    for rank, got in enumerate(job.run(reduce_shapes)):
        assert got == (6, 6 if rank == 2 else rank + 1, [[0, 1], [6, 3]], 3, [6, 6], [2, 2], [])


# ---- moving values ----
def move(rank):
    out = {}
    for dtype in ("float32", "bfloat16", "bool", "int64", "complex64"):
        x = tensor(rank, dtype)
        gathered = []
        dist.all_gather(gathered, x)
        given = [paddle.zeros(x.shape, dtype) for _ in range(SIZE)]
        kept = given[1]
        dist.all_gather(given, x)
        assert given[1] is kept
        to_two = []
        dist.gather(x, to_two if rank == 2 else None, dst=2)
        spread = x.clone()
        dist.broadcast(spread, src=1)
        part = paddle.zeros_like(x)
        dist.scatter(part, [tensor(10 * r, dtype) for r in range(SIZE)] if rank == 1 else None, src=1)
        swapped = []
        dist.alltoall(swapped, [tensor(rank + 10 * r, dtype) for r in range(SIZE)])
        out[dtype] = [[numbers(t) for t in group] for group in (gathered, given, to_two, [spread], [part], swapped)]
    return out


def test_gather_broadcast_scatter_alltoall(job):
    for rank, found in enumerate(job.run(move)):
        for dtype, (gathered, given, to_two, spread, part, swapped) in found.items():

            def same(got, ranks):
                assert len(got) == len(ranks)
                for g, r in zip(got, ranks):
                    np.testing.assert_array_equal(g, values(r, dtype), err_msg=dtype)

            same(gathered, [0, 1, 2])
            same(given, [0, 1, 2])
            same(to_two, [0, 1, 2] if rank == 2 else [])
            same(spread, [1])
            same(part, [10 * rank])
            same(swapped, [10 * rank + r for r in range(SIZE)])


def bits(rank):
    x = paddle.to_tensor(np.array([-0.0, np.nan, np.inf, 1e-40], "float32")) if rank == 0 else paddle.ones([4])
    dist.broadcast(x, 0)
    empty = []
    dist.all_gather(empty, paddle.zeros([0, 2]))
    scalars = []
    dist.all_gather(scalars, paddle.to_tensor(rank))
    return x.numpy().tobytes(), [e.shape for e in empty], [s.tolist() for s in scalars]


def test_broadcast_keeps_every_bit(job):
    want = np.array([-0.0, np.nan, np.inf, 1e-40], "float32").tobytes()
    for got in job.run(bits):
        assert got == (want, [[0, 2]] * SIZE, [0, 1, 2])


def reduce_scatter(rank):
    out = []
    for op in ("SUM", "AVG", "MAX", "MIN", "PROD"):
        part = paddle.zeros([2])
        dist.reduce_scatter(
            part, [paddle.to_tensor([r + 1.0, rank + 1.0]) for r in range(SIZE)], getattr(dist.ReduceOp, op)
        )
        out.append(part.tolist())
    whole, flags = paddle.zeros([1]), paddle.zeros([1], "bool")
    dist.stream.reduce_scatter(whole, paddle.to_tensor([1.0, 2.0, 3.0]) * (rank + 1))
    dist.stream.reduce_scatter(flags, paddle.to_tensor([rank == 1, False, True]), use_calc_stream=True)
    return out, whole.tolist(), flags.tolist()


def test_reduce_scatter(job):
    for rank, (out, whole, flags) in enumerate(job.run(reduce_scatter)):
        k = rank + 1.0
        assert out == [[3 * k, 6], [k, 2], [k, 3], [k, 1], [k**3, 6]]
        assert whole == [6 * k] and flags == [rank != 1]


def alltoall_single(rank):
    even = paddle.zeros([SIZE])
    dist.alltoall_single(even, paddle.to_tensor([10.0 * rank + r for r in range(SIZE)]))
    rows = [r + 1 for r in range(SIZE)]  # rank r gets r + 1 rows from each
    source = paddle.concat([paddle.full([n, 2], 10 * rank + r) for r, n in enumerate(rows)])
    into = paddle.zeros([SIZE * (rank + 1), 2], source.dtype)
    dist.alltoall_single(into, source, rows, [rank + 1] * SIZE)
    later = paddle.zeros_like(into)
    task = dist.stream.alltoall_single(later, source, [rank + 1] * SIZE, rows, sync_op=False)
    task.wait()
    stacked, both = paddle.zeros([SIZE, 2]), paddle.zeros([SIZE])
    dist.stream.all_gather(stacked, paddle.to_tensor([float(rank), 1.0]))
    dist.stream.alltoall(both, paddle.to_tensor([10.0 * rank + r for r in range(SIZE)]))
    assert (later == into).all()
    return even.tolist(), into[:, 0].tolist(), stacked.tolist(), both.tolist()


def test_alltoall_single_with_and_without_sizes(job):
    for rank, got in enumerate(job.run(alltoall_single)):
        even = [10.0 * r + rank for r in range(SIZE)]
        uneven = [10 * r + rank for r in range(SIZE) for _ in range(rank + 1)]
        assert got == (even, uneven, [[0, 1], [1, 1], [2, 1]], even)


# ---- point to point ----
def ring(rank):
    after, before = (rank + 1) % SIZE, (rank - 1) % SIZE
    x, y, z = paddle.full([2], rank, "bfloat16"), paddle.zeros([2], "bfloat16"), paddle.zeros([1])
    dist.send(x, after)  # all send before anyone receives
    dist.recv(y, before)
    tasks = dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, paddle.to_tensor([rank + 0.5]), before), dist.P2POp(dist.irecv, z, after)]
    )
    for task in tasks:
        assert task.wait() is True and task.is_completed()
    first, second = paddle.zeros([1]), paddle.zeros([1])
    dist.isend(paddle.to_tensor([1.0]), after)
    dist.isend(paddle.to_tensor([2.0]), after)
    one, two = dist.irecv(first, before), dist.irecv(second, before)
    two.wait(), one.wait()  # in the order in which they were asked for, not waited for
    return y.astype("float32").tolist(), z.item(), first.item(), second.item()


def test_point_to_point(job):
    for rank, got in enumerate(job.run(ring)):
        assert got == ([(rank - 1) % SIZE] * 2, (rank + 1) % SIZE + 0.5, 1, 2)


def mismatch(rank):
    if rank == 0:
        dist.send(paddle.ones([3]), 1)
        dist.send(paddle.ones([2], "int64"), 1)
    elif rank == 1:
        return raised(dist.recv, paddle.zeros([2]), 0), raised(dist.recv, paddle.zeros([2]), 0)


def test_a_message_that_does_not_fit_is_an_error(job):
    wrong_shape, wrong_type = job.run(mismatch)[1]
    assert wrong_shape[0] == "ValueError" and "rank 0 sent float32[3]" in wrong_shape[1]
    assert wrong_type[0] == "ValueError" and "int64[2]" in wrong_type[1] and "float32[2]" in wrong_type[1]


# ---- objects ----
def objects(rank):
    everyone, lists, mine = [], [rank, {"rank": rank}], []
    dist.all_gather_object(everyone, {"rank": rank, "data": np.arange(rank)})
    dist.broadcast_object_list(lists, src=2)
    dist.scatter_object_list(mine, [f"for {r}" for r in range(SIZE)], src=1)
    sent = [None, None]
    if rank == 0:
        dist.send_object_list(["a", datetime.date(2020, 1, 2)], dst=2)
    elif rank == 2:
        assert dist.recv_object_list(sent, src=0) == 0
    return [(o["rank"], len(o["data"])) for o in everyone], lists, mine, sent


def test_objects(job):
    for rank, got in enumerate(job.run(objects)):
        sent = ["a", datetime.date(2020, 1, 2)] if rank == 2 else [None, None]
        assert got == ([(0, 0), (1, 1), (2, 2)], [2, {"rank": 2}], [f"for {rank}"], sent)


# ---- groups ----
def groups(rank):
    outer, lonely, everyone = dist.new_group([2, 0]), dist.new_group([1]), dist.new_group()
    about = outer.rank, outer.ranks, outer.nranks, outer.is_member(), outer.get_group_rank(2), dist.get_rank(outer)
    x = paddle.to_tensor([rank + 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        task = dist.all_reduce(x, group=outer)
        dist.broadcast(y := x.clone(), src=2, group=outer)
        dist.barrier(outer)
    dist.all_reduce(z := paddle.to_tensor([rank + 1.0]), group=everyone)
    if rank == 1:
        dist.all_reduce(z, group=lonely)
    if rank == 0:
        dist.send(x, 2, group=outer)
    elif rank == 2:
        dist.recv(x, 0, group=outer)
    found = dist.get_group(outer.id) is outer
    dist.destroy_process_group(outer)
    gone = raised(dist.all_reduce, x, group=outer) if rank != 1 else None
    return about, task is None, x.item(), y.item(), z.item(), found, gone


def test_groups(job):
    zero, one, two = job.run(groups)
    assert zero[0] == (0, [0, 2], 2, True, 1, 0) and two[0] == (1, [0, 2], 2, True, 1, 1)
    assert one[0] == (-1, [0, 2], 2, False, -1, -1)
    assert zero[1:6] == (False, 4, 4, 6, True) and two[1:6] == (False, 4, 4, 6, True)
    assert one[1:6] == (True, 2, 2, 6, True)
    assert zero[6][0] == "RuntimeError" and "destroyed" in zero[6][1]


def outside(rank):
    group = dist.new_group([0, 1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = dist.all_reduce(paddle.ones([1]), group=group)
    return result is None, [str(w.message) for w in caught]


def test_a_process_outside_of_a_group_is_warned(job):
    none, said = job.run(outside)[2]
    assert none and "not a member" in said[0]


def late(rank):
    start = time.monotonic()
    if rank == 1:
        time.sleep(1.5)
        return None
    kind, text = raised(dist.barrier, timeout=0.5)
    return kind, text, time.monotonic() - start


def test_barrier_names_who_did_not_come(job):
    kind, text, seconds = job.run(late)[0]
    assert kind == "Timeout" and "rank 1 of the group [0, 1, 2] did not come" in text and 0.4 < seconds < 60


def after_a_missed_barrier(rank):  # rank 1 has to catch up in the numbering of the barriers
    if rank == 1:
        dist.get_group().next_number()
    dist.barrier()
    return True


def test_the_job_goes_on_after_a_missed_barrier(job):
    assert job.run(after_a_missed_barrier) == [True] * SIZE


# ---- agreement ----
def disagree(rank):
    paddle.set_flags({"FLAGS_check_collectives": True})
    try:
        dist.all_reduce(paddle.ones([2]))
        return [
            raised(dist.all_reduce, paddle.ones([2 + (rank == 1)])),
            raised(dist.all_reduce, paddle.ones([2], "int32" if rank == 2 else "float32")),
            raised(dist.broadcast if rank == 0 else dist.all_reduce, paddle.ones([2]), 0),
        ]
    finally:
        paddle.set_flags({"FLAGS_check_collectives": False})


def test_disagreement_names_the_rank_instead_of_hanging(job):
    for shape, dtype, function in job.run(disagree):
        assert shape[0] == dtype[0] == function[0] == "RuntimeError"
        assert "rank 1 calls all_reduce(sum, float32[3])" in shape[1] and "(rank 0, 2)" in shape[1]
        assert "rank 2 calls all_reduce(sum, int32[2])" in dtype[1]
        assert "rank 0 calls broadcast(0, float32[2])" in function[1]


# ---- misuse ----
def misuse(rank):
    x, complexes = paddle.ones([2]), paddle.ones([2], "complex64")
    return [
        raised(dist.all_reduce, [1.0]),
        raised(dist.all_reduce, x, "sum"),
        raised(dist.all_reduce, x, 9),
        raised(dist.all_reduce, complexes, dist.ReduceOp.MAX),
        raised(dist.all_reduce, x, group=3),
        raised(dist.broadcast, x, 7),
        raised(dist.broadcast, x, -1),
        raised(dist.reduce, x, "0"),
        raised(dist.all_gather, [paddle.zeros([2])], x),
        raised(dist.all_gather, [paddle.zeros([3])] * SIZE, x),
        raised(dist.all_gather, (), x),
        raised(dist.scatter, x, [x] * 2, rank),
        raised(dist.alltoall, [], [x, x, paddle.ones([3])]),
        raised(dist.alltoall_single, x, x),
        raised(dist.alltoall_single, paddle.ones([3]), paddle.ones([3]), [1, 1, 2]),
        raised(dist.reduce_scatter, x, []),
        raised(dist.send, x, rank),
        raised(dist.new_group, [0, 5]),
        raised(dist.new_group, [0, 0]),
        raised(dist.stream.all_reduce, x, sync_op=False, use_calc_stream=True),
        raised(dist.P2POp, dist.send, x, 0),
        raised(dist.batch_isend_irecv, []),
        raised(dist.all_gather_object, [], lambda: 0),
        raised(dist.gather, x, None, rank) if SIZE == 1 else ("ValueError", "gather"),
    ]


def test_misuse_is_explained(job):
    for found in job.run(misuse):
        classes = [kind for kind, _ in found]
        special = {4: "TypeError", 19: "RuntimeError", 20: "RuntimeError", 21: "RuntimeError", 22: "TypeError"}
        assert classes == [special.get(i, "ValueError") for i in range(len(classes))], list(zip(classes, found))


def compiles(rank):
    dist.all_reduce(paddle.ones([7]))
    with paddle.utils.count_compiles() as count:
        for _ in range(5):
            x = paddle.ones([7])
            dist.all_reduce(x)
            (x + x).numpy()
    again = count.compiles
    with paddle.utils.count_compiles() as count:
        (paddle.ones([7]) + x).numpy()
    return again, count.compiles


def test_a_collective_compiles_once_and_its_result_is_like_any_other_tensor(job):
    for again, mixed in job.run(compiles):
        assert again <= 1 and mixed == 0


# ---- one process ----
def test_before_the_start():
    if dist.is_initialized():  # by a test before
        dist.destroy_process_group()
    assert not dist.is_initialized() and dist.get_rank() == 0 and dist.get_world_size() == 1 and dist.is_available()
    with pytest.raises(RuntimeError, match="init_parallel_env"):
        dist.all_reduce(paddle.ones([2]))
    with pytest.raises(RuntimeError, match="init_parallel_env"):
        dist.barrier()
    with pytest.warns(UserWarning, match="no group 0"):
        assert dist.get_group() is None
    group = dist.new_group([0])
    assert (group.rank, group.nranks, group.is_member()) == (0, 1, False)
    env = dist.ParallelEnv()
    assert (env.rank, env.world_size, env.nranks, env.trainer_endpoints) == (0, 1, 1, [""])


def test_a_job_of_one_process():
    try:
        group = dist.init_parallel_env()
        assert repr(group) == "rank: 0, nranks: 1, id: 0, ranks: 0; name: _default_pg" and dist.is_initialized()
        x = paddle.to_tensor([1.0, 2.0])
        found, objects = [], []
        dist.all_reduce(x, dist.ReduceOp.AVG), dist.broadcast(x, 0), dist.all_gather(found, x), dist.barrier()
        dist.all_gather_object(objects, "me")
        assert x.tolist() == [1, 2] and found[0].tolist() == [1, 2] and objects == ["me"]
        assert dist.init_parallel_env() is group
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()


def test_store():
    from paddle.distributed.store import TCPStore

    store = TCPStore("127.0.0.1", 0, is_master=True)
    other = TCPStore("127.0.0.1", store.port, timeout=5)
    other.set("key", b"\x00value")
    assert store.get("key") == b"\x00value" and store.add("n", 3) == 3 and other.add("n", -1) == 2
    assert other.missing(["key", "a", "b"], 0) == ["a", "b"] and store.delete("key") and not store.delete("key")
    start = time.monotonic()
    with pytest.raises(TimeoutError, match="'nothing'"):
        other.get("nothing", 0.2)
    assert 0.1 < time.monotonic() - start < 60
    with pytest.raises(RuntimeError, match="no process answered"):
        TCPStore("127.0.0.1", 1, timeout=0.2)
    for each in (other, store):
        each.close()
