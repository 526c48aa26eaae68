"""The uses of one element as the whole points of a problem, for finding patterns one by one.

columns  h (hubs), n_s (members in state s), y_s in {0, 1} (some member is in state s)
rows     common rows:  hubs @ h + weight @ n within their sides
         n_s <= members_s y_s, and for every row of one member that the state touches:
         positions @ s y_s + hubs @ h within its sides (where y_s = 0 it holds anyway: the member is absent)
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from gpusched_dsl.compiling.aggregation.enumeration import Wholes, whole_points
from gpusched_dsl.compiling.aggregation.uses import Patterns, Uses
from gpusched_dsl.compiling.symmetry.generic import Obstacle
from gpusched_dsl.ir.domains import Codes, Interval
from gpusched_dsl.ir.matrix import Floats, Matrix
from gpusched_dsl.ir.problem import Family, Objective, Problem, Term

MOST_SEEDS = 5_000


class Pricing:
    """Raises Obstacle where columns cannot be generated: with more than one objective."""

    def __init__(self, uses: Uses) -> None:
        self.uses = uses
        quotient = uses.quotient
        if len(quotient.problem.objectives) != 1:
            raise Obstacle(f"one element of `{quotient.root}` has too many ways to be used for several objectives")
        self.states: Codes = np.flatnonzero(uses.members > 0)
        self.hubs = len(uses.low)
        self.problem = self._problem()

    def seeds(self) -> Patterns:
        """Patterns of one member at most."""
        uses = self.uses
        rows = uses.template.common
        weight = uses.weight[:, self.states]
        matrix = np.concatenate((rows.hubs, weight), axis=1)
        single = np.concatenate((np.zeros(self.hubs), np.ones(len(self.states))))
        matrix = np.concatenate((matrix, single[None, :]))
        low = np.concatenate((uses.low, np.zeros(len(self.states), dtype=np.int64)))
        high = np.concatenate((uses.high, np.ones(len(self.states), dtype=np.int64)))
        lower, upper = np.append(rows.lower, -np.inf), np.append(rows.upper, 1.0)
        points = whole_points(matrix, lower, upper, low, high, MOST_SEEDS)
        kept = points[:, self.hubs :]
        allowed = uses.allowed(points[:, : self.hubs])[:, self.states]
        return self.patterns(points[(allowed | (kept == 0)).all(axis=1)])

    def patterns(self, points: Wholes) -> Patterns:
        """Points of `problem`, or their first columns, as patterns."""
        counts = np.zeros((len(points), len(self.uses.states)), dtype=np.int64)
        counts[:, self.states] = points[:, self.hubs : self.hubs + len(self.states)]
        return Patterns(points[:, : self.hubs], counts)

    def costs(self, hubs: Floats, places: Floats) -> Floats:
        """Coefficients of the columns of `problem` for prices of hubs and of places in each state."""
        return np.concatenate((hubs, places[self.states], np.zeros(len(self.states))))

    def _problem(self) -> Problem:
        uses, states = self.uses, self.states
        common, single = uses.template.common, uses.template.single
        count = len(states)
        members = uses.members[states].astype(np.float64)
        blocks = [
            sparse.csr_matrix(np.concatenate((common.hubs, uses.weight[:, states], 0 * uses.weight[:, states]), 1))
        ]
        lower, upper = [common.lower], [common.upper]
        link = sparse.hstack((sparse.csr_matrix((count, self.hubs)), sparse.eye(count), sparse.diags(-members)))
        blocks.append(link.tocsr())
        lower.append(np.full(count, -np.inf))
        upper.append(np.zeros(count))
        of_state = uses.states[states] @ single.positions.T  # states x rows
        state, row = np.nonzero(of_state)
        entries = sparse.csr_matrix(
            (of_state[state, row], (np.arange(len(row)), self.hubs + count + state)),
            shape=(len(row), self.hubs + 2 * count),
        )
        padding = sparse.csr_matrix((len(row), 2 * count))
        blocks.append((entries + sparse.hstack((sparse.csr_matrix(single.hubs[row]), padding))).tocsr())
        lower.append(single.lower[row])
        upper.append(single.upper[row])
        whole = sparse.vstack(blocks).tocsr()
        whole.eliminate_zeros()
        matrix = Matrix(whole.indptr.astype(np.int64), whole.indices.astype(np.int32), whole.data)
        columns = self.hubs + 2 * count
        families = (
            Family("hubs", 0, Interval(1, self.hubs)),
            Family("counts", self.hubs, Interval(1, count)),
            Family("used", self.hubs + count, Interval(1, count)),
        )
        nothing = Term(None, np.zeros(0, dtype=np.int32), np.zeros(0))
        return Problem(
            f"one of {uses.quotient.root}",
            families,
            np.concatenate((uses.low, np.zeros(2 * count))).astype(np.float64),
            np.concatenate((uses.high, members, np.ones(count))),
            np.ones(columns, dtype=np.bool_),
            (Family("rows", 0, Interval(1, matrix.rows)),),
            matrix,
            np.concatenate(lower),
            np.concatenate(upper),
            (Objective("minimize", (nothing,)),),
        )
