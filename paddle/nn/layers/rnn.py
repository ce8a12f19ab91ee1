"""Recurrent layers: cells, their loop over time, and networks of several layers and directions."""

from __future__ import annotations

from typing import Any

from ...engine import errors
from ...engine.dtype import default_dtype
from ...engine.tensor import Tensor
from ...ops import recurrent
from ...ops.creation import full
from ...ops.joining import concat, stack
from ...ops.selection import where
from ...ops.sequence import sequence_mask
from ...utils.structure import flatten, map_structure, pack_sequence_as
from .. import functional as F
from ..container import LayerList
from ..initializer import Constant, Uniform
from ..layer import Layer
from ..parameter import ParamAttr


class RNNCellBase(Layer):
    """What RNN and the decoders call at every step; `forward(inputs, states)` returns (outputs, new states).

    A subclass defines `state_shape`, the shapes of its states without the batch.

    Example:
        >>> paddle.nn.GRUCell(2, 3).get_initial_states(paddle.ones([4, 2])).shape
        [4, 3]
    """

    def get_initial_states(self, batch_ref, shape=None, dtype=None, init_value=0.0, batch_dim_idx=0):
        """States to start from, filled with one value.

        Args:
            batch_ref: a tensor (or a structure whose first one is taken) with the batch at `batch_dim_idx`.
            shape: a shape or a structure of shapes without the batch (a leading -1 stands for it), by default
                `state_shape`.
            dtype: a type, or a structure of types like that of the shapes; by default `state_dtype`, else the type of
                `batch_ref` if that is floating.
            init_value: the value.

        Example:
            >>> paddle.nn.LSTMCell(2, 3).get_initial_states(paddle.ones([4, 2]), (5,)).shape
            [4, 5]
        """
        batch_ref = flatten(batch_ref)[0]
        batch = batch_ref.shape[batch_dim_idx]
        shape = self.state_shape if shape is None else shape
        if dtype is None:
            try:
                dtype = self.state_dtype
            except NotImplementedError:
                dtype = batch_ref.dtype if batch_ref.dtype.is_floating else default_dtype()

        def build(shape: Any, dtype: Any) -> Any:
            if isinstance(shape, dict):
                return {k: build(s, dtype[k] if isinstance(dtype, dict) else dtype) for k, s in shape.items()}
            if any(isinstance(s, (list, tuple, dict)) for s in shape):
                types = dtype if isinstance(dtype, (list, tuple)) else [dtype] * len(shape)
                if len(types) != len(shape):
                    raise errors.ValueError_(f"get_initial_states: {len(shape)} shapes but {len(types)} types")
                return type(shape)(build(s, t) for s, t in zip(shape, types))
            rest = shape[1:] if len(shape) and shape[0] == -1 else shape
            return full([batch, *rest], init_value, dtype)

        return build(shape, dtype)

    @property
    def state_shape(self):
        """The shapes of the states without the batch: a tuple of ints, or a structure of such tuples."""
        raise errors.NotImplemented_(f"{type(self).__name__} does not define state_shape")

    @property
    def state_dtype(self):
        """The types of the states, in a structure like that of the shapes."""
        raise errors.NotImplemented_(f"{type(self).__name__} does not define state_dtype")


class _Cell(RNNCellBase):
    """What the three built-in cells share: the parameters and the step."""

    _mode = ""

    def _setup(self, input_size: int, hidden_size: int, attrs: tuple, name: str | None, proj_size: int = 0) -> None:
        kind = type(self).__name__
        if hidden_size <= 0:
            raise errors.ValueError_(f"{kind}: hidden_size must be greater than 0, got {hidden_size}")
        if input_size < 0:
            raise errors.ValueError_(f"{kind}: input_size must not be negative, got {input_size}")
        if proj_size < 0:
            raise errors.ValueError_(f"{kind}: proj_size must not be negative, got {proj_size}")
        if proj_size >= hidden_size:
            raise errors.ValueError_(
                f"{kind}: proj_size must be smaller than hidden_size, got {proj_size} and {hidden_size}"
            )
        self.input_size, self.hidden_size, self._name = input_size, hidden_size, name
        rows = recurrent.CELLS[self._mode].gates * hidden_size
        bound = hidden_size**-0.5

        def parameter(shape: list[int], attr: Any, is_bias: bool = False) -> Any:
            # Officially a parameter that is switched off is a frozen one, and part of the state.
            if attr is False:
                attr = ParamAttr(initializer=Constant(0.0 if is_bias else 1.0), trainable=False)
            return self.create_parameter(shape, attr, is_bias=is_bias, default_initializer=Uniform(-bound, bound))

        weight_ih, weight_hh, bias_ih, bias_hh = attrs
        self.weight_ih = parameter([rows, input_size], weight_ih)
        self.weight_hh = parameter([rows, proj_size or hidden_size], weight_hh)
        self.bias_ih = parameter([rows], bias_ih, True)
        self.bias_hh = parameter([rows], bias_hh, True)
        if proj_size:
            self.weight_ho = parameter([hidden_size, proj_size], weight_hh)

    def _weights(self) -> list:
        return [self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, getattr(self, "weight_ho", None)]

    def _plain(self) -> bool:
        """Whether a whole sequence may go through the operator instead of a step at a time through `forward`."""
        hooked = self._forward_pre_hooks or self._forward_post_hooks
        return not hooked and type(self).forward in (_Cell.forward, LSTMCell.forward)

    def forward(self, inputs, states=None):
        (out,) = recurrent.rnn_step(inputs, None if states is None else [states], self._weights(), self._mode)
        return out, out

    @property
    def state_shape(self):
        return (self.hidden_size,)

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}"


