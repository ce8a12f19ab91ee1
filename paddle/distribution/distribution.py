"""What all distributions share: shapes, parameters, and methods that are given as formulas on arrays."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..engine import dtype as dtypes
from ..engine import errors
from ..engine.autograd import grad
from ..engine.dtype import DType, to_dtype
from ..engine.executable import Frozen
from ..engine.modes import enable_grad, no_grad
from ..engine.op import op
from ..engine.random import generator
from ..engine.tensor import Tensor
from ..ops.creation import shape_of, to_tensor
from ..ops.expansion import broadcast_tensors
from ..ops.manipulation import cast

# ---- methods as formulas ----


def _operator(fn: Callable, tensors: str = "", **metadata: Any) -> Callable:
    return op(
        fn,
        name=fn.__qualname__.replace(".", "_").replace("__", "_").lower(),
        method=False,
        export=False,
        tensors=tensors,
        **metadata,
    )


def _names(fn: Callable) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The parameters before and after the `/` of a function."""
    code = fn.__code__
    return code.co_varnames[: code.co_posonlyargcount], code.co_varnames[code.co_posonlyargcount : code.co_argcount]


def _method(fn: Callable, call: Callable, *arguments: tuple[str, Any]) -> Callable:
    """`call` with the name and documentation of `fn` and with the signature (self, *arguments)."""
    method = errors.clean(call)
    functools.update_wrapper(method, fn)
    kind, required = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    method.__signature__ = inspect.Signature(
        [  # type: ignore[attr-defined]
            inspect.Parameter(name, kind, default=default) for name, default in (("self", required), *arguments)
        ]
    )
    return method


def formula(fn: Callable) -> Callable:
    """A method given as a function of arrays, compiled as one operator.

    Its parameters before the `/` are the arguments of the method, the others are attributes of the distribution::

        @formula
        def log_prob(value, /, rate):
            return jnp.log(rate) - rate * value
    """
    own, attributes = _names(fn)
    operator = _operator(fn, tensors=" ".join(own))

    def call(self, *args, **kwargs):
        if kwargs or len(args) != len(own):
            given = dict(zip(own, args), **kwargs)
            if len(args) > len(own) or sorted(given) != sorted(own):
                raise errors.TypeError_(
                    f"{fn.__qualname__}: takes the arguments ({', '.join(own)}), got {len(args)} and {sorted(kwargs)}"
                )
            args = [given[name] for name in own]
        return operator(*[self._value(a) for a in args], *[getattr(self, name) for name in attributes])

    return _method(fn, call, *((name, inspect.Parameter.empty) for name in own))


def sampler(fn: Callable) -> Callable:
    """Like `formula`, for a method with the argument `shape`: the function has the parameters `key, shape` before the
    `/`, where `shape` is that of the result."""
    _, attributes = _names(fn)
    operator = _operator(fn, random=True)

    def call(self, shape=()):
        return operator(Frozen(self._extend_shape(shape)), *[getattr(self, name) for name in attributes])

    return _method(fn, call, ("shape", []))


