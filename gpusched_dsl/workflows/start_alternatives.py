"""What would start a waiting job earlier: every change in the same drawn futures, with its effect on the other jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.numbers import count_text, short
from gpusched_dsl.online.clock_time import RunClock
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.loops.events import EventLoop
from gpusched_dsl.online.simulation.world import DONE, WAITING
from gpusched_dsl.reporting.grid import Grid, GridColumn, plain
from gpusched_dsl.workflows.start_changes import ChangedRun, StartChange, Values, candidates, have_ended

SAMPLES = 20  # of every change
MOST_SHOWN = 12
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class FutureOutcome:
    """The result of one future: the start of the job, the ends of the compared jobs (NaN for others), their charges."""

    start: float
    ends: Floats
    cost: float
    own_cost: float

    @staticmethod
    def of(loop: EventLoop, code: int, jobs: Ints | None) -> FutureOutcome:
        """Return the result for some jobs, with their shares of the charges; None: for all jobs, with all charges."""
        quantities, world = loop.setup.quantities, loop.world
        shares = [amounts for term, amounts in world.ledger.jobs.items() if term not in quantities]
        own = sum((float(amounts[code]) for amounts in shares), 0.0)
        compared = np.ones(len(world.status), dtype=np.bool_)
        if jobs is None:
            total = sum((v for term, v in world.ledger.totals.items() if term not in quantities), 0.0)
        else:
            total = sum((float(amounts[jobs].sum()) for amounts in shares), 0.0)
            compared = np.isin(np.arange(len(world.status)), jobs)
        ends = np.where((world.status == DONE) & compared, world.end, np.nan)
        return FutureOutcome(float(world.first_start[code]), ends, total, own)


@dataclass(frozen=True, eq=False)
class StartAlternative:
    """A change and its effect. Arrays have one entry for each future, NaN where the job does not start.

    `earlier` is by how much the job starts earlier, `others_later` by how much the other jobs end later on average (of
    those that end with and without the change), `others_cost` and `cost` by how much the charges for the others, and
    all charges, increase. `unfinished` are the other jobs that only end without the change, over all futures.
    """

    kind: str
    text: str
    detail: dict[str, Any]
    start: Floats
    earlier: Floats
    others_later: Floats
    others_cost: Floats
    cost: Floats
    unfinished: int

    def quantile(self, share: float) -> float:
        """Return a quantile of the start; infinite where the job does not start."""
        return _quantile(self.start, share)

    @property
    def helps(self) -> bool:
        """Whether the job starts earlier on average."""
        return float(np.nan_to_num(self.earlier, nan=0.0).mean()) > SAME * max(
            1.0, float(np.nanmax(np.abs(self.start), initial=0.0))
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: means over the futures, quantiles of the start."""
        return {
            "kind": self.kind,
            "change": self.text,
            "detail": self.detail,
            "helps": self.helps,
            "start": {f"{share:g}": _finite(self.quantile(share)) for share in (0.5, 0.9)},
            "earlier": _mean(self.earlier),
            "others_later": _mean(self.others_later),
            "others_cost": _mean(self.others_cost),
            "cost": _mean(self.cost),
            "unfinished": self.unfinished,
        }


