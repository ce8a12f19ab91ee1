"""Random tensors. ``paddle.seed`` determines what they draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import dtype as dtypes
from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.executable import Frozen
from ..engine.op import api, op
from ..engine.tensor import Tensor
from .checks import host_value
from .creation import full_like, placed, shape_of
from .manipulation import ints_of, star, tensor_of


def _float_type(name: str, dtype: Any) -> dtypes.DType:
    dtype = dtypes.default_dtype() if dtype is None else to_dtype(dtype)
    if not dtype.is_floating:
        raise errors.TypeError_(f"{name}: dtype must be a floating type, got {dtype.name}")
    return dtype


@op(
    random=True,
    method=False,
    export=False,
    name="uniform",
    static="shape dtype",
    scalars="low high",
    differentiable=False,
)
def _uniform(key, shape, dtype, low, high):
    wide = dtype.numpy if dtype.itemsize > 2 else "float32"
    u = jax.random.uniform(key, shape, wide)
    u = (low + u * (jnp.asarray(high) - low)).astype(dtype.numpy)
    return jnp.where(u < high, u, jnp.asarray(low)).astype(dtype.numpy)  # rounding may reach the upper end


@op(
    random=True,
    method=False,
    export=False,
    name="gaussian",
    static="shape dtype",
    scalars="mean std",
    differentiable=False,
)
def _gaussian(key, shape, dtype, mean, std):
    wide = dtype.numpy if dtype.itemsize > 2 else "float32"
    return (mean + jax.random.normal(key, shape, wide) * std).astype(dtype.numpy)


def _standard_normal(name: str, shape: Any, dtype: Any) -> Tensor:
    shape = Frozen(shape_of(shape, name))
    if dtype is not None and to_dtype(dtype).is_complex:
        return _complex_normal(shape, 0.0, 0.0, 1.0, to_dtype(dtype))
    return _gaussian(shape, _float_type(name, dtype), 0.0, 1.0)


@star(at=0)
@api(method=False)
def rand(shape, dtype=None, *, device=None, requires_grad=False, pin_memory=False):
    """Uniform random numbers from [0, 1).

    Example:
        >>> paddle.rand([2, 3]).shape
        [2, 3]
    """
    out = _uniform(Frozen(shape_of(shape, "rand")), _float_type("rand", dtype), 0.0, 1.0)
    return placed(out, device, requires_grad)


@star(at=0)
@api(method=False)
def randn(shape, dtype=None, *, device=None, requires_grad=False, pin_memory=False):
    """Random numbers from the standard normal distribution.

    Example:
        >>> paddle.randn([2, 3]).shape
        [2, 3]
    """
    return placed(_standard_normal("randn", shape, dtype), device, requires_grad)


@api(method=False)
def standard_normal(shape, dtype=None, *, device=None, requires_grad=False):
    """Random numbers from the standard normal distribution.

    Example:
        >>> paddle.standard_normal([2, 3]).shape
        [2, 3]
    """
    return placed(_standard_normal("standard_normal", shape, dtype), device, requires_grad)


@op(
    method=False,
    export=False,
    name="uniform_seeded",
    static="shape dtype",
    scalars="low high seed",
    differentiable=False,
)
def _uniform_seeded(shape, dtype, low, high, seed):
    return _uniform.__wrapped__(jax.random.key(seed, impl="threefry2x32"), shape, dtype, low, high)


def _uniform_from(name: str, shape: Any, dtype: Any, low: Any, high: Any, seed: int) -> Tensor:
    shape, dtype = Frozen(shape_of(shape, name)), _float_type(name, dtype)
    low, high = float(low), float(high)
    if low > high:
        raise errors.ValueError_(f"{name}: min {low} is larger than max {high}")
    return _uniform_seeded(shape, dtype, low, high, int(seed)) if seed else _uniform(shape, dtype, low, high)


@api(method=False)
def uniform(shape, dtype=None, min=0, max=1.0, seed=0, *, device=None, requires_grad=False):
    """Uniform random numbers from [min, max).

    Args:
        seed: not 0 fixes the numbers, whatever `paddle.seed` was given.

    Raises:
        ValueError: `min` is larger than `max`.

    Example:
        >>> paddle.uniform([2, 3], min=-1.0, max=1.0).shape
        [2, 3]
    """
    return placed(_uniform_from("uniform", shape, dtype, min, max, seed), device, requires_grad)


@op(random=True, method=False, export=False, name="normal", static="shape dtype", scalars="mean std")
def _normal(key, mean, std, shape, dtype):
    shape = shape if shape is not None else jnp.broadcast_shapes(mean.shape, std.shape)
    return mean + jax.random.normal(key, shape, dtype.numpy) * std


@api(method=False)
def normal(mean=0.0, std=1.0, shape=None):
    """Random numbers from the normal distribution.

    Args:
        mean, std: numbers, with `shape` (default [1]); or floating tensors, whose shapes broadcast.

    Raises:
        ValueError: a negative `std`.

    Example:
        >>> paddle.normal(2.0, 3.0, [4]).shape
        [4]
    """
    tensors = [v for v in (mean, std) if isinstance(v, Tensor)]
    if not tensors:
        if std < 0:
            raise errors.ValueError_(f"normal: std cannot be negative, got {std}")
        shape = shape_of([1] if shape is None else shape, "normal")
        if isinstance(mean, complex):
            return _complex_normal(Frozen(shape), mean.real, mean.imag, float(std), dtypes.default_complex())
        return _gaussian(Frozen(shape), dtypes.default_dtype(), float(mean), float(std))
    for each in tensors:
        if each.dtype.kind not in "fc":
            raise errors.TypeError_(f"normal: mean and std must be floating, got {each.dtype.name}")
    dtype = tensors[0].dtype
    return _normal(mean, std, None, dtype)


@op(
    random=True,
    method=False,
    export=False,
    name="complex_normal",
    static="shape dtype",
    scalars="re im std",
    differentiable=False,
)
def _complex_normal(key, shape, re, im, std, dtype):
    return (jax.lax.complex(re + 0.0, im + 0.0) + jax.random.normal(key, shape, dtype.numpy) * std).astype(dtype.numpy)


@api(method=False)
def log_normal(mean=1.0, std=2.0, shape=None):
    """Random numbers whose logarithm is normal with the given mean and standard deviation; arguments as for `normal`.

    Example:
        >>> paddle.log_normal(0.0, 1.0, [3]).shape
        [3]
    """
    return normal(mean, std, shape).exp()


# ---- like another tensor ----


def _like_type(name: str, x: Tensor, dtype: Any) -> dtypes.DType:
    return _float_type(name, tensor_of(name, x).dtype if dtype is None else dtype)


@api(method=False)
def rand_like(input, *, dtype=None, device=None, requires_grad=False):
    """Uniform random numbers from [0, 1) in the shape, and by default the type, of the input.

    Example:
        >>> paddle.rand_like(paddle.ones([2, 3])).shape
        [2, 3]
    """
    dtype = _like_type("rand_like", input, dtype)
    return placed(_uniform(Frozen(input._raw.shape), dtype, 0.0, 1.0), device, requires_grad)


@api(method=False)
def randn_like(x, dtype=None, *, device=None, requires_grad=False):
    """Random numbers from the standard normal distribution in the shape, and by default the type, of x.

    Example:
        >>> paddle.randn_like(paddle.ones([2, 3])).shape
        [2, 3]
    """
    dtype = _like_type("randn_like", x, dtype)
    return placed(_gaussian(Frozen(x._raw.shape), dtype, 0.0, 1.0), device, requires_grad)


# ---- integers ----


@op(
    random=True,
    method=False,
    export=False,
    name="randint",
    static="shape dtype",
    scalars="low high",
    differentiable=False,
)
def _randint(key, shape, dtype, low, high):
    return jax.random.randint(key, shape, low, high, "int64").astype(dtype.numpy)


def _bounds(name: str, low: Any, high: Any) -> tuple[int, int]:
    if high is None:
        low, high = 0, low
    low, high = int(low), int(high)
    if low >= high:
        raise errors.ValueError_(f"{name}: low must be smaller than high, got {low} and {high}")
    return low, high


@api(method=False)
def randint(low=0, high=None, shape=[1], dtype=None):
    """Random integers from [low, high), or from [0, low) when `high` is not given.

    Args:
        dtype: int32 or int64 (default).

    Raises:
        ValueError: `low` is not smaller than `high`.
        TypeError: another type.

    Example:
        >>> paddle.randint(0, 10, [2, 3]).shape
        [2, 3]
    """
    dtype = dtypes.int64 if dtype is None else to_dtype(dtype)
    if not dtype.is_integer:
        raise errors.TypeError_(f"randint: dtype must be an integer type, got {dtype.name}")
    return _randint(Frozen(shape_of(shape, "randint")), dtype, *_bounds("randint", low, high))


@api(method=False)
def randint_like(x, low=0, high=None, dtype=None):
    """Random integers from [low, high), or from [0, low), in the shape, and by default the type, of x (floating too).

    Example:
        >>> paddle.randint_like(paddle.zeros([2]), 0, 5).dtype
        paddle.float32
    """
    dtype = tensor_of("randint_like", x).dtype if dtype is None else to_dtype(dtype)
    return _randint(Frozen(x._raw.shape), dtype, *_bounds("randint_like", low, high))


@op(random=True, method=False, export=False, name="randperm", static="dtype", differentiable=False)
def _randperm(key, n, dtype):
    return jax.random.permutation(key, n).astype(dtype.numpy)


@api(method=False)
def randperm(n, dtype="int64", *, device=None, requires_grad=False, pin_memory=False):
    """The numbers from 0 to n - 1 in random order.

    Raises:
        ValueError: a negative `n`.

    Example:
        >>> sorted(paddle.randperm(3).tolist())
        [0, 1, 2]
    """
    (n,), dtype = ints_of("randperm", n, "n"), to_dtype(dtype)
    if n < 0:
        raise errors.ValueError_(f"randperm: n cannot be negative, got {n}")
    if dtype.kind not in "iuf":
        raise errors.TypeError_(f"randperm: dtype must be an integer or floating type, got {dtype.name}")
    return placed(_randperm(n, dtype), device, requires_grad)


# ---- by probabilities ----


def _values(name: str, x: Any, low: float, high: float, argument: str) -> None:
    """ValueError for values outside of [low, high], where looking is cheap: on the CPU."""
    array = host_value(x)
    if array is not None:
        array = array.astype("float64")
        if not ((array >= low) & (array <= high)).all():
            raise errors.ValueError_(
                f"{name}: {argument} must be from {low:g} to {high:g}, got values from {array.min()} to {array.max()}"
            )


def _floating(name: str, x: Any, argument: str = "x") -> Tensor:
    if not tensor_of(name, x, argument).dtype.is_floating:
        raise errors.TypeError_(f"{name}: {argument} must be floating, got {x.dtype.name}")
    return x


@op(random=True, method=False, export=False, name="bernoulli", differentiable=False)
def _bernoulli(key, x):
    return jax.random.bernoulli(key, x).astype(x.dtype)


@api(method=False)
def bernoulli(x, p=None):
    """1 with the probability that the element of x is (or that `p` is, for all elements), else 0.

    Raises:
        ValueError: a probability outside of [0, 1].

    Example:
        >>> paddle.bernoulli(paddle.to_tensor([0.0, 1.0])).tolist()
        [0.0, 1.0]
    """
    _floating("bernoulli", x)
    if p is not None:
        x = full_like(x, p)
    _values("bernoulli", x, 0, 1, "probabilities")
    return _bernoulli(x)


@op(random=True, method=False, export=False, name="multinomial", static="num_samples replacement", differentiable=False)
def _multinomial(key, x, num_samples, replacement):
    logits = jnp.log(x.astype("float32") if x.dtype.itemsize < 4 else x)
    if replacement:
        draws = jax.random.categorical(key, logits, -1, shape=(num_samples, *x.shape[:-1]))
        return jnp.moveaxis(draws, 0, -1).astype("int64")
    noise = jax.random.gumbel(key, x.shape, logits.dtype)  # Gumbel top-k: draws without replacement
    return jax.lax.top_k(logits + noise, num_samples)[1].astype("int64")


@api(method="multinomial")
def multinomial(x, num_samples=1, replacement=False):
    """Numbers of categories, drawn with the weights in the last axis of x, which need not sum to one.

    Args:
        x: floating, shape [categories] or [rows, categories].
        replacement: whether a category may come again.

    Raises:
        ValueError: negative weights or none, more samples than categories with weight (without replacement).

    Example:
        >>> paddle.multinomial(paddle.to_tensor([0.0, 1.0]), 1).tolist()
        [1]
    """
    _floating("multinomial", x)
    (number,) = ints_of("multinomial", num_samples, "num_samples")
    if x.ndim not in (1, 2) or number <= 0:
        raise errors.ValueError_(
            f"multinomial: x must have 1 or 2 dimensions and num_samples be positive, got {list(x.shape)} and {number}"
        )
    categories = x.shape[-1]
    if not replacement and number > categories:
        raise errors.ValueError_(
            f"multinomial: {number} samples without replacement need as many categories, x has {categories}"
        )
    _values("multinomial", x, 0, float("inf"), "weights")
    weights = host_value(x)
    if weights is not None:
        weighted = (weights > 0).sum(-1)
        if (weighted < (1 if replacement else number)).any():
            raise errors.ValueError_(
                f"multinomial: each row needs {1 if replacement else number} categories with a weight above 0"
            )
    return _multinomial(x, number, bool(replacement))


def _no_gradient(inputs, outputs, cotangents, *attributes):
    return tuple(jnp.zeros_like(i) if hasattr(i, "dtype") and i.dtype != np.uint32 else None for i in inputs)


@op(random=True, method=False, export=False, name="poisson", gradient=_no_gradient)
def _poisson(key, x):
    wide = x.astype("float32") if x.dtype.itemsize < 4 else x
    return jax.random.poisson(key, wide, dtype="int64").astype(x.dtype)


@api(method=False)
def poisson(x):
    """Poisson random numbers with the rates x, in the type of x.

    Raises:
        ValueError: a negative rate.

    Example:
        >>> paddle.poisson(paddle.zeros([2])).tolist()
        [0.0, 0.0]
    """
    _values("poisson", _floating("poisson", x), 0, float("inf"), "rates")
    return _poisson(x)


@op(random=True, method=False, export=False, name="binomial", differentiable=False)
def _binomial(key, count, prob):
    shape = jnp.broadcast_shapes(count.shape, prob.shape)
    wide = prob.astype("float32") if prob.dtype.itemsize < 4 else prob
    return jax.random.binomial(key, count.astype(wide.dtype), wide, shape, wide.dtype).astype("int64")


@api(method=False)
def binomial(count, prob):
    """The number of successes in `count` trials with probability `prob`, int64; shapes broadcast.

    Raises:
        ValueError: a negative count, a probability outside of [0, 1].

    Example:
        >>> paddle.binomial(paddle.to_tensor([3]), paddle.to_tensor([1.0])).tolist()
        [3]
    """
    _values("binomial", tensor_of("binomial", count, "count"), 0, float("inf"), "count")
    _values("binomial", _floating("binomial", prob, "prob"), 0, 1, "prob")
    return _binomial(count, prob)


@op(random=True, method=False, export=False, name="standard_gamma")
def _standard_gamma(key, x):
    wide = x.astype("float32") if x.dtype.itemsize < 4 else x
    return jax.random.gamma(key, wide).astype(x.dtype)


@api(method=False)
def standard_gamma(x):
    """Gamma random numbers with the shapes x and rate 1, differentiable in x (Figurnov et al., "Implicit
    Reparameterization Gradients", NeurIPS 2018).

    Raises:
        ValueError: a negative shape.

    Example:
        >>> bool((paddle.standard_gamma(paddle.ones([2])) >= 0).all())
        True
    """
    _values("standard_gamma", _floating("standard_gamma", x), 0, float("inf"), "shapes")
    return _standard_gamma(x)


# ---- filling in place ----


def _refill(name: str, x: Tensor, draw: Callable[[Frozen, dtypes.DType], Tensor], integers: bool = False) -> Tensor:
    dtype = tensor_of(name, x).dtype
    if not dtype.is_floating and not (integers and dtype.is_integer):
        raise errors.TypeError_(f"{name}: x must be floating, got {dtype.name}")
    return x._inplace(lambda old: draw(Frozen(old._raw.shape), dtype))


@api(method="uniform_", export=False, aliases={"from": "min", "to": "max"})
def uniform_(x, min=0, max=1.0, seed=0):
    """Fill with uniform random numbers from [min, max), in place."""
    return _refill("uniform_", x, lambda shape, dtype: _uniform_from("uniform_", list(shape), dtype, min, max, seed))


@api(method="normal_")
def normal_(x, mean=0.0, std=1.0):
    """Fill with normal random numbers, in place."""
    return _refill("normal_", x, lambda shape, dtype: _gaussian(shape, dtype, float(mean), float(std)))


@api(method="log_normal_")
def log_normal_(x, mean=1.0, std=2.0):
    """Fill with random numbers whose logarithm is normal with the given mean and standard deviation, in place."""
    return _refill("log_normal_", x, lambda shape, dtype: _gaussian(shape, dtype, float(mean), float(std)).exp())


@op(
    random=True,
    method=False,
    export=False,
    name="exponential",
    static="shape dtype",
    scalars="lam",
    differentiable=False,
)
def _exponential(key, shape, dtype, lam):
    wide = dtype.numpy if dtype.itemsize > 2 else "float32"
    return (jax.random.exponential(key, shape, wide) / lam).astype(dtype.numpy)


@api(method="exponential_", export=False, aliases={"lambd": "lam"})
def exponential_(x, lam=1.0):
    """Fill with exponential random numbers of rate `lam`, in place. ValueError unless the rate is positive."""
    if not lam > 0:
        raise errors.ValueError_(f"exponential_: lam must be positive, got {lam}")
    return _refill("exponential_", x, lambda shape, dtype: _exponential(shape, dtype, float(lam)))


@api(method="bernoulli_")
def bernoulli_(x, p=0.5):
    """Fill with 1 with the probability `p` (a number, or a tensor that broadcasts to x) and 0, in place."""
    p = full_like(x, p) if not isinstance(p, Tensor) else p.detach().astype(x.dtype).expand(x.shape)
    _values("bernoulli_", p, 0, 1, "p")
    return _refill("bernoulli_", x, lambda shape, dtype: _bernoulli(p))


@op(
    random=True,
    method=False,
    export=False,
    name="geometric",
    static="shape dtype",
    scalars="probs",
    differentiable=False,
)
def _geometric(key, shape, dtype, probs):
    u = jax.random.uniform(key, shape, dtype.numpy, minval=jnp.finfo(dtype.numpy).tiny)
    return (jnp.log(u) / jnp.log1p(-probs)).astype(dtype.numpy)


@api(method="geometric_")
def geometric_(x, probs):
    """Fill with log(u) / log(1 - probs), in place; as officially the numbers of trials are not rounded up.

    Raises:
        ValueError: `probs` (a number or a tensor) is not between 0 and 1.
    """
    if isinstance(probs, Tensor):
        _values("geometric_", probs, 0, 1, "probs")
    elif not 0 < probs < 1:
        raise errors.ValueError_(f"geometric_: probs must be between 0 and 1, got {probs}")
    return _refill("geometric_", x, lambda shape, dtype: _geometric(shape, dtype, probs))


@op(
    random=True,
    method=False,
    export=False,
    name="cauchy",
    static="shape dtype",
    scalars="loc scale",
    differentiable=False,
)
def _cauchy(key, shape, dtype, loc, scale):
    return (loc + scale * jax.random.cauchy(key, shape, dtype.numpy)).astype(dtype.numpy)


@api(method="cauchy_")
def cauchy_(x, loc=0, scale=1):
    """Fill with Cauchy random numbers, in place."""
    return _refill("cauchy_", x, lambda shape, dtype: _cauchy(shape, dtype, float(loc), float(scale)))


@api(method="random_", export=False)
def random_(x, from_=0, to=None, *, generator=None):
    """Fill with random integers from [from_, to), or from [0, from_), in place; without arguments from all that the
    type can hold exactly. ValueError unless the range holds a number."""
    if to is None and from_ == 0:
        to = 2 ** (1 - int(np.log2(dtypes.finfo(x.dtype).eps))) if x.dtype.is_floating else dtypes.iinfo(x.dtype).max
    low, high = _bounds("random_", from_, to)
    return _refill("random_", x, lambda shape, dtype: _randint(shape, dtype, low, high), integers=True)
