"""The mechanics of Layer: registration, names, hooks, state, conversion. Values come from the official package."""

import copy
import pickle
import traceback

import numpy as np
import pytest

import paddle
from paddle import nn


class Inner(nn.Layer):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.register_buffer("scale", paddle.ones([3]))
        self.register_buffer("tmp", paddle.zeros([2]), persistable=False)

    def forward(self, x):
        return self.lin(x) * self.scale


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 3)
        self.inner = Inner()
        self.blocks = nn.LayerList([nn.ReLU(), Inner()])
        self.w = self.create_parameter([3])

    def forward(self, x):
        x = self.inner(self.first(x))
        for block in self.blocks:
            x = block(x)
        return x * self.w


class Plain(nn.Layer):
    def forward(self, *args, **kwargs):
        return args, kwargs


# ---- names ----
def test_walks_name_everything_once_and_in_order():
    net = Net()
    assert [k for k, _ in net.named_parameters()] == [
        "w",
        "first.weight",
        "first.bias",
        "inner.lin.weight",
        "inner.lin.bias",
        "blocks.1.lin.weight",
        "blocks.1.lin.bias",
    ]
    assert [k for k, _ in net.named_parameters("m", include_sublayers=False)] == ["m.w"]
    assert [k for k, _ in net.named_parameters(recurse=False)] == ["w"]
    assert [k for k, _ in net.named_sublayers()] == [
        "first",
        "inner",
        "inner.lin",
        "blocks",
        "blocks.0",
        "blocks.1",
        "blocks.1.lin",
    ]
    assert [k for k, _ in net.named_sublayers("p", include_self=True)][:2] == ["p", "p.first"]
    assert [k for k, _ in net.named_children()] == ["first", "inner", "blocks"]
    assert [k for k, _ in net.named_buffers()] == ["inner.scale", "inner.tmp", "blocks.1.scale", "blocks.1.tmp"]
    assert list(net.state_dict()) == [
        "w",
        "first.weight",
        "first.bias",
        "inner.scale",
        "inner.lin.weight",
        "inner.lin.bias",
        "blocks.1.scale",
        "blocks.1.lin.weight",
        "blocks.1.lin.bias",
    ]
    assert list(net.state_dict(include_sublayers=False, structured_name_prefix="p.")) == ["p.w"]
    assert "inner.tmp" in net.to_static_state_dict()
    assert len(list(net.modules())) == len(net.sublayers()) + 1


def test_shared_layers_and_parameters():
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    b.weight = a.weight
    s = nn.Sequential(a, b, a)
    assert [k for k, _ in s.named_parameters()] == ["0.weight", "0.bias", "1.bias"]
    assert [k for k, _ in s.named_parameters(remove_duplicate=False)] == [
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
        "2.weight",
        "2.bias",
    ]
    assert [k for k, _ in s.named_sublayers()] == ["0", "1"]
    assert len(s.state_dict()) == 6 and len(list(s.children())) == 2


@pytest.mark.parametrize(
    "make, name, parameters",
    [
        (lambda: nn.Linear(2, 2), "linear_0", ["linear_0.w_0", "linear_0.b_0"]),
        (
            lambda: nn.Conv2DTranspose(2, 2, 3),
            "conv2d_transpose_0",
            ["conv2d_transpose_0.w_0", "conv2d_transpose_0.b_0"],
        ),
        (
            lambda: nn.BatchNorm1D(2),
            "batch_norm1d_0",
            ["batch_norm1d_0.w_0", "batch_norm1d_0.b_0", "batch_norm1d_0.w_1", "batch_norm1d_0.w_2"],
        ),
        (
            lambda: nn.BatchNorm2D(2, name="foo"),
            "batch_norm2d_0",
            ["batch_norm2d_0.w_0", "batch_norm2d_0.b_0", "foo_mean", "foo_variance"],
        ),
        (lambda: nn.PReLU(), "p_re_lu_0", ["p_re_lu_0.w_0"]),
        (lambda: nn.HSigmoidLoss(2, 3), "h_sigmoid_loss_0", ["h_sigmoid_loss_0.w_0", "h_sigmoid_loss_0.b_0"]),
        (lambda: nn.BCELoss(), "bce_loss_0", []),
        (lambda: nn.Layer("myScope"), "myScope_0", []),
    ],
)
def test_unique_names(make, name, parameters):
    with paddle.utils.unique_name.guard():
        layer = make()
    assert layer.full_name() == name and [p.name for p in layer.parameters()] == parameters


