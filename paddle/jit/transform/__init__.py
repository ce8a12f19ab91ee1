"""From ordinary Python functions to functions whose control flow on tensors can be recorded."""

from __future__ import annotations

import __future__

import ast
import functools
import os
import sys
import sysconfig
import types
from typing import Any

from . import source
from .rewrite import rewrite

_PADDLE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_STDLIB = sysconfig.get_paths()["stdlib"] + os.sep
# Libraries whose functions never see tensors without values.
LIBRARIES = {"numpy", "jax", "jaxlib", "scipy", "torch", "PIL", "cv2", "sklearn", "pandas", "matplotlib", "pytest"}
SKIP = "_paddle_jit_skip"  # attribute of functions that stay as they are
_FUTURE = functools.reduce(lambda a, n: a | getattr(__future__, n).compiler_flag, __future__.all_feature_names, 0)
_codes: dict[tuple, Any] = {}


def is_library(function: Any) -> bool:
    """Whether a function belongs to a library, which is called as it is."""
    module = getattr(function, "__module__", None) or ""
    filename = function.__code__.co_filename
    parts = module.split(".")
    if filename.startswith(_PADDLE) or any(".".join(parts[: i + 1]) in LIBRARIES for i in range(len(parts))):
        return True
    return filename.startswith(_STDLIB) and "-packages" not in filename or filename.startswith("<frozen")


def convert(function: Any) -> Any:
    """The converted form of something that is called; what needs no conversion comes back as it is."""
    if isinstance(function, types.FunctionType):
        return _function(function)
    if isinstance(function, types.MethodType):
        inner = function.__func__
        made = convert(inner)
        return function if made is inner else types.MethodType(made, function.__self__)
    if isinstance(function, functools.partial):
        made = convert(function.func)
        return function if made is function.func else functools.partial(made, *function.args, **function.keywords)
    inlined = getattr(type(function), "_paddle_jit_inline", None)
    if inlined is not None:
        return convert(inlined(function))
    if isinstance(function, (type, types.BuiltinFunctionType)) or not callable(function):
        return function
    call = next((c.__dict__["__call__"] for c in type(function).__mro__ if "__call__" in c.__dict__), None)
    if isinstance(call, types.FunctionType) and not is_library(call):
        made = convert(call)
        return function if made is call else types.MethodType(made, function)
    return function


def _function(function: types.FunctionType) -> Any:
    code = function.__code__
    if "_jst" in code.co_freevars or getattr(function, SKIP, False):
        return function
    if is_library(function):
        return _library_wrapper(function)
    made = converted_code(function)
    if made is None:
        return function
    return _with_code(function, made)


def _library_wrapper(function: types.FunctionType) -> types.FunctionType:
    """A decorator of a library around a user's function (``@paddle.no_grad()``): the same around the converted one."""
    inner = getattr(function, "__wrapped__", None)
    if not isinstance(inner, types.FunctionType) or function.__closure__ is None:
        return function
    made = convert(inner)
    if made is inner:
        return function
    cells = [types.CellType(made) if _content(c) is inner else c for c in function.__closure__]
    copy = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, tuple(cells)
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _with_code(function: types.FunctionType, code: types.CodeType) -> types.FunctionType:
    from . import runtime

    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
    cells["_jst"] = types.CellType(runtime)
    closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    made.__doc__ = function.__doc__
    return made


def converted_tree(function: types.FunctionType) -> ast.FunctionDef:
    """The rewritten definition of a function. NoSource where its source is not known."""
    node, owner = source.find(function)
    return rewrite(node, owner)


def converted_code(function: types.FunctionType) -> types.CodeType | None:
    """The code of the converted function, None when it cannot be converted (it then runs as it is)."""
    code = function.__code__
    key = (code.co_filename, code)
    if key not in _codes:
        _codes[key] = _compile(function)
    return _codes[key]


def _compile(function: types.FunctionType) -> types.CodeType | None:
    code = function.__code__
    if code.co_flags & (0x20 | 0x80 | 0x200):  # generators and coroutines
        return None
    try:
        tree = converted_tree(function)
    except source.NoSource:
        return None
    factory = ast.FunctionDef(
        "_jst_factory",
        ast.arguments([], [ast.arg(n) for n in ("_jst", *code.co_freevars)], None, [], [], None, []),
        [tree],
        [],
        None,
    )
    name, tree.name = tree.name, "_jst_function"  # the function's own name stays a global one in it
    tree.args.defaults, tree.args.kw_defaults = _placeholders(tree.args)
    ast.copy_location(factory, tree)
    module = ast.fix_missing_locations(ast.Module([factory], []))
    try:
        compiled = compile(module, code.co_filename, "exec", code.co_flags & _FUTURE, dont_inherit=True)
    except SyntaxError as e:
        if os.environ.get("PADDLE_XLA_DEBUG", "0") not in ("", "0"):
            print(f"[paddle-xla] {function.__qualname__} cannot be converted: {e}", file=sys.stderr)
        return None
    inner = _code_in(compiled, "_jst_factory")
    made = _code_in(inner, tree.name)
    tree.name = name
    return made.replace(co_name=code.co_name, co_qualname=code.co_qualname)


def _placeholders(args: ast.arguments) -> tuple[list, list]:
    """Defaults come from the function object; here only their number matters."""
    return [ast.Constant(None) for _ in args.defaults], [d and ast.Constant(None) for d in args.kw_defaults]


def _code_in(code: types.CodeType, name: str) -> types.CodeType:
    return next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name)
