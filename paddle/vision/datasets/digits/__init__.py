"""A small real data set that ships with the package; see README.md."""

from __future__ import annotations

import os

from ....engine import errors


def digits_path(mode: str | None = None) -> str | tuple[str, str]:
    """Where the handwritten digits that ship with the package lie (1437 to train, 360 to test, in MNIST's format).

    Args:
        mode: "train" or "test" gives the paths (images, labels) of that part; None the folder.

    Raises:
        ValueError: another mode.

    Example:
        >>> len(paddle.vision.datasets.MNIST(*paddle.vision.datasets.digits_path("train")))
        1437
    """
    folder = os.path.dirname(os.path.abspath(__file__))
    if mode is None:
        return folder
    if mode not in ("train", "test"):
        raise errors.ValueError_(f"digits_path: mode must be 'train' or 'test', got {mode!r}")
    part = "train" if mode == "train" else "t10k"
    return (os.path.join(folder, f"{part}-images-idx3-ubyte.gz"), os.path.join(folder, f"{part}-labels-idx1-ubyte.gz"))
