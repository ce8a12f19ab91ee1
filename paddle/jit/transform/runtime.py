"""What converted code calls: each helper does what Python would, unless a tensor without elements decides."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterator
from typing import Any

from ...engine import errors
from ...engine.modes import modes
from ...engine.tensor import Tensor, _make
from ...engine.value import Dim
from . import convert as _convert
from .jumps import PREFIX

UNROLL = 64  # iterations over the rows of a tensor up to which a loop is unrolled
MOST_UNROLLED = 1024  # the same where a loop of a known number of iterations cannot be recorded


class _Mark:
    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __deepcopy__(self, memo: dict) -> _Mark:
        return self


UNDEFINED = _Mark("undefined")  # a variable without a value


class State:
    """The variables that a statement may assign or change.

    Args:
        names: as in the source, "x" or "self.x".
        readers: functions that give their values.
        writer: a function of a list of values, that assigns them; UNDEFINED removes.
    """

    def __init__(self, names: tuple[str, ...], readers: tuple[Callable, ...], writer: Callable):
        self.names, self.readers, self.write = names, readers, writer

    def read(self) -> list:
        found = []
        for reader in self.readers:
            try:
                found.append(reader())
            except (NameError, AttributeError):
                found.append(UNDEFINED)
        return found


NOTHING = State((), (), lambda values: None)


def symbolic(x: Any) -> bool:
    """Whether x decides only when the program runs."""
    if modes.program is None:
        return False
    return isinstance(x, Tensor) or isinstance(x, Dim)


def tensor_of(x: Any) -> Any:
    """A length that is not known yet as a tensor."""
    if not isinstance(x, Dim):
        return x
    import paddle

    kind, a, b = x.source
    if kind == "dim":
        return paddle.shape(_make(a))[b].astype("int64")
    a, b = tensor_of(a), tensor_of(b)
    if not isinstance(a, Tensor):
        a = paddle.full([], a, "int64")
    return {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv}.get(
        kind, operator.mod
    )(a, b)


def condition(x: Any) -> Tensor:
    """A tensor of one element, or a length, as a bool tensor without axes."""
    x = tensor_of(x)
    if x._raw.size != 1 and not isinstance(x._raw.size, Dim):
        raise errors.ValueError_(
            f"a condition must be a tensor of one element, this has shape {list(x.shape)}; use any() or all()"
        )
    if x.dtype.name != "bool":
        x = x != 0
    return x.reshape([]) if x.ndim else x


# ---- statements ----
def branch(test: Any, then: Callable, other: Callable | None, state: State | None, live: tuple) -> None:
    """``if test: then() else: other()``"""
    if symbolic(test):
        from .control import record_branch

        record_branch(condition(test), then, other, state or NOTHING, set(live))
    elif test:
        then()
    elif other is not None:
        other()


def loop(test: Callable, body: Callable, state: State | None, live: tuple, carried: tuple) -> None:
    """``while test(): body()``"""
    while True:
        going = test()
        if symbolic(going):
            from .control import record_loop

            record_loop(lambda: condition(test()), body, state or NOTHING, {*live, *carried})
            return
        if not going:
            return
        body()


def each(
    iterable: Any,
    item: Callable,
    body: Callable,
    going: Callable | None,
    state: State | None,
    live: tuple,
    carried: tuple,
) -> None:
    """``for item in iterable: body()``, while going()"""
    state = state or NOTHING
    if isinstance(iterable, Tensor) and symbolic(iterable):
        iterable = Rows(iterable)
    if isinstance(iterable, Counted):
        length = iterable.length
        if symbolic(length):
            return _counted(iterable, 0, item, body, going, state, {*live, *carried})
        if length > UNROLL and _recorded(iterable, 0, item, body, going, state, {*live, *carried}):
            return
    numbers = Numbers(iterable) if isinstance(iterable, range) else None
    for position, value in enumerate(iterable):
        if going is not None:
            on = going()
            if symbolic(on):
                if (
                    numbers is not None
                    and len(iterable) - position > 2
                    and _recorded(numbers, position, item, body, going, state, {*live, *carried})
                ):
                    return
                numbers = None

                def step(value: Any = value) -> None:
                    item(value)
                    body()

                branch(on, step, None, state, (*live, *carried))
                continue
            if not on:
                return
        item(value)
        body()


def _recorded(items: Counted, *rest: Any) -> bool:
    """Whether a loop over a known number of items could be recorded as a loop; otherwise (lists grow in it, or layers
    are taken from a list by their number) it is unrolled."""
    try:
        _counted(items, *rest)
    except Exception:
        if items.length > MOST_UNROLLED:
            raise
        return False
    return True


def _counted(
    items: Counted, start: int, item: Callable, body: Callable, going: Callable | None, state: State, live: set
) -> None:
    """A loop over something whose items are found by their number, recorded."""
    from .control import record_loop

    holder: list = [start]
    length = tensor_of(items.length)
    counter = PREFIX + "number"

    def write(values: list) -> None:
        state.write(values[:-1])
        holder[0] = values[-1]

    def test() -> Any:
        more = holder[0] < length
        return condition(more if going is None else and_(more, going))

    def step() -> None:
        item(items.at(holder[0]))
        body()
        holder[0] = holder[0] + 1

    whole = State((*state.names, counter), (*state.readers, lambda: holder[0]), write)
    record_loop(test, step, whole, {*live, counter})


def check(test: Callable, message: Callable | None) -> None:
    """``assert test(), message()``"""
    value = test()
    if symbolic(value):
        from .effects import record_check

        text = None if message is None else message()
        record_check(value, "" if text is None else str(text))
    elif not value:
        raise AssertionError(*([] if message is None else [message()]))


# ---- expressions ----
def and_(first: Any, *rest: Callable) -> Any:
    """``first and rest() ...``"""
    value = first
    for other in rest:
        if symbolic(value):
            right = other()
            if symbolic(right):
                value = _either(value, right, value) if _alike(value, right) else condition(value) & condition(right)
            elif not right:
                return right
        elif not value:
            return value
        else:
            value = other()
    return value


def or_(first: Any, *rest: Callable) -> Any:
    """``first or rest() ...``"""
    value = first
    for other in rest:
        if symbolic(value):
            right = other()
            if symbolic(right):
                value = _either(value, value, right) if _alike(value, right) else condition(value) | condition(right)
            elif right:
                return right
        elif value:
            return value
        else:
            value = other()
    return value


def _alike(a: Any, b: Any) -> bool:
    """Whether one of two tensors can be chosen; of others, and of bools, the truth is computed."""
    both = isinstance(a, Tensor) and isinstance(b, Tensor)
    return both and a.dtype is b.dtype and a.dtype.name != "bool" and list(a.shape) == list(b.shape)


def _either(test: Tensor, a: Tensor, b: Tensor) -> Tensor:
    import paddle

    return paddle.where(condition(test), a, b)


def not_(value: Any) -> Any:
    if symbolic(value):
        value = tensor_of(value)
        return ~(value if value.dtype.name == "bool" else value != 0)
    return not value


def choose(test: Any, a: Callable, b: Callable) -> Any:
    """``a() if test else b()``"""
    if not symbolic(test):
        return a() if test else b()
    holder: list = [UNDEFINED]

    def write(values: list) -> None:
        holder[0] = values[0]

    state = State((PREFIX + "chosen",), (lambda: holder[0],), write)
    branch(test, lambda: write([a()]), lambda: write([b()]), state, state.names)
    return holder[0]


_COMPARE = {
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda a, b: a in b,
    "NotIn": lambda a, b: a not in b,
}


def compare(words: tuple[str, ...], left: Any, right: Any, *rest: Callable) -> Any:
    """``left < right < rest() ...``"""
    result = _compare(words[0], left, right)
    for word, other in zip(words[1:], rest):
        if not symbolic(result) and not result:
            return result
        left, right = right, other()
        result = and_(result, lambda word=word, a=left, b=right: _compare(word, a, b))
    return result


def _compare(word: str, a: Any, b: Any) -> Any:
    if (isinstance(a, Dim) or isinstance(b, Dim)) and modes.program is not None:
        if word in ("Eq", "NotEq") and isinstance(a, Dim) and isinstance(b, Dim) and a == b:
            return word == "Eq"
        if isinstance(a, (int, float, Tensor)) and isinstance(b, (int, float, Tensor)) and not word.startswith("I"):
            a, b = tensor_of(a), tensor_of(b)
    return _COMPARE[word](a, b)


def attribute(value: Any, name: str) -> Any:
    """``value.name``; what a function reads from objects is a condition under which its program is used again."""
    found = getattr(value, name)
    if found is None or found.__class__ in (bool, int, float, str) or isinstance(found, Tensor):
        note = getattr(modes.program, "note_attribute", None)
        if note is not None:
            note(value, name, found)
    elif modes.program is not None and not isinstance(value, Tensor):
        held = getattr(modes.program, "note_held", None)
        if held is not None:
            held(value, name, found)
    return found


# ---- calls ----
def call(function: Any) -> Any:
    """What to call instead of a function."""
    if modes.program is None:
        return function
    try:
        replacement = _REPLACED.get(function)
    except TypeError:
        replacement = None
    if replacement is not None:
        return replacement
    note = getattr(modes.program, "note_function", None)
    if note is not None:
        note(function)
    return _convert(function)


class Counted:
    """Something to iterate over whose items are found by their number."""

    length: Any

    def at(self, i: Any) -> Any:
        raise NotImplementedError

    def __iter__(self) -> Iterator:
        if symbolic(self.length):
            raise errors.NoValue("iter(): how many items there are is not known while the program is built")
        return (self.at(i) for i in range(self.length))


class Numbers(Counted):
    """A range."""

    def __init__(self, numbers: range):
        self.numbers, self.length = numbers, len(numbers)

    def at(self, i: Any) -> Any:
        return i * self.numbers.step + self.numbers.start

    def __iter__(self) -> Iterator:
        return iter(self.numbers)


class TensorRange(Counted):
    """A range with bounds that are tensors or unknown lengths."""

    def __init__(self, *bounds: Any):
        whole = [self._number(b) for b in bounds]
        start, stop, step = (0, whole[0], 1) if len(whole) == 1 else (*whole, 1)[:3]
        self.start, self.step = start, step
        if not isinstance(step, Tensor) and step == 0:
            raise ValueError("range() arg 3 must not be zero")
        self.length = -((start - stop) // step) if not isinstance(step, int) or step != 1 else stop - start

    @staticmethod
    def _number(x: Any) -> Any:
        x = tensor_of(x)
        if not isinstance(x, Tensor):
            return x
        if x.dtype.is_floating:
            raise TypeError(f"range(): a {x.dtype.name} tensor cannot be interpreted as an integer")
        return x.reshape([]) if x.ndim else x

    def at(self, i: Any) -> Any:
        return i * self.step + self.start


class Rows(Counted):
    """The rows of a tensor."""

    def __init__(self, tensor: Tensor):
        if not tensor._raw.shape:
            raise TypeError("(InvalidType) iter(): a 0-D tensor cannot be iterated over")
        self.tensor, self.length = tensor, tensor._raw.shape[0]

    def at(self, i: Any) -> Any:
        return self.tensor[i]


class Joined(Counted):
    """enumerate and zip over such things."""

    def __init__(self, parts: list, start: int | None = None):
        self.parts = [_counted_of(p) for p in parts]
        self.start = start
        self.length = self.parts[0].length
        fixed = [p.length for p in self.parts if not symbolic(p.length)]
        for part in self.parts[1:]:
            self.length = self._shorter(self.length, part.length)
        if fixed and symbolic(self.length) and len(self.parts) == 1:
            self.length = fixed[0]

    @staticmethod
    def _shorter(a: Any, b: Any) -> Any:
        if not symbolic(a) and not symbolic(b):
            return min(a, b)
        if isinstance(a, Dim) and isinstance(b, Dim) and a == b:
            return a
        return minimum(a, b)

    def at(self, i: Any) -> Any:
        items = tuple(p.at(i) for p in self.parts)
        return items if self.start is None else (i + self.start, items[0])


class _Listed(Counted):
    def __init__(self, items: list):
        self.items, self.length = items, len(items)

    def at(self, i: Any) -> Any:
        if isinstance(i, Tensor):
            raise errors.NoValue("a list cannot be indexed by a tensor while the program is built")
        return self.items[i]


def _counted_of(x: Any) -> Counted:
    if isinstance(x, Counted):
        return x
    if isinstance(x, Tensor):
        return Rows(x)
    return Numbers(x) if isinstance(x, range) else _Listed(list(x))


def _range(*bounds: Any) -> Any:
    return TensorRange(*bounds) if any(map(symbolic, bounds)) else range(*bounds)


def _enumerate(iterable: Any, start: int = 0) -> Any:
    if isinstance(iterable, Counted) or isinstance(iterable, Tensor):
        return Joined([iterable], start)
    return enumerate(iterable, start)


def _zip(*iterables: Any, **options: Any) -> Any:
    if any(isinstance(i, (Counted, Tensor)) for i in iterables) and not options:
        return Joined(list(iterables))
    return zip(*iterables, **options)


def _len(x: Any) -> Any:
    if isinstance(x, Counted):
        return x.length
    if isinstance(x, Tensor):
        if not x._raw.shape:
            raise AssertionError("len(): a 0-D tensor has no length")
        return x._raw.shape[0]
    return len(x)


def _cast(kind: type, dtype: str) -> Callable:
    def cast(*args: Any) -> Any:
        if len(args) == 1:
            if isinstance(args[0], Dim):
                return args[0] if kind is int else tensor_of(args[0]).astype(dtype)
            if isinstance(args[0], Tensor):
                return args[0].astype(dtype)
        return kind(*args)

    return cast


def _print(*args: Any, **options: Any) -> None:
    if any(map(symbolic, args)):
        from .effects import record_print

        record_print(args, options)
    else:
        print(*args, **options)


def minimum(a: Any, b: Any) -> Any:
    return _extreme("minimum")(a, b)


def _extreme(name: str) -> Callable:
    plain = {"minimum": min, "maximum": max}[name]

    def extreme(*args: Any, **options: Any) -> Any:
        values = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        if options or len(values) < 2 or not any(map(symbolic, values)):
            return plain(*args, **options)
        import paddle

        tensors = [tensor_of(v) for v in values]
        kinds = [t.dtype for t in tensors if isinstance(t, Tensor)]
        found = None
        for t in tensors:
            t = t if isinstance(t, Tensor) else paddle.full([], t, kinds[0])
            found = t if found is None else getattr(paddle, name)(found, t)
        return found

    return extreme


def _getattr(value: Any, name: str, *default: Any) -> Any:
    return attribute(value, name) if not default or hasattr(value, name) else default[0]


_REPLACED: dict[Any, Callable] = {
    builtins.range: _range,
    builtins.enumerate: _enumerate,
    builtins.zip: _zip,
    builtins.len: _len,
    builtins.int: _cast(int, "int32"),
    builtins.float: _cast(float, "float32"),
    builtins.bool: _cast(bool, "bool"),
    builtins.print: _print,
    builtins.min: _extreme("minimum"),
    builtins.max: _extreme("maximum"),
    builtins.getattr: _getattr,
}