@dataclass(frozen=True, eq=False)
class StartAlternatives:
    """All examined changes, the earliest median start first; `start` is that without a change, in the same futures.

    `refused` are changes that the model does not allow, with the reason.
    """

    start: Floats
    changes: tuple[StartAlternative, ...]
    refused: tuple[tuple[str, str], ...]
    clock: RunClock
    money: str

    @property
    def helpful(self) -> tuple[StartAlternative, ...]:
        return tuple(change for change in self.changes if change.helps)

    def to_dict(self) -> dict[str, Any]:
        return {
            "samples": len(self.start),
            "start": {f"{share:g}": _finite(_quantile(self.start, share)) for share in (0.5, 0.9)},
            "changes": [change.to_dict() for change in self.changes],
            "refused": [{"change": text, "reason": reason} for text, reason in self.refused],
        }

    def lines(self) -> list[str]:
        """Return the part of the output of `gsdsl estimate` about changes."""
        helpful, count = self.helpful, len(self.start)
        examined = count_text(len(self.changes), "change")
        futures = "the same future" if count == 1 else f"the same {count} futures"
        lines = [f"what would start it earlier, by {examined} in {futures}:"]
        if not helpful:
            return [*lines, "  nothing", *self._refused_lines()]
        shown = helpful[:MOST_SHOWN]
        drawn = count > 1
        starts = [_quantile(self.start, 0.5), *(c.quantile(0.5) for c in shown)]
        columns = [
            GridColumn("", ["no change", *(c.text for c in shown)]),
            GridColumn("start (median)" if drawn else "start", [self._start_text(s) for s in starts], right=True),
        ]
        if drawn:
            high = [_quantile(self.start, 0.9), *(c.quantile(0.9) for c in shown)]
            columns.append(GridColumn("90%", [self._start_text(s) for s in high], right=True))
        for heading, name in (("others later", "others_later"), ("others cost", "others_cost"), ("total cost", "cost")):
            texts = ["", *(_signed_text(_mean(getattr(c, name))) for c in shown)]
            columns.append(GridColumn(heading, texts, right=True))
        lines += ["", *plain(Grid(tuple(columns))).rstrip("\n").split("\n"), ""]
        unit = self.clock.name
        times = "durations" if self.clock.dates is not None else "times"
        units = f"{times} in {unit}" if unit else "times without unit"
        lines.append(f"{units}, costs in {self.money}" if self.money else units)
        if len(helpful) > len(shown):
            lines.append(f"{count_text(len(helpful) - len(shown), 'more change')} would help less")
        if len(self.changes) > len(helpful):
            lines.append(f"{count_text(len(self.changes) - len(helpful), 'change')} would not start it earlier")
        unfinished = [c.text for c in shown if c.unfinished]
        lines += [f"jobs that never end with the change: {text}" for text in unfinished]
        return [*lines, *self._refused_lines()]

    def _start_text(self, start: float) -> str:
        """Return a start for readers; `-` where the job does not start."""
        known = _finite(start)
        return short(None) if known is None else self.clock.text(known) if self.clock.dates else short(known)

    def _refused_lines(self) -> list[str]:
        return [f"not possible: {text}: {reason}" for text, reason in self.refused]


def find_alternatives(
    loop: EventLoop,
    code: int,
    branches: Sequence[Callable[[], EventLoop]],
    wanted: Sequence[Values] = (),
    stop: Callable[[], bool] | None = None,
    compared: Ints | None = None,
) -> StartAlternatives | None:
    """Examine the changes for a waiting job of a run; None if it does not wait.

    Each of `branches` makes the same future of the run every time. It ends when the `compared` jobs (codes, None: all)
    have ended. Changes that the model refuses are left out, unless
    they are `wanted` values. `stop` ends the search after a future.
    """
    if loop.world.status[code] != WAITING:
        return None
    before = [_to_the_end(branch(), code, compared) for branch in branches]
    changes = candidates(loop, code, _ahead(loop, code, before), wanted)
    after: list[list[FutureOutcome]] = [[] for _ in changes]
    refused: dict[int, str] = {}
    data: dict[tuple[int, int], tuple[Base, Base]] = {}
    count = 0
    for branch in branches:
        if count and stop is not None and stop():
            break
        for number, change in enumerate(changes):
            if number not in refused:
                try:
                    after[number].append(_with_change(branch(), change, code, data, number, compared))
                except (DiagnosticError, ValueError) as error:
                    refused[number] = error.diagnostics[0].message if isinstance(error, DiagnosticError) else str(error)
        count += 1
    found = [
        _compare_futures(change, code, before[:count], after[number])
        for number, change in enumerate(changes)
        if number not in refused
    ]
    found.sort(
        key=lambda c: (c.quantile(0.5), c.quantile(0.9), _mean(c.others_cost) or 0.0, _mean(c.others_later) or 0.0)
    )
    told = tuple((changes[n].text, reason) for n, reason in refused.items() if changes[n].kind == "values")
    money = str(loop.setup.money)
    starts = np.array([outcome.start for outcome in before[:count]])
    return StartAlternatives(starts, tuple(found), told, loop.run_clock, "" if money == "1" else money)


