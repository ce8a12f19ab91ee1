"""Small functions with odd control flow; each takes a float tensor of shape [2, 3] and an int tensor of one element. The
file runs with the official package as well (see test_odd.py)."""

import contextlib
import functools

import paddle

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


# ---- jumps ----
@case
def nested_breaks(x, n):
    total = paddle.zeros([])
    for i in range(n):
        for j in range(4):
            if i * j > 4:
                break
            if (i + j) % 2 == 0:
                continue
            total = total + x[0, 0] * i + j
        if total > 20:
            break
    return total


@case
def return_from_nested_loops(x, n):
    for i in range(n):
        k = 0
        while k < 5:
            if x.sum() + i * k > 6:
                return x * i + k
            k += 1
    return x


@case
def while_else(x, n):
    i = paddle.zeros([], "int64")
    while i < n:
        if x.sum() * i > 100:
            break
        i = i + 1
    else:
        x = x + 10
    return x + i


@case
def for_else_broken(x, n):
    for i in range(5):
        if x.sum() + i > 4:
            break
    else:
        return x * 0
    return x + i


@case
def early_returns(x, n):
    if x.mean() > 10:
        return x
    if x.min() < -1:
        if n > 2:
            return x - 1
        y = x * 5
    else:
        y = x * 2
    if y.sum() > 0:
        return y
    return -y


@case
def continue_in_while(x, n):
    i, total = paddle.zeros([], "int64"), paddle.zeros([])
    while i < 6:
        i = i + 1
        if i % 2 == 0:
            continue
        total = total + i * x[1, 2]
    return total


@case
def loop_over_rows(x, n):
    total = paddle.zeros([3])
    for row in x:
        if row.sum() < 0:
            continue
        total = total + row
    return total


@case
def enumerate_rows(x, n):
    best, at = x[0], paddle.zeros([], "int64")
    for i, row in enumerate(x):
        if row.sum() > best.sum():
            best, at = row, at * 0 + i
    return best, at


@case
def zip_rows(x, n):
    out = []
    for a, b in zip(x, x + 1):
        out.append(paddle.where(a > 0, a, b))
    return paddle.stack(out)


@case
def enumerate_zip(x, n):
    total = x[0] * 0
    for i, (a, b) in enumerate(zip(x, [2.0, 3.0])):
        total = total + a * b * i
    return total


@case
def range_with_step(x, n):
    total = paddle.zeros([], "int64")
    for i in range(10, n, -2):
        total = total * 2 + i
    return total


@case
def infinite_loop(x, n):
    i = paddle.zeros([], "int64")
    while True:
        i = i + 1
        if i >= n:
            break
    return x * i


@case
def loop_variable_after(x, n):
    i = 0
    for i in range(n):
        if i > 2:
            break
    return x + i


@case
def break_before_use(x, n):
    y = x
    for i in range(n):
        y = y + i
        if y.max() > 5:
            y = y * 0.5
            break
        y = y * 2
    return y


# ---- closures, recursion, functions ----
@case
def closure_with_nonlocal(x, n):
    count = paddle.zeros([], "int64")

    def add(k):
        nonlocal count
        count = count + k

    for i in range(4):
        if x.sum() > i:
            add(i + 1)
    return count


@case
def closure_in_tensor_loop(x, n):
    scale = x * 0 + 1

    def grow(v):
        return v * scale + 1

    i = paddle.zeros([], "int64")
    while i < n:
        scale = grow(scale)
        i = i + 1
    return scale


def _factorial(k):
    return k * _factorial(k - 1) if k > 1 else 1


@case
def recursion_on_numbers(x, n):
    return x * _factorial(4)


