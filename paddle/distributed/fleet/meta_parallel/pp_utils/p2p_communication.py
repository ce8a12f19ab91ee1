"""Transfers between the stages of a pipeline: nested tensors as one message each.

They travel through the memories of the processes, by the mailbox of the job, on accelerators as well. A thread of its own
copies and sends, so that the stage computes on; what arrives is taken in by other threads, so that no send waits for a
receive and the stages may work in any order. What is constant (structure, shapes, types, which tensors want gradients) is
sent with the first message of a channel and when it changes.

Each message has the number of its batch. A stage that fails tells so to its neighbours, which raise an error in turn; what
is left of that batch is recognized by its number later and thrown away.
"""

from __future__ import annotations

import multiprocessing.util
import queue
import threading
import time
from typing import Any

import jax.numpy as jnp
import numpy as np

from .....engine import errors
from .....engine.tensor import Tensor, _make
from .... import world
from ....communication.group import Group
from ....communication.point_to_point import array_of
from ....mailbox import ALIGNED

FORWARD, BACKWARD, RESULT = range(3)
PATIENCE = 5.0  # seconds that a process waits at its end for what it sends
_CHANNELS = 4 << 40  # of the mailbox; behind it the group, the part and one of the three


class StageFailed(RuntimeError):
    """Another stage of the pipeline raised an error."""


