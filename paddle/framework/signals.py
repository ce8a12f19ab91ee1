"""Signals."""


def disable_signal_handler() -> None:
    """Take the package's handlers of signals out. It installs none, so that there is nothing to do.

    Example:
        >>> paddle.disable_signal_handler()
    """
