"""A model as the planner sees it: its program without values, its repeated blocks, where it can be cut."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import jax

from ....engine import errors
from ....engine.dispatch import dispatch
from ....engine.executable import Kernel
from ....engine.modes import set_mode
from ....engine.place import for_other_devices
from ....engine.storage import Storage
from ....engine.tensor import Tensor, _make
from ....engine.value import PROBES, Value
from ....ir.program import Graph
from ....ir.record import Recorder
from ....ir.run import Environment, execute
from ....nn.layer import Layer
from ....nn.training_mode import in_mode
from ..repeated import Schedule, Template, find_blocks, run_blocks
from .points import Product, assign_roles, share_cut


@contextlib.contextmanager
def without_values(tensors: list[tuple[str, Tensor]]) -> Iterator[dict[str, Value]]:
    """Parameters stand for themselves without elements; those of a LazyGuard stay without memory."""
    kept: list[tuple[Storage, Any]] = []
    found: dict[str, Value] = {}
    try:
        for name, tensor in tensors:
            slot = tensor._storage
            if isinstance(slot.value, Value):
                continue
            shape = tuple(int(n) for n in tensor.shape)
            kept.append((slot, slot.value))
            found[name] = slot.value = Value(name, (shape, shape), tensor.dtype.numpy)
        yield found
    finally:
        for slot, value in kept:
            slot.value = value


def _spec_of(given: Any) -> tuple[tuple[int, ...], Any]:
    if isinstance(given, Tensor):
        return tuple(given._raw.shape), given._raw.dtype
    shape, dtype = tuple(given.shape), given.dtype
    if any(n is None or int(n) < 0 for n in shape):
        raise errors.ValueError_(f"plan: every length of the inputs must be known, got shape {list(shape)}")
    return tuple(int(n) for n in shape), getattr(dtype, "numpy", dtype)


class Outline:
    """The program of a model with its loss, in which the repeated blocks are one operator.

    Attributes:
        graph: the program; its output is the loss.
        blocks, container: the repeated blocks and the name of what holds them.
        stacked: for each parameter of a block the Value of those of all blocks, by its name in the block.
        single: the Values of all other parameters and buffers, by name.
        roles: for each parameter that can be cut over "mp" the axis along which, by its name (in the block or the model).
        degrees: lengths that a degree of "mp" has to divide.
    """

    def __init__(self, model: Layer, inputs: list, labels: list, loss: Callable | None):
        self.model = model
        with in_mode(model, False):  # nothing random
            self._record(model, inputs, labels, loss)

    def _record(self, model: Layer, inputs: list, labels: list, loss: Callable | None) -> None:
        self.container, self.blocks = find_blocks(model)
        self.schedule = Schedule()
        self.template: Template | None = None
        inside = {id(p) for b in self.blocks for p in b.parameters()}
        named = [*model.named_parameters(), *model.named_buffers()]
        self.graph = Graph()
        self.stacked: dict[str, Value] = {}
        self.hidden: tuple[int, ...] = ()
        self.given: dict[Value, tuple[int, ...]] = {}
        self.inputs = [self._input(f"input{i}", x) for i, x in enumerate(inputs)]
        self.labels = [self._input(f"label{i}", x) for i, x in enumerate(labels)]
        with for_other_devices(), without_values(named) as values, self._one_block():
            recorder = Recorder(self.graph)
            with recorder, set_mode(grad=False, amp=None):
                out = model(*map(_make, self.inputs))
                outs = list(out) if isinstance(out, (tuple, list)) else [out]
                if loss is not None:
                    total = loss(*outs, *map(_make, self.labels))
                else:
                    total = outs[0].astype("float32").mean()
                total = total if total.ndim == 0 else total.mean()
                self.graph.block.outputs = [recorder.value_of(total)]
            recorder.restore()
        outer = {id(p) for _, p in named} - inside
        self.single = {n: values[n] for n, p in named if id(p) in outer and n in values}
        self.trained = {n for n, p in model.named_parameters() if not p.stop_gradient and n in self.single}
        self.constants = {s.value: s.tensor for s in self.graph.states.values()}
        self.weights = {**{f"*.{n}": v for n, v in self.stacked.items()}, **self.single}
        self._find_points()

    def _input(self, name: str, given: Any) -> Value:
        shape, dtype = _spec_of(given)
        trials = tuple((n, *shape[1:]) for n in PROBES) if shape else (shape,) * len(PROBES)  # batches of any size
        value = self.graph.inputs[name] = Value(name, trials, dtype)
        self.given[value] = shape
        return value

    def shape_of(self, value: Value) -> tuple[int, ...]:
        """The shape of a value, for the whole batch."""
        if value in self.given:
            return self.given[value]
        return tuple(a if a == b else self.batch * a // PROBES[0] for a, b in zip(*value.trials))

    @contextlib.contextmanager
    def _one_block(self) -> Iterator[None]:
        """Calling the first block records the operator for all."""
        if not self.blocks:
            yield
            return
        first = self.blocks[0]
        forward = first.forward
        try:
            object.__setattr__(first, "forward", lambda *args: self._record_blocks(forward, args))
            for block in self.blocks[1:]:
                object.__setattr__(block, "forward", lambda x, *rest: x)
            yield
        finally:
            for block in self.blocks:
                block.__dict__.pop("forward", None)

    def _record_blocks(self, forward: Callable, args: tuple) -> Any:
        if self.template is not None:
            raise errors.NotImplemented_("plan: blocks that are called several times")
        first = self.blocks[0]
        template = self.template = Template(first, forward, args)
        self.block_values = {
            v: n for (n, _), i in zip(first.named_parameters(), range(10**6)) for v, j in template.places if i == j
        }
        n, tensors = len(self.blocks), [a for a in args if isinstance(a, Tensor)]
        self.hidden = self.shape_of(tensors[0]._value)
        self.hidden_dtype = tensors[0]._raw.dtype
        for name, p in first.named_parameters():
            shape = (n, *(int(d) for d in p.shape))
            self.stacked[name] = Value(f"*.{name}", (shape, shape), p.dtype.numpy)
        captured = [t for _, t in template.captured]
        outline, n_inputs, n_captured = self, len(tensors), len(captured)

        def call(*arrays: Any) -> Any:
            given, rest = list(arrays[:n_inputs]), list(arrays[n_inputs:])
            return run_blocks(template, outline.schedule, None, given, rest[n_captured:], rest[:n_captured])

        if template.ticks:
            raise errors.NotImplemented_("plan: blocks that draw random numbers; call model.eval() first")
        kernel = Kernel(call, "repeat", ("",) * (n_inputs + n_captured + len(self.stacked)))
        kernel.blocks = ()  # type: ignore[attr-defined]  # what it does depends on the schedule: it is traced anew
        out = dispatch(kernel, (*tensors, *captured, *map(_make, self.stacked.values())))
        return out if template.single else (out,)

    # ---- where it can be cut ----
    def _find_points(self) -> None:
        self.roles: dict[str, int] = {}
        self.degrees: set[int] = set()
        self.pairs: list[tuple[str, str]] = []  # (name, "column" or "row"), for reading
        self.rows = self.columns = 0
        self.cut_share = 0.0
        if self.template is not None:
            operators = self.template.graph.block.operators
            products = assign_roles(operators, set(self.block_values))
            for product in products:
                self._note(product, f"*.{self.block_values[product.weight]}", operators)
            self.rows = sum(p.role == "row" for p in products)
            self.columns = sum(p.role == "column" for p in products)
            self.cut_share = share_cut(operators, products)
        names = {v: n for n, v in self.single.items()}
        operators = self.graph.block.operators
        self._outer = assign_roles(operators, set(names), True)
        for product in self._outer:
            self._note(product, names[product.weight], operators)
        self.heads = [names[p.weight] for p in self._outer if p.role == "column"]
        self.tables: list[str] = []
        for operator in operators:
            weight = operator.arguments().get("weight") if operator.name == "embedding" else None
            if isinstance(weight, Value) and weight in names and weight.shape[0] >= weight.shape[1]:
                self.roles.setdefault(names[weight], 0)
                self.tables.append(names[weight])

    def _note(self, product: Product, name: str, operators: list) -> None:
        if not product.role:
            return
        self.pairs.append((name, product.role))
        self.roles[name] = 1 if product.role == "column" else 0
        if name.startswith("*."):  # others stay whole where they do not divide
            self.degrees |= product.lengths
        bias = product.operator.arguments().get("bias")
        if product.role == "column" and isinstance(bias, Value):
            own = self.block_values.get(bias) if self.template is not None else None
            other = next((n for n, v in self.single.items() if v is bias), None)
            if own is not None or other is not None:
                self.roles[f"*.{own}" if own is not None else str(other)] = 0

    # ---- numbers ----
    @property
    def length(self) -> int:
        """How many blocks there are."""
        return len(self.blocks)

    @property
    def batch(self) -> int:
        """Samples of all devices together."""
        return self.given[self.inputs[0]][0]

    def parameter_count(self, inside: bool | None = None) -> int:
        """Elements of the parameters, of the blocks or of the rest."""
        n = 0
        for name, value in self.weights.items():
            if inside is None or inside == name.startswith("*."):
                n += math.prod(int(d) for d in value.shape)
        return n

    def held(self, cut: int) -> float:
        """Elements of the blocks' parameters on a device where "mp" has `cut` places."""
        return self._held(cut, True)

    def held_outside(self, cut: int) -> float:
        """The same of all other parameters."""
        return self._held(cut, False)

    def _held(self, cut: int, inside: bool) -> float:
        n = 0.0
        for name, value in self.weights.items():
            if name.startswith("*.") is inside:
                n += math.prod(int(d) for d in value.shape) / (cut if self.cuts(name, cut) is not None else 1)
        return n

    def cuts(self, name: str, cut: int) -> int | None:
        """The axis along which a parameter is cut into `cut` pieces, None where it is not."""
        axis = self.roles.get(name)
        if axis is None or cut == 1:
            return None
        shape = self.weights[name].shape[1:] if name.startswith("*.") else self.weights[name].shape
        return axis if shape[axis] % cut == 0 else None

    @property
    def width(self) -> float:
        """Bytes of a sample between two blocks."""
        return math.prod(self.hidden[1:]) * self.hidden_dtype.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes of an element of the parameters."""
        weights = list(self.weights.values())
        return max(weights, key=lambda v: math.prod(v.shape)).dtype.itemsize if weights else 4

    def outer_bytes(self, cut: int) -> float:
        """Bytes of the results of everything but the blocks, on a device where "mp" has `cut` places."""
        total = 0.0
        heads = (
            {p.operator.outputs[0]: self.cuts(n, cut) for p, n in zip(self._outer, self.heads)} if self.heads else {}
        )
        classes = {v.trials[0][-1] for v, axis in heads.items() if axis is not None}
        for operator in self.graph.block.operators:
            if operator.name == "repeat" or operator.known:
                continue
            for value in operator.outputs:
                shape = self.shape_of(value)
                parts = cut if shape and value.trials[0][-1] in classes else 1
                total += math.prod(shape) * value.dtype.itemsize / parts
        return 2 * total  # and the gradients of them

    def costs(self) -> dict[str, float]:
        """By XLA's count, for the whole batch on one device: operations of the blocks and of the rest (forward and
        backward), and the bytes that a block keeps for its backward."""
        with for_other_devices():
            return self._costs()

    def _costs(self) -> dict[str, float]:
        found = {"rest": self._flops_of_rest(), "block": 0.0, "kept": 0.0, "block forward": 0.0}
        if self.template is None:
            return found
        template = self.template
        specs = [jax.ShapeDtypeStruct(self.shape_of(v), v.dtype) for v in template.inputs]
        weights = [jax.ShapeDtypeStruct(v.shape[1:], v.dtype) for v in self.stacked.values()]
        captured = [jax.ShapeDtypeStruct(v.shape, v.dtype) for v, _ in template.captured]

        def forward(x: Any, weights: Any, others: Any, captured: Any) -> Any:
            return template.run(None, [x, *others], weights, captured)[0]

        def both(x: Any, weights: Any, others: Any, captured: Any) -> Any:
            out, back = jax.vjp(lambda x, w: forward(x, w, others, captured), x, weights)
            return out, back(out)

        args = specs[0], weights, specs[1:], captured
        found["block"] = _flops(both, *args)
        found["block forward"] = _flops(forward, *args)
        kept = jax.eval_shape(lambda x, w, o, c: jax.vjp(lambda x, w: forward(x, w, o, c), x, w)[1], *args)
        total = sum(math.prod(s.shape) * s.dtype.itemsize for s in jax.tree.leaves(kept))
        own = sum(math.prod(s.shape) * s.dtype.itemsize for s in weights)
        found["kept"] = float(max(total - own, 0))
        return found

    def _flops_of_rest(self) -> float:
        """Forward and backward of everything but the blocks."""
        skipped, self.schedule = self.schedule, Schedule()
        values = self.all_values()
        specs = [jax.ShapeDtypeStruct(self.shape_of(v), v.dtype) for v in values]
        operators = [o for o in self.graph.block.operators if o.name != "repeat"]
        through = [o for o in self.graph.block.operators if o.name == "repeat"]
        kept: dict[Any, Any] = {o.outputs[0]: o.inputs[0] for o in through}

        def loss(trained: list, rest: list) -> Any:
            arrays = dict(zip(values, [*trained, *rest]))
            environment = Environment(arrays)
            for o in self.graph.block.operators:
                if o in through:
                    arrays[o.outputs[0]] = arrays[kept[o.outputs[0]]]
                else:
                    execute([o], environment)
            return arrays[self.graph.block.outputs[0]]

        n = len(self.trained_values())
        try:
            return _flops(jax.grad(loss), specs[:n], specs[n:]) if operators else 0.0
        finally:
            self.schedule = skipped

    def trained_values(self) -> list[Value]:
        """The parameters that a step changes: those of all blocks, then the others."""
        return [*self.stacked.values(), *(v for n, v in self.single.items() if n in self.trained)]

    def all_values(self) -> list[Value]:
        """What the program takes: trained parameters, other tensors, constants, inputs, labels."""
        rest = [v for n, v in self.single.items() if n not in self.trained]
        return [*self.trained_values(), *rest, *self.constants, *self.inputs, *self.labels]

    def loss(self, arrays: dict[Value, Any]) -> Any:
        """The loss, where `arrays` has what `all_values` lists."""
        environment = Environment(dict(arrays))
        execute(self.graph.block.operators, environment)
        return environment.arrays[self.graph.block.outputs[0]]


def _flops(function: Callable, *args: Any) -> float:
    cost = jax.jit(function).lower(*args).cost_analysis() or {}
    return float(cost.get("flops", 0.0))


__all__ = ["Outline"]
