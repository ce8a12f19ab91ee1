"""Data for `dataloader.py`: the same samples for the loaders of Paddle and of PyTorch; a step is one epoch."""

from __future__ import annotations

import io
import multiprocessing
import random

import numpy as np

PICTURES, TIMES, BATCH, SIDE = 512, 3, 32, 160  # in an epoch each picture comes so many times
MEAN = np.array([0.485, 0.456, 0.406], "float32")
SPREAD = np.array([0.229, 0.224, 0.225], "float32")


class Pictures:
    """Pictures of smooth noise as JPEG files in memory; a sample is decoded and augmented anew each time."""

    def __init__(self):
        from PIL import Image

        rng = np.random.RandomState(0)
        self.files = []
        for _ in range(PICTURES):
            out = io.BytesIO()
            coarse = Image.fromarray(rng.randint(0, 256, (24, 32, 3)).astype("uint8"))
            coarse.resize((400, 300)).save(out, "JPEG", quality=90)
            self.files.append(out.getvalue())

    def __len__(self):
        return TIMES * len(self.files)

    def __getitem__(self, i):
        from PIL import Image

        picture = Image.open(io.BytesIO(self.files[i % PICTURES])).convert("RGB")
        side = random.randint(200, 300)
        left, top = random.randint(0, 400 - side), random.randint(0, 300 - side)
        picture = picture.resize((SIDE, SIDE), Image.BILINEAR, (left, top, left + side, top + side))
        if random.random() < 0.5:
            picture = picture.transpose(Image.FLIP_LEFT_RIGHT)
        values = (np.asarray(picture, "float32") / 255 - MEAN) / SPREAD
        return np.ascontiguousarray(values.transpose(2, 0, 1)), i % 10


class Arrays:
    """Large arrays that are ready."""

    def __init__(self):
        self.array = np.random.RandomState(0).rand(3, 316, 316).astype("float32")

    def __len__(self):
        return 640

    def __getitem__(self, i):
        return self.array, i


def _epochs(loader, batches):
    def step():
        total = 0
        for x, _ in loader:
            total += int(x.shape[0])
        assert total == batches * BATCH
        return x[:1]

    return step


def _loader(module, data, workers):
    def make(library):
        kind = getattr(library, module) if module == "io" else library.utils.data
        base = kind.Dataset
        samples = type(data.__name__, (data, base), {})()
        loader = kind.DataLoader(samples, batch_size=BATCH, num_workers=abs(workers), persistent_workers=workers < 0)
        return _epochs(loader, len(samples) // BATCH)

    return make


def _decode(connection, number, processes):
    """A process without a loader: on demand it makes its share of the samples of an epoch and drops them."""
    data = Pictures()
    while connection.recv():
        for i in range(number, len(data), processes):
            data[i]
        connection.send(True)


def _bare(processes):
    def make(library):
        context = multiprocessing.get_context("fork")  # with the heap as it is in this process
        pairs = [context.Pipe() for _ in range(processes)]
        for number, (_, there) in enumerate(pairs):
            context.Process(target=_decode, args=(there, number, processes), daemon=True).start()
        ends = [here for here, _ in pairs]

        def step():
            for end in ends:
                end.send(True)
            for end in ends:
                end.recv()

        return step

    return make


paddle_bare_1, paddle_bare_2 = _bare(1), _bare(2)
for _name, _data, _workers in (
    ("images_0", Pictures, 0),
    ("images_2", Pictures, 2),
    ("images_2_persistent", Pictures, -2),
    ("images_4_persistent", Pictures, -4),
    ("arrays_0", Arrays, 0),
    ("arrays_2_persistent", Arrays, -2),
):
    globals()[f"paddle_{_name}"] = _loader("io", _data, _workers)
    globals()[f"torch_{_name}"] = _loader("data", _data, _workers)