def _to_the_end(loop: EventLoop, code: int, compared: Ints | None) -> FutureOutcome:
    while not (have_ended(loop, compared) or loop.step()):
        pass
    return FutureOutcome.of(loop, code, compared)


def _with_change(
    loop: EventLoop,
    change: StartChange,
    code: int,
    known: dict[tuple[int, int], tuple[Base, Base]],
    number: int,
    compared: Ints | None,
) -> FutureOutcome:
    """Run a future with a change to its end. Equal data are changed once."""
    base = None
    if change.data is not None:
        key = (number, id(loop.base))
        if key not in known:
            known[key] = (loop.base, change.data(loop.base))  # the former is kept, so that no other has its identity
        base = known[key][1]
    run = ChangedRun(loop, change, code, base)
    run.finish(compared)
    return FutureOutcome.of(loop, code, compared)


def _ahead(loop: EventLoop, code: int, before: Sequence[FutureOutcome]) -> Ints:
    """Return the other waiting jobs that end before this one does in some futures, in most of them first."""
    waiting = np.flatnonzero(loop.world.status == WAITING)
    waiting = waiting[waiting != code]
    counts = np.zeros(len(waiting))
    for outcome in before:
        own = outcome.ends[code]
        counts += outcome.ends[waiting] < (np.inf if np.isnan(own) else own)
    order = np.argsort(-counts, kind="stable")
    ahead: Ints = waiting[order[counts[order] > 0]]
    return ahead


def _compare_futures(
    change: StartChange, code: int, before: Sequence[FutureOutcome], after: Sequence[FutureOutcome]
) -> StartAlternative:
    """Return the differences of the same futures with and without a change."""
    later, unfinished = [], 0
    for old, new in zip(before, after, strict=True):
        others = np.arange(len(old.ends)) != code
        delays = (new.ends[: len(old.ends)] - old.ends)[others]
        later.append(float(np.nanmean(delays)) if np.isfinite(delays).any() else 0.0)
        unfinished += int((np.isnan(new.ends[: len(old.ends)]) & np.isfinite(old.ends))[others].sum())
    return StartAlternative(
        kind=change.kind,
        text=change.text,
        detail=dict(change.detail),
        start=np.array([new.start for new in after]),
        earlier=_differences([old.start for old in before], [new.start for new in after]),
        others_later=np.array(later),
        others_cost=_differences([o.cost - o.own_cost for o in after], [o.cost - o.own_cost for o in before]),
        cost=_differences([o.cost for o in after], [o.cost for o in before]),
        unfinished=unfinished,
    )


def _differences(after: Sequence[float], before: Sequence[float]) -> Floats:
    """Return the differences, 0 where only rounding differs."""
    new, old = np.array(after, dtype=np.float64), np.array(before, dtype=np.float64)
    change = new - old
    return np.where(np.abs(change) <= SAME * np.maximum(1.0, np.abs(old)), 0.0, change)


def _quantile(values: Floats, share: float) -> float:
    if not len(values):
        return np.inf
    filled = np.where(np.isnan(values), np.inf, values)
    method = "linear" if np.isfinite(filled).all() else "higher"
    return float(np.quantile(filled, share, method=method))  # type: ignore[call-overload]


def _mean(values: Floats) -> float | None:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else None


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _signed_text(value: float | None) -> str:
    text = short(value)
    return f"+{text}" if value is not None and value > 0 and text != "0" else text
