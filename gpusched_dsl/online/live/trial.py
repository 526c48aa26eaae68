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
from gpusched_dsl.online.live.messages import AnyEvent, Arrival, Value

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
        """All that events and plans change, to go back to it by `restore`, also more than once."""
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

    def applied(self, taken: list[AcceptedEvent], candidate: Any) -> list[AcceptedEvent]:
        """Apply the last event, checked as `candidate`, to a loop with the others; return the rest of the batch."""
        one = taken[-1]
        try:
            self.loop.apply(candidate, one.external.time)
        except Exception as failure:
            self._refuse(one, failure, planned=False)
            return self._without_plan(taken[:-1])
        return taken

    def sound(self, taken: Sequence[AcceptedEvent], *, applied: bool) -> list[AcceptedEvent]:
        """Plan for a batch; the events that are left, which the loop then has. `applied`: the loop has them already."""
        left = list(taken)
        failure = self._planned(left) if applied else self._tried(left)
        while failure is not None and left:
            if len(self.refused) >= MOST_REFUSED:
                for one in left:
                    self._refuse(one, failure[1], planned=True)
                left = []
            else:
                at, why = failure if failure[0] is not None else self._first(left, failure[1])
                assert at is not None
                self._refuse(left.pop(at), why, planned=failure[0] is None)
            failure = self._tried(left) if left else None
        if not left:
            self._back()
        return left

    # --- inside ------------------------------------------------------------------------------------------------------

    def _back(self) -> None:
        self.loop.restore(self.before)
        self.restart()

    def _without_plan(self, taken: list[AcceptedEvent]) -> list[AcceptedEvent]:
        """Go back and apply these again; those that do not fit any more are refused too."""
        self._back()
        left: list[AcceptedEvent] = []
        for one in taken:
            try:
                self.loop.apply(self.loop.check(one.event), one.external.time)
            except Exception as failure:
                self._refuse(one, failure, planned=False)
                return self._without_plan([*left, *taken[len(left) + 1 :]])
            left.append(one)
        return left

    def _tried(self, taken: Sequence[AcceptedEvent]) -> Failure | None:
        """Restore, apply these events and plan; return None on success."""
        self._back()
        batch = taken[0].external.batch if taken else 0
        for at, one in enumerate(taken):
            try:
                if one.external.batch != batch:
                    batch = one.external.batch
                    self.loop.decide()
            except Exception as failure:
                return None, failure
            try:
                check_clock(one.external.time, "")
                self.loop.apply(self.loop.check(one.event), one.external.time)
            except Exception as failure:
                return at, failure
        return self._planned(taken)

    def _planned(self, taken: Sequence[AcceptedEvent]) -> Failure | None:
        try:
            made = self.loop.decide()
            if any(isinstance(one.event, Arrival | Value) for one in taken):
                self.loop.rehearse(made)
        except Exception as failure:
            return None, failure
        return None

    def _first(self, taken: Sequence[AcceptedEvent], failure: Exception) -> tuple[int, Exception]:
        """The last event of the shortest beginning that fails, where all of it does."""
        good, bad = 0, len(taken)
        while bad - good > 1:
            middle = (good + bad) // 2
            found = self._tried(taken[:middle])
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
    """Return GSM5209: planning fails after the event; name its most extreme value, usually the cause."""
    message = f"no plan can be computed after this event: {reason.message} ({reason.code})"
    extreme = max(_numbers(event), key=lambda pair: abs(math.log10(abs(pair[1]))), default=None)
    help = reason.help or "send it again with other values"
    if extreme is not None:
        help = f"the most extreme value of the event is {extreme[0]}, {extreme[1]:g}; {help}"
    return Diagnostic("GSM5209", message, help=help)


def _numbers(event: AnyEvent) -> Iterator[tuple[str, float]]:
    """The numbers that an event brings, but for zeros, with where they are."""
    if not isinstance(event, Arrival | Value):
        return
    for name, given in event.values.items():
        yield from _below(f"`{name}`", given)


def _below(at: str, given: Any) -> Iterator[tuple[str, float]]:
    if isinstance(given, dict):
        for key, value in given.items():
            yield from _below(f"{at} of `{key}`", value)
    elif isinstance(given, list):
        for row in given:
            if isinstance(row, list) and row:
                yield from _below(f"{at} of `{','.join(map(str, row[:-1]))}`", row[-1])
    elif isinstance(given, int | float) and not isinstance(given, bool) and given:
        yield at, float(given)