def test_unique_name_guard_prefix_and_switch():
    unique = paddle.utils.unique_name
    with unique.guard():
        assert [unique.generate("a"), unique.generate("a")] == ["a_0", "a_1"]
        with unique.guard("pre_"):
            assert nn.Linear(2, 2).weight.name == "pre_pre_linear_0.w_0"
        old = unique.switch()
        assert unique.generate("a") == "a_0"
        unique.switch(*old)
        assert unique.generate("a") == "a_2"
        layer = nn.Layer()
        layer.create_parameter([1], attr="mine")
        with pytest.raises(ValueError, match="used before"):
            layer.create_parameter([1], attr="mine")
    with pytest.raises(TypeError):
        with unique.guard(3):
            pass


# ---- attributes ----
def test_attributes_register_replace_and_go():
    n = nn.Layer()
    n.x = 3
    n.x = nn.ReLU()
    assert "x" not in n.__dict__ and list(n._sub_layers) == ["x"]
    n.p = paddle.create_parameter([2], "float32")
    n.t = paddle.ones([2])
    assert list(n.state_dict()) == ["p"] and [k for k, _ in n.named_buffers()] == ["t"] and "t" in dir(n)
    n.t = paddle.zeros([3])
    assert n.t.shape == [3]
    n.p = None
    assert n.p is None and n.parameters() == []
    n.p = paddle.create_parameter([3], "float32")
    assert len(n.parameters()) == 1
    del n.p, n.t, n.x
    for name in ("p", "t", "x", "never"):
        with pytest.raises(AttributeError, match=name):
            getattr(n, name)
    with pytest.raises(AttributeError):
        del n.never


@pytest.mark.parametrize(
    "first, second",
    [
        ("parameter", 3),
        ("parameter", "layer"),
        ("parameter", "tensor"),
        ("layer", "tensor"),
        ("layer", 5),
        ("tensor", 5),
    ],
)
def test_a_registered_name_keeps_its_kind(first, second):
    make = {
        "parameter": lambda: paddle.create_parameter([2], "float32"),
        "layer": nn.ReLU,
        "tensor": lambda: paddle.ones([2]),
    }
    n = nn.Layer()
    n.a = make[first]()
    with pytest.raises(TypeError, match="'a'"):
        n.a = make[second]() if isinstance(second, str) else second


def test_a_parameter_may_take_the_name_of_a_layer():
    n = nn.Layer()
    n.a = nn.ReLU()
    n.a = paddle.create_parameter([2], "float32")
    assert list(n._parameters) == ["a"] and not n._sub_layers


def test_registered_buffer_stays_persistable_when_replaced():
    n = nn.Layer()
    n.register_buffer("a", paddle.ones([2]))
    n.register_buffer("b", paddle.ones([2]), persistent=False)
    n.register_buffer("c", None)
    n.a, n.b = paddle.zeros([3]), paddle.zeros([3])
    assert list(n.state_dict()) == ["a"] and n.c is None


def test_super_init_is_asked_for():
    class NoInit(nn.Layer):
        def __init__(self, value):
            self.value = value

        def forward(self, x):
            return x

    for value in (nn.ReLU(), paddle.ones([1]), paddle.create_parameter([1], "float32")):
        with pytest.raises(ValueError, match="super"):
            NoInit(value)
    with pytest.raises(ValueError, match="super"):
        NoInit(3)(1)


