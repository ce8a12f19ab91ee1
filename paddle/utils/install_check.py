"""``paddle.utils.run_check()``: does this installation really train?"""

from __future__ import annotations

import numpy as np

from ..engine import errors
from ..engine import place as places


def _train(place: places.Place) -> None:
    """Fit a Linear layer to a line, eagerly, and see the loss fall and the weight arrive."""
    import paddle

    rng = np.random.RandomState(0)
    x = rng.rand(64, 2).astype("float32")
    y = (x @ np.array([[2.0], [-3.0]]) + 0.5).astype("float32")
    with paddle.device_guard(place):
        net = paddle.nn.Linear(2, 1)
        optimizer = paddle.optimizer.SGD(learning_rate=0.5, parameters=net.parameters())
        losses = []
        for _ in range(60):
            loss = ((net(paddle.to_tensor(x)) - paddle.to_tensor(y)) ** 2).mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(float(loss))
    if not losses[-1] < 0.1 * losses[0]:
        raise errors.RuntimeError_(
            f"run_check: training does not work on {place}: loss {losses[0]:.4f} -> {losses[-1]:.4f}"
        )


def run_check() -> None:
    """Train a small layer on the CPU and on each accelerator, and say that the installation works.

    Raises whatever goes wrong.

    Example:
        >>> paddle.utils.run_check()  # doctest: +ELLIPSIS
        Running verify PaddlePaddle program ...
    """
    print("Running verify PaddlePaddle program ... ")
    kind = places.current_place().kind
    found = places.backend_devices(kind)
    _train(places.make_place(kind))
    print(f"PaddlePaddle works well on 1 {kind.upper()}.")
    if len(found) > 1 and kind != "cpu":
        for number in range(1, len(found)):
            _train(places.make_place(kind, number))
        print(f"PaddlePaddle works well on {len(found)} {kind.upper()}s.")
    print("PaddlePaddle is installed successfully! Let's start deep learning with PaddlePaddle now.")
