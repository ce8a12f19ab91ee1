"""The C library's heap, from which XLA takes the memory of arrays and of what executables need while they run.

glibc asks the system for each block of more than 32 MB anew and gives it back at once. An executable of a training step
takes its working memory as one block (176 MB for a small MobileNetV2), so each step would have all of its pages cleared and
mapped again, which costs as much as a third of the step. Once there is such an executable, large blocks come from the
heap, too, and stay with the process; the heap then lies in a range that the system may back with large pages.
``PADDLE_XLA_HEAP=0`` leaves glibc as it is; other C libraries are left as they are anyway.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from . import flags

LARGE = 32 << 20  # bytes; glibc keeps smaller blocks by itself
RESERVED = (2 << 30) - (64 << 20)  # bytes of address space, of which only what is used takes memory
KEPT = (1 << 31) - 1  # free bytes at the end of the heap that are not given back; the most that glibc takes
_LARGE_PAGE = 2 << 20
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX, _MADV_HUGEPAGE = -1, -3, -4, -8, 14


def _library() -> Any:
    library: Any = ctypes.CDLL(None) if sys.platform == "linux" else None
    if not hasattr(library, "gnu_get_libc_version"):
        return None
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    library.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return library


_glibc = _library()
_shared = _keeps = False


def configure() -> None:
    """Have all threads share one heap, as those of threads cannot hold large blocks; once, before they start."""
    global _shared
    # the limits are those at which glibc arrives by itself after a while
    options = ((_M_ARENA_MAX, 1), (_M_MMAP_THRESHOLD, LARGE), (_M_TRIM_THRESHOLD, 2 * LARGE))
    wanted = _glibc is not None and flags.switched_on("PADDLE_XLA_HEAP")
    _shared = wanted and all(_glibc.mallopt(*o) for o in options)


def needs(size: int) -> None:
    """An executable was made that takes `size` bytes each time it runs: from LARGE on, large blocks stay with the process."""
    global _keeps
    if _shared and not _keeps and size >= LARGE:
        _keeps = bool(_glibc.mallopt(_M_MMAP_MAX, 0) and _glibc.mallopt(_M_TRIM_THRESHOLD, KEPT))
        if _keeps:
            _reserve()


def _reserve() -> None:
    """Grow the heap by addresses that nothing has touched, and allow large pages there."""
    block = _glibc.malloc(RESERVED)
    if block is None:  # the address space is limited
        return
    first = -(-block // _LARGE_PAGE) * _LARGE_PAGE
    _glibc.madvise(first, (block + RESERVED - first) // _LARGE_PAGE * _LARGE_PAGE, _MADV_HUGEPAGE)
    _glibc.free(block)


def trim() -> None:
    """Give free memory back to the system."""
    if _glibc is not None:
        _glibc.malloc_trim(0)
        if _keeps:
            _reserve()
