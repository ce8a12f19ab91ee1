"""`return`, `break` and `continue` as assignments to flags, so that every block is left at its end.

What follows an `if` of which one branch always leaves goes into the other branch; what follows a statement that may
leave runs under ``if not flag``; loops go on while their flags are not set.
"""

from __future__ import annotations

import ast
from typing import Any

from .names import _SCOPES, binds

PREFIX = "_jst_"  # of the names that are made here
RETURNED, VALUE = PREFIX + "returned", PREFIX + "value"


def name(identifier: str, node: Any, store: bool = False) -> ast.Name:
    return ast.copy_location(ast.Name(identifier, ast.Store() if store else ast.Load()), node)


def assign(identifier: str, value: Any, node: Any) -> ast.Assign:
    return ast.copy_location(ast.Assign([name(identifier, node, True)], value), node)


def constant(value: Any, node: Any) -> ast.Constant:
    return ast.copy_location(ast.Constant(value), node)


def leaves(node: Any) -> set[str]:
    """The jumps that may leave a statement: names of node types."""
    if isinstance(node, _SCOPES):
        return set()
    if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
        return {type(node).__name__}
    found: set[str] = set()
    for child in ast.iter_child_nodes(node):
        found |= leaves(child)
    if isinstance(node, (ast.While, ast.For)):
        inner: set[str] = set()
        for child in node.body:
            inner |= leaves(child)
        outer: set[str] = set()
        for child in node.orelse:
            outer |= leaves(child)
        found = (inner & {"Return"}) | outer
    return found


def always_leaves(statements: list) -> bool:
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, (ast.Return, ast.Break, ast.Continue)):
        return True
    if isinstance(last, ast.If):
        return always_leaves(last.body) and always_leaves(last.orelse)
    return isinstance(last, ast.With) and always_leaves(last.body)


def lower(function: Any) -> None:
    """Rewrite the body of a FunctionDef in place."""
    body = function.body
    last = body[-1:] if isinstance(body[-1], ast.Return) else []
    rest = body[: len(body) - len(last)]
    if not any("Return" in leaves(s) for s in rest):  # a single return at the end stays; loops may have jumps
        body[:] = _Lowering().block(rest, None) + last
        return
    if not always_leaves(body):
        body.append(ast.copy_location(ast.Return(constant(None, body[-1])), body[-1]))
    lowering = _Lowering()
    body = lowering.block(body, None)
    start = function.body[0]
    head = [assign(VALUE, _helper("UNDEFINED", start), start)]
    if lowering.uses_returned:
        head.append(assign(RETURNED, constant(False, start), start))
    else:
        body = _without_flag(body)
    end = function.body[-1]
    body.append(ast.copy_location(ast.Return(name(VALUE, end)), end))
    function.body[:] = head + body


def _helper(attribute: str, node: Any) -> Any:
    return ast.copy_location(ast.Attribute(name("_jst", node), attribute, ast.Load()), node)


class _RemoveFlag(ast.NodeTransformer):
    def visit_Assign(self, node: ast.Assign) -> Any:
        target = node.targets[0]
        return None if isinstance(target, ast.Name) and target.id == RETURNED else node

    def visit_FunctionDef(self, node: Any) -> Any:
        return node


def _without_flag(body: list) -> list:
    found = [_RemoveFlag().visit(s) for s in body]
    return [s for s in found if s is not None]


