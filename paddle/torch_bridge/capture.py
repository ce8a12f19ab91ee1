"""From a module of PyTorch to lists of calls of our functions, by `torch.export`.

The graph that `torch.export` gives before its decompositions has one node for a convolution, a linear layer, a batch norm,
an LSTM; each becomes a step. What it writes in place becomes a new value, also of the tensors that it is a view of.
"""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ..engine import errors
from .aten import OPERATORS
from .aten.network import linear_transposed
from .aten.table import VIEWS, WITH_MODULE
from .package import pytree, torch
from .steps import Input, Owner, Plan, Ref, Step

__all__ = ["EXAMPLE_BATCH", "capture", "known_length", "plan", "transposable"]

EXAMPLE_BATCH = 5  # an example of one row says that the batch is 1; this length is seldom another axis of a model


# ---- torch.export ----


def capture(model: Any, args: tuple, kwargs: dict, open_batch: bool) -> Any:
    """The exported program of a module in its present mode; the module stays as it is."""
    shapes: Any = None
    if open_batch:
        bound = inspect.signature(model.forward).bind(*args, **kwargs)
        first = next((x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor) and x.ndim), None)
        rows = None if first is None else first.shape[0]

        def axis(x: Any) -> Any:
            follows = isinstance(x, torch.Tensor) and x.ndim and x.shape[0] == rows
            return {0: torch.export.Dim.AUTO} if follows else None

        shapes = pytree.tree_map(axis, dict(bound.arguments))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return torch.export.export(model, args, kwargs, dynamic_shapes=shapes, strict=False)
        except Exception as e:
            lines = [line.strip() for line in str(e).splitlines() if line.strip()]
            raise errors.NotImplemented_(
                f"convert_model: torch.export cannot capture {type(model).__name__}.forward as a graph "
                f"({type(e).__name__}: {lines[0] if lines else 'no message'}); branches and loops that depend on the elements "
                "of tensors have no counterpart"
            ) from None


def transposable(programs: Iterable[Any]) -> set[str]:
    """Names of the 2-D parameters that are only weights of linear layers."""
    found: dict[str, bool] = {}
    for program in programs:
        names = program.graph_signature.inputs_to_parameters
        for node in program.graph.nodes:
            if node.op == "placeholder" and node.name in names and node.users:
                fits = node.meta["val"].ndim == 2 and all(_is_weight(user, node) for user in node.users)
                target = names[node.name]
                found[target] = found.get(target, True) and fits
    return {name for name, fits in found.items() if fits}


def _is_weight(user: Any, node: Any) -> bool:
    name = _title(user.target)
    if name == "linear.default":
        return user.args[1] is node and user.args[0] is not node
    return _swaps(user, node)


def _swaps(user: Any, node: Any) -> bool:
    """Whether a node swaps the two axes of another."""
    name, rest = _title(user.target), list(user.args[1:])
    if user.args[:1] != (node,):
        return False
    if name in ("t.default", "numpy_T.default"):
        return True
    if name == "transpose.int":
        return sorted(d % 2 for d in rest) == [0, 1]
    return name == "permute.default" and [d % 2 for d in rest[0]] == [1, 0]


def _title(target: Any) -> str:
    """ "add.Tensor" for torch.ops.aten.add.Tensor."""
    text = str(target)
    return text[5:] if text.startswith("aten.") else text


# ---- steps ----

_DROPPED_ARGUMENTS = {"device", "layout", "pin_memory", "memory_format", "non_blocking", "requires_grad", "generator"}
_NO_EFFECT = (
    "_assert_tensor_metadata", "_assert_scalar", "sym_constrain_range", "sym_constrain_range_for_size", "_assert_async",
    "_set_grad_enabled", "_check",
)  # fmt: skip
_NUMBERS = {"sym_max": max, "sym_min": min, "sym_not": operator.not_, "sym_float": float, "sym_int": int}


def _type_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def function_of(target: Any) -> tuple[Callable | None, str, bool]:
    """The function for a target of a node, the name in the table, and whether the target writes into its first argument."""
    if isinstance(target, torch._ops.OpOverload) and target.namespace == "aten":
        packet, overload = target._schema.name.removeprefix("aten::"), target._overloadname
        if packet in ("sym_size", "sym_numel"):
            return (_length if packet == "sym_size" else _count), packet, False
        writes = bool(target._schema.arguments) and _is_written(target._schema.arguments[0])
        plain = packet[:-1] if writes and packet.endswith("_") and packet != "detach_" else packet
        for name in (f"{plain}.{overload}", plain):
            if name in OPERATORS:
                return OPERATORS[name], name, writes and packet != "detach_"
        return None, packet, writes
    name = getattr(target, "__name__", str(target))
    if name in _NUMBERS:
        return _NUMBERS[name], name, False
    if getattr(target, "__module__", "") in ("_operator", "math", "builtins"):
        return target, name, False
    return None, str(target), False


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _length(x: Any, dim: int) -> Any:
    return x.shape[dim]


