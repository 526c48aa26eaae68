"""Runs trials one after the other: their order, refused ones, and Ctrl-C, which keeps what is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from gpusched_dsl.ir.deadline import StoppedEarly
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.reporting.trials import Trial

P = TypeVar("P")
T = TypeVar("T", bound=Trial[Any])


def run_in_turn(
    planned: Iterable[P],
    run: Callable[[P], T],
    refuse: Callable[[P, tuple[Diagnostic, ...]], T],
    stops: Callable[[T], bool] = lambda trial: False,
) -> list[T]:
    """Return the trials that ran: all that were planned, or those up to a stop.

    `refuse` makes the trial of one for which `run` raises DiagnosticError. A trial for which `stops` returns True is
    the last one; Ctrl-C drops the current trial and all after it. Raises KeyboardInterrupt if it drops the first one.
    """
    trials: list[T] = []
    for one in planned:
        try:
            trials.append(run(one))
        except DiagnosticError as error:
            trials.append(refuse(one, tuple(error.diagnostics)))
        except (KeyboardInterrupt, StoppedEarly):
            if not trials:
                raise KeyboardInterrupt from None
            break
        if stops(trials[-1]):
            break
    return trials
