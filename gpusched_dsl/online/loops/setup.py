"""The setup of a run: the block, its data and its methods, checked, with all that stays the same during the run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from gpusched_dsl.compiling.evaluation.evaluator import Evaluator
from gpusched_dsl.compiling.evaluation.frames import EMPTY_FRAME
from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.language.blocks.online.slot_counts import counts_slots, slot_count_errors
from gpusched_dsl.language.blocks.policies.scope import clock_unit
from gpusched_dsl.language.checked import CheckedPlacement, Element, Numeric, TypedExpr, ValueType
from gpusched_dsl.language.checked_online import CheckedCharge, CheckedOnline
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.money import charged_amount, run_money
from gpusched_dsl.language.units import UNITS, Unit, convertible, number_factor
from gpusched_dsl.online.data.base import Base
from gpusched_dsl.online.data.carry import Carrier, variables_read
from gpusched_dsl.online.data.job_pairs import pairs_that_arrive_apart
from gpusched_dsl.online.data.magnitudes import check_clock, check_magnitudes, check_period
from gpusched_dsl.online.loops.clock_times import ClockTimes, clock_times_of
from gpusched_dsl.online.planners.protocol import Planner
from gpusched_dsl.online.planners.stateless import StatelessPlanner
from gpusched_dsl.online.run_config import RunConfig
from gpusched_dsl.online.simulation.realisation import OutageLaws, Realisation, realisation_of
from gpusched_dsl.online.simulation.world import TOLERANCE


@dataclass(frozen=True, slots=True)
class WindowSlots:
    """Numbers of slots: in the run, in a window, and until the next plan.

    With `foresees` plans contain jobs that have not arrived: what a run could cost, not what a scheduler can do.
    """

    root: str
    horizon: int
    lookahead: int
    every: int
    foresees: bool = False


@dataclass(frozen=True, eq=False)
class RunSetup:
    """The inputs of a loop; several loops can use one setup.

    `realisation` and `outages` are the real quantities; with `external`, events report completions and failures
    instead. `slot_length` is in hours, 0 without a window. `period` is the time to the next plan at the latest,
    `clock_times` are those at which a plan is made anyway.
    `controllers` have their own jobs and nodes each (`planners/controllers.py`).
    """

    online: CheckedOnline
    base: Base
    planner: Planner
    fallback: Planner | None
    config: RunConfig
    external: bool
    placement: CheckedPlacement
    realisation: Realisation
    outages: tuple[OutageLaws, ...]
    slot_length: float
    period: float
    window: WindowSlots | None
    controllers: int = 1
    clock_times: ClockTimes = field(default_factory=ClockTimes)

    def stateless(self) -> RunSetup:
        """Return the same setup with planners that use only the recorded state of earlier plans."""
        fallback = None if self.fallback is None else StatelessPlanner(self.fallback, self.kept_variables)
        return replace(self, planner=StatelessPlanner(self.planner, self.kept_variables), fallback=fallback)

    @cached_property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What a run of these data does not do as one could expect."""
        if self.external or (self.window is not None and self.window.foresees):
            return ()
        return pairs_that_arrive_apart(self.online, self.base, self.realisation.arrival)

    # --- names -------------------------------------------------------------------------------------------------------

    @property
    def jobs_root(self) -> str:
        return self.online.jobs_root

    @property
    def places_root(self) -> str:
        return self.placement.places_root

    @property
    def kinds_root(self) -> str:
        return self.placement.kinds_root

    @cached_property
    def types(self) -> Mapping[str, tuple[ValueType, ...]]:
        """The index types of each variable, and of values of jobs as `""`."""
        variables = self.online.base.variables.items()
        jobs = (Element(self.jobs_root),) if self.jobs_root else ()
        return {"": jobs, **{name: tuple(v.type for v in declared.indexing.variables) for name, declared in variables}}

    @cached_property
    def kept_variables(self) -> frozenset[str]:
        """Return the variables with values that are read after the plan: by the placement, `carry` and charges."""
        return kept_variables(self.online)

    # --- units -------------------------------------------------------------------------------------------------------

    @cached_property
    def clock(self) -> Unit:
        """The unit of the world's clock."""
        return clock_of(self.online)

    @cached_property
    def policy_time(self) -> float:
        """The world's time in one unit of the policies' `now`."""
        return number_factor(clock_unit(self.online.base), self.clock)

    @cached_property
    def money(self) -> Unit:
        return run_money(self.online)

    def amount(self, charge: CheckedCharge) -> Unit:
        """Return the unit of the sum of a stated charge: rates are per time of the clock."""
        return charged_amount(self.online, charge.unit)

    @cached_property
    def quantities(self) -> Mapping[str, str]:
        """Return the charges that are not money, with the units of their sums."""
        units = {charge.name: self.amount(charge) for charge in self.online.charges}
        return {name: str(unit) for name, unit in units.items() if not convertible(unit, self.money)}


