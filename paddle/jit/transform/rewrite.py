"""Rewrites a function so that its control flow and its calls go through `runtime`.

    if test: A            def _jst_then0(): nonlocal y; A
    else: B         ->    def _jst_else0(): nonlocal y; B
                          _jst.branch(test, _jst_then0, _jst_else0, _jst.State(("y",), (lambda: y,), set), live)

The pieces are closures over the variables of the function, so that plain Python values behave as before.
"""

from __future__ import annotations

import ast
from typing import Any

from .jumps import PREFIX, lower
from .names import Liveness, assigned, binds, shared

_COMPARED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_AS_THEY_ARE = frozenset("super locals globals vars dir eval exec".split())


def rewrite(function: Any, owner: str | None) -> ast.FunctionDef:
    """The FunctionDef (or Lambda) node rewritten in place, as a FunctionDef."""
    if isinstance(function, ast.Lambda):
        body = ast.copy_location(ast.Return(function.body), function.body)
        made = ast.FunctionDef(PREFIX + "lambda", function.args, [body], [], None)
        function = ast.copy_location(made, function)
    function.decorator_list = []
    rewriter = _Rewriter(owner)
    rewriter.function(function)
    return ast.fix_missing_locations(function)


def _hoist(body: list) -> list:
    """Take the global and nonlocal declarations out of a function's body."""
    found: list = []

    class Taking(ast.NodeTransformer):
        def visit_Global(self, node: Any) -> Any:
            found.append(node)
            return ast.copy_location(ast.Pass(), node)

        visit_Nonlocal = visit_Global

        def visit_FunctionDef(self, node: Any) -> Any:
            return node

        visit_ClassDef = visit_Lambda = visit_AsyncFunctionDef = visit_FunctionDef

    for statement in body:
        Taking().visit(statement)
    body[:] = [s if not isinstance(s, (ast.Global, ast.Nonlocal)) else Taking().visit(s) for s in body]
    return found


def _lambda(body: Any) -> Any:
    return ast.copy_location(ast.Lambda(_no_arguments(), body), body)


def _no_arguments(*names: str) -> ast.arguments:
    return ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])


