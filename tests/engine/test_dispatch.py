"""The road of a call: binding of arguments, what compiles and what does not, views of results, `out`."""

import numpy as np
import pytest

import paddle
from paddle.engine.compile import count_compiles
from paddle.engine.op import Op, op
from paddle.engine.promotion import promote


@op(export=False, method=False, scalars="y", name="test_blend")
def blend(x, y, mode="sum", weights=(1.0, 1.0)):
    x, y = promote("blend", x, y)
    return weights[0] * x + weights[1] * y if mode == "sum" else x * y


def t(values, **kwargs):
    return paddle.to_tensor(values, **kwargs)


def test_repeated_calls_compile_once():
    x = t([1.0, 2.0])
    blend(x, x)
    with count_compiles() as count:
        for _ in range(3):
            blend(x, x)
    assert count.compiles == 0
    with count_compiles() as count:
        blend(x, x, "product")
    assert count.compiles == 1 and count.names == ["jit(test_blend)"]


def test_a_changing_number_compiles_nothing_in_any_order_of_derivative():
    x = t([1.0, 2.0], stop_gradient=False)

    def use(rate):
        y = blend(x * x, rate, "product")
        (first,) = paddle.grad(y.sum(), x, create_graph=True)
        (second,) = paddle.grad((first * rate).sum(), x)
        return second

    for rate in (0.5, 0.75):  # a conversion is compiled at the second call, once for all numbers
        assert use(rate).tolist() == [2 * rate * rate] * 2
    with count_compiles() as count:
        for rate in (1.0, 2.5, -3.0):
            assert use(rate).tolist() == [2 * rate * rate] * 2
    assert count.compiles == 0, count.names


def test_scalars_keep_the_type_of_the_tensor():
    for values, number, dtype in (
        ([1, 2], 3, "int64"),
        ([1.0], 3, "float32"),
        ([1, 2], 0.5, "float32"),
        ([1.0], 1j, "complex64"),
        ([1.0], True, "float32"),
    ):
        assert blend(t(values), number, "product").dtype.name == dtype


def test_attributes_of_equal_value_and_different_type_do_not_meet():
    seen = []

    @op(export=False, method=False, name="test_typed")
    def typed(x, k):
        seen.append(k)
        return x

    x = paddle.ones([1])
    given = (1, 1.0, True, 0.0, -0.0, "a", None, (1, 2), (1.0, 2), (0.0, 1), (-0.0, 1))
    for k in given * 2:
        typed(x, k)
    assert [repr(k) for k in seen] == [repr(k) for k in given]


def test_binding():
    x = t([1.0, 2.0])
    assert blend(x=x, y=2.0, mode="product").tolist() == blend(input=x, other=2.0, mode="product").tolist() == [2, 4]
    assert blend(x, 2.0, "product", name="n").tolist() == [2, 4]
    out = t([0.0, 0.0])
    assert blend(x, 2.0, "product", out=out) is out and out.tolist() == [2, 4]
    for call, text in (
        (lambda: blend(x), "argument 'y' is missing"),
        (lambda: blend(x, 1, x=x), "'x' is given twice"),
        (lambda: blend(x, 1, colour=1), "no argument 'colour'"),
        (lambda: blend(x, 1, "sum", (1.0, 1.0), 5, 6), "at most 4"),
    ):
        with pytest.raises(TypeError, match=f"test_blend.*{text}"):
            call()


def test_lists_with_tensors_arrive_as_lists_of_arrays():
    @op(export=False, method=False, name="test_total")
    def total(xs, scale):
        return sum(xs) * scale[0]

    x = t([1.0, 2.0], stop_gradient=False)
    y = total([x, x * 2, np.ones(2, "float32")], [3])
    assert y.tolist() == [12, 21]
    y.sum().backward()
    assert x.grad.tolist() == [9, 9]


def test_an_array_argument_is_copied():
    source = np.ones(2, "float32")
    x = t([1.0, 1.0], stop_gradient=False)
    y = (x * source).sum()
    source[:] = 100
    y.backward()
    assert x.grad.tolist() == [1, 1]


def test_a_gradient_of_the_wrong_shape_is_found():
    @op(export=False, method=False, name="test_wrong", gradient=lambda inputs, outputs, cotangents: cotangents[0].sum())
    def wrong(x):
        return x * 2

    with pytest.raises(RuntimeError, match=r"test_wrong: its gradient has shape \[\], the input \[2\]"):
        wrong(t([1.0, 2.0], stop_gradient=False)).backward()


def test_a_custom_gradient_gets_what_it_needs_and_can_be_differentiated():
    made = []

    def gradient(inputs, outputs, cotangents, power):
        made.append([a is not None for a in (*inputs, *outputs)])
        return power * outputs[0] / inputs[0] * cotangents[0]

    @op(export=False, method=False, name="test_power", gradient=gradient)
    def power_of(x, power):
        return x**power

    x = t([2.0], stop_gradient=False)
    (first,) = paddle.grad(power_of(x, 3), x, create_graph=True)
    (second,) = paddle.grad(first, x, create_graph=True)
    (third,) = paddle.grad(second, x)
    assert [float(v) for v in (first, second, third)] == pytest.approx([12, 12, 6], rel=1e-6)


@pytest.mark.parametrize("shapes", [[(0, 3), (2, 3)], [(2, 3), (0, 3)], [(1, 3), (2, 3)]])
def test_empty_and_unit_shapes_do_not_spoil_later_gradients(shapes):
    @op(export=False, method=False, name=f"test_branch_{shapes[0][0]}_{shapes[1][0]}")
    def branch(x, y):
        return x * y if x.shape[0] > 1 else x + 0 * y  # a body that branches on the shape

    for shape in shapes:
        x, y = (t(np.full(shape, v, "float32"), stop_gradient=False) for v in (2.0, 3.0))
        branch(x, y).sum().backward()
        assert (x.grad.numpy() == (3 if shape[0] > 1 else 1)).all() and (
            y.grad.numpy() == (2 if shape[0] > 1 else 0)
        ).all()


def test_operators_with_several_outputs_and_integer_outputs():
    @op(export=False, method=False, name="test_parts")
    def parts(x):
        return x * 2, x.argmax(), x * x

    x = t([1.0, 3.0], stop_gradient=False)
    double, where, square = parts(x)
    assert where.stop_gradient and where.item() == 1 and not double.stop_gradient
    square.sum().backward()
    assert x.grad.tolist() == [2, 6]


def test_residuals_are_kept_for_expensive_operators():
    runs = []

    @op(export=False, method=False, name="test_costly", save="residuals")
    def costly(x, w):
        runs.append(1)
        return (x * w).sum()

    x, w = t([1.0, 2.0], stop_gradient=False), t([3.0, 4.0], stop_gradient=False)
    y = costly(x, w)
    y.backward(retain_graph=True)
    (g,) = paddle.grad(y, x, create_graph=True)
    assert x.grad.tolist() == [3, 4] and g.tolist() == [3, 4]
    assert paddle.grad(g.sum(), w)[0].tolist() == [1, 1]


def test_signatures_are_public():
    import inspect

    assert str(inspect.signature(blend)) == "(x, y, mode='sum', weights=(1.0, 1.0), name=None, *, out=None)"
    assert isinstance(blend.op, Op) and blend.__name__ == "blend"