def set_up(
    online: CheckedOnline,
    base: Base,
    planner: Planner,
    fallback: Planner | None,
    config: RunConfig,
    *,
    external: bool,
    controllers: int = 1,
) -> RunSetup:
    """The setup of a run. Raises DiagnosticError for a block or data that cannot be run (GSM1651, GSM1692,
    GSM7002, GSM7007)."""
    placement = online.base.placement
    if placement is None:
        message = f"`{online.base.name}` has no `placement`: its decisions have no meaning in the cluster"
        raise DiagnosticError([Diagnostic("GSM7002", message, online.span, help="state a `placement` in the model")])
    _check_jobs(online, placement)
    check_magnitudes(base, base.input_names)
    slot_length = _slot_length(online, base, placement)
    realisation = realisation_of(online, base, config.seed, slot_length)
    arrivals = realisation.arrival[np.isfinite(realisation.arrival)]
    check_clock(float(np.abs(arrivals).max(initial=0.0)), str(clock_of(online)))
    return RunSetup(
        online=online,
        base=base,
        planner=planner,
        fallback=fallback,
        config=config,
        external=external,
        placement=placement,
        realisation=realisation,
        outages=() if external else tuple(OutageLaws.of(outage, online, base) for outage in online.outages),
        slot_length=slot_length,
        period=period_of(online, base) if online.window is None else np.inf,
        window=_window_slots(online, base, slot_length),
        controllers=controllers,
        clock_times=clock_times_of(online, base.store.calendar, clock_of(online)),
    )


def kept_variables(online: CheckedOnline) -> frozenset[str]:
    """Return the variables of a block with values that are read after a plan."""
    values = [carry.value for carry in online.carries] + [charge.value for charge in online.charges]
    placement = online.base.placement
    placed = frozenset[str]() if placement is None else frozenset({placement.variable})
    return placed.union(*(variables_read(value, online) for value in values))


def clock_of(online: CheckedOnline) -> Unit:
    """The unit of the clock of a run."""
    return UNITS["h"] if online.window is not None else online.unit


def number_of(online: CheckedOnline, base: Base, expr: TypedExpr) -> float:
    """A value that depends on nothing but the scenario."""
    return Evaluator(online.base, base.store, base.limits).number(expr)


def period_of(online: CheckedOnline, base: Base) -> float:
    """The time to the next plan at the latest, infinite if the block does not state it. Raises GSM7007."""
    periods = [(number_of(online, base, t.every), t.every) for t in online.triggers if t.every is not None]
    for period, expr in periods:
        check_period(period, str(clock_of(online)), "the period", expr.span)
    return min((period for period, _ in periods), default=np.inf)


def _check_jobs(online: CheckedOnline, placement: CheckedPlacement) -> None:
    """Raise DiagnosticError (GSM7002) if jobs never arrive, or have no place in a plan."""
    has_jobs = placement.item("job") is not None
    if has_jobs and online.arrival is None:
        message = f"`{online.name}` has no line `arrive`: no plan has a job"
        help = "state the arrival of jobs: `arrive j in Jobs at 0;` if all are present from the start"
        raise DiagnosticError([Diagnostic("GSM7002", message, online.span, help=help)])
    if not has_jobs and (online.arrival is not None or online.window is None):
        message = f"the placement of `{online.base.name}` has no `job`: a plan has no meaning for a job"
        help = "state the index of the jobs: `job j;`"
        raise DiagnosticError([Diagnostic("GSM7002", message, placement.span, help=help)])


def _slot_length(online: CheckedOnline, base: Base, placement: CheckedPlacement) -> float:
    """Hours of a slot; 0 without a window."""
    if online.window is None:
        return 0.0
    lasts = placement.value("lasts")
    if lasts is None:
        message = "the length of a slot is unknown: the placement has no `lasts`"
        raise DiagnosticError([Diagnostic("GSM7002", message, placement.span, help="write `lasts slot;`")])
    if free_variables(lasts):
        message = "slots have different lengths: `lasts` of the placement depends on the decision"
        raise DiagnosticError(
            [Diagnostic("GSM7002", message, lasts.span, help="all slots of a window have the same length")]
        )
    ev = Evaluator(online.base, base.store, base.limits)
    length = float(np.asarray(ev.numbers(lasts, EMPTY_FRAME)).reshape(-1)[0])
    assert isinstance(lasts.type, Numeric)
    length *= number_factor(lasts.type.unit, UNITS["h"])
    check_period(length, "h", "the length of a slot", lasts.span)
    return length


def _window_slots(online: CheckedOnline, base: Base, slot_length: float) -> WindowSlots | None:
    window = online.window
    if window is None:
        return None
    if online.arrival is not None and (online.work is None or online.speed is None):
        message = f"the progress of jobs per slot is unknown: `{online.name}` has no `work` or no `speed`"
        help = "state both: `work epochs[b];` and `speed slot / epoch_time[b, k];`"
        raise DiagnosticError([Diagnostic("GSM1651", message, online.arrival.span, help=help)])
    root = Carrier(online, base).slots_root

    def number(expr: TypedExpr) -> float:
        return number_of(online, base, expr)

    def slots(every: TypedExpr) -> int:
        """The slots until the next plan. A time ends with the slot in which it is over."""
        length = 1.0 if counts_slots(every) else slot_length
        return max(1, math.ceil(number(every) / length * (1.0 - TOLERANCE)))

    wrong = slot_count_errors(online, number)
    if wrong:
        raise DiagnosticError(wrong)
    commit = round(number(window.commit))
    return WindowSlots(
        root=root,
        horizon=len(base.store.universes[root].labels),
        lookahead=round(number(window.lookahead)),
        every=min([commit, *(slots(t.every) for t in online.triggers if t.every is not None)]),
    )
