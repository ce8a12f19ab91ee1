"""A file seen as memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine import errors
from ..engine.dtype import to_dtype
from ..engine.tensor import Tensor
from ..ops.creation import to_tensor


class MmapStorage:
    """The first bytes of a file, read when they are asked for.

    Args:
        filename: path of the file.
        nbytes: how many bytes; not more than the file has.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is shorter.

    Example:
        >>> import numpy as np
        >>> np.arange(4, dtype="float32").tofile("numbers.bin")
        >>> paddle.MmapStorage("numbers.bin", 16).get_slice("float32", 1, 3).tolist()
        [1.0, 2.0]
    """

    def __init__(self, filename, nbytes):
        try:
            whole = np.memmap(filename, np.uint8, "r")
        except FileNotFoundError:
            raise errors.NotFound(f"MmapStorage: there is no file {filename}") from None
        if not 0 <= nbytes <= whole.size:
            raise errors.ValueError_(
                f"MmapStorage: nbytes must lie between 0 and {whole.size}, the length of the file, got {nbytes}"
            )
        self._bytes = whole[:nbytes]

    def get_slice(self, dtype: Any = "uint8", start: int = 0, stop: int = -1, step: int = 1) -> Tensor:
        """Elements of a type from `start` to `stop` (-1: the end), a tensor. ValueError for a range outside the
        file."""
        kind = to_dtype(dtype)
        count = self._bytes.size // kind.itemsize
        stop = count if stop == -1 else stop
        if not 0 <= start <= stop <= count or step < 1:
            raise errors.ValueError_(
                f"get_slice: the range {start}:{stop}:{step} does not lie within {count} elements of {kind.name}"
            )
        elements = self._bytes[: count * kind.itemsize].view(kind.numpy)[start:stop:step]
        return to_tensor(np.array(elements), dtype=kind)
