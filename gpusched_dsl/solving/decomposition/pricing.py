"""The cheapest point of every block at given costs: lanes by dynamic programming, other blocks by the backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from msgspec import structs

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.domains import IntervalDomain
from gpusched_dsl.ir.problem import Family, Objective, Problem, Term
from gpusched_dsl.ir.solver_result import SolverResult, Status
from gpusched_dsl.solving.decomposition.blocks import BlockStructure
from gpusched_dsl.solving.decomposition.lanes import LanePlanner
from gpusched_dsl.solving.decomposition.monitor import DecompositionClock
from gpusched_dsl.solving.decomposition.points import Points, join_points
from gpusched_dsl.solving.decomposition.recognition import RecognisedBlocks, recognise_blocks
from gsdsl_backends.protocol import Backend, SolveOptions, StopMonitor

BLOCK_GAP = 1e-7  # blocks given to the backend are solved to this gap; the bound counts what is left of it
HOPELESS = (Status.UNBOUNDED, Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED)


@dataclass(frozen=True, eq=False)
class PricingResult:
    """`least[k]` is at most the cost of every point of block k, infinite where it has none; `points` are cheapest ones.

    `status` is LIMIT where a block could not be finished in time (its `least` is then what is known), UNBOUNDED or
    INFEASIBLE where a block is; `backend_status` is the part of it that the backend answered. Points are sorted by
    block.
    """

    least: Floats
    points: Points
    status: Status = Status.OPTIMAL
    backend_status: Status = Status.OPTIMAL


def wanted_blocks(parts: BlockStructure, some: Codes | None) -> Bools:
    """Return which blocks are to be priced: some, or all."""
    wanted: Bools = np.full(parts.blocks.count, some is None)
    if some is not None:
        wanted[some] = True
    return wanted


def overall_status(found: Sequence[Status], least: Floats) -> Status:
    """Return the status of several blocks, from those of the backend, in the order of blocks, and the least costs."""
    others = [status for status in found if status is not Status.OPTIMAL]
    hopeless = [status for status in others if status in HOPELESS]
    if others:
        return hopeless[0] if hopeless else others[-1]
    return Status.INFEASIBLE if np.isposinf(least).any() else Status.OPTIMAL


class BlockPricer(Protocol):
    """Prices the blocks of a problem, in this process or elsewhere."""

    recognised: Bools  # the blocks that are priced by dynamic programming
    backend_blocks: int  # the number of the others

    def price(
        self,
        costs: Floats,
        watch: DecompositionClock | None = None,
        every_lane: bool = False,
        some: Codes | None = None,
    ) -> PricingResult:
        """Return the cheapest point of every block (of `some`) at these costs of the own columns.

        `every_lane`: the best point of each alternative of a block too, not only of its best one.
        """
        ...


class Pricer:
    """Prices all blocks of a problem again and again, each time from nothing: points depend on the costs alone."""

    def __init__(self, parts: BlockStructure, backend: Backend | None, recognise: bool = True) -> None:
        """`backend` is for blocks that are not recognised."""
        self._parts = parts
        self._recognised_blocks: RecognisedBlocks | None = recognise_blocks(parts) if recognise else None
        self._planner: LanePlanner | None = None
        recognised: Bools = np.zeros(parts.blocks.count, dtype=np.bool_)
        if self._recognised_blocks is not None:
            recognised = self._recognised_blocks.recognised
            self._planner = LanePlanner(self._recognised_blocks.lanes)
        self.recognised = recognised
        self.backend_blocks = int((~recognised).sum())
        self._backend_blocks: list[_BackendBlock] = []
        if self.backend_blocks:
            assert backend is not None
            self._backend_blocks = [_BackendBlock(parts, backend, int(k)) for k in np.flatnonzero(~recognised)]

    def price(
        self,
        costs: Floats,
        watch: DecompositionClock | None = None,
        every_lane: bool = False,
        some: Codes | None = None,
    ) -> PricingResult:
        wanted = wanted_blocks(self._parts, some)
        least = np.full(self._parts.blocks.count, np.inf)
        points = [self.price_recognised(costs, least, wanted, every_lane=every_lane)]
        found: list[Status] = []
        for other in self._backend_blocks:
            if not wanted[other.block]:
                continue
            answer = other.solve(costs, watch)
            found.append(answer.status)
            if answer.status is Status.OPTIMAL or answer.status is Status.LIMIT:
                least[other.block] = -np.inf if answer.bound is None else answer.bound
            if answer.values is not None:
                points.append(other.point(answer.values))
            if answer.status in HOPELESS:
                break
        priced = join_points(points)
        if found:
            priced = priced.take(np.argsort(priced.block, kind="stable"))
        of_backend = overall_status(found, np.zeros(0))
        return PricingResult(least, priced, overall_status(found, least[wanted]), of_backend)

    def price_recognised(self, costs: Floats, least: Floats, wanted: Bools, *, every_lane: bool) -> Points:
        """Return the points of the recognised blocks among the wanted ones, and write their costs into `least`."""
        choices = self._recognised_blocks
        if self._planner is None or choices is None:
            return Points.none(self._parts)
        slot_cost = np.where(choices.usable, costs[choices.slot], np.inf)
        start_cost = np.where(choices.start >= 0, costs[choices.start], 0.0)
        values, active = self._planner.solve(slot_cost, start_cost)
        values = values + costs[choices.home]
        np.minimum.at(least, choices.block, values)
        lanes = np.isfinite(values) & wanted[choices.block]
        if not every_lane:
            lanes &= values <= least[choices.block]
            chosen = np.flatnonzero(lanes)
            _, first = np.unique(choices.block[chosen], return_index=True)
            chosen = chosen[first]
        else:
            chosen = np.flatnonzero(lanes)
        return _points_of_lanes(self._parts, choices, active, chosen)


def _points_of_lanes(parts: BlockStructure, choices: RecognisedBlocks, active: np.ndarray, chosen: Codes) -> Points:
    """A point for each chosen lane: its slots, its starts and its alternative."""
    starts, running = choices.lanes.starts, choices.lanes.running
    before = np.concatenate(([False], active[:-1])) if len(active) else active
    begins = starts[:-1][np.diff(starts) > 0]
    before[begins] = running[np.diff(starts) > 0]
    begun = active & ~before & (choices.start >= 0)
    lane_of = np.repeat(np.arange(choices.lanes.count), np.diff(starts))
    row = np.full(choices.lanes.count, -1, dtype=np.int64)
    row[chosen] = np.arange(len(chosen))
    slots, starting = np.flatnonzero(active & (row[lane_of] >= 0)), np.flatnonzero(begun & (row[lane_of] >= 0))
    rows = np.concatenate((row[lane_of[slots]], row[lane_of[starting]], np.arange(len(chosen))))
    columns = np.concatenate((choices.slot[slots], choices.start[starting], choices.home[chosen]))
    values = sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(len(chosen), len(parts.own))).tocsr()
    return Points(choices.block[chosen], values)


class _BackendBlock:
    """A block of another shape: a small problem for the backend."""

    def __init__(self, parts: BlockStructure, backend: Backend, block: int) -> None:
        self.block = block
        self._backend = backend
        self._width = len(parts.own)
        self._own = np.flatnonzero(parts.block == block)
        self._problem = _problem_of(parts, block, parts.own[self._own])

    def solve(self, costs: Floats, watch: DecompositionClock | None) -> SolverResult:
        term = Term(None, np.arange(len(self._own), dtype=np.int32), costs[self._own])
        problem = replace(self._problem, objectives=(Objective("minimize", (term,)),))
        left = None if watch is None else watch.remaining_seconds
        # One thread, and no session of earlier costs: the same answer everywhere.
        options = SolveOptions(time_limit=None if left is None else max(left, 0.0), gap=BLOCK_GAP, threads=1)
        session = self._backend.open(problem)
        try:
            return session.solve(options, monitor=None if watch is None else StopMonitor(lambda: watch.stop_requested))
        finally:
            session.close()

    def point(self, values: Floats) -> Points:
        integer = self._problem.integer
        values = np.where(integer, np.rint(values), values)
        used = np.flatnonzero(values)
        row = sp.csr_array((values[used], self._own[used], np.array([0, len(used)])), shape=(1, self._width))
        return Points(np.array([self.block]), row)


def _problem_of(parts: BlockStructure, block: int, columns: Codes) -> Problem:
    """The rows and columns of one block, without costs."""
    problem = parts.problem
    rows = parts.blocks.rows_of(block)
    place = np.full(problem.columns, -1, dtype=np.int32)
    place[columns] = np.arange(len(columns))
    matrix = problem.matrix.take(rows)
    return Problem(
        name=f"{problem.name} {parts.blocks.labels[block]}",
        variables=(Family("block", 0, IntervalDomain(0, len(columns) - 1)),),
        lower=problem.lower[columns],
        upper=problem.upper[columns],
        integer=problem.integer[columns],
        constraints=(Family("inside", 0, IntervalDomain(0, len(rows) - 1)),),
        matrix=structs.replace(matrix, columns=place[matrix.columns]),
        row_lower=problem.row_lower[rows],
        row_upper=problem.row_upper[rows],
    )
