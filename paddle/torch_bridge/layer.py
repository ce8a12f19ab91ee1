"""`ConvertedLayer`: a module of PyTorch as a layer that runs its steps."""

from __future__ import annotations

from typing import Any

from ..engine import errors
from ..engine.modes import set_mode
from ..engine.tensor import Tensor
from ..nn.layer import Layer
from .steps import Owner, filled

__all__ = ["ConvertedLayer"]


class ConvertedLayer(Layer):
    """A layer made of a PyTorch module by `convert_model`.

    Its sublayers, parameters and buffers have the names of the module's; weights that only linear layers use lie as
    [in, out]. `train()` and `eval()`, also of sublayers, work as in PyTorch.

    Attributes:
        original: the name of the module's class.
        transposed: the names of the weights that lie the other way round than in PyTorch.
    """

    def __init__(self, original: str, transposed: set[str], plans: dict[bool, Any], why: str = ""):
        super().__init__()
        self.original, self.transposed = original, sorted(transposed)
        self._plans, self._why = plans, why
        self._homes: dict[str, tuple[Layer, str]] = {}

        for plan in plans.values():
            for step in plan.steps:
                step.kwargs = {k: self.inner(v.path) if isinstance(v, Owner) else v for k, v in step.kwargs.items()}

    # ---- what it holds ----
    def place(self, name: str, value: Any, kind: str, persistable: bool = True) -> None:
        """Register a "parameter" or "buffer" under its name, and remember where it is."""
        path, _, leaf = name.rpartition(".")
        layer = self.inner(path)
        if kind == "parameter":
            layer._parameters[leaf] = value
        else:
            layer._buffers[leaf] = value
            if not persistable:
                layer._non_persistable_buffer_names_set.add(leaf)
        self._homes[name] = (layer, leaf)

    def inner(self, path: str) -> Layer:
        """The sublayer of a path; it is made where there is none."""
        layer: Layer = self
        for part in path.split(".") if path else ():
            found = layer._sub_layers.get(part)
            if found is None:
                found = Layer()
                layer._sub_layers[part] = found
            layer = found
        return layer

    def _state(self, name: str) -> Tensor:
        layer, leaf = self._homes[name]
        return layer._parameters[leaf] if leaf in layer._parameters else layer._buffers[leaf]

    # ---- running ----
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The results for arguments like those of the module's forward."""
        return self._run(args, kwargs)

    def _run(self, args: tuple, kwargs: dict) -> Any:
        plan = self._plans.get(self.training)
        if plan is None:
            mode = "train" if self.training else "eval"
            raise errors.NotImplemented_(f"{self.original}: its {mode} mode could not be converted: {self._why}")
        values: list[Any] = [None] * plan.size
        for spec, x in zip(plan.inputs, self._flat(plan, args, kwargs)):
            if spec.slot is not None:
                values[spec.slot] = _fitting(self.original, spec, x)
            elif x is not spec.value and x != spec.value:
                raise errors.ValueError_(
                    f"{self.original}: the argument {spec.name or ''} was {spec.value!r} at the conversion and is part of the "
                    f"graph, got {x!r}"
                )
        for name, slot in plan.states.items():
            values[slot] = self._state(name)
        for step in plan.steps:
            values[step.out] = step.function(
                *[filled(a, values) for a in step.args], **{k: filled(v, values) for k, v in step.kwargs.items()}
            )
            for slot in step.drop:
                values[slot] = None
        for name, slot in plan.updates.items():
            with set_mode(grad=False):
                self._state(name)._rebind(values[slot].detach())
        return filled(plan.results, values)

    def _flat(self, plan: Any, args: tuple, kwargs: dict) -> list:
        """The arguments in the order of the plan's inputs."""
        names, (positional, named) = plan.names, plan.arguments
        given = dict(zip(names, args))
        if len(args) > len(names):
            raise errors.TypeError_(f"{self.original}: takes {len(names)} positional arguments, got {len(args)}")
        for name, x in kwargs.items():
            if name in given:
                raise errors.TypeError_(f"{self.original}: got the argument {name!r} twice")
            given[name] = x
        wanted = {**dict(zip(names, positional)), **named}
        extra = [n for n, x in given.items() if n not in wanted and x is not None]
        if extra:
            raise errors.TypeError_(
                f"{self.original}: the example had no argument {extra[0]!r}; it had {', '.join(wanted) or 'none'}"
            )
        found: list[Any] = [None] * len(plan.inputs)
        for name, structure in wanted.items():
            if name not in given and _has_tensors(structure, plan):
                raise errors.TypeError_(f"{self.original}: the argument {name!r} is missing")
            if name not in given:
                _spread(name, structure, structure, found, self.original, plan)
            else:
                _spread(name, structure, given[name], found, self.original, None)
        return found

    def extra_repr(self) -> str:
        plan = next(iter(self._plans.values()))
        return f"{self.original}, {len(plan.steps)} steps"


def _has_tensors(structure: Any, plan: Any) -> bool:
    if isinstance(structure, int):
        return plan.inputs[structure].slot is not None
    inner = (
        structure.values() if isinstance(structure, dict) else structure if isinstance(structure, (list, tuple)) else ()
    )
    return any(_has_tensors(s, plan) for s in inner)


def _spread(name: str, structure: Any, x: Any, found: list, who: str, plan: Any) -> None:
    """Put the leaves of an argument into their positions; with a plan, what the example had there."""
    if isinstance(structure, dict):
        if not isinstance(x, dict) or set(x) != set(structure):
            raise errors.ValueError_(
                f"{who}: the argument {name!r} must be a dict with the keys {sorted(map(str, structure))}"
            )
        for key, inner in structure.items():
            _spread(f"{name}[{key!r}]", inner, x[key], found, who, plan)
    elif isinstance(structure, (list, tuple)):
        if not isinstance(x, (list, tuple)) or len(x) != len(structure):
            raise errors.ValueError_(f"{who}: the argument {name!r} must be a list or tuple of {len(structure)}")
        for i, (inner, y) in enumerate(zip(structure, x)):
            _spread(f"{name}[{i}]", inner, y, found, who, plan)
    elif isinstance(structure, int):
        found[structure] = x if plan is None else plan.inputs[structure].value


def _fitting(who: str, spec: Any, x: Any) -> Tensor:
    """An input of the shape and the kind of type that the example had."""
    if not isinstance(x, Tensor):
        try:
            x = Tensor(x)
        except Exception:
            raise errors.TypeError_(
                f"{who}: the argument {spec.name!r} must be a tensor, got {type(x).__name__}"
            ) from None
    have = list(x.shape)
    if len(have) != len(spec.shape) or any(
        n is not None and type(h) is int and h >= 0 and h != n for n, h in zip(spec.shape, have)
    ):
        shape = [-1 if n is None else n for n in spec.shape]
        raise errors.ValueError_(
            f"{who}: the argument {spec.name!r} must have the shape {shape} (-1: any length), got "
            f"{[h if type(h) is int else -1 for h in have]}; other lengths need another conversion"
        )
    name = x.dtype.name
    if name != spec.dtype and not ("float" in name and "float" in spec.dtype):
        if "int" in name and "int" in spec.dtype:
            return x.astype(spec.dtype)
        raise errors.ValueError_(f"{who}: the argument {spec.name!r} must be {spec.dtype}, got {name}")
    return x