def _power(x, k):
    if k == 0:
        return paddle.ones_like(x)
    half = _power(x, k // 2)
    return half * half * x if k % 2 else half * half


@case
def recursion_on_tensors(x, n):
    y = _power(x, 5)
    return y if y.sum() > 0 else _power(-x, 3)


@case
def lambdas(x, n):
    pick = lambda t: t * 2 if t.sum() > 0 else -t  # noqa: E731
    return pick(x) + (lambda a, b=3: a - b)(x)


@case
def lambdas_in_list(x, n):
    return sum([f(x) for f in (lambda t: t, lambda t: t * t, lambda t: paddle.maximum(t, -t))])


@case
def partial_and_keywords(x, n):
    def g(a, *rest, scale=1.0, **more):
        return a * scale + sum(rest) + more.get("shift", 0)

    f = functools.partial(g, scale=2.0)
    return f(x, x, 1, shift=3) if n > 2 else f(x)


def _twice(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        return function(*args, **kwargs) + function(*args, **kwargs)

    return wrapped


@_twice
def _signed(x):
    return x if x.sum() > 0 else -x


@case
def decorated(x, n):
    return _signed(x) - _signed(-x) * 0.5


@case
def map_and_filter(x, n):
    parts = list(map(lambda r: r * 2, [x[0], x[1]]))
    return parts[0] + parts[1] + len(list(filter(None, [0, 1, 2])))


@case
def sorted_by_key(x, n):
    rows = sorted([3, 1, 2], key=lambda k: -k)
    return x * rows[0] + rows[-1]


# ---- containers ----
@case
def append_in_loop(x, n):
    out = []
    for i in range(3):
        if x.sum() > i:
            out.append(x + i)
        else:
            out.append(x - i)
    return paddle.concat(out)


@case
def append_in_tensor_loop(x, n):
    out = []
    for i in range(n):
        out.append(x[0] * i)
    return paddle.stack(out)


@case
def dict_update_in_branch(x, n):
    d = {"a": x, "b": n}
    if x.sum() > 0:
        d.update(a=d["a"] * 2)
        d["b"] = d["b"] + 1
    else:
        d["a"] = -d["a"]
    return d["a"] + d["b"]


@case
def dict_in_loop(x, n):
    d = {"k": x * 1}
    i = paddle.zeros([], "int64")
    while i < n:
        d["k"] = d["k"] + i
        i = i + 1
    return d["k"]


@case
def swap_in_loop(x, n):
    a, b = x[0], x[1]
    for _ in range(n):
        a, b = b, a + b
    return a, b


@case
def nested_structures(x, n):
    state = {"h": [x, (x * 2, n)], "c": None}
    if n > 1:
        state["h"][1] = (state["h"][0] + 1, n - 1)
    return state["h"][1][0] * state["h"][1][1]


@case
def starred(x, n):
    first, *rest = [x, x + 1, x + 2]
    return first + rest[-1] * len(rest)


@case
def slices_in_loop(x, n):
    y = x.clone()
    for i in range(2):
        if y[i].sum() < 1:
            y[i] = y[i] + 10
    return y


@case
def in_place_in_tensor_loop(x, n):
    y = paddle.zeros([6])
    i = paddle.zeros([], "int64")
    while i < n:
        y[i] = y[i] + i.astype("float32") + 1
        i = i + 1
    return y


@case
def comprehension_with_tensors(x, n):
    return sum([r * 2 if r.sum() > 0 else -r for r in [x[0], x[1], x[0] - 5]])


@case
def nested_comprehension(x, n):
    return paddle.stack([x[i, j] * i for i in range(2) for j in range(3) if i != j])


@case
def dict_comprehension(x, n):
    d = {k: x * v for k, v in zip("abc", range(3))}
    return d["b"] + d["c"]


@case
def generator_expression(x, n):
    return sum(r.sum() for r in x)


def _pairs(x):
    for i in range(3):
        yield i, x * i


@case
def generator_function(x, n):
    total = x * 0
    for i, y in _pairs(x):
        if i == 2:
            break
        total = total + y
    return total


# ---- expressions ----
@case
def chained_comparison(x, n):
    return x * 2 if 0 < n <= 5 else x


@case
def chained_comparison_of_tensors(x, n):
    m = x.mean()
    return x + 1 if -1 < m < x.max() else x - 1


@case
def ternaries(x, n):
    return (x if n > 3 else -x) * (2 if x.sum() > 100 else 3)


@case
def walrus(x, n):
    if (m := x.max()) > 1:
        return x / m
    return x


@case
def walrus_in_loop(x, n):
    i = paddle.zeros([], "int64")
    while (i := i + 1) < n:
        x = x + i
    return x


@case
def and_or_not(x, n):
    if (x.sum() > 0 and n > 2) or not (x.min() > -5):
        return x + 1
    return x - 1


@case
def or_gives_a_value(x, n):
    y = None or abs(x.sum())
    return y and (y * 2) or x.sum()


@case
def tensor_in_list(x, n):
    return x * 2 if 3 in [1, 2, 3] and "a" not in "bcd" else x


@case
def length_of_tensor(x, n):
    total = x[0] * 0
    for i in range(len(x)):
        total = total + x[i] * len(x.shape)
    return total


@case
def isinstance_tests(x, n):
    if isinstance(x, paddle.Tensor) and not isinstance(n, (int, float)):
        return x * 3
    return x


@case
def shape_conditions(x, n):
    if x.shape[0] == 2 and x.ndim < 3:
        x = x.reshape([x.shape[1], -1])
    return x.t() if x.shape[0] > x.shape[1] else x


@case
def augmented(x, n):
    x += 1
    y = x
    y *= 2
    if n > 2:
        y -= n
    return x + y


@case
def matching(x, n):
    match x.ndim, "mode":
        case (2, mode) if mode == "mode":
            return x + 2
        case _:
            return x


@case
def abs_min_max(x, n):
    return max(x.max(), paddle.to_tensor(1.5)) + min(n, 3) + abs(x).sum()


@case
def casts(x, n):
    return x * float(n) + int(2.5) + x.sum().astype("int32").astype("float32") * bool(1)


# ---- exceptions, contexts ----
@case
def try_except(x, n):
    try:
        y = {"a": x}["b"]
    except KeyError:
        y = x * 2
    finally:
        y = y + 1
    return y


@case
def try_else(x, n):
    try:
        y = x + 1
    except ValueError:
        return x
    else:
        if y.sum() > 0:
            return y
    return -y


@case
def try_in_loop(x, n):
    out = x
    for k in ["a", 2, None]:
        try:
            out = out + k
        except Exception:
            continue
    return out


@case
def assert_passes(x, n):
    assert n > 0, "n must be positive"
    assert x.shape[0] == 2
    return x


@case
def raise_not_reached(x, n):
    if x.ndim == 7:
        raise ValueError("never")
    return x


@contextlib.contextmanager
def _noted(seen):
    seen.append(1)
    yield 2
    seen.append(3)


@case
def context_manager(x, n):
    seen = []
    with _noted(seen) as k, paddle.no_grad():
        y = x * k if x.sum() > 0 else x
    return y + sum(seen)


@case
def del_and_rebind(x, n):
    y = x * 2
    del y
    y = x + 1
    return y


# ---- classes ----
class Base(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.k = 2
        self.scales = [1.0, 3.0]
        self.table = {"a": 2.0}

    def forward(self, x):
        return x * self.k

    @property
    def doubled(self):
        return self.k * 2

    @staticmethod
    def shift(x):
        return x + 1 if x.sum() > 0 else x - 1

    @classmethod
    def name_length(cls):
        return len("Base")


class Child(Base):
    def forward(self, x):
        y = super().forward(x)
        if y.sum() > 0:
            y = y + super(Child, self).forward(x)  # noqa: UP008
        return self.shift(y) * self.doubled + self.name_length()

    def __call__(self, *inputs, **kwargs):
        return super().__call__(*inputs, **kwargs) + 1


class Grand(Child):
    def shift(self, x):
        return x * self.table["a"] + sum(s for s in self.scales)


@case
def super_calls(x, n):
    return CHILD(x)


@case
def overridden_static(x, n):
    return GRAND(x)


CHILD, GRAND = Child(), Grand()


class Point:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def __add__(self, other):
        return Point(self.a + other.a, self.b + other.b)

    def __getitem__(self, i):
        return self.a if i == 0 else self.b

    def __len__(self):
        return 2


@case
def own_objects(x, n):
    p = Point(x, x * 2) + Point(1.0, 2.0)
    if x.sum() > 0:
        p.a = p.a * 3
    return p[0] + p[1] * len(p)


@case
def hooks_inside(x, n):
    y = x * 2
    y.stop_gradient = False
    y.register_hook(lambda g: g * 3)
    return paddle.grad((y * y).sum(), [y])[0]


@case
def forward_hook(x, n):
    layer = paddle.nn.ReLU()
    layer.register_forward_post_hook(lambda layer, inputs, out: out + 1 if out.sum() > 0 else out)
    return layer(x)


@case
def gradients_through_branches(x, n):
    x = x.detach()
    x.stop_gradient = False
    y = x
    for i in range(n):
        y = y * x if y.sum() > 2 else y + x
    return paddle.grad(y.sum(), [x])[0]


@case
def none_until_set(x, n):
    best = None
    for i in range(4):
        y = x * i
        if best is None:
            best = y
        elif y.sum() > best.sum():
            best = y
    return best


@case
def flags_of_python(x, n):
    done, k = False, 0
    while not done:
        x = x + k
        k += 1
        done = k > 3
    return x


@case
def returns_structures(x, n):
    if x.sum() > 0:
        return {"out": x, "pair": (x + 1, [n])}
    return {"out": -x, "pair": (x - 1, [n * 2])}


@case
def string_formats(x, n):
    name = f"{x.shape[0]}-{'a' if x.ndim == 2 else 'b'}"
    return x + len(name)


@case
def global_function_table(x, n):
    return {"relu": paddle.nn.functional.relu, "tanh": paddle.tanh}["relu"](x)


@case
def multiple_targets(x, n):
    a = b = x + 1
    b = b * 2
    return a + b


@case
def loop_over_dict_items(x, n):
    total = x
    for key, value in {"a": 1.0, "b": 2.0}.items():
        if total.sum() > 5:
            total = total - value
        else:
            total = total + value * len(key)
    return total


@case
def reversed_and_any(x, n):
    for i in reversed(range(3)):
        x = x * 2 if any([i == 1, False]) and all([True]) else x + i
    return x


@case
def while_with_and(x, n):
    i, y = paddle.zeros([], "int64"), x
    while i < 10 and y.sum() < 50:
        y = y + 1.5
        i = i + 1
    return y, i
