"""Refuses a limited address space (`ulimit -v`) in which libraries fail: they abort, or raise errors of any kind.

Rust and OpenBLAS abort the process when an allocation or a thread fails, so nothing can be caught later.
"""

from __future__ import annotations

import argparse
import os
import sys

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic

MIB = 1 << 20
LEAST_TO_READ, LEAST_TO_SOLVE = 512 * MIB, 1024 * MIB  # measured on 2 cores: 500 and 1,000 MB
OF_A_CORE = 256 * MIB  # that the threads of libraries may reserve


def limited_space() -> int | None:
    """Return the limit of the address space in bytes; None without one."""
    if sys.platform == "win32":
        return None
    try:
        import resource
    except ImportError:  # Python of a browser
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def refuse_small_space(options: argparse.Namespace) -> Diagnostic | None:
    """Return GSM6014 if libraries cannot even start within the limit."""
    space = limited_space()
    least = LEAST_TO_SOLVE if hasattr(options, "time_limit") else LEAST_TO_READ
    if space is None or not hasattr(options, "memory_limit") or space >= least:
        return None
    return _refusal(space, least)


def explain_failure() -> Diagnostic | None:
    """Return GSM6014 if a failure of any kind is likely to come from the limit."""
    space, least = limited_space(), LEAST_TO_SOLVE + OF_A_CORE * (os.cpu_count() or 1)
    return None if space is None or space >= least else _refusal(space, least)


def _refusal(space: int, least: int) -> Diagnostic:
    message = f"the address space is limited to {space // MIB:,} MiB, and libraries fail in it"
    return Diagnostic("GSM6014", message, help=f"allow at least {least // MIB:,} MiB by `ulimit -v {least // 1024}`")
