"""The Tensor: a slot with an array, and its place on the tape. Operators add the methods (see `op`)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from . import dtype as dtypes
from . import errors
from . import place as places
from .deferred import Deferred, present
from .dtype import DType, to_dtype
from .modes import Watch, modes, set_mode
from .shape import CallableInt, Size, official_strides, row_major
from .storage import Storage, View
from .value import ABSTRACT, Dim, Value

_names = itertools.count()


class Tensor:
    """A multi-dimensional array on a device, with a gradient.

    Made by ``paddle.to_tensor`` and the factories, not by this class; ``paddle.Tensor(data)`` works as well.

    Example:
        >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> (x * x).sum().backward()
        >>> x.grad.tolist()
        [2.0, 4.0]
    """

    # _storage: the slot; _node, _index: the tape node that made this tensor and which of its outputs it is (a leaf
    # that wants a gradient has an AccumulateGrad node); _stop: the flag stop_gradient.
    __slots__ = ("_storage", "_node", "_index", "_stop", "__dict__", "__weakref__")

    # What few tensors have lives in the instance dictionary, these are the defaults.
    _grad: Tensor | None = None
    _name: str | None = None
    persistable = False
    is_distributed = False
    _storage: Storage
    _node: Any
    _index: int
    _stop: bool
    __array_priority__ = 100

    def __init__(
        self, data: Any = (), dtype: Any = None, place: Any = None, stop_gradient: bool = True, name: str | None = None
    ):
        made = Tensor._to_tensor(data, dtype, place)  # set by ops.creation
        self._storage, self._node, self._index = made._storage, None, 0
        self._stop = True
        if not stop_gradient:
            self.stop_gradient = False
        if name is not None:
            self._name = name

    _to_tensor: Callable[..., Tensor]

    if TYPE_CHECKING:  # the methods that operators add
        astype: Any
        reshape: Any

        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, index: Any) -> Tensor: ...

    # ---- the array ----
    @property
    def _raw(self) -> Any:
        """The array or what stands for it (`Deferred`, `Value`), for who only asks for its shape and type or hands it on."""
        value = self._storage.value
        return value if value is not None else self._storage.read(self)

    @property
    def _value(self) -> jax.Array:
        """The array itself."""
        value = self._storage.value
        if value is None:
            value = self._storage.read(self)
        return value.force() if value.__class__ is Deferred else value  # type: ignore[union-attr, return-value]

    def _rebind(self, out: Tensor) -> Tensor:
        """Take over the value (and, with the tape on, the history) of `out`: the end of every in-place operation."""
        if modes.program is not None:
            modes.program.joins(self)
        storage = self._storage
        value = out._raw
        if not isinstance(storage, View):
            storage.write(value)
            storage.version += 1
        elif not (storage.follows and modes.grad) or storage.source._is_live_leaf():  # a leaf stays one, as officially
            storage.write(value)
            storage.root.version += 1
        else:
            base = storage.source
            with set_mode(amp=None):
                base._rebind(storage.op.view(base._snapshot(), out, *storage.args))
            storage.keep(value)
        if modes.grad:
            self._join(out)
        return self

    def _join(self, out: Tensor) -> None:
        """Take over the history of `out`, the new value of this tensor."""
        self._node, self._index, self._stop = out._node, out._index, out._stop

    def _snapshot(self) -> Tensor:
        """The same value and history in a slot of its own, which later in-place operations on self do not touch."""
        if modes.program is not None and not isinstance(self._raw, Value):
            return modes.program.frozen(self)  # a tensor from outside is read anew in every run
        return _make(self._raw, self._node, self._index, self._stop)

    def _inplace(
        self, function: Callable, *args: Any, reshapes: bool = False, retypes: bool = False, **kwargs: Any
    ) -> Tensor:
        """self = function(self, ...), in place. Shape (unless `reshapes`) and dtype (unless `retypes`) stay."""
        name = getattr(function, "__name__", "<lambda>") + "_"
        if name == "<lambda>_":  # the operator that calls puts its name in front
            name = "the operation in place"
        self._check_writable(name)
        before = self._snapshot()
        out = function(before, *args, **kwargs)
        if out is before:
            return self
        if reshapes:
            return self._replace(out, before)
        if out._raw.shape != self._raw.shape:
            raise errors.ValueError_(
                f"{name}: the result has shape {list(out.shape)}, which does not fit in place into {list(self.shape)}"
            )
        if out.dtype is not self.dtype:
            if retypes:
                return self._replace(out, before)
            out = out.astype(self.dtype)
        return self._rebind(out)

    def _replace(self, out: Tensor, before: Tensor) -> Tensor:
        """Become `out`, whose shape or dtype may differ; other tensors over the memory of self keep theirs. When `out`
        is a view of `before`, a snapshot of self, the memory stays shared."""
        if modes.program is not None:
            modes.program.joins(self)
        storage, version = self._storage, self._storage.version + 1
        view = out._storage
        if isinstance(view, View) and view.base is before:
            old = _make(None)
            old._adopt(self)
            self._storage = View(out._raw, old, view.op, view.args)
        else:
            self._storage = Storage(out._raw)
            self._storage.version = version
        storage.root.version = version
        if modes.grad:
            self._join(out)
        return self

    # A tensor that keeps its values in another one (a sparse tensor) has its place on the tape there.
    @property
    def _carrier(self) -> Tensor:
        """The tensor whose node is that of this one."""
        return self

    def _carried(self, gradient: Any) -> Any:
        """A gradient of this tensor as a gradient of its carrier."""
        return gradient

    def _as_gradient(self, gradient: Any) -> Any:
        """A gradient of the carrier as one of this tensor."""
        return gradient

    def _is_live_leaf(self) -> bool:
        return not self._stop and self.is_leaf and self.dtype.is_differentiable

    def _check_writable(self, name: str) -> None:
        if modes.grad and self._is_live_leaf():
            raise errors.ValueError_(
                f"{name}: a leaf tensor that wants a gradient (stop_gradient=False) cannot be changed "
                "in place; use paddle.no_grad() or change a copy"
            )

    @property
    def inplace_version(self) -> int:
        """How often the memory of this tensor was written in place."""
        return self._storage.version

    # ---- what it is ----
    @property
    def shape(self) -> Size:
        """The shape, a list of ints."""
        return Size(self._raw.shape)

    @shape.setter
    def shape(self, value: Any) -> None:
        self._inplace(Tensor.reshape, value, reshapes=True)

    @property
    def dtype(self) -> DType:
        """The data type, such as paddle.float32."""
        return dtypes._by_numpy[self._raw.dtype]

    @property
    def ndim(self) -> int:
        return self._raw.ndim

    @property
    def size(self) -> int:
        """The number of elements. Also callable: ``x.size()`` is the shape, ``x.size(axis)`` a length."""
        value = self._raw
        size = CallableInt(value.size)
        size._shape = value.shape
        return size

    @property
    def place(self) -> places.Place:
        """The device the tensor lies on."""
        value = self._raw
        if isinstance(value, ABSTRACT):
            return places.current_place()
        if value.__class__ is Deferred:
            value = value.segment.neighbour() if value.array is None else value.array
        return places.place_of(next(iter(value.devices())))

    @property
    def device(self) -> str:
        return self.place.name

    @property
    def name(self) -> str:
        if self._name is None:
            value = self._storage.value
            if isinstance(value, Value):
                return value.name
            self._name = f"generated_tensor_{next(_names)}"
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = value

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self._raw.size * self.dtype.itemsize

    def dim(self) -> int:
        return self._raw.ndim

    def ndimension(self) -> int:
        return self._raw.ndim

    @property
    def strides(self) -> list[int]:
        """Strides in elements, as in the official memory layout (a transposed view has transposed strides)."""
        return official_strides(self)

    def get_strides(self) -> list[int]:
        return official_strides(self)

    @errors.clean
    def stride(self, dim: int | None = None) -> Any:
        strides = official_strides(self)
        return strides if dim is None else strides[dim]

    def is_contiguous(self) -> bool:
        return official_strides(self) == row_major(self._raw.shape)

    def contiguous(self) -> Tensor:
        """Self when its layout is row-major, otherwise a copy that is."""
        return self if self.is_contiguous() else self.clone()  # type: ignore[attr-defined]

    def is_dense(self) -> bool:
        return True

    def is_sparse(self) -> bool:
        return False

    def is_sparse_coo(self) -> bool:
        return False

    def is_sparse_csr(self) -> bool:
        return False

    def is_selected_rows(self) -> bool:
        return False

    def is_dist(self) -> bool:
        return False

    def is_initialized(self) -> bool:
        return True

    _is_initialized = is_initialized

    @property
    def is_cuda(self) -> bool:
        return self.place.is_gpu_place()

    @property
    def layout(self) -> str:
        return "NCHW"

    @property
    def type(self) -> str:
        return "VarType.DENSE_TENSOR"

    # ---- the tape ----
    @property
    def stop_gradient(self) -> bool:
        """True when no gradient flows to or through this tensor."""
        return self._stop

    @stop_gradient.setter
    def stop_gradient(self, value: bool) -> None:
        value = bool(value)
        if value is not self._stop and isinstance(self._storage, View):
            self._raw
            self._storage.follows = False  # the flag is the user's from now on
        self._stop = value
        if not value and (self._node is None or self._node.traced) and self.dtype.is_differentiable:
            from .tape import AccumulateGrad

            self._node, self._index = AccumulateGrad(self), 0

    @property
    def requires_grad(self) -> bool:
        return not self._stop

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.stop_gradient = not value

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        self.stop_gradient = not requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """True when no recorded operation made this tensor."""
        return self._stop or self._node is None or self._node.is_leaf

    @property
    def grad_fn(self) -> Any:
        """The tape node that made this tensor, None for leaves."""
        return None if self.is_leaf else self._node

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward() accumulated here, or None."""
        if modes.program is not None:
            modes.program.reads_gradient(self)
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise errors.TypeError_(f"grad: a gradient is a Tensor or None, got {type(value).__name__}")
        if modes.program is not None:
            modes.program.touched_gradient(self)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def gradient(self) -> Any:
        """The gradient as a NumPy array (with the numbers of the rows if it is row-sparse), or None."""
        grad = self.grad
        if grad is not None and grad.is_selected_rows():
            return grad.numpy(), np.array(grad.rows())
        return None if grad is None else grad.numpy()

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        """Zero the gradient in place, or drop it with ``set_to_zero=False``; a row-sparse one is dropped."""
        if modes.program is not None:
            modes.program.clears_gradient(self, set_to_zero)
            return
        grad = self._grad
        if grad is None:
            return
        if not set_to_zero or grad.is_selected_rows():
            self._grad = None
            return
        if not isinstance(grad, Tensor) or type(grad._storage) is not Storage:
            self._grad = _make(jax.numpy.zeros_like(grad._value))
            return
        storage = grad._storage
        if storage.value is not None:
            shape, dtype = storage.value.shape, storage.value.dtype
            storage.postpone(lambda: jax.numpy.zeros(shape, dtype))
        grad._node, grad._stop = None, True

    clear_grad = clear_gradient

    def zero_grad(self) -> None:
        self.clear_gradient()

    @errors.clean
    def backward(
        self, grad_tensor: Tensor | None = None, retain_graph: bool = False, *, dump_backward_graph_path: Any = None
    ) -> None:
        """Compute the gradients of this tensor with respect to the leaves it came from, and add them to their `.grad`.

        Args:
            grad_tensor: the gradient of self, same shape; ones when None.
            retain_graph: keep what the tape saved, so that backward can run again.

        Raises:
            ValueError: `grad_tensor` has another shape.
            RuntimeError: the graph was released by an earlier backward, or a saved tensor was overwritten.

        Example:
            >>> x = paddle.to_tensor(3.0, stop_gradient=False)
            >>> (x ** 2).backward()
            >>> float(x.grad)
            6.0
        """
        from . import autograd

        autograd.backward([self], [grad_tensor], retain_graph, dump_backward_graph_path=dump_backward_graph_path)

    @errors.clean
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Any:
        """Call `hook(gradient)` when the gradient of this tensor is complete; what it returns (if not None) replaces it.

        Returns:
            A handle with `remove()`.

        Raises:
            RuntimeError: no gradient flows to this tensor.
        """
        self._raw  # a stale view joins the graph first
        if self._stop or self._node is None:
            raise errors.RuntimeError_("register_hook: no gradient flows to this tensor (stop_gradient is True)")
        return self._node.add_hook(self._index, hook)

    def retain_grads(self) -> None:
        """Keep the gradient of this intermediate tensor in `.grad`."""
        if not self._stop and not self.is_leaf:
            self._raw
            self._node.retain(self._index, self)

    def detach(self) -> Tensor:
        """A tensor over the same memory, without history. In-place changes of either are seen by both."""
        storage = self._storage
        if isinstance(storage, View):
            storage = View(self._raw, storage.source, storage.op, storage.args, False)
        out = Tensor.__new__(Tensor)
        out._storage, out._node, out._index, out._stop = storage, None, 0, True
        return out

    def detach_(self) -> Tensor:
        self.stop_gradient = True
        self._node, self._index, self._stop = None, 0, True
        return self

    @property
    def data(self) -> Tensor:
        return self.detach()

    @data.setter
    def data(self, other: Tensor) -> None:
        if other._raw.shape == self._raw.shape and other.dtype is self.dtype:
            self._storage.write(other._raw)
        else:
            self._storage = Storage(other._raw)

    def value(self) -> Tensor:
        return self

    def get_tensor(self) -> Tensor:
        return self

    # ---- to Python and NumPy ----
    @errors.clean
    def numpy(self) -> np.ndarray:
        """A NumPy copy: later in-place changes of the tensor are not seen in it. NumPy has no bfloat16; as officially,
        its bits come as uint16, and `np.asarray(x)` gives the values (type of the package ml_dtypes)."""
        array = np.array(self._concrete("numpy"), copy=True)
        return array.view(np.uint16) if array.dtype == dtypes.bfloat16.numpy else array

    def _concrete(self, what: str) -> np.ndarray:
        value = self._value
        if modes.capturing is not None:
            modes.capturing.read()
        if isinstance(value, ABSTRACT):
            why = "the function is being compiled"
            if isinstance(value, Value):
                why = f"{self.name!r} is a variable of a program and gets its elements when that runs"
            raise errors.NoValue(f"{what}: {errors.NO_VALUE}, {why}")
        try:
            if not value.is_fully_addressable:
                value = places.whole(value)
            return np.asarray(value.block_until_ready())  # a failed computation shows here; reading it ends the process
        except jax.errors.JaxRuntimeError as e:
            raise (
                errors.OutOfMemory(f"{what}: {e}")
                if "RESOURCE_EXHAUSTED" in str(e)
                else errors.RuntimeError_(f"{what}: {e}")
            )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._concrete("numpy"), dtype=dtype, copy=True)

    @errors.clean
    def item(self, *args: int) -> Any:
        """One element as a Python number: the only one, or that at a flat position or at an index.

        Raises ValueError when the tensor has several elements and none is chosen, IndexError when out of range.
        """
        array = self._concrete("item")
        if not args and array.size != 1:
            raise errors.ValueError_(
                f"item: only a tensor of one element converts without an index, this has shape {list(array.shape)}"
            )
        try:
            return array.item(*args)
        except IndexError as e:
            raise errors.IndexError_(f"item: {e}") from None

    @errors.clean
    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self._concrete("tolist").tolist()

    def _number(self, kind: Any) -> Any:
        array = self._concrete(kind.__name__ + "()")
        if array.size != 1:
            raise AssertionError(
                f"{kind.__name__}(): only a tensor of one element converts to a Python number, "
                f"this has shape {list(array.shape)}"
            )
        return kind(array.reshape(()).item())

    @errors.clean
    def __float__(self) -> float:
        return self._number(float)

    @errors.clean
    def __int__(self) -> int:
        return self._number(int)

    __long__ = __int__

    @errors.clean
    def __bool__(self) -> bool:
        return self._number(bool)

    @errors.clean
    def __complex__(self) -> complex:
        return self._number(complex)

    @errors.clean
    def __index__(self) -> int:
        if not self.dtype.is_integer and self.dtype is not dtypes.bool:
            raise TypeError(f"(InvalidType) only integer tensors can be used as an index, this is {self.dtype.name}")
        return self._number(int)

    @errors.clean
    def __len__(self) -> int:
        shape = self._raw.shape
        if not shape:
            raise AssertionError("len(): a 0-D tensor has no length")
        return self._known_length("len")

    @errors.clean
    def __iter__(self) -> Iterator[Tensor]:
        if not self._raw.shape:
            raise TypeError("(InvalidType) iter(): a 0-D tensor cannot be iterated over")
        return (self[i] for i in range(self._known_length("iter")))

    def _known_length(self, what: str) -> int:
        n = self._raw.shape[0]
        if isinstance(n, Dim):
            raise errors.NoValue(
                f"{what}(): the length of axis 0 is not known while the program is built; paddle.shape(x)[0] is it as a "
                "tensor"
            )
        return n

    @errors.clean
    def __contains__(self, element: Any) -> bool:
        return bool((self == element).any())

    def __hash__(self) -> int:
        return id(self)

    @errors.clean
    def __format__(self, spec: str) -> str:
        if not self._raw.ndim or spec and self._raw.size == 1:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __repr__(self) -> str:
        from .printing import tensor_text

        return tensor_text(self)

    __str__ = __repr__

    # ---- copies ----
    def __deepcopy__(self, memo: dict) -> Tensor:
        if isinstance(self._raw, Value):
            raise errors.NoValue("deepcopy: the tensor has no value here, the program is being built")
        out = type(self).__new__(type(self))
        memo[id(self)] = out
        value = self._value
        out._adopt(_make(places.put(np.array(value)) if Watch.forked else jax.numpy.array(value, copy=True)))
        from copy import deepcopy

        for key, entry in self.__dict__.items():
            if key != "_grad":
                out.__dict__[key] = entry if key == "_name" else deepcopy(entry, memo)
        if self._name is not None:
            out._name = f"{self._name}_deepcopy_{next(_names)}"
        out.stop_gradient = self._stop
        return out

    def __copy__(self) -> Tensor:
        return self.__deepcopy__({})

    def _adopt(self, other: Tensor) -> None:
        self._storage, self._node, self._index, self._stop = other._storage, other._node, other._index, other._stop

    def __reduce__(self):
        state = {k: v for k, v in self.__dict__.items() if k != "_grad"}
        return _unpickle, (type(self), self._concrete("pickle"), self._stop, state)

    @errors.clean
    def set_value(self, value: Any) -> None:
        """Overwrite the value with an array or tensor of the same shape; the dtype stays.

        Raises ValueError when the shapes differ.
        """
        new = value._raw if isinstance(value, Tensor) else np.asarray(value)
        if isinstance(new, Value) or isinstance(self._raw, Value):
            with set_mode(grad=False, amp=None):
                fresh = Tensor.astype(value if isinstance(value, Tensor) else Tensor(new), self.dtype)
            if fresh.ndim != self.ndim or any(a != b for a, b in zip(fresh.shape, self.shape) if a >= 0 and b >= 0):
                raise errors.ValueError_(
                    f"set_value: the tensor has shape {list(self.shape)}, the value {list(fresh.shape)}"
                )
            self._storage.write(fresh._raw)
            return
        if tuple(new.shape) != tuple(self._raw.shape):
            raise errors.ValueError_(f"set_value: the tensor has shape {list(self.shape)}, the value {list(new.shape)}")
        self._write_array(new)

    def _write_array(self, new: Any) -> None:
        """Overwrite the value with an array (any dtype), outside the tape, on the device where the tensor lies."""
        old = self._raw
        if isinstance(new, np.ndarray):
            if new.dtype == np.uint16 and old.dtype == dtypes.bfloat16.numpy:
                new = new.view(old.dtype)  # what numpy() gave
            new = np.array(new, dtype=old.dtype, copy=True)
            new = places.put(new) if Watch.forked else jax.device_put(new, _device_of(old))
        elif new.dtype != old.dtype:
            new = new.astype(old.dtype)
        where = getattr(old, "sharding", None)
        if isinstance(where, jax.sharding.NamedSharding):  # a distributed tensor stays where it lies
            new = places.spread(present(new), where)
        self._storage.write(new)

    def copy_(self, other: Any, blocking: bool = True) -> Tensor:
        """Overwrite with the values of another tensor of the same shape."""
        self.set_value(other)
        return self

    def _share_buffer_to(self, other: Tensor) -> None:
        other._storage = self._storage

    def _is_shared_buffer_with(self, other: Tensor) -> bool:
        return other._storage is self._storage

    def _clear_data(self) -> None:
        self._storage.write(jax.numpy.zeros((0,), self._raw.dtype))

    def _use_gpudnn(self, use: bool) -> Tensor:
        return self

    # ---- devices ----
    def _on(self, place: places.Place) -> Tensor:
        """Self when it already lies there, otherwise a copy (through the tape)."""
        return self if self.place == place else Tensor._copy_to(self, place)

    _copy_to: Callable[..., Tensor]

    def cpu(self) -> Tensor:
        return self._on(places.CPUPlace())

    def cuda(self, device_id: int | None = None, blocking: bool = True) -> Tensor:
        return self._on(places.CUDAPlace(device_id or 0))

    def pin_memory(self, blocking: bool = True) -> Tensor:
        return self

    @errors.clean
    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        """Convert and/or move: ``x.to("float64")``, ``x.to("gpu:0")``, ``x.to(other)``, ``x.to(device, dtype)``.

        Raises ValueError for a word that is neither a device nor a data type.
        """
        device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
        kwargs.pop("blocking", None)
        other = kwargs.pop("other", None)
        if kwargs:
            raise errors.TypeError_(f"to: unknown argument {next(iter(kwargs))!r}")
        for arg in args:
            if isinstance(arg, Tensor):
                other = arg
            elif isinstance(arg, bool) or arg is None:
                continue
            elif (
                isinstance(arg, places.Place) or isinstance(arg, str) and arg.split(":")[0] in places._KNOWN + ("cuda",)
            ):
                device = arg
            else:
                try:
                    dtype = to_dtype(arg)
                except TypeError:
                    raise errors.ValueError_(f"to: {arg!r} is neither a device nor a data type") from None
        out = self
        if other is not None:
            device, dtype = device or other.place, dtype or other.dtype
        if dtype is not None:
            out = out.astype(dtype)
        if device is not None:
            out = out._on(places.parse_place(device))
        return out

    def __dlpack__(self, *, stream: Any = None, **kwargs: Any) -> Any:
        """Hand the memory to another library (it is shared, never written in place by us)."""
        value: Any = self._value
        return value.__dlpack__(stream=stream, **kwargs)

    def __dlpack_device__(self) -> tuple:
        value: Any = self._value
        return value.__dlpack_device__()

    def __jax_array__(self) -> jax.Array:
        return self._value


def is_empty(gradient: Tensor | None) -> bool:
    """Whether a gradient is absent, or zero because it was cleared."""
    if not isinstance(gradient, Tensor) or gradient.is_selected_rows():
        return gradient is None
    return gradient._storage.value is None and gradient._storage.pending is not None


def _make(value: Any, node: Any = None, index: int = 0, stop: bool = True) -> Tensor:
    """A tensor around an array: the only constructor that operators use."""
    out = Tensor.__new__(Tensor)
    out._storage = Storage(value)
    out._node = node
    out._index = index
    out._stop = stop
    return out


def _device_of(array: Any) -> Any:
    """The device that an array was put on, None when it just lies on the current one."""
    return next(iter(array.devices())) if getattr(array, "committed", False) else None


def _unpickle(kind: Any, array: np.ndarray, stop: bool, state: dict) -> Tensor:
    out = kind.__new__(kind)
    out._adopt(_make(places.put(array)))
    out.__dict__.update(state)
    out.stop_gradient = stop
    return out
