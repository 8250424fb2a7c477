"""Keeps what the process takes of the machine near what it uses, where the C library is glibc.

Glibc gives every few threads a heap of their own, and each keeps what pages once took. Under load
that grows for as long as one looks: two heaps serve the threads of a site as well. When all kept
pages are dropped at once, what they took is given back.
"""

import contextlib
import ctypes
from typing import Final

_M_ARENA_MAX: Final = -8
HEAPS: Final = 2


def few_heaps() -> None:
    """Have all threads share a few heaps, from now on; does nothing without glibc."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").mallopt(_M_ARENA_MAX, HEAPS)


def give_back() -> None:
    """Give memory back that was freed; takes some milliseconds, and other threads go on."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
