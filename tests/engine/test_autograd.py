"""The tape: backward, grad, hooks, accumulation, deep and long-running graphs."""

import gc
import threading

import jax
import numpy as np
import pytest

import paddle
from paddle.engine.tape import Node

from _check import check_grad, compare


def leaf(values=(1.0, 2.0), dtype="float32"):
    return paddle.to_tensor(np.array(values, dtype), stop_gradient=False)


def test_backward_adds_to_what_is_there_in_place():
    x = leaf()
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad.tolist() == [5, 5] and first.tolist() == [5, 5]
    x.clear_grad()
    assert x.grad.tolist() == [0, 0]
    x.clear_gradient(set_to_zero=False)
    assert x.grad is None


def test_backward_of_a_non_scalar_starts_from_ones_or_the_given_gradient():
    x = leaf()
    (x * x).backward()
    assert x.grad.tolist() == [2, 4]
    x.clear_grad()
    (x * x).backward(paddle.to_tensor([10.0, 100.0]))
    assert x.grad.tolist() == [20, 400]
    with pytest.raises(ValueError, match=r"shape \[1\]"):
        (x * x).backward(paddle.to_tensor([1.0]))


def test_second_backward_needs_retain_graph():
    x = leaf()
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4, 8]
    with pytest.raises(RuntimeError, match="retain_graph"):
        y.backward()


def test_backward_without_anything_to_differentiate_does_nothing():
    frozen = leaf([1.0])
    frozen.stop_gradient = True
    (frozen * 2).sum().backward()  # as officially: a model may be frozen whole
    assert frozen.grad is None


def test_gradient_is_found_for_each_set_of_shapes():
    # the gradient of a full slice does not need where it starts, that of a proper slice with the same form does
    whole = leaf([0, 1, 2])
    whole[0:3].sum().backward()
    part = leaf([0, 1, 2, 3, 4])
    (part[1:4] * paddle.to_tensor([1.0, 2.0, 3.0])).sum().backward()
    assert part.grad.tolist() == [0, 1, 2, 3, 0]
    for n in (2, 5):  # as many outputs as the axis is long
        x = leaf(np.ones((n, 2)))
        sum(paddle.unbind(x)).sum().backward()
        assert x.grad.tolist() == [[1, 1]] * n


def test_grad_leaves_grad_alone_and_takes_intermediates():
    x = leaf()
    y = x * x
    gx, gy = paddle.grad((y * y).sum(), [x, y])
    assert gx.tolist() == [4, 32] and gy.tolist() == [2, 8] and x.grad is None


def test_grad_outputs_may_be_given_for_some():
    x = leaf()
    (g,) = paddle.grad([x * 2, x * 3], x, grad_outputs=[paddle.to_tensor([10.0, 1.0]), None])
    assert g.tolist() == [23, 5]


def test_grad_of_unused_input():
    x, y = leaf(), leaf()
    assert paddle.grad(x * 2, [x, y], allow_unused=True)[1] is None
    with pytest.raises(ValueError, match="input 1 does not appear"):
        paddle.grad(x * 2, [x, y])


def test_no_grad_vars_cut_the_graph():
    x = leaf()
    y = x * 2
    assert paddle.grad(y * x, x, no_grad_vars=y)[0].tolist() == [2, 4]


def test_grad_of_itself_and_of_a_repeated_input():
    x = leaf()
    assert paddle.grad(x, x)[0].tolist() == [1, 1]
    assert [g.tolist() for g in paddle.grad(x * 3, [x, x])] == [[3, 3], [3, 3]]


def test_retain_graph_defaults_to_create_graph():
    x = leaf()
    y = (x * x).sum()
    paddle.grad(y, x, create_graph=True)
    paddle.grad(y, x, retain_graph=True)
    paddle.grad(y, x)
    with pytest.raises(RuntimeError, match="retain_graph"):
        paddle.grad(y, x)


def test_overwriting_what_the_gradient_needs_is_an_error():
    x = leaf()
    y = x * 2
    z = (y * y).sum()
    y[0] = 5.0
    with pytest.raises(RuntimeError, match="changed in place"):
        z.backward()
    y = x * 2
    z = (y + y).sum()  # needs no values
    y[0] = 5.0
    z.backward()
    assert x.grad.tolist() == [4, 4]


def test_an_update_between_forward_and_backward_is_no_error():
    x = leaf()  # as an optimizer or set_value does: the gradient is that of the values that were used
    z = (x * x).sum()
    x.set_value(np.zeros(2, "float32"))
    z.backward()
    assert x.grad.tolist() == [2, 4] and x.inplace_version == 0


