"""What the processes of `distributed.py` do: a small causal transformer in all kinds of parallelism, from the same weights and with
the same batches, and what each process sends and keeps."""

import contextlib
import gc
import json
import os
import socket
import struct
import time
import zlib
from pathlib import Path

import numpy as np

VOCAB, HEADS, STEPS = 32, 8, 4
TINY = {"width": 32, "blocks": 6, "length": 16, "rows": 16}
ROUNDS = 3
WIDE = {"width": 256, "blocks": 2, "length": 32, "rows": 16}


# ---- what a process sends and keeps ----
def sent():
    """Bytes that this process has sent over its TCP connections, by the kernel's count."""
    total = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError, struct.error):
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(name))) as s:
                if s.family in (socket.AF_INET, socket.AF_INET6) and s.type == socket.SOCK_STREAM:
                    total += struct.unpack_from("Q", s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232), 120)[0]
    return total


def quiet():
    """Wait until nothing runs, and all that was sent has arrived."""
    import jax

    import paddle.distributed as dist

    for array in jax.live_arrays():
        array.block_until_ready()
    if dist.get_world_size() > 1:
        dist.barrier()
    for _ in range(20):
        before = sent()
        time.sleep(0.5)
        if sent() < before + 1000:  # signs of life
            return


def held():
    """Bytes of the arrays of this process."""
    import jax

    gc.collect()
    return sum(s.data.nbytes for a in jax.live_arrays() for s in a.addressable_shards)


