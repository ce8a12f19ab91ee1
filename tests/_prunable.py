"""Networks to prune, and the comparison that proves it right."""

import numpy as np

import paddle
import paddle.nn as nn
import paddle.nn.functional as F
from paddle.ir.run import Executable
from paddleslim.structure import Removal, of_layer
from paddleslim.structure.layers import specs_of, traced


def outputs(net, arrays):
    """What a network gives, compiled as one program."""
    graph, feeds, results = traced(net, specs_of([a.shape for a in arrays]))
    run = Executable(graph, results, updates=False)
    states = {n: graph.states[n].tensor._value for n in run.states}
    return [np.asarray(a) for a in run.run(dict(zip(feeds, arrays)), states, None)[0]]


def scattered(net, random):
    """Weights, statistics and biases that differ for all channels."""
    for p in [*net.parameters(), *net.buffers()]:
        if p.ndim == 1 and p.dtype == paddle.float32:
            p.set_value((random.rand(*p.shape) + 0.5).astype("float32"))
    net.eval()


def halved(structure, random):
    """About half of the units that can go, from all groups."""
    gone = []
    for group in structure.groups():
        if group.reason is None:
            ids = np.unique(np.concatenate([structure.ids(n, a) for n, a in group.members]))
            ids = ids[~structure.units.is_held(ids)]
            gone += random.choice(ids, len(ids) // 2, replace=False).tolist()
    return structure.spared(gone)


def zeroed(structure, kept):
    """Set what is going to be removed to zero: weights, biases, scales and shifts; not the statistics."""
    for (name, axis), left in kept.items():
        tensor = structure.graph.states[name].tensor
        produces = structure.propagation.owners.get(name) == axis
        if not produces and (tensor.ndim > 1 and name in structure.propagation.owners or tensor.stop_gradient):
            continue
        array = tensor.numpy()
        mask = np.zeros(array.shape[axis], bool)
        mask[left] = True
        tensor.set_value(array * mask.reshape([-1 if i == axis else 1 for i in range(array.ndim)]).astype("float32"))


def prune_and_compare(net, shapes, seed=0, tolerance=1e-4):
    """Prune half of everything; the result must equal that of the network with these channels at zero.

    Returns:
        (parameters before, after, how many units went)
    """
    random = np.random.RandomState(seed)
    scattered(net, random)
    shapes = shapes if isinstance(shapes[0], (list, tuple)) else [shapes]
    structure = of_layer(net, shapes)
    gone = halved(structure, random)
    zeroed(structure, structure.keep(gone))
    arrays = [random.randn(*s).astype("float32") for s in shapes]
    before, size = outputs(net, arrays), sum(p.size for p in net.parameters())
    removal = Removal(net, structure, gone, specs_of(shapes))
    after = outputs(net, arrays)
    for a, b in zip(before, after):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1e-3, float(np.abs(a).max())))
    small = sum(p.size for p in net.parameters())
    removal.restore()
    for a, b in zip(before, outputs(net, arrays)):
        np.testing.assert_array_equal(a, b)
    return size, small, len(gone)


