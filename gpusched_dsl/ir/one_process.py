"""Refuses to work in a fork of a process that has worked already: it would wait for threads that are not there."""

from __future__ import annotations

import os
from functools import cache

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


def refuse_fork() -> None:
    """Raise DiagnosticError (GSM6025) in a fork of the process that called this first.

    Polars and HiGHS keep pools of threads. A fork inherits their locks but not the threads, and waits forever.
    """
    if _first_process() != os.getpid():
        message = "gsdsl was in use before this process was forked, and its threads do not survive a fork"
        help = 'start processes with `multiprocessing.get_context("spawn")`, or fork before the first use'
        raise DiagnosticError([Diagnostic("GSM6025", message, help=help)])


@cache
def _first_process() -> int:
    return os.getpid()