def test_property_of_the_class_wins():
    class P(nn.Layer):
        @property
        def w(self):
            return self._w

        @w.setter
        def w(self, value):
            self._w = value

    p = P()
    p.w = paddle.ones([1])
    assert [k for k, _ in p.named_buffers()] == ["_w"]


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda n: n.register_buffer("a.b", paddle.ones([1])), KeyError),
        (lambda n: n.register_buffer("", paddle.ones([1])), KeyError),
        (lambda n: n.register_buffer(3, paddle.ones([1])), TypeError),
        (lambda n: n.register_buffer("training", paddle.ones([1])), KeyError),
        (lambda n: n.register_buffer("z", 3), TypeError),
        (lambda n: n.add_parameter("a.b", None), KeyError),
        (lambda n: n.add_parameter("training", None), KeyError),
        (lambda n: n.add_parameter("z", paddle.ones([1])), TypeError),
        (lambda n: n.add_sublayer("q", 3), TypeError),
        (lambda n: n.create_parameter([-2]), ValueError),
        (lambda n: n.create_parameter([2], attr=3), TypeError),
        (lambda n: n.create_parameter([2], dtype="int32"), TypeError),
        (lambda n: n(3), NotImplementedError),
        (lambda n: n.backward(), ValueError),
        (lambda n: n.register_forward_hook(3), TypeError),
        (lambda n: n.get_sublayer("q"), AttributeError),
        (lambda n: n.get_parameter("q"), AttributeError),
        (lambda n: n.set_sublayer("", nn.ReLU()), ValueError),
        (lambda n: n.set_sublayer("q", 3), ValueError),
        (lambda n: n.set_sublayer("q", nn.ReLU(), strict=True), AttributeError),
        (lambda n: n.to(dtype="nope"), TypeError),
        (lambda n: n.to(device=3), ValueError),
        (lambda n: n.to("float64"), ValueError),
        (lambda n: n.to(blocking=3), ValueError),
        (lambda n: n.astype(), ValueError),
        (lambda n: n.bfloat16(excluded_layers=3), TypeError),
        (lambda n: n.set_state_dict(3), TypeError),
        (lambda n: n.get_extra_state(), RuntimeError),
    ],
)
def test_bad_use_raises(call, error):
    with pytest.raises(error):
        call(nn.Layer())


def test_dotted_access():
    n = Net()
    assert n.get_sublayer("blocks.1.lin") is n.blocks[1].lin and n.get_sublayer("") is n
    assert n.get_parameter("inner.lin.weight") is n.inner.lin.weight and n.get_buffer("inner.tmp") is n.inner.tmp
    n.set_sublayer("blocks.0", nn.Tanh())
    n.set_submodule("inner.extra", module=nn.GELU())
    assert type(n.blocks[0]) is nn.Tanh and type(n.inner.extra) is nn.GELU
    for bad in ("first.weight", "inner.lin.nope"):
        with pytest.raises(AttributeError):
            n.get_sublayer(bad)
    with pytest.raises(AttributeError):
        n.get_buffer("first.weight")


# ---- parameters ----
def test_param_attr_forms():
    n = nn.Layer()
    with paddle.utils.unique_name.guard():
        p = n.create_parameter(
            [2],
            paddle.ParamAttr(
                name="w", initializer=nn.initializer.Constant(1.5), learning_rate=0.5, trainable=False, need_clip=False
            ),
        )
        assert (
            p.tolist() == [1.5, 1.5]
            and p.name == "w"
            and p.stop_gradient
            and not p.need_clip
            and p.is_leaf
            and p.persistable
        )
        assert p.optimize_attr["learning_rate"] == 0.5
        assert n.create_parameter([2], "named").name == "named"
    assert n.create_parameter([2], False) is None
    assert n.create_parameter([2], nn.initializer.Constant(3.0)).tolist() == [3.0, 3.0]
    assert n.create_parameter([2], is_bias=True).tolist() == [0.0, 0.0]
    assert n.create_parameter([0, 3]).shape == [0, 3] and n.create_parameter([]).shape == []
    assert n.create_parameter([2], dtype="bfloat16").dtype == paddle.bfloat16
    assert type(n.create_parameter([2], paddle.regularizer.L2Decay(0.1)).regularizer).__name__ == "L2Decay"


@pytest.mark.parametrize("bad", [{"name": 3}, {"initializer": 3}, {"initializer": nn.initializer.Constant}])
def test_param_attr_refuses(bad):
    with pytest.raises(TypeError):
        paddle.ParamAttr(**bad)


def test_one_attr_serves_many_parameters():
    attr = paddle.ParamAttr(learning_rate=0.3)
    a, b = nn.Linear(2, 2, weight_attr=attr), nn.Linear(2, 2, weight_attr=attr)
    assert a.weight.name != b.weight.name and attr.name is None


