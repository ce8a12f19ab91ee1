"""Layer: the base class of networks. It owns parameters, buffers and sublayers, and calls `forward` between hooks."""

from __future__ import annotations

import functools
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import jax

from ..engine import debug, errors
from ..engine.dtype import default_dtype, to_dtype
from ..engine.modes import Watch, modes
from ..engine.parameter import Parameter
from ..engine.tensor import Tensor, _make
from ..utils import unique_name
from .conversion import ConversionMethods
from .parameter import make_parameter
from .state import StateMethods


class HookRemoveHelper:
    """What registering a hook returns: `remove()` takes the hook away, a second time does nothing."""

    _next = 0

    def __init__(self, hooks: OrderedDict):
        self._hooks = hooks
        self._id = HookRemoveHelper._next
        HookRemoveHelper._next += 1

    def remove(self) -> None:
        self._hooks.pop(self._id, None)


def _scope(name: str) -> str:
    """The class name in small letters with underscores: BatchNorm1D is batch_norm1d, MyHTTPNet my_http_net."""
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def other_names(**names: str) -> Callable:
    """Decorator for methods that also take PyTorch's keyword names: ``@other_names(recurse="include_sublayers")``."""

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def renamed(*args: Any, **kwargs: Any) -> Any:
            if kwargs:
                for other, name in names.items():
                    if other in kwargs:
                        if name in kwargs:
                            raise errors.TypeError_(
                                f"{function.__qualname__}: {other!r} and {name!r} are the same argument"
                            )
                        kwargs[name] = kwargs.pop(other)
            return function(*args, **kwargs)

        return renamed

    return decorate


