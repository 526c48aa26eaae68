"""Events on trial: applies and plans a batch, and finds events after which planning fails.

The state of the loop before the batch is kept. When a plan fails, the shortest beginning of the batch that fails is
searched by bisection; its last event is refused, and the rest is tried again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.data.magnitudes import check_clock
from gpusched_dsl.online.journal.records import External
from gpusched_dsl.online.live.messages import AnyEvent, Arrival, Arrivals, Value

MOST_REFUSED = 8  # of one batch; when more fail, their time is at fault, and all that is left of the batch is refused

Defect: TypeAlias = Callable[[Exception], Diagnostic]


class TrialLoop(Protocol):
    """The interface of a loop for a trial. After `restore` the loop has the state that `state` returned."""

    def check(self, event: AnyEvent) -> Any:
        """Return the candidate of a valid event for `apply`; change nothing. Raises DiagnosticError for others."""
        ...

    def apply(self, candidate: Any, time: float) -> None:
        """Advance to `time`, not before `now`, and apply a checked event, without a plan."""
        ...

    def decide(self) -> Any:
        """Plan, if the changes since the last plan require it; return the plan, None without one."""
        ...

    def rehearse(self, made: Any) -> None:
        """Unless `decide` has just `made` a plan, plan for the current state and discard it. Raises as
        `decide` does.
        """
        ...

    def state(self) -> object:
        """Return everything that events and plans change, for `restore`, which may be called more than once."""
        ...

    def restore(self, state: object) -> None: ...


@dataclass(frozen=True)
class AcceptedEvent:
    """An event with its recorded data."""

    event: AnyEvent
    external: External


Failure: TypeAlias = tuple[int | None, Exception]  # which event could not be applied (None: no plan), and how


@dataclass(eq=False)
class TrialRun:
    """One batch on trial over a loop with the earlier state `before`; `restart` discards the steps of the trial.

    `refused` lists the events that are left out, with the reason.
    """

    loop: TrialLoop
    before: object
    restart: Callable[[], None]
    defect: Defect
    refused: list[tuple[AcceptedEvent, Diagnostic]] = field(default_factory=list)

    def apply_last(self, batch: list[AcceptedEvent], candidate: Any) -> list[AcceptedEvent]:
        """Apply the last event, checked as `candidate`, to a loop with the others; return the rest of the batch."""
        one = batch[-1]
        try:
            self.loop.apply(candidate, one.external.time)
        except Exception as failure:
            self._refuse(one, failure, planned=False)
            return self._apply_again(batch[:-1])
        return batch

    def plan_batch(self, batch: Sequence[AcceptedEvent], *, applied: bool) -> list[AcceptedEvent]:
        """Plan for a batch, which the loop has already if `applied`; return the accepted events."""
        left = list(batch)
        failure = self._plan(left) if applied else self._try_batch(left)
        while failure is not None and left:
            if len(self.refused) >= MOST_REFUSED:
                for one in left:
                    self._refuse(one, failure[1], planned=True)
                left = []
            else:
                at, why = failure if failure[0] is not None else self._find_first_failure(left, failure[1])
                assert at is not None
                self._refuse(left.pop(at), why, planned=failure[0] is None)
            failure = self._try_batch(left) if left else None
        if not left:
            self._go_back()
        return left

    # --- inside ------------------------------------------------------------------------------------------------------

    def _go_back(self) -> None:
        self.loop.restore(self.before)
        self.restart()

    def _apply_again(self, batch: list[AcceptedEvent]) -> list[AcceptedEvent]:
        """Go back and apply these events again; those that do not fit any more are refused too."""
        self._go_back()
        left: list[AcceptedEvent] = []
        for one in batch:
            try:
                self.loop.apply(self.loop.check(one.event), one.external.time)
            except Exception as failure:
                self._refuse(one, failure, planned=False)
                return self._apply_again([*left, *batch[len(left) + 1 :]])
            left.append(one)
        return left

    def _try_batch(self, batch: Sequence[AcceptedEvent]) -> Failure | None:
        """Restore, apply these events and plan; return None on success."""
        self._go_back()
        number = batch[0].external.batch if batch else 0
        for at, one in enumerate(batch):
            try:
                if one.external.batch != number:
                    number = one.external.batch
                    self.loop.decide()
            except Exception as failure:
                return None, failure
            try:
                check_clock(one.external.time, "")
                self.loop.apply(self.loop.check(one.event), one.external.time)
            except Exception as failure:
                return at, failure
        return self._plan(batch)

    def _plan(self, batch: Sequence[AcceptedEvent]) -> Failure | None:
        try:
            made = self.loop.decide()
            if any(isinstance(one.event, Arrival | Arrivals | Value) for one in batch):
                self.loop.rehearse(made)
        except Exception as failure:
            return None, failure
        return None

    def _find_first_failure(self, batch: Sequence[AcceptedEvent], failure: Exception) -> tuple[int, Exception]:
        """Return the last event of the shortest failing beginning of a failing batch."""
        good, bad = 0, len(batch)
        while bad - good > 1:
            middle = (good + bad) // 2
            found = self._try_batch(batch[:middle])
            if found is None:
                good = middle
            elif found[0] is not None:
                return found[0], found[1]
            else:
                bad, failure = middle, found[1]
        return bad - 1, failure

    def _refuse(self, one: AcceptedEvent, failure: Exception, *, planned: bool) -> None:
        if not isinstance(failure, DiagnosticError):
            diagnostic = self.defect(failure)
        elif planned:
            diagnostic = _no_plan_error(one.event, failure.diagnostics[0])
        else:
            diagnostic = failure.diagnostics[0]
        self.refused.append((one, diagnostic))


def plain_defect(failure: Exception) -> Diagnostic:
    """An internal error as a diagnostic."""
    help = "the event is rejected and the run continues; please report this error"
    return Diagnostic("GSM9999", f"internal error: {type(failure).__name__}: {str(failure)[:200]}", help=help)


def _no_plan_error(event: AnyEvent, reason: Diagnostic) -> Diagnostic:
    """Return GSM5209: planning fails after the event; name its most extreme value, usually the cause.

    A program as method is its own cause.
    """
    message = f"no plan can be computed after this event: {reason.message} ({reason.code})"
    by_program = reason.code in ("GSM7012", "GSM7013")  # then its decision or its end is the cause
    numbers = () if by_program else _numbers(event)
    extreme = max(numbers, key=lambda pair: abs(math.log10(abs(pair[1]))), default=None)
    help = reason.help or "send it again with other values"
    if extreme is not None:
        help = f"the most extreme value of the event is {extreme[0]}, {extreme[1]:g}; {help}"
    return Diagnostic("GSM5209", message, help=help)


def _numbers(event: AnyEvent) -> Iterator[tuple[str, float]]:
    """Return the nonzero numbers of an event, each with its position."""
    if isinstance(event, Arrival | Value):
        for name, given in event.values.items():
            yield from _numbers_in(f"`{name}`", given)
    elif isinstance(event, Arrivals):
        for one in event.jobs:
            for name, given in one.values.items():
                yield from _numbers_in(f"`{name}` of `{one.job}`", given)


def _numbers_in(at: str, given: Any) -> Iterator[tuple[str, float]]:
    if isinstance(given, dict):
        for key, value in given.items():
            yield from _numbers_in(f"{at} of `{key}`", value)
    elif isinstance(given, list):
        for row in given:
            if isinstance(row, list) and row:
                yield from _numbers_in(f"{at} of `{','.join(map(str, row[:-1]))}`", row[-1])
    elif isinstance(given, int | float) and not isinstance(given, bool) and given:
        yield at, float(given)