def test_leaf_that_wants_a_gradient_cannot_be_changed():
    x = leaf()
    for change in (lambda: x.add_(paddle.ones([2])), lambda: x.__setitem__(0, 1.0)):
        with pytest.raises(ValueError, match="leaf"):
            change()
    with paddle.no_grad():
        x.add_(paddle.ones([2]))
    assert x.tolist() == [2, 3] and x.is_leaf and not x.stop_gradient


def test_in_place_on_an_intermediate():
    x = leaf(np.ones((2, 2)))
    y = x * 2
    y.tanh_().backward()
    compare(x.grad, np.full((2, 2), 0.14130163), rtol=1e-6)


def test_hooks_run_in_order_once_on_the_whole_gradient():
    x = leaf()
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    last = x.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: g * 10)
    (x * 2 + x * 3).sum().backward()
    assert seen == [[5, 5]] and x.grad.tolist() == [60, 60]
    assert last.remove() and not last.remove()
    x.clear_grad()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [20, 20]


def test_a_hook_may_change_the_gradient_in_place():
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: g.__setitem__(0, 7.0))
    y.sum().backward()
    assert x.grad.tolist() == [14, 2]


def test_hooks_of_intermediates():
    x = leaf()
    y = x * 2
    y.register_hook(lambda g: g * 5)
    assert [g.tolist() for g in paddle.grad((y * 3).sum(), [x, y])] == [[30, 30], [15, 15]]


def test_hooks_of_leaves_belong_to_backward():
    x = leaf()
    x.register_hook(lambda g: g * 10)
    assert paddle.grad((x * 2).sum(), x)[0].tolist() == [2, 2]


def test_hook_on_something_without_gradient_or_with_a_wrong_result():
    with pytest.raises(RuntimeError, match="stop_gradient"):
        paddle.to_tensor([1.0]).register_hook(print)
    x = leaf()
    x.register_hook(lambda g: 3)
    with pytest.raises(TypeError, match="hook returns a Tensor or None, got int"):
        (x * 2).sum().backward()


def test_retain_grads():
    x = leaf()
    y = x * 2
    y.retain_grads()
    (y * 3).sum().backward()
    assert y.grad.tolist() == [3, 3] and (x * 2).grad is None


def test_a_derived_tensor_can_become_a_leaf():
    x = paddle.to_tensor([1.0, 2.0])
    for derive in (lambda: x * 2, lambda: x.reshape([2, 1]), lambda: x[:1]):
        z = derive()
        z.stop_gradient = False
        (z * 3).sum().backward()
        assert z.is_leaf and z.grad.flatten().tolist() == [3] * z.size


def test_stop_gradient_of_an_intermediate_cuts_and_can_be_undone():
    x = leaf()
    y = x * 2
    y.stop_gradient = True
    z = y * 3
    y.stop_gradient = False
    (y * 4).sum().backward()
    assert x.grad.tolist() == [8, 8] and z.stop_gradient


def test_gradient_of_what_to_tensor_made_with_stop_gradient():
    x = paddle.to_tensor([2.0])
    (first,) = paddle.grad(x**3, x, create_graph=True)
    (second,) = paddle.grad(first, x)
    assert first.item() == 12 and second.item() == 12
    with pytest.raises(ValueError, match="does not appear"):
        y = paddle.ones([1])
        paddle.grad(y * y, y)


def test_provenance_does_not_grow_in_a_loop():
    def nodes():
        return sum(isinstance(o, Node) for o in gc.get_objects())

    total = paddle.zeros([2])
    before = nodes()
    for i in range(300):
        total = total + paddle.to_tensor([1.0, float(i)])
    assert nodes() - before < 200
    big = paddle.to_tensor(np.ones(5000, "float32"))
    assert big._node is None


def test_modes_are_context_decorator_and_thread_local():
    x = leaf()

    @paddle.no_grad()
    def plain():
        return (x * 2).stop_gradient

    @paddle.no_grad()
    def numbers():
        got = yield paddle.is_grad_enabled()
        try:
            yield got, paddle.is_grad_enabled()
        except KeyError:
            yield "thrown", paddle.is_grad_enabled()

    class Model:
        @paddle.no_grad
        def method(self):
            return (x * 2).stop_gradient

    assert plain() and Model().method()
    running = numbers()
    assert next(running) is False and paddle.is_grad_enabled()
    assert running.send(7) == (7, False) and paddle.is_grad_enabled()
    assert running.throw(KeyError()) == ("thrown", False)
    off = paddle.no_grad()
    with off, off:
        with paddle.enable_grad():
            assert not (x * 2).stop_gradient
        assert (x * 2).stop_gradient
        found = []
        thread = threading.Thread(target=lambda: found.append(paddle.is_grad_enabled()))
        thread.start()
        thread.join()
        assert found == [True]
    assert paddle.is_grad_enabled()
    with paddle.set_grad_enabled(False):
        assert not paddle.is_grad_enabled()
    assert paddle.is_grad_enabled()
    with pytest.raises(KeyError), paddle.no_grad():
        raise KeyError
    assert paddle.is_grad_enabled()