def _count(x: Any) -> Any:
    count = 1
    for n in x.shape:
        count = count * n
    return count


def _same(x: Any, *_: Any) -> Any:
    return x


def _cast(function: Callable, dtype: str) -> Callable:
    """The function with a result of another kind cast to what PyTorch gives: kinds differ where it promotes otherwise."""

    def run(*args: Any, **kwargs: Any) -> Any:
        out = function(*args, **kwargs)
        name = out.dtype.name
        return out if name == dtype or "float" in name and "float" in dtype else out.astype(dtype)

    return run


class Builder:
    """Builds the steps of one graph; `missing` collects the operators that the table does not have."""

    def __init__(self, program: Any, transposed: set[str]):
        self.program, self.transposed = program, transposed
        self.size = 0
        self.steps: list[Step] = []
        self.at: dict[Any, Any] = {}  # nodes: Refs, or nested lists of them
        self.missing: dict[str, Any] = {}  # with the target where it is an operator
        self.kept: set[int] = set()  # places of weights that lie transposed
        self.views: dict[Any, list] = {}

    def new(self) -> Ref:
        self.size += 1
        return Ref(self.size - 1)

    def emit(self, function: Callable, *args: Any, **kwargs: Any) -> Ref:
        out = self.new()
        self.steps.append(Step(function, list(args), kwargs, out.slot))
        return out

    def value(self, x: Any) -> Any:
        """An argument of a node as data of ours."""
        if isinstance(x, torch.fx.Node):
            return self.at[x]
        if isinstance(x, (list, tuple)):
            return [self.value(y) for y in x]
        if isinstance(x, slice):
            return slice(self.value(x.start), self.value(x.stop), self.value(x.step))
        return _type_name(x) if isinstance(x, torch.dtype) else x

    def graph(self, module: Any, given: list) -> Any:
        """The steps of a graph whose placeholders are `given`; its outputs."""
        given = list(given)
        outputs: Any = None
        for node in module.graph.nodes:
            if node.op == "placeholder":
                self.at[node] = given.pop(0)
            elif node.op == "get_attr":
                self.at[node] = (
                    getattr(module, node.target) if not isinstance(node.target, str) else _reach(module, node)
                )
            elif node.op == "output":
                outputs = node.args[0]
            else:
                self.call(node)
        return outputs

    def call(self, node: Any) -> None:
        name = getattr(node.target, "__name__", str(node.target))
        if name.split(".")[0] in _NO_EFFECT:
            return
        if name in ("wrap_with_set_grad_enabled", "wrap_with_autocast"):
            self.region(node, name)
            return
        function, title, writes = function_of(node.target)
        if function is None:
            self.missing[title] = node.target
            self.at[node] = self.new()
            return
        args = [self.value(a) for a in node.args]
        kwargs = {k: self.value(v) for k, v in node.kwargs.items() if k not in _DROPPED_ARGUMENTS}
        if isinstance(node.target, torch._ops.OpOverload):
            schema = node.target._schema.arguments
            dropped = [i for i, a in enumerate(schema[: len(args)]) if a.name in _DROPPED_ARGUMENTS]
            kwargs |= (
                {schema[i].name: args[i] for i in range(min(dropped), len(args)) if i not in dropped} if dropped else {}
            )
            args = args[: min(dropped)] if dropped else args
        weight = args[1] if title == "linear" else args[0] if args else None
        if isinstance(weight, Ref) and weight.slot in self.kept:
            if title == "linear":
                function = linear_transposed
            else:  # only what swaps its axes reads it
                self.at[node] = weight
                return
        if title in WITH_MODULE:
            kwargs["module"] = Owner(_path(node))
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and title not in VIEWS and isinstance(node.target, torch._ops.OpOverload):
            dtype = _type_name(value.dtype)
            if any(_differs(a, value.dtype) for a in node.all_input_nodes) or "int" in dtype:
                function = _cast(function, dtype)
        self.at[node] = self.emit(function, *args, **kwargs)
        if writes:
            self.write(node, self.at[node])

    def region(self, node: Any, name: str) -> None:
        """The body of `torch.no_grad()` or `torch.autocast`, in place."""
        place = next(i for i, a in enumerate(node.args) if self._is_module(a))
        module = self.at[node.args[place]]
        outputs = self.graph(module, [self.value(a) for a in node.args[place + 1 :]])
        found = [self.at[o] if isinstance(o, torch.fx.Node) else o for o in outputs]
        if name == "wrap_with_set_grad_enabled" and not node.args[0]:
            detach = OPERATORS["detach"]
            found = [
                self.emit(detach, f) if isinstance(f, Ref) and _is_floating(o) else f for f, o in zip(found, outputs)
            ]
        self.at[node] = found

    def _is_module(self, x: Any) -> bool:
        return isinstance(x, torch.fx.Node) and isinstance(self.at.get(x), torch.nn.Module)

    # ---- what is written in place ----
    def write(self, node: Any, new: Ref) -> None:
        """A node has a new value: so have the tensors it is a view of, and the views of these."""
        self.at[node] = new
        path = [node]
        while (parent := _viewed(path[-1])) is not None:
            back = self.back(path[-1], self.at[parent], self.at[path[-1]])
            if back is None:
                self.missing[f"{_title(path[-1].target)} (a view that is written in place)"] = None
                return
            self.at[parent] = back
            path.append(parent)
        self.refresh(path[-1], set(path))

    def refresh(self, node: Any, done: set) -> None:
        """Make the views of a node again that were made before it was written."""
        for user in list(node.users):
            if user in self.at and _viewed(user) is node:
                if user not in done and _writes(user):
                    self.at[user] = self.at[node]
                elif user not in done:
                    function = operator.getitem if user.target is operator.getitem else function_of(user.target)[0]
                    args = [self.value(a) for a in user.args]
                    if user.target is operator.getitem:
                        args[0] = self.emit(
                            function_of(user.args[0].target)[0], *[self.value(a) for a in user.args[0].args]
                        )
                    kwargs = {k: self.value(v) for k, v in user.kwargs.items() if k not in _DROPPED_ARGUMENTS}
                    self.at[user] = self.emit(function, *args, **kwargs)
                self.refresh(user, done)

    def back(self, node: Any, base: Ref, new: Any) -> Ref | None:
        """The base of a view with the value that was written into the view."""
        if _writes(node):
            return new
        args, kwargs = [self.value(a) for a in node.args[1:]], dict(node.kwargs)
        name = _title(node.target).split(".")[0]
        if name in ("select", "slice"):
            return self.emit(OPERATORS[f"{name}_scatter"], base, new, *args, **kwargs)
        if name in ("transpose", "t"):
            return self.emit(OPERATORS[name], new, *args)
        if name == "permute":
            order = [d % len(args[0]) for d in args[0]]
            return self.emit(OPERATORS[name], new, [order.index(i) for i in range(len(order))])
        if name in ("view", "reshape", "flatten", "unsqueeze", "squeeze", "view_as", "unflatten"):
            return self.emit(OPERATORS["view_as"], new, base)
        return new if name in ("detach", "alias", "contiguous", "to") else None


