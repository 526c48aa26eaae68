"""Whether a method decides by what it cannot know: decisions up to a time are repeated in runs with other futures.

A future changes everything that no scheduler can know at that time: later jobs never arrive, unfinished jobs end after
half of their remaining work, where `ends at` states their ends, and the speeds of unstarted jobs are different, where
`stretch` states them; parameters that state the ends change accordingly. An online method decides the same up to that
time. The test is sound: a difference proves that a method reads the future, or is not deterministic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.store import Param
from gpusched_dsl.ir.arrays import Floats, Ints
from gpusched_dsl.language.checked import ParamRef
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.clock_time import RunClock
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.setup import RunSetup
from gpusched_dsl.online.open import loop_of, setup_of
from gpusched_dsl.online.planners.program import ProgramPlanner
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.simulation.realisation import NEVER
from gpusched_dsl.online.simulation.world import DONE

CODE = "GSM7014"
SOONER = 0.5  # of the remaining work of an unfinished job
SLOWER = 1.5  # times the stretch of a job that has not started


@dataclass(frozen=True, eq=False)
class _Decision:
    """A decision, and the state of all jobs when it was made."""

    time: float
    entries: frozenset[tuple[int, ...]]
    done: Floats
    status: Ints


def find_foresight(workspace: Workspace, config: RunConfig, *, times: int = 3) -> Diagnostic | None:
    """Return a diagnostic (GSM7014) if a method of a run by events reads the future, None if nothing shows it.

    The futures change after so many `times` of the run, at equal distances in the number of plans. Raises
    DiagnosticError as the run does.
    """
    setup = setup_of(workspace, config)
    decisions = _decisions(setup, None)
    for last in sorted({len(decisions) * part // (times + 1) for part in range(1, times + 1)}):
        if last >= len(decisions):
            continue
        other = _decisions(_with_other_future(setup, decisions[last]), last)
        for ours, theirs in zip(decisions[: last + 1], other, strict=False):
            if ours.time != theirs.time or ours.entries != theirs.entries:
                return _diagnostic(setup, min(ours.time, theirs.time), decisions[last].time)
    return None


def _decisions(setup: RunSetup, last: int | None) -> list[_Decision]:
    """Return the decisions of a run, up to one with this number."""
    found: list[_Decision] = []
    variable = setup.placement.variable

    def note(loop: SimulationLoop) -> None:
        world = loop.world
        family = None if loop.current_plan is None else loop.current_plan.values.get(variable)
        entries = frozenset[tuple[int, ...]]()
        if family is not None:
            chosen = family.values > 0
            entries = frozenset(zip(*(column[chosen].tolist() for column in family.codes), strict=True))
        found.append(_Decision(world.now, entries, world.done.copy(), world.status.copy()))

    planner = setup.planner.fresh()
    loop = loop_of(
        replace(setup, planner=planner), stop=lambda: last is not None and len(found) > last, on_plan=note, fast=False
    )
    try:
        loop.run()
    finally:
        planner.close()
    return found


def _with_other_future(setup: RunSetup, known: _Decision) -> RunSetup:
    """Return a run that is the same up to a decision, and different afterwards."""
    realisation, online = setup.realisation, setup.online
    arrival, ends, stretch = realisation.arrival.copy(), realisation.ends.copy(), realisation.stretch.copy()
    arrival[arrival > known.time * (1 + 1e-9) + 1e-9] = NEVER
    unfinished = known.status != DONE
    base = setup.base
    if online.ends is not None:
        ends = np.where(unfinished, known.done + SOONER * (ends - known.done), ends)
        if isinstance(online.ends, ParamRef):
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(realisation.ends != 0, ends / realisation.ends, 1.0)
            base = _with_scaled(base, online.ends.name, ratio)
    if online.stretch is not None:
        stretch[unfinished & (known.done == 0)] *= SLOWER
    other = replace(realisation, arrival=arrival, ends=ends, stretch=stretch)
    planner = setup.planner.with_data(base) if isinstance(setup.planner, ProgramPlanner) else setup.planner
    return replace(setup, base=base, realisation=other, planner=planner)


def _with_scaled(base: Base, name: str, ratio: Floats) -> Base:
    """Return data in which a parameter of the jobs is multiplied by numbers, one for each job."""
    store = base.store
    param = store.params[name]
    job = param.domain.columns()[0]
    scaled = Param(param.domain, param.values * ratio[job])
    instance = structs.replace(base.instance, store=structs.replace(store, params={**store.params, name: scaled}))
    return replace(base, instance=instance)


def _diagnostic(setup: RunSetup, decided: float, changed: float) -> Diagnostic:
    name, clock = setup.planner.name, RunClock(str(setup.clock), setup.base.store.calendar)
    message = (
        f"the decision of `{name}` at {clock.text(decided)} changes with the future after {clock.text(changed)}: it "
        "reads what no scheduler can know then, or is not deterministic"
    )
    help = "decide by the jobs that are present and their expected lengths; draw random numbers by the given seed"
    return Diagnostic(CODE, message, setup.online.span, help=help)
