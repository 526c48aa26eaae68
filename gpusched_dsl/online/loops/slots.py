"""The loop of models that decide slot by slot: a window is planned, its first slots are executed, then the next window.

A plan holds until its committed slots are over, or until an event that the block replans on: events are seen when the
next slot begins. D.-K. Kang, K.-B. Lee, Y.-C. Kim (2022) decide over a whole week at once; this is how
their model goes online.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.ir.arrays import Bools, Codes, Ints
from gpusched_dsl.ir.domains import TupleDomain
from gpusched_dsl.online.data.carry import CurrentPlan, LoopClock, without
from gpusched_dsl.online.loops.base import MadePlan, SimulationLoop
from gpusched_dsl.online.simulation.assignments import Allocations
from gpusched_dsl.online.simulation.world import TOLERANCE


@dataclass(eq=False)
class SlotLoop(SimulationLoop):
    """Runs to the end of the slots, or until `stop` returns True."""

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.setup.window is not None
        self.window = self.setup.window
        self.slot = 0  # the next one to be executed
        self.planned = 0  # the first slot of the plan that holds
        self.until = 0  # the first slot that the plan that holds does not commit to
        self.charged_to = 0
        self.entries: Allocations | None = None  # of all slots of the plan that holds
        self.plan_columns: tuple[Codes, ...] = ()
        self.skipped = np.zeros(0, dtype=np.bool_)  # entries of executed slots whose job or node was not there
        self.unnoted: MadePlan | None = None  # not in effect yet
        self.ended = False  # whether a job has come to its end in the last slot
        self.seen: list[str] = []  # events by the beginning of this slot

    def step(self) -> str:
        """Execute the next slot, after a new plan if one is due; why the run is over, else ""."""
        if self.stop():
            self.settle()
            return "interrupt"
        if self.slot >= self.window.horizon:
            self.settle()
            return "horizon"
        why = self.happen()
        if self.slot >= self.until:
            why.insert(0, "window")
        if why:
            self.settle()
            self.decide(tuple(why))
        self.execute()
        return ""

    def happen(self) -> list[str]:
        """Process the events until the beginning of this slot; return those that require a plan."""
        self.look()
        happened, self.seen = self.seen, []
        return [event for event in happened if self.online.replans_on(event)]

    def look(self) -> None:
        """Process the events until the beginning of this slot; the next step plans because of them."""
        happened = self.outages_now()
        came = self.world.arrive()
        if len(came):
            happened.append("arrival")
        self.events += len(came)
        if self.ended:
            happened.append("completion")
            self.ended = False
        self.seen = [*self.seen, *happened]

    def kept_elements(self) -> dict[str, Codes]:
        stop = min(self.slot + self.window.lookahead, self.window.horizon)
        return {**super().kept_elements(), self.window.root: np.arange(self.slot, stop, dtype=np.int64)}

    def clock(self) -> LoopClock:
        clock = super().clock()
        before = self.slot - 1 if self.slot else clock.committed
        return LoopClock(float(self.slot), clock.remaining, clock.done, clock.running, clock.requested, before)

    def decide(self, why: tuple[str, ...]) -> None:
        """Plan the window that begins with this slot."""
        made = self.plan(why)
        columns = self.chosen(made.plan)
        self.know_jobs(made)
        self.plan_columns = columns
        self.entries = made.reader.entries(columns)
        self.skipped = np.zeros(len(self.entries), dtype=np.bool_)
        self.planned = self.charged_to = self.slot
        self.until = self.slot + self.window.every
        self.unnoted = made

    def execute(self) -> None:
        """Execute one slot as planned: its jobs, and its time."""
        entries, made = self.entries, self.made
        if entries is not None and made is not None:
            due = entries.slot == self.slot
            rows = np.flatnonzero(due & self._alive(entries.job) & self._up(entries.place))
            self.skipped = self.skipped | due  # a new array: copies of the run share the old one
            self.skipped[rows] = False
            rows = rows[entries.job[rows] >= 0]  # decisions without jobs are only charged for
            changed = self.put(made, tuple(c[rows] for c in self.plan_columns), entries.take(rows))
            if self.unnoted is not None:
                self.note(self.unnoted, changed)
                self.unnoted = None
        end = (self.slot + 1) * self.setup.slot_length
        while len(self.world.running):
            first = float(self.world.completions().min())
            if first > end - TOLERANCE * max(1.0, end):
                break
            self.world.advance(first)
            self._complete()
        self.world.advance(end)
        self._complete()
        self.slot += 1

    def _complete(self) -> None:
        ended = self.world.complete()
        self.events += len(ended)
        if len(ended):
            self.ended = True
            self.charge_rates()

    def _alive(self, jobs: Ints) -> Bools:
        """Return which jobs are present and unfinished; entries without a job count as present."""
        world = self.world
        here = np.zeros(len(world.status) + 1, dtype=np.bool_)
        here[world.present()] = True
        here[-1] = True
        return here[jobs]

    def _up(self, places: Ints) -> Bools:
        """Which places are not down."""
        return ~np.isin(places, self.down.get(self.places_root, ()))

    def settle(self) -> None:
        """Charge the stated charges for the slots executed since the plan.

        From then on the plan is the one that was executed: so charges and `carry` read the same.
        """
        if self.slot <= self.charged_to or self.made is None:
            return
        codes = np.arange(self.charged_to - self.planned, self.slot - self.planned, dtype=np.int64)
        self.standing = self._executed()
        self.charge_stated(1.0, (self.online.window.slots if self.online.window else "", codes))
        self.charged_to = self.slot

    def _executed(self) -> CurrentPlan | None:
        """Return the current plan without the skipped entries."""
        variable = self.placement.variable
        if self.standing is None or self.made is None or not self.skipped.any():
            return self.standing
        components = self.codes.components(variable)
        given = self.standing.values[variable]
        skipped = self.made.part.outer_codes(components, tuple(column[self.skipped] for column in self.plan_columns))
        kept = np.ones(len(given.values), dtype=np.bool_)
        place = TupleDomain(components, given.codes).locate(skipped)
        kept[place[place >= 0]] = False
        return without(self.standing, variable, kept)