class _Rewriter(ast.NodeTransformer):
    def __init__(self, owner: str | None):
        self.owner = owner.lstrip("_") if owner else None
        self.number = 0
        self.first: str | None = None  # the first parameter, which super() needs
        self.bound: dict[str, None] = {}
        self.globals: set[str] = set()
        self.shared: list[str] = []  # variables that functions inside assign: any call may

    # ---- functions ----
    def function(self, node: ast.FunctionDef) -> None:
        outer = self.first, self.bound, self.globals, self.shared
        self.shared = shared(node.body)
        declared = _hoist(node.body)
        lower(node)
        Liveness([*declared, *node.body])
        self.globals = {n for d in declared if isinstance(d, ast.Global) for n in d.names}
        parameters = [*node.args.posonlyargs, *node.args.args]
        self.first = parameters[0].arg if parameters else None
        self.bound = {}
        for arg in ast.walk(node.args):
            if isinstance(arg, ast.arg):
                arg.annotation = None
                arg.arg = self._mangled(arg.arg)
        node.returns = None
        document = ast.get_docstring(node, clean=False) is not None
        body = self._block(node.body)
        body[int(document) : int(document)] = declared
        node.body = body
        if self.bound:  # so that pieces can name them `nonlocal`, without a value
            targets = [ast.Name(n, ast.Store()) for n in self.bound]
            never = ast.If(ast.Constant(False), [ast.Assign(targets, ast.Constant(None))], [])
            body.insert(int(document) + len(declared), ast.copy_location(never, node))
        self.first, self.bound, self.globals, self.shared = outer

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [self.visit(d) if d is not None else None for d in node.args.kw_defaults]
        node.name = self._mangled(node.name)
        if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(node)):
            return node
        self.function(node)
        return node

    def visit_AsyncFunctionDef(self, node: Any) -> Any:
        return node

    def visit_ClassDef(self, node: Any) -> Any:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        if not binds(node.body):
            node.body = self.visit(node.body)
        return node

    def _block(self, statements: list) -> list:
        found: list = []
        for statement in statements:
            new = self.visit(statement)
            found += new if isinstance(new, list) else [new]
        return found

    # ---- names of classes' private attributes ----
    def _mangled(self, name: str) -> str:
        if self.owner and name.startswith("__") and not name.endswith("__"):
            return f"_{self.owner}{name}"
        return name

    def visit_Name(self, node: ast.Name) -> Any:
        node.id = self._mangled(node.id)
        return node

    def visit_keyword(self, node: ast.keyword) -> Any:
        if node.arg:
            node.arg = self._mangled(node.arg)
        return self.generic_visit(node)

    # ---- statements ----
    def visit_If(self, node: ast.If) -> Any:
        number = self._next()
        parts = self._assigned([*node.body, *node.orelse])
        test = self.visit(node.test)
        state = self._state(parts)
        then, other = f"{PREFIX}then{number}", f"{PREFIX}else{number}"
        made = [self._piece(then, self._block(node.body), parts)]
        arguments = [test, ast.Name(then, ast.Load())]
        if node.orelse:
            made.append(self._piece(other, self._block(node.orelse), parts))
            arguments.append(ast.Name(other, ast.Load()))
        else:
            arguments.append(ast.Constant(None))
        call = self._call("branch", *arguments, *self._stated(state, number, made), self._words(sorted(node.live)))
        return self._located([*made, ast.Expr(call)], node)

    def visit_While(self, node: ast.While) -> Any:
        number = self._next()
        parts = self._assigned([node, *node.body])
        test, body = f"{PREFIX}test{number}", f"{PREFIX}body{number}"
        made = [
            self._piece(test, [ast.copy_location(ast.Return(self.visit(node.test)), node)], parts),
            self._piece(body, self._block(node.body), parts),
        ]
        state = self._stated(self._state(parts), number, made)
        names = [ast.Name(test, ast.Load()), ast.Name(body, ast.Load())]
        call = self._call("loop", *names, *state, self._words(sorted(node.live)), self._words(sorted(node.carried)))
        return self._located([*made, ast.Expr(call)], node)

    def visit_For(self, node: ast.For) -> Any:
        number = self._next()
        parts = self._assigned([node.target, *node.body])
        iterable = self.visit(node.iter)
        extra = getattr(node, "extra", None)
        item, body, test = f"{PREFIX}item{number}", f"{PREFIX}body{number}", f"{PREFIX}test{number}"
        target = self.visit(node.target)
        take = ast.copy_location(ast.Assign([target], ast.Name(PREFIX + "item", ast.Load())), node)
        made = [self._piece(item, [take], parts, PREFIX + "item"), self._piece(body, self._block(node.body), parts)]
        going: Any = ast.Constant(None)
        if extra is not None:
            made.append(self._piece(test, [ast.Return(self.visit(extra))], parts))
            going = ast.Name(test, ast.Load())
        state = self._stated(self._state(parts), number, made)
        names = [ast.Name(item, ast.Load()), ast.Name(body, ast.Load()), going]
        call = self._call(
            "each", iterable, *names, *state, self._words(sorted(node.live)), self._words(sorted(node.carried))
        )
        return self._located([*made, ast.Expr(call)], node)

    def visit_Assert(self, node: ast.Assert) -> Any:
        message = _lambda(self.visit(node.msg)) if node.msg is not None else ast.Constant(None)
        call = self._call("check", _lambda(self.visit(node.test)), message)
        return self._located([ast.Expr(call)], node)

    def _assigned(self, nodes: list) -> Any:
        parts = assigned(nodes)
        if any(isinstance(n, ast.Call) for node in nodes for n in ast.walk(node)):
            parts.names.update(dict.fromkeys(n for n in self.shared if n not in parts.fixed))
        return parts

    def _next(self) -> int:
        self.number += 1
        return self.number - 1

    def _piece(self, name: str, body: list, parts: Any, *parameters: str) -> ast.FunctionDef:
        """A function inside that assigns the variables of the one around it."""
        head: list = []
        names = [self._mangled(n) for n in parts.names]
        own = [n for n in names if n not in self.globals]
        if own:
            head.append(ast.Nonlocal(own))
            self.bound.update(dict.fromkeys(own))
        if len(own) < len(names):
            head.append(ast.Global([n for n in names if n in self.globals]))
        return ast.FunctionDef(name, _no_arguments(*parameters), [*head, *(body or [ast.Pass()])], [], None)

    def _state(self, parts: Any) -> list[str]:
        """The names that are put back between branches: those assigned, and those whose contents change."""
        names = [n for n in parts.names if n not in self.globals]
        names += [n for n in parts.changed if n not in names and n.split(".")[0] not in parts.names]
        return [".".join(map(self._mangled, n.split("."))) for n in names]

    def _stated(self, names: list[str], number: int, made: list) -> list:
        """The arguments names, readers, writer; the writer's definition is added to `made`."""
        if not names:
            return [ast.Constant(None)]
        writer = f"{PREFIX}set{number}"
        body: list = []
        plain = [n for n in names if "." not in n and n not in self.globals]
        if plain:
            self.bound.update(dict.fromkeys(plain))
            body.append(ast.Nonlocal(plain))
        values = PREFIX + "values"
        for i, name in enumerate(names):
            item = ast.Subscript(ast.Name(values, ast.Load()), ast.Constant(i), ast.Load())
            absent = ast.Compare(item, [ast.Is()], [self._helper("UNDEFINED")])
            body.append(ast.Assign([_path(name, ast.Store())], item))
            if not name.startswith(PREFIX):
                body.append(ast.If(absent, [ast.Delete([_path(name, ast.Del())])], []))
        made.append(ast.FunctionDef(writer, _no_arguments(values), body, [], None))
        readers = ast.Tuple([ast.Lambda(_no_arguments(), _path(n, ast.Load())) for n in names], ast.Load())
        return [self._call("State", self._words(names), readers, ast.Name(writer, ast.Load()))]

    # ---- expressions ----
    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        if binds(node):
            return self.generic_visit(node)
        helper = "and_" if isinstance(node.op, ast.And) else "or_"
        first = self.visit(node.values[0])
        rest = [_lambda(self.visit(v)) for v in node.values[1:]]
        return self._located(self._call(helper, first, *rest), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        return self._located(self._call("not_", node.operand), node) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        if binds(node):
            return self.generic_visit(node)
        test = self.visit(node.test)
        return self._located(
            self._call("choose", test, _lambda(self.visit(node.body)), _lambda(self.visit(node.orelse))), node
        )

    def visit_Compare(self, node: ast.Compare) -> Any:
        self.generic_visit(node)
        if not any(isinstance(op, _COMPARED) for op in node.ops) or binds(node):
            return node
        words = ast.Tuple([ast.Constant(type(op).__name__) for op in node.ops], ast.Load())
        rest = [_lambda(c) for c in node.comparators[1:]]
        return self._located(self._call("compare", words, node.left, node.comparators[0], *rest), node)

    def visit_Call(self, node: ast.Call) -> Any:
        function = node.func
        if isinstance(function, ast.Name) and function.id in _AS_THEY_ARE:
            if function.id == "super" and not node.args and self.first is not None:
                node.args = [ast.Name("__class__", ast.Load()), ast.Name(self.first, ast.Load())]
                return self._located(node, node)
            return self.generic_visit(node)
        if isinstance(function, ast.Attribute):  # a method: looked up as usual
            function.value = self.visit(function.value)
            function.attr = self._mangled(function.attr)
        else:
            function = self.visit(function)
        node.args = [self.visit(a) for a in node.args]
        node.keywords = [self.visit(k) for k in node.keywords]
        node.func = ast.copy_location(self._call("call", function), node.func)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        node.attr = self._mangled(node.attr)
        if not isinstance(node.ctx, ast.Load):
            return node
        return self._located(self._call("attribute", node.value, ast.Constant(node.attr)), node)

    # ---- building blocks ----
    def _call(self, helper: str, *arguments: Any) -> ast.Call:
        return ast.Call(self._helper(helper), list(arguments), [])

    @staticmethod
    def _helper(name: str) -> ast.Attribute:
        return ast.Attribute(ast.Name("_jst", ast.Load()), name, ast.Load())

    def _words(self, names: Any) -> ast.Tuple:
        return ast.Tuple([ast.Constant(self._mangled(n)) for n in names], ast.Load())

    @staticmethod
    def _located(made: Any, node: Any) -> Any:
        for each in made if isinstance(made, list) else [made]:
            _locate(each, node)
        return made


def _locate(node: ast.AST, at: Any) -> None:
    """Give what was made here, down to the user's own nodes, the position of the statement that it replaces."""
    if isinstance(node, (ast.expr, ast.stmt, ast.arg)):
        if hasattr(node, "lineno"):
            return
        ast.copy_location(node, at)
        if isinstance(node, ast.stmt) and not isinstance(node, ast.Expr):
            node.end_lineno = node.lineno
    for child in ast.iter_child_nodes(node):
        _locate(child, at)


def _path(name: str, context: ast.expr_context) -> Any:
    first, *rest = name.split(".")
    node: Any = ast.Name(first, ast.Load() if rest else context)
    for i, part in enumerate(rest):
        node = ast.Attribute(node, part, context if i == len(rest) - 1 else ast.Load())
    return node
