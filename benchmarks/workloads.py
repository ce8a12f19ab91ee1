"""The workloads: each framework's ordinary code, without decorators or tricks. A function makes the data and the model
and returns a step to be timed."""

from __future__ import annotations

import numpy as np


def _data(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype("float32")


# ---- operator overhead on small tensors ----


def paddle_add(paddle):
    x, y = paddle.to_tensor(_data(4, 4)), paddle.to_tensor(_data(4, 4))
    return lambda: x + y


def torch_add(torch):
    x, y = torch.tensor(_data(4, 4)), torch.tensor(_data(4, 4))
    return lambda: x + y


def paddle_add_tape(paddle):
    x, y = paddle.to_tensor(_data(4, 4), stop_gradient=False), paddle.to_tensor(_data(4, 4))
    return lambda: x + y


def torch_add_tape(torch):
    x, y = torch.tensor(_data(4, 4), requires_grad=True), torch.tensor(_data(4, 4))
    return lambda: x + y


def paddle_multiply_scalar(paddle):
    x = paddle.to_tensor(_data(4, 4), stop_gradient=False)
    return lambda: x * 2.5


def torch_multiply_scalar(torch):
    x = torch.tensor(_data(4, 4), requires_grad=True)
    return lambda: x * 2.5


def paddle_relu_tape(paddle):
    x, relu = paddle.to_tensor(_data(4, 4), stop_gradient=False), paddle.nn.functional.relu
    return lambda: relu(x)


def torch_relu_tape(torch):
    x, relu = torch.tensor(_data(4, 4), requires_grad=True), torch.nn.functional.relu
    return lambda: relu(x)


def paddle_matmul_tape(paddle):
    x, y = paddle.to_tensor(_data(8, 8), stop_gradient=False), paddle.to_tensor(_data(8, 8))
    return lambda: paddle.matmul(x, y)


def torch_matmul_tape(torch):
    x, y = torch.tensor(_data(8, 8), requires_grad=True), torch.tensor(_data(8, 8))
    return lambda: torch.matmul(x, y)


def paddle_index_row(paddle):
    x, i = paddle.to_tensor(_data(16, 4)), [0]

    def step():
        i[0] = (i[0] + 1) % 16
        return x[i[0]]

    return step


def torch_index_row(torch):
    x, i = torch.tensor(_data(16, 4)), [0]

    def step():
        i[0] = (i[0] + 1) % 16
        return x[i[0]]

    return step


def paddle_chain_backward(paddle):
    x = paddle.to_tensor(_data(4, 4), stop_gradient=False)

    def step():
        y = x
        for _ in range(5):
            y = paddle.tanh(y * 1.1 + 0.1)
        y.sum().backward()
        x.clear_grad()
        return y

    return step


def torch_chain_backward(torch):
    x = torch.tensor(_data(4, 4), requires_grad=True)

    def step():
        y = x
        for _ in range(5):
            y = torch.tanh(y * 1.1 + 0.1)
        y.sum().backward()
        x.grad.zero_()
        return y

    return step


# ---- training steps ----


def _paddle_step(paddle, net, optimizer, x, label):
    def step():
        loss = paddle.nn.functional.cross_entropy(net(x), label)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return step


def _torch_step(torch, net, optimizer, x, label):
    def step():
        loss = torch.nn.functional.cross_entropy(net(x), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def paddle_mlp(paddle):
    paddle.seed(0)
    nn = paddle.nn
    net = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = paddle.optimizer.Adam(1e-3, parameters=net.parameters())
    return _paddle_step(paddle, net, optimizer, paddle.to_tensor(_data(64, 784)), paddle.to_tensor(np.arange(64) % 10))


def torch_mlp(torch):
    torch.manual_seed(0)
    nn = torch.nn
    net = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    return _torch_step(torch, net, optimizer, torch.tensor(_data(64, 784)), torch.tensor(np.arange(64) % 10))


def _lenet(nn, conv, pool, linear):
    return nn.Sequential(
        conv(1, 6, 3, stride=1, padding=1),
        nn.ReLU(),
        pool(2, 2),
        conv(6, 16, 5, stride=1, padding=0),
        nn.ReLU(),
        pool(2, 2),
        nn.Flatten(),
        linear(400, 120),
        linear(120, 84),
        linear(84, 10),
    )


def paddle_lenet(paddle):
    paddle.seed(0)
    nn = paddle.nn
    net = _lenet(nn, nn.Conv2D, nn.MaxPool2D, nn.Linear)
    optimizer = paddle.optimizer.Adam(1e-3, parameters=net.parameters())
    return _paddle_step(
        paddle, net, optimizer, paddle.to_tensor(_data(64, 1, 28, 28)), paddle.to_tensor(np.arange(64) % 10)
    )


def torch_lenet(torch):
    torch.manual_seed(0)
    nn = torch.nn
    net = _lenet(nn, nn.Conv2d, nn.MaxPool2d, nn.Linear)
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    return _torch_step(torch, net, optimizer, torch.tensor(_data(64, 1, 28, 28)), torch.tensor(np.arange(64) % 10))
