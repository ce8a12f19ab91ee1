"""When the gradients of the buckets travel: during the backward, or all before the optimizer's step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from .....engine import errors
from .....engine.modes import modes
from .....engine.tensor import Tensor
from ....communication.task import failure
from .buckets import Bucket, Unit


class Exchange:
    """The buckets of a model, in the order in which they are sent.

    `early`: send a bucket during the backward, as soon as all of its gradients are there, and drop them: only the shards'
    gradients stay. Otherwise the parameters keep the gradients of this process until the optimizer asks for the shards'.
    """

    def __init__(self, buckets: list[Bucket]):
        self.buckets = buckets
        self.early = False
        self.fresh = True  # gradients have come since the shards got theirs
        self._finishing: Any = None  # the list of the backward that runs
        self._started = 0
        self._arrived: tuple[Bucket, int] | None = None
        for bucket in buckets:
            for i, p in enumerate(bucket.params):
                if not p._stop:
                    p.register_hook(self._hook(bucket, i))

    def _hook(self, bucket: Bucket, number: int) -> Callable:
        def arrived(gradient: Tensor) -> None:
            if modes.program is not None:
                raise errors.NotImplemented_("sharding: gradients of several processes inside of to_static")
            self.fresh = True
            if self._finishing is not modes.finishing:  # the first one; an earlier backward may have failed
                self._begin()
            if self.early:
                self._settle()
                self._arrived = bucket, number

        return arrived

    def _begin(self) -> None:
        self._finishing, self._started, self._arrived = modes.finishing, 0, None
        for bucket in self.buckets:
            bucket.ready, bucket.sent = set(), False
        modes.finishing.append(self._finish)

    def _settle(self) -> None:
        """The gradient that arrived last is in its place now: send the buckets that are complete."""
        if self._arrived is None:
            return
        bucket, number = self._arrived
        self._arrived = None
        bucket.ready.add(number)
        while self._started < len(self.buckets):
            first = self.buckets[self._started]
            if len(first.ready) < sum(not p._stop for p in first.params):
                return
            self._send(first)
            self._started += 1

    def _send(self, bucket: Bucket) -> None:
        bucket.send()
        bucket.ready = set()
        for p in bucket.params:
            p._grad = None
        if isinstance(bucket, Unit):
            bucket.close()

    def _finish(self) -> None:
        """The end of the backward."""
        try:
            if self.early:
                self._settle()
                for bucket in self.buckets:
                    if (
                        not bucket.sent or bucket.ready
                    ):  # a gradient came after it was sent, from a part that is recomputed
                        self._send(bucket)
        except jax.errors.JaxRuntimeError as error:
            raise failure("sharding", error) from None
        finally:
            self._finishing = None
            for bucket in self.buckets:
                if isinstance(bucket, Unit):
                    bucket.close()

    def complete(self) -> None:
        """Give the shards the gradients that the parameters have."""
        if self.early or not self.fresh:
            return
        try:
            for bucket in self.buckets:
                for shard in bucket.shards:
                    if shard._grad is not None:
                        shard.clear_gradient(True)
                bucket.send()
        except jax.errors.JaxRuntimeError as error:
            raise failure("sharding", error) from None
        self.fresh = False

    def clear(self, set_to_zero: bool) -> None:
        for bucket in self.buckets:
            for tensor in (*bucket.params, *bucket.shards):
                tensor.clear_gradient(set_to_zero)
        self.fresh = True
