"""The state of a layer as a dict, and back."""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine import errors
from ..engine.tensor import Tensor


class LoadResult(namedtuple("LoadResult", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` returns: the names that were not in the dict, and those that the layer does not have."""

    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


class StateMethods:
    """The part of Layer that gives out and takes in its state."""

    def _collect(
        self,
        destination: dict,
        include_sublayers: bool,
        prefix: str,
        all_buffers: bool,
        use_hook: bool,
        keep_vars: bool,
    ) -> dict:
        skip = () if all_buffers else self._non_persistable_buffer_names_set
        entries = [*self._parameters.items(), *((n, b) for n, b in self._buffers.items() if n not in skip)]
        for name, tensor in entries:
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if include_sublayers:
            for name, layer in self._sub_layers.items():
                if layer is not None:
                    destination = layer._collect(
                        destination, True, f"{prefix}{name}.", all_buffers, use_hook, keep_vars
                    )
        if use_hook:
            for hook in tuple(self._state_dict_hooks.values()):
                changed = hook(destination)
                destination = destination if changed is None else changed
        return destination

    def state_dict(
        self,
        destination: dict | None = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
        use_hook: bool = True,
        keep_vars: bool = True,
        **kwargs: Any,
    ) -> dict:
        """Parameters and persistable buffers by their structured names; the tensors themselves, not copies.

        Args:
            destination: a dict to fill, by default a new one.
            include_sublayers: also those of the layers below.
            structured_name_prefix: put in front of the names (`prefix` is another word for it).
            use_hook: call the hooks of `register_state_dict_hook`.
            keep_vars: False gives detached tensors, which share the memory.

        Example:
            >>> list(paddle.nn.Linear(2, 2).state_dict())
            ['weight', 'bias']
        """
        structured_name_prefix = kwargs.pop("prefix", structured_name_prefix)
        if kwargs:
            raise errors.TypeError_(f"state_dict: there is no argument {next(iter(kwargs))!r}")
        destination = OrderedDict() if destination is None else destination
        return self._collect(destination, include_sublayers, structured_name_prefix, False, use_hook, keep_vars)

    def to_static_state_dict(
        self,
        destination: dict | None = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
        use_hook: bool = True,
        keep_vars: bool = True,
    ) -> dict:
        """As `state_dict`, with the non-persistable buffers."""
        destination = OrderedDict() if destination is None else destination
        return self._collect(destination, include_sublayers, structured_name_prefix, True, use_hook, keep_vars)

    def sharded_state_dict(self, structured_name_prefix: str = "") -> dict[str, Any]:
        """The state as parts of whole tensors (`paddle.distributed.ShardedWeight`), for `save_state_dict` and
        `load_state_dict` of `paddle.distributed`; layers that are divided over processes say which part they hold.

        Example:
            >>> paddle.nn.Linear(2, 3, bias_attr=False).sharded_state_dict("net.")
            {'net.weight': ShardedWeight(key=net.weight, local_shape=(2, 3), global_shape=(2, 3), global_offset=(0, 0))}
        """
        from ..distributed.flex_checkpoint.dcp.sharded_weight import build_sharded_state_dict

        found = build_sharded_state_dict(self.state_dict(include_sublayers=False), None, structured_name_prefix)
        for name, layer in self._sub_layers.items():
            if layer is not None:
                found.update(layer.sharded_state_dict(f"{structured_name_prefix}{name}."))
        return found

    def full(self, aoa_config: dict[str, list[str]] | None = None, **kwargs: Any) -> Any:
        """An iterator over (key, whole tensor) of a layer whose parts lie in several processes; all of them go through it
        together.

        Args:
            aoa_config: {"aoa_statements": [...]}, other names, axes and types, as of `paddle.distributed.load_state_dict`.
            kwargs: `process_group`, or `h_group` and `v_group`, `num_splits`, `shard_idx`; see
                `paddle.distributed.flex_checkpoint.dcp.full_param`.

        Example:
            >>> [key for key, _ in paddle.nn.Linear(2, 3).full()]
            ['bias', 'weight']
        """
        from ..distributed.flex_checkpoint.dcp.full_param import full_param

        return full_param(self.sharded_state_dict(), aoa_config, **kwargs)

    def register_state_dict_hook(self, hook: Callable[[dict], dict | None]) -> Any:
        """Call `hook(destination)` when the state is collected; a dict that it returns replaces it. Returns a handle."""
        return self._add_hook(self._state_dict_hooks, hook)

    def set_state_dict(self, state_dict: dict, use_structured_name: bool = True) -> tuple[list[str], list[str]]:
        """Take values over where name and shape fit; warn about the others and leave those alone.

        Args:
            state_dict: name to Tensor or array.
            use_structured_name: the names are those of `state_dict()`, otherwise the `name` of each parameter.

        Returns:
            (names that got no value, names in `state_dict` that were not used).

        Raises:
            TypeError: `state_dict` is no dict.

        Example:
            >>> layer = paddle.nn.Linear(1, 1)
            >>> layer.set_state_dict({"weight": paddle.ones([1, 1]), "bias": paddle.ones([1])})
            ([], [])
        """
        if not hasattr(state_dict, "get"):
            raise errors.TypeError_(f"set_state_dict: state_dict must be a dict, got {type(state_dict).__name__}")
        missing, used = [], set()
        for key, target in self.state_dict(use_hook=False).items():
            name = key if use_structured_name else target.name
            value = state_dict.get(name)
            problem = f"{name} is not in the given dict" if value is None else _problem(name, target, value)
            if problem is None:
                used.add(name)
                _assign(target, value)
            else:
                missing.append(key)
                errors.warn(f"set_state_dict skips {key}: {problem}")
        return missing, [name for name in state_dict if name not in used]

    set_dict = load_dict = set_state_dict

    def load_state_dict(self, state_dict: dict, strict: bool = True, assign: bool = False) -> LoadResult:
        """As `set_state_dict`, but raise when something does not fit.

        Args:
            state_dict: structured name to Tensor or array.
            strict: False only reports.
            assign: kept for compatibility, values are always copied.

        Raises:
            RuntimeError: with `strict`, when names are missing or unexpected.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            missing, unexpected = self.set_state_dict(state_dict)
        if strict and (missing or unexpected):
            raise errors.RuntimeError_(
                f"load_state_dict: {type(self).__name__}: missing (or of another shape): {missing}; "
                f"unexpected: {unexpected}"
            )
        return LoadResult(missing, unexpected)

    def get_extra_state(self) -> Any:
        """State beyond tensors; a subclass that has some defines it."""
        raise errors.RuntimeError_(f"{type(self).__name__} defines no get_extra_state()")


def _problem(name: str, target: Tensor, value: Any) -> str | None:
    """Why a value cannot be taken over, or None."""
    if not isinstance(value, Tensor):
        try:
            value = np.asarray(value)
        except ValueError:
            return f"{name} is no array"
        if value.dtype.kind in "OUSM":
            return f"{name} is no array of numbers"
    if list(value.shape) != list(target.shape):
        return f"{name} has shape {list(value.shape)}, expected {list(target.shape)}"
    return None


def _assign(target: Tensor, value: Any) -> None:
    if not isinstance(value, Tensor):
        value = np.asarray(value)
        if value.dtype == np.uint16 and target.dtype.name == "bfloat16":  # how NumPy files hold bfloat16
            value = value.view(target.dtype.numpy)
    target.set_value(value)
