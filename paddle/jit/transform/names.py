"""Which names a piece of code assigns, changes and reads, and which of them are read later (liveness)."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# Methods that change a list, dict or set in place.
MUTATORS = frozenset(
    "append extend insert pop remove clear sort reverse update setdefault popitem add discard appendleft popleft".split()
)


class Assigned(ast.NodeVisitor):
    """Collects what statements bind: plain names, and dotted ones such as ``self.state``; `changed` are those whose
    containers are written to."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self.changed: dict[str, None] = {}
        self.fixed: set[str] = set()  # declared global

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.names[node.id] = None

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            name = dotted(node)
            if name is not None:
                self.changed[name] = None
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._container(node.value)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr in MUTATORS:
            self._container(node.func.value)
        self.generic_visit(node)

    def _container(self, node: ast.AST) -> None:
        while isinstance(node, ast.Subscript):
            node = node.value
        name = dotted(node)
        if name is not None:
            self.changed[name] = None

    def visit_Import(self, node: Any) -> None:
        for alias in node.names:
            self.names[(alias.asname or alias.name).split(".")[0]] = None

    visit_ImportFrom = visit_Import

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.names[node.name] = None
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self.fixed.update(node.names)

    def visit_MatchAs(self, node: Any) -> None:
        if node.name:
            self.names[node.name] = None
        self.generic_visit(node)

    def visit_MatchStar(self, node: Any) -> None:
        if node.name:
            self.names[node.name] = None

    def visit_MatchMapping(self, node: Any) -> None:
        if node.rest:
            self.names[node.rest] = None
        self.generic_visit(node)

    def _scope(self, node: Any) -> None:
        if not isinstance(node, ast.Lambda):
            self.names[node.name] = None

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _scope

    def _comprehension(self, node: Any) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                self.names[inner.target.id] = None

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension


def assigned(nodes: Iterable[ast.AST]) -> Assigned:
    found = Assigned()
    for node in nodes:
        found.visit(node)
    for name in found.fixed:
        found.names.pop(name, None)
    return found


def dotted(node: ast.AST) -> str | None:
    """ "a.b.c" for attributes of a name, None for other expressions."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def reads(node: Any) -> set[str]:
    """The names that a statement or expression reads, functions inside included."""
    if node is None:
        return set()
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def captured(body: list) -> set[str]:
    """Names that functions inside read or declare: they may be read at any time."""
    found: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, (*_SCOPES, *_COMPREHENSIONS)) and not isinstance(node, _COMPREHENSIONS):
                found |= reads(node)
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                found.update(node.names)
    return found


def shared(body: list) -> list[str]:
    """The variables of a function that functions inside of it assign."""
    declared: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.FunctionDef):
                declared.update(n for s in ast.walk(node) if isinstance(s, ast.Nonlocal) for n in s.names)
    return sorted(declared & set(assigned(body).names))


def binds(node: ast.AST) -> bool:
    """Whether an expression assigns names or waits, which a lambda must not."""
    return any(isinstance(n, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)) for n in ast.walk(node))


class Liveness:
    """Walks statements backward and notes at each `if` and loop which names are read later (`live`), and at loops which
    are read by a further round (`carried`)."""

    def __init__(self, body: list):
        self.always = captured(body)
        self.block(body, set(self.always))

    def block(self, statements: list, out: set[str]) -> set[str]:
        for statement in reversed(statements):
            out = self.statement(statement, out)
        return out

    def statement(self, node: Any, out: set[str]) -> set[str]:
        if isinstance(node, ast.If):
            node.live = out  # type: ignore[attr-defined]
            return reads(node.test) | self.block(node.body, out) | self.block(node.orelse, out)
        if isinstance(node, (ast.While, ast.For)):
            return self._loop(node, out)
        if isinstance(node, ast.With):
            inside = self.block(node.body, out)
            return inside.union(*(reads(item) for item in node.items))
        if isinstance(node, (ast.Try, ast.Match)) or type(node).__name__ == "TryStar":
            out = out | reads(node)
            for child in ast.walk(node):
                for field in ("body", "orelse", "finalbody"):
                    inner = getattr(child, field, None)
                    if child is not node and not isinstance(child, ast.ExceptHandler | ast.match_case):
                        continue
                    if isinstance(inner, list):
                        self.block(inner, set(out))
            return out
        return (out - self._kills(node)) | reads(node) | self.always

    def _loop(self, node: Any, out: set[str]) -> set[str]:
        after = self.block(node.orelse, out)
        test = reads(node.test) if isinstance(node, ast.While) else reads(getattr(node, "extra", None))
        targets = set(assigned([node.target]).names) if isinstance(node, ast.For) else set()
        head = after | test
        while True:
            found = head | (self.block(node.body, set(head)) - targets)
            if found == head:
                break
            head = found
        node.live, node.carried = after, head
        return head | (reads(node.iter) | reads(node.target) if isinstance(node, ast.For) else set())

    def _kills(self, node: Any) -> set[str]:
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        else:
            return set()
        found: set[str] = set()
        for target in targets:
            for part in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
                if isinstance(part, ast.Name):
                    found.add(part.id)
        return found - self.always
