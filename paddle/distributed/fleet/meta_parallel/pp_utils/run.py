"""One batch going through a stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from .....amp import auto_cast
from .....engine import autograd, errors
from .....engine.modes import set_mode
from .....engine.tensor import Tensor, _make
from .....ops.joining import stack
from .hooks import PipelineParallelMicroStepLocations as Places
from .micro_batches import MicroBatches
from .p2p_communication import BACKWARD, FORWARD, RESULT, Transfers, pack, unpack
from .schedules import Ring, Step


class Record:
    """What is kept of a micro-batch between its forward and its backward: the inputs, which are leaves, and the roots of
    the tape. A root that was sent has no elements any more, only its place on the tape."""

    __slots__ = ("inputs", "roots", "postponed")

    def __init__(self, inputs: list[Tensor], roots: list[Tensor]):
        self.inputs, self.roots = inputs, roots
        self.postponed: list[Callable] | None = None


class BatchRun:
    """
    Args:
        pipeline: the PipelineParallel.
        batches: the data, None in a stage that needs none.
        transfers: None where one process has all stages.
        training: with gradients.
        scaler: a GradScaler or None.
        split_backward: leave the gradients of the weights to the steps "W".
    """

    def __init__(
        self,
        pipeline: Any,
        batches: MicroBatches | None,
        transfers: Transfers | None,
        training: bool,
        compute_loss: bool,
        scaler: Any = None,
        split_backward: bool = False,
    ):
        self.pipeline, self.batches, self.transfers = pipeline, batches, transfers
        self.training, self.compute_loss, self.scaler, self.split = training, compute_loss, scaler, split_backward
        self.layers = pipeline._layers
        self.stage = 0 if transfers is None else transfers.stage
        self.places = self.layers._places if transfers is not None else Ring(1, 1)
        self.own: dict[tuple[int, int, int], Any] = {}  # what goes from one part of this stage to another
        self.live: dict[tuple[int, int], Record] = {}
        self.peak = 0
        self.losses: list[list[Tensor]] = [[] for _ in self.layers._loss_fn]
        self.outputs: list[Any] = []

    def is_first(self, chunk: int) -> bool:
        return self.places.part(self.stage, chunk) == 0

    def is_last(self, chunk: int) -> bool:
        return self.places.part(self.stage, chunk) == self.places.parts - 1

    def _take(self, kind: int, part: int, micro: int) -> tuple[Any, list]:
        """What another part has handed on."""
        stage, chunk = self.places.owner(part)
        if stage == self.stage:
            return self.own.pop((kind, part, micro))
        return self.transfers.receive(stage, kind, chunk)  # type: ignore[union-attr]

    def _hand_on(self, kind: int, step: Step, to: int, structure: Any, arrays: list, stops: list[bool]) -> None:
        """Give arrays to another part."""
        stage, _ = self.places.owner(to)
        if stage != self.stage:
            self.transfers.send(stage, kind, step.chunk, structure, arrays, stops)  # type: ignore[union-attr]
            return
        tensors = [None if array is None else _make(array) for array in arrays]
        for tensor, stop in zip(tensors, stops):
            if tensor is not None:
                tensor.stop_gradient = stop
        self.own[kind, self.places.part(self.stage, step.chunk), step.micro] = structure, tensors

    def __call__(self, step: Step) -> None:
        {"F": self.forward, "B": self.backward, "W": self.weights}[step.kind](step)

    # ---- forward ----
    def forward(self, step: Step) -> None:
        _, micro, chunk = step
        call = self.pipeline.callbacks.on_location
        received: list[Tensor] = []
        if self.is_first(chunk):
            given = self.batches.inputs(micro)  # type: ignore[union-attr]
        else:
            structure, received = self._take(FORWARD, self.places.part(self.stage, chunk) - 1, micro)
            given = unpack(structure, received)
        call(Places.FORWARD_BEGIN, input_tensor=given, step_id=micro)
        output = self.layers(given, chunk_id=chunk if self.places.chunks > 1 else None)
        call(Places.FORWARD_END, input_tensor=given, output_tensor=output, step_id=micro)
        if self.is_last(chunk):
            roots = self._losses(output, micro) if self.compute_loss else []
            if not self.compute_loss:
                self.outputs.append(output)
        else:
            roots = self._send_forward(output, step)
        if self.training:
            self.live[micro, chunk] = Record([t for t in received if not t.stop_gradient], roots)
            self.peak = max(self.peak, len(self.live))

    def _losses(self, output: Any, micro: int) -> list[Tensor]:
        labels = self.batches.labels(micro)  # type: ignore[union-attr]
        roots = []
        for i, function in enumerate(self.layers._loss_fn):
            loss = function(output, labels)
            if not isinstance(loss, Tensor):
                raise errors.TypeError_(f"loss_fn must return a Tensor, got {errors.describe(loss)}")
            with auto_cast(enable=False):
                if self.pipeline.accumulate_steps > 1 and not self.pipeline._delay_scale_loss:
                    loss = loss / self.pipeline.accumulate_steps
            self.losses[i].append(loss.detach())
            if i == self.pipeline.loss_fn_idx and not loss.stop_gradient:
                roots.append(loss)
        return roots

    def _send_forward(self, output: Any, step: Step) -> list[Tensor]:
        tensors: list[Any] = []
        structure = pack(output, tensors)
        stops = [t.stop_gradient or not self.training for t in tensors]
        arrays = [t._value for t in tensors]
        self._hand_on(FORWARD, step, self.places.part(self.stage, step.chunk) + 1, structure, arrays, stops)
        return [_hollow(t) for t, stop in zip(tensors, stops) if not stop]

    # ---- backward ----
    def backward(self, step: Step) -> None:
        _, micro, chunk = step
        part = self.places.part(self.stage, chunk)
        record = self.live[micro, chunk] if self.split else self.live.pop((micro, chunk))
        call = self.pipeline.callbacks.on_location
        known = {"input_tensor": _plain(record.inputs), "output_tensor": _plain(record.roots), "step_id": micro}
        with auto_cast(enable=False):
            gradients: list[Tensor | None] = []
            if not self.is_last(chunk) and record.roots:
                _, gradients = self._take(BACKWARD, part + 1, micro)
            call(Places.BACKWARD_BEGIN, output_tensor_grad=_plain(gradients), **known)
            roots = record.roots
            if self.is_last(chunk):
                if self.scaler is not None:
                    roots = [self.scaler.scale(loss) for loss in roots]
                gradients = [None] * len(roots)
            else:
                pairs = [(r, g) for r, g in zip(roots, gradients) if g is not None]
                roots, gradients = [r for r, _ in pairs], [g for _, g in pairs]
            if roots and self.split:
                record.postponed = autograd.backward_of_inputs(roots, gradients)
            elif roots:
                autograd.backward(roots, gradients)
            found = [t.grad for t in record.inputs]
            call(Places.BACKWARD_END, input_tensor_grad=_plain(found), output_tensor_grad=_plain(gradients), **known)
        record.roots = []
        if record.inputs:
            arrays = [None if g is None else g._value for g in found]
            self._hand_on(BACKWARD, step, part - 1, None, arrays, [True] * len(arrays))
        record.inputs = []

    def weights(self, step: Step) -> None:
        record = self.live.pop((step.micro, step.chunk))
        if record.postponed is not None:
            with auto_cast(enable=False):
                autograd.backward_of_weights(record.postponed)

    # ---- results ----
    def loss(self, each: bool) -> Any:
        """The loss of the batch (`each`: of every micro-batch), in all stages that of the last one."""
        source = self.places.owner(self.places.parts - 1)[0]
        results: list[Tensor] = []
        if self.stage == source:
            with set_mode(grad=False), auto_cast(enable=False):
                for losses in self.losses:
                    if each:
                        results.append(stack([loss.reshape([]) if loss.size == 1 else loss for loss in losses]))
                        continue
                    total = losses[0]
                    for loss in losses[1:]:
                        total = total + loss
                    results.append(total / len(losses) if self.pipeline._delay_scale_loss else total)
        if self.transfers is not None:
            if self.stage == source:
                arrays = [t._value for t in results]
                for stage in range(self.places.stages):
                    if stage != source:
                        self.transfers.send(stage, RESULT, 0, None, arrays, [True] * len(arrays))
            else:
                _, results = self.transfers.receive(source, RESULT, 0)
        return results[0] if len(results) == 1 else results


def _hollow(tensor: Tensor) -> Tensor:
    """The place of a tensor on the tape, without its elements."""
    value = tensor._raw
    return _make(jax.ShapeDtypeStruct(value.shape, value.dtype), tensor._node, tensor._index, False)


def _plain(tensors: list) -> Any:
    """As officially: nothing, a tensor, or a tuple of them."""
    return None if not tensors else tensors[0] if len(tensors) == 1 else tuple(tensors)
