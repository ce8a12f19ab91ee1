"""Sequence parallelism: between the divided layers of tensor parallelism every process works on a part of the sequence, so
that activations are divided as well.

The sequence is the first axis of tensors, [length, batch, width]. Parameters of layers that see only parts of it, such as
norms and the biases of `RowSequenceParallelLinear`, are marked, and their gradients are sums over the processes.

Source: Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....autograd import PyLayer
from ....engine import errors
from ....engine.modes import modes
from ....engine.tensor import Tensor
from ....nn import functional as F
from ....nn.layer import Layer
from ... import fleet
from ...communication.differentiable import carry, plain
from ...communication.group import Group, is_initialized
from ..layers.mpu import mp_ops
from ..layers.mpu.mp_layers import ColumnParallelLinear, RowParallelLinear
from .hybrid_parallel_util import fused_allreduce_gradients_with_group

__all__: list[str] = []


def _group(who: str) -> Group:
    return mp_ops.model_parallel_group(None, who)


def scatter(input: Tensor) -> Tensor:
    """This process's part of a sequence that all have, without a gradient. ValueError where it cannot be divided."""
    return plain(input, "part", _group("scatter"))


def all_gather(input: Tensor) -> Tensor:
    """The parts of all processes put together, without a gradient."""
    return plain(input, "whole", _group("all_gather"))


def reduce_scatter(input: Tensor) -> Tensor:
    """This process's part of the sum over the processes, without a gradient."""
    return plain(input, "sum_part", _group("reduce_scatter"))


class _Op(PyLayer):
    """`apply(input)`: a collective along the first axis over the processes of tensor parallelism, and its gradient."""

    _ways = ("", "")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        there, back = cls._ways
        cls.forward = staticmethod(lambda ctx, input: plain(input, there, _group(cls.__name__)))
        cls.backward = staticmethod(lambda ctx, grad: plain(grad, back, _group(cls.__name__)))

    @classmethod
    def apply(cls, input: Tensor, group: Group | None = None) -> Tensor:  # type: ignore[override]
        """Run it; the gradient goes the other way."""
        return carry(input, *cls._ways, mp_ops.model_parallel_group(group, cls.__name__))


class ScatterOp(_Op):
    """[length, ...] -> [length / processes, ...]: this process's part of what all have. The gradient: the parts of all.

    Example:
        >>> from paddle.distributed.fleet.utils.sequence_parallel_utils import ScatterOp
        >>> ScatterOp.apply(paddle.ones([4, 2])).shape
        [4, 2]
    """

    _ways = ("part", "whole")


class GatherOp(_Op):
    """[length / processes, ...] -> [length, ...]: the parts of all, for use that is the same in all processes. The
    gradient: this process's part."""

    _ways = ("whole", "part")


class AllGatherOp(_Op):
    """[length / processes, ...] -> [length, ...]: the parts of all, which the processes then use in different ways. The
    gradient: this process's part of the sum."""

    _ways = ("whole", "sum_part")


class ReduceScatterOp(_Op):
    """[length, ...] -> [length / processes, ...]: this process's part of the sum. The gradient: the parts of all."""

    _ways = ("sum_part", "whole")


# ---- parameters that see parts of the sequence ----
def mark_as_sequence_parallel_parameter(parameter: Tensor) -> None:
    """Say that the layer of a parameter sees only a part of the sequence.

    Example:
        >>> from paddle.distributed.fleet.utils import sequence_parallel_utils as sp
        >>> norm = paddle.nn.LayerNorm(4)
        >>> sp.mark_as_sequence_parallel_parameter(norm.weight)
        >>> sp.is_sequence_parallel_parameter(norm.weight), sp.is_sequence_parallel_parameter(norm.bias)
        (True, False)
    """
    parameter.sequence_parallel = True


def is_sequence_parallel_parameter(parameter: Tensor) -> bool:
    """Whether `mark_as_sequence_parallel_parameter` was called for it."""
    return getattr(parameter, "sequence_parallel", False)


def create_fused_allreduce_gradient_hook(parameter_list: list[Tensor], accumulation_steps: int) -> Callable:
    """A hook for the gradients of all these parameters: the last of `accumulation_steps` backwards leaves sums over the
    processes of tensor parallelism, in one transfer."""
    group = _group("create_fused_allreduce_gradient_hook")
    return _Summing(parameter_list, accumulation_steps, group)


def create_non_fused_allreduce_gradient_hook(param: Tensor, accumulation_steps: int) -> Callable:
    """The same for one parameter."""
    return create_fused_allreduce_gradient_hook([param], accumulation_steps)


class _Summing:
    """Sums gradients over a group at the end of every `steps`-th backward in which they arrive."""

    def __init__(self, parameters: list[Tensor], steps: int, group: Group):
        self.parameters, self.steps, self.group = parameters, steps, group
        self.done = 0
        self._finishing: Any = None  # the list of the backward that runs

    def __call__(self, gradient: Tensor | None = None) -> None:
        """A hook: a gradient is about to be added to a parameter."""
        if self._finishing is not modes.finishing:  # the first one; an earlier backward may have failed
            self._finishing = modes.finishing
            modes.finishing.append(self.finish)

    def finish(self) -> None:
        self._finishing = None
        self.done += 1
        if self.done % self.steps == 0:
            fused_allreduce_gradients_with_group(self.parameters, self.group, scale=1.0)


