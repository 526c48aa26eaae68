"""Elements counted by pattern: how many elements are used in each of the ways in which one can be used.

Theorem. Let a component have hubs h, and members m whose positions the rows of the element treat alike (`Template`).
A *state* is a 0/1 vector over positions, not zero, that a member may have on an element; a *pattern* is a value of the
hubs together with a number of members for every state, such that the rows of the element hold. With

    X_ms in {0, 1}   member m is in state s on some element        L_p in Z+   elements used by pattern p

    sum_p L_p = elements         sum_m X_ms = sum_p n_ps L_p   for every state s

the rest of the problem, in which a column of member m at position q is replaced by sum_s s_q X_ms and a hub by
sum_p h_p L_p, has the same optimum. Where fewer members never break a row (no row over the members of an element has a
lower side or a negative entry), `==` may be `<=`, and only patterns that hold no further member are needed.

Proof. Given values for every element, count them: each element has a pattern, each member a state on at most one
element, since every state has an exclusive position (rows over all elements allow one of these to a member in all).
Sums agree. Given X and L, list the elements, L_p of them by pattern p; for each state s they have sum_p n_ps L_p
places, as many as (at least as many as) there are members with X_ms = 1; put these into the places one by one. Then
every row over the members of an element holds, as it sees numbers of members in states only; every row of one member
holds, as it was checked for the state and the hubs. Sums agree again, and with them all other rows and the objectives.

Source: P. C. Gilmore, R. E. Gomory, A linear programming approach to the cutting-stock problem, Operations Research 9
(1961), for patterns of one kind of row; here for any rows of one element.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from gpusched_dsl.compiling.interchangeable.generic import Obstacle, prefer
from gpusched_dsl.compiling.interchangeable.members import templates_of
from gpusched_dsl.compiling.interchangeable.parts import (
    AggregatedComponent,
    Component,
    NewColumns,
    NewRows,
    PatternPool,
    Sparse,
    Spread,
)
from gpusched_dsl.compiling.interchangeable.quotient import Quotient
from gpusched_dsl.compiling.interchangeable.uses import MOST_PATTERNS, Patterns, Uses
from gpusched_dsl.compiling.interchangeable.work import ElementWork
from gpusched_dsl.ir.arrays import Codes, Floats
from gpusched_dsl.ir.domains import Domain, IntervalDomain, TupleDomain

# More patterns than these are kept in a pool, from which those that matter are taken while solving.
MOST_AT_ONCE = 2_000
JOINING = 200  # patterns that join at a time
# A pool of more patterns for every column that they replace, or for fewer columns, costs more than it saves: 20 nodes
# that share GPUs have 5 a column with 60 jobs (28 s instead of no plan worth having), 10 nodes and 20 jobs 15 (as fast
# as with named nodes); with 3 jobs, 1,500 columns of 8 nodes, the pool takes five times as long as naming them.
MOST_A_COLUMN = 16
LEAST_NAMED = 2_000
# Fewer columns are worth so many patterns each, or so many in all: 4 nodes and 12 jobs that all differ (48 columns)
# have 910 patterns, with which the solver takes a hundred times as long.
FEW_A_COLUMN = 2
FEW = 300
# Before those are left out to which a member can be added, there may be so many times as many.
MOST_OPEN = 20


def by_patterns(quotient: Quotient, component: Component) -> AggregatedComponent:
    """The part that counts patterns; raises Obstacle where the theorem does not apply."""
    failure: Obstacle | None = None
    work = ElementWork.of(quotient.root, quotient.full_size.columns)
    worth = _worthwhile_patterns(int(quotient.classes.sizes[component.kind]) * len(component.columns))
    for template in templates_of(quotient, component, work):
        try:
            return _count_patterns(Uses(quotient, component, template, work, min(MOST_PATTERNS, MOST_OPEN * worth)))
        except Obstacle as obstacle:
            failure = prefer(failure, obstacle)
    assert failure is not None
    raise failure.kept()  # not what a local of this frame refers to: that would be a cycle


def _worthwhile_patterns(named: int) -> int:
    """Return the number of patterns that pays for this number of columns."""
    if named >= LEAST_NAMED:
        return max(MOST_AT_ONCE, MOST_A_COLUMN * named)
    return min(MOST_AT_ONCE, max(FEW, FEW_A_COLUMN * named))


def _count_patterns(uses: Uses) -> AggregatedComponent:
    found = uses.list_patterns()
    named = len(uses.elements) * len(uses.component.columns)
    if len(found.hubs) > _worthwhile_patterns(named):
        what = f"one element of `{uses.quotient.root}` has {len(found.hubs):,} possible uses"
        what = f"{what}, which does not pay for {named:,} columns of {len(uses.elements):,} elements"
        raise Obstacle(what, uses.span)
    if len(found.hubs) <= MOST_AT_ONCE:
        return _Counting(uses, found).part()
    if len(uses.quotient.problem.objectives) != 1:
        what = f"one element of `{uses.quotient.root}` has too many possible uses for several objectives"
        raise Obstacle(what, uses.span)
    few = np.flatnonzero(found.counts.sum(axis=1) <= 1)
    return _Counting(uses, found.take(few), _Pooled(found, few)).part()


@dataclass(frozen=True, eq=False)
class _Pooled:
    """All patterns, and which of them a part has."""

    patterns: Patterns
    chosen: Codes


class _Counting:
    def __init__(self, uses: Uses, found: Patterns, pooled: _Pooled | None = None) -> None:
        self.uses, self.found, self.pooled = uses, found, pooled
        self.quotient, self.component, self.template = uses.quotient, uses.component, uses.template
        self.elements, self.states, self.able = uses.elements, uses.states, uses.able

    # --- the part ----------------------------------------------------------------------------------------------------

    def part(self) -> AggregatedComponent:
        found = self.found
        member, state = np.nonzero(self.able)
        configurations, patterns = len(member), len(found.counts)
        columns = (self._configuration_columns(member, state), self._pattern_columns())
        by_state = sparse.csr_matrix(
            (np.ones(configurations), (state, np.arange(configurations))), shape=(len(self.states), configurations)
        )
        places = sparse.hstack((by_state, sparse.csr_matrix(-found.counts.T.astype(np.float64)))).tocsr()
        zero, none = np.zeros(len(self.states)), np.full(len(self.states), -np.inf)
        everything = sparse.csr_matrix(np.concatenate((np.zeros(configurations), np.ones(patterns)))[None, :])
        total = np.array([float(len(self.elements))])
        span = self.quotient.problem.column_family(int(self.component.columns[0])).span
        rows = (
            NewRows("places", _numbers(len(self.states)), places, none if self.uses.closed else zero, zero, span=span),
            NewRows(self.quotient.root, self._own_domain(), everything, total, total, span=span),
        )
        return AggregatedComponent(
            self.component,
            columns,
            rows,
            self._sums(member, state),
            lambda values, shared: self._disaggregate(values, member, state),
            lambda spread: self._aggregate(spread, member, state),
            f"{len(self.elements):,} elements counted by {self._pattern_count:,} patterns of "
            f"{len(self.states):,} states",
            "every element has one of the listed patterns, and members fill the places of the patterns",
            None if self.pooled is None else PatternPool(self._price, self._component_within),
        )

    @property
    def _pattern_count(self) -> int:
        return len((self.found if self.pooled is None else self.pooled.patterns).hubs)

    def _pattern_costs(self, reduced: Floats, duals: tuple[Floats, ...]) -> Floats:
        """The reduced cost of every pattern of the pool."""
        assert self.pooled is not None
        places, everything = duals
        hubs = reduced[np.searchsorted(self.component.columns, self.template.hubs)]
        found = self.pooled.patterns
        costs: Floats = found.hubs @ hubs + found.counts @ places - everything[0]
        return costs

    def _price(
        self, reduced: Floats, duals: tuple[Floats, ...], precision: float
    ) -> tuple[float, AggregatedComponent | None]:
        costs = self._pattern_costs(reduced, duals)
        assert self.pooled is not None
        least = float(costs.min())
        costs[self.pooled.chosen] = np.inf
        cheapest = np.argpartition(costs, min(JOINING, len(costs) - 1))[:JOINING]
        better = cheapest[costs[cheapest] < -precision]
        return least, self._component_of(np.concatenate((self.pooled.chosen, better))) if len(better) else None

    def _component_within(self, reduced: Floats, duals: tuple[Floats, ...], limit: float) -> AggregatedComponent:
        assert self.pooled is not None
        within = np.flatnonzero(self._pattern_costs(reduced, duals) <= limit)
        return self._component_of(np.union1d(within, self.pooled.chosen))

    def _component_of(self, chosen: Codes) -> AggregatedComponent:
        assert self.pooled is not None
        pool = _Pooled(self.pooled.patterns, chosen)
        return _Counting(self.uses, pool.patterns.take(chosen), pool).part()

    def _configuration_columns(self, member: Codes, state: Codes) -> NewColumns:
        """Columns X: named after the variable where every state is one of its columns."""
        problem, template = self.quotient.problem, self.template
        ones = np.ones(len(member))
        plain = len(self.states) > 0 and bool((self.states.sum(axis=1) == 1).all())
        if plain:
            numbers = template.column[member, self.states.argmax(axis=1)[state]]
            family = problem.column_family(int(numbers[0])) if len(numbers) else None
            if family is not None and numbers.min() >= family.first and numbers.max() < family.stop:
                codes = tuple(c[numbers - family.first] for c in family.domain.columns())
                domain: Domain = TupleDomain(family.domain.components, codes)
                return NewColumns(family.name, domain, 0 * ones, ones, ones > 0, family.span, family.unit, family.doc)
        codes = (template.members[member], state.astype(np.int64))
        return NewColumns("ways", TupleDomain((template.root, None), codes), 0 * ones, ones, ones > 0)

    def _pattern_columns(self) -> NewColumns:
        count = len(self.found.counts)
        most = np.full(count, float(len(self.elements)))
        return NewColumns("patterns", _numbers(count), np.zeros(count), most, np.ones(count, dtype=np.bool_))

    def _own_domain(self) -> Domain:
        return TupleDomain((self.quotient.universe,), (self.elements[:1],))

    def _sums(self, member: Codes, state: Codes) -> Sparse:
        """Columns of the component x columns of the part."""
        template, columns = self.template, self.component.columns
        configurations = len(member)
        configuration, position = (
            np.nonzero(self.states[state]) if configurations else (np.zeros(0, np.int64), np.zeros(0, np.int64))
        )
        row = np.searchsorted(columns, template.column[member[configuration], position])
        pattern, hub = np.nonzero(self.found.hubs)
        hub_row = np.searchsorted(columns, template.hubs[hub])
        values = np.concatenate((np.ones(len(configuration)), self.found.hubs[pattern, hub].astype(np.float64)))
        at = (np.concatenate((row, hub_row)), np.concatenate((configuration, configurations + pattern)))
        return sparse.csr_matrix((values, at), shape=(len(columns), configurations + len(self.found.counts)))

    # --- there and back ----------------------------------------------------------------------------------------------

    def _disaggregate(self, values: Floats, member: Codes, state: Codes) -> Spread:
        configurations = len(member)
        uses = np.rint(values[configurations:]).astype(np.int64)
        pattern = np.repeat(np.arange(len(uses)), uses)[: len(self.elements)]
        element, hub = np.nonzero(self.found.hubs[pattern])
        parts = [(self.template.hubs[hub], self.elements[element], self.found.hubs[pattern[element], hub])]
        placed = np.flatnonzero(values[:configurations] > 0.5)
        placed = placed[np.argsort(state[placed], kind="stable")]
        # The places of every state, state by state in the order of elements, and the members that take them.
        free = self.found.counts[pattern].T  # states x elements
        places = np.repeat(np.tile(self.elements[: len(pattern)], len(self.states)), free.reshape(-1))
        starts = np.concatenate(([0], np.cumsum(free.sum(axis=1))))
        taken = np.bincount(state[placed], minlength=len(self.states))
        if (taken > np.diff(starts)).any():
            raise ValueError("more members in a state than places in the patterns")
        rank = np.arange(len(placed)) - np.repeat(np.cumsum(taken) - taken, taken)
        host = places[starts[state[placed]] + rank]
        configuration, position = np.nonzero(self.states[state[placed]])
        columns = self.template.column[member[placed][configuration], position]
        parts.append((columns, host[configuration], np.ones(len(configuration), dtype=np.int64)))
        column, elements, numbers = (np.concatenate(p) for p in zip(*parts, strict=True))
        return Spread(column, elements, numbers.astype(np.float64))

    def _aggregate(self, spread: Spread, member: Codes, state: Codes) -> Floats | None:
        template = self.template
        place = np.searchsorted(self.elements, spread.elements)
        hubs = np.zeros((len(self.elements), len(template.hubs)), dtype=np.int64)
        chosen = np.rint(spread.values).astype(np.int64)
        is_hub = np.isin(spread.columns, template.hubs)
        hubs[place[is_hub], np.searchsorted(template.hubs, spread.columns[is_hub])] = chosen[is_hub]
        order = np.argsort(template.column, axis=None, kind="stable")
        sorted_columns = template.column.reshape(-1)[order]
        rest = np.flatnonzero(~is_hub & (chosen != 0))
        cell = order[np.searchsorted(sorted_columns, spread.columns[rest])] if len(rest) else rest
        members, position = np.divmod(cell, max(template.column.shape[1], 1))
        vectors: dict[bytes, int] = {row.astype(np.int8).tobytes(): k for k, row in enumerate(self.states)}
        counts = np.zeros((len(self.elements), len(self.states)), dtype=np.int64)
        values = np.zeros(len(member) + len(self.found.counts))
        way_of = np.full((len(template.members), len(self.states)), -1, dtype=np.int64)
        way_of[member, state] = np.arange(len(member))
        pair, which = np.unique(np.stack((members, place[rest]), axis=1), axis=0, return_inverse=True)
        rows = np.zeros((len(pair), template.column.shape[1]), dtype=np.int8)
        rows[which.reshape(-1), position] = 1
        for (m, element), row in zip(pair.tolist(), rows, strict=True):
            found = vectors.get(row.tobytes())
            if found is None or way_of[m, found] < 0:
                return None
            counts[element, found] += 1
            values[way_of[m, found]] = 1.0
        for element in range(len(self.elements)):
            same = (self.found.hubs == hubs[element]).all(axis=1)
            enough = (self.found.counts >= counts[element]).all(axis=1)
            exact = (self.found.counts == counts[element]).all(axis=1)
            fits = np.flatnonzero(same & (enough if self.uses.closed else exact))
            if not len(fits):
                return None
            values[len(member) + fits[0]] += 1.0
        return values


def _numbers(count: int) -> Domain:
    return IntervalDomain(1, count)
