"""Data parallel training that may be interrupted at any moment: started again, by any number of processes, it goes on
from its last checkpoint and ends with the same weights.

    python deploy/train.py --checkpoints run                                            # one process
    python -m paddle.distributed.launch --nproc_per_node 2 --max_restart 3 deploy/train.py --checkpoints run

What makes it so: the batch of a step is the same for any number of processes (each takes its rows), all randomness
follows from the number of the step, and model, optimizer and step are saved together.
"""

import argparse
import os
import time

import numpy as np

import paddle
import paddle.distributed as dist
from paddle import nn

parser = argparse.ArgumentParser()
parser.add_argument(
    "--checkpoints", default="run", help="a folder that all nodes see, or an address such as s3://bucket/run"
)
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--batch", type=int, default=24, help="rows of a step, over all processes")
parser.add_argument("--every", type=int, default=1, help="steps from one checkpoint to the next")
parser.add_argument("--pause", type=float, default=0.0, help="seconds to sleep in each step, to try interruptions")
args = parser.parse_args()

dist.init_parallel_env()
rank, size = dist.get_rank(), dist.get_world_size()
paddle.seed(0)
net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
model = paddle.DataParallel(net) if size > 1 else net
optimizer = paddle.optimizer.AdamW(0.01, parameters=net.parameters())


def rows(step):
    """The rows of this process: how they are dealt does not change the mean over all."""
    random = np.random.RandomState(step)
    x = random.randn(args.batch, 8).astype("float32")
    y = np.sin(x.sum(1, keepdims=True))
    return paddle.to_tensor(x[rank::size]), paddle.to_tensor(y[rank::size])


def resume():
    """The number of the first step to do."""
    try:
        progress = {"model": net.state_dict(), "step": 0}
        dist.load_state_dict(progress, args.checkpoints)
    except FileNotFoundError:
        return 0
    optimizer.set_state_dict(dist.load_merged_state_dict(args.checkpoints, prefix="optimizer"))
    return progress["step"]


first = resume()
print(
    f"start {os.environ.get('PADDLE_RESTART_COUNT', '0')}: rank {rank} of {size}, pid {os.getpid()}, from step {first}"
)
for step in range(first, args.steps):
    x, y = rows(step)
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    if (step + 1) % args.every == 0 or step + 1 == args.steps:
        progress = {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}
        dist.save_state_dict(progress, args.checkpoints, async_save=step + 1 < args.steps)
    print(f"step {step} loss {loss.item():.6f}", flush=True)
    time.sleep(args.pause)
