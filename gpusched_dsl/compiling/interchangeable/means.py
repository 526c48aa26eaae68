"""Elements with only continuous columns: each can have the mean value of its class.

Theorem. Let all columns of a component be continuous. Replacing them by their sums over the class, every row

    lower <= a x + b v <= upper     of an element (x its columns, v shared ones)
    by    n lower <= a X + n b v <= n upper,    and bounds by n times bounds    (n elements, X the sums)

leaves the optimum as it is. Proof. If x_1, ..., x_n satisfy the rows for the same v, adding these up gives the rows of
X. If X satisfies its rows, x_k = X / n satisfies those of every element and adds up to X. The rest of the problem sees
sums only. Shared columns may be integer.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.local import Local
from gpusched_dsl.compiling.interchangeable.parts import AggregatedComponent, Component, Spread
from gpusched_dsl.compiling.interchangeable.quotient import Quotient
from gpusched_dsl.ir.arrays import Floats


def by_means(quotient: Quotient, component: Component) -> AggregatedComponent:
    """Return the part with the sums over the class; raise Obstacle if a column is integer."""
    local = Local.of(quotient, component)
    integer = np.flatnonzero(local.integer)
    if len(integer):
        family = local.column_family(int(integer[0]))
        raise Obstacle(f"`{family.name}` is integer, so the elements cannot all have the mean value", family.span)
    size = float(local.size)
    columns = local.new_columns(local.lowest_values * size, local.highest_values * size, local.integer)
    rows = local.summed_rows(
        np.arange(len(local.rows)), local.own, local.shared * size, local.lower * size, local.upper * size
    )

    def disaggregate(values: Floats, shared: Floats) -> Spread:
        used = np.flatnonzero(values)
        return Spread(
            np.repeat(component.columns[used], local.size),
            np.tile(local.elements, len(used)),
            np.repeat(values[used] / size, local.size),
        )

    def aggregate(spread: Spread) -> Floats | None:
        return local.totals(spread) if local.is_feasible(spread) else None

    names = ", ".join(f"`{c.name}`" for c in columns)
    return AggregatedComponent(
        component,
        columns,
        tuple(rows),
        sparse.identity(len(component.columns), format="csr"),
        disaggregate,
        aggregate,
        effect=f"{names}: one sum over {local.size} elements of `{quotient.root}`; each element has the mean value",
        proof="all columns are continuous, so the mean over the elements satisfies the rows of each",
    )
