"""A problem split for decomposition: the shared part, the blocks, and how blocks use the shared part.

With x the shared columns and y those of the blocks, the problem is

    min  c x + d y + constant   where   lower <= A x + B y <= upper  (linking rows and rows of shared columns only),
                                        y in the product of the blocks' own points,  bounds and integrality of x.

Many rows may use the blocks alike: one node type in one slot stands in a row per service. Rows of B that are equal are
one *use*: B = E U with one row of U for each distinct one, and E 0/1. A price is wanted per use, not per row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from gpusched_dsl.ir.arrays import Bools, Codes, Floats
from gpusched_dsl.ir.blocks import SHARED, Blocks
from gpusched_dsl.ir.problem import Problem

HASH_SEED = 20_220


@dataclass(frozen=True, eq=False)
class BlockStructure:
    """`shared` and `own` are column numbers of the problem (own: of blocks, sorted by block); `block` that of each own.

    `a` is rows x shared, `use` uses x own; `use_of` is the use of each row, -1 where it uses no block. `lower` and
    `upper` are the sides of the rows. Costs are to be minimised (turned where the problem maximises).
    """

    problem: Problem
    blocks: Blocks
    shared: Codes
    own: Codes
    block: Codes
    lower: Floats
    upper: Floats
    a: sp.csr_array
    use: sp.csr_array
    use_of: Codes
    shared_cost: Floats
    own_cost: Floats
    constant: float
    sign: float  # the objective of the problem is `sign` times what is minimised here

    @property
    def uses(self) -> int:
        return int(self.use.shape[0])

    @property
    def rows(self) -> int:
        return len(self.use_of)

    @property
    def integer(self) -> Bools:
        """Return which shared columns must be integer."""
        return self.problem.integer[self.shared]

    def with_rows(self, a: sp.csr_array, lower: Floats) -> BlockStructure:
        """The same with more rows `a x >= lower` of shared columns, which the problem implies."""
        added = a.shape[0]
        return replace(
            self,
            a=sp.vstack((self.a, a), format="csr"),
            lower=np.concatenate((self.lower, lower)),
            upper=np.concatenate((self.upper, np.full(added, np.inf))),
            use_of=np.concatenate((self.use_of, np.full(added, -1))),
        )

    def prices(self, duals: Floats) -> Floats:
        """The price of each use from the duals of `rows`."""
        using = self.use_of >= 0
        return np.bincount(self.use_of[using], weights=duals[using], minlength=self.uses).astype(np.float64, copy=False)

    def block_costs(self, prices: Floats) -> Floats:
        """Return the cost of each own column at these prices of uses (duals: the saved cost of one unit of use)."""
        return np.asarray(self.own_cost - self.use.T @ prices)

    def complete_point(self, shared: Floats, own: Floats) -> Floats:
        """A point of the problem from its two parts."""
        point = np.empty(self.problem.columns)
        point[self.shared] = shared
        point[self.own] = own
        return point


def split_problem(problem: Problem, blocks: Blocks) -> BlockStructure:
    """The parts of a linear problem with at most one objective."""
    matrix = problem.matrix
    full_matrix = sp.csr_array((matrix.values, matrix.columns, matrix.starts), shape=(problem.rows, problem.columns))
    full_matrix.eliminate_zeros()
    shared = np.flatnonzero(blocks.column == SHARED)
    own, _ = blocks.columns_by_block
    rows = np.flatnonzero(blocks.row == SHARED)
    outer = full_matrix[rows]
    using = outer[:, own].tocsr()
    use_of, first = _equal_rows(using)
    costs = np.zeros(problem.columns)
    constant, sign = 0.0, 1.0
    if problem.objectives:
        objective = problem.objectives[0]
        sign = -1.0 if objective.sense == "maximize" else 1.0
        costs, constant = sign * objective.costs(problem.columns), sign * objective.offset
    return BlockStructure(
        problem,
        blocks,
        shared,
        own,
        blocks.column[own].astype(np.int64),
        problem.row_lower[rows],
        problem.row_upper[rows],
        outer[:, shared].tocsr(),
        using[first],
        use_of,
        costs[shared],
        costs[own],
        constant,
        sign,
    )


def _equal_rows(rows: sp.csr_array) -> tuple[Codes, Codes]:
    """The number of the distinct row that each row is (-1: empty), and the first row of each distinct one.

    Rows are told apart by their number of entries and two random sums, which distinct rows do not share but with a
    probability of the order of rounding errors; equality is then checked entry by entry.
    """
    rows.sort_indices()
    counts = np.diff(rows.indptr)
    random = np.random.default_rng(HASH_SEED).random((rows.shape[1], 2))
    sums = rows @ random
    found = np.full(rows.shape[0], -1, dtype=np.int64)
    filled = np.flatnonzero(counts)
    if not len(filled):
        return found, filled
    keys = np.column_stack((counts[filled], sums[filled]))
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    inverse = np.asarray(inverse).reshape(-1)
    first = filled[first]
    alike = _same(rows, filled, first[inverse])
    if not alike.all():  # practically never: leave every row a use of its own
        first, inverse = filled, np.arange(len(filled))
    found[filled] = inverse
    return found, first


def _same(rows: sp.csr_array, some: Codes, others: Codes) -> Bools:
    difference = abs(rows[some] - rows[others])
    largest = np.asarray(difference.max(axis=1).toarray()).reshape(-1)
    return np.asarray(largest == 0.0)
