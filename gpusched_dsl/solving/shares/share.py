"""The problem of a share of the jobs: grounded from the rewritten model, whose text is linear in sums over jobs.

    sum[j in Jobs] f(j)    ->    sum[j in Share] f(j)            where f(j) has decisions
    x[j in Jobs], c[j in Jobs]  ->    x[j in Share], c[j in Share]

Everything else, such as `count(Jobs)`, still reads all jobs. So a row of no job is the sum of its parts: with the share
of no job as the base, its coefficients are those of the shares, and its side is the side of the base plus what the side
of each share differs from that. The same holds for the terms of the objective. `Representing` refuses a model that is
not linear in its sums over jobs, or in which a row of one job reads others.

Nodes of equal data are represented by one of each class (`interchangeable/quotient.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from msgspec import structs

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.compiling.evaluation.store import ValueStore
from gpusched_dsl.compiling.interchangeable.equivalence_classes import Classes, classes_of
from gpusched_dsl.compiling.interchangeable.generic import Obstacle, names_read_by_decisions
from gpusched_dsl.compiling.interchangeable.orbit_representatives import Representing
from gpusched_dsl.compiling.interchangeable.quotient import Quotient, candidates, place_of, quotient
from gpusched_dsl.compiling.lowering.ground import ground
from gpusched_dsl.ir.arrays import Bools, Codes
from gpusched_dsl.ir.domains import TupleDomain, Universe
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.language.checked import CheckedModel

SHARE = "(share)"  # a name that no author can write
MOST_CLASSES = 50  # of nodes: each has rows of its own
NO_CLASSES = Classes(np.zeros(1, dtype=np.int64))  # no column is of it


@dataclass(frozen=True, eq=False)
class ShareModel:
    """A model, rewritten for shares of the jobs `root`; `nodes` is the set of nodes with its `classes`, if any."""

    model: CheckedModel
    store: ValueStore
    limits: MemoryLimits
    root: str
    nodes: str | None
    classes: Classes

    @staticmethod
    def of(model: CheckedModel, store: ValueStore, limits: MemoryLimits, root: str) -> ShareModel:
        """Rewrite the model; raise Obstacle where it is not a sum over jobs."""
        names_read_by_decisions(model, root)
        rewritten = Representing(model, root, SHARE, None).run()
        found: tuple[str, Classes] | None = None
        for declared in candidates(model):
            if declared.name == root:
                continue
            try:
                classes = classes_of(model, store, declared.name)
                Representing(rewritten, declared.name).run()
            except Obstacle:
                continue
            if classes.count <= MOST_CLASSES and (classes.count < len(classes.of) or declared.identical):
                found = declared.name, classes
                break
        nodes, classes = found or (None, NO_CLASSES)
        return ShareModel(rewritten, store, limits, root, nodes, classes)

    @property
    def jobs(self) -> Universe:
        return self.store.universes[self.root]

    def ground(self, jobs: Codes) -> Share:
        """Ground the problem of some jobs, in the order of their codes; raises what `ground` raises."""
        jobs_of_share = TupleDomain((self.jobs,), (jobs,))
        store = structs.replace(self.store, sets=self.store.sets | {SHARE: jobs_of_share}, variables={})
        if self.nodes is None:
            problem = ground(self.model, store, self.limits)
            none = np.full(problem.columns, -1), np.full(problem.rows, -1)
            small = Quotient("", Universe("", ()), self.classes, problem, *none)
        else:
            small = quotient(self.model, store, self.nodes, self.classes, self.limits)
        if not small.problem.is_linear:
            raise Obstacle("the problem has nonlinear terms")
        return Share(small, self.jobs, jobs)


@dataclass(frozen=True, eq=False)
class Share:
    """The problem of some `jobs` (codes, ascending), for one node of each class.

    `job_of_column` and `job_of_row` have the place of a job in `jobs`, -1 for none.
    """

    quotient: Quotient
    universe: Universe
    jobs: Codes

    @property
    def problem(self) -> Problem:
        return self.quotient.problem

    @cached_property
    def job_of_column(self) -> Codes:
        return self._jobs_of(self.problem.column_families, self.problem.columns)

    @cached_property
    def job_of_row(self) -> Codes:
        return self._jobs_of(self.problem.constraints, self.problem.rows)

    def _jobs_of(self, families: tuple[Family, ...], count: int) -> Codes:
        found = np.full(count, -1, dtype=np.int64)
        for family in families:
            places = [at for at, part in enumerate(family.domain.components) if part is self.universe]
            if len(places) > 1:
                raise Obstacle(f"`{family.name}` is indexed by two jobs", family.span)
            if places:
                found[family.slice] = np.searchsorted(self.jobs, family.domain.columns()[places[0]])
        return found

    @cached_property
    def of_node(self) -> Bools:
        """Which columns belong to nodes."""
        return np.asarray(self.quotient.column_class >= 0)

    @cached_property
    def row_of_node(self) -> Bools:
        return np.asarray(self.quotient.row_class >= 0)

    @cached_property
    def linking_rows(self) -> Codes:
        """The rows of no job and no node."""
        return np.flatnonzero((self.job_of_row < 0) & ~self.row_of_node)

    @cached_property
    def isolated(self) -> Quotient:
        """The same without linking rows: what follows from the rest follows for the complete problem."""
        lower, upper = self.problem.row_lower.copy(), self.problem.row_upper.copy()
        lower[self.linking_rows], upper[self.linking_rows] = -np.inf, np.inf
        return structs.replace(self.quotient, problem=replace(self.problem, row_lower=lower, row_upper=upper))

    @cached_property
    def regular(self) -> Quotient:
        """The same without rows of jobs whose numbers differ between jobs: what follows from the rest follows for all
        shares with this structure.
        """
        lower, upper = self.isolated.problem.row_lower.copy(), self.isolated.problem.row_upper.copy()
        matrix = self.problem.matrix
        for family in self.problem.constraints:
            if not family.size or self.row_of_node[family.first] or self.job_of_row[family.first] < 0:
                continue
            counts = np.diff(matrix.starts[family.first : family.stop + 1])
            values = matrix.values[matrix.starts[family.first] : matrix.starts[family.stop]]
            alike = bool((counts == counts[0]).all())
            alike = alike and bool((values.reshape(family.size, -1) == values[: counts[0]]).all())
            for side in (lower[family.slice], upper[family.slice]):
                alike = alike and bool((side == side[0]).all())
            if not alike:
                lower[family.slice], upper[family.slice] = -np.inf, np.inf
        return structs.replace(self.quotient, problem=replace(self.problem, row_lower=lower, row_upper=upper))

    def has_structure_of(self, other: Share) -> bool:
        """Whether another share differs in its jobs and in the numbers of the rows that `regular` leaves out only."""
        mine, theirs = self.regular.problem, other.regular.problem
        same = len(self.jobs) == len(other.jobs) and mine.rows == theirs.rows and mine.columns == theirs.columns
        same = same and all(
            np.array_equal(getattr(mine, name), getattr(theirs, name))
            for name in ("row_lower", "row_upper", "lower", "upper", "integer")
        )
        if not same or not np.array_equal(mine.matrix.starts, theirs.matrix.starts):
            return False
        if not np.array_equal(mine.matrix.columns, theirs.matrix.columns):
            return False
        bound = np.isfinite(mine.row_lower) | np.isfinite(mine.row_upper)
        read = np.repeat(bound, np.diff(mine.matrix.starts))
        return bool((mine.matrix.values == theirs.matrix.values)[read].all()) and all(
            self._has_indices_of(one, other, another)
            for one, another in zip(
                (*mine.column_families, *mine.constraints), (*theirs.column_families, *theirs.constraints), strict=True
            )
        )

    def _has_indices_of(self, mine: Family, other: Share, theirs: Family) -> bool:
        """Whether two families have the same index tuples, with the jobs by their places."""
        if mine.name != theirs.name or mine.first != theirs.first or mine.size != theirs.size:
            return False
        for part, one, another in zip(
            mine.domain.components, mine.domain.columns(), theirs.domain.columns(), strict=True
        ):
            if part is self.universe:
                one, another = np.searchsorted(self.jobs, one), np.searchsorted(other.jobs, another)
            if not np.array_equal(one, another):
                return False
        return True

    def other_codes(self, family: Family) -> tuple[Codes, ...]:
        """The index codes of a family without jobs and nodes."""
        node = None if self.quotient.root == "" else place_of(family.domain, self.quotient.universe)
        return tuple(
            codes
            for at, codes in enumerate(family.domain.columns())
            if at != node and family.domain.components[at] is not self.universe
        )