class _Lowering:
    def __init__(self) -> None:
        self.uses_returned = False
        self.loops = 0

    def block(self, statements: list, loop: str | None) -> list:
        statements = self._absorb(list(statements))
        found: list = []
        for i, statement in enumerate(statements):
            jumps = leaves(statement)
            found += self.statement(statement, loop)
            rest = statements[i + 1 :]
            if jumps and rest and not isinstance(statement, (ast.Return, ast.Break, ast.Continue)):
                test = self._not(self._flags(jumps, loop), statement)
                guarded = ast.copy_location(ast.If(test, self.block(rest, loop), []), rest[0])
                return [*found, guarded]
            if isinstance(statement, (ast.Return, ast.Break, ast.Continue)):
                return found
        return found

    def _absorb(self, statements: list) -> list:
        for i, statement in enumerate(statements):
            rest = statements[i + 1 :]
            if not isinstance(statement, ast.If) or not rest or not leaves(statement):
                continue
            if always_leaves(statement.body):
                other = [*statement.orelse, *rest] if not always_leaves(statement.orelse) else statement.orelse
                new = ast.If(statement.test, statement.body, other)
            elif always_leaves(statement.orelse):
                new = ast.If(statement.test, [*statement.body, *rest], statement.orelse)
            else:
                continue
            return [*statements[:i], ast.copy_location(new, statement)]
        return statements

    def statement(self, node: Any, loop: str | None) -> list:
        if isinstance(node, ast.Return):
            return self._return(node)
        if isinstance(node, ast.Break):
            return [assign(f"{PREFIX}break{loop}", constant(True, node), node)]
        if isinstance(node, ast.Continue):
            return [assign(f"{PREFIX}continue{loop}", constant(True, node), node)]
        if isinstance(node, _SCOPES):
            return [node]
        if isinstance(node, (ast.While, ast.For)):
            return self._loop(node, loop)
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(node, field, None)
            if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                setattr(node, field, self.block(inner, loop) or [ast.copy_location(ast.Pass(), node)])
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            part.body = self.block(part.body, loop) or [ast.copy_location(ast.Pass(), node)]
        if isinstance(node, ast.Try) and node.orelse:
            jumps = set().union(*(leaves(s) for s in node.body))
            if jumps:
                test = self._not(self._flags(jumps, loop), node)
                node.orelse = [ast.copy_location(ast.If(test, node.orelse, []), node)]
        return [node]

    def _return(self, node: ast.Return) -> list:
        value = node.value if node.value is not None else constant(None, node)
        return [assign(VALUE, value, node), assign(RETURNED, constant(True, node), node)]

    def _loop(self, node: Any, outer: str | None) -> list:
        if isinstance(node, ast.While) and binds(node.test):  # `while (x := f()): body`: the test is a part of the body
            leave = ast.If(
                ast.UnaryOp(ast.Not(), node.test), [*node.orelse, ast.copy_location(ast.Break(), node.test)], []
            )
            node.body.insert(0, ast.copy_location(leave, node.test))
            node.test, node.orelse = constant(True, node), []
        inside: set[str] = set().union(*(leaves(s) for s in node.body))
        number = str(self.loops)
        self.loops += 1
        stop = [f"{PREFIX}break{number}"] if "Break" in inside else []
        if "Return" in inside:
            self.uses_returned = True
            stop.append(RETURNED)
        before = [assign(f"{PREFIX}break{number}", constant(False, node), node)] if "Break" in inside else []
        body = self.block(node.body, number)
        if "Continue" in inside:
            body.insert(0, assign(f"{PREFIX}continue{number}", constant(False, node), node))
        node.body = body
        orelse, node.orelse = node.orelse, []
        if stop:
            going = self._not(stop, node)
            if isinstance(node, ast.For):
                node.extra = going  # type: ignore[attr-defined]
            else:
                node.test = ast.copy_location(ast.BoolOp(ast.And(), [going, node.test]), node.test)
        if not orelse:
            return [*before, node]
        orelse = self.block(orelse, outer)
        if stop:
            orelse = [ast.copy_location(ast.If(self._not(stop, node), orelse, []), node)]
        return [*before, node, *orelse]

    def _flags(self, jumps: set[str], loop: str | None) -> list[str]:
        flags = []
        if "Return" in jumps:
            self.uses_returned = True
            flags.append(RETURNED)
        if "Break" in jumps:
            flags.append(f"{PREFIX}break{loop}")
        if "Continue" in jumps:
            flags.append(f"{PREFIX}continue{loop}")
        return flags

    @staticmethod
    def _not(flags: list[str], node: Any) -> Any:
        tests = [name(f, node) for f in flags]
        test = tests[0] if len(tests) == 1 else ast.copy_location(ast.BoolOp(ast.Or(), tests), node)
        return ast.copy_location(ast.UnaryOp(ast.Not(), test), node)
