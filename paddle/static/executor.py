"""Running programs: scopes that hold variables between runs, and the Executor."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import dtype as dtypes
from ..engine import errors
from ..engine import place as places
from ..engine.modes import set_mode
from ..engine.random import generator
from ..engine.tensor import Tensor, _make
from ..engine.value import Value
from ..ir.buckets import BucketedExecutable, from_environment
from ..ir.program import State
from ..ir.run import Executable
from .input_spec import InputSpec
from .program import Program, default_main_program

__all__ = [
    "CompiledProgram",
    "Executor",
    "Scope",
    "global_scope",
    "scope_guard",
]


class ScopeVariable:
    """A variable of a scope. `get_tensor()` gives its tensor, with `set(array, place)` to overwrite it."""

    def __init__(self, name: str, array: Any):
        self._name = name
        self._array = array
        self._alone = False  # nobody else has seen the array: it may be overwritten

    @property
    def array(self) -> Any:
        self._alone = False
        return self._array

    def _value(self, name: str) -> Any:
        """The array, for somebody who is not to keep it. RuntimeError when there is none."""
        if self._array is None:
            raise errors.RuntimeError_(f"{name}: variable {self._name} has no value; run the startup program first")
        return self.array

    @array.setter
    def array(self, array: Any) -> None:
        self._array, self._alone = array, False

    def name(self) -> str:
        return self._name

    def get_tensor(self) -> ScopeVariable:
        return self

    def set(self, value: Any, place: Any = None) -> None:
        """Overwrite with an array. ValueError when the shapes differ."""
        value = value._value if isinstance(value, Tensor) else np.asarray(value)
        if self._array is not None and tuple(value.shape) != tuple(self._array.shape):
            raise errors.ValueError_(
                f"set: {self._name} has shape {list(self._array.shape)}, the value {list(value.shape)}"
            )
        dtype = None if self._array is None else self._array.dtype
        self.array = jnp.array(value, dtype=dtype, copy=True)

    def shape(self) -> list[int]:
        return list(self._value("shape").shape)

    def _is_initialized(self) -> bool:
        return self._array is not None

    def numpy(self) -> np.ndarray:
        return np.array(self._value("numpy"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._value("array"), dtype=dtype)


class Scope:
    """Variables by name: what programs keep between runs."""

    def __init__(self) -> None:
        self.variables: dict[str, ScopeVariable] = {}
        self._lock = threading.RLock()  # held while variables are exchanged for their new values
        self._readers = 0  # runs that change nothing and may still need the arrays

    def find_var(self, name: str) -> ScopeVariable | None:
        """The variable of a name, None when there is none."""
        return self.variables.get(name)

    def var(self, name: str) -> ScopeVariable:
        """The variable of a name, made when it is new."""
        if name not in self.variables:
            self.variables[name] = ScopeVariable(name, None)
        return self.variables[name]

    def local_var_names(self) -> list[str]:
        return list(self.variables)

    def erase(self, names: list[str]) -> None:
        for name in names:
            self.variables.pop(name, None)

    def new_scope(self) -> Scope:
        return Scope()

    def drop_kids(self) -> None:
        pass

    # ---- for programs ----
    def array_of(self, state: State) -> Any:
        """The value of a state: of the tensor that holds it, or of the variable here; None when there is none."""
        if state.tensor is not None:
            return state.tensor._value
        found = self.variables.get(state.name)
        return None if found is None else found.array

    @contextlib.contextmanager
    def taken(self, executable: Any, only_look: bool = False) -> Iterator[tuple[dict[str, Any], list[str]]]:
        """A context in which a program runs: (the arrays of its states, the names of those that it may overwrite). These are
        the arrays that only this scope holds; what somebody has looked at, or put here, is copied first."""
        changing = [n for n in executable.updates if n in executable.states and executable.states[n].tensor is None]
        with self._lock:
            states = {n: self._array_for(n, s) for n, s in executable.states.items()}
            if only_look or not changing:
                self._readers += 1
            else:
                for n in changing:
                    if self._readers or not self.variables[n]._alone:
                        states[n] = jnp.array(states[n], copy=True)
                yield states, changing
                return
        try:
            yield states, changing
        finally:
            with self._lock:
                self._readers -= 1

    def _array_for(self, name: str, state: State) -> Any:
        found = self.variables.get(name) if state.tensor is None else None
        array = state.tensor._value if state.tensor is not None else None if found is None else found._array
        if array is None or getattr(array, "is_deleted", bool)():
            raise errors.RuntimeError_(
                f"Executor.run: variable {name} has no value in the scope; run the startup program first"
            )
        if array.shape != state.value.trials[0]:
            raise errors.ValueError_(
                f"Executor.run: variable {name} has shape {list(array.shape)} in the scope, the program needs "
                f"{list(state.value.trials[0])}; another program may have a variable of this name"
            )
        return array

    def put(self, state: State, array: Any) -> None:
        if state.tensor is not None:
            state.tensor._write_array(array)
        else:
            fits = isinstance(array, jax.Array) and array.dtype == state.value.dtype
            self.var(state.name).array = array if fits else jnp.asarray(array, dtype=state.value.dtype)


_global = Scope()


class _Current(threading.local):
    scope: Scope | None = None


_current = _Current()


def global_scope() -> Scope:
    """The scope that programs run in, unless another is given.

    Example:
        >>> paddle.static.global_scope().find_var("no_such_variable") is None
        True
    """
    return _current.scope or _global


@contextlib.contextmanager
def scope_guard(scope: Scope) -> Iterator[None]:
    """Run programs in another scope inside the `with` block. TypeError for what is no Scope."""
    if not isinstance(scope, Scope):
        raise errors.TypeError_(f"scope_guard: scope must be a Scope, got {errors.describe(scope)}")
    before = _current.scope
    _current.scope = scope
    try:
        yield
    finally:
        _current.scope = before


class CompiledProgram:
    """A program to be compiled for running. Every program is, so it only holds the program."""

    def __init__(self, program_or_graph: Program, build_strategy: Any = None):
        if not isinstance(program_or_graph, Program):
            raise errors.TypeError_(
                f"CompiledProgram: program_or_graph must be a Program, got {errors.describe(program_or_graph)}"
            )
        self._program = program_or_graph

    def with_data_parallel(self, *args: Any, **kwargs: Any) -> CompiledProgram:
        return self


class Executor:
    """Runs programs.

    Args:
        place: a device; default: the current one.

    Example:
        >>> exe = paddle.static.Executor(paddle.CPUPlace())
        >>> exe.run(paddle.static.Program())
        []
    """

    def __init__(self, place: Any = None):
        self.place = None if place is None else places.parse_place(place)

    def close(self) -> None:
        """Nothing has to be released; accepted."""

    flush = close

    def train_from_dataset(
        self,
        program: Any = None,
        dataset: Any = None,
        scope: Any = None,
        thread: int = 0,
        debug: bool = False,
        fetch_list: Any = None,
        fetch_info: Any = None,
        print_period: int = 100,
        fetch_handler: Any = None,
    ) -> Any:
        """Run a program, and its updates, on all batches of a data set.

        Args:
            program: see `run`.
            dataset: a `paddle.distributed.QueueDataset` or `InMemoryDataset`.
            scope: see `run`.
            thread, debug: accepted.
            fetch_list, fetch_info: variables that are printed after each `print_period` batches, and what to call them.

        Raises:
            TypeError: another data set.
            ValueError: a line that does not fit the inputs.
        """
        from ..distributed.fleet.dataset.dataset import run_batches

        args = (program, dataset, scope, debug, fetch_list, fetch_info, print_period, fetch_handler)
        run_batches(self, "train_from_dataset", *args)

    def infer_from_dataset(
        self,
        program: Any = None,
        dataset: Any = None,
        scope: Any = None,
        thread: int = 0,
        debug: bool = False,
        fetch_list: Any = None,
        fetch_info: Any = None,
        print_period: int = 100,
        fetch_handler: Any = None,
    ) -> Any:
        """As `train_from_dataset`, for a program without updates."""
        from ..distributed.fleet.dataset.dataset import run_batches

        args = (program, dataset, scope, debug, fetch_list, fetch_info, print_period, fetch_handler)
        run_batches(self, "infer_from_dataset", *args)

    @errors.clean
    def run(
        self,
        program: Any = None,
        feed: Any = None,
        fetch_list: Any = None,
        feed_var_name: str = "feed",
        fetch_var_name: str = "fetch",
        scope: Scope | None = None,
        return_numpy: bool = True,
        use_program_cache: bool = False,
        use_prune: bool = False,
        return_merged: bool = True,
    ) -> list[Any]:
        """Run a program once.

        Args:
            program: a Program or CompiledProgram; default: `default_main_program()`.
            feed: a dict of arrays for the inputs, by name.
            fetch_list: the variables, or their names, whose values are returned.
            scope: where variables live between runs; default: `global_scope()`.
            return_numpy: arrays of NumPy, or else Tensors.
            use_prune: run only what the fetched variables depend on, so parameters are not updated unless fetched.

        Returns:
            A list, one value for each entry of `fetch_list`.

        Raises:
            ValueError: an input is missing, has another type or shape than its variable, or a name is unknown.
            RuntimeError: a parameter has no value, the startup program was not run.
        """
        program = program_of("Executor.run", program)
        with set_mode(program=None, amp=None):
            return self._run(program, feed, fetch_list, scope or global_scope(), return_numpy, not use_prune)

    def _run(
        self, program: Program, feed: Any, fetch_list: Any, scope: Scope, return_numpy: bool, updates: bool
    ) -> list[Any]:
        fetches = [_fetched(program, f) for f in _flat(fetch_list)]
        executable = self._executable(program, [f for f in fetches if isinstance(f, Value)], updates)
        feeds = self._feeds(program, executable, feed)
        words = _words(program, executable.ticks) if executable.ticks else None
        with scope.taken(executable) as (states, alone), _seeded(program):
            found, new = executable.run(feeds, states, words, alone)
            seen = {id(a) for a in (*found, *feeds.values(), *states.values())}
            own = set() if executable.on_host else set(alone)
            for name, array in new.items():
                scope.put(program.states[name], array)
                if name in own and id(array) not in seen:
                    scope.variables[name]._alone = True
        source = iter(found)
        arrays = [next(source) if isinstance(f, Value) else f for f in fetches]
        return [_to_numpy(a) for a in arrays] if return_numpy else [_make(a) for a in arrays]

    @staticmethod
    def _executable(program: Program, values: list[Value], updates: bool) -> Any:
        key = (program.version, tuple(values), updates)
        executable = program.executables.get(key)
        if executable is None:
            program.executables = {k: e for k, e in program.executables.items() if k[0] == program.version}
            executable = Executable(program, values, updates)
            buckets = from_environment()
            if buckets is not None:
                executable = BucketedExecutable(executable, buckets)
            program.executables[key] = executable
        return executable

    @errors.clean
    def warm_up(
        self,
        program: Any = None,
        feed: Any = None,
        fetch_list: Any = None,
        scope: Scope | None = None,
        use_prune: bool = False,
        background: bool = False,
    ) -> threading.Thread | None:
        """Compile a program before its first run; nothing runs, and no variable changes. With the persistent cache on (it is
        by default), the executable is also there for other processes.

        Args:
            program, feed, fetch_list, scope, use_prune: as for `run`; InputSpecs whose lengths are all known may stand for
                arrays. The variables of the program must have values.
            background: compile in a thread, which is returned; a run that needs the program waits for it.

        Raises:
            ValueError: as for `run`, or an InputSpec with open lengths.
            NotImplementedError: an operator runs on the host between executables.

        Example:
            >>> exe = paddle.static.Executor()
            >>> exe.warm_up(paddle.static.Program(), background=True).join()
        """
        program = program_of("Executor.warm_up", program)
        if isinstance(feed, dict):
            what = "Executor.warm_up: every length of {!r}".format
            feed = {n: x.zeros(what(n)) if isinstance(x, InputSpec) else x for n, x in feed.items()}
        with set_mode(program=None, amp=None):
            fetches = [_fetched(program, f) for f in _flat(fetch_list)]
            executable = self._executable(program, [f for f in fetches if isinstance(f, Value)], not use_prune)
            feeds = self._feeds(program, executable, feed)
            with (scope or global_scope()).taken(executable, only_look=True) as (states, alone):
                specs = {n: jax.ShapeDtypeStruct(a.shape, a.dtype) for n, a in states.items()}
            words = np.zeros(4, np.uint32) if executable.ticks else None
            return executable.compile(feeds, specs, words, alone, background)

    @staticmethod
    def _feeds(program: Program, executable: Any, feed: Any) -> dict[str, Any]:
        if feed is None:
            feed = {}
        if isinstance(feed, (list, tuple)):
            if len(feed) != 1 or not isinstance(feed[0], dict):
                raise errors.TypeError_("Executor.run: feed must be a dict of arrays by name")
            feed = feed[0]
        if not isinstance(feed, dict):
            raise errors.TypeError_(f"Executor.run: feed must be a dict of arrays, got {errors.describe(feed)}")
        feeds = {}
        for name, value in executable.inputs.items():
            if name in program.provided:
                feeds[name] = np.asarray(program.provided[name](), value.dtype)
            elif name in feed:
                feeds[name] = _fed(name, feed[name], value)
            else:
                raise errors.ValueError_(
                    f"Executor.run: the program needs the input {name!r}, which feed does not have"
                )
        return feeds


def program_of(name: str, program: Any) -> Program:
    """The program that an argument of the function `name` means. TypeError for what is none."""
    if program is None:
        program = default_main_program()
    if isinstance(program, CompiledProgram):
        program = program._program
    if not isinstance(program, Program):
        raise errors.TypeError_(f"{name}: program must be a Program, got {errors.describe(program)}")
    return program


def _flat(fetch_list: Any) -> list:
    if fetch_list is None:
        return []
    if isinstance(fetch_list, (Tensor, str)):
        return [fetch_list]
    if not isinstance(fetch_list, (list, tuple)):
        raise errors.TypeError_(f"Executor.run: fetch_list must be a list, got {errors.describe(fetch_list)}")
    return [f for entry in fetch_list for f in (_flat(entry) if isinstance(entry, (list, tuple)) else [entry])]


def _fetched(program: Program, entry: Any) -> Any:
    """The Value that an entry of the fetch list means, or the array of a tensor that has elements."""
    if isinstance(entry, str):
        return program.find(entry)
    if isinstance(entry, Value):
        return entry
    if not isinstance(entry, Tensor):
        raise errors.TypeError_(
            f"Executor.run: fetch_list holds variables or their names, got {errors.describe(entry)}"
        )
    value = entry._value
    if not isinstance(value, Value):
        return value
    state = program.states.get(value.name)
    if state is not None and state.value is value:
        return state.update or value
    return value


def native(array: Any) -> Any:
    """An array with its bytes in the order of this machine."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _fed(name: str, given: Any, value: Value) -> Any:
    if isinstance(given, Tensor) and isinstance(given._value, Value):
        raise errors.TypeError_(f"Executor.run: the input {name!r} was fed the variable {given.name!r}; feed an array")
    if isinstance(given, (list, tuple, int, float, bool)):
        try:
            found = np.asarray(given)
            given = np.asarray(given, value.dtype)
        except (TypeError, ValueError, OverflowError) as e:
            raise errors.ValueError_(f"Executor.run: what the input {name!r} was fed is no array: {e}") from None
        if given.dtype.kind in "iub" and found.dtype.kind == "f" and (found != given).any():
            raise errors.ValueError_(
                f"Executor.run: the input {name!r} has type {value.dtype.name}, it was fed {found}"
            )
    array = given._value if isinstance(given, Tensor) else given if isinstance(given, jax.Array) else np.asarray(given)
    array = native(array)
    if array.dtype != value.dtype:
        if array.dtype == np.uint16 and value.dtype == dtypes.bfloat16.numpy:
            array = array.view(value.dtype)
        else:
            raise errors.ValueError_(
                f"Executor.run: the input {name!r} has type {value.dtype.name}, it was fed {array.dtype.name}"
            )
    wanted = value.shape
    if len(wanted) != array.ndim or any(w >= 0 and w != n for w, n in zip(wanted, array.shape)):
        raise errors.ValueError_(
            f"Executor.run: the input {name!r} has shape {[int(d) for d in wanted]}, it was fed {list(array.shape)}"
        )
    return array


@contextlib.contextmanager
def _seeded(program: Program) -> Iterator[None]:
    """What runs between executables, such as initializers, draws from the seed of the program when it has one."""
    if not program.random_seed:
        yield
        return
    source = generator()
    before = source.get_state()
    source.manual_seed(program.random_seed)
    try:
        yield
    finally:
        source.set_state(before)


def _words(program: Program, ticks: int) -> Any:
    if program.random_seed:
        return np.array((0, program.random_seed & 0xFFFFFFFF, 0, 0), np.uint32)
    return generator().ticks(ticks)


def _to_numpy(array: Any) -> np.ndarray:
    array = np.asarray(array)
    return array.view(np.uint16) if array.dtype == dtypes.bfloat16.numpy else array
