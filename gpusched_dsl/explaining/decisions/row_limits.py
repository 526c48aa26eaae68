"""The constraints that exclude a job from places with room, as sentences about their use by other jobs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gpusched_dsl.explaining.decisions.counterfactuals import CounterfactualProblem
from gpusched_dsl.explaining.elements import Elements
from gpusched_dsl.explaining.excluding_rows import ExcludingRows, excluding_rows
from gpusched_dsl.explaining.job_reason import RowLimit
from gpusched_dsl.explaining.propagation import contradiction
from gpusched_dsl.explaining.row_text import COMPILER_MARK
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Ints
from gpusched_dsl.ir.domains import decode_column
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.variants import with_bounds, with_row, with_sides
from gpusched_dsl.language.checked import CheckedPlacement, Role

MOST_ROWS = 3
MOST_TRACED = 20  # elements whose exclusion is traced through other variables
ADDED = "(the gang runs)"  # no author can write this name


@dataclass(frozen=True, eq=False)
class RowLimits:
    """Finds rows that exclude the job of a question, with the other jobs as planned.

    Consequences follow from the constraints `kept` alone, so that a full node is no reason. Rows of `names` are named,
    some of those.
    """

    question: CounterfactualProblem
    names: Collection[str]
    kept: Collection[str]

    def of(self, elements: Ints, workers: int) -> tuple[RowLimit, ...]:
        """Return rows that together exclude the job from all `elements` of its family; none if propagation finds none.

        First rows about jobs alone are looked for: of a gang also one about all elements that has too little left for
        its `workers`. Then exclusions are traced through other variables.
        """
        if not len(elements):
            return ()
        found = self._plain(self._excluding(elements))
        rows = _cover(found, len(elements))
        if not rows and workers > 1:
            found = self._plain(self._excluding(elements, float(workers)))
            row, counts = np.unique(found.row, return_counts=True)
            rows = row[counts == len(elements)].tolist()
        if rows:
            return tuple(self._limit(row, found, len(elements)) for row in rows[:MOST_ROWS])
        return self._traced(elements, workers)

    def excluded(self, elements: Ints) -> Bools:
        """Return which elements of the job single rows exclude."""
        return np.isin(elements, self._excluding(elements).column)

    def named(self, names: Collection[str]) -> tuple[RowLimit, ...]:
        """Return rows by name, with the descriptions of their constraints."""
        return tuple(RowLimit(name, self._doc(name.partition("[")[0]), combined=True) for name in names)

    # --- the problem -------------------------------------------------------------------------------------------------

    @cached_property
    def _problem(self) -> Problem:
        """The problem with the other jobs as planned, and free rows for constraints that are not kept."""
        problem, family = self.question.problem, self.question.family
        free = np.zeros(problem.rows, dtype=np.bool_)
        for constraint in problem.constraints:  # those that the compiler added stay
            free[constraint.slice] = constraint.name not in self.kept and COMPILER_MARK not in constraint.name
        own = family.first + self.question.all_own_elements
        problem = self.question.others_as_planned(
            self.question.all_own_elements, with_sides(problem, free, -np.inf, np.inf)
        )
        return with_bounds(problem, own, lower=np.minimum(problem.lower[own], 0.0))

    def _is_named(self, row: int) -> bool:
        name = self.question.problem.row_family(row).name
        return name in self.names and COMPILER_MARK not in name

    def _entries(self, row: int) -> tuple[Ints, Floats]:
        matrix = self.question.problem.matrix
        entries = slice(int(matrix.starts[row]), int(matrix.starts[row + 1]))
        return matrix.columns[entries].astype(np.int64), matrix.values[entries]

    def _places_of_family(self, columns: Ints) -> Ints:
        """Return the positions in the family of those columns that are in it."""
        family = self.question.family
        return columns[(columns >= family.first) & (columns < family.stop)] - family.first

    # --- rows about jobs alone ---------------------------------------------------------------------------------------

    def _excluding(self, elements: Ints, times: float = 1.0) -> ExcludingRows:
        return excluding_rows(self._problem, self.question.family, elements, times)

    def _plain(self, found: ExcludingRows) -> ExcludingRows:
        """Return the named rows `sum a x <= b` over the placement's variable alone, with `a >= 0`."""
        plain = {row: self._is_named(row) and self._is_plain(row) for row in np.unique(found.row).tolist()}
        kept = np.array([plain[row] for row in found.row.tolist()], dtype=np.bool_)
        return ExcludingRows(
            found.column[kept], found.row[kept], found.needs[kept], found.free[kept], found.most[kept]
        )  # fmt: skip

    def _is_plain(self, row: int) -> bool:
        columns, values = self._entries(row)
        inside = len(self._places_of_family(columns)) == len(columns)
        return bool(inside and np.isfinite(self.question.problem.row_upper[row]) and (values >= 0).all())

    def _limit(self, row: int, found: ExcludingRows, elements: int) -> RowLimit:
        mine = np.flatnonzero(found.row == row)
        limited = self._named(row, found.column[mine] if len(mine) < elements else found.column[:0])
        columns, values = self._entries(row)
        columns = self._places_of_family(columns)
        planned = self._is_planned(columns)
        jobs, number = np.unique(self.question.of_job[columns[planned]], return_inverse=True)
        amounts = values[planned] * self.question.planned_values[columns[planned]]
        uses = np.bincount(number.reshape(-1), weights=amounts, minlength=len(jobs))
        unit = self.question.problem.row_family(row).unit
        return replace(
            limited,
            used=float(uses.sum()),
            limit=float(self.question.problem.row_upper[row]),
            adds=float(found.needs[mine].min()),
            unit="" if unit == "1" else unit,
            jobs=self._labels("job", jobs),
            uses=tuple(uses.tolist()),
        )

    def _is_planned(self, places: Ints) -> Bools:
        """Return which elements of the family other jobs have in the plan."""
        question = self.question
        found: Bools = (question.of_job[places] != question.job) & (question.planned_values[places] > 0)
        return found

    # --- rows that other variables link to jobs ----------------------------------------------------------------------

    def _traced(self, elements: Ints, workers: int) -> tuple[RowLimit, ...]:
        """Return the rows of proofs by propagation that the job cannot have its elements."""
        if workers == 1 and len(elements) > MOST_TRACED:
            return ()
        excludes: dict[int, list[int]] = {}
        jobs: dict[int, set[int]] = {}
        parts = [elements] if workers > 1 else [elements[k : k + 1] for k in range(len(elements))]
        for part in parts:
            rows = self._proof(part, workers)
            causes = [row for row in rows if self._is_named(row) and not self._is_link(row)]
            if not causes:
                return ()
            involved = np.concatenate([self._places_of_family(self._entries(row)[0]) for row in rows])
            others = set(self.question.of_job[involved[self._is_planned(involved)]].tolist())
            for row in causes:
                excludes.setdefault(row, []).extend(part.tolist())
                jobs.setdefault(row, set()).update(others)
        order = sorted(excludes, key=lambda row: -len(excludes[row]))
        limits = []
        for row in order[:MOST_ROWS]:
            part = np.array(excludes[row], dtype=np.int64)
            limited = self._named(row, part if len(part) < len(elements) else part[:0])
            limits.append(replace(limited, jobs=self._labels("job", np.array(sorted(jobs[row]), dtype=np.int64))))
        return tuple(limits)

    def _proof(self, elements: Ints, workers: int) -> list[int]:
        """Return the rows of a proof that the job cannot have all its workers in some elements; none if it is none."""
        problem, first = self._problem, self.question.family.first
        if workers > 1:
            problem = with_row(problem, ADDED, first + elements, 1.0, float(workers))
        else:
            problem = with_bounds(problem, first + elements, lower=1.0)
        if len(problem.conditions.rows):  # propagation would read conditional rows as if they always applied
            return []
        trace = contradiction(Elements(problem), self.question.solver.clock)
        if trace is None:
            return []
        rows = np.flatnonzero(trace.elements.of("row", trace.reasons()[0]))
        return [int(row) for row in rows if row < self.question.problem.rows]

    def _is_link(self, row: int) -> bool:
        """Whether a row links other variables to one job alone: it says nothing about the cause."""
        columns, _ = self._entries(row)
        places = self._places_of_family(columns)
        return len(places) < len(columns) and len(np.unique(self.question.of_job[places])) == 1

    # --- names -------------------------------------------------------------------------------------------------------

    def _named(self, row: int, elements: Ints) -> RowLimit:
        """Return a row that excludes the job from the nodes of some elements, from all of them if there are none."""
        of_row = self.question.problem.row_family(row)
        limited = RowLimit(entry_name(of_row, row), self._doc(of_row.name))
        placement = self._placement
        node_at = placement.position("node")
        if not len(elements) or node_at is None:
            return limited
        nodes = np.unique(self.question.family.domain.columns_at(elements)[node_at])
        return replace(limited, places=self._labels("node", nodes))

    @property
    def _placement(self) -> CheckedPlacement:
        placement = self.question.moment.instance.scenario.model.placement
        assert placement is not None
        return placement

    def _doc(self, name: str) -> str:
        declared = self.question.moment.instance.scenario.model.constraints.get(name)
        return "" if declared is None or declared.doc is None else declared.doc

    def _labels(self, role: Role, codes: Codes) -> tuple[str, ...]:
        component = self.question.family.domain.components[self._placement.position(role) or 0]
        return tuple(str(label) for label in decode_column(component, codes))


def _cover(found: ExcludingRows, elements: int) -> list[int]:
    """Return rows that exclude all elements together: those that exclude all, else few, the one with most first."""
    left = dict.fromkeys(found.column.tolist())
    if len(left) < elements or not elements:
        return []
    rows, counts = np.unique(found.row, return_counts=True)
    if (counts == elements).any():
        return [int(row) for row in rows[counts == elements]]
    chosen: list[int] = []
    open_columns = set(left)
    while open_columns:
        is_open = np.isin(found.column, list(open_columns))
        rows, counts = np.unique(found.row[is_open], return_counts=True)
        chosen.append(int(rows[int(np.argmax(counts))]))
        open_columns -= set(found.column[found.row == chosen[-1]].tolist())
    return chosen
