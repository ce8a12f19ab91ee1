"""Python's `multiprocessing`, whose queues and pipes carry tensors."""

from multiprocessing import *  # noqa: F403


def init_reductions() -> None:
    """Nothing to do: tensors are pickled by their values, so that every process has its own.

    Example:
        >>> paddle.incubate.multiprocessing.init_reductions()
    """