def _reach(module: Any, node: Any) -> Any:
    for part in node.target.split("."):
        module = getattr(module, part)
    return module


def _differs(node: Any, dtype: torch.dtype) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype != dtype


def _is_floating(node: Any) -> bool:
    value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point


def _writes(node: Any) -> bool:
    """Whether a node writes into its first argument, which is also its result."""
    return isinstance(node.target, torch._ops.OpOverload) and function_of(node.target)[2]


def _viewed(node: Any) -> Any:
    """The node whose memory a node shows."""
    if node.op != "call_function":
        return None
    if _writes(node):
        return node.args[0]
    if node.target is operator.getitem:
        source = node.args[0]
        shows = isinstance(source, torch.fx.Node) and _title(source.target).split(".")[0] in VIEWS
        return source.args[0] if shows else None
    name = _title(node.target).split(".")[0]
    if name not in VIEWS or not node.args or not isinstance(node.args[0], torch.fx.Node):
        return None
    base, value = node.args[0].meta.get("val"), node.meta.get("val")
    if name in ("contiguous", "reshape", "flatten") and isinstance(base, torch.Tensor) and not base.is_contiguous():
        return None
    if (
        name == "to"
        and isinstance(base, torch.Tensor)
        and isinstance(value, torch.Tensor)
        and base.dtype != value.dtype
    ):
        return None
    return node.args[0]


