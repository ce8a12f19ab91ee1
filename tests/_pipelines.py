"""Small nets for tests of pipelines, and one process that trains the whole of them."""

import numpy as np

import paddle
from paddle import nn
from paddle.distributed import fleet
from paddle.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer

ROWS, WIDTH, STEPS = 16, 6, 4


class Block(nn.Layer):
    def __init__(self, width=WIDTH):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, x):
        return x + nn.functional.tanh(self.linear(self.norm(x)))


def blocks():
    return [LayerDesc(Block) for _ in range(8)]


def data(step, copy=0):
    random = np.random.RandomState(10 * step + copy)
    return [paddle.to_tensor(random.randn(ROWS, WIDTH).astype("float32")) for _ in range(2)]


def square(out, label):
    return ((out - label) ** 2).mean()


def adam(parameters):
    rate = paddle.optimizer.lr.StepDecay(0.02, step_size=2, gamma=0.5)
    clip = nn.ClipGradByGlobalNorm(0.5)
    return paddle.optimizer.Adam(learning_rate=rate, parameters=parameters, grad_clip=clip), rate


def state(layer):
    return {k: v.numpy() for k, v in layer.state_dict().items()}


def alone(descs=blocks, copies=1, steps=STEPS, batch=data, loss_fn=square):
    """The loss curve and the weights of one process that trains the whole net on whole batches."""
    net = PipelineLayer(descs(), num_stages=1)
    optimizer, rate = adam(net.parameters())
    curve = []
    for step in range(steps):
        loss = sum(loss_fn(net(x), y) for x, y in (batch(step, c) for c in range(copies))) / copies
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        rate.step()
        curve.append(loss.item())
    return curve, state(net)


def strategy(stages, copies=1, micros=4, rows=ROWS, **pipeline):
    made = fleet.DistributedStrategy()
    own = pipeline.pop("pp_configs", {})
    made.hybrid_configs = {"dp_degree": copies, "mp_degree": 1, "pp_degree": stages, "pp_configs": own}
    made.pipeline_configs = {"accumulate_steps": micros, "micro_batch_size": rows // micros, **pipeline}
    return made


def in_one(found):
    """The states of all stages under the names that one process has."""
    whole = {}
    for result in found:
        whole |= result.get("state", result)
    return whole


def same(found, want, rtol=1e-5, atol=1e-6):
    assert sorted(found) == sorted(want)
    for name, value in want.items():
        np.testing.assert_allclose(found[name], value, rtol=rtol, atol=atol, err_msg=name)


def renamed(states, parts):
    """Names of stages of several parts, START.NUMBER.rest, as in one process."""
    out = {}
    for name, value in states.items():
        begin, number, rest = name.split(".", 2)
        assert int(begin) in parts
        out[f"{int(begin) + int(number)}.{rest}"] = value
    return out
