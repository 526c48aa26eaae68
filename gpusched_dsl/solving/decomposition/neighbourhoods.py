"""Improving a point of a problem with blocks: the backend plans a few blocks anew that may use the same.

All other blocks keep their points. Free are also the shared columns in rows of uses that the few blocks could have, and
all continuous ones; in some neighbourhoods all shared columns and no block. How many blocks are free follows from how
long the last neighbourhood took.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from msgspec import structs

from gpusched_dsl.backends.protocol import Backend, SolveOptions
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, unique
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.solving.decomposition.blocks import BlockStructure
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.primal.restriction import has_point, restrict, solve_part

FIRST_BLOCKS, GROWTH = 3.0, 1.5
SECONDS, SHARE = 0.5, 0.1  # at least, and of the remaining time, for one neighbourhood
NEIGHBOUR_GAP = 0.002
SHARED_TURN = 5  # one of so many neighbourhoods is that of all shared columns, the first among them
FRUITLESS = 10  # neighbourhoods in a row without a better point, after which another kind of search is better


class BlockNeighbourhoods:
    """Neighbourhoods of one problem, drawn one after the other."""

    def __init__(self, parts: BlockStructure, backend: Backend, options: SolveOptions) -> None:
        self._parts, self._backend, self._options = parts, backend, options
        self._random = np.random.default_rng(options.seed)
        use = parts.use.tocoo()
        shape = (parts.blocks.count, parts.uses)
        pairs = sp.coo_array((np.ones(len(use.row)), (parts.block[use.col], use.row)), shape=shape).tocsr()
        self._possible = (pairs > 0).astype(np.float64).tocsr()
        self._blocks = FIRST_BLOCKS
        self._turn = 0
        self.fruitless = 0

    @property
    def is_exhausted(self) -> bool:
        return self.fruitless >= FRUITLESS

    def improve(self, point: Floats, budget: HeuristicBudget) -> Floats | None:
        """The best point of one neighbourhood of a point, None where the backend finds none."""
        of_shared = self._turn % SHARED_TURN == 0
        self._turn += 1
        free = np.zeros(self._parts.blocks.count, dtype=np.bool_) if of_shared else self._draw()
        lower, upper = self._bounds(point, free, of_shared)
        part = restrict(self._parts.problem, lower, upper)
        seconds = min(budget.remaining_seconds, max(SECONDS, SHARE * budget.remaining_seconds))
        options = structs.replace(
            self._options, time_limit=seconds, gap=max(self._options.gap / 10, NEIGHBOUR_GAP), extra={}
        )
        answer = solve_part(self._backend, part.problem, options, part.values(point), budget)
        if not of_shared and answer.status is Status.LIMIT:
            self._blocks = max(1.0, self._blocks / GROWTH)
        elif not of_shared:
            self._blocks = min(self._blocks * GROWTH, self._parts.blocks.count)
        if not has_point(answer):
            return None
        assert answer.values is not None
        return part.point(answer.values)

    def _draw(self) -> Bools:
        """A block by lot, and those that could use most of what it could, with some chance."""
        count = self._parts.blocks.count
        first = int(self._random.integers(count))
        common = np.asarray((self._possible @ self._possible[[first]].T).todense()).reshape(-1)
        common = common * self._random.random(count)
        common[first] = np.inf
        free: Bools = np.zeros(count, dtype=np.bool_)
        free[np.argsort(-common, kind="stable")[: round(self._blocks)]] = True
        return free

    def _bounds(self, point: Floats, free: Bools, of_shared: bool) -> tuple[Floats, Floats]:
        """The bounds of all columns; those that stay are fixed."""
        parts = self._parts
        uses = unique(self._possible[np.flatnonzero(free)].indices)
        near = np.full(len(parts.shared), of_shared)
        near[parts.a[np.flatnonzero(np.isin(parts.use_of, uses))].indices] = True
        stays: Codes = np.concatenate((parts.own[~free[parts.block]], parts.shared[parts.integer & ~near]))
        lower, upper = parts.problem.lower.copy(), parts.problem.upper.copy()
        lower[stays] = upper[stays] = point[stays]
        return lower, upper
