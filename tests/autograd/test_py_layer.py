"""PyLayer: user-written backward functions."""

import gc
import weakref

import numpy as np
import pytest

import paddle
from paddle.autograd import PyLayer

from _check import compare


def leaf(values=(1.0, 2.0)):
    return paddle.to_tensor(np.array(values, "float32"), stop_gradient=False)


def layer(forward, backward):
    return type("Custom", (PyLayer,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


class Cube(PyLayer):
    @staticmethod
    def forward(ctx, x, factor=1.0):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * x * x * factor

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        return g * x * x * 3 * ctx.factor


def test_forward_and_backward():
    x = leaf()
    y = Cube.apply(x, factor=2.0)
    y.sum().backward()
    assert y.tolist() == [2, 16] and x.grad.tolist() == [6, 24] and not y.is_leaf


def test_derivatives_of_higher_order():
    x = leaf()
    (first,) = paddle.grad(Cube.apply(x).sum(), x, create_graph=True)
    (second,) = paddle.grad(first.sum(), x, create_graph=True)
    (third,) = paddle.grad(second.sum(), x)
    assert [g.tolist() for g in (first, second, third)] == [[3, 12], [6, 12], [6, 6]]


def test_missing_gradients_of_outputs_are_zeros_or_none():
    for materialize, want in ((True, [0, 0]), (False, None)):
        seen = []

        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        def backward(ctx, g, h):
            seen.append(h)
            return g * 2

        x = leaf()
        layer(forward, backward).apply(x)[0].sum().backward()
        assert x.grad.tolist() == [2, 2] and (seen[0] if want is None else seen[0].tolist()) == want


def test_gradients_of_inputs_may_be_none_and_stopped_inputs_are_ignored():
    x, y = leaf(), leaf()
    layer(lambda ctx, a, b: a * b, lambda ctx, g: (g, None)).apply(x, y).sum().backward()
    assert x.grad.tolist() == [1, 1] and y.grad is None
    x, fixed = leaf(), paddle.to_tensor([1.0, 2.0])
    for backward in (lambda ctx, g: (g, g), lambda ctx, g: (g, None), lambda ctx, g: g):
        x.clear_gradient(False)
        layer(lambda ctx, a, b: a * b, backward).apply(x, fixed).sum().backward()
        assert x.grad.tolist() == [1, 1] and fixed.grad is None


@pytest.mark.parametrize(
    "backward, error, text",
    [
        (lambda ctx, g: g, ValueError, "2 tensors as inputs, backward returned 1"),
        (lambda ctx, g: (g, g, g), ValueError, "returned 3"),
        (lambda ctx, g: (3.0, None), TypeError, "gradient 0 must be a Tensor or None, got float"),
    ],
)
def test_wrong_results_of_backward(backward, error, text):
    with pytest.raises(error, match="Custom.backward: .*" + text):
        layer(lambda ctx, a, b: a * b, backward).apply(leaf(), leaf()).sum().backward()


def test_an_exception_in_backward_leaves_the_modes_alone():
    def backward(ctx, g):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        layer(lambda ctx, a: a * 2, backward).apply(leaf()).sum().backward()
    assert paddle.is_grad_enabled() and not (leaf() * 2).stop_gradient


def test_outputs_that_carry_no_gradient():
    def forward(ctx, x):
        y, z = x * 2, x * 3
        ctx.mark_non_differentiable(z)
        return y, z, x.astype("int32"), "text", None

    x = leaf()
    y, z, i, text, nothing = layer(forward, lambda ctx, g, h, k: g * 2).apply(x)
    assert [t.stop_gradient for t in (y, z)] == [False, True] and (text, nothing) == ("text", None)
    (y + z).sum().backward()
    assert x.grad.tolist() == [2, 2]
    with pytest.raises(TypeError, match="at least one output must be a Tensor"):
        layer(lambda ctx, a: 3, lambda ctx, g: g).apply(x)


def test_an_input_returned_as_it_is():
    x = leaf()
    y = layer(lambda ctx, a: a, lambda ctx, g: g * 7).apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [7, 7] and y is not x and x.is_leaf


def test_modes_inside():
    modes = []

    def forward(ctx, x):
        modes.append(paddle.is_grad_enabled())
        with paddle.enable_grad():
            inner = x.detach()
            inner.stop_gradient = False
            ctx.pair = inner, inner * inner
        return ctx.pair[1].detach()

    def backward(ctx, g):
        modes.append(paddle.is_grad_enabled())
        with paddle.enable_grad():
            return paddle.grad(ctx.pair[1], ctx.pair[0], g)[0]

    x = leaf()
    layer(forward, backward).apply(x).sum().backward()
    assert x.grad.tolist() == [2, 4] and modes == [False, False]
    with paddle.no_grad():
        assert Cube.apply(x).stop_gradient
    assert Cube.apply(paddle.to_tensor([1.0])).stop_gradient


def test_second_backward_and_release():
    x = leaf()
    y = Cube.apply(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [6, 24]
    contexts = []

    def forward(ctx, a):
        contexts.append(weakref.ref(ctx))
        return a * 2

    y = layer(forward, lambda ctx, g: g * 2).apply(x)
    y.backward()
    gc.collect()
    assert contexts[0]() is None
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_between_recorded_operations_and_with_nested_inputs():
    x, y = leaf(), leaf()
    out = layer(lambda ctx, pair, k=None: pair[0] * pair[1] + k, lambda ctx, g: (g * 5, g * 6, g)).apply(
        [x * 2, y], k=x
    )
    (out * 10).sum().backward()
    compare(x.grad, [110, 110])
    compare(y.grad, [60, 60])


def test_gradients_come_in_the_type_of_the_outputs_unless_the_layer_says_otherwise():
    seen = []

    class Halved(PyLayer):
        @staticmethod
        def forward(ctx, x, keep):
            ctx.set_grad_in_dtype_consistent(keep)
            return (x * 2).astype("float16")

        @staticmethod
        def backward(ctx, g):
            seen.append(g.dtype)
            return g.astype("float32") * 2

    class Wide(PyLayer):
        @staticmethod
        def forward(ctx, x):
            return x.astype("float32")

        @staticmethod
        def backward(ctx, g):
            return g  # float32, for a float16 input

    for keep in (True, False):
        x = paddle.ones([2])
        x.stop_gradient = False
        Wide.apply(Halved.apply(x, keep)).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]
    assert seen == [paddle.float16, paddle.float32]
