"""Sequential, LayerList, LayerDict, ParameterList, ParameterDict."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paddle
from paddle import nn


def kinds(layers):
    return [type(layer).__name__ for layer in layers]


def parameter(*shape):
    return paddle.create_parameter(list(shape) or [2], "float32")


# ---- Sequential ----
def test_sequential_forms_and_call():
    named = nn.Sequential(("a", nn.Linear(2, 3)), ["b", nn.ReLU()])
    assert (
        list(named.state_dict()) == ["a.weight", "a.bias"]
        and type(named["b"]) is nn.ReLU
        and type(named[-1]) is nn.ReLU
    )
    plain = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    plain.add_sublayer("x", nn.Linear(3, 4))
    assert list(plain.state_dict()) == ["0.weight", "0.bias", "x.weight", "x.bias"]
    assert plain(paddle.ones([5, 2])).shape == [5, 4]
    x = paddle.ones([1])
    assert nn.Sequential()(x) is x


def test_sequential_as_a_list():
    s = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Tanh())
    part = s[0:2]
    assert type(part) is nn.Sequential and kinds(part) == ["Linear", "ReLU"] and part[0] is s[0]
    s[1] = nn.Sigmoid()
    s[-1] = nn.GELU()
    s["extra"] = nn.Silu()
    assert kinds(s) == ["Linear", "Sigmoid", "GELU", "Silu"] and s["extra"] is s[3]
    del s[0]
    del s[-1]
    assert kinds(s) == ["Sigmoid", "GELU"] and list(s._sub_layers) == ["1", "2"]
    s.append(nn.ReLU()).extend([nn.Mish(), nn.Tanh()])
    assert kinds(s) == ["Sigmoid", "GELU", "ReLU", "Mish", "Tanh"] and len(set(s._sub_layers)) == 5
    del s[1:3]
    assert kinds(s) == ["Sigmoid", "Mish", "Tanh"]


def test_slices_of_a_subclass_are_plain_containers():
    class Block(nn.Sequential):
        def __init__(self, width):
            super().__init__(nn.Linear(width, width), nn.ReLU())

    class Stack(nn.LayerList):
        def __init__(self, width):
            super().__init__([nn.Linear(width, width), nn.ReLU()])

    assert kinds(Block(2)[:1]) == kinds(Stack(2)[:1]) == ["Linear"]


def test_sequential_insert_keeps_numbers_in_order():
    s = nn.Sequential(nn.ReLU(), nn.Tanh())
    s.insert(0, nn.GELU()).insert(-1, nn.Silu()).insert(4, nn.Mish())
    assert kinds(s) == ["GELU", "ReLU", "Silu", "Tanh", "Mish"] and list(s._sub_layers) == list("01234")
    named = nn.Sequential(("a", nn.ReLU()), ("b", nn.Tanh()))
    named.insert(1, nn.GELU())
    assert kinds(named) == ["ReLU", "GELU", "Tanh"] and list(named._sub_layers)[::2] == ["a", "b"]


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda s: s[2], IndexError),
        (lambda s: s[-3], IndexError),
        (lambda s: s["q"], KeyError),
        (lambda s: s.append(3), TypeError),
        (lambda s: s.insert(3, nn.ReLU()), IndexError),
        (lambda s: s.__delitem__(9), IndexError),
        (lambda s: s.__setitem__(0, 3), TypeError),
        (lambda s: s.__setitem__(-5, nn.ReLU()), IndexError),
        (lambda s: nn.Sequential(3), TypeError),
        (lambda s: nn.Sequential([nn.ReLU(), nn.Tanh()]), TypeError),
        (lambda s: nn.Sequential(("a", nn.ReLU()), nn.Tanh()), ValueError),
    ],
)
def test_sequential_errors(call, error):
    with pytest.raises(error):
        call(nn.Sequential(nn.ReLU(), nn.Tanh()))


# ---- LayerList ----
def test_layer_list_operations():
    layers = nn.LayerList(nn.Linear(i + 1, 2) for i in range(3))
    layers.append(module=nn.ReLU())
    layers.insert(1, nn.Tanh())
    layers.insert(-1, nn.GELU())
    layers += [nn.Sigmoid()]
    assert kinds(layers) == ["Linear", "Tanh", "Linear", "Linear", "GELU", "ReLU", "Sigmoid"]
    assert list(layers._sub_layers) == [str(i) for i in range(7)]
    assert type(layers[1:3]) is nn.LayerList and kinds(layers[1:3]) == ["Tanh", "Linear"]
    assert layers[1:3][0] is layers[1]
    layers[0:2] = [nn.Silu(), nn.Mish()]
    layers[-1] = nn.Identity()
    del layers[2:4]
    assert kinds(layers) == ["Silu", "Mish", "GELU", "ReLU", "Identity"]
    assert type(layers.pop(-1)) is nn.Identity and type(layers.pop(0)) is nn.Silu and len(layers) == 3
    assert kinds(layers + [nn.Tanh()]) == ["Mish", "GELU", "ReLU", "Tanh"] and len(layers) == 3
    assert layers[0] in layers
    layers.extend(layers)
    assert len(layers) == 6
    assert list(nn.LayerList([nn.Linear(1, 1), nn.ReLU(), nn.Linear(2, 2)]).state_dict()) == [
        "0.weight",
        "0.bias",
        "2.weight",
        "2.bias",
    ]


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda l: l[2], IndexError),
        (lambda l: l[-3], IndexError),
        (lambda l: l.__setitem__(2, nn.ReLU()), IndexError),
        (lambda l: l.__setitem__(0, 3), TypeError),
        (lambda l: l.insert(3, nn.ReLU()), IndexError),
        (lambda l: l.append(3), TypeError),
        (lambda l: l.pop(7), IndexError),
        (lambda l: l(3), NotImplementedError),
        (lambda l: nn.LayerList([3]), TypeError),
    ],
)
def test_layer_list_errors(call, error):
    with pytest.raises(error):
        call(nn.LayerList([nn.ReLU(), nn.Tanh()]))


# ---- LayerDict ----
def test_layer_dict_operations():
    d = nn.LayerDict({"x": nn.Linear(2, 2), "y": nn.ReLU()})
    d["z"] = nn.Tanh()
    d.update([("y", nn.Sigmoid())])
    d.update(nn.LayerDict({"q": nn.ReLU()}))
    assert list(d.keys()) == ["x", "y", "z", "q"] and kinds(d.values()) == ["Linear", "Sigmoid", "Tanh", "ReLU"]
    assert "x" in d and "w" not in d and len(d) == 4 and list(d.state_dict()) == ["x.weight", "x.bias"]
    assert type(d.pop("x")) is nn.Linear and list(d) == ["y", "z", "q"] and dict(d.items())["y"] is d["y"]
    del d["y"]
    d.clear()
    assert len(d) == 0


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda d: d["z"], KeyError),
        (lambda d: d.pop("z"), KeyError),
        (lambda d: d.__delitem__("z"), KeyError),
        (lambda d: d.__setitem__("z", 3), TypeError),
        (lambda d: d.update([("z",)]), ValueError),
        (lambda d: nn.LayerDict(3), TypeError),
    ],
)
def test_layer_dict_errors(call, error):
    with pytest.raises(error):
        call(nn.LayerDict({"a": nn.ReLU()}))


# ---- parameters ----
def test_parameter_list():
    p = nn.ParameterList([parameter(), parameter(3)])
    p.append(parameter(4))
    assert len(p) == 3 and list(p.state_dict()) == ["0", "1", "2"] and [q.shape for q in p] == [[2], [3], [4]]
    p[0] = parameter(5)
    p[-1] = paddle.ones([6])
    assert p[0].shape == [5] and p[-1].shape == [6] and isinstance(p[2], paddle.Parameter)
    assert [q.shape for q in p[:2]] == [[5], [3]]
    for call, error in (
        (lambda: p[3], IndexError),
        (lambda: p.append(paddle.ones([1])), TypeError),
        (lambda: p.__setitem__(0, 3), TypeError),
    ):
        with pytest.raises(error):
            call()


def test_parameter_dict():
    p = nn.ParameterDict({"a": parameter()})
    p.update([("b", parameter(3))])
    assert list(p) == list(p.state_dict()) == ["a", "b"] and p["b"].shape == [3] and "a" in p
    assert len(nn.ParameterDict(p)) == 2
    del p["a"]
    assert len(p) == len(p.parameters()) == 1
    for call, error in ((lambda: p["z"], KeyError), (lambda: p.__setitem__("z", paddle.ones([1])), TypeError)):
        with pytest.raises(error):
            call()


# ---- containers against the lists of Python ----
KINDS = st.sampled_from(["append", "insert", "pop", "set", "delete", "slice", "cut"])
ACTIONS = st.lists(st.tuples(KINDS, st.integers(-6, 6), st.integers(-6, 6)), max_size=12)


@given(ACTIONS)
@settings(deadline=None, max_examples=60)
def test_layer_list_is_a_list(actions):
    layers, model = nn.LayerList(), []
    for action, i, j in actions:
        fresh = nn.Identity()
        inside = -len(model) <= i < len(model)
        if action == "append":
            layers.append(fresh), model.append(fresh)
        elif action == "insert" and -len(model) <= i <= len(model):
            layers.insert(i, fresh), model.insert(i, fresh)
        elif action == "pop" and inside:
            assert layers.pop(i) is model.pop(i)
        elif action == "set" and inside:
            layers[i] = model[i] = fresh
        elif action == "delete" and inside:
            del layers[i], model[i]
        elif action == "slice":
            layers[i:j] = model[i:j] = [fresh, fresh]
        elif action == "cut":
            del layers[i:j], model[i:j]
        assert list(layers) == model and list(layers._sub_layers) == [str(k) for k in range(len(model))]
        assert list(layers[i:j]) == model[i:j]


@given(ACTIONS)
@settings(deadline=None, max_examples=60)
def test_sequential_is_a_list(actions):
    layers, model = nn.Sequential(), []
    for action, i, j in actions:
        fresh = nn.Identity()
        inside = -len(model) <= i < len(model)
        if action == "append":
            layers.append(fresh), model.append(fresh)
        elif action == "insert" and -len(model) <= i <= len(model):
            layers.insert(i, fresh), model.insert(i, fresh)
        elif action == "set" and inside:
            layers[i] = model[i] = fresh
        elif action == "delete" and inside:
            del layers[i], model[i]
        elif action == "cut":
            del layers[i:j], model[i:j]
        assert list(layers) == model and list(layers[i:j]) == model[i:j]