def test_create_parameter_function():
    with paddle.utils.unique_name.guard():
        assert paddle.create_parameter([2], "float32").name == "create_parameter_0.w_0"
        assert paddle.create_parameter([2], "float64", is_bias=True).name == "create_parameter_1.b_0"
        assert paddle.create_parameter([2], "float32", name="n", attr=paddle.ParamAttr(name="m")).name == "m"
    assert paddle.create_parameter([2], "float32", attr=False) is None
    with pytest.raises(TypeError):
        paddle.create_parameter("a", "float32")


def test_default_dtype_is_followed():
    paddle.set_default_dtype("float64")
    for layer in (nn.Linear(2, 2), nn.BatchNorm1D(2), nn.LayerNorm(2), nn.Conv2D(2, 2, 2), nn.Embedding(2, 2)):
        assert layer.weight.dtype == paddle.float64


# ---- the call ----
def test_hooks_run_in_order_and_change_values():
    log = []
    layer = nn.Linear(2, 2)
    x = paddle.ones([1, 2])
    plain = layer(x).numpy()
    layer.register_forward_pre_hook(lambda l, a: log.append("pre1"))
    double = layer.register_forward_pre_hook(lambda l, a: (log.append("pre2"), a[0] * 2)[1])
    post = layer.register_forward_post_hook(lambda l, a, out: (log.append("post1"), out + 1)[1])
    layer.register_forward_hook(lambda l, a, out: log.append("first"), prepend=True)
    want = 2 * (plain - layer.bias.numpy()) + layer.bias.numpy() + 1
    np.testing.assert_allclose(layer(x).numpy(), want, rtol=1e-5)
    double.remove(), post.remove(), post.remove()
    np.testing.assert_allclose(layer(x).numpy(), plain, rtol=1e-6)
    assert log == ["pre1", "pre2", "first", "post1", "pre1", "first"]


def test_hooks_with_kwargs():
    layer = Plain()
    pre = layer.register_forward_pre_hook(lambda l, a, k: (a + (2,), {**k, "b": 3}), with_kwargs=True)
    seen = []
    layer.register_forward_post_hook(lambda l, a, k, out: seen.append((a, k)), with_kwargs=True)
    assert layer(1, c=4) == ((1, 2), {"c": 4, "b": 3}) and seen == [((1, 2), {"c": 4, "b": 3})]
    pre.remove()
    layer.register_forward_pre_hook(lambda l, a, k: 5, with_kwargs=True)
    with pytest.raises(RuntimeError):
        layer(1)


def test_always_called_hook_sees_a_failure_once():
    class Bad(nn.Layer):
        def forward(self, x):
            raise ValueError("boom")

    seen = []
    bad = Bad()
    bad.register_forward_post_hook(lambda l, a, out: seen.append(out), always_call=True)
    bad.register_forward_post_hook(lambda l, a, out: seen.append("no"))
    with pytest.raises(ValueError, match="boom"):
        bad(1)
    assert seen == [None]


def test_tracebacks_end_in_the_users_line():
    class User(nn.Layer):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 3), nn.ReLU())

        def forward(self, x):
            return self.body(x)  # the user's line

    with pytest.raises(ValueError) as caught:
        User()(paddle.ones([2, 5]))
    assert traceback.extract_tb(caught.value.__traceback__)[-1].line.endswith("# the user's line")


def test_nan_check_names_the_layer():
    class Log(nn.Layer):
        def forward(self, x):
            return paddle.log(x)

    net = nn.Sequential(nn.Identity(), Log())
    paddle.set_flags({"FLAGS_check_nan_inf": True})
    try:
        with pytest.raises(RuntimeError, match=r"Sequential.*Log"):
            net(paddle.to_tensor([-1.0]))
        net(paddle.to_tensor([1.0]))
    finally:
        paddle.set_flags({"FLAGS_check_nan_inf": False})
    from paddle.engine import debug

    assert debug.layers == []


# ---- modes, gradients ----
def test_train_eval_and_apply():
    n = Net()
    seen = []
    assert n.apply(lambda l: seen.append(type(l).__name__)) is n
    assert seen == ["Linear", "Linear", "Inner", "ReLU", "Linear", "Inner", "LayerList", "Net"]
    n.eval()
    n.inner.train()
    assert [l.training for l in n.sublayers(include_self=True)] == [
        False,
        False,
        True,
        True,
        False,
        False,
        False,
        False,
    ]


