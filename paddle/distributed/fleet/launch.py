"""The launcher under its older name: ``python -m paddle.distributed.fleet.launch``."""

from ..launch.main import launch

if __name__ == "__main__":
    launch()
