"""Make the digit files that ship with `paddle.vision.datasets` from the copy of the UCI digits in scikit-learn.

    python tools/make_digits.py [FOLDER]

Needs scikit-learn and Pillow. The result is the same byte for byte (the gzip headers carry no time).
"""

import gzip
import os
import struct
import sys

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

TRAIN = 1437


def pictures(raw: np.ndarray) -> np.ndarray:
    """8x8 pictures with levels 0 to 16 as 28x28 bytes: enlarged to 20x20, in a frame of 4 as in MNIST."""
    out = np.zeros((len(raw), 28, 28), "uint8")
    for picture, small in zip(out, np.clip(raw * 255 / 16, 0, 255).astype("uint8")):
        picture[4:24, 4:24] = np.asarray(Image.fromarray(small).resize((20, 20), Image.BILINEAR))
    return out


def write(path: str, magic: int, array: np.ndarray) -> None:
    header = struct.pack(f">{1 + array.ndim}I", magic, *array.shape)
    with open(path, "wb") as f, gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=f, mtime=0) as g:
        g.write(header + array.tobytes())


def main(folder: str) -> None:
    raw = load_digits()
    order = np.random.RandomState(0).permutation(len(raw.images))
    images, labels = pictures(raw.images)[order], raw.target[order].astype("uint8")
    os.makedirs(folder, exist_ok=True)
    for part, rows in (("train", slice(None, TRAIN)), ("t10k", slice(TRAIN, None))):
        write(os.path.join(folder, f"{part}-images-idx3-ubyte.gz"), 2051, images[rows])
        write(os.path.join(folder, f"{part}-labels-idx1-ubyte.gz"), 2049, labels[rows])
        print(f"{part}: {len(labels[rows])} digits, {np.bincount(labels[rows], minlength=10).tolist()} of each kind")


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "paddle", "vision", "datasets", "digits"))
