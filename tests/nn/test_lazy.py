import numpy as np

import paddle


def lazy_linear():
    with paddle.LazyGuard():
        return paddle.nn.Linear(2, 3)


def test_a_lazy_parameter_has_a_shape_but_no_memory_until_it_is_needed():
    weight = lazy_linear().weight
    assert weight.shape == [2, 3] and weight.dtype is paddle.float32 and weight.size == 6 and weight.ndim == 2
    assert not weight.is_initialized() and weight._storage.value is None and not weight.stop_gradient
    weight.initialize()
    assert weight.is_initialized() and type(weight) is paddle.nn.Parameter and np.ptp(weight.numpy()) > 0


def test_a_state_dict_fills_lazy_parameters_without_initializing_them():
    source, target = paddle.nn.Linear(2, 3), lazy_linear()
    before = paddle.get_rng_state()
    target.set_state_dict(source.state_dict())
    assert str(paddle.get_rng_state()) == str(before)  # nothing was drawn
    np.testing.assert_array_equal(target.weight.numpy(), source.weight.numpy())


def test_lazy_layers_train():
    layer = lazy_linear()
    optimizer = paddle.optimizer.SGD(0.5, parameters=layer.parameters())
    layer(paddle.ones([1, 2])).sum().backward()
    before = layer.weight.numpy()
    optimizer.step()
    np.testing.assert_allclose(layer.weight.numpy(), before - 0.5)
    assert paddle.nn.Linear(2, 3).weight.is_initialized()  # outside of the guard