def _path(node: Any) -> str:
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return stack[-1][0].removeprefix("L['self'].").removeprefix("L['self']") if stack else ""


def plan(program: Any, transposed: set[str], names: list[str]) -> tuple[Plan, list[str]]:
    """The plan of an exported program and the operators that are missing for it, after PyTorch's decompositions of them."""
    made, missing = _plan(program, transposed, names)
    targets = [t for t in missing.values() if isinstance(t, torch._ops.OpOverload)]
    table = torch._decomp.get_decompositions(targets) if targets else {}
    if len(table) < len(missing):  # some have none
        return made, list(missing)
    if table:
        try:
            made, missing = _plan(program.run_decompositions(table), transposed, names)
        except Exception:  # a decomposition that does not know the arguments: the operators stay missing
            return made, list(missing)
    return made, list(missing)


def _plan(program: Any, transposed: set[str], names: list[str]) -> tuple[Plan, dict[str, Any]]:
    signature = program.graph_signature
    builder = Builder(program, transposed)
    states: dict[str, int] = {}
    constants: dict[str, Any] = {}
    refs, places, flat = [], {}, []
    nodes = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    for spec in signature.input_specs:
        kind, name = spec.kind.name, getattr(spec.arg, "name", "")
        if kind == "USER_INPUT":
            flat.append(_input(builder, spec, nodes.get(name)))
            refs.append(Ref(flat[-1].slot) if flat[-1].slot is not None else flat[-1].value)
            continue
        if kind not in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
            builder.missing[f"an input of the kind {kind.lower()}"] = None
        ref = builder.new()
        refs.append(ref)
        target = spec.target or name
        if kind == "CONSTANT_TENSOR":
            constants[target] = program.constants[target]
        states[target] = ref.slot
        places[name] = (target, ref)
        if target in transposed:
            builder.kept.add(ref.slot)
    outputs = builder.graph(program.graph_module, refs)
    changed = {t: builder.at[nodes[n]].slot for n, (t, ref) in places.items() if builder.at[nodes[n]] != ref}
    found = []
    for spec, output in zip(signature.output_specs, outputs):
        ref = builder.value(output)
        if spec.kind.name == "BUFFER_MUTATION":
            changed[spec.target] = ref.slot
        elif spec.kind.name == "USER_OUTPUT":
            found.append(ref)
    results = nested(pytree.tree_unflatten(found, program.call_spec.out_spec))
    arguments = nested(pytree.tree_unflatten(list(range(len(flat))), program.call_spec.in_spec))
    steps = _needed(builder.steps, [*_refs(results), *changed.values()])
    made = Plan(builder.size, names, flat, arguments, states, constants, steps, results, changed)
    return made, builder.missing


def known_length(n: Any) -> int | None:
    """A length as a number, None where it is open."""
    return n if isinstance(n, int) else n.node.maybe_as_int()


def _input(builder: Builder, spec: Any, node: Any) -> Input:
    name = getattr(spec.arg, "name", "")
    value = None if node is None else node.meta.get("val")
    if isinstance(value, torch.Tensor):
        shape = tuple(known_length(n) for n in value.shape)
        return Input(name, builder.new().slot, shape, _type_name(value.dtype))
    return Input(name, None, value=getattr(spec.arg, "value", value))


def nested(x: Any) -> Any:
    """A structure of PyTorch's as plain lists, tuples and dicts."""
    if isinstance(x, (str, bytes)):
        return x
    if hasattr(x, "items"):
        return {k: nested(v) for k, v in x.items()}
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return tuple(nested(v) for v in x)
    return type(x)(nested(v) for v in x) if type(x) in (list, tuple) else x


def _refs(x: Any) -> Iterable[int]:
    if isinstance(x, Ref):
        yield x.slot
    elif isinstance(x, (list, tuple)):
        for y in x:
            yield from _refs(y)
    elif isinstance(x, dict):
        yield from _refs(list(x.values()))
    elif isinstance(x, slice):
        yield from _refs([x.start, x.stop, x.step])


def _needed(steps: list[Step], wanted: list[int]) -> list[Step]:
    """The steps that somebody needs, each with the values that are needed for the last time."""
    live, kept = set(wanted), []
    for step in reversed(steps):
        if step.out not in live:
            continue
        read = set(_refs(step.args)) | set(_refs(step.kwargs))
        step.drop = sorted(read - live)
        live |= read
        kept.append(step)
    return kept[::-1]
