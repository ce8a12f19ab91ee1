"""Branches, loops, arrays of tensors, and lists of sequences."""

from __future__ import annotations

import paddle

from ...engine import errors
from ...engine.modes import modes
from ...engine.tensor import Tensor
from .call import Branch, Call, constant, number, translates


def _array(op: Call, names: list[str]) -> list:
    found = op.scope.get(names[0])
    return list(found) if isinstance(found, list) else []


def _position(op: Call) -> int:
    at = number(op["I"])
    if isinstance(at, Tensor):
        raise NotImplementedError(
            f"{op.type}: the position in an array of tensors depends on data; run the model eagerly (LegacyModel.run)"
        )
    return int(at)


@translates("write_to_array")
def write_to_array(op):
    array, at = _array(op, op.desc.outputs["Out"]), _position(op)
    if not 0 <= at <= 1 << 20:
        raise errors.ValueError_(f"write_to_array: the position {at} must be between 0 and {1 << 20}")
    array.extend([None] * (at + 1 - len(array)))
    array[at] = op["X"]
    return {"Out": [array]}


@translates("read_from_array")
def read_from_array(op):
    array, at = op["X"], _position(op)
    if not isinstance(array, list) or not 0 <= at < len(array) or array[at] is None:
        raise errors.ValueError_(f"read_from_array: nothing was written to position {at}")
    return array[at]


@translates("lod_array_length", "array_length")
def lod_array_length(op):
    return paddle.full([1], len(op["X"]), "int64")


@translates("create_array")
def create_array(op):
    return {"Out": [[]]}


@translates("tensor_array_to_tensor")
def tensor_array_to_tensor(op):
    array, axis = op["X"], op.attr("axis", 0)
    stacked = op.attr("use_stack", False)
    lengths = [1 if stacked else x.shape[axis] for x in array]
    return {
        "Out": (paddle.stack if stacked else paddle.concat)(array, axis),
        "OutIndex": paddle.to_tensor([int(n) for n in lengths], dtype="int32"),
    }


# ---- branches ----


@translates("conditional_block", "conditional_block_infer")
def conditional_block(op):
    condition = op.list("Cond")[0]
    block, names = op.attr("sub_block"), op.desc.outputs.get("Out", [])
    if not op.attr("is_scalar_condition", False):
        raise NotImplementedError("conditional_block: a condition that is whether a tensor has elements")
    run = op.translation.run_block
    known = constant(condition)
    if known is not None:
        if known.reshape(-1)[0]:
            inner = op.scope.new_child()
            run(block, inner)
            return {"Out": [inner.get(n) for n in names]}
        return {"Out": [op.scope.get(n) for n in names]}
    before = [op.scope.get(n) for n in names]
    if any(b is None for b in before):
        branch = Branch(condition.reshape([]), block, names, op.scope)
        return {"Out": [branch if b is None else b for b in before]}

    def taken():
        inner = op.scope.new_child()
        run(block, inner)
        return [inner[n] for n in names]

    return {"Out": _several(paddle.static.nn.cond(condition.reshape([]), taken, lambda: before))}


def _several(found) -> list:
    return list(found) if isinstance(found, (list, tuple)) else [found]


@translates("select_input")
def select_input(op):
    """One of two: what a branch gave, or the other. The selections that share two branches become one `cond`."""
    mask = op["Mask"]
    no, yes = (op.scope.get(n) for n in op.desc.inputs["X"])
    if not isinstance(no, Branch) and not isinstance(yes, Branch):
        known = constant(mask)
        if known is not None:
            return yes if known.reshape(-1)[0] else no
        return _several(paddle.static.nn.cond(mask.reshape([]).cast("bool"), lambda: yes, lambda: no))[0]
    done = op.translation.selections.get((id(no), id(yes)))
    if done is None:
        done = op.translation.selections[(id(no), id(yes))] = (_select(op, mask, no, yes), no, yes)
    return done[0][tuple(op.desc.inputs["X"])]


def _select(op: Call, mask, no, yes) -> dict:
    pairs = []
    for other in op.translation.current.operators:
        if other.type == "select_input":
            a, b = other.inputs["X"]
            if op.scope.get(a) is no and op.scope.get(b) is yes and (a, b) not in pairs:
                pairs.append((a, b))

    def side(branch, k):
        def run():
            if not isinstance(branch, Branch):
                return [op.scope[p[k]] for p in pairs]
            inner = branch.scope.new_child()
            op.translation.run_block(branch.block, inner)
            return [inner[p[k]] for p in pairs]

        return run

    found = paddle.static.nn.cond(mask.reshape([]).cast("bool"), side(yes, 1), side(no, 0))
    return dict(zip(pairs, _several(found)))


# ---- loops ----


@translates("while")
def while_(op):
    translation, block = op.translation, op.attr("sub_block")
    (condition,) = op.desc.inputs["Condition"]
    written = {n for o in translation.program.blocks[block].operators for names in o.outputs.values() for n in names}
    carried = [condition, *sorted(n for n in written if n != condition and op.scope.get(n) is not None)]
    arrays = [n for n in carried if isinstance(op.scope[n], list)]
    known = constant(op.scope[condition])
    if modes.program is None or arrays and known is not None:
        return _loop_now(op, block, condition, carried)
    if arrays:
        raise NotImplementedError(
            f"while: the array of tensors {arrays[0]!r} grows in a loop whose length depends on data; run the model "
            "eagerly (LegacyModel.run)"
        )

    def again(first, *_):
        return first.reshape([])

    def body(*values):
        inner = op.scope.new_child(dict(zip(carried, values)))
        translation.run_block(block, inner)
        return [inner[n] for n in carried]

    found = paddle.static.nn.while_loop(again, body, [op.scope[n] for n in carried])
    op.scope.update(zip(carried, found))
    return {}


def _loop_now(op: Call, block: int, condition: str, carried: list[str]) -> dict:
    """A loop whose condition is known in every round; in a program its rounds follow one another."""
    rounds = 0
    while True:
        known = constant(op.scope[condition])
        if known is None:
            raise NotImplementedError("while: a condition that is known at first and depends on data later")
        if not known.reshape(-1)[0]:
            return {}
        rounds += 1
        if modes.program is not None and rounds > 1000:
            raise NotImplementedError("while: more than 1000 rounds of a loop that fills an array of tensors")
        inner = op.scope.new_child({n: op.scope[n] for n in carried})
        op.translation.run_block(block, inner)
        op.scope.update((n, inner[n]) for n in carried)
