"""Parts of a net whose forward and backward are called apart, for schedules of the user's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .....engine import autograd, errors
from .....engine.tensor import Tensor
from .p2p_communication import pack, unpack

__all__: list[str] = []


class ScheduleNode:
    """A part of a net with a tape of its own.

    Args:
        fwd_func: called with what `forward` gets, and with `labels` behind it where that attribute is set.
        name: for messages.

    The attribute `scale_loss_factor` is a number by which the output is divided.

    Example:
        >>> from paddle.distributed.fleet.meta_parallel import ScheduleNode
        >>> node = ScheduleNode(lambda x: x * x)
        >>> x = paddle.to_tensor([3.0], stop_gradient=False)
        >>> node.forward(x).item(), node.backward(paddle.ones([1])).item()
        (9.0, 6.0)
    """

    def __init__(self, fwd_func: Callable, name: str = ""):
        self.name, self.fwd_func = name, fwd_func
        self.labels: Any = None
        self.scale_loss_factor: Any = None
        self._reset_states()

    def _reset_states(self) -> None:
        self.inputs: Any = None
        self.outputs: Any = None
        self.labels = self.scale_loss_factor = None

    def forward(self, inputs: Any = (), **kwargs: Any) -> Any:
        """Call the function with copies of the inputs that begin a tape; the output is cut off from it, too."""
        self.inputs = _cut(inputs)
        more = () if self.labels is None else (self.labels,)
        outputs = self.fwd_func(self.inputs, *more, **kwargs)
        if self.scale_loss_factor is not None:
            outputs = outputs / self.scale_loss_factor
        self.outputs = outputs
        return _cut(outputs)

    def backward(self, output_grad: Any = None, scaler: Any = None) -> Any:
        """The gradients of the inputs that want one, given those of the outputs (None: the output is a loss, which a
        `scaler` scales). Raises RuntimeError before `forward`."""
        if self.outputs is None:
            raise errors.RuntimeError_(f"ScheduleNode {self.name}: call forward first")
        outputs, inputs = ([t for t in _flat(value) if not t.stop_gradient] for value in (self.outputs, self.inputs))
        if output_grad is None:
            roots = outputs if scaler is None else [scaler.scale(t) for t in outputs]
            gradients: list = [None] * len(roots)
        else:
            roots, gradients = outputs, list(output_grad) if isinstance(output_grad, (tuple, list)) else [output_grad]
        autograd.backward(roots, gradients)
        found = tuple(t.grad for t in inputs)
        self._reset_states()
        return found[0] if len(found) == 1 else found


class ScheduleChunk:
    """Several `ScheduleNode`s, one after the other.

    Raises:
        TypeError: something else.
    """

    def __init__(self, nodes: list):
        wrong = [n for n in nodes if not isinstance(n, (ScheduleNode, ScheduleChunk))]
        if wrong:
            raise errors.TypeError_(f"ScheduleChunk: nodes must be ScheduleNodes, got {errors.describe(wrong[0])}")
        self.nodes = nodes

    def forward(self, inputs: Any) -> Any:
        """The forward of all."""
        for node in self.nodes:
            inputs = node.forward(inputs)
        return inputs

    def backward(self, output_grad: Any) -> Any:
        """The backward of all."""
        for node in reversed(self.nodes):
            output_grad = node.backward(output_grad)
        return output_grad


def _flat(value: Any) -> list[Tensor]:
    tensors: list = []
    pack(value, tensors)
    return tensors


def _cut(value: Any) -> Any:
    """The same tensors as leaves."""
    tensors: list = []
    structure = pack(value, tensors)
    out = []
    for tensor in tensors:
        leaf = tensor.detach()
        leaf.stop_gradient = tensor.stop_gradient
        out.append(leaf)
    return unpack(structure, out)
