"""Operators: ``@op`` turns a function on arrays into the public function on tensors; ``dispatch`` runs every call.

An operator is one function. Its body is the kernel, its signature the public API, its name the official operator name.
Shapes, gradients and sharding follow from the body through JAX. ``@api`` gives the same public face (other keyword
names, Tensor method, in-place twin, clean tracebacks) to a plain function that only composes operators.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import errors, flags
from .dispatch import dispatch
from .executable import Kernel
from .modes import modes
from .storage import View
from .tensor import Tensor
from .value import ABSTRACT

# Parameters that are never tensors in the operator's body, as those whose default is a bool or a word; a Tensor given there
# is read out (`axis=paddle.to_tensor(1)`).
STATIC = frozenset(
    """axis axes dim shape perm dtype keepdim k num_classes repeat_times num_or_sections sections
    start_axis stop_axis axis1 axis2 offset diagonal shifts padding stride dilation groups kernel_size output_size
    data_format num_rows num_columns n chunks""".split()
)

# Other keyword names that every function accepts for its parameters.
ALIASES = {
    "input": "x",
    "other": "y",
    "dim": "axis",
    "dims": "axis",
    "keepdims": "keepdim",
    "size": "shape",
    "eps": "epsilon",
    "tensors": "x",
    "lambd": "threshold",
    "dim1": "axis1",
    "dim2": "axis2",
    "return_indices": "return_mask",
    "start_dim": "start_axis",
    "end_dim": "stop_axis",
    "values": "value",
    "repeats": "repeat_times",
}

registry: dict[str, Op] = {}
hosted: dict[str, tuple] = {}  # functions that are one operator in programs and run on the host, by name
_MISSING = object()


class Signature:
    """Binds the arguments of a public call to the parameters, in order: names, defaults, other names, `name`, `out`."""

    def __init__(self, function: Callable, name: str, skip: int = 0, aliases: dict[str, str] | None = None):
        code = function.__code__
        defaults = function.__defaults__ or ()
        self.name = name
        self.params = code.co_varnames[skip : code.co_argcount]
        self.varargs = (
            code.co_varnames[code.co_argcount + code.co_kwonlyargcount] if code.co_flags & inspect.CO_VARARGS else None
        )
        self.n = len(self.params)
        self.required = self.n - len(defaults)
        self.defaults = (_MISSING,) * self.required + defaults
        self.index = {p: i for i, p in enumerate(self.params)}
        self.own_keywords = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        for alias, target in {**ALIASES, **(aliases or {})}.items():
            if target in self.index:
                self.index.setdefault(alias, self.index[target])

    def bind(self, args: tuple, kwargs: dict) -> tuple[tuple, Any]:
        """(arguments in the order of the parameters, the value of `out`)."""
        n = self.n
        given = len(args)
        if given > n:
            if given == n + 1 and "name" not in self.index and (args[n] is None or isinstance(args[n], str)):
                args, given = args[:n], n  # the official trailing parameter `name`
            else:
                raise errors.TypeError_(
                    f"{self.name}: takes at most {n} arguments ({', '.join(self.params)}), got {given}"
                )
        bound = list(args) + list(self.defaults[given:])
        out = None
        for key, value in kwargs.items():
            position = self.index.get(key)
            if position is None:
                if key == "name":
                    continue
                if key == "out":
                    out = value
                    continue
                raise errors.TypeError_(f"{self.name}: there is no argument {key!r}; it takes {', '.join(self.params)}")
            if position < given:
                raise errors.TypeError_(f"{self.name}: argument {self.params[position]!r} is given twice")
            bound[position] = value
        for position in range(given, self.required):
            if bound[position] is _MISSING:
                raise errors.TypeError_(f"{self.name}: argument {self.params[position]!r} is missing")
        return tuple(bound), out

    def public(self, function: Callable, skip: int = 0) -> inspect.Signature:
        """The signature that help() and inspect show: the parameters and the official `name` and `out`."""
        found = inspect.signature(function)
        params = list(found.parameters.values())[skip:]
        if "name" not in found.parameters and not any(p.kind == p.VAR_KEYWORD for p in params):
            at = next((i for i, p in enumerate(params) if p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)), len(params))
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            if at < len(params) and params[at].kind == inspect.Parameter.VAR_POSITIONAL:
                at, kind = at + 1, inspect.Parameter.KEYWORD_ONLY  # type: ignore[assignment]
            params.insert(at, inspect.Parameter("name", kind, default=None))
        if "out" not in found.parameters and not any(p.kind == p.VAR_KEYWORD for p in params):
            params.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
        return found.replace(parameters=params)


class ShownSignature(inspect.Signature):
    """A signature that is made when somebody looks at it: making a thousand at import would take a tenth of a second."""

    __slots__ = ("_build",)

    def __init__(self, build: Callable[[], inspect.Signature]):
        self._build = build

    def __getattr__(self, name: str) -> Any:
        if name not in ("_parameters", "_return_annotation"):  # the slots of the base class, still empty
            raise AttributeError(name)
        found = self._build()
        self._parameters, self._return_annotation = found.parameters, found.return_annotation
        return getattr(self, name)

    def replace(self, **changes: Any) -> inspect.Signature:  # type: ignore[override]
        return self._build().replace(**changes)

    __replace__ = replace  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return self._build().__reduce__()


class Op(Kernel):
    """An operator: its body, its signature, and what dispatch has to know about it.

    Args:
        fn: the body, a function of arrays and attributes.
        name: the operator's name.
        scalars: parameters whose Python numbers are inputs of the executable, so that a change does not recompile.
        static: further parameters that are never tensors (see STATIC).
        tensors: parameters that may be tensors although STATIC lists their names.
        words: parameters that may be words although their default is a bool.
        random: the body's first parameter is a random key, which the generator provides.
        differentiable: False for operators without a gradient.
        gradient: a function (inputs, outputs, cotangents, *attributes) -> gradients of the inputs, where the one that
            `jax.vjp` of the body gives is not wanted. `inputs` are the arrays of the call in order.
        save: "inputs" (the gradient is computed from inputs and outputs that it needs) or "residuals" (what `jax.vjp`
            of the forward run returns is kept; for expensive operators).
        view: for operators whose result shares memory with the first input: (base, value, *attributes) -> the base
            with the value written into it.
        view_strides: the official strides of such a result.
        shape_only: the body reads only shapes and types, so its result is known when a program is compiled.
    """

    def __init__(
        self,
        fn: Callable,
        name: str | None = None,
        *,
        scalars: str = "",
        static: str = "",
        tensors: str = "",
        words: str = "",
        random: bool = False,
        aliases: dict[str, str] | None = None,
        **metadata: Any,
    ):
        name = name or fn.__name__
        self.signature = Signature(fn, name, int(random), aliases)
        wanted = set(scalars.split())
        roles = _roles(self.signature, wanted, static, tensors)
        super().__init__(fn, name, roles, random=random, **metadata)
        parameters = zip(self.signature.params, self.signature.defaults)
        self.switches = tuple(
            (i, p) for i, (p, d) in enumerate(parameters) if isinstance(d, bool) and p not in words.split()
        )
        self.public: Callable = _public(self)


def _roles(signature: Signature, scalars: set[str], static: str = "", tensors: str = "") -> tuple[str, ...]:
    words = {p for p, d in zip(signature.params, signature.defaults) if isinstance(d, (bool, str))}
    fixed = (STATIC | words | set(static.split())) - set(tensors.split())
    return tuple("scalar" if p in scalars else "static" if p in fixed else "" for p in signature.params)


def _public(op: Op) -> Callable:
    signature = op.signature
    n, required, defaults = signature.n, signature.required, signature.defaults

    def public(*args, **kwargs):
        try:
            given = len(args)
            if kwargs or given > n or given < required:
                args, out = signature.bind(args, kwargs)
                if out is not None:
                    return _write_out(op.name, dispatch(op, args), out)
            elif given < n:
                args += defaults[given:]
            return dispatch(op, args)
        except Exception as e:
            try:
                if isinstance(e, OverflowError) and any(map(_is_huge, args)):
                    return dispatch(op, tuple(float(a) if _is_huge(a) else a for a in args))
                raise _explained(e, op.name, signature.params, args)
            except Exception as explained:
                errors.trim(explained)
                raise

    return public


def _is_huge(arg: Any) -> bool:
    """Whether an argument is an int beyond int64, which counts as a float."""
    return type(arg) is int and not -(2**63) <= arg < 2**63


def _is_switch(arg: Any) -> bool:
    """Whether an argument can stand for a bool: one, 0 or 1, None for the default, a tensor of one element."""
    if isinstance(arg, (Tensor, np.ndarray)):
        return arg.size == 1
    return arg is None or isinstance(arg, (bool, np.bool_)) or isinstance(arg, (int, np.integer)) and arg in (0, 1)


def _explained(error: Exception, name: str, params: tuple, args: tuple, kwargs: dict | None = None) -> Exception:
    return error if flags.debug_level() > 2 else errors.explain(error, name, params, args, kwargs or {})


def _write_out(name: str, result: Any, out: Any) -> Any:
    """The official `out=` argument: the result goes into the given tensors, which are returned."""
    if isinstance(out, Tensor):
        if not out.is_dense():
            raise errors.TypeError_(f"{name}: out must be a dense Tensor, got {errors.describe(out)}")
        if not isinstance(result, Tensor):
            raise errors.TypeError_(f"{name}: out must be a tuple of {len(result)} Tensors")
        if isinstance(out._storage, View) and result.dtype is not out.dtype:
            result = result.astype(out.dtype)  # the memory is another tensor's; otherwise the type is the result's
        return out._rebind(result)
    if not isinstance(out, (tuple, list)) or len(out) != len(result):
        raise errors.TypeError_(f"{name}: out must be a Tensor or a tuple of Tensors as long as the result")
    return type(out)(_write_out(name, r, o) for r, o in zip(result, out))


def _finish(
    public: Callable, fn: Callable, name: str, signature: Signature, skip: int, method: Any, inplace: Any, export: bool
) -> Callable:
    """Names, documentation, export, Tensor method and in-place twin of a public function."""
    public.__name__ = name
    public.__qualname__ = name
    public.__doc__ = fn.__doc__
    public.__module__ = fn.__module__
    public.__wrapped__ = fn  # type: ignore[attr-defined]
    public.__signature__ = ShownSignature(lambda: signature.public(fn, skip))  # type: ignore[attr-defined]
    module = sys.modules[fn.__module__].__dict__
    if export:
        module.setdefault("__all__", []).append(name)
    if method is None:
        method = bool(signature.params) and signature.params[0] == "x"
    if method:
        for each in [name] if method is True else method.split():
            setattr(Tensor, each, public)
    if inplace:
        twin = _twin(public, name, inplace == "reshapes")
        module[name + "_"] = twin
        if export:
            module["__all__"].append(name + "_")
        setattr(Tensor, name + "_", twin)
    return public


def _without_out(public: Callable) -> inspect.Signature:
    signature = inspect.signature(public)
    return signature.replace(parameters=[p for p in signature.parameters.values() if p.name != "out"])


def _twin(public: Callable, name: str, reshapes: bool) -> Callable:
    def twin(x, *args, **kwargs):
        try:
            if not isinstance(x, Tensor):
                raise errors.ValueError_(f"{name}_: argument 'x' must be a Tensor, got {errors.describe(x)}")
            return x._inplace(public, *args, reshapes=reshapes, retypes=True, **kwargs)
        except Exception as e:
            try:
                raise _explained(e, name + "_", ("x",), (x,), {})
            except Exception as explained:
                errors.trim(explained)
                raise

    twin.__name__ = twin.__qualname__ = name + "_"
    twin.__module__ = public.__module__
    twin.__doc__ = f"In-place form of `{name}`: the result replaces the value (and the type) of `x`, which is returned."
    twin.__signature__ = ShownSignature(lambda: _without_out(public))  # type: ignore[attr-defined]
    return twin


def op(
    fn: Callable | None = None,
    *,
    name: str | None = None,
    method: Any = None,
    inplace: Any = False,
    export: bool = True,
    **metadata: Any,
) -> Any:
    """Make an operator of a function on arrays; returns the public function on tensors.

    Args:
        fn: the body. Where an array may come, it gets a JAX array; everything else arrives as given (lists as tuples
            where they hold no tensors).
        name: the operator's name in programs, default the function's.
        method: whether (True, False) or under which names ("add __add__") it becomes a method of Tensor; by default it
            does when its first parameter is called `x`.
        inplace: True makes the in-place twin `name_` as well; "reshapes" when that may change the shape.
        export: put the name into the `__all__` of the module.
        metadata: see `Op`.

    For example::

        @op(scalars="y")
        def add(x, y):
            x, y = promote("add", x, y)
            return x + y
    """
    if fn is None:
        return functools.partial(op, name=name, method=method, inplace=inplace, export=export, **metadata)
    made = Op(fn, name, **metadata)
    registry[made.name] = made
    public = _finish(made.public, fn, fn.__name__, made.signature, int(made.random), method, inplace, export)
    public.op = made  # type: ignore[attr-defined]
    return public


def host_kernel(name: str) -> Kernel | None:
    """The kernel of such a function."""
    return _host_kernel(*hosted[name]) if name in hosted else None


@functools.cache
def _host_kernel(fn: Callable, signature: Signature, infer: Callable) -> Kernel:
    from ..ir.record import HostKernel

    kernel: Any = HostKernel(fn, fn.__name__, _roles(signature, set()), infer)
    kernel.signature = signature
    return kernel


def api(
    fn: Callable | None = None,
    *,
    method: Any = None,
    inplace: Any = False,
    export: bool = True,
    aliases: dict[str, str] | None = None,
    on_host: Callable | None = None,
    words: str = "",
) -> Any:
    """The public face of an operator for a plain function that composes operators (see `op` and `Op` for the arguments).

    `on_host` is for functions that read elements: in programs they are one operator, which runs between executables;
    (trial shapes of the inputs, number of the trial, *attributes) -> (shape, type) of the result, a list for several.
    """
    if fn is None:
        return functools.partial(
            api, method=method, inplace=inplace, export=export, aliases=aliases, on_host=on_host, words=words
        )
    signature = Signature(fn, fn.__name__, 0, aliases)
    if on_host is not None:
        hosted[fn.__name__] = (fn, signature, on_host)
    names, index = signature.own_keywords, signature.index
    switches = tuple(
        (i, p)
        for i, (p, d) in enumerate(zip(signature.params, signature.defaults))
        if isinstance(d, bool) and p not in words.split()
    )
    variadic = signature.varargs is not None or bool(fn.__code__.co_flags & inspect.CO_VARKEYWORDS)
    takes_out = "out" in index or "out" in names
    takes_name = "name" in index or "name" in names

    def public(*args, **kwargs):
        try:
            if on_host is not None and modes.program is not None:
                bound, _ = signature.bind(args, kwargs)
                if any(isinstance(a, Tensor) and isinstance(a._raw, ABSTRACT) for a in bound):
                    return modes.program.record(_host_kernel(fn, signature, on_host), bound)
            if kwargs and not variadic:
                out = None if takes_out else kwargs.pop("out", None)
                if not takes_name:
                    kwargs.pop("name", None)
                for key in [k for k in kwargs if k not in names and k not in signature.params]:
                    position = index.get(key)
                    if position is None:
                        raise errors.TypeError_(
                            f"{fn.__name__}: there is no argument {key!r}; it takes "
                            f"{', '.join(signature.params + names)}"
                        )
                    kwargs[signature.params[position]] = kwargs.pop(key)
                if out is not None:
                    return _write_out(fn.__name__, fn(*args, **kwargs), out)
            for i, param in switches:
                given = args[i] if i < len(args) else kwargs.get(param)
                if given.__class__ is not bool and not _is_switch(given):
                    raise errors.TypeError_(
                        f"{fn.__name__}: argument {param!r} must be a bool, got {errors.describe(given)}"
                    )
            return fn(*args, **kwargs)
        except Exception as e:
            try:
                raise _explained(e, fn.__name__, signature.params, args, kwargs)
            except Exception as explained:
                errors.trim(explained)
                raise

    return _finish(public, fn, fn.__name__, signature, 0, method, inplace, export)