class Piece(nn.Layer):
    """A step of a random network, from and to [N, channels, 8, 8]."""

    kinds = (
        "conv", "norm", "relu", "depthwise", "grouped", "residual", "branches", "split", "shuffle", "transposed", "prelu",
        "reshape", "squeeze_excite", "pool", "pad", "instance", "slices", "moved", "nhwc", "glu", "repeated",
    )  # fmt: skip

    def __init__(self, kind, c):
        super().__init__()
        self.kind, self.c = kind, c
        if kind in ("conv", "residual", "branches", "repeated"):
            self.a = nn.Conv2D(c, c, 3, padding=1)
            self.b = nn.Conv2D(c, c, 1)
        elif kind == "norm":
            self.a = nn.BatchNorm2D(c)
        elif kind == "instance":
            self.a = nn.InstanceNorm2D(c)
        elif kind == "depthwise":
            self.a = nn.Conv2D(c, c, 3, padding=1, groups=c)
        elif kind == "grouped":
            self.a = nn.Conv2D(c, c, 3, padding=1, groups=2)
        elif kind == "transposed":
            self.a = nn.Conv2DTranspose(c, c, 3, padding=1)
        elif kind == "prelu":
            self.a = nn.PReLU(c)
        elif kind == "squeeze_excite":
            self.a, self.b = nn.Linear(c, 4), nn.Linear(4, c)
        elif kind in ("split", "slices"):
            self.a = nn.Conv2D(c // 2, c // 2, 3, padding=1)
        elif kind in ("moved", "nhwc"):
            self.a = nn.Linear(c, c) if kind == "moved" else nn.Conv2D(c, c, 3, padding=1, data_format="NHWC")
        elif kind == "glu":
            self.a = nn.Conv2D(c, 2 * c, 1)

    def forward(self, x):
        kind, n = self.kind, x.shape[0]
        if kind in ("conv", "norm", "depthwise", "grouped", "transposed", "prelu", "instance"):
            return self.a(x)
        if kind == "relu":
            return F.relu(x)
        if kind == "residual":
            return x + self.b(F.relu(self.a(x)))
        if kind == "branches":
            return self.b(paddle.concat([self.a(x), x], 1)[:, : x.shape[1]] + self.a(x))
        if kind == "repeated":
            return self.a(F.relu(self.a(x)))
        if kind == "split":
            a, b = paddle.split(x, 2, 1)
            return paddle.concat([self.a(a), b], 1)
        if kind == "slices":
            half = x.shape[1] // 2
            return paddle.concat([x[:, half:], self.a(x[:, :half])], 1)
        if kind == "shuffle":
            return F.channel_shuffle(x, 2)
        if kind == "reshape":
            return x.reshape([n, 2, x.shape[1] // 2, 8, 8]).transpose([0, 2, 1, 3, 4]).reshape([n, x.shape[1], 8, 8])
        if kind == "squeeze_excite":
            return x * F.hardsigmoid(self.b(F.relu(self.a(x.mean([2, 3]))))).unsqueeze([2, 3])
        if kind == "pool":
            return F.max_pool2d(x, 3, 1, 1) * 2 - F.avg_pool2d(x, 3, 1, 1)
        if kind == "pad":
            return F.pad(x, [1, 1, 1, 1])[:, :, 1:-1, 1:-1]
        if kind == "moved":
            return self.a(x.flatten(2).transpose([0, 2, 1])).transpose([0, 2, 1]).reshape([n, -1, 8, 8])
        if kind == "nhwc":
            return self.a(x.transpose([0, 2, 3, 1])).transpose([0, 3, 1, 2])
        return F.glu(self.a(x), 1)


class Random(nn.Layer):
    """Pieces in a row, between a first convolution and a last linear layer."""

    def __init__(self, kinds, c=8):
        super().__init__()
        self.first = nn.Conv2D(3, c, 3, padding=1)
        self.pieces = nn.LayerList([Piece(k, c) for k in kinds])
        self.last = nn.Linear(c * 64, 3)

    def forward(self, x):
        x = self.first(x)
        for piece in self.pieces:
            x = piece(x)
        return self.last(x.flatten(1))


def prune_saved_and_compare(net, shape, folder, seed=0):
    """The same for a saved model, read as a program; returns how many units went."""
    import paddle.static as static
    from paddleslim.auto_compression.models import Model
    from paddleslim.structure import Structure
    from paddleslim.structure.programs import pruned_program, write_pruned

    random = np.random.RandomState(seed)
    scattered(net, random)
    paddle.jit.save(net, folder + "/model", [static.InputSpec([None, *shape[1:]], "float32", "x")])
    model = Model.read(folder)
    structure, scope = Structure(model.program, model.program.fetches), model.scope
    gone = halved(structure, random)
    kept = structure.keep(gone)
    statistics = {
        v.name
        for o in model.program.block.operators
        if o.name == "batch_norm"
        for v in (o.arguments()["running_mean"], o.arguments()["running_var"])
    }
    for (name, axis), left in kept.items():
        array = np.asarray(scope.var(name).array)
        produces = structure.propagation.owners.get(name) == axis
        if not produces and (array.ndim > 1 and name in structure.propagation.owners or name in statistics):
            continue
        mask = np.zeros(array.shape[axis], "float32")
        mask[left] = 1
        scope.var(name).array = array * mask.reshape([-1 if i == axis else 1 for i in range(array.ndim)])
    x, executor = random.randn(*shape).astype("float32"), static.Executor()
    with static.scope_guard(scope):
        before = executor.run(model.program, feed={"x": x}, fetch_list=[v.name for v in model.program.fetches])
        made, _ = pruned_program(structure, gone)
        write_pruned(structure, kept, scope)
        after = executor.run(made, feed={"x": x}, fetch_list=[v.name for v in made.fetches])
    for a, b in zip(before, after):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * max(1e-3, float(np.abs(a).max())))
    return len(gone)