class SimpleRNNCell(_Cell):
    """h' = act(W_ih x + b_ih + W_hh h + b_hh) (Elman, 1990).

    Args:
        input_size, hidden_size: lengths of x and h.
        activation: "tanh" or "relu".
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr: of the parameters `weight_ih` [hidden, input],
            `weight_hh` [hidden, hidden] and the biases; by default uniform in +-1 / sqrt(hidden). False freezes weights
            at one, biases at zero.

    Returns:
        Called with inputs [batch, input] and the state [batch, hidden] (zero by default): (h', h').

    Raises:
        ValueError: a size that is not positive, an unknown activation, inputs that do not fit.

    Example:
        >>> y, h = paddle.nn.SimpleRNNCell(2, 3)(paddle.ones([4, 2]))
        >>> y.shape
        [4, 3]
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        activation="tanh",
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        super().__init__()
        if activation not in ("tanh", "relu"):
            raise errors.ValueError_(f"SimpleRNNCell: activation must be 'tanh' or 'relu', got {activation!r}")
        self.activation = activation
        self._mode = f"RNN_{activation.upper()}"
        self._setup(input_size, hidden_size, (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr), name)

    def extra_repr(self):
        return super().extra_repr() + ("" if self.activation == "tanh" else f", activation={self.activation}")


class LSTMCell(_Cell):
    """c' = f c + i g, h' = o tanh(c') with the gates i, f, o = sigmoid and g = tanh of W_ih x + b_ih + W_hh h + b_hh
    (Hochreiter and Schmidhuber, 1997); with a projection h' is multiplied by W_ho (Sak et al., 2014).

    Args:
        input_size, hidden_size: lengths of x and c.
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr: see SimpleRNNCell; the rows of the parameters are
            the gates i, f, g, o one below the other.
        proj_size: length of h, when it is to be projected by `weight_ho` [hidden, proj_size].

    Returns:
        Called with inputs [batch, input] and the states (h, c) (zero by default): (h', (h', c')).

    Example:
        >>> y, (h, c) = paddle.nn.LSTMCell(2, 3)(paddle.ones([4, 2]))
        >>> y.shape, c.shape
        ([4, 3], [4, 3])
    """

    _mode = "LSTM"

    def __init__(
        self,
        input_size,
        hidden_size,
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        proj_size=0,
        name=None,
    ):
        super().__init__()
        attrs = weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr
        self._setup(input_size, hidden_size, attrs, name, proj_size)
        self.proj_size = proj_size

    def forward(self, inputs, states=None):
        if states is not None and not isinstance(states, (list, tuple)):
            raise errors.TypeError_(f"LSTMCell: states must be a tuple (h, c), got {errors.describe(states)}")
        h, c = recurrent.rnn_step(inputs, None if states is None else list(states), self._weights(), self._mode)
        return h, (h, c)

    @property
    def state_shape(self):
        return (self.proj_size or self.hidden_size,), (self.hidden_size,)


class GRUCell(_Cell):
    """h' = z h + (1 - z) c, with r, z = sigmoid(W_ih x + b_ih + W_hh h + b_hh) and c = tanh(W_ih x + b_ih + r (W_hh h +
    b_hh)) (Cho et al., 2014, with the reset gate behind the product).

    Args:
        input_size, hidden_size: lengths of x and h.
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr: see SimpleRNNCell; the rows of the parameters are r,
            z, c one below the other.

    Returns:
        Called with inputs [batch, input] and the state [batch, hidden] (zero by default): (h', h').

    Example:
        >>> y, h = paddle.nn.GRUCell(2, 3)(paddle.ones([4, 2]))
        >>> y.shape
        [4, 3]
    """

    _mode = "GRU"

    def __init__(
        self,
        input_size,
        hidden_size,
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        super().__init__()
        self._setup(input_size, hidden_size, (weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr), name)


def _loop(cell: Layer, inputs: Any, states: Any, lengths: Any, reverse: bool, time_major: bool, kwargs: dict) -> tuple:
    """Any cell over time, a step at a time."""
    axis = 0 if time_major else 1
    parts = flatten(inputs)
    time = parts[0].shape[axis]
    if not time:
        raise errors.ValueError_(f"RNN: the input has no steps, its shape is {list(parts[0].shape)}")
    if states is None:
        states = cell.get_initial_states(inputs, batch_dim_idx=1 - axis)
    steps = list(zip(*(part.unbind(axis) for part in parts)))
    masks: Any = [None] * time if lengths is None else sequence_mask(lengths, time, "bool").unbind(1)
    outputs = []
    for t in range(time - 1, -1, -1) if reverse else range(time):
        out, new = cell(pack_sequence_as(inputs, steps[t]), states, **kwargs)
        states = new if masks[t] is None else _advance(masks[t], new, states)
        outputs.append(out)
    outputs = outputs[::-1] if reverse else outputs
    return map_structure(lambda *each: stack(list(each), axis), *outputs), states


def _advance(seen: Tensor, new: Any, old: Any) -> Any:
    """The new states of the sequences that are not over yet, the old ones of the others."""
    return map_structure(lambda n, o: where(seen.reshape([-1] + [1] * (n.ndim - 1)), n, o), new, old)


class RNN(Layer):
    """A cell over time.

    Args:
        cell: an RNNCellBase, or any layer with `forward(inputs, states)` and `get_initial_states`.
        is_reverse: run from the end to the beginning.
        time_major: the input is [time, batch, ...] instead of [batch, time, ...].

    Called with `inputs` (a tensor, or a structure of tensors for a cell that takes one), `initial_states`,
    `sequence_length` (int32 or int64, shape [batch]: behind its end a sequence keeps its state) and keyword arguments
    for the cell, it returns (outputs, final states).

    Example:
        >>> y, h = paddle.nn.RNN(paddle.nn.GRUCell(2, 3))(paddle.ones([4, 5, 2]))
        >>> y.shape, h.shape
        ([4, 5, 3], [4, 3])
    """

    def __init__(self, cell, is_reverse=False, time_major=False):
        super().__init__()
        if not isinstance(cell, Layer):
            raise errors.TypeError_(f"RNN: cell must be a Layer, got {errors.describe(cell)}")
        self.cell, self.is_reverse, self.time_major = cell, is_reverse, time_major

    def forward(self, inputs, initial_states=None, sequence_length=None, **kwargs):
        return _unroll(self.cell, inputs, initial_states, sequence_length, self.is_reverse, self.time_major, kwargs)


def _unroll(
    cell: Layer, inputs: Any, states: Any, lengths: Any, reverse: bool, time_major: bool, kwargs: dict
) -> tuple:
    """A cell over time: (outputs, final states in the form that the cell gives them)."""
    if kwargs or not isinstance(cell, _Cell) or not cell._plain() or not isinstance(inputs, Tensor):
        return _loop(cell, inputs, states, lengths, reverse, time_major, kwargs)
    given = None if states is None else list(states) if isinstance(states, (list, tuple)) else [states]
    out, *last = recurrent.rnn(inputs, given, cell._weights(), lengths, cell._mode, reverse, time_major, False)
    return out, last[0] if len(last) == 1 else tuple(last)


class BiRNN(Layer):
    """Two cells over time, one forward and one backward; the outputs are concatenated.

    Args:
        cell_fw, cell_bw: the cells, see RNN.
        time_major: the input is [time, batch, ...] instead of [batch, time, ...].

    Called with `inputs`, `initial_states` (a pair), `sequence_length` and keyword arguments for the cells, it returns
    (outputs, (final states forward, final states backward)).

    Raises:
        ValueError: cells with different input sizes, initial states that are no pair.

    Example:
        >>> layer = paddle.nn.BiRNN(paddle.nn.GRUCell(2, 3), paddle.nn.GRUCell(2, 3))
        >>> y, (forward, backward) = layer(paddle.ones([4, 5, 2]))
        >>> y.shape
        [4, 5, 6]
    """

    def __init__(self, cell_fw, cell_bw, time_major=False):
        super().__init__()
        for cell in (cell_fw, cell_bw):
            if not isinstance(cell, Layer):
                raise errors.TypeError_(f"BiRNN: a cell must be a Layer, got {errors.describe(cell)}")
        sizes = getattr(cell_fw, "input_size", None), getattr(cell_bw, "input_size", None)
        if None not in sizes and sizes[0] != sizes[1]:
            raise errors.ValueError_(f"BiRNN: both cells must have one input size, got {sizes[0]} and {sizes[1]}")
        self.cell_fw, self.cell_bw, self.time_major = cell_fw, cell_bw, time_major

    def forward(self, inputs, initial_states=None, sequence_length=None, **kwargs):
        states = (None, None) if initial_states is None else initial_states
        if not isinstance(states, (list, tuple)) or len(states) != 2:
            raise errors.ValueError_(
                f"BiRNN: initial_states must be a pair (forward, backward), got {errors.describe(initial_states)}"
            )
        forward, last_fw = _unroll(self.cell_fw, inputs, states[0], sequence_length, False, self.time_major, kwargs)
        backward, last_bw = _unroll(self.cell_bw, inputs, states[1], sequence_length, True, self.time_major, kwargs)
        return map_structure(lambda f, b: concat([f, b], -1), forward, backward), (last_fw, last_bw)


class _Network(LayerList):
    """Layers of built-in cells in one or two directions; the layers are RNN or BiRNN.

    Besides their places in the layers (`0.cell.weight_ih`), the parameters have flat names (`weight_ih_l0`,
    `weight_ih_l0_reverse`), and the state holds both.
    """

    def _setup(
        self,
        make: Any,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        direction: str,
        time_major: bool,
        dropout: float,
        attrs: tuple,
        proj_size: int = 0,
    ) -> None:
        kind = type(self).__name__
        if direction not in ("forward", "bidirect", "bidirectional"):
            raise errors.ValueError_(
                f"{kind}: direction must be 'forward' or 'bidirect' (or 'bidirectional'), got {direction!r}"
            )
        if num_layers < 1:
            raise errors.ValueError_(f"{kind}: num_layers must be positive, got {num_layers}")
        if not 0 <= dropout <= 1:
            raise errors.ValueError_(f"{kind}: dropout must be between 0 and 1, got {dropout}")
        self.input_size, self.hidden_size, self.proj_size = input_size, hidden_size, proj_size
        self.num_layers, self.time_major, self.dropout = num_layers, time_major, dropout
        self.num_directions = 1 if direction == "forward" else 2
        for i in range(num_layers):
            size = input_size if i == 0 else (proj_size or hidden_size) * self.num_directions
            cells: Any = [make(size) for _ in range(self.num_directions)]
            self.append(RNN(cells[0], False, time_major) if len(cells) == 1 else BiRNN(cells[0], cells[1], time_major))
        self.mode = self._cells()[0]._mode
        self.state_components = recurrent.CELLS[self.mode].states
        kinds = [n for n, attr in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), attrs) if attr is not False]
        suffixes = ("", "_reverse")[: self.num_directions]
        names = [f"{n}_l{i}{suffix}" for i in range(num_layers) for suffix in suffixes for n in kinds]
        # Officially the names are dealt out in the order of the parameters, also where a projection or a frozen
        # parameter shifts them. Checkpoints have them like that.
        for name, parameter in zip(names, self.parameters()):
            setattr(self, name, parameter)

    def _cells(self) -> list[_Cell]:
        """The cells, layer by layer, the forward one first."""
        names = ("cell",) if self.num_directions == 1 else ("cell_fw", "cell_bw")
        return [getattr(layer, name) for layer in self for name in names]

    def flatten_parameters(self):
        """Without effect: the compiler lays out the memory."""

    def _initial(self, states: Any) -> list:
        """For each cell its list of states, or None."""
        n = self.num_layers * self.num_directions
        if states is None:
            return [None] * n
        states = list(states) if isinstance(states, (list, tuple)) else [states]
        kind = type(self).__name__
        if len(states) != self.state_components:
            raise errors.ValueError_(
                f"{kind}: initial_states must be {self.state_components} tensors, got {len(states)}"
            )
        for state in states:
            if not isinstance(state, Tensor) or state.ndim != 3 or state.shape[0] != n:
                raise errors.ValueError_(
                    f"{kind}: initial_states must have shape [{n}, batch, size] (layers times "
                    f"directions), got {errors.describe(state)}"
                )
        return [list(each) for each in zip(*(state.unbind(0) for state in states))]

    def forward(self, inputs, initial_states=None, sequence_length=None):
        """Run the network.

        Args:
            inputs: shape [batch, time, input], or [time, batch, input] with `time_major`.
            initial_states: shape [layers * directions, batch, size]; zeros when None.
            sequence_length: lengths of the sequences, int32 or int64, shape [batch].

        Returns:
            (outputs of the last layer, final states).
        """
        initial = self._initial(initial_states)
        final, cells = [], self._cells()
        padded = not self.proj_size  # officially the outputs of a projecting network are not cleared
        for i in range(self.num_layers):
            if i and self.dropout:
                inputs = F.dropout(inputs, self.dropout, training=self.training)
            outputs = []
            for d in range(self.num_directions):
                k = i * self.num_directions + d
                out, *last = recurrent.rnn(
                    inputs, initial[k], cells[k]._weights(), sequence_length, self.mode, d == 1, self.time_major, padded
                )
                outputs.append(out)
                final.append(last)
            inputs = outputs[0] if len(outputs) == 1 else concat(outputs, -1)
        states = tuple(stack(list(each)) for each in zip(*final))
        return inputs, states[0] if len(states) == 1 else states

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.time_major:
            text += f", time_major={self.time_major}"
        return text + (f", dropout={self.dropout}" if self.dropout else "")


class SimpleRNN(_Network):
    """Layers of SimpleRNNCell; the arguments are those of LSTM, and `activation` "tanh" or "relu". The state is one
    tensor.

    Example:
        >>> y, h = paddle.nn.SimpleRNN(2, 3)(paddle.ones([4, 5, 2]))
        >>> y.shape, h.shape
        ([4, 5, 3], [1, 4, 3])
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        direction="forward",
        time_major=False,
        dropout=0.0,
        activation="tanh",
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        super().__init__()
        attrs = weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr
        self.activation = activation
        self._setup(
            lambda size: SimpleRNNCell(size, hidden_size, activation, *attrs),
            input_size,
            hidden_size,
            num_layers,
            direction,
            time_major,
            dropout,
            attrs,
        )