def pack(value: Any, tensors: list[Tensor | None]) -> Any:
    """The structure of nested tensors, as JSON can say it; the tensors are added to a list."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return {"tensor": len(tensors) - 1}
    if isinstance(value, (tuple, list)):
        return {type(value).__name__ if type(value) is list else "tuple": [pack(v, tensors) for v in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": [[key, pack(v, tensors)] for key, v in value.items()]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    raise errors.TypeError_(
        "pipeline: what a stage hands on must be tensors, numbers and strings in tuples, lists and dicts, "
        f"got {errors.describe(value)}"
    )


def unpack(structure: Any, tensors: list) -> Any:
    """The inverse of `pack`."""
    ((kind, inner),) = structure.items()
    if kind == "tensor":
        return tensors[inner]
    if kind == "value":
        return inner
    if kind == "dict":
        return {key: unpack(v, tensors) for key, v in inner}
    return (list if kind == "list" else tuple)(unpack(v, tensors) for v in inner)


class Transfers:
    """The transfers of this process within one line of stages, a group.

    Attributes: `sent` and `described`, how many messages were sent, and how many of them had a description.
    """

    def __init__(self, group: Group):
        self.group = group
        self.stage, self.stages = group.rank, group.nranks
        self.batch = 0
        self.cache = True  # whether descriptions are sent once only
        self.sent = self.described = 0
        self._said: dict[tuple[int, int], Any] = {}  # what was described last, by receiver and channel
        self._heard: dict[tuple[int, int], Any] = {}
        self._waiting: dict[tuple[int, int], int] = {}  # tickets whose message did not come yet
        self._jobs: queue.Queue = queue.Queue()
        self._error: Exception | None = None
        self._thread: threading.Thread | None = None

    def _channel(self, kind: int, chunk: int) -> int:
        return _CHANNELS + (self.group.id << 12) + 4 * chunk + kind

    def begin(self) -> None:
        """A batch begins."""
        self.batch += 1
        self._error = None

    def forget(self) -> None:
        """Describe everything again."""
        self._said.clear()

    # ---- sending ----
    def send(self, stage: int, kind: int, chunk: int, structure: Any, arrays: list, stops: list[bool]) -> None:
        """Send arrays (None where there is none) to a stage; returns at once."""
        self._raise()
        if self._thread is None:
            self._thread = threading.Thread(target=self._send_all, daemon=True, name="pipeline sends")
            self._thread.start()
            multiprocessing.util.Finalize(None, self._leave, exitpriority=0)  # before the world says goodbye
        self._jobs.put((stage, kind, chunk, self.batch, structure, arrays, stops))

    def _send_all(self) -> None:
        while True:
            job = self._jobs.get()
            try:
                if self._error is None:
                    self._send(*job)
            except Exception as error:
                self._error = error
            finally:
                del job  # and with it the arrays
                self._jobs.task_done()

    def _send(self, stage: int, kind: int, chunk: int, batch: int, structure: Any, arrays: list, stops: list) -> None:
        to, channel = self.group.ranks[stage], self._channel(kind, chunk)
        values = [None if a is None else np.ascontiguousarray(a) for a in arrays]
        shapes = [None if a is None else [list(np.shape(a)), v.dtype.name, s] for a, v, s in zip(arrays, values, stops)]
        about: dict[str, Any] = {"batch": batch}
        if not self.cache or self._said.get((to, channel)) != (structure, shapes):
            about["what"] = structure, shapes
            self.described += 1
        parts = []
        for value in values:
            if value is not None:
                parts += [memoryview(value.reshape(-1).view(np.uint8)), bytes(-value.nbytes % ALIGNED)]
        world.current().mailbox.send(to, channel, about, parts)
        self._said[to, channel] = structure, shapes
        self.sent += 1

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def finish(self) -> None:
        """Wait until everything is sent."""
        self._jobs.join()
        self._raise()

    def _leave(self) -> None:
        """The process ends: what is on the way still goes, as far as somebody takes it."""
        end = time.monotonic() + PATIENCE
        while self._jobs.unfinished_tasks and time.monotonic() < end:
            time.sleep(0.01)

    def fail(self, error: Exception, chunks: int) -> None:
        """Tell the neighbours that this stage failed."""
        self._jobs.join()
        if isinstance(error, StageFailed):
            text = str(error)
        else:
            text = (
                f"stage {self.stage} of the pipeline (rank {self.group.ranks[self.stage]}) failed: "
                f"{type(error).__name__}: {error}"
            )
        about = {"batch": self.batch, "error": text}
        for stage in range(self.stages):
            near = stage in ((self.stage - 1) % self.stages, (self.stage + 1) % self.stages)
            if stage == self.stage:
                continue
            channels = [(RESULT, 0)] + [(k, c) for k in (FORWARD, BACKWARD) for c in range(chunks) if near]
            for kind, chunk in channels:
                try:
                    world.current().mailbox.send(self.group.ranks[stage], self._channel(kind, chunk), about, b"")
                except RuntimeError:  # that process has ended, too
                    break

    # ---- receiving ----
    def receive(self, stage: int, kind: int, chunk: int) -> tuple[Any, list]:
        """(structure, tensors), the next message of a stage; tensors that want gradients are leaves. Waits for it."""
        self._raise()
        box, channel, rank = world.current().mailbox, self._channel(kind, chunk), self.group.ranks[stage]
        key = rank, channel
        while True:
            ticket = self._waiting.pop(key, None)
            if ticket is None:
                ticket = box.ticket(rank, channel)
            try:
                about, contents = box.receive(rank, channel, ticket, self.group.timeout)
            except (RuntimeError, TimeoutError) as error:
                self._waiting[key] = ticket
                what = ("the output", "the gradients", "the loss")[kind]
                error.args = (f"{error} (stage {self.stage} waits for {what} of stage {stage})",)
                raise
            if "what" in about:
                self._heard[key] = about["what"]
            if about["batch"] < self.batch:  # of one that failed
                continue
            if about["batch"] > self.batch:
                raise errors.RuntimeError_(
                    f"pipeline: stage {stage} (rank {rank}) is in another batch than stage {self.stage}; all stages must make "
                    "the same calls, with the same accumulate_steps"
                )
            if "error" in about:
                raise StageFailed(f"(PreconditionNotMet) {about['error'].removeprefix('(PreconditionNotMet) ')}")
            structure, shapes = self._heard[key]
            return structure, _tensors(shapes, contents)


def _tensors(shapes: list, contents: Any) -> list:
    out, start = [], 0
    for described in shapes:
        if described is None:
            out.append(None)
            continue
        shape, name, stop = described
        dtype = jnp.dtype(name)
        size = int(np.prod(shape, dtype=int)) * dtype.itemsize
        value = np.frombuffer(contents, dtype, size // dtype.itemsize, start).reshape(shape)
        start += size + -size % ALIGNED
        tensor = _make(array_of(value))
        tensor.stop_gradient = stop
        out.append(tensor)
    return out


_transfers: dict[int, Transfers] = {}


def transfers_of(group: Group) -> Transfers:
    """The transfers of a group; models that share it share them."""
    found = _transfers.get(group.id)
    if found is None or found.group is not group:
        found = _transfers[group.id] = Transfers(group)
    return found
