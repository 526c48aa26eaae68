"""Elements that act in slots: the number of elements in each state of each slot suffices.

What an element may look like. Take away *effects*: columns that rows only push up, by one state or by the change from
one state to another (`effects.py`). The columns that are left fall into *slots* that no row connects. In a slot there
are at most one *carrier* s, 0/1 columns x, and rows

    sum(core) + sum(group g) <= s    (or == s; or 1 in the place of s)    for groups g that have no column in common,

and rows that these imply; continuous columns *tied* to one x by homogeneous rows `a w <= b x`; and rows `a x + b v <=
c` of one x with columns v that belong to no element, where the rest of the problem lets one element at most have x =
1. Changes lead from columns of the core of a slot to columns of the core of another, from carriers to carriers, one
to one, and the slots that they link form trees. Carriers may be continuous between 0 and 1 if they and the effects
that follow them are in no row of the rest of the problem, and these effects do not pay.

Theorem. Let the n > 1 elements of a class be such. Then the optimum stays as it is when their columns are replaced by
sums over the class (integer for all x and s) with n times the bounds, their rows by the sums of these rows, and rows `a
x + b v <= c` by `a X + b v <= c` and, if a < 0, `b v <= c` (mirrored for `>=`).

Proof. (1) No optimum is lost. First let carriers be integer. Sums of columns satisfy sums of rows. `b v <= c` holds as
some element has x = 0. If the carriers of an element are not integer, let s^t be 1 where s >= t and 0 elsewhere, for t
in (0, 1]. Exclusions hold for s^t, as their left sides are 0 or 1, and where they are 1, s = 1. An effect that
follows the change from r to s needs to be f(s - r), with f a maximum of lines through 0; all s^t - r^t have the sign
of s - r, so f(s - r) is the mean of f(s^t - r^t) over t. An effect that follows s alone needs what a straight line
says. So the mean over t of the costs is no more than the cost of s, and some s^t costs no more. With several
objectives in order, no s^t is better than an optimum in the first, and their mean is no worse: almost all are as
good; so on with the others.

(2) Sums that satisfy the rows are those of some plan of the elements. Go through each tree of slots from its root.
Where X elements are to have column x of the core, and Y had the column that x follows, the first min(X, Y) of the
latter keep it. Together these are at most sum(core) <= S, and they carried before. The S elements that carry are
those that keep something, then those that carried before, then others. Columns of the core that want more elements
take some that carry and keep nothing. The columns of each group share the S - sum(core) elements that are left, which
are enough (and all are taken where the row is an equation). So exclusions hold, and what they imply.

If X > Y, nobody loses x, and if X < Y, nobody begins with it; of the elements that carry in two slots that follow one
another, those of one slot contain those of the other. So the needs of an effect add up to f(X - Y), and those of one
that follows a state to what n times the straight line says: no more than its sum E. What is left of E finds room,
since E is at most n times the bound. Tied columns take equal parts on the elements that have their x, or on all if
none has it. Homogeneous rows hold for the parts as they hold for the sums; bounds other than 0 follow from such a
row. Rows with shared columns hold for elements with x = 0, and if X = 1 for the one that has x = 1. []

Rows over several slots break this, as where a job must go on on the element where it began: then an element is more
than what it does slot by slot.

Source: the recovery of a plan by node from a plan by node type, for the setting of D.-K. Kang, K.-B. Lee, Y.-C. Kim,
Cost Efficient GPU Cluster Management for Training and Inference of Deep Learning, Energies 15(2), 474, 2022.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from gpusched_dsl.compiling.interchangeable.effects import EffectColumns, effects_of
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.implied import implied_links
from gpusched_dsl.compiling.interchangeable.local import Local
from gpusched_dsl.compiling.interchangeable.parts import AggregatedComponent, Component, NewColumns, NewRows, Spread
from gpusched_dsl.compiling.interchangeable.placing import effect_values, equal_shares, place
from gpusched_dsl.compiling.interchangeable.quotient import Quotient
from gpusched_dsl.compiling.interchangeable.slots import ElementSlots, slots_of
from gpusched_dsl.compiling.interchangeable.work import ElementWork
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, unique
from gpusched_dsl.ir.tolerances import ROUNDING


def by_counts(quotient: Quotient, component: Component) -> AggregatedComponent:
    """The part that counts elements slot by slot; raises Obstacle where the theorem does not apply."""
    return _Counts(quotient, component).part()


class _Counts:
    def __init__(self, quotient: Quotient, component: Component) -> None:
        self.quotient, self.component = quotient, component
        component_rows = Local.of(quotient, component)
        rows = component.rows[~implied_links(quotient, component.rows) & ~component_rows.rows_implied_by_bounds()]
        self.local = Local.of(quotient, component, rows)
        self._refuse_mixed()
        free = _free_columns(quotient, component.columns)
        self.effects: EffectColumns = effects_of(self.local, free)
        work = ElementWork.of(quotient.root, quotient.full_size.columns)
        self.slots: ElementSlots = slots_of(self.local, self.effects, free, work)
        self._check_rounding(free)

    def _refuse_mixed(self) -> None:
        local = self.local
        mixed = np.flatnonzero((np.diff(local.shared.indptr) > 0) & (np.diff(local.own.indptr) > 1))
        if len(mixed):
            family = local.row_family(int(mixed[0]))
            what = f"`{family.name}` has several columns of one element together with columns of no element"
            raise Obstacle(what, family.span)

    def _check_rounding(self, free: Bools) -> None:
        """Check that effects of carriers that may be fractional are minimised and occur nowhere else."""
        effects = self.effects
        which = np.flatnonzero(np.isin(effects.state, self.slots.rounded))
        at = effects.column[which]
        bad = ~free[at]
        for objective in self.quotient.problem.objectives:
            costs = objective.costs(self.quotient.problem.columns)[self.component.columns[at]]
            bad |= (costs < 0) if objective.sense == "minimize" else (costs > 0)
        if bad.any():
            first = np.flatnonzero(bad)[0]
            family = self.local.column_family(int(at[first]))
            name = self.local.column_family(int(effects.state[which[first]])).name
            what = f"`{family.name}` is not only a cost, so `{name}` must be integer; declare it binary"
            raise Obstacle(what, family.span)

    # --- the sums ----------------------------------------------------------------------------------------------------

    def part(self) -> AggregatedComponent:
        columns = self._columns()
        names = ", ".join(f"`{c.name}`" for c in columns)
        root, count = self.quotient.root, self.local.size
        return AggregatedComponent(
            self.component,
            columns,
            tuple(self._rows()),
            sparse.identity(len(self.component.columns), format="csr"),
            self._disaggregate,
            self._aggregate,
            effect=f"{names}: counts over {count} elements of `{root}` in each of {len(self.slots.slots):,} slots",
            proof=(
                "an element does one thing in each slot, and only changes between slots matter: "
                "continued work keeps its element, and new work takes any free element"
            ),
        )

    def _columns(self) -> tuple[NewColumns, ...]:
        local = self.local
        integer = local.integer.copy()
        integer[self.slots.carriers] = True
        largest = self.slots.kinds.largest
        lower = local.lowest_values * local.size
        bound = np.where(integer, np.floor(largest + ROUNDING), np.inf)
        upper = np.maximum(np.minimum(local.highest_values * local.size, bound), lower)
        return local.new_columns(lower, upper, integer)

    def _rows(self) -> list[NewRows]:
        local, kinds, size = self.local, self.slots.kinds, self.local.size
        own = local.own
        plain = unique(np.concatenate((self.effects.rows, kinds.exclusions, kinds.tied)))
        none = sparse.csr_matrix((len(plain), local.shared.shape[1]))
        rows = local.summed_rows(plain, own[plain], none, local.lower[plain] * size, local.upper[plain] * size)
        beside = kinds.with_shared
        lower, upper = local.lower[beside], local.upper[beside]
        rows += local.summed_rows(beside, own[beside], local.shared[beside], lower, upper)
        # For elements that have x = 0; where that is the weaker row it is left out.
        entry = own[beside].data if len(beside) else np.zeros(0)
        lower, upper = np.where(entry > 0, lower, -np.inf), np.where(entry < 0, upper, np.inf)
        at = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
        nothing = sparse.csr_matrix((len(at), own.shape[1]))
        return rows + local.summed_rows(beside[at], nothing, local.shared[beside[at]], lower[at], upper[at])

    # --- there and back ----------------------------------------------------------------------------------------------

    def _disaggregate(self, values: Floats, shared: Floats) -> Spread:
        counts = np.zeros(len(values), dtype=np.int64)
        counted = self._counted_columns()
        counts[counted] = np.rint(values[counted]).astype(np.int64)
        held = place(self.slots, counts, self.local.size)
        column, element = np.nonzero(held)
        parts = (
            (column, element, np.ones(len(column))),
            equal_shares(held, self.slots.tied, self.slots.host, values),
            effect_values(held, self.effects, self.local.highest_values, values),
        )
        columns, elements, numbers = (np.concatenate(p) for p in zip(*parts, strict=True))
        return Spread(self.component.columns[columns], self.local.elements[elements], numbers)

    def _counted_columns(self) -> Codes:
        """States, which are counted: all but effects and tied columns."""
        other = np.concatenate((self.effects.column, self.slots.tied))
        return np.setdiff1d(np.arange(len(self.component.columns)), other)

    def _aggregate(self, spread: Spread) -> Floats | None:
        """Round fractional carriers, and raise their effects to the required values."""
        local, effects = self.local, self.effects
        if not local.is_feasible(spread):
            return None
        values = local.totals(spread)
        place = np.searchsorted(self.component.columns, spread.columns)
        carriers = self.slots.carriers
        on = np.bincount(place[spread.values >= 0.5], minlength=len(values))
        values[carriers] = on[carriers]
        change = values[effects.state] - np.where(effects.changes, values[effects.before], 0.0)
        resting = local.size - np.abs(change)
        need = effects.none * resting + np.where(change > 0, effects.up, effects.down) * np.abs(change)
        values[effects.column] = np.maximum(values[effects.column], need)
        return values


def _free_columns(quotient: Quotient, columns: Codes) -> Bools:
    """Which columns are in no row of the rest of the problem."""
    problem = quotient.problem
    elsewhere = quotient.row_class[problem.matrix.row_of] < 0
    read = np.bincount(problem.matrix.columns[elsewhere], minlength=problem.columns) > 0
    found: Bools = ~read[columns]
    return found