class LSTM(_Network):
    """Layers of LSTMCell; each layer and direction is one compiled loop.

    Args:
        input_size, hidden_size: lengths of the input and of the state.
        num_layers: number of layers, each of which gets the outputs of the one before.
        direction: "forward", or "bidirect" (also "bidirectional") for two directions whose outputs are concatenated.
        time_major: the input is [time, batch, input] instead of [batch, time, input].
        dropout: between the layers, in training.
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr: of the parameters `weight_ih_l0` and so on, see
            LSTMCell.
        proj_size: length of the outputs, when they are to be projected.

    Returns:
        Called with `inputs`, `initial_states` (h, c), each [layers * directions, batch, size], and `sequence_length`:
        (outputs, (h, c)). Outputs behind the end of a sequence are zero, its final state is that of its last step.

    Raises:
        ValueError: an argument out of range, inputs that do not fit.

    Example:
        >>> y, (h, c) = paddle.nn.LSTM(2, 3, num_layers=2, direction="bidirect")(paddle.ones([4, 5, 2]))
        >>> y.shape, h.shape
        ([4, 5, 6], [4, 4, 3])
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        direction="forward",
        time_major=False,
        dropout=0.0,
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        proj_size=0,
        name=None,
    ):
        super().__init__()
        attrs = weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr
        self._setup(
            lambda size: LSTMCell(size, hidden_size, *attrs, proj_size),
            input_size,
            hidden_size,
            num_layers,
            direction,
            time_major,
            dropout,
            attrs,
            proj_size,
        )


class GRU(_Network):
    """Layers of GRUCell; the arguments are those of LSTM without the projection. The state is one tensor.

    Example:
        >>> y, h = paddle.nn.GRU(2, 3, time_major=True)(paddle.ones([5, 4, 2]))
        >>> y.shape, h.shape
        ([5, 4, 3], [1, 4, 3])
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        direction="forward",
        time_major=False,
        dropout=0.0,
        weight_ih_attr=None,
        weight_hh_attr=None,
        bias_ih_attr=None,
        bias_hh_attr=None,
        name=None,
    ):
        super().__init__()
        attrs = weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr
        self._setup(
            lambda size: GRUCell(size, hidden_size, *attrs),
            input_size,
            hidden_size,
            num_layers,
            direction,
            time_major,
            dropout,
            attrs,
        )
