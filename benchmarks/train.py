"""Training steps of small networks, in turns with official PaddlePaddle and PyTorch (milliseconds a step)."""

from turns import main

NAMES = {"mlp": 50, "lenet": 30}

if __name__ == "__main__":
    main("workloads", NAMES, 1e3, "ms")
