"""Finds a minimal conflict: rows, bounds and integrality that contradict each other, all of them necessary.

First what needs no solver (crossing bounds, propagation), then the complete problem. The part found infeasible is cut
down: complete constraints by QuickXplain; then, if the linear relaxation has no point either, rows and bounds by a
vertex of the alternative system, else blocks by index, single rows, then bounds by QuickXplain. In the end leaving out
each element is shown to give a point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gpusched_dsl.explaining.certificate import linear_conflict
from gpusched_dsl.explaining.elements import Elements
from gpusched_dsl.explaining.oracle import Oracle
from gpusched_dsl.explaining.propagation import NEAR_INTEGER, contradiction
from gpusched_dsl.explaining.quickxplain import Groups, bounds_by_family, quickxplain, rows_by_family, rows_by_index
from gpusched_dsl.explaining.reach import Reach, reaches
from gpusched_dsl.ir.arrays import Bools, Codes
from gpusched_dsl.ir.deadline import StoppedEarly
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import ROUNDING
from gpusched_dsl.solving.variants.solver import Feasibility, VariantSolver

FEW_ROWS = 48  # so many are looked at one by one at once
CROSSING = ROUNDING


@dataclass(frozen=True, eq=False)
class Conflict:
    """Rows and columns (numbers of `problem`) with sides, bounds and integrality that contradict each other.

    `minimal`: leaving out any one of them was proved to leave a feasible rest; `rows_minimal`: any one of the rows.
    `complete` is False when the time ended before the search did; the conflict then holds more than need be. `reach`
    says of rows what the others leave to them. `solves` counts sub-problems.
    """

    problem: Problem
    rows: Codes
    lower: Codes
    upper: Codes
    integer: Codes
    minimal: bool
    complete: bool
    rows_minimal: bool = False
    reach: Mapping[int, Reach] = field(default_factory=dict)
    solves: int = 0
    seconds: float = 0.0

    @property
    def mask(self) -> Bools:
        elements = Elements(self.problem)
        found = elements.none()
        for kind, numbers in (
            ("row", self.rows), ("lower", self.lower), ("upper", self.upper), ("integer", self.integer)
        ):  # fmt: skip
            elements.of(kind, found)[numbers] = True
        return found

    @property
    def columns(self) -> Codes:
        """Return the columns with bounds or integrality in the conflict."""
        return np.unique(np.concatenate((self.lower, self.upper, self.integer)))


def find_conflict(
    problem: Problem, solver: VariantSolver | None = None, *, known_infeasible: bool = False
) -> Conflict | None:
    """A minimal conflict of a problem without conditions, or the best one found in time; None when none was proved.

    `known_infeasible`: a solver has proved the problem infeasible, so that this need not be asked again. Objectives are
    not looked at. Ctrl-C, the time limit and the monitor of the solver end the search with what has been found.
    """
    return search_conflict(problem, solver or VariantSolver(), known_infeasible=known_infeasible)[1]


def search_conflict(
    problem: Problem, solver: VariantSolver, *, known_infeasible: bool = False
) -> tuple[Feasibility, Conflict | None]:
    """Whether the problem is feasible, as far as that was found out, and its conflict when it is not."""
    search = _Search(Elements(problem), solver, known_infeasible)
    return search.run(), search.conflict


class _Search:
    def __init__(self, elements: Elements, solver: VariantSolver, known_infeasible: bool) -> None:
        self.elements, self.solver = elements, solver
        self.oracle = Oracle(elements, solver)
        self.conflict: Conflict | None = None
        self.rows_minimal: Bools | None = None  # rows each of which is needed
        if known_infeasible:
            self.oracle.best = elements.present.copy()

    def run(self) -> Feasibility:
        alone = self._self_contradiction()
        if alone is not None:
            self.conflict = self._conflict(alone, minimal=True, complete=True)
            return Feasibility.INFEASIBLE
        verdict = Feasibility.UNKNOWN
        try:
            start = self._start()
            if not isinstance(start, Feasibility):
                self._cut_down(start)
                return Feasibility.INFEASIBLE
            verdict = start
        except StoppedEarly:
            pass
        except KeyboardInterrupt:
            if self.solver.abandoned:
                raise
            self.solver.clock.interrupt()
        if self.conflict is None and self.oracle.best is not None:
            self.conflict = self._best_so_far(self.oracle.best)
        return verdict if self.conflict is None else Feasibility.INFEASIBLE

    def _cut_down(self, start: Bools) -> None:
        """Reduce an infeasible part to a `conflict`."""
        background, rows = self._families(start)
        needed = self.elements.none()
        linear = None
        if not self.elements.of("integer", background).any():
            part = background.copy()
            part[rows] = True
            linear = linear_conflict(self.elements, part, self.solver)
        if linear is not None and self.oracle.is_infeasible(linear[0]):
            found, needed = linear
        else:
            found = self._rows(background, rows)
            found, proved = self._prove_minimal(found, needed, "row")
            self.rows_minimal = self.elements.of("row", found) if proved else None
            found = self._bounds(found)
        found, minimal = self._prove_minimal(found, needed)
        self.conflict = self._conflict(found, minimal=minimal, complete=True)
        if self.elements.problem.is_linear:
            reach = reaches(self.elements.problem, found, self.solver)
            self.conflict = replace(self.conflict, reach=reach, seconds=self.solver.clock.seconds)

    def _best_so_far(self, best: Bools) -> Conflict:
        found = self._conflict(best, minimal=False, complete=False)
        rows_minimal = self.rows_minimal is not None and np.array_equal(
            self.rows_minimal, self.elements.of("row", best)
        )
        return replace(found, rows_minimal=rows_minimal)

    # --- where to start ----------------------------------------------------------------------------------------------

    def _self_contradiction(self) -> Bools | None:
        """A column or row that contradicts itself."""
        problem, found = self.elements.problem, self.elements.none()
        with np.errstate(invalid="ignore"):
            crossed = problem.lower - problem.upper > CROSSING * np.maximum(1.0, np.abs(problem.lower))
        impossible_lower, impossible_upper = np.isposinf(problem.lower), np.isneginf(problem.upper)
        hollow = problem.integer & (np.ceil(problem.lower - NEAR_INTEGER) > np.floor(problem.upper + NEAR_INTEGER))
        for kind, which in (("lower", impossible_lower), ("upper", impossible_upper)):
            if which.any():
                self.elements.of(kind, found)[np.argmax(which)] = True
                return found
        if crossed.any() or hollow.any():
            column = int(np.argmax(crossed if crossed.any() else hollow))
            kinds = ("lower", "upper") if crossed.any() else ("lower", "upper", "integer")
            for kind in kinds:
                self.elements.of(kind, found)[column] = True
            return found
        with np.errstate(invalid="ignore"):
            rows = problem.row_lower - problem.row_upper > CROSSING * np.maximum(1.0, np.abs(problem.row_lower))
        rows |= np.isposinf(problem.row_lower) | np.isneginf(problem.row_upper)
        if rows.any():
            found[np.argmax(rows)] = True
            return found
        return None

    def _start(self) -> Bools | Feasibility:
        """Return a part that is proved infeasible, small if that is cheap; the verdict if
        there is none.
        """
        small = self._reasons_by_propagation()
        if small is not None and self.oracle.is_infeasible(small):
            return small
        present = self.elements.present
        relaxed = present.copy()
        self.elements.of("integer", relaxed)[:] = False
        # A relaxation is decided long before the problem itself, and a conflict of it is found much faster.
        if self.elements.problem.is_mip and self.oracle.is_infeasible(relaxed):
            return relaxed
        verdict = (
            Feasibility.INFEASIBLE if self.oracle.best is not None else self.oracle.verdict(present, complete=True)
        )
        if verdict is Feasibility.FEASIBLE:
            return verdict
        return present if verdict is Feasibility.INFEASIBLE else verdict

    def _reasons_by_propagation(self) -> Bools | None:
        trace = contradiction(self.elements, self.solver.clock)
        return None if trace is None else trace.reasons()[0]

    # --- cutting down ------------------------------------------------------------------------------------------------

    def _families(self, start: Bools) -> tuple[Bools, Codes]:
        """`start` without its rows, and without integrality where that is not needed; rows of constraints needed."""
        background = start.copy()
        self.elements.of("row", background)[:] = False
        integrality = self.elements.of("integer", background)
        if integrality.any():
            linear = start.copy()
            self.elements.of("integer", linear)[:] = False
            if self.oracle.is_infeasible(linear):
                integrality[:] = False
        rows = np.flatnonzero(self.elements.of("row", start))
        return background, self._shrink(background, rows_by_family(self.elements, rows))

    def _rows(self, background: Bools, rows: Codes) -> Bools:
        """The background with those of `rows` that are needed."""
        if len(rows) > FEW_ROWS:
            rows = self._by_index(background, rows)
        rows = self._shrink(background, Groups.singles(rows))
        found = background.copy()
        found[rows] = True
        return found

    def _by_index(self, background: Bools, rows: Codes) -> Codes:
        """Rows of the index values that are needed, one set of indices after the other."""
        for groups, others in rows_by_index(self.elements, rows):
            with_others = background.copy()
            with_others[others] = True
            rows = np.sort(np.concatenate((self._shrink(with_others, groups), others)))
            if len(rows) <= FEW_ROWS:
                break
        return rows

    def _shrink(self, background: Bools, groups: Groups) -> Codes:
        found = quickxplain(self.oracle.is_infeasible, background, groups)
        return np.flatnonzero(found)

    def _bounds(self, found: Bools) -> Bools:
        """The rows of `found` with the bounds and the integrality that are needed only."""
        used, _ = self.elements.read(np.flatnonzero(self.elements.of("row", found)))
        bounds = (
            found
            & self.elements.present
            & np.concatenate((np.zeros(self.elements.problem.rows, bool), used, used, used))
        )
        rows_only = found.copy()
        rows_only[self.elements.problem.rows :] = False
        chosen = self._shrink(rows_only, bounds_by_family(self.elements, bounds))
        mask = self.elements.none()
        mask[chosen] = True
        groups = bounds_by_family(self.elements, mask)  # for its order
        result = rows_only.copy()
        result[self._shrink(rows_only, Groups.singles(groups.members))] = True
        return result

    # --- the answer --------------------------------------------------------------------------------------------------

    def _prove_minimal(self, found: Bools, needed: Bools, kind: str | None = None) -> tuple[Bools, bool]:
        """Omit each element once more: an element is removed if the rest is infeasible, and necessary if the rest has a
        point.

        Of one kind only if `kind` is given; those in `needed` are known to be.
        """
        minimal = True
        found = found.copy()
        asked = self.elements.none()
        (asked if kind is None else self.elements.of(kind, asked))[:] = True
        for element in np.flatnonzero(found & asked & ~needed):
            found[element] = False
            verdict = self.oracle.verdict(found)
            if verdict is Feasibility.INFEASIBLE:
                continue
            found[element] = True
            minimal &= verdict is Feasibility.FEASIBLE
        return found, minimal

    def _conflict(self, found: Bools, *, minimal: bool, complete: bool) -> Conflict:
        elements = self.elements
        kinds = {kind: np.flatnonzero(elements.of(kind, found)) for kind in ("row", "lower", "upper", "integer")}
        return Conflict(
            elements.problem,
            kinds["row"],
            kinds["lower"],
            kinds["upper"],
            kinds["integer"],
            minimal,
            complete,
            rows_minimal=minimal,
            solves=self.oracle.solves,
            seconds=self.solver.clock.seconds,
        )
