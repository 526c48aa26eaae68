"""Observations during a run: the cost so far at every plan, and the speed of planning."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.run_record import RunOutcome
from gpusched_dsl.online.simulation.world import DONE, FUTURE


@dataclass(eq=False)
class CostSamples:
    """Receives every plan (`SimulationLoop.on_plan`). `times`, and the amounts by term at them (`Ledger.totals`)."""

    times: list[float] = field(default_factory=list)
    amounts: list[dict[str, float]] = field(default_factory=list)

    def __call__(self, loop: SimulationLoop) -> None:
        self.times.append(loop.world.now)
        self.amounts.append(dict(loop.world.ledger.totals))

    def terms(self, outcome: RunOutcome) -> tuple[Floats, dict[str, Floats]]:
        """Return the money by term over time, from the first plan to the end of the run."""
        amounts = [*self.amounts, outcome.world.ledger.totals]
        names = [name for name in outcome.world.ledger.totals if name not in outcome.quantities]
        times = np.array([*self.times, outcome.world.now])
        return times, {name: np.array([found.get(name, 0.0) for found in amounts]) for name in names}


@dataclass(frozen=True, slots=True)
class RunProgress:
    """The progress of a run: simulated time, finished, present and future jobs, money so far, plans and seconds."""

    now: float
    unit: str
    done: int
    there: int
    to_come: int
    total: float
    money: str
    plans: int
    seconds: float


class ProgressReader:
    """Reads the progress of a run, also from another thread during the run."""

    def __init__(self, loop: SimulationLoop) -> None:
        outcome = loop.outcome("")
        self.loop, self.began = loop, time.perf_counter()
        self.others = frozenset(outcome.quantities)
        self.unit, self.money = ("" if unit == "1" else unit for unit in (outcome.unit, outcome.money))

    def read(self) -> RunProgress:
        """As it is now."""
        world = self.loop.world
        to_come = int(((world.status == FUTURE) & np.isfinite(world.arrival)).sum())
        total = sum(v for name, v in tuple(world.ledger.totals.items()) if name not in self.others)
        return RunProgress(
            world.now, self.unit, int((world.status == DONE).sum()), len(world.present()), to_come, total, self.money,
            self.loop.step_count, time.perf_counter() - self.began,
        )  # fmt: skip