def between(cls: type) -> Callable:
    """Like `formula`, for the divergence of two distributions of one class: the first half of the parameters are
    attributes of the first, the others (of any name) the same attributes of the second."""

    def decorate(fn: Callable) -> Callable:
        names = fn.__code__.co_varnames[: fn.__code__.co_argcount // 2]
        operator = op(fn, name=f"{cls.__name__.lower()}_kl", method=False, export=False)
        return lambda p, q: operator(*[getattr(p, n) for n in names], *[getattr(q, n) for n in names])

    return decorate


# ---- reading parameters ----


def _dtype_of(value: Any) -> DType | None:
    """The floating (or complex) type that a parameter brings along."""
    if isinstance(value, (Tensor, np.ndarray, np.generic)):
        dtype = to_dtype(value.dtype)
        return dtype if dtype.kind in "fc" else None
    return dtypes.default_complex() if isinstance(value, complex) else None


def parameters_of(name: str, complex_too: bool = False, **given: Any) -> list[Tensor]:
    """Parameters (numbers, lists, arrays, tensors) as floating tensors of one type.

    The type is the widest that a tensor or array among them has, by default the default dtype.

    Raises:
        TypeError: a parameter is nothing of this kind.
    """
    found = [d for d in map(_dtype_of, given.values()) if d is not None]
    dtype = to_dtype(np.result_type(*(d.numpy for d in found))) if found else dtypes.default_dtype()
    if dtype.is_complex and not complex_too:
        raise errors.TypeError_(f"{name}: the parameters must be real")
    out = []
    for argument, value in given.items():
        if not isinstance(value, Tensor):
            try:
                array = np.asarray(value)
            except ValueError:
                array = np.asarray(None)
            if array.dtype.kind not in "biufcV":
                raise errors.TypeError_(
                    f"{name}: {argument} must be a number, a list of numbers, an array or a "
                    f"Tensor, got {errors.describe(value)}"
                )
            value = to_tensor(array.astype(dtype.numpy))
        out.append(value if value.dtype is dtype else cast(value, dtype))
    return out


def broadcast(name: str, *tensors: Tensor) -> list[Tensor]:
    """The tensors in their common shape; ValueError when there is none."""
    if all(t._raw.shape == tensors[0]._raw.shape for t in tensors):
        return list(tensors)
    try:
        return broadcast_tensors(list(tensors))
    except ValueError:
        raise errors.ValueError_(
            f"{name}: the shapes of the parameters {[list(t.shape) for t in tensors]} do not broadcast"
        ) from None


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw from a seed of its own inside, unless it is 0."""
    if not seed:
        yield
        return
    source = generator()
    state = source.get_state()
    source.manual_seed(seed)
    try:
        yield
    finally:
        source.set_state(state)


# ---- the base classes ----


class Distribution(errors.Explains):
    """A probability distribution over tensors of shape `event_shape`; a batch of them has the shape `batch_shape`.

    Subclasses implement `rsample` (or `_draw` when samples are not differentiable), `log_prob`, `entropy` and so on.

    Args:
        batch_shape: a tuple of ints.
        event_shape: a tuple of ints.

    Example:
        >>> d = paddle.distribution.Distribution((2,), (3,))
        >>> d.batch_shape, d.event_shape
        ((2,), (3,))
    """

    _of: Tensor | None = None  # the parameter whose type values get ...
    _casts = True  # ... also floating ones; where False they promote

    def __init__(self, batch_shape=(), event_shape=()):
        self._batch_shape = tuple(batch_shape)
        self._event_shape = tuple(event_shape)

    def _set(self, **given: Any) -> tuple[int, ...]:
        """Make attributes of parameters, broadcast against each other; returns their shape, that of the batch."""
        name = type(self).__name__
        tensors = broadcast(name, *parameters_of(name, **given))
        self.__dict__.update(zip(given, tensors))
        self._of = tensors[0]
        return tuple(tensors[0].shape)

    def _value(self, value: Any) -> Any:
        """An argument of a method as a tensor in the type of the parameters."""
        name = type(self).__name__
        if not isinstance(value, Tensor):
            (value,) = parameters_of(name, complex_too=True, value=value)
        n = len(self._event_shape)
        if n and tuple(value.shape[-n:]) != self._event_shape:
            raise errors.ValueError_(
                f"{name}: the shape of value must end in {list(self._event_shape)}, got {errors.describe(value)}"
            )
        if self._of is None or value.dtype is self._of.dtype or value.dtype.is_floating and not self._casts:
            return value
        if value.dtype.is_complex and not self._of.dtype.is_complex:
            raise errors.TypeError_(f"{name}: value must be real, got {errors.describe(value)}")
        return cast(value, self._of.dtype)

    def _extend_shape(self, sample_shape: Any) -> tuple[int, ...]:
        return shape_of(sample_shape, type(self).__name__) + self._batch_shape + self._event_shape

    @property
    def dtype(self) -> DType:
        """The data type of the parameters."""
        return dtypes.default_dtype() if self._of is None else self._of.dtype

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one draw from one distribution."""
        return self._event_shape

    @property
    def mean(self):
        """The mean, shape batch_shape + event_shape."""
        raise self._lacks("mean")

    @property
    def variance(self):
        """The variance of each element."""
        raise self._lacks("variance")

    @property
    def stddev(self):
        """The standard deviation, the square root of the variance."""
        return self.variance.sqrt()

    def _lacks(self, what: str) -> NotImplementedError:
        return errors.NotImplemented_(f"{type(self).__name__} has no {what}")

    def _draw(self, shape: Any) -> Tensor:
        return self.rsample(shape)

    @errors.clean
    def sample(self, shape=[]):
        """Draw a tensor of shape `shape` + batch_shape + event_shape; no gradient flows through it."""
        with no_grad():
            return self._draw(shape)

    def rsample(self, shape=[]):
        """Draw like `sample`, differentiably with respect to the parameters."""
        raise self._lacks("differentiable samples")

    def entropy(self):
        """The entropy in nats, shape batch_shape."""
        raise self._lacks("entropy")

    @errors.clean
    def kl_divergence(self, other):
        """The Kullback-Leibler divergence from `other`, see `paddle.distribution.kl_divergence`."""
        from .kl import kl_divergence

        return kl_divergence(self, other)

    def log_prob(self, value):
        """The logarithm of the probability (density) of `value`."""
        raise self._lacks("log_prob")

    @errors.clean
    def prob(self, value):
        """The probability (density) of `value`."""
        return self.log_prob(value).exp()

    def probs(self, value):
        """The old name of `prob`."""
        return self.prob(value)


class ExponentialFamily(Distribution):
    """Distributions with the density h(x) exp(T(x) . theta - A(theta)).

    A subclass that gives `_natural_parameters` (a tuple of tensors theta), `_log_normalizer(*theta)` (A) and
    `_mean_carrier_measure` (the mean of log h) has an entropy and divergences (Nielsen, Nock, "Entropies and
    Cross-Entropies of Exponential Families", ICIP 2010).

    Example:
        >>> issubclass(paddle.distribution.Gamma, paddle.distribution.ExponentialFamily)
        True
    """

    _casts = False

    @property
    def _natural_parameters(self):
        raise self._lacks("natural parameters")

    def _log_normalizer(self, *natural_parameters):
        raise self._lacks("log-normalizer")

    @property
    def _mean_carrier_measure(self):
        raise self._lacks("mean carrier measure")

    def _dual(self) -> tuple[list[Tensor], Tensor, list[Tensor]]:
        """The natural parameters, the log-normalizer and its derivatives by them."""
        with enable_grad():
            theta = list(self._natural_parameters)
            leaves = [t if not t.stop_gradient else t.detach() for t in theta]
            for leaf in leaves:
                leaf.stop_gradient = False
            normalizer = self._log_normalizer(*leaves)
            return leaves, normalizer, grad(normalizer.sum(), leaves, create_graph=True)

    @errors.clean
    def entropy(self):
        """The entropy in nats, from the log-normalizer and its derivatives."""
        theta, normalizer, means = self._dual()
        out = normalizer - self._mean_carrier_measure
        for t, m in zip(theta, means):
            out = out - _over_event(t * m, out)
        return out


def _over_event(x: Tensor, like: Tensor) -> Tensor:
    """Summed over the axes that `like` does not have."""
    extra = x.ndim - like.ndim
    return x.sum(list(range(-extra, 0))) if extra > 0 else x


def sum_last(x: Tensor, n: int) -> Tensor:
    """Summed over the last n axes."""
    return x.sum(list(range(-n, 0))) if n else x
