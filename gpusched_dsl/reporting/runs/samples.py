"""What is noted while a run goes on: the cost so far at every plan, and how fast plans are made."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from gpusched_dsl.online.driver import Driver
from gpusched_dsl.online.world import DONE, FUTURE
from gpusched_dsl.policies.workload import Floats


@dataclass(eq=False)
class Samples:
    """Hears of every plan (`Driver.tell`). `times` and `totals`: money charged by then."""

    times: list[float] = field(default_factory=list)
    totals: list[float] = field(default_factory=list)

    def __call__(self, driver: Driver) -> None:
        self.times.append(driver.world.now)
        self.totals.append(total_of(driver))

    def curve(self, end: float, total: float) -> tuple[Floats, Floats]:
        """Money over time, from 0 to the end of the run."""
        return np.array([*self.times, end]), np.array([*self.totals, total])


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: simulated time, jobs finished, there and to come, money so far, plans and seconds."""

    now: float
    unit: str
    done: int
    there: int
    to_come: int
    total: float
    money: str
    plans: int
    seconds: float


def progress_of(driver: Driver, began: float) -> Progress:
    """`began` by `time.perf_counter`."""
    world = driver.world
    to_come = int(((world.status == FUTURE) & np.isfinite(world.arrival)).sum())
    money = next((o.unit.text for o in driver.online.base.objectives), "")
    return Progress(
        world.now, driver.unit, int((world.status == DONE).sum()), len(world.present()), to_come, total_of(driver),
        "" if money == "1" else money, len(driver.steps), time.perf_counter() - began,
    )  # fmt: skip


def total_of(driver: Driver) -> float:
    """Money charged so far; also asked for while the run goes on in another thread."""
    from gpusched_dsl.language.units import UNITS, convertible

    money = next((o.unit for o in driver.online.base.objectives), UNITS["h"] / UNITS["h"])
    others = {c.name for c in driver.online.charges if not convertible(c.unit, money)}
    return sum(amount for name, amount in tuple(driver.world.ledger.totals.items()) if name not in others)
