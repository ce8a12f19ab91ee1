"""Models with 16-bit parameters and optimizers that keep 32-bit ones."""

from __future__ import annotations

from typing import Any

from ..engine import dtype as dtypes
from ..engine import errors, place
from ..engine.dtype import to_dtype
from ..engine.tensor import Tensor
from ..nn import Layer
from ..nn.layers.norm import _BatchNorm
from ..optimizer import Optimizer
from .autocast import low_dtype

__all__ = ["amp_decorate", "decorate", "is_bfloat16_supported", "is_float16_supported"]


@errors.clean
def decorate(
    models: Any,
    optimizers: Any = None,
    level: str = "O1",
    dtype: Any = "float16",
    master_weight: bool | None = None,
    save_dtype: Any = None,
    master_grad: bool = False,
    excluded_layers: Any = None,
) -> Any:
    """Prepare models and optimizers for training at level O2: parameters in 16 bits, except those of batch
    normalisation, and a float32 master copy of each in the optimizer. At level O1 nothing changes.

    Args:
        models: a Layer or a list of Layers; changed in place.
        optimizers: an Optimizer, a list of them, or None.
        level: "O1" or "O2".
        dtype: "float16", "bfloat16"; with "float8_e4m3fn" the parameters are bfloat16, and `auto_cast` with that dtype
            computes the products in 8 bits.
        master_weight: False trains the 16-bit parameters themselves.
        save_dtype: the dtype of what `state_dict` gives: "float16", "bfloat16", "float32", "float64", None: as it is.
        master_grad: gradients are kept and accumulated in float32.
        excluded_layers: layers or classes of layers that stay as they are, or a list of them.

    Returns:
        The models, and the optimizers if there were any, in the form in which they were given.

    Raises:
        TypeError: something else than Layers and Optimizers.
        ValueError: an unknown level or dtype.

    Example:
        >>> net = paddle.nn.Linear(2, 2)
        >>> adam = paddle.optimizer.Adam(parameters=net.parameters())
        >>> net, adam = paddle.amp.decorate(net, adam, level="O2", dtype="bfloat16")
        >>> net.weight.dtype
        paddle.bfloat16
    """
    if level not in ("O1", "O2"):
        raise errors.ValueError_(f"decorate: level must be O1 or O2, got {level!r}")
    name = low_dtype("decorate", dtype)
    layers = _all("models", models, Layer)
    trainers = _all("optimizers", optimizers, Optimizer) if optimizers is not None else []
    saved = _save_dtype(save_dtype)
    kept = _excluded(excluded_layers)
    if level == "O2":
        low = dtypes.bfloat16 if name == "float8_e4m3fn" else to_dtype(name)
        for optimizer in trainers:
            if hasattr(optimizer, "_multi_precision"):
                optimizer._multi_precision = master_weight is not False
        for layer in layers:
            _lower(layer, low, trainers if master_weight is not False else [], kept, master_grad)
            if saved is not None:
                layer.register_state_dict_hook(_Saved(saved))
    return models if optimizers is None else (models, optimizers)


amp_decorate = decorate


def _all(what: str, given: Any, kind: type) -> list:
    values = list(given) if isinstance(given, (list, tuple)) else [given]
    for value in values:
        inner = getattr(value, "_inner_opt", value)  # a wrapper around an optimizer
        if not isinstance(inner, kind):
            raise errors.TypeError_(
                f"decorate: {what} must be of type {kind.__name__} or a list of them, got {errors.describe(value)}"
            )
    return values


def _save_dtype(save_dtype: Any) -> Any:
    if save_dtype is None:
        return None
    found = to_dtype(save_dtype)
    if found.name not in ("float16", "bfloat16", "float32", "float64"):
        raise errors.ValueError_(
            f"decorate: save_dtype must be float16, bfloat16, float32 or float64, got {found.name}"
        )
    return found


def _excluded(excluded: Any) -> tuple[set[int], tuple[type, ...]]:
    """(ids of layers, classes of layers) that keep their parameters."""
    values = [] if excluded is None else list(excluded) if isinstance(excluded, (list, tuple)) else [excluded]
    ids: set[int] = set()
    kinds = []
    for value in values:
        if isinstance(value, Layer):
            ids.update(id(layer) for layer in value.sublayers(include_self=True))
        elif isinstance(value, type) and issubclass(value, Layer):
            kinds.append(value)
        else:
            raise errors.TypeError_(
                f"decorate: excluded_layers must be Layers or classes of Layers, got {errors.describe(value)}"
            )
    return ids, tuple(kinds)


def _lower(model: Layer, low: Any, trainers: list, kept: tuple, master_grad: bool) -> None:
    ids, kinds = kept
    for layer in model.sublayers(include_self=True):
        if isinstance(layer, (_BatchNorm, *kinds)) or id(layer) in ids:
            continue
        for p in [*layer._parameters.values(), *layer._buffers.values()]:
            if p is None or p.dtype is not dtypes.float32:
                continue
            value = p._value
            for optimizer in trainers:
                _give_master(optimizer, p, value)
            p._storage.write(value.astype(low.numpy))
            if master_grad and not p._stop:
                p.register_hook(_wide_gradient)
        layer._dtype = low.name


def _give_master(optimizer: Any, p: Tensor, value: Any) -> None:
    """Let the master weight start from the parameter as it was before it was rounded."""
    inner = getattr(optimizer, "_inner_opt", optimizer)
    if id(p) not in inner._homes and any(p is q for q in inner._parameter_list):
        inner._loose_of(p)["master"] = value


def _wide_gradient(gradient: Tensor) -> Tensor:
    return gradient.astype("float32")


class _Saved:
    """A hook of `state_dict` that converts floating entries."""

    def __init__(self, dtype: Any):
        self.dtype = dtype

    def __call__(self, state: dict) -> None:
        for key, value in state.items():
            if value.dtype.is_floating and value.dtype is not self.dtype:
                name = value.name
                state[key] = value.detach().astype(self.dtype)
                state[key].name = name


@errors.clean
def is_float16_supported(device: str | None = None) -> bool:
    """Whether float16 can be computed with on a device; it can on every one."""
    if device is not None:
        place.parse_place(device)
    return True


@errors.clean
def is_bfloat16_supported(device: str | None = None) -> bool:
    """Whether bfloat16 can be computed with on a device; it can on every one."""
    if device is not None:
        place.parse_place(device)
    return True
