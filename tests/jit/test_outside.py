"""What recorded functions do to things outside of them, and what they depend on there, is as in eager calls."""

import dataclasses
from collections import deque

import numpy as np
import pytest

import paddle
import paddle.jit.static_function as static_function
from paddle.jit import to_static

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2  # its sum is 3


def tensor(shift=0.0):
    return paddle.to_tensor(X + shift)


class Box:
    n = 0


@dataclasses.dataclass
class Pair:
    a: object
    b: int


NUMBER, TABLE, LAST = 2, {"k": {"deep": 2}}, None


def append_to_argument(box, entries, x):
    entries.append(x * 2)
    return entries[-1] + len(entries)


def fill_argument(box, entries, x):
    box.y = x * 2
    return box.y


def fill_deque(box, entries, x, kept=deque()):  # noqa: B006, B008
    kept.append(x * 2)
    return kept[-1] * len(kept)


def assign_global(box, entries, x):
    global LAST
    LAST = x * 2
    return LAST + 1


def count_in_class(box, entries, x):
    Box.n = Box.n + 1
    return x * Box.n


def count_in_global(box, entries, x):
    global NUMBER
    NUMBER += 1
    return x * NUMBER


def give_object(box, entries, x):
    return Pair(x * 2, 3)


def give_generator(box, entries, x):
    for i in range(3):
        yield x * i


def give_function(box, entries, x):
    y = x * 2
    return lambda: y + 1


def text_of_elements(box, entries, x):
    return x * len(f"{x * 2}")


def seeded(box, entries, x):
    paddle.seed(3)
    return paddle.rand([3]) + x


def elements(out):
    if isinstance(out, Pair):
        out = [out.a, out.b]
    elif callable(out) and not isinstance(out, paddle.Tensor):
        out = out()
    elif hasattr(out, "send"):
        out = list(out)
    return [np.asarray(v) for v in (out if isinstance(out, list) else [out])]


@pytest.mark.parametrize(
    "function",
    [append_to_argument, fill_argument, fill_deque, assign_global, count_in_class, count_in_global, give_object,
     give_generator, give_function, text_of_elements, seeded],
)  # fmt: skip
def test_effects_are_those_of_eager_calls(function):
    found = []
    for f in (function, to_static(function)):
        Box.n, globals()["NUMBER"] = 0, 2
        for default in function.__defaults__ or ():
            default.clear()
        box, entries = Box(), []
        found.append([elements(f(box, entries, tensor(i))) for i in range(5)])
        found[-1].append([np.asarray(v) for v in (*entries, *vars(box).values())])
    for eager, static in zip(*found):
        assert len(eager) == len(static)
        for a, b in zip(eager, static):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_contents_of_containers_are_conditions():
    class Scaled(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.scales = [1]

        def forward(self, x):
            return x * self.scales[0] * TABLE["k"]["deep"]

    layer = to_static(Scaled())
    before = static_function.graph_breaks()
    got = [layer(tensor()).sum().item()]
    layer.scales[0] = 2
    got.append(layer(tensor()).sum().item())
    layer.scales = [3]
    got.append(layer(tensor()).sum().item())
    TABLE["k"]["deep"] = 4
    got.append(layer(tensor()).sum().item())
    TABLE["k"]["deep"] = 2
    assert got == [6, 12, 18, 36] and static_function.graph_breaks() == before
    assert layer.forward.get_traced_count() == 4


def test_what_stays_inside_is_no_reason_against_a_program():
    @to_static
    def f(x, options):
        box, seen = Box(), []
        box.y = x * options["k"]
        box.y.add_(x)
        for row in x:
            seen.append(row)
        a, *b = box.y.t()
        return a + seen[0].sum(), b

    before = static_function.graph_breaks()
    a, b = f(tensor(), {"k": 2})
    np.testing.assert_allclose(np.asarray(a), 3 * X[:, 0] - 3)
    np.testing.assert_allclose(np.asarray(b[1]), 3 * X[:, 2])
    assert static_function.graph_breaks() == before


def test_programs_of_many_kinds_of_calls_are_forgotten(monkeypatch):
    monkeypatch.setattr(static_function, "KINDS", 4)
    f = to_static(lambda x, k: x * k)
    assert [f(paddle.ones([1]), float(k)).item() for k in range(9)] == list(range(9))
    assert len(f.program_cache) == len(f._kept) == 4


def test_a_layer_that_counts_can_be_saved(tmp_path):
    class Counts(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * 2

    path = str(tmp_path / "counts")
    paddle.jit.save(to_static(Counts()), path, [paddle.static.InputSpec([None, 3])])
    np.testing.assert_array_equal(np.asarray(paddle.jit.load(path)(tensor())), X * 2)


def test_the_mode_of_a_layer_from_outside_is_a_condition():
    drop = paddle.nn.Dropout(0.5)
    f = paddle.jit.to_static(lambda x: drop(x))
    x = paddle.ones([64])
    assert (f(x) == 0).any()
    drop.eval()
    assert (f(x) == 1).all()
    drop.train()
    assert (f(x) == 0).any()


def test_methods_in_place_read_the_value_of_every_run():
    average = paddle.to_tensor([1.0, 2.0])
    f = paddle.jit.to_static(lambda: average.scale_(0.5) * 1)
    assert [f().tolist() for _ in range(3)] == [[0.5, 1.0], [0.25, 0.5], [0.125, 0.25]]
    assert average.tolist() == [0.125, 0.25]