class Layer(errors.Explains, StateMethods, ConversionMethods):
    """A part of a network: subclass it, make parameters and sublayers in `__init__`, compute in `forward`.

    Setting a Parameter, a Layer or a Tensor as an attribute registers it (a Tensor as a non-persistable buffer).

    Args:
        name_scope: the beginning of the names of its parameters; by default from the class.
        dtype: the dtype of its parameters; by default the default dtype.

    Attributes:
        training: True in training mode, which `train()` and `eval()` switch.

    Example:
        >>> class Twice(paddle.nn.Layer):
        ...     def forward(self, x):
        ...         return x * 2
        >>> Twice()(paddle.ones([2])).tolist()
        [2.0, 2.0]
    """

    training: bool
    _explains = ()

    def __init__(self, name_scope: str | None = None, dtype: Any = "float32"):
        put = object.__setattr__
        put(self, "training", True)
        put(self, "_full_name", unique_name.generate(_scope(type(self).__name__) if name_scope is None else name_scope))
        # The official default of `dtype` means the default dtype as well.
        put(self, "_dtype", default_dtype().name if dtype in ("float32", None) else to_dtype(dtype).name)
        put(self, "_parameters", OrderedDict())
        put(self, "_buffers", OrderedDict())
        put(self, "_non_persistable_buffer_names_set", set())
        put(self, "_sub_layers", OrderedDict())
        put(self, "_forward_pre_hooks", OrderedDict())  # id -> (hook, with_kwargs)
        put(self, "_forward_post_hooks", OrderedDict())  # id -> (hook, with_kwargs, always_call)
        put(self, "_state_dict_hooks", OrderedDict())

    # ---- the call ----
    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The computation; a subclass defines it."""
        raise errors.NotImplemented_(f"{type(self).__name__} does not define forward()")

    def backward(self, *inputs: Any) -> None:
        raise errors.ValueError_(
            "a Layer has no backward of its own, gradients come from forward; see paddle.autograd.PyLayer"
        )

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        if not modes.grad and modes.capturing is not None and not modes.capturing.inside:
            self._remember(inputs)
            with modes.capturing.outermost():
                return self(*inputs, **kwargs)
        if modes.grad and inputs and getattr(inputs[0], "_node", self) is None:
            self._remember(inputs)  # called with data, most likely from outside
        try:
            if self._forward_pre_hooks or self._forward_post_hooks or Watch.on or modes.program is not None:
                return self._call_watched(inputs, kwargs)
            return self.forward(*inputs, **kwargs)
        except Exception as e:
            if "_forward_pre_hooks" not in self.__dict__:
                raise errors.ValueError_(f"{type(self).__name__}.__init__ must call super().__init__() first") from None
            if type(self).__module__.startswith("paddle."):
                name, forward = type(self).__name__, getattr(self.forward, "__code__", None)
                e = errors.explain(e, name, forward.co_varnames[1:] if forward else (), inputs, kwargs)
            try:
                raise e
            except Exception as explained:
                errors.trim(explained)
                raise

    def _remember(self, inputs: tuple) -> None:
        """Keep the shapes and types of a call, for what saves the layer without a description of its inputs."""
        if modes.program is None:
            kinds = [(x._raw.shape, x._raw.dtype) for x in inputs if x.__class__ is Tensor]
            self.__dict__["_last_call"] = kinds if len(kinds) == len(inputs) else None

    def _call_watched(self, inputs: tuple, kwargs: dict) -> Any:
        watched = Watch.on
        if watched:
            debug.layers.append(f"{type(self).__name__}({self._full_name})")
        try:
            return self._call_with_hooks(inputs, kwargs)
        finally:
            if watched:
                debug.layers.pop()

    def _call_with_hooks(self, inputs: tuple, kwargs: dict) -> Any:
        called: set[int] = set()
        out = None
        try:
            for hook, with_kwargs in tuple(self._forward_pre_hooks.values()):
                if with_kwargs:
                    changed = hook(self, inputs, kwargs)
                    if changed is not None:
                        if not (isinstance(changed, tuple) and len(changed) == 2):
                            raise errors.RuntimeError_(
                                "a forward pre-hook with kwargs returns None or (inputs, kwargs), "
                                f"got {errors.describe(changed)}"
                            )
                        inputs, kwargs = changed
                else:
                    changed = hook(self, inputs)
                    if changed is not None:
                        inputs = changed if isinstance(changed, tuple) else (changed,)
            forward = self.forward if modes.program is None else modes.program.converted(self.forward)
            out = forward(*inputs, **kwargs)
            for number, (hook, with_kwargs, _) in tuple(self._forward_post_hooks.items()):
                called.add(number)
                changed = hook(self, inputs, kwargs, out) if with_kwargs else hook(self, inputs, out)
                if changed is not None:
                    out = changed
            return out
        except Exception:
            for number, (hook, with_kwargs, always) in tuple(self._forward_post_hooks.items()):
                if always and number not in called:
                    hook(self, inputs, kwargs, out) if with_kwargs else hook(self, inputs, out)
            raise

    @staticmethod
    def _add_hook(hooks: OrderedDict, entry: Any, prepend: bool = False) -> HookRemoveHelper:
        hook = entry[0] if isinstance(entry, tuple) else entry
        if not callable(hook):
            raise errors.TypeError_(f"a hook is a function, got {errors.describe(hook)}")
        helper = HookRemoveHelper(hooks)
        hooks[helper._id] = entry
        if prepend:
            hooks.move_to_end(helper._id, last=False)
        return helper

    def register_forward_pre_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookRemoveHelper:
        """Call `hook(layer, inputs)` before forward; what it returns (if not None) replaces the inputs.

        Args:
            hook: with `with_kwargs` it is called as hook(layer, inputs, kwargs) and returns None or both.
            prepend: call it before the hooks that are there.

        Returns:
            A handle with `remove()`.

        Example:
            >>> layer = paddle.nn.ReLU()
            >>> handle = layer.register_forward_pre_hook(lambda layer, inputs: inputs[0] + 1)
            >>> layer(paddle.zeros([1])).tolist()
            [1.0]
        """
        return self._add_hook(self._forward_pre_hooks, (hook, with_kwargs), prepend)

    def register_forward_post_hook(
        self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> HookRemoveHelper:
        """Call `hook(layer, inputs, output)` after forward; what it returns (if not None) replaces the output.

        Args:
            hook: with `with_kwargs` it is called as hook(layer, inputs, kwargs, output).
            prepend: call it before the hooks that are there.
            always_call: call it also when forward raises.

        Returns:
            A handle with `remove()`.

        Example:
            >>> layer = paddle.nn.ReLU()
            >>> handle = layer.register_forward_post_hook(lambda layer, inputs, output: output + 1)
            >>> layer(paddle.zeros([1])).tolist()
            [1.0]
            >>> handle.remove()
        """
        return self._add_hook(self._forward_post_hooks, (hook, with_kwargs, always_call), prepend)

    register_forward_hook = register_forward_post_hook

    # ---- attributes ----
    def __getattr__(self, name: str) -> Any:
        entries = self.__dict__
        if "_parameters" in entries:  # not so before super().__init__() and while a copy is made
            found = entries["_parameters"]
            if name in found:
                return found[name]
            found = entries["_sub_layers"]
            if name in found:
                return found[name]
            found = entries["_buffers"]
            if name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        kind = (
            "_parameters"
            if isinstance(value, Parameter)
            else "_sub_layers"
            if isinstance(value, Layer)
            else ("_buffers" if isinstance(value, Tensor) else None)
        )
        entries = self.__dict__
        if "_parameters" not in entries:
            if kind is not None:
                raise errors.ValueError_(
                    f"{type(self).__name__}: super().__init__() must be called before the attribute {name!r} is set"
                )
            return object.__setattr__(self, name, value)
        if isinstance(getattr(type(self), name, None), property):
            return object.__setattr__(self, name, value)
        holder = next((r for r in ("_parameters", "_sub_layers", "_buffers") if name in entries[r]), None)
        may_move = kind == "_parameters" or holder == "_buffers" and kind is not None
        if holder not in (None, kind) and value is not None and not may_move:
            wanted = {"_parameters": "parameter", "_sub_layers": "sublayer", "_buffers": "buffer"}[holder]
            raise errors.TypeError_(
                f"{type(self).__name__}: the {wanted} {name!r} can only be replaced by a {wanted} or None, "
                f"got {type(value).__name__}"
            )
        if kind is None:
            if holder is None:
                return object.__setattr__(self, name, value)
            entries[holder][name] = None
            return
        if holder is not None and holder != kind:
            del entries[holder][name]
        entries.pop(name, None)
        if kind == "_buffers" and holder is None:
            self._non_persistable_buffer_names_set.add(name)
        entries[kind][name] = value

    def __delattr__(self, name: str) -> None:
        for registry in (self._parameters, self._sub_layers, self._buffers):
            if name in registry:
                del registry[name]
                self._non_persistable_buffer_names_set.discard(name)
                return
        if name not in self.__dict__:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        object.__delattr__(self, name)

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: tensors that an operation made (a normalized weight, a state) go without history."""

        def plain(entries: Any) -> Any:
            if all(not isinstance(v, Tensor) or v.is_leaf for v in entries.values()):
                return entries
            return OrderedDict(
                (k, v.detach() if isinstance(v, Tensor) and not v.is_leaf else v) for k, v in entries.items()
            )

        state = dict(plain(self.__dict__))
        if "_buffers" in state:
            state["_buffers"] = plain(state["_buffers"])
        return state

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._parameters, *self._sub_layers, *self._buffers]

    def _free_name(self, name: Any, what: str, registry: OrderedDict) -> None:
        """Complain about a name that cannot be an attribute, or is one already."""
        if not isinstance(name, str):
            raise errors.TypeError_(f"the name of a {what} must be a string, got {errors.describe(name)}")
        if not name or "." in name:
            raise KeyError(
                f"(InvalidArgument) the name of a {what} must not be empty or have a dot in it, got {name!r}"
            )
        if name not in registry and hasattr(self, name):
            raise KeyError(
                f"(AlreadyExists) {type(self).__name__} has an attribute {name!r} already, it cannot become a {what}"
            )

    def add_parameter(self, name: str, parameter: Parameter | None) -> Parameter | None:
        """Register a parameter under a name.

        Raises KeyError for a name that is empty, has a dot or is taken, TypeError for what is no Parameter.

        Example:
            >>> layer = paddle.nn.Layer()
            >>> _ = layer.add_parameter("w", layer.create_parameter([2]))
            >>> list(layer.state_dict())
            ['w']
        """
        if "_parameters" not in self.__dict__:
            raise errors.RuntimeError_("add_parameter: super().__init__() must be called first")
        self._free_name(name, "parameter", self._parameters)
        if parameter is not None and not isinstance(parameter, Parameter):
            raise errors.TypeError_(
                f"add_parameter: {name!r} must be a Parameter or None, got {type(parameter).__name__}"
            )
        self._parameters[name] = parameter
        return parameter

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register a parameter under a name, see `add_parameter`."""
        self.add_parameter(name, param)

    def add_sublayer(self, name: str, sublayer: Layer | None) -> Layer | None:
        """Register a sublayer under a name; returns it. TypeError when it is no Layer.

        Example:
            >>> layer = paddle.nn.Layer()
            >>> layer.add_sublayer("act", paddle.nn.ReLU())
            ReLU()
        """
        if sublayer is not None and not isinstance(sublayer, Layer):
            raise errors.TypeError_(f"add_sublayer: {name!r} must be a Layer or None, got {type(sublayer).__name__}")
        self._sub_layers[name if isinstance(name, str) else str(name)] = sublayer
        return sublayer

    def add_module(self, name: str, module: Layer | None) -> None:
        """Register a sublayer under a name, see `add_sublayer`."""
        self.add_sublayer(name, module)

    register_module = add_module

    @other_names(persistent="persistable")
    def register_buffer(self, name: str, tensor: Tensor | None, persistable: bool = True) -> None:
        """Register a tensor that is part of the layer without being trained.

        Args:
            name: its name.
            tensor: a Tensor or None.
            persistable: whether the state_dict holds it.

        Raises:
            KeyError: a name that is empty, has a dot or is taken.
            TypeError: `tensor` is no Tensor, or `name` no string.

        Example:
            >>> layer = paddle.nn.Layer()
            >>> layer.register_buffer("scale", paddle.ones([2]))
            >>> list(layer.state_dict())
            ['scale']
        """
        if "_buffers" not in self.__dict__:
            raise errors.ValueError_("register_buffer: super().__init__() must be called first")
        self._free_name(name, "buffer", self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise errors.TypeError_(f"register_buffer: {name!r} must be a Tensor or None, got {type(tensor).__name__}")
        self._buffers[name] = tensor
        if persistable:
            self._non_persistable_buffer_names_set.discard(name)
        else:
            self._non_persistable_buffer_names_set.add(name)
        if tensor is not None:
            tensor.persistable = bool(persistable)

    # ---- making parameters and tensors ----
    def create_parameter(
        self,
        shape: Any,
        attr: Any = None,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Any = None,
        device: Any = None,
    ) -> Parameter | None:
        """A new parameter, named after this layer. Setting it as an attribute registers it.

        Args:
            shape: a list of ints.
            attr: None, a ParamAttr, an initializer, a name, or False for none at all (the result is then None).
            dtype: by default that of the layer.
            is_bias: start from zero instead of XavierUniform, and be named `b`.
            default_initializer: used when `attr` has none.
            device: where it lies, by default the current device.

        Raises:
            TypeError: `shape` or `attr` of another type.
            ValueError: a negative length, or a name that was used before.

        Example:
            >>> paddle.nn.Layer().create_parameter([2], is_bias=True).tolist()
            [0.0, 0.0]
        """
        return make_parameter(shape, attr, dtype or self._dtype, is_bias, default_initializer, self._full_name, device)

    def create_tensor(self, name: str | None = None, persistable: bool | None = None, dtype: Any = None) -> Tensor:
        """An empty tensor, named after this layer.

        Args:
            name: its name.
            persistable: its attribute `persistable`.
            dtype: by default that of the layer.
        """
        out = _make(jax.numpy.zeros((0,), to_dtype(dtype or self._dtype).numpy))
        out._name = name or unique_name.generate(self._full_name + "._generated_var")
        out.persistable = bool(persistable)
        return out

    create_variable = create_tensor

    def full_name(self) -> str:
        """The unique name of this layer, such as `linear_0`.

        Example:
            >>> paddle.nn.Layer("encoder").full_name().startswith("encoder_")
            True
        """
        return self._full_name

    # ---- walking ----
    def named_sublayers(
        self, prefix: str = "", include_self: bool = False, layers_set: set | None = None, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Layer]]:
        """All layers below this one with their names from here, depth first.

        Args:
            prefix: put in front of the names.
            include_self: start with this layer, named `prefix`.
            layers_set: layers to leave out; those that are found are added.
            remove_duplicate: each layer once.

        Example:
            >>> [name for name, _ in paddle.nn.Sequential(paddle.nn.ReLU()).named_sublayers()]
            ['0']
        """
        seen = set() if layers_set is None else layers_set
        if include_self:
            if remove_duplicate:
                if self in seen:
                    return
                seen.add(self)
            yield prefix, self
        for name, layer in self._sub_layers.items():
            if layer is not None:
                yield from layer.named_sublayers(f"{prefix}.{name}" if prefix else name, True, seen, remove_duplicate)

    def named_modules(
        self, memo: set | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Layer]]:
        """This layer and all below it, with their names."""
        return self.named_sublayers(prefix, True, memo, remove_duplicate)

    def modules(self) -> Iterator[Layer]:
        """This layer and all below it."""
        for _, layer in self.named_modules():
            yield layer

    def sublayers(self, include_self: bool = False) -> list[Layer]:
        """All layers below this one as a list.

        Example:
            >>> paddle.nn.Sequential(paddle.nn.ReLU(), paddle.nn.Tanh()).sublayers()
            [ReLU(), Tanh()]
        """
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def named_children(self) -> Iterator[tuple[str, Layer]]:
        """The direct sublayers with their names, each once."""
        seen = set()
        for name, layer in self._sub_layers.items():
            if layer is not None and layer not in seen:
                seen.add(layer)
                yield name, layer

    def children(self) -> Iterator[Layer]:
        """The direct sublayers, each once."""
        for _, layer in self.named_children():
            yield layer

    def _named(
        self, registry: str, prefix: str, include_sublayers: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Tensor]]:
        seen = set()
        layers = self.named_sublayers(prefix, True, None, remove_duplicate) if include_sublayers else [(prefix, self)]
        for scope, layer in layers:
            for name, tensor in getattr(layer, registry).items():
                if tensor is None or id(tensor) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(tensor))
                yield f"{scope}.{name}" if scope else name, tensor

    @other_names(recurse="include_sublayers")
    def named_parameters(
        self, prefix: str = "", include_sublayers: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their names from here, each once (also where layers share it).

        Example:
            >>> [name for name, _ in paddle.nn.Sequential(paddle.nn.Linear(2, 2)).named_parameters()]
            ['0.weight', '0.bias']
        """
        return self._named("_parameters", prefix, include_sublayers, remove_duplicate)

    @other_names(recurse="include_sublayers")
    def parameters(self, include_sublayers: bool = True) -> list[Parameter]:
        """The parameters as a list, each once.

        Example:
            >>> [p.shape for p in paddle.nn.Linear(2, 3).parameters()]
            [[2, 3], [3]]
        """
        return [p for _, p in self.named_parameters("", include_sublayers)]

    @other_names(recurse="include_sublayers")
    def named_buffers(
        self, prefix: str = "", include_sublayers: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their names from here, each once."""
        return self._named("_buffers", prefix, include_sublayers, remove_duplicate)

    @other_names(recurse="include_sublayers")
    def buffers(self, include_sublayers: bool = True) -> list[Tensor]:
        """The buffers as a list, each once.

        Example:
            >>> layer = paddle.nn.Layer()
            >>> layer.register_buffer("scale", paddle.ones([2]))
            >>> len(layer.buffers())
            1
        """
        return [b for _, b in self.named_buffers("", include_sublayers)]

    def apply(self, fn: Callable[[Layer], Any]) -> Layer:
        """Call `fn` on every layer, sublayers first, and on this one; returns self.

        Example:
            >>> _ = paddle.nn.Sequential(paddle.nn.ReLU()).apply(lambda layer: print(type(layer).__name__))
            ReLU
            Sequential
        """
        for layer in self.children():
            layer.apply(fn)
        fn(self)
        return self

    def _walk(self, target: str) -> Layer:
        layer = self
        for part in target.split(".") if target else ():
            found = getattr(layer, part, None)
            if found is None:
                raise AttributeError(f"{type(layer).__name__} has no attribute `{part}`")
            if not isinstance(found, Layer):
                raise AttributeError(f"`{part}` is no Layer")
            layer = found
        return layer

    def get_sublayer(self, target: str) -> Layer:
        """The layer of a dotted name, this one for "". AttributeError when there is none.

        Example:
            >>> paddle.nn.Sequential(paddle.nn.Sequential(paddle.nn.ReLU())).get_sublayer("0.0")
            ReLU()
        """
        return self._walk(target)

    get_submodule = get_sublayer

    @other_names(module="layer")
    def set_sublayer(self, target: str, layer: Layer, strict: bool = False) -> None:
        """Put a layer at a dotted name.

        Args:
            target: the name; all parts but the last must be there.
            layer: the Layer.
            strict: the last part must be there, too.

        Raises:
            AttributeError: a part is missing or no Layer.
            ValueError: an empty name, or `layer` is no Layer.

        Example:
            >>> net = paddle.nn.Sequential(paddle.nn.ReLU())
            >>> net.set_sublayer("0", paddle.nn.Tanh())
            >>> net[0]
            Tanh()
        """
        if not target:
            raise errors.ValueError_("set_sublayer: target must name a sublayer, got ''")
        if not isinstance(layer, Layer):
            raise errors.ValueError_(f"set_sublayer: layer must be a Layer, got {type(layer).__name__}")
        parent, _, name = target.rpartition(".")
        owner = self._walk(parent)
        if strict or name in owner._parameters or name in owner._buffers:
            owner._walk(name)
        setattr(owner, name, layer)

    set_submodule = set_sublayer

    def _leaf(self, target: str, registry: str, what: str) -> Tensor:
        scope, _, name = target.rpartition(".")
        owner = self._walk(scope)
        if getattr(owner, name, None) is None:
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        found = getattr(owner, registry).get(name)
        if found is None:
            raise AttributeError(f"`{name}` is no {what}")
        return found

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a dotted name. AttributeError when there is none.

        Example:
            >>> paddle.nn.Sequential(paddle.nn.Linear(2, 3)).get_parameter("0.bias").shape
            [3]
        """
        return self._leaf(target, "_parameters", "parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name. AttributeError when there is none."""
        return self._leaf(target, "_buffers", "buffer")

    # ---- modes and gradients ----
    def train(self, mode: bool = True) -> Layer:
        """Switch this layer and all below to training (or, with False, to evaluation); returns self.

        Example:
            >>> paddle.nn.Dropout().train(False).training
            False
        """
        for layer in self.sublayers(include_self=True):
            layer.training = bool(mode)
        return self

    def eval(self) -> Layer:
        """Switch this layer and all below to evaluation: no dropout, normalization by running statistics.

        Example:
            >>> paddle.nn.Dropout().eval()(paddle.ones([2])).tolist()
            [1.0, 1.0]
        """
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Layer:
        """Let all parameters want gradients, or none; returns self."""
        for p in self.parameters():
            p.stop_gradient = not requires_grad
        return self

    def clear_gradients(self, set_to_zero: bool = True) -> None:
        """Zero the gradients of all parameters, or drop them with `set_to_zero=False`.

        Example:
            >>> layer = paddle.nn.Linear(1, 1)
            >>> layer(paddle.ones([1, 1])).backward()
            >>> layer.clear_gradients()
            >>> layer.weight.grad.tolist()
            [[0.0]]
        """
        for p in self.parameters():
            p.clear_gradient(set_to_zero)
        if modes.capturing is not None:
            modes.capturing.settle()

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or zero them with `set_to_none=False`."""
        self.clear_gradients(not set_to_none)

    # ---- text ----
    def extra_repr(self) -> str:
        """What repr() shows between the brackets; a subclass defines it."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + repr(layer).replace("\n", "\n  ") for name, layer in self._sub_layers.items()]
        if not children and len(lines) <= 1:
            return f"{type(self).__name__}({extra})"
        head = lines.pop() if len(lines) == 1 else ""  # a single line stays beside the name
        if children and lines:
            lines.append("")
        return (
            f"{type(self).__name__}({head}\n"
            + "\n".join(["  " + line if line else line for line in lines] + ["  " + c for c in children])
            + "\n)"
        )
