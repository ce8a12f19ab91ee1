"""paddle.geometric against NumPy and values of the official package."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle
from tests._check import check_grad, compare

g, t = paddle.geometric, paddle.to_tensor
X = np.array([[1, 2], [1, 3], [5, 1], [0, 0]], "float32")
SRC, DST = t([0, 1, 2, 0, 0]), t([1, 2, 1, 0, 1])
REDUCE = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min}
MESSAGE = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}


def reduced(rows, index, n, kind):
    out = np.zeros((n, *rows.shape[1:]), rows.dtype)
    for i in range(n):
        if (index == i).any():
            out[i] = REDUCE[kind](rows[index == i], axis=0)
    return out


@pytest.mark.parametrize("kind", REDUCE)
@settings(max_examples=15, deadline=None)
@given(ids=st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_segments(kind, ids):
    ids = np.sort(np.array(ids))
    x = np.random.RandomState(len(ids)).randn(len(ids), 2).astype("float32")
    got = getattr(g, f"segment_{kind}")(t(x), t(ids))
    compare(got, reduced(x, ids, ids[-1] + 1, kind))


def test_segments_of_integers_truncate_and_equal_maxima_all_get_the_gradient():
    ids = t([0, 0, 2, 2])
    assert g.segment_mean(t(X.astype("int64")), ids).tolist() == [[1, 2], [0, 0], [2, 0]]
    x = t(X, stop_gradient=False)
    g.segment_max(x, ids).sum().backward()
    assert x.grad.tolist() == [[1, 0], [1, 1], [1, 1], [0, 0]]


def test_empty_segments():
    assert g.segment_sum(paddle.zeros([0, 2]), paddle.zeros([0], "int64")).shape == [0, 2]


@pytest.mark.parametrize(
    "ids, error",
    [
        ([2, 0, 1, 1], ValueError),
        ([-1, 0, 0, 0], IndexError),
        ([0, 0], ValueError),
        ([0.0, 1, 1, 1], TypeError),
        ([[0, 1], [1, 1]], ValueError),
    ],
)
def test_segments_refuse(ids, error):
    with pytest.raises(error, match="segment_sum"):
        g.segment_sum(t(X), t(ids))


@pytest.mark.parametrize("kind", REDUCE)
def test_send_u_recv(kind):
    compare(g.send_u_recv(t(X), SRC, DST, kind), reduced(X[SRC.numpy()], DST.numpy(), 4, kind))
    compare(g.send_u_recv(t(X), SRC, DST, kind, out_size=t([3])), reduced(X[SRC.numpy()], DST.numpy(), 3, kind))
    source, destination = t([0, 1, 2, 0]), t([1, 2, 1, 0])  # no edge twice: equal messages each get the whole gradient
    check_grad(lambda x: g.send_u_recv(x, source, destination, kind), np.random.RandomState(0).randn(4, 2), order=2)


@pytest.mark.parametrize("message", MESSAGE)
@pytest.mark.parametrize("kind", REDUCE)
def test_send_ue_recv(message, kind):
    x, y = X + 1, np.arange(1, 6, dtype="float32")
    want = reduced(MESSAGE[message](x[SRC.numpy()], y[:, None]), DST.numpy(), 4, kind)
    compare(g.send_ue_recv(t(x), t(y), SRC, DST, message, kind), want)
    compare(g.send_ue_recv(t(x), t(y[:, None]), SRC, DST, message, kind), want)


def test_gradients_of_messages():
    rng = np.random.RandomState(1)
    check_grad(lambda x, y: g.send_ue_recv(x, y, SRC, DST, "mul", "max"), rng.rand(4, 2), rng.rand(5, 1))
    check_grad(lambda x, y: g.send_uv(x, y, SRC, DST, "div"), rng.rand(4, 2), rng.rand(4, 1) + 1)


@pytest.mark.parametrize("message", MESSAGE)
def test_send_uv(message):
    compare(g.send_uv(t(X), t(X + 1), SRC, DST, message), MESSAGE[message](X[SRC.numpy()], X[DST.numpy()] + 1))


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: g.send_u_recv(t(X), SRC, DST, "foo"), ValueError),
        (lambda: g.send_u_recv(t(X), SRC, t([0])), ValueError),
        (lambda: g.send_u_recv(t(X), t([0, 9]), t([0, 1])), IndexError),
        (lambda: g.send_u_recv(t(X), t([0, -1]), t([0, 1])), IndexError),
        (lambda: g.send_u_recv(t(X), SRC, DST, out_size=2), IndexError),
        (lambda: g.send_u_recv(t(X), t([0.0]), t([0])), TypeError),
        (lambda: g.send_ue_recv(t(X), t(X), SRC, DST), ValueError),
        (lambda: g.send_uv(t(X), t(X), SRC, DST, "foo"), ValueError),
    ],
)
def test_messages_refuse(call, error):
    with pytest.raises(error, match="send_u"):
        call()


NEIGHBORS, COUNT = [8, 9, 0, 4, 7, 6, 7], [2, 3, 2]


def test_reindex_as_officially():
    got = g.reindex_graph(t([0, 1, 2]), t(NEIGHBORS), t(COUNT, dtype="int32"))
    assert [p.tolist() for p in got] == [[3, 4, 0, 5, 6, 7, 6], [0, 0, 1, 1, 1, 2, 2], [0, 1, 2, 8, 9, 4, 7, 6]]
    got = g.reindex_heter_graph(t([0, 1, 2]), [t(NEIGHBORS), t([0, 2, 3, 5, 1])], [t(COUNT), t([1, 3, 1])])
    assert [p.tolist() for p in got] == [
        [3, 4, 0, 5, 6, 7, 6, 0, 2, 8, 9, 1],
        [0, 0, 1, 1, 1, 2, 2, 0, 1, 1, 1, 2],
        [0, 1, 2, 8, 9, 4, 7, 6, 3, 5],
    ]
    assert g.reindex_graph(*(t(v, dtype="int32") for v in ([0], [1], [1])))[0].dtype is paddle.int32


@pytest.mark.parametrize("count", [[2, 3, 1], [2, 5], [-1, 6, 2]])
def test_reindex_refuses_counts_that_do_not_fit(count):
    with pytest.raises(ValueError, match="reindex_graph: count"):
        g.reindex_graph(t([0, 1, 2]), t(NEIGHBORS), t(count))


ROW = np.array([3, 7, 0, 9, 1, 4, 2, 9, 3, 9, 1, 9, 7])
COLPTR = np.array([0, 2, 4, 5, 6, 7, 9, 11, 11, 13, 13])


def test_all_neighbors():
    found, count, eids = g.sample_neighbors(t(ROW), t(COLPTR), t([0, 8, 1, 2, 7]), -1, t(np.arange(13)), True)
    assert found.tolist() == [3, 7, 9, 7, 0, 9, 1] and count.tolist() == [2, 2, 2, 1, 0] and count.dtype is paddle.int32
    assert eids.tolist() == [0, 1, 11, 12, 2, 3, 4]


@pytest.mark.parametrize(
    "sample",
    [
        lambda nodes, k: g.sample_neighbors(t(ROW), t(COLPTR), nodes, k, t(np.arange(13)), True),
        lambda nodes, k: g.weighted_sample_neighbors(
            t(ROW), t(COLPTR), paddle.ones([13]), nodes, k, t(np.arange(13)), True
        ),
    ],
)
def test_samples_are_distinct_neighbors_of_their_node(sample):
    degree = np.diff(COLPTR)
    for _ in range(5):
        nodes = np.random.randint(0, 10, 6)
        found, count, eids = (p.numpy() for p in sample(t(nodes), 1))
        assert (count == np.minimum(degree[nodes], 1)).all() and (ROW[eids] == found).all()
        owners = np.repeat(nodes, count)
        assert ((COLPTR[owners] <= eids) & (eids < COLPTR[owners + 1])).all()


def test_every_neighbor_is_chosen_sometimes_and_weights_count():
    row, colptr, nodes = t(np.arange(4)), t([0, 4]), t([0])
    picks = np.concatenate([g.sample_neighbors(row, colptr, nodes, 2)[0].numpy() for _ in range(200)])
    assert (np.abs(np.bincount(picks, minlength=4) - 100) < 45).all()
    weight = t([1.0, 0.0, 3.0, 0.0])
    picks = np.concatenate([g.weighted_sample_neighbors(row, colptr, weight, nodes, 1)[0].numpy() for _ in range(300)])
    counts = np.bincount(picks, minlength=4)
    assert counts[1] == counts[3] == 0 and abs(counts[2] - 225) < 45


def test_samples_follow_the_seed():
    def draw():
        paddle.seed(5)
        return g.sample_neighbors(t(ROW), t(COLPTR), t(np.arange(9)), 1)[0].tolist()

    assert draw() == draw()


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: g.sample_neighbors(t(ROW), t(COLPTR), t([80])), IndexError),
        (lambda: g.sample_neighbors(t(ROW), t(COLPTR[::-1].copy()), t([0])), ValueError),
        (lambda: g.sample_neighbors(t(ROW), t(COLPTR), t([0]), return_eids=True), ValueError),
        (lambda: g.weighted_sample_neighbors(t(ROW), t(COLPTR), -paddle.ones([13]), t([0])), ValueError),
    ],
)
def test_sampling_refuses(call, error):
    with pytest.raises(error, match="sample_neighbors"):
        call()


def test_khop_sampler():
    got = paddle.incubate.graph_khop_sampler(t(ROW), t(COLPTR), t([0, 8, 1, 2]), [5])
    assert [p.tolist() for p in got] == [
        [4, 5, 6, 5, 0, 6, 2],
        [0, 0, 1, 1, 2, 2, 3],
        [0, 8, 1, 2, 3, 7, 9],
        [0, 1, 2, 3],
    ]
    source, destination, nodes, _, eids = paddle.incubate.graph_khop_sampler(
        t(ROW), t(COLPTR), t([0]), [-1, -1], t(np.arange(13)), True
    )
    assert nodes.tolist() == [0, 3, 7, 4] and source.tolist() == [1, 2, 3] and destination.tolist() == [0, 0, 1]
    assert eids.tolist() == [0, 1, 5]
