"""Epochs of data loaders, in turns with official Paddle and PyTorch (milliseconds an epoch).

`images`: JPEG pictures are decoded, cropped at random, scaled, flipped and normalised, 32 to a batch, with the number of
worker processes in the name; `persistent` keeps them between epochs. `arrays`: batches of 38 MB that cost nothing to make,
so that mostly the way between the processes is measured. Every sample runs the same Pillow and NumPy code.
"""

from turns import main

NAMES = {"images_0": 1, "images_2": 1, "images_4": 1, "images_4_persistent": 1, "arrays_0": 1, "arrays_2_persistent": 1}

if __name__ == "__main__":
    main("dataloader_workloads", NAMES, 1e3, "ms")
