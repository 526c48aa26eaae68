"""Settings of processes that do gsdsl's work only, the command and its workers.

The C library returns freed arrays to the kernel, which clears their pages again: a fifth of the time of grounding.
Servers and programs that embed gsdsl keep its defaults, as they share the memory with others.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress

# Of the GNU C library, mallopt(3): from which size on arrays have pages of their own, and how much free memory at the
# end of the heap is kept.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_OWN_PAGES, _KEPT = 1 << 30, 256 << 20  # bytes


class ThisProcess:
    """What is known of this process."""

    is_command = False  # it runs one command and does nothing else


def collect_rarely() -> None:
    """Collect cycles of objects rarely: modules, trees and tables remain until the end of the process.

    A command on a small model creates 120,000 objects and ends before the first collection, which would take 30 ms.
    """
    gc.set_threshold(200_000, 25, 50)


def keep_freed_memory() -> None:
    """Keep freed memory for the next arrays.

    Otherwise large arrays come from the kernel, which clears their pages one by one at first use: a fifth of the time
    of building a large model. For processes that end with their work: others would keep memory while they wait.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library
            mallopt = ctypes.CDLL(None).mallopt
            mallopt(_M_MMAP_THRESHOLD, _OWN_PAGES)
            mallopt(_M_TRIM_THRESHOLD, _KEPT)
