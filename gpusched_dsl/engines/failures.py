"""Failures of work as diagnostics."""

from __future__ import annotations

from gpusched_dsl.engines.protocol import BROKEN, MEMORY, Done, Failure
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic


def failure_diagnostic(done: Done, failure: Failure, what: str, again: str, more_memory: str) -> Diagnostic:
    """Return why a piece of work has no result: GSM6014, GSM9999 or GSM5308.

    `what` is the work in words, such as `the run`; `again` is the help if its worker died, `more_memory` if it needed
    too much.
    """
    if failure.kind == MEMORY:
        return Diagnostic("GSM6014", f"{what} was ended: {failure.reason}", help=more_memory)
    if failure.kind == BROKEN:
        return Diagnostic("GSM9999", f"internal error: {failure.reason}")
    return Diagnostic("GSM5308", f"the worker of {what} died {done.attempts} times: {failure.reason}", help=again)
