"""Tensors that share memory: what each sees of the others' writes, and the gradients through such writes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle

from _check import check_grad

BASE = np.arange(12.0).reshape(3, 4)

# name: (on tensors, on arrays as a NumPy view)
VIEWS = {
    "row": (lambda t: t[1], lambda a: a[1, ...]),
    "rows": (lambda t: t[0:2], lambda a: a[0:2]),
    "stepped": (lambda t: t[::2], lambda a: a[::2]),
    "reversed": (lambda t: t[::-1], lambda a: a[::-1]),
    "last": (lambda t: t[..., -1:], lambda a: a[..., -1:]),
    "new axis": (lambda t: t[None], lambda a: a[None]),
    "flat": (lambda t: t.reshape([-1]), lambda a: a.reshape(-1) if a.flags.c_contiguous else None),  # else a copy
    "transposed": (lambda t: t.transpose(list(range(t.ndim))[::-1]), lambda a: a.T),
    "detached": (lambda t: t.detach(), lambda a: a[...]),
    "itself": (lambda t: t.astype(t.dtype), lambda a: a[...]),
    "unsqueezed": (lambda t: t.unsqueeze(0), lambda a: a[None]),
}
steps = st.lists(st.tuples(st.sampled_from(sorted(VIEWS)), st.integers(0, 5), st.booleans()), min_size=1, max_size=7)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(steps)
def test_aliasing_follows_a_numpy_model(plan):
    """Derive views of views and write into any of them: all tensors stay equal to the NumPy views."""
    tensors, arrays = [paddle.to_tensor(BASE)], [BASE.copy()]
    for i, (name, which, write) in enumerate(plan):
        which %= len(tensors)
        on_tensor, on_array = VIEWS[name]
        a = arrays[which]
        if not 0 < a.ndim < 4 or name == "row" and len(a) < 2 or on_array(a) is None:
            continue
        tensors.append(on_tensor(tensors[which]))
        arrays.append(on_array(a))
        if write:
            target = (which + i) % len(tensors)
            if i % 2:
                tensors[target][...] = float(100 + i)
                arrays[target][...] = 100 + i
            else:
                tensors[target].multiply_(paddle.to_tensor(1.5, dtype="float64"))
                arrays[target][...] *= 1.5
        for t, a in zip(tensors, arrays):
            assert t.tolist() == a.tolist(), (plan, i)


@pytest.mark.parametrize("name", sorted(set(VIEWS) - {"detached"}))
def test_gradient_through_a_write_to_a_view(name):
    view = VIEWS[name][0]

    def written(x):
        y = x * 1
        v = view(y)
        v.multiply_(v.detach() * 0 + 3)
        v[...] = v.clone() * v.clone()
        return y * y, v

    check_grad(written, BASE / 10)


@pytest.mark.parametrize("name", sorted(set(VIEWS) - {"detached"}))
def test_gradient_of_a_view_after_a_write_to_its_base(name):
    view = VIEWS[name][0]

    def written(x):
        y = x * 1
        v = view(view(y)) if name in ("reversed", "transposed") else view(y)
        y[1] = y[0] * 2
        return v * v

    check_grad(written, BASE / 10)


def test_second_order_through_views():
    def written(x):
        y = x * x
        v = y[0][1:]
        v.multiply_(y[1][1:].clone())
        return y * x

    check_grad(written, BASE / 10, order=2)


def test_writing_a_differentiable_value_makes_the_buffer_differentiable():
    a = paddle.to_tensor([1.0, 2.0, 3.0, 4.0], stop_gradient=False)
    b = paddle.to_tensor([2.0, 2.0, 4.0, 4.0], stop_gradient=False)
    d = paddle.zeros([4, 4])
    row, other = d[1], d[0]
    d[0, :] = a / b
    row[:] = a * b
    (d[0, :].sum() + row.sum() + other.sum()).backward()
    assert not d.stop_gradient
    np.testing.assert_allclose(a.grad.numpy(), 2 / b.numpy() + b.numpy())
    np.testing.assert_allclose(b.grad.numpy(), -2 * a.numpy() / b.numpy() ** 2 + a.numpy())


def test_writes_through_detach_are_outside_the_graph():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x * 2
    d = y.detach()
    d[0] = 50.0
    v = y[0:1].detach()
    v.add_(paddle.ones([1]))
    assert y.tolist() == [51, 4] and d.stop_gradient and v.stop_gradient
    (y * x).sum().backward()
    assert x.grad.tolist() == [51 + 2, 4 + 4]


def test_the_version_counter_is_shared():
    x = paddle.to_tensor([1.0, 2.0])
    d, v = x.detach(), x[0:1]
    x[0] = 1.0
    d.add_(paddle.ones([2]))
    v[0] = 3.0
    assert [t.inplace_version for t in (x, d, v)] == [3, 3, 3]
    assert x.tolist() == [3, 3]


def test_a_write_through_a_view_invalidates_what_was_saved():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = x * 2
    v = y[0:1]
    z = (v * v).sum()
    y[1] = 3.0
    with pytest.raises(RuntimeError, match="changed in place"):
        z.backward()


def test_views_made_without_recording_stay_so():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    with paddle.no_grad():
        v = x[0:1]
        x[0] = 5.0
    assert v.tolist() == [5] and v.stop_gradient
    v[0] = 7.0  # through the view the memory of a leaf can be written
    assert x.tolist() == [7, 2] and x.is_leaf
    y = x * 2
    w = y[0:1]
    w.stop_gradient = True
    y[0] = 1.0
    assert w.tolist() == [1] and w.stop_gradient


def test_optimizer_updates_are_seen_by_views():
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    v, w = x[1:], x.detach().reshape([2, 1])
    x.set_value(np.array([5.0, 6.0], "float32"))
    assert v.tolist() == [6] and w.tolist() == [[5], [6]]
    v.sum().backward()
    assert x.grad.tolist() == [0, 1]


def test_reshaping_in_place_leaves_other_tensors_their_shape():
    x = paddle.to_tensor(np.arange(6.0).reshape(2, 3))
    d, v = x.detach(), x[0]
    x.reshape_([3, 2])
    x[0, 0] = 9.0
    d[1, 2] = 8.0
    assert x.tolist() == [[9, 1], [2, 3], [4, 8]] and v.tolist() == [9, 1, 2] and d.shape == [2, 3]
    y = paddle.to_tensor([1.0, 2.0], stop_gradient=False) * 2
    u = y[:1]
    y.unsqueeze_(0)
    y[0, 0] = y[0, 1] * 3
    (g,) = paddle.grad(u.sum() + y.sum(), y)
    assert u.tolist() == [12] and g.tolist() == [[2, 1]]


@pytest.mark.parametrize(
    "make, strides",
    [
        (lambda x: x[1:, ::2], [4, 2]),
        (lambda x: x[:, 1], [4]),
        (lambda x: x[::-1], [-4, 1]),
        (lambda x: x[:, None], [4, 4, 1]),
        (lambda x: x[..., None], [4, 1, 1]),
        (lambda x: x.reshape([4, 3]), [3, 1]),
        (lambda x: x.T, [1, 4]),
        (lambda x: x.T[1:], [1, 4]),
        (lambda x: x.T.reshape([12]), [1]),
        (lambda x: x[1][1:3], [1]),
        (lambda x: x[1, None, ::2], [4, 2]),
        (lambda x: x.unsqueeze(0), [12, 4, 1]),
        (lambda x: x.T.contiguous(), [3, 1]),
        (lambda x: x[:, None, None], [4, 4, 4, 1]),
    ],
)
def test_official_strides(make, strides):
    assert make(paddle.zeros([3, 4])).strides == strides


def test_contiguous_copies_only_where_needed():
    x = paddle.to_tensor(BASE)
    assert x.contiguous() is x and not x.T.is_contiguous()
    y = x.T.contiguous()
    y[0, 0] = 5.0
    assert y.is_contiguous() and x[0, 0].item() == 0


def test_copies_do_not_share():
    x = paddle.to_tensor([1.0, 2.0])
    for copy in (x.clone(), paddle.to_tensor(x), x[[0, 1]], x.astype("float64").astype("float32")):
        copy[0] = 7.0
    assert x.tolist() == [1, 2]


def test_a_long_chain_of_views():
    x = paddle.arange(6)
    y = x
    for _ in range(2000):
        y = y.reshape([2, 3]).reshape([6])
    assert y.tolist() == [0, 1, 2, 3, 4, 5]
    y[0] = 9
    assert y[0].item() == 9


def test_addresses_and_offsets():
    x = paddle.to_tensor(np.arange(6.0, dtype="float32").reshape(2, 3))
    assert x.data_ptr() == x.detach().data_ptr() == x.reshape([6]).data_ptr()
    assert [v.offset for v in (x, x[1], x[:, 1], x[::-1], x[1][1:], x.T[2])] == [0, 12, 4, 12, 16, 8]
    assert x[1].data_ptr() - x.data_ptr() == 12


def test_functions_applied_to_a_tensor():
    x = paddle.to_tensor([1.0, 2.0])
    d = x.detach()
    assert x.apply(lambda t: t * 2).tolist() == [2, 4] and x.apply_(lambda t: t + 1) is x and d.tolist() == [2, 3]
    with pytest.raises(RuntimeError, match="apply:"):
        paddle.to_tensor([1.0], stop_gradient=False).apply(lambda t: t)


def test_operations_in_place_that_change_nothing_keep_the_memory():
    x = paddle.to_tensor([1.0, 2.0])
    d = x.detach()
    x.cast_("float32").reshape_([2])
    x[0] = 5.0
    assert d.tolist() == [5, 2]
    assert x.cast_("int32") is x and x.dtype is paddle.int32 and d.dtype is paddle.float32