def test_clearing_gradients():
    layer = nn.Linear(2, 2)
    x = paddle.ones([3, 2])
    layer(x).sum().backward()
    layer(x).sum().backward()
    assert layer.weight.grad.tolist() == [[6.0, 6.0], [6.0, 6.0]]
    layer.clear_gradients()
    assert layer.weight.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    layer.zero_grad()
    assert layer.weight.grad is None
    assert layer.requires_grad_(False) is layer and layer.weight.stop_gradient
    assert layer(x).stop_gradient


# ---- state ----
def test_set_state_dict_takes_what_fits_and_reports_the_rest():
    layer = nn.Linear(2, 3)
    before = layer.weight.numpy()
    with pytest.warns(UserWarning):
        missing, unexpected = layer.set_state_dict(
            {"weight": np.zeros((2, 2)), "bias": [1, 2, 3], "extra": np.zeros(1)}
        )
    assert (missing, unexpected) == (["weight"], ["weight", "extra"])
    assert (
        (layer.weight.numpy() == before).all()
        and layer.bias.tolist() == [1.0, 2.0, 3.0]
        and layer.bias.dtype == paddle.float32
    )
    for odd in (None, "text", 3.0, object(), [[1], [2, 3]]):
        with pytest.warns(UserWarning):
            assert layer.set_state_dict({"weight": odd, "bias": layer.bias}) == (["weight"], ["weight"])


def test_set_state_dict_by_parameter_name_and_aliases():
    layer = nn.Linear(2, 2)
    state = {layer.weight.name: np.full((2, 2), 3.0), layer.bias.name: np.full(2, 4.0)}
    assert layer.set_dict(state, use_structured_name=False) == ([], [])
    assert layer.weight.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert layer.load_dict(nn.Linear(2, 2).state_dict()) == ([], [])


def test_load_state_dict_is_strict():
    layer = nn.Linear(2, 2)
    assert repr(layer.load_state_dict(layer.state_dict())) == "<All keys matched successfully>"
    with pytest.raises(RuntimeError, match="bias"):
        layer.load_state_dict({"weight": paddle.ones([2, 2])})
    result = layer.load_state_dict({"weight": paddle.ones([2, 2]), "z": paddle.ones([1])}, strict=False)
    assert result.missing_keys == ["bias"] and result.unexpected_keys == ["z"]


def test_bfloat16_state_from_numpy_words():
    layer = nn.Linear(1, 1).bfloat16()
    layer.set_state_dict({"weight": np.array([[0x3FC0]], np.uint16), "bias": np.array([0x4000], np.uint16)})
    assert layer.weight.tolist() == [[1.5]] and layer.bias.tolist() == [2.0]


def test_state_dict_gives_the_tensors_themselves_or_detached():
    layer = nn.Linear(2, 2)
    assert layer.state_dict()["weight"] is layer.weight
    loose = layer.state_dict(keep_vars=False)["weight"]
    assert loose.stop_gradient and loose is not layer.weight
    target = {"z": 1}
    assert list(layer.state_dict(destination=target)) == ["z", "weight", "bias"]


def test_state_dict_hook():
    layer = nn.Linear(2, 2)
    handle = layer.register_state_dict_hook(lambda state: state.update(extra=1))
    assert "extra" in layer.state_dict() and "extra" not in layer.state_dict(use_hook=False)
    handle.remove()
    assert "extra" not in layer.state_dict()


def test_pickle_and_copies():
    layer = nn.Linear(2, 2)
    again = pickle.loads(pickle.dumps(layer))
    assert again.weight.name == layer.weight.name and not again.weight.stop_gradient
    np.testing.assert_array_equal(again.weight.numpy(), layer.weight.numpy())
    clone = copy.deepcopy(layer)
    assert clone.weight is not layer.weight and clone.full_name() == layer.full_name()
    assert clone.weight.name.startswith(layer.weight.name + "_deepcopy_") and type(clone.weight) is paddle.Parameter
    clone.weight.set_value(np.zeros((2, 2)))
    assert layer.weight.abs().sum() > 0
    shallow = copy.copy(layer)
    assert shallow.weight is layer.weight


