"""From a function object to its syntax tree.

The whole file is parsed once, so that the positions in the tree are those of the file and tracebacks of converted code
show the user's lines.
"""

from __future__ import annotations

import ast
import copy
import linecache
import types
from typing import Any

_trees: dict[str, tuple[int, ast.Module]] = {}
_FUNCTIONS = (ast.FunctionDef, ast.Lambda)


class NoSource(Exception):
    """The source of a function cannot be found, or is not what runs."""


def find(function: types.FunctionType) -> tuple[Any, str | None]:
    """(a copy of the FunctionDef or Lambda node, the name of the class around it)."""
    code = function.__code__
    found = []
    _search(_tree(code.co_filename), code, None, found)
    if len(found) > 1:
        found = [f for f in found if _starts_where(f[0], code)]
    if len(found) != 1:
        raise NoSource(f"the source of {function.__qualname__} was not found in {code.co_filename}")
    node, owner = found[0]
    return copy.deepcopy(node), owner


def _tree(filename: str) -> ast.Module:
    lines = linecache.getlines(filename)
    if not lines:
        raise NoSource(f"there is no source file {filename}")
    text = "".join(lines)
    found = _trees.get(filename)
    if found is None or found[0] != hash(text):
        try:
            found = _trees[filename] = (hash(text), ast.parse(text, filename))
        except SyntaxError as e:
            raise NoSource(f"{filename} cannot be read: {e}") from None
    return found[1]


def _search(node: ast.AST, code: types.CodeType, owner: str | None, found: list) -> None:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS) and _matches(child, code):
            found.append((child, owner))
        inside = child.name if isinstance(child, ast.ClassDef) else owner
        _search(child, code, inside, found)


def _matches(node: Any, code: types.CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        if code.co_name != "<lambda>" or node.lineno != code.co_firstlineno:
            return False
    else:
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        if node.name != code.co_name or first != code.co_firstlineno:
            return False
    return _parameters(node) == code.co_varnames[: len(_parameters(node))]


def _parameters(node: Any) -> tuple[str, ...]:
    a = node.args
    found = [*a.posonlyargs, *a.args, *a.kwonlyargs]
    found += [x for x in (a.vararg, a.kwarg) if x is not None]
    return tuple(x.arg for x in found)


def _starts_where(node: Any, code: types.CodeType) -> bool:
    """Whether the body of a lambda stands where the instructions of the code object come from."""
    body = node.body if isinstance(node, ast.Lambda) else node.body[0]
    return any(
        p[0] == body.lineno and p[1] == body.end_lineno and p[2] == body.col_offset and p[3] == body.end_col_offset
        for p in code.co_positions()
        if p[0] is not None
    )
