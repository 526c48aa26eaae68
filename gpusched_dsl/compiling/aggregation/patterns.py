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
from numpy.typing import NDArray
from scipy import sparse

from gpusched_dsl.compiling.aggregation.enumeration import ROUNDING, Wholes, whole_points
from gpusched_dsl.compiling.aggregation.members import template_of
from gpusched_dsl.compiling.aggregation.parts import Component, NewColumns, NewRows, Part, Sparse, Spread
from gpusched_dsl.compiling.symmetry.generic import Obstacle
from gpusched_dsl.compiling.symmetry.quotient import Quotient
from gpusched_dsl.ir.domains import Codes, Domain, Interval, Tuples
from gpusched_dsl.ir.matrix import Floats

MOST_STATES = 2_000
MOST_PATTERNS = 20_000


def by_patterns(quotient: Quotient, component: Component) -> Part:
    """The part that counts patterns; raises Obstacle where the theorem does not apply or there are too many."""
    return _Patterns(quotient, component).part()


@dataclass(frozen=True, eq=False)
class _Found:
    """`hubs[p]` and `counts[p]` of every pattern; `closed`: fewer members never break a row."""

    hubs: Wholes
    counts: Wholes
    closed: bool


class _Patterns:
    def __init__(self, quotient: Quotient, component: Component) -> None:
        self.quotient, self.component = quotient, component
        self.template = template_of(quotient, component)
        self.elements = np.flatnonzero(quotient.classes.of == component.kind)
        self.states = self._states()
        self.able = self._members_able()
        self.found = self._patterns()

    # --- what one element can be used for ----------------------------------------------------------------------------

    def _states(self) -> Wholes:
        template = self.template
        positions = template.column.shape[1]
        if not positions:
            return np.zeros((0, 0), dtype=np.int64)
        low, high = self._hub_bounds()
        ends = np.stack((template.single.hubs * low, template.single.hubs * high))
        lower = template.single.lower - ends.max(axis=0).sum(axis=1)
        upper = template.single.upper - ends.min(axis=0).sum(axis=1)
        one = template.exclusive.astype(np.float64)[None, :]
        order = np.argsort(~template.exclusive, kind="stable")
        matrix = np.concatenate((template.single.positions, one))[:, order]
        found = whole_points(
            matrix,
            np.append(lower, -np.inf),
            np.append(upper, 1.0),
            np.zeros(positions, dtype=np.int64),
            np.ones(positions, dtype=np.int64),
            MOST_STATES,
        )
        states = np.zeros_like(found)
        states[:, order] = found
        states = states[states.any(axis=1)]
        if not (states @ template.exclusive.astype(np.int64) > 0).all():
            family = self.quotient.problem.column_family(int(template.column.max()))
            what = f"no row keeps `{family.name}` from being 1 on several elements of `{self.quotient.root}`"
            raise Obstacle(what, family.span)
        return states[np.lexsort(states.T[::-1])][::-1]

    def _hub_bounds(self) -> tuple[Wholes, Wholes]:
        problem, hubs = self.quotient.problem, self.template.hubs
        low, high = problem.lower[hubs], problem.upper[hubs]
        bad = np.flatnonzero(~problem.integer[hubs] | ~np.isfinite(low) | ~np.isfinite(high))
        if len(bad):
            family = problem.column_family(int(hubs[bad[0]]))
            why = "is not whole" if not problem.integer[hubs[bad[0]]] else "has no bounds"
            raise Obstacle(f"`{family.name}` {why}, so the uses of one element cannot be listed", family.span)
        return np.ceil(low - ROUNDING).astype(np.int64), np.floor(high + ROUNDING).astype(np.int64)

    def _members_able(self) -> NDArray[np.bool_]:
        """Which members (rows) have all positions of which states."""
        has = (self.template.column >= 0).astype(np.int64)
        return np.asarray(has @ self.states.T == self.states.sum(axis=1))

    def _patterns(self) -> _Found:
        template = self.template
        common = template.common
        weight = common.positions @ self.states.T if len(self.states) else np.zeros((len(common.lower), 0))
        able = self.able.sum(axis=0).astype(np.int64)
        closed = bool((weight >= 0).all() and (~np.isfinite(common.lower) | (weight == 0).all(axis=1)).all())
        low, high = self._hub_bounds()
        hubs = self._hub_values(weight, able, low, high)
        allowed = self._allowed(hubs)
        hub_parts: list[Wholes] = []
        count_parts: list[Wholes] = []
        for value, states in zip(hubs, allowed, strict=True):
            used = np.flatnonzero(states & (able > 0))
            used = used[np.argsort(-weight[:, used].sum(axis=0), kind="stable")]
            shift = common.hubs @ value
            lower, upper = common.lower - shift, common.upper - shift
            most = self._at_most(weight[:, used], upper, able[used])
            points = whole_points(weight[:, used], lower, upper, np.zeros_like(most), most, MOST_PATTERNS)
            if closed:
                points = _maximal(points, weight[:, used], upper, most)
            counts = np.zeros((len(points), len(self.states)), dtype=np.int64)
            counts[:, used] = points
            hub_parts.append(np.tile(value, (len(points), 1)))
            count_parts.append(counts)
            if sum(map(len, count_parts)) > MOST_PATTERNS:
                raise Obstacle(f"one element of `{self.quotient.root}` has more than {MOST_PATTERNS:,} ways to be used")
        if not count_parts:
            return _Found(np.zeros((0, len(low)), np.int64), np.zeros((0, len(self.states)), np.int64), closed)
        return _Found(np.concatenate(hub_parts), np.concatenate(count_parts), closed)

    def _hub_values(self, weight: Floats, able: Wholes, low: Wholes, high: Wholes) -> Wholes:
        """The values of hubs that some members complete, with members absent from the element allowed."""
        common, single = self.template.common, self.template.single
        ends = np.stack((np.zeros_like(weight), weight * able))
        lower = common.lower - ends.max(axis=0).sum(axis=1)
        upper = common.upper - ends.min(axis=0).sum(axis=1)
        wide = whole_points(common.hubs, lower, upper, low, high, MOST_PATTERNS)
        activity = wide @ single.hubs.T
        slack = ROUNDING * np.maximum(1.0, np.abs(single.hubs).max(axis=1, initial=0.0))
        absent = ((activity <= single.upper + slack) & (activity >= single.lower - slack)).all(axis=1)
        if not absent.all():
            what = f"an element of `{self.quotient.root}` could be used with all members only"
            raise Obstacle(what, self.quotient.problem.row_family(int(self.component.rows[0])).span)
        return wide

    def _allowed(self, hubs: Wholes) -> NDArray[np.bool_]:
        """Which states (columns) a member may have with which values of the hubs (rows)."""
        single = self.template.single
        if not len(single.lower) or not len(self.states):
            return np.ones((len(hubs), len(self.states)), dtype=np.bool_)
        slack = ROUNDING * np.maximum(1.0, np.abs(single.positions).max(axis=1, initial=0.0))
        of_hubs, of_states = hubs @ single.hubs.T, self.states @ single.positions.T
        allowed = np.ones((len(hubs), len(self.states)), dtype=np.bool_)
        for row in range(len(single.lower)):
            activity = of_hubs[:, row, None] + of_states[None, :, row]
            allowed &= (activity <= single.upper[row] + slack[row]) & (activity >= single.lower[row] - slack[row])
        return allowed

    def _at_most(self, weight: Floats, upper: Floats, able: Wholes) -> Wholes:
        """How many members can have each state, as far as single rows without negative entries tell."""
        most = able.copy()
        for row in np.flatnonzero(np.isfinite(upper) & (weight >= 0).all(axis=1)).tolist():
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(weight[row] > 0, np.floor(upper[row] / weight[row] + ROUNDING), np.inf)
            most = np.minimum(most, np.maximum(room, 0)).astype(np.int64)
        return most

    # --- the part ----------------------------------------------------------------------------------------------------

    def part(self) -> Part:
        found = self.found
        member, state = np.nonzero(self.able)
        ways, patterns = len(member), len(found.counts)
        columns = (self._way_columns(member, state), self._pattern_columns())
        by_state = sparse.csr_matrix((np.ones(ways), (state, np.arange(ways))), shape=(len(self.states), ways))
        places = sparse.hstack((by_state, sparse.csr_matrix(-found.counts.T.astype(np.float64)))).tocsr()
        zero, none = np.zeros(len(self.states)), np.full(len(self.states), -np.inf)
        everything = sparse.csr_matrix(np.concatenate((np.zeros(ways), np.ones(patterns)))[None, :])
        total = np.array([float(len(self.elements))])
        span = self.quotient.problem.column_family(int(self.component.columns[0])).span
        rows = (
            NewRows("places", _numbers(len(self.states)), places, none if found.closed else zero, zero, span=span),
            NewRows(self.quotient.root, self._own_domain(), everything, total, total, span=span),
        )
        return Part(
            self.component,
            columns,
            rows,
            self._sums(member, state),
            lambda values, shared: self._expanded(values, member, state),
            lambda spread: self._gathered(spread, member, state),
            f"{len(self.elements):,} elements counted by {patterns:,} patterns of {len(self.states):,} states",
            "every element has one of the listed patterns, and members fill the places that the patterns leave",
        )

    def _way_columns(self, member: Codes, state: Codes) -> NewColumns:
        """Columns X: named after the variable where every state is one of its columns."""
        problem, template = self.quotient.problem, self.template
        ones = np.ones(len(member))
        plain = len(self.states) > 0 and bool((self.states.sum(axis=1) == 1).all())
        if plain:
            numbers = template.column[member, self.states.argmax(axis=1)[state]]
            family = problem.column_family(int(numbers[0])) if len(numbers) else None
            if family is not None and numbers.min() >= family.first and numbers.max() < family.stop:
                codes = tuple(c[numbers - family.first] for c in family.domain.columns())
                domain: Domain = Tuples(family.domain.components, codes)
                return NewColumns(family.name, domain, 0 * ones, ones, ones > 0, family.span, family.unit, family.doc)
        codes = (template.members[member], state.astype(np.int64))
        return NewColumns("ways", Tuples((template.root, None), codes), 0 * ones, ones, ones > 0)

    def _pattern_columns(self) -> NewColumns:
        count = len(self.found.counts)
        most = np.full(count, float(len(self.elements)))
        return NewColumns("patterns", _numbers(count), np.zeros(count), most, np.ones(count, dtype=np.bool_))

    def _own_domain(self) -> Domain:
        return Tuples((self.quotient.universe,), (self.elements[:1],))

    def _sums(self, member: Codes, state: Codes) -> Sparse:
        """Columns of the component x columns of the part."""
        template, columns = self.template, self.component.columns
        ways = len(member)
        way, position = np.nonzero(self.states[state]) if ways else (np.zeros(0, np.int64), np.zeros(0, np.int64))
        row = np.searchsorted(columns, template.column[member[way], position])
        pattern, hub = np.nonzero(self.found.hubs)
        hub_row = np.searchsorted(columns, template.hubs[hub])
        values = np.concatenate((np.ones(len(way)), self.found.hubs[pattern, hub].astype(np.float64)))
        at = (np.concatenate((row, hub_row)), np.concatenate((way, ways + pattern)))
        return sparse.csr_matrix((values, at), shape=(len(columns), ways + len(self.found.counts)))

    # --- there and back ----------------------------------------------------------------------------------------------

    def _expanded(self, values: Floats, member: Codes, state: Codes) -> Spread:
        ways = len(member)
        uses = np.rint(values[ways:]).astype(np.int64)
        pattern = np.repeat(np.arange(len(uses)), uses)[: len(self.elements)]
        element, hub = np.nonzero(self.found.hubs[pattern])
        parts = [(self.template.hubs[hub], self.elements[element], self.found.hubs[pattern[element], hub])]
        placed = np.flatnonzero(values[:ways] > 0.5)
        placed = placed[np.argsort(state[placed], kind="stable")]
        # The places of every state, state by state in the order of elements, and the members that take them.
        free = self.found.counts[pattern].T  # states x elements
        places = np.repeat(np.tile(self.elements[: len(pattern)], len(self.states)), free.reshape(-1))
        starts = np.concatenate(([0], np.cumsum(free.sum(axis=1))))
        taken = np.bincount(state[placed], minlength=len(self.states))
        if (taken > np.diff(starts)).any():
            raise ValueError("more members in a state than the patterns have places for")
        rank = np.arange(len(placed)) - np.repeat(np.cumsum(taken) - taken, taken)
        host = places[starts[state[placed]] + rank]
        way, position = np.nonzero(self.states[state[placed]])
        columns = self.template.column[member[placed][way], position]
        parts.append((columns, host[way], np.ones(len(way), dtype=np.int64)))
        column, elements, numbers = (np.concatenate(p) for p in zip(*parts, strict=True))
        return Spread(column, elements, numbers.astype(np.float64))

    def _gathered(self, spread: Spread, member: Codes, state: Codes) -> Floats | None:
        template = self.template
        place = np.searchsorted(self.elements, spread.elements)
        hubs = np.zeros((len(self.elements), len(template.hubs)), dtype=np.int64)
        chosen = np.rint(spread.values).astype(np.int64)
        at = np.searchsorted(template.hubs, spread.columns)
        is_hub = (at < len(template.hubs)) & (template.hubs[np.minimum(at, len(template.hubs) - 1)] == spread.columns)
        if len(template.hubs):
            hubs[place[is_hub], at[is_hub]] = chosen[is_hub]
        order = np.argsort(template.column, axis=None, kind="stable")
        sorted_columns = template.column.reshape(-1)[order]
        rest = np.flatnonzero(~is_hub & (chosen != 0))
        cell = order[np.searchsorted(sorted_columns, spread.columns[rest])] if len(rest) else rest
        who, position = np.divmod(cell, max(template.column.shape[1], 1))
        vectors: dict[bytes, int] = {row.astype(np.int8).tobytes(): k for k, row in enumerate(self.states)}
        counts = np.zeros((len(self.elements), len(self.states)), dtype=np.int64)
        values = np.zeros(len(member) + len(self.found.counts))
        way_of = np.full((len(template.members), len(self.states)), -1, dtype=np.int64)
        way_of[member, state] = np.arange(len(member))
        pair, which = np.unique(np.stack((who, place[rest]), axis=1), axis=0, return_inverse=True)
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
            fits = np.flatnonzero(same & (enough if self.found.closed else exact))
            if not len(fits):
                return None
            values[len(member) + fits[0]] += 1.0
        return values


def _maximal(points: Wholes, weight: Floats, upper: Floats, most: Wholes) -> Wholes:
    """Those to which no member can be added."""
    room = upper - points @ weight.T  # points x rows
    slack = ROUNDING * np.maximum(1.0, np.abs(weight).max(axis=1, initial=0.0))
    more = np.zeros(len(points), dtype=np.bool_)
    for state in range(weight.shape[1]):
        more |= (points[:, state] < most[state]) & (weight[:, state] <= room + slack).all(axis=1)
    return points[~more]


def _numbers(count: int) -> Domain:
    return Interval(1, count)