def test_layers_that_hold_results_can_be_copied():
    layer = nn.utils.weight_norm(nn.Linear(2, 2))
    layer.last = layer(paddle.ones([1, 2]))
    for clone in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        np.testing.assert_allclose(clone(paddle.ones([1, 2])).numpy(), layer.last.numpy(), rtol=1e-6)
        clone.weight_g.set_value(clone.weight_g * 2)
        assert (clone(paddle.ones([1, 2])).numpy() != layer.last.numpy()).any()
        assert clone.last.stop_gradient and not layer.last.stop_gradient


def test_a_deepcopied_layer_trains_on_its_own():
    layer = nn.Linear(2, 2)
    clone = copy.deepcopy(layer)
    clone(paddle.ones([1, 2])).sum().backward()
    assert clone.weight.grad is not None and layer.weight.grad is None


# ---- conversion ----
def everything():
    n = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1D(2))
    n.register_buffer("i", paddle.ones([2], "int64"))
    n.register_buffer("f", paddle.ones([2]))
    return n


@pytest.mark.parametrize(
    "convert, floating, integer",
    [
        (lambda n: n.to(dtype="float64"), "float64", "float64"),
        (lambda n: n.double(), "float64", "float64"),
        (lambda n: n.half(), "float16", "float16"),
        (lambda n: n.type("float64"), "float64", "float64"),
        (lambda n: n.bfloat16(), "bfloat16", "int64"),
        (lambda n: n.float16(), "float16", "int64"),
        (lambda n: n.double().float(), "float32", "float64"),
        (lambda n: n.astype("float64"), "float64", "int64"),
        (lambda n: n.to("cpu", "float64"), "float64", "float64"),
        (lambda n: n.to("cpu"), "float32", "int64"),
    ],
)
def test_dtype_conversion_in_place(convert, floating, integer):
    n = everything()
    weight = n[0].weight
    convert(n)
    assert n[0].weight is weight and weight.dtype.name == n[1]._mean.dtype.name == n.f.dtype.name == floating
    assert n.i.dtype.name == ("float32" if integer == "float64" and floating == "float32" else integer)
    assert not weight.stop_gradient and n[0]._dtype == floating


def test_conversion_takes_the_gradient_along_and_training_goes_on():
    n = nn.Linear(2, 2)
    n(paddle.ones([1, 2])).sum().backward()
    n.to(dtype="float64")
    assert n.weight.grad.dtype == paddle.float64
    n(paddle.ones([1, 2], "float64")).sum().backward()
    assert n.weight.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_conversion_leaves_those_who_share_the_memory():
    n = nn.Layer()
    n.whole = paddle.ones([2, 2])
    n.part = n.whole[0]
    kept = n.whole.detach()
    n.to(dtype="float64")
    assert n.whole.dtype == n.part.dtype == paddle.float64 and kept.dtype == paddle.float32
    n.whole.set_value(np.zeros((2, 2)))
    assert kept.sum().item() == 4


def test_excluded_layers_stay():
    n = everything().bfloat16(excluded_layers=[nn.BatchNorm1D])
    assert n[0].weight.dtype == paddle.bfloat16 and n[1].weight.dtype == paddle.float32


# ---- text ----
def test_repr():
    class Both(nn.Layer):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(2, 2)

        def extra_repr(self):
            return "hi\nthere"

    assert repr(Both()) == "Both(\n  hi\n  there\n\n  (a): Linear(in_features=2, out_features=2, dtype=float32)\n)"
    assert (
        repr(nn.Sequential(("b", nn.Sequential(nn.ReLU()))))
        == "Sequential(\n  (b): Sequential(\n    (0): ReLU()\n  )\n)"
    )
    assert repr(nn.Layer()) == "Layer()"


def test_create_tensor():
    with paddle.utils.unique_name.guard():
        layer = nn.Layer()
        assert layer.create_variable().name == "layer_0._generated_var_0"
    t = layer.create_tensor("t", persistable=True, dtype="float64")
    assert t.name == "t" and t.persistable and t.dtype == paddle.float64
