"""A small transformer of tensor parallel layers, which is an ordinary one where its group has a single member, with
weights that depend on their names only."""

import functools
import zlib

import numpy as np

import paddle
from paddle import nn
from paddle.distributed.fleet.meta_parallel import (
    ColumnParallelLinear,
    ParallelCrossEntropy,
    RowParallelLinear,
    VocabParallelEmbedding,
)

VOCAB, WIDTH, HEADS, LENGTH, ROWS = 16, 8, 4, 4, 8


class Block(nn.Layer):
    def __init__(self, key, group=None):
        super().__init__()
        self.key = key
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv = ColumnParallelLinear(WIDTH, 3 * WIDTH, has_bias=True, gather_output=False, mp_group=group)
        self.out = RowParallelLinear(WIDTH, WIDTH, input_is_parallel=True, mp_group=group)
        self.up = ColumnParallelLinear(WIDTH, 4 * WIDTH, has_bias=True, gather_output=False, mp_group=group)
        self.down = RowParallelLinear(4 * WIDTH, WIDTH, input_is_parallel=True, mp_group=group)
        self.heads = HEADS // self.qkv.world_size

    def forward(self, x):
        rows, length = x.shape[:2]
        parts = self.qkv(self.norm1(x)).reshape([rows, length, self.heads, 3, WIDTH // HEADS])
        q, k, v = (parts[:, :, :, i].transpose([0, 2, 1, 3]) for i in range(3))
        scores = nn.functional.softmax(q.matmul(k, transpose_y=True) / (WIDTH // HEADS) ** 0.5)
        mixed = scores.matmul(v).transpose([0, 2, 1, 3]).reshape([rows, length, -1])
        x = x + self.out(mixed)
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Embed(nn.Layer):
    key = "embed"

    def __init__(self, group=None):
        super().__init__()
        self.table = VocabParallelEmbedding(VOCAB, WIDTH, mp_group=group)

    def forward(self, ids):
        return self.table(ids)


class Head(nn.Layer):
    key = "head"

    def __init__(self, group=None):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.logits = ColumnParallelLinear(WIDTH, VOCAB, has_bias=False, gather_output=False, mp_group=group)

    def forward(self, x):
        return self.logits(self.norm(x))


class Loss(nn.Layer):
    def __init__(self, group=None):
        super().__init__()
        self.entropy = ParallelCrossEntropy(group)

    def forward(self, logits, labels):
        return self.entropy(logits, labels).mean()


class Transformer(nn.Layer):
    def __init__(self, group=None, blocks=2):
        super().__init__()
        self.embed, self.head, self.loss = Embed(group), Head(group), Loss(group)
        self.blocks = nn.LayerList([Block(f"blocks.{i}", group) for i in range(blocks)])

    def forward(self, ids, labels):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.loss(self.head(x), labels)


def named(model):
    """Parameters with names by the place of their part in the transformer, wherever it is held."""
    parts = [part for part in model.sublayers() if hasattr(part, "key")]
    return [(f"{part.key}.{name}", p) for part in parts for name, p in part.named_parameters()]


def whole_shape(parameter, n):
    shape = list(parameter.shape)
    if parameter.is_distributed:
        shape[parameter.split_axis] *= n
    return shape


def fill(parameters, rank=0, n=1):
    """Give parameters the values (this member's parts of them) that belong to their names."""
    for name, parameter in parameters:
        shape = whole_shape(parameter, n)
        values = np.random.RandomState(zlib.crc32(name.encode()) % 2**31).randn(*shape).astype("float32")
        values = values * 0.3 if len(shape) > 1 else values * 0.1 + ("norm" in name and name.endswith("weight"))
        if parameter.is_distributed:
            values = np.split(values, n, parameter.split_axis)[rank]
        parameter.set_value(values)


def batch(step, rows=ROWS):
    random = np.random.RandomState(step)
    ids = random.randint(0, VOCAB, [rows, LENGTH + 1])
    return paddle.to_tensor(ids[:, :-1]), paddle.to_tensor(ids[:, 1:])


def gathered(parts, axes):
    """Whole arrays from those of the members of a group: {name: array} of each, {name: axis} of what is divided."""
    return {k: np.concatenate([p[k] for p in parts], axes[k]) if k in axes else parts[0][k] for k in parts[0]}


def split_axes(model):
    return {name: p.split_axis for name, p in named(model) if p.is_distributed}


def adam(model, clip=None):
    """Adam whose step does not blow up the rounding errors of tiny gradients."""
    rule = clip and nn.ClipGradByGlobalNorm(clip)
    return paddle.optimizer.AdamW(0.02, epsilon=1e-3, parameters=model.parameters(), grad_clip=rule)


def gradients(model):
    return {k: p.grad.numpy() for k, p in named(model)}


def weights(model):
    return {k: p.numpy() for k, p in named(model)}


@functools.cache
def one_process(steps, clip=None, blocks=2):
    """Losses, first gradients and final weights of training in one process on whole batches."""
    model = Transformer(paddle.distributed.new_group([paddle.distributed.get_rank()]), blocks)
    fill(named(model))
    optimizer, curve, first = adam(model, clip), [], None
    for step in range(steps):
        loss = model(*batch(step))
        loss.backward()
        first = first or gradients(model)
        optimizer.step()
        optimizer.clear_grad()
        curve.append(loss.item())
    return curve, first, weights(model)
