"""From a module of PyTorch to a `ConvertedLayer`."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.parameter import as_parameter
from ..engine.tensor import Tensor, _make
from .capture import EXAMPLE_BATCH, capture, known_length, plan, transposable
from .layer import ConvertedLayer
from .package import pytree, torch
from .tensors import array_of, torch_tensor

__all__ = ["convert_module", "to_torch_tensor"]


def to_torch_tensor(x: Any) -> Any:
    """A tensor of ours or an ndarray as a tensor of PyTorch; anything else stays."""
    if isinstance(x, Tensor):
        return torch_tensor(np.asarray(x._value))
    return torch_tensor(x) if isinstance(x, (np.ndarray, np.generic)) else x


@contextmanager
def mode_of(model: torch.nn.Module, training: bool) -> Iterator[None]:
    """The module in one mode; afterwards each of its modules is as it was."""
    before = [(m, m.training) for m in model.modules()]
    model.train(training)
    try:
        yield
    finally:
        for module, was in before:
            module.training = was


def convert_module(model: torch.nn.Module, args: tuple, kwargs: dict, dynamic_batch: bool) -> ConvertedLayer:
    """See `convert_model`."""
    args, kwargs = pytree.tree_map(to_torch_tensor, (args, dict(kwargs)))
    programs: dict[bool, Any] = {}
    why = ""
    for training in (False, True):
        with mode_of(model, training):
            try:
                programs[training] = _program(model, args, kwargs, dynamic_batch)
            except NotImplementedError as e:
                if not training:
                    raise
                why = str(e).removeprefix("(Unimplemented) ")
                warnings.warn(
                    f"convert_model: only the eval mode is converted, train() will not run: {why}", stacklevel=4
                )
    groups: dict[int, list[str]] = {}
    for name, p in [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]:
        groups.setdefault(id(p), []).append(name)
    alone = {names[0] for names in groups.values() if len(names) == 1}
    transposed = transposable(programs.values()) & alone
    names = _positional(model, args)
    plans, missing = {}, {}
    for training, program in programs.items():
        plans[training], unknown = plan(program, transposed, names)
        missing |= dict.fromkeys(unknown)
    if missing:
        raise errors.NotImplemented_(
            f"convert_model: {type(model).__name__} uses operators that have no translation: {', '.join(sorted(missing))}"
        )
    for training, made in plans.items():
        for name in list(made.constants):  # the modes may have different constants of one name
            fresh = f"{name}_{'train' if training else 'eval'}".replace(".", "_")
            made.states[fresh] = made.states.pop(name)
            made.constants[fresh] = made.constants.pop(name)
    layer = ConvertedLayer(type(model).__name__, transposed, plans, why)
    _fill(layer, model, groups, transposed)
    for made in plans.values():
        for name, value in made.constants.items():
            layer.place(name, _make(jnp.array(array_of(value))), "buffer", persistable=False)
    for path, module in model.named_modules():
        layer.inner(path).training = module.training
    return layer


def _program(model: torch.nn.Module, args: tuple, kwargs: dict, dynamic_batch: bool) -> Any:
    if not dynamic_batch:
        return capture(model, args, kwargs, False)
    more = _several_rows(args, kwargs)
    try:
        program = capture(model, *more, True)
        problem = "" if _is_open(program) else "the model needs this length"
    except NotImplementedError as e:
        problem = str(e).removeprefix("(Unimplemented) ")
    if not problem:
        return program
    fixed = capture(model, args, kwargs, False)
    warnings.warn(
        f"convert_model: the batch size stays that of the example, it cannot be left open ({problem})", stacklevel=5
    )
    return fixed


def _several_rows(args: tuple, kwargs: dict) -> tuple:
    """The example with more rows where it has one: torch.export takes one row for a property of the model."""
    first = next((x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor) and x.ndim), None)
    if first is None or first.shape[0] != 1:
        return args, kwargs

    def several(x: Any) -> Any:
        return torch.cat([x] * EXAMPLE_BATCH) if isinstance(x, torch.Tensor) and x.ndim and x.shape[0] == 1 else x

    return pytree.tree_map(several, (args, kwargs))


def _is_open(program: Any) -> bool:
    names = set(program.graph_signature.user_inputs)
    values = [n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder" and n.name in names]
    tensors = [v for v in values if isinstance(v, torch.Tensor) and v.ndim]
    return not tensors or known_length(tensors[0].shape[0]) is None


def _positional(model: torch.nn.Module, args: tuple) -> list[str]:
    names = []
    for p in inspect.signature(model.forward).parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            names += [f"{p.name}_{i}" for i in range(len(args) - len(names))]
        elif p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
            names.append(p.name)
    return names


def _fill(layer: ConvertedLayer, model: torch.nn.Module, groups: dict, transposed: set[str]) -> None:
    """The parameters and buffers of the module, copied; what is shared stays shared."""
    made: dict[int, Tensor] = {}
    for name, p in model.named_parameters(remove_duplicate=False):
        if id(p) not in made:
            array = array_of(p)
            array = jnp.array(array.T if name in transposed else array)
            made[id(p)] = as_parameter(_make(array), trainable=p.requires_grad)
        layer.place(name, made[id(p)], "parameter")
    volatile = {
        f"{path}.{n}" if path else n for path, m in model.named_modules() for n in m._non_persistent_buffers_set
    }
    for name, b in model.named_buffers(remove_duplicate=False):
        if id(b) not in made:
            made[id(b)] = _make(jnp.array(array_of(b)))
        layer.place(name, made[id(b)], "buffer", persistable=name not in volatile)
