"""Branches and loops: kernels whose attributes are blocks.

A kernel takes the values that its blocks read from outside as inputs, so that it is an operator like any other: it
compiles to a conditional or a loop of XLA, and has a gradient through JAX. Where a block holds operators that cannot be
compiled, or shapes change from branch to branch or from iteration to iteration, the blocks run one after the other
from Python, each compiled by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.executable import TENSOR, Kernel
from ..engine.op import op
from ..engine.random import fold
from ..engine.value import PROBES, Held, Value
from .loops import while_loop
from .open_lengths import as_array
from .program import Block, Operator, Pullback, _close
from .run import Environment, Segment, needs_host, pieces, run_block, run_on_host


@op(method=False, export=False, differentiable=False)
def stop_gradient(x):
    """The same value, which carries no gradient: for tensors that were detached inside of a block."""
    return jax.lax.stop_gradient(x)


class BlockKernel(Kernel):
    """A kernel with blocks.

    Attributes:
        blocks: the blocks.
        leading: how many inputs the operator has before `reads`.
        reads: the values from outside that the blocks read.
        on_host: whether the blocks run one after the other from Python.
        effect: whether it runs although nobody reads its results.
    """

    def __init__(self, name: str, blocks: Iterable[Block], leading: list[str], on_host: bool):
        self.blocks = tuple(blocks)
        self.reads = list(dict.fromkeys(v for b in self.blocks for v in b.free()))
        self.leading = len(leading)
        operators = [o for b in self.blocks for o in b.operators]
        self.shapes_change = on_host
        self.on_host = on_host or any(needs_host(o) for o in operators)
        self.effect = any(getattr(o.kernel, "effect", False) for o in operators)
        self.plans: dict[int, list] = {}
        parameters = (*leading, *(v.name for v in self.reads))
        self.signature = SimpleNamespace(params=parameters)
        random = any(o.tick is not None for o in operators)
        super().__init__(self._call, name, ("",) * len(parameters), random=random)

    def infer(self, specs: list, trial: int) -> list[tuple]:
        return [(trials[trial], dtype) for trials, dtype in self.results]

    results: list[tuple]

    def with_blocks(self, blocks: list[Block]) -> BlockKernel:
        """The same with other blocks."""
        raise NotImplementedError

    def _call(self, *arrays: Any) -> list:
        raise NotImplementedError

    # ---- from Python ----
    def run_on_host(self, operator: Operator, environment: Environment) -> list:
        return self._drive(operator, environment, self._run_pieces)

    def run_on_tape(self, operator: Operator, tape: Environment) -> list:
        """Run with tensors in the environment, on the tape."""

        def run(block: Block, inner: Any) -> list:
            inner.run(block.operators)
            return [inner.arrays[v] for v in block.outputs]

        return self._drive(operator, tape, run)

    def _drive(self, operator: Operator, environment: Environment, execute: Callable) -> list:
        key = None if operator.tick is None else np.asarray(jax.random.key_data(fold(environment.tick(operator.tick))))
        arrays = environment.inputs(operator)
        known = dict(zip(self.reads, arrays[self.leading :]))

        def run(block: Block, given: list, iteration: int = 0) -> list:
            arrays = {**known, **dict(zip(block.inputs, given))}
            return execute(block, type(environment)(arrays, _words(key, iteration)))

        return self.drive(run, arrays[: self.leading])

    def drive(self, run: Callable, given: list) -> list:
        """What the kernel does, where `run(block, inputs, iteration)` gives the outputs of a block."""
        raise NotImplementedError

    def _run_pieces(self, block: Block, environment: Environment) -> list:
        plan = self.plans.get(id(block))
        if plan is None:
            plan = self.plans[id(block)] = pieces(block.operators, set(block.outputs))
        arrays = environment.arrays
        for piece in plan:
            if isinstance(piece, Segment):
                found = piece.run([arrays[v] for v in piece.reads], environment.words if piece.random else None)
                arrays.update(zip(piece.gives, found))
            else:
                run_on_host(piece, environment)
        return [arrays[v] for v in block.outputs]


def with_operators(operator: Operator, operators: Iterable[list[Operator]]) -> Operator:
    """The call of a kernel with blocks, with other operators in them: for passes. They read nothing new from outside."""
    kernel, blocks = operator.kernel, []
    for block, changed in zip(kernel.blocks, operators):
        blocks.append(Block(block.inputs, block.parent))
        blocks[-1].operators, blocks[-1].outputs = changed, block.outputs
    new = kernel.with_blocks(blocks)
    given = dict(zip(kernel.reads, operator.inputs[kernel.leading :]))
    inputs = (*operator.inputs[: kernel.leading], *(given[v] for v in new.reads))
    tick = operator.tick if new.random else None
    return operator.replaced(kernel=new, key=(TENSOR,) * len(inputs), inputs=inputs, tick=tick)


def substituted(operator: Operator, values: dict[Value, Value]) -> Operator:
    """The same call reading other values, also in its attributes and its blocks. NotImplementedError for gradients."""
    if isinstance(operator, Pullback):
        raise errors.NotImplemented_(f"{operator.name}: an operator that is a gradient cannot be recorded again")

    def of(value: Value) -> Value:
        return values.get(value, value)

    kernel, key = operator.kernel, operator.key
    inputs = tuple([of(x) if isinstance(x, Value) else x for x in operator.inputs])
    if operator.open:
        key = tuple([_close(k, lambda v: Held(of(v)), lambda v: of(v).shape) for k in key])
    if hasattr(kernel, "blocks"):
        given = dict(zip(kernel.reads, inputs[kernel.leading :]))
        inside = {v: x for v, x in given.items() if isinstance(x, Value)}
        blocks = []
        for block in kernel.blocks:
            blocks.append(Block(block.inputs, block.parent))
            blocks[-1].operators = [substituted(o, inside) for o in block.operators]
            blocks[-1].outputs = [inside.get(v, v) for v in block.outputs]
        kernel = kernel.with_blocks(blocks)
        inputs = (*inputs[: kernel.leading], *(given.get(v, v) for v in kernel.reads))
        key = (TENSOR,) * len(inputs)
    return operator.replaced(kernel=kernel, key=key, inputs=inputs)


def _words(key: Any, iteration: Any) -> Any:
    """The random words of an iteration, from the words of a key; None for blocks that draw nothing."""
    if key is None:
        return None
    xp = jnp if isinstance(key, jax.Array) else np
    return xp.stack([key[0], key[1], xp.asarray(iteration, np.uint32), np.uint32(0)])


def _typed(arrays: Iterable[Any], values: Iterable[Value]) -> list:
    return [jax.lax.convert_element_type(as_array(a, v), v.dtype) for a, v in zip(arrays, values)]


class Branches(BlockKernel):
    """One of several blocks runs. Its inputs are the choice and what the blocks read.

    Args:
        name: the operator's name.
        blocks: with as many outputs each.
        keys: None when the choice is a bool (True for the first block); otherwise the numbers that choose a block, all
            others choose the last.
    """

    def __init__(self, name: str, blocks: Iterable[Block], keys: tuple[int, ...] | None = None):
        blocks = tuple(blocks)
        self.keys = keys
        self.results = [_joined(values) for values in zip(*(b.outputs for b in blocks))]
        differ = any(v.trials != trials for b in blocks for v, (trials, _) in zip(b.outputs, self.results))
        super().__init__(name, blocks, ["pred" if keys is None else "branch_index"], differ)

    def with_blocks(self, blocks: list[Block]) -> Branches:
        return type(self)(self.name, blocks, self.keys)

    def _position(self, choice: Any) -> Any:
        """The number of the block."""
        xp = np if isinstance(choice, np.ndarray) else jnp
        choice = xp.reshape(choice, ())
        if self.keys is None:
            return 1 - xp.asarray(choice, np.int32)
        choice, position = xp.asarray(choice, np.int64), np.int32(len(self.blocks) - 1)
        for i, key in enumerate(self.keys):
            position = xp.where(choice == key, np.int32(i), position)
        return position

    def _call(self, *arrays: Any) -> list:
        key = jax.random.key_data(arrays[0]) if self.random else None
        choice, *given = arrays[self.random :]
        known = dict(zip(self.reads, given))
        words = _words(key, 0)

        def branch(block: Block) -> Callable:
            return lambda: _typed(run_block(block, known, words), block.outputs)

        position = self._position(choice)
        if isinstance(position, jax.core.Tracer):
            return jax.lax.switch(position, [branch(b) for b in self.blocks])
        return branch(self.blocks[int(position)])()  # it follows from shapes

    def drive(self, run: Callable, given: list) -> list:
        return run(self.blocks[int(self._position(np.asarray(given[0])))], [])


def _joined(values: tuple[Value, ...]) -> tuple[tuple, Any]:
    """(trials, type) that stand for the outputs of several blocks: lengths that differ are unknown."""
    trials = []
    for t, probe in enumerate(PROBES):
        lengths = zip(*(v.trials[t] for v in values))
        trials.append(tuple(n[0] if _agree(values, axis) else probe for axis, n in enumerate(lengths)))
    return tuple(trials), values[0].dtype


def _agree(values: Iterable[Value], axis: int) -> bool:
    """Whether values have the same length along an axis."""
    return len({tuple(t[axis] for t in v.trials) for v in values}) == 1


class Loop(BlockKernel):
    """A block runs again and again. Its inputs are the first values of the loop variables and what the blocks read.

    Args:
        name: the operator's name.
        condition: a block that gives whether to go on.
        body: a block with the same inputs that gives the next values of the loop variables.
        shapes_change: whether shapes of loop variables differ from iteration to iteration.
    """

    def __init__(self, name: str, condition: Block, body: Block, shapes_change: bool = False):
        self.variables = list(body.inputs)
        self.results = [(v.trials, v.dtype) for v in self.variables]
        names = [v.name for v in self.variables]
        super().__init__(name, (condition, body), names, shapes_change)

    def with_blocks(self, blocks: list[Block]) -> Loop:
        return type(self)(self.name, *blocks, self.shapes_change)

    def _call(self, *arrays: Any) -> list:
        key = jax.random.key_data(arrays[0]) if self.random else None
        given = list(arrays[self.random :])
        first, outside = _typed(given[: self.leading], self.variables), given[self.leading :]
        traced = [v for v, a in zip(self.reads, outside) if isinstance(a, jax.core.Tracer)]
        fixed = {v: a for v, a in zip(self.reads, outside) if not isinstance(a, jax.core.Tracer)}
        constants = [a for a in outside if isinstance(a, jax.core.Tracer)] + ([] if key is None else [key])
        condition, body = self.blocks

        def run(block: Block, constants: list, t: Any, state: list) -> list:
            known = {**fixed, **dict(zip(traced, constants)), **dict(zip(self.variables, state))}
            return run_block(block, known, None if key is None else _words(constants[-1], t))

        def more(constants: list, t: Any, state: list) -> Any:
            return jnp.reshape(jnp.asarray(run(condition, constants, t, state)[0]), ())

        def step(constants: list, t: Any, state: list) -> list:
            return _typed(run(body, constants, t, state), self.variables)

        return while_loop(more, step, constants, first)

    def drive(self, run: Callable, given: list) -> list:
        condition, body = self.blocks
        state, iteration = given, 0
        while bool(np.asarray(run(condition, state, iteration)[0]).reshape(())):
            state = run(body, state, iteration)
            iteration += 1
        return state
