"""Decoding step by step: the interface of decoders, their loop, and beam search."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import errors
from ..engine.op import op
from ..engine.tensor import Tensor
from ..engine.value import ABSTRACT
from ..ops.creation import full, zeros
from ..ops.expansion import repeat_interleave
from ..ops.joining import stack
from ..ops.selection import where
from ..ops.sequence import gather_tree
from ..utils.structure import flatten, map_structure

_IMPOSSIBLE = -1e9  # the log probability that stands for zero


class Decoder(errors.Explains):
    """What `dynamic_decode` runs; a subclass defines the three methods.

    Example:
        >>> class Count(paddle.nn.decode.Decoder):
        ...     def initialize(self, inits):
        ...         return inits, inits, inits > 3
        ...     def step(self, time, inputs, states, **kwargs):
        ...         return inputs, inputs + 1, inputs + 1, inputs > 1
        >>> paddle.nn.dynamic_decode(Count(), paddle.to_tensor([0, 1]))[0].tolist()
        [[0, 1, 2], [1, 2, 3]]
    """

    def initialize(self, inits):
        """(inputs, states, finished) of the first step; `finished` is a bool tensor."""
        raise errors.NotImplemented_(f"{type(self).__name__} does not define initialize()")

    def step(self, time, inputs, states, **kwargs):
        """(outputs, new states, inputs of the next step, finished). `time` is an int64 tensor of shape [1]."""
        raise errors.NotImplemented_(f"{type(self).__name__} does not define step()")

    def finalize(self, outputs, final_states, sequence_lengths):
        """(outputs, states) to return, from the outputs of all steps, stacked along the first axis."""
        raise errors.NotImplemented_(f"{type(self).__name__} does not define finalize()")

    @property
    def tracks_own_finished(self):
        """Whether `finished` of a step takes over what was finished before; beams that change places need it."""
        return False


@op(method=False, export=False, name="beam_search_step")
def _search(logits, log_probs, finished, lengths, end_token):
    """The best continuations of all beams: (scores, tokens, beams that they continue, finished, lengths)."""
    if logits.ndim != 3:
        raise errors.ValueError_(
            f"BeamSearchDecoder: the logits must be [batch, beams, vocabulary], got shape {list(logits.shape)}"
        )
    beams, vocabulary = logits.shape[1:]
    if not 0 <= end_token < vocabulary:
        raise errors.ValueError_(
            f"BeamSearchDecoder: end_token must be in the vocabulary of {vocabulary}, got {end_token}"
        )
    step = jax.nn.log_softmax(logits, -1)
    end = jnp.where(jnp.arange(vocabulary) == end_token, 0, _IMPOSSIBLE).astype(step.dtype)
    total = jnp.where(finished[..., None], end, step) + log_probs[..., None].astype(step.dtype)
    scores, place = jax.lax.top_k(total.reshape(len(total), -1), beams)
    parents, tokens = place // vocabulary, place % vocabulary
    finished, lengths = (jnp.take_along_axis(a, parents, 1) for a in (finished, lengths))
    lengths = lengths + (1 - finished.astype(lengths.dtype))
    return scores, tokens.astype(np.int64), parents.astype(np.int64), finished | (tokens == end_token), lengths


@op(method=False, export=False, name="gather_beams")
def _gather(x, beams):
    return jnp.take_along_axis(x, beams.reshape(beams.shape + (1,) * (x.ndim - 2)), 1)


class BeamSearchDecoder(Decoder):
    """Beam search with the log probability of the whole sequence as score (no length penalty).

    Args:
        cell: called with inputs [batch * beams, ...] and states, returns (outputs, new states); an RNNCellBase or
            another callable.
        start_token, end_token: ints.
        beam_size: number of beams.
        embedding_fn: makes inputs of the tokens [batch, beams]; they are the inputs themselves when None.
        output_fn: makes logits [batch, beams, vocabulary] of the outputs of the cell, if those are not logits.

    Raises:
        ValueError: a beam size that is not positive, an end token outside of the vocabulary.

    Example:
        >>> cell, embed, out = paddle.nn.GRUCell(4, 4), paddle.nn.Embedding(6, 4), paddle.nn.Linear(4, 6)
        >>> decoder = paddle.nn.BeamSearchDecoder(cell, 0, 1, 2, embed, out)
        >>> ids, states, lengths = paddle.nn.dynamic_decode(decoder, paddle.zeros([3, 4]), 2, return_length=True)
        >>> lengths.shape
        [3, 2]
    """

    OutputWrapper = namedtuple("OutputWrapper", ("scores", "predicted_ids", "parent_ids"))
    StateWrapper = namedtuple("StateWrapper", ("cell_states", "log_probs", "finished", "lengths"))

    def __init__(self, cell, start_token, end_token, beam_size, embedding_fn=None, output_fn=None):
        if int(beam_size) < 1:
            raise errors.ValueError_(f"BeamSearchDecoder: beam_size must be positive, got {beam_size}")
        self.cell, self.embedding_fn, self.output_fn = cell, embedding_fn, output_fn
        self.start_token, self.end_token, self.beam_size = int(start_token), int(end_token), int(beam_size)

    @staticmethod
    def tile_beam_merge_with_batch(x, beam_size):
        """Repeat each element of the batch for its beams: [batch, ...] becomes [batch * beam_size, ...].

        Example:
            >>> paddle.nn.BeamSearchDecoder.tile_beam_merge_with_batch(paddle.to_tensor([1, 2]), 2).tolist()
            [1, 1, 2, 2]
        """
        return repeat_interleave(x, beam_size, 0)

    def _split(self, x: Tensor) -> Tensor:
        return x.reshape([-1, self.beam_size, *x.shape[1:]])

    @staticmethod
    def _merge(x: Tensor) -> Tensor:
        return x.reshape([-1, *x.shape[2:]])

    def _inputs(self, ids: Tensor) -> Any:
        return ids if self.embedding_fn is None else self.embedding_fn(ids)

    def initialize(self, initial_cell_states):
        """(inputs, states, finished) of the first step, from states of the cell without beams."""
        parts = flatten(initial_cell_states)
        if not all(isinstance(each, Tensor) and each.ndim for each in parts):
            raise errors.TypeError_(
                "BeamSearchDecoder: initial states must be Tensors with the batch in front, got "
                f"{errors.describe(initial_cell_states)}"
            )
        batch, beams = parts[0].shape[0], self.beam_size
        states = map_structure(lambda x: self._split(self.tile_beam_merge_with_batch(x, beams)), initial_cell_states)
        # All beams are equal at first, so that only one of them may be continued.
        log_probs = Tensor(np.tile(np.array([0.0] + [_IMPOSSIBLE] * (beams - 1), "float32"), (batch, 1)))
        finished = zeros([batch, beams], "bool")
        ids = full([batch, beams], self.start_token, "int64")
        lengths = zeros([batch, beams], "int64")
        return self._inputs(ids), self.StateWrapper(states, log_probs, finished, lengths), finished

    def step(self, time, inputs, states, **kwargs):
        """One step of all beams: (OutputWrapper, StateWrapper, inputs of the next step, finished)."""
        inputs, cell_states = map_structure(self._merge, (inputs, states.cell_states))
        outputs, cell_states = self.cell(inputs, cell_states, **kwargs)
        outputs = map_structure(self._split, outputs)
        logits = outputs if self.output_fn is None else self.output_fn(outputs)
        scores, ids, parents, finished, lengths = _search(logits, *states[1:], self.end_token)
        cell_states = map_structure(lambda x: _gather(self._split(x), parents), cell_states)
        state = self.StateWrapper(cell_states, scores, finished, lengths)
        return self.OutputWrapper(scores, ids, parents), state, self._inputs(ids), finished

    def finalize(self, outputs, final_states, sequence_lengths):
        """(the tokens [time, batch, beams] of each beam from first to last, final states)."""
        return gather_tree(outputs.predicted_ids, outputs.parent_ids), final_states

    @property
    def tracks_own_finished(self):
        return True


@errors.clean
def dynamic_decode(
    decoder,
    inits=None,
    max_step_num=None,
    output_time_major=False,
    impute_finished=False,
    is_test=False,
    return_length=False,
    **kwargs,
):
    """Run a decoder until all is finished.

    Args:
        decoder: a Decoder.
        inits: what its `initialize` gets.
        max_step_num: stop after this step, the first is 0. Inside a compiled function, where the number of steps cannot
            depend on data, all of them are made.
        output_time_major: outputs as [time, batch, ...] instead of [batch, time, ...].
        impute_finished: what is finished keeps its states (for decoders that do not track it themselves).
        is_test: accepted, without effect.
        return_length: return the lengths of the sequences, too.
        kwargs: given to the decoder's `step`.

    Returns:
        (outputs, final states), and the lengths with `return_length`.

    Raises:
        ValueError: everything is finished before the first step.

    Example:
        >>> decoder = paddle.nn.BeamSearchDecoder(lambda x, h: (h, h), 0, 1, beam_size=2)
        >>> ids, _ = paddle.nn.dynamic_decode(decoder, paddle.to_tensor([[0.0, 5.0, 1.0]]), max_step_num=4)
        >>> ids.tolist()
        [[[1, 2], [1, 1]]]
    """
    inputs, states, finished = decoder.initialize(inits)
    lengths = zeros(finished.shape, "int64")
    steps: list = []
    while not _all(finished, max_step_num):
        outputs, new_states, inputs, now = decoder.step(full([1], len(steps), "int64"), inputs, states, **kwargs)
        if decoder.tracks_own_finished:
            lengths = getattr(new_states, "lengths", lengths)
        else:
            now = now | finished
            lengths = lengths + (~now).astype("int64")
            if impute_finished:
                new_states = map_structure(lambda new, old, now=now: _keep(now, old, new), new_states, states)
        states, finished = new_states, now
        steps.append(outputs)
        if max_step_num is not None and len(steps) > max_step_num:
            break
    if not steps:
        raise errors.ValueError_("dynamic_decode: everything is finished before the first step")
    outputs = map_structure(lambda *each: stack(list(each)), *steps)
    try:
        outputs, states = decoder.finalize(outputs, states, lengths)
    except NotImplementedError:
        pass
    if not output_time_major:
        outputs = map_structure(lambda x: x.transpose([1, 0, *range(2, x.ndim)]), outputs)
    return (outputs, states, lengths) if return_length else (outputs, states)


def _all(finished: Tensor, max_step_num: int | None) -> bool:
    if isinstance(finished._value, ABSTRACT):
        if max_step_num is None:
            raise errors.RuntimeError_(
                "dynamic_decode: a compiled function needs max_step_num, as the number of steps cannot depend on data"
            )
        return False
    return bool(finished.all())


def _keep(finished: Tensor, old: Tensor, new: Tensor) -> Tensor:
    return where(finished.reshape(finished.shape + [1] * (new.ndim - finished.ndim)), old, new)
