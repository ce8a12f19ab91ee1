"""Ten training steps for every optimizer with clipping, decay and schedulers; runs under this package and under the official one.

python tests/optimizer/trajectories.py OUTPUT.json      (the official package made trajectories.json with this)
"""

import json
import sys

import numpy as np

STEPS = 10
OPTIMIZERS = {
    "SGD": {},
    "Momentum": {"use_nesterov": True},
    "Adam": {},
    "AdamW": {"weight_decay": 0.05},
    "Adamax": {},
    "Adagrad": {},
    "Adadelta": {},
    "RMSProp": {"centered": True, "momentum": 0.9},
    "Lamb": {},
    "NAdam": {},
    "RAdam": {},
    "Rprop": {},
    "ASGD": {"batch_num": 3},
}
SCHEDULERS = {
    "StepDecay": "0.05, 4",
    "MultiStepDecay": "0.05, [3, 9]",
    "CosineAnnealingDecay": "0.05, 8",
    "LinearWarmup": "lr.ExponentialDecay(0.05, 0.8), 4, 0.0, 0.05",
    "NoamDecay": "16, 5, 0.3",
    "OneCycleLR": "0.1, 20",
    "PolynomialDecay": "0.05, 10",
    "CyclicLR": "0.01, 0.1, 4",
    "ReduceOnPlateau": "0.05, patience=1",
    "NaturalExpDecay": "0.05, 0.1",
    "InverseTimeDecay": "0.05, 0.1",
    "LambdaDecay": "0.05, lambda epoch: 0.9**epoch",
    "MultiplicativeDecay": "0.05, lambda epoch: 0.95",
    "PiecewiseDecay": "[4, 8], [0.05, 0.02, 0.01]",
    "CosineAnnealingWarmRestarts": "0.05, 5",
    "LinearLR": "0.05, 10",
}
CLIPS = {"ClipGradByGlobalNorm": 0.5, "ClipGradByNorm": 0.3, "ClipGradByValue": 0.1}


def cases():
    """(optimizer, scheduler, clip, decay); an empty text for none."""
    for name in OPTIMIZERS:
        yield name, "", "", ""
        yield from ((name, "", clip, "") for clip in CLIPS)
        if name not in ("AdamW", "Lamb", "Rprop"):  # which decay by themselves or not at all
            for clip in ("", "ClipGradByGlobalNorm"):
                yield from ((name, "", clip, decay) for decay in ("L1Decay", "L2Decay"))
    for name in ("Momentum", "AdamW"):
        yield from ((name, scheduler, "", "") for scheduler in SCHEDULERS)


def train(paddle, name, scheduler, clip, decay):
    """Sum, sum of squares and last value of each parameter at the end."""
    lr = paddle.optimizer.lr
    parameters = []
    for seed, shape in enumerate(([3, 4], [4], [4, 2])):
        value = np.cos(np.arange(np.prod(shape)) * 1.3 + seed).reshape(shape).astype("float32")
        parameters.append(paddle.create_parameter(shape, "float32"))
        parameters[-1].set_value(value)
    a, b, c = parameters
    rate = eval(f"lr.{scheduler}({SCHEDULERS[scheduler]})", {"lr": lr}) if scheduler else 0.05
    options = dict(OPTIMIZERS[name])
    if clip:
        options["grad_clip"] = getattr(paddle.nn, clip)(CLIPS[clip])
    if decay:
        options["weight_decay"] = getattr(paddle.regularizer, decay)(0.05)
    optimizer = getattr(paddle.optimizer, name)(learning_rate=rate, parameters=parameters, **options)
    for step in range(STEPS):
        x = paddle.to_tensor(np.sin(np.arange(15) * 0.7 + step).reshape(5, 3).astype("float32"))
        loss = (paddle.matmul(paddle.tanh(paddle.matmul(x, a) + b), c) ** 2).sum()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        if scheduler == "ReduceOnPlateau":
            rate.step(loss)
        elif scheduler:
            rate.step()
    ends = [p.numpy().astype("float64").ravel() for p in parameters]
    return [float(f"{v:.7g}") for p in ends for v in (p.sum(), (p * p).sum(), p[-1])]


if __name__ == "__main__":
    import paddle

    rows = {" ".join(filter(None, case)): train(paddle, *case) for case in cases()}
    with open(sys.argv[1], "w") as out:
        out.write("{\n" + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in rows.items()) + "\n}\n")
