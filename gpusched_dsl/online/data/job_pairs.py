"""Finds given pairs of jobs that arrive at different times: before both are present, no condition over them applies."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.online.clock_time import RunClock
from gpusched_dsl.online.data.base import Base


def pairs_that_arrive_apart(online: CheckedOnline, base: Base, arrival: Floats) -> tuple[Diagnostic, ...]:
    """A warning (GSM7060) for each given set of pairs of jobs, or binary parameter over two jobs, with such a pair.

    `arrival` is the time of each job in the unit of the clock; times that are not finite are unknown. In an indexed set
    the job of the index is the one that conditions restrict, so only jobs that arrive after it count.
    """
    found = []
    for name in sorted(base.input_names) if online.jobs_root else ():
        columns, indices = _columns(base, name, online.jobs_root)
        if len(columns) != 2:
            continue
        first, second = arrival[columns[0]], arrival[columns[1]]
        apart = np.isfinite(first) & np.isfinite(second) & (first < second if indices == 1 else first != second)
        if apart.any():
            found.append(_warning(online, base, name, columns, apart, arrival))
    return tuple(found)


def _columns(base: Base, name: str, root: str) -> tuple[list[Codes], int]:
    """The columns of jobs in a set, or in a binary parameter where it is 1, and how many of them are indices."""
    model, store = base.model, base.store
    is_set = name in model.sets
    if not is_set and (name not in model.params or model.params[name].kind != "binary"):
        return [], 0
    domain = store.sets[name] if is_set else store.params[name].domain
    at = [place for place, universe in enumerate(domain.components) if universe is not None and universe.name == root]
    if len(at) != 2:
        return [], 0
    columns = domain.columns() if is_set else domain.columns_at(np.flatnonzero(store.params[name].values))
    arity = model.sets[name].index_arity if is_set else domain.arity
    return [columns[place] for place in at], sum(place < arity for place in at)


def _warning(
    online: CheckedOnline, base: Base, name: str, columns: list[Codes], apart: Bools, arrival: Floats
) -> Diagnostic:
    row = int(np.flatnonzero(apart)[0])
    codes = sorted((int(column[row]) for column in columns), key=lambda code: float(arrival[code]))
    first, second = base.labels(online.jobs_root, np.array(codes))
    clock = RunClock(str(online.unit), base.store.calendar)
    more = int(apart.sum()) - 1
    also = "" if not more else f", and {more} more pair{'s' if more > 1 else ''}"
    return Diagnostic(
        "GSM7060",
        f"`{name}` has `{first}`, which arrives at {clock.text(float(arrival[codes[0]]))}, with `{second}`, "
        f"which arrives at {clock.text(float(arrival[codes[1]]))}{also}: "
        f"until then, no condition over the pair restricts `{first}`",
        online.span,
        help="let a job arrive when all jobs that it waits for have arrived, by a derived time in `arrive`",
        severity=Severity.WARNING,
    )