# ---- the model ----
def build(size, sequence=False, attend=None, stages=1, parts=None):
    """The transformer; with `stages` above 1 a PipelineLayer. Its layers are divided over the tensor parallel group of fleet."""
    import paddle
    import paddle.nn.functional as F
    from paddle import nn
    from paddle.distributed.fleet import meta_parallel as parallel
    from paddle.distributed.fleet.utils import sequence_parallel_utils as sp

    width, each = size["width"], size["width"] // HEADS
    column = sp.ColumnSequenceParallelLinear if sequence else parallel.ColumnParallelLinear
    row = sp.RowSequenceParallelLinear if sequence else parallel.RowParallelLinear

    class Embed(nn.Layer):
        key = "embed"

        def __init__(self):
            super().__init__()
            self.table = parallel.VocabParallelEmbedding(VOCAB, width)

        def forward(self, ids):  # [batch, length] -> [length, batch, width]
            x = self.table(ids).transpose([1, 0, 2])
            return sp.ScatterOp.apply(x) if sequence else x

    class Block(nn.Layer):
        def __init__(self, key):
            super().__init__()
            self.key = key
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv = column(width, 3 * width, has_bias=True, gather_output=False)
            self.out = row(width, width, has_bias=True, input_is_parallel=True)
            self.up = column(width, 4 * width, has_bias=True, gather_output=False)
            self.down = row(4 * width, width, has_bias=True, input_is_parallel=True)
            self.heads = HEADS // self.qkv.world_size if hasattr(self.qkv, "world_size") else None
            if sequence:
                for p in [*self.norm1.parameters(), *self.norm2.parameters(), self.out.bias, self.down.bias]:
                    sp.mark_as_sequence_parallel_parameter(p)

        def forward(self, x):
            y = self.qkv(self.norm1(x))
            length, rows, wide = y.shape
            y = y.reshape([length, rows, wide // (3 * each), 3, each]).transpose([1, 0, 2, 3, 4])
            q, k, v = (y[:, :, :, i] for i in range(3))
            if attend is None:
                mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                mixed = attend(q, k, v)
            x = x + self.out(mixed.transpose([1, 0, 2, 3]).reshape([length, rows, wide // 3]))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class Head(nn.Layer):
        key = "head"

        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(width)
            self.logits = parallel.ColumnParallelLinear(width, VOCAB, has_bias=False, gather_output=False)

        def forward(self, x):
            x = sp.GatherOp.apply(x) if sequence else x
            return self.logits(self.norm(x)).transpose([1, 0, 2])

    class Loss(nn.Layer):
        def __init__(self):
            super().__init__()
            self.entropy = parallel.ParallelCrossEntropy()

        def forward(self, logits, labels):
            return self.entropy(logits, labels).mean()

    class Whole(nn.Layer):
        def __init__(self):
            super().__init__()
            self.embed, self.head, self.loss = Embed(), Head(), Loss()
            self.blocks = nn.LayerList([Block(f"blocks.{i}") for i in range(size["blocks"])])

        def forward(self, ids, labels):
            x = self.embed(ids)
            for block in self.blocks:
                x = block(x)
            return self.loss(self.head(x), labels)

    paddle.seed(0)
    if stages == 1:
        return Whole()
    layers = [parallel.LayerDesc(Embed)]
    layers += [parallel.LayerDesc(Block, f"blocks.{i}") for i in range(size["blocks"])]
    layers.append(parallel.LayerDesc(Head))
    return parallel.PipelineLayer(layers, num_stages=stages, loss_fn=Loss(), num_virtual_pipeline_stages=parts)


def fill(net, rank=0, n=1):
    """Values that depend on the names only; of what is divided over n processes the part of this one."""
    for part in net.sublayers():
        for name, parameter in part.named_parameters() if hasattr(part, "key") else ():
            shape = list(parameter.shape)
            if parameter.is_distributed:
                shape[parameter.split_axis] *= n
            random = np.random.RandomState(zlib.crc32(f"{part.key}.{name}".encode()) % 2**31)
            values = random.randn(*shape).astype("float32") * (0.15 if len(shape) > 1 else 0.1)
            values += "norm" in name and name.endswith("weight")
            parameter.set_value(np.split(values, n, parameter.split_axis)[rank] if parameter.is_distributed else values)


def batch(size, step):
    ids = np.random.RandomState(step).randint(0, VOCAB, [size["rows"], size["length"] + 1])
    return ids[:, :-1], ids[:, 1:]


def optimizer_of(net):
    """Adam whose step does not blow up the rounding errors of tiny gradients."""
    import paddle

    clip = paddle.nn.ClipGradByGlobalNorm(0.5)
    return paddle.optimizer.AdamW(0.01, epsilon=1e-3, parameters=net.parameters(), grad_clip=clip)


# ---- the kinds of training: each gives (a step: number -> loss of this process, how losses combine) ----
def start(**degrees):
    from paddle.distributed import fleet

    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"dp_degree": 1, "mp_degree": 1, "pp_degree": 1, **degrees}
    fleet.init(is_collective=True, strategy=strategy)
    return strategy, fleet.get_hybrid_communicate_group()


def loop(size, model, optimizer, rows=slice(None), cut=None, factor=1.0):
    import paddle

    def step(number, between=None):
        ids, labels = (paddle.to_tensor(x[rows]) for x in batch(size, number))
        if cut is not None:
            ids, labels = cut(ids), cut(labels)
        loss = model(ids, labels)
        (loss if factor == 1 else loss * factor).backward()
        if between is not None:
            between()
        optimizer.step()
        optimizer.clear_grad()
        return loss.item()

    return step


def share(size, rank, n):
    each = size["rows"] // n
    return slice(rank * each, (rank + 1) * each)


def data(rank, n, size):
    import paddle

    start(dp_degree=n)
    net = build(size)
    fill(net)
    return loop(size, paddle.DataParallel(net), optimizer_of(net), share(size, rank, n)), "mean"


def zero(level):
    def made(rank, n, size):
        from paddle.distributed.sharding import group_sharded_parallel

        start(dp_degree=n)
        net = build(size)
        fill(net)
        model, optimizer, _ = group_sharded_parallel(net, optimizer_of(net), level, segment_size=2048)
        return loop(size, model, optimizer, share(size, rank, n)), "mean"

    return made


def fully(rank, n, size):
    import paddle.distributed as dist

    start(dp_degree=n)
    net = build(size)
    fill(net)
    model = dist.fsdp.fully_shard(net)
    return loop(size, model, optimizer_of(net), share(size, rank, n)), "same"


def tensor(rank, n, size, sequence=False):
    from paddle.distributed import fleet
    from paddle.distributed.fleet.utils import sequence_parallel_utils as sp

    start(mp_degree=n)
    net = build(size, sequence)
    fill(net, rank, n)
    if sequence:
        sp.register_sequence_parallel_allreduce_hooks(net, 1, False)
    model = fleet.distributed_model(net)
    return loop(size, model, fleet.distributed_optimizer(optimizer_of(net))), "same"


def sequence(rank, n, size):
    return tensor(rank, n, size, sequence=n > 1)


def context(kind):
    def made(rank, n, size):
        from paddle.distributed import context_parallel, fleet

        start(sep_degree=n)
        balanced = kind == "ring"

        def attend(q, k, v):
            if kind == "ring":
                return context_parallel.ring_attention(q, k, v, causal=True, balanced=True)
            return context_parallel.ulysses_attention(q, k, v, causal=True)

        net = build(size, attend=attend if n > 1 else None)
        fill(net)
        cut = (lambda x: context_parallel.split_sequence(x, axis=1, balanced=balanced)) if n > 1 else None
        optimizer = fleet.distributed_optimizer(optimizer_of(net))
        return loop(size, fleet.distributed_model(net) if n == 1 else net, optimizer, cut=cut, factor=1 / n), "mean"

    return made


def experts(rank, n, size):
    """Eight experts, 8 / n in each process, each of which has its own rows."""
    import paddle
    import paddle.distributed as dist
    from paddle import nn
    from paddle.incubate.distributed.models.moe import MoELayer, NaiveGate

    start(dp_degree=n)
    width = size["width"]

    def expert(number):
        made = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        for i, p in enumerate(made.parameters()):
            p.set_value(np.random.RandomState(10 * number + i).randn(*p.shape).astype("float32") * 0.1)
        return made

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            paddle.seed(0)
            self.table, self.norm, self.head = nn.Embedding(VOCAB, width), nn.LayerNorm(width), nn.Linear(width, VOCAB)
            own = nn.LayerList([expert(i) for i in range(rank * 8 // n, (rank + 1) * 8 // n)])
            gate = NaiveGate(width, 8 // n, n, topk=2)
            self.moe = MoELayer(width, own, gate, dist.get_group(0) if n > 1 else None)
            for i, p in enumerate([self.table.weight, self.head.weight, *gate.parameters()]):
                p.set_value(np.random.RandomState(i).randn(*p.shape).astype("float32") * 0.3)
            for p in self.moe.experts.parameters():
                p.no_sync = True

        def forward(self, ids, labels):
            x = self.table(ids)
            return nn.functional.cross_entropy(self.head(x + self.moe(self.norm(x))), labels)

    net = Net()
    model = paddle.DataParallel(net)
    adam = paddle.optimizer.AdamW(0.01, epsilon=1e-3, parameters=net.parameters())

    class Scaled:
        """The losses are averages over the rows of a process, the gradients of experts sums over the processes."""

        def step(self):
            for p in net.moe.experts.parameters():
                if p.grad is not None:
                    p.grad.scale_(1 / n)
            adam.step()

        def clear_grad(self):
            adam.clear_grad()

    return loop(size, model, Scaled(), share(size, rank, n)), "mean"


def pipeline(parts=None, mode="1F1B", **more):
    def made(rank, n, size):
        import paddle
        from paddle.distributed import fleet

        stages = more.get("pp_degree", n)
        strategy, groups = start(**{"pp_degree": stages, **more})
        copies = groups.get_data_parallel_world_size() * groups.get_sharding_parallel_world_size()
        micros = 2 * max(stages, 2) if copies == 1 else 2
        if stages > 1:
            strategy.pipeline_configs = {
                "accumulate_steps": micros,
                "micro_batch_size": size["rows"] // copies // micros,
                "schedule_mode": mode,
            }
            fleet.init(is_collective=True, strategy=strategy)
            groups = fleet.get_hybrid_communicate_group()
        net = build(size, stages=stages, parts=parts if stages > 1 else None)
        fill(net, groups.get_model_parallel_rank(), groups.get_model_parallel_world_size())
        model = fleet.distributed_model(net)
        optimizer = fleet.distributed_optimizer(optimizer_of(net))
        copy = groups.get_data_parallel_rank() * groups.get_sharding_parallel_world_size()
        rows = share(size, copy + groups.get_sharding_parallel_rank(), copies)
        if stages == 1:
            return loop(size, model, optimizer, rows), "mean"

        def step(number, between=None):
            return model.train_batch([paddle.to_tensor(x[rows]) for x in batch(size, number)], optimizer).item()

        return step, "mean"

    return made


KINDS = {
    "data parallel": (data, TINY, (1, 2, 4, 8)),
    "tensor": (tensor, TINY, (1, 2, 4, 8)),
    "tensor, sequence parallel": (sequence, TINY, (1, 2, 4, 8)),
    "pipeline 1F1B": (pipeline(), TINY, (1, 2, 4, 8)),
    "pipeline interleaved, 2 parts a stage": (pipeline(2), TINY, (1, 2, 4)),
    "pipeline ZBH1": (pipeline(mode="ZBH1"), TINY, (1, 2, 4)),
    "ZeRO 1 (`os`)": (zero("os"), TINY, (1, 2, 4, 8)),
    "ZeRO 2 (`os_g`)": (zero("os_g"), TINY, (1, 2, 4, 8)),
    "ZeRO 3 (`p_g_os`)": (zero("p_g_os"), TINY, (1, 2, 4, 8)),
    "`fully_shard`": (fully, TINY, (1, 2, 4)),
    "experts (8 in all)": (experts, TINY, (1, 2, 4, 8)),
    "ring attention, balanced": (context("ring"), TINY, (1, 2, 4, 8)),
    "Ulysses": (context("ulysses"), TINY, (1, 2, 4, 8)),
    "data 2 x tensor 2": (pipeline(dp_degree=2, mp_degree=2, pp_degree=1), TINY, (4,)),
    "sharding 2 x tensor 2": (pipeline(sharding_degree=2, mp_degree=2, pp_degree=1), TINY, (4,)),
    "data 2 x pipeline 2": (pipeline(dp_degree=2, pp_degree=2), TINY, (4,)),
    "data 2 x tensor 2 x pipeline 2": (pipeline(dp_degree=2, mp_degree=2, pp_degree=2), TINY, (8,)),
    "sharding 2 x tensor 2 x pipeline 2": (pipeline(sharding_degree=2, mp_degree=2, pp_degree=2), TINY, (8,)),
    "data 2 x sharding 2 x tensor 2": (pipeline(dp_degree=2, sharding_degree=2, mp_degree=2, pp_degree=1), TINY, (8,)),
}
SENDING = {
    "data parallel": data,
    "ZeRO 1 (`os`)": zero("os"),
    "ZeRO 2 (`os_g`)": zero("os_g"),
    "ZeRO 3 (`p_g_os`)": zero("p_g_os"),
    "tensor": tensor,
    "tensor, sequence parallel": sequence,
    "pipeline 1F1B": pipeline(),
}


def curve(rank, n, name):
    """(the losses of this process, how they combine)"""
    make, size, _ = KINDS[name]
    step, combine = make(rank, n, size)
    return [step(i) for i in range(STEPS)], combine


def cost(rank, n, name):
    """(bytes sent in a step, bytes kept between steps, and with gradients before the optimizer's step)"""
    before = held()
    step, _ = SENDING[name](rank, n, WIDE)
    for i in range(3):
        step(i)
    kept, waiting = held() - before, []
    pipe = name.startswith("pipeline")
    step(3) if pipe else step(3, lambda: waiting.append(held() - before))
    quiet()
    begin = sent()
    for i in range(4, 4 + ROUNDS):
        step(i)
    quiet()
    bytes_a_step = (sent() - begin) / ROUNDS
    return bytes_a_step, kept, max(waiting, default=None)


def run(folder, what, names):
    """In each process: add what was found to a file, after each kind."""
    import paddle.distributed as dist

    dist.init_parallel_env()
    rank, n = dist.get_rank(), dist.get_world_size()
    path = file_of(folder, what, n, rank)
    found = json.loads(path.read_text()) if path.exists() else {}
    for name in names:
        found[name] = {"curve": curve, "cost": cost}[what](rank, n, name)
        gc.collect()
        if n > 1:
            dist.barrier()
        path.write_text(json.dumps(found))


def file_of(folder, what, n, rank):
    return Path(folder) / f"{what}.{n}.{rank}.json"