def test_complex_gradients_are_of_real_and_imaginary_part():
    z = paddle.to_tensor([1 + 2j], stop_gradient=False)
    (z * z.conj()).real().sum().backward()
    assert z.grad.tolist() == [2 + 4j]
    z, w = (paddle.to_tensor([v], stop_gradient=False) for v in (1 + 2j, 3 - 1j))
    y = z * w
    (y.real() * 2 + y.imag()).sum().backward()
    assert z.grad.tolist() == [5 + 5j] and w.grad.tolist() == [4 - 3j]
    r = leaf()
    (r.astype("complex64") * (1 + 2j)).abs().sum().backward()
    compare(r.grad, [5**0.5] * 2)


def test_a_chain_of_ten_thousand_operations():
    x = leaf()
    y = x
    for _ in range(10_000):
        y = y + x
    y.sum().backward()
    assert x.grad.tolist() == [10_001] * 2
    del y


def test_a_long_loop_holds_memory_flat():
    w = leaf()
    data = paddle.to_tensor(np.ones((4, 2), "float32"))

    def step():
        h = (data * w).tanh()
        h[0] = h[1] * 2
        loss = (h.reshape([-1]) * 3).sum()
        loss.backward()
        with paddle.no_grad():
            w.subtract_(w.grad * 1e-3)
        w.clear_grad()

    def count():
        return len(gc.get_objects()), len(jax.live_arrays())

    for _ in range(20):
        step()
    gc.collect()
    gc.disable()
    try:
        before = count()
        for _ in range(1000):
            step()
        after = count()
    finally:
        gc.enable()
    assert after[0] - before[0] < 500 and after[1] - before[1] < 10, (before, after)


def penalty(w):
    (g,) = paddle.grad((w * w * w).sum(), w, create_graph=True)
    (g * g).sum().backward()


def through_views(w):
    y = w * 2
    v, u = y[0:1], y.reshape([2, 1])
    v.multiply_(w[0:1])
    u[0] = 3.0
    y.register_hook(lambda g: g * 2)
    y.retain_grads()
    (u * v).sum().backward()


def failing(w):
    for call in (
        lambda: (w * 2).reshape([7]),
        lambda: w.__setitem__(0, 1.0),
        lambda: paddle.grad(w * 2, paddle.ones([1])),
    ):
        with pytest.raises(ValueError):
            call()


@pytest.mark.parametrize("step", [penalty, through_views, failing])
def test_nothing_is_kept_alive_by_cycles(step):
    w = leaf()
    for _ in range(5):
        step(w)
        w.clear_grad()
    gc.collect()
    gc.disable()
    try:
        before = len(jax.live_arrays()), sum(isinstance(o, (Node, paddle.Tensor)) for o in gc.get_objects())
        for _ in range(20):
            step(w)
            w.clear_grad()
        after = len(jax.live_arrays()), sum(isinstance(o, (Node, paddle.Tensor)) for o in gc.get_objects())
    finally:
        gc.enable()
    assert after[0] <= before[0] + 1 and after[1] <= before[1] + 1, (before, after)


def test_gradients_assigned_by_the_user():
    x = leaf()
    flat = paddle.zeros([4])
    x.grad = flat[1:3]
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(TypeError):
        x.grad = 3.0


def test_saved_tensors_hooks_see_arrays_only():
    x = leaf()
    packed = []

    def pack(t):
        packed.append(t.dtype)
        return t.numpy()

    with paddle.autograd.saved_tensors_hooks(pack, paddle.to_tensor):
        y = (x * x * 2.5).sum()
    y.backward()
    assert x.grad.tolist() == [5, 10] and packed and set(packed) == {paddle.float32}


def test_gradients_of_a_mixed_expression():
    check_grad(
        lambda x, y: ((x * y).exp() / (1 + x * x))[0, :2] + y[1, 1:],
        np.arange(6.0).reshape(2, 3) / 7,
        np.ones((2, 3)) / 3,
        order=2,
    )