def register_sequence_parallel_allreduce_hooks(
    model: Layer, accumulation_steps: int, fuse_sequence_parallel_allreduce: bool
) -> None:
    """Let `backward()` leave sums over the processes of tensor parallelism in the gradients of the marked parameters.

    Args:
        model: the layer.
        accumulation_steps: how many backwards make a step; the last one sums.
        fuse_sequence_parallel_allreduce: all of them in one transfer, not each by itself.
    """
    if accumulation_steps <= 0 or not is_initialized():
        return
    group = _group("register_sequence_parallel_allreduce_hooks")
    params = [p for p in model.parameters() if is_sequence_parallel_parameter(p) and not p.stop_gradient]
    if group.nranks <= 1 or not params:
        return
    for some in [params] if fuse_sequence_parallel_allreduce else [[p] for p in params]:
        hook = _Summing(some, accumulation_steps, group)
        for param in some:
            param.register_hook(hook)


# ---- layers ----
def is_fused_matmul_bias_supported() -> bool:
    """Whether `fuse_matmul_bias` may be set: yes, XLA fuses them anyway."""
    return True


def is_fused_linear_param_grad_add_supported() -> bool:
    """Whether the gradient of a weight can be added to within its matmul: False."""
    return False


class MPScale(PyLayer):
    """x / mp_degree, whose gradient is passed on as it is: a bias that every process adds before a sum."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, mp_degree: int) -> Tensor:
        return x / mp_degree

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> Tensor:
        return dout


class SPInnerOverlapLinear(PyLayer):
    """The linear layer of `ColumnSequenceParallelLinear` as one operator. With `recompute_allgather` the whole sequence
    is not kept for the gradient, but put together again. What overlaps is up to XLA."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        fuse_matmul_bias: bool,
        recompute_allgather: bool,
        mp_fused_linear_param_grad_add: bool,
        model_parallel_group: Group,
    ) -> Tensor:
        whole = plain(x, "whole", model_parallel_group)
        ctx.group, ctx.again, ctx.biased = model_parallel_group, recompute_allgather, bias is not None
        ctx.save_for_backward(x if recompute_allgather else whole, weight)
        return F.linear(whole, weight, bias)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple:
        kept, weight = ctx.saved_tensor()
        whole = plain(kept, "whole", ctx.group) if ctx.again else kept
        slope = plain(dy.matmul(weight.astype(dy.dtype), transpose_y=True), "sum_part", ctx.group)
        rows, gradients = whole.reshape([-1, whole.shape[-1]]), dy.reshape([-1, dy.shape[-1]])
        of_weight = rows.astype(dy.dtype).matmul(gradients, transpose_x=True)
        return (slope, of_weight, gradients.sum(0)) if ctx.biased else (slope, of_weight)


class ColumnSequenceParallelLinear(ColumnParallelLinear):
    """`ColumnParallelLinear` whose input is this process's part of the sequence: [length / processes, batch, in_features]
    -> [length, batch, out_features / processes].

    Args:
        in_features: length of the last axis of the input.
        out_features: length of the last axis of the whole output, divisible by the number of processes.
        weight_attr: ParamAttr of the part of the weight.
        has_bias: add a bias, divided as well.
        gather_output: has to be False.
        fuse_matmul_bias: accepted; XLA fuses them anyway.
        mp_group: the processes, by default those of tensor parallelism; at least two.

    Raises:
        ValueError: a single process, `gather_output=True`, a number that cannot be divided.
    """

    def __init__(
        self,
        in_features,
        out_features,
        weight_attr=None,
        has_bias=None,
        gather_output=True,
        fuse_matmul_bias=False,
        mp_group=None,
        name=None,
    ):
        super().__init__(
            in_features, out_features, weight_attr, has_bias, gather_output, fuse_matmul_bias, mp_group, name
        )
        if not self.is_mp:
            raise errors.ValueError_("ColumnSequenceParallelLinear: mp_degree must be at least 2, got 1")
        if gather_output:
            raise errors.ValueError_("ColumnSequenceParallelLinear: gather_output must be False, got True")
        self.recompute_allgather = fleet.fleet._user_defined_strategy.hybrid_configs["mp_configs"].recompute_allgather

    def forward(self, x: Tensor) -> Tensor:
        group = self.model_parallel_group
        if self.recompute_allgather:
            return SPInnerOverlapLinear.apply(x, self.weight, self.bias, False, True, False, group)
        return F.linear(AllGatherOp.apply(x, group), self.weight, self.bias)


class RowSequenceParallelLinear(RowParallelLinear):
    """`RowParallelLinear` whose output is this process's part of the sequence: [length, batch, in_features / processes]
    -> [length / processes, batch, out_features].

    Args:
        in_features: length of the last axis of the whole input, divisible by the number of processes.
        out_features: length of the last axis of the output.
        weight_attr: ParamAttr of the part of the weight.
        has_bias: add a bias, the same in all processes. Each sees a part of the sequence only: it is marked, see
            `register_sequence_parallel_allreduce_hooks`.
        input_is_parallel: has to be True.
        fuse_matmul_bias: accepted; XLA fuses them anyway.
        mp_group: the processes, by default those of tensor parallelism.

    Raises:
        ValueError: `input_is_parallel=False`, a number that cannot be divided.
    """

    def __init__(
        self,
        in_features,
        out_features,
        weight_attr=None,
        has_bias=True,
        input_is_parallel=False,
        fuse_matmul_bias=False,
        mp_group=None,
        name=None,
    ):
        if not input_is_parallel:
            raise errors.ValueError_("RowSequenceParallelLinear: input_is_parallel must be True, got False")
        super().__init__(
            in_features, out_features, weight_attr, has_bias, input_is_parallel, fuse_matmul_bias, mp_group, name
        )
        if has_bias and self.is_mp:
            mark_as_sequence_parallel_parameter(self.bias)

    def forward(self, x: Tensor) -> Tensor:
        out = ReduceScatterOp.apply(F.linear(x, self.weight), self.model_parallel_group)
        return out if self.bias is None else out + self.bias
