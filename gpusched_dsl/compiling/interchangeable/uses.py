"""The possible uses of one element: the states of members on it, and its patterns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched_dsl.compiling.evaluation.frames import ranges
from gpusched_dsl.compiling.interchangeable.enumeration import count_points, integer_points
from gpusched_dsl.compiling.interchangeable.equivalence_classes import distinct_rows
from gpusched_dsl.compiling.interchangeable.generic import Obstacle
from gpusched_dsl.compiling.interchangeable.members import Template
from gpusched_dsl.compiling.interchangeable.parts import Component
from gpusched_dsl.compiling.interchangeable.quotient import Quotient
from gpusched_dsl.compiling.interchangeable.work import BLAS, STEP, ElementWork
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, Ints
from gpusched_dsl.ir.graph import connected_components
from gpusched_dsl.ir.tolerances import ROUNDING

MOST_STATES = 2_000
MOST_PATTERNS = 300_000
FEW_POINTS = 4_000  # are listed sooner than counted


@dataclass(frozen=True, eq=False)
class Patterns:
    """`hubs[p]` and `counts[p]` (members in each state) of every pattern."""

    hubs: Ints
    counts: Ints

    def take(self, which: Codes) -> Patterns:
        return Patterns(self.hubs[which], self.counts[which])


class Uses:
    """The states of members and the rows that patterns keep.

    `states` (states x positions) are 0/1; `able[m, s]`: member m has all positions of state s;
    `weight` (common rows x states) is what a member in a state adds to the rows over members. `most` bounds how many
    patterns are listed, also before those are left out to which a member can be added.
    """

    def __init__(
        self,
        quotient: Quotient,
        component: Component,
        template: Template,
        work: ElementWork | None = None,
        most: int = MOST_PATTERNS,
    ) -> None:
        self.quotient, self.component, self.template = quotient, component, template
        self.work = work or ElementWork.of(quotient.root, quotient.full_size.columns)
        self.most = most
        self.span = quotient.problem.column_family(int(component.columns[0])).span
        self.elements = np.flatnonzero(quotient.classes.of == component.kind)
        self.low, self.high = self._hub_bounds()
        self.states = self._states()
        has = (self.template.column >= 0).astype(np.float32)  # integers below 2 ** 24: sums are exact
        self.work.spend(len(has) * self.states.size // BLAS, self.span)
        self.able = np.asarray(has @ self.states.T.astype(np.float32) == self.states.sum(axis=1))
        self.members = self.able.sum(axis=0).astype(np.int64)
        common = self.template.common
        self.weight = common.positions @ self.states.T if len(self.states) else np.zeros((len(common.lower), 0))
        upper_only = ~np.isfinite(common.lower) | (self.weight == 0).all(axis=1)
        self.closed = bool((self.weight >= 0).all() and upper_only.all())
        self._refuse_needed_members()

    def _states(self) -> Ints:
        template = self.template
        positions = template.column.shape[1]
        if not positions:
            return np.zeros((0, 0), dtype=np.int64)
        ends = np.stack((template.single.hubs * self.low, template.single.hubs * self.high))
        lower = template.single.lower - ends.max(axis=0).sum(axis=1)
        upper = template.single.upper - ends.min(axis=0).sum(axis=1)
        one = template.exclusive.astype(np.float64)[None, :]
        matrix = np.concatenate((template.single.positions, one))
        lower, upper = np.append(lower, -np.inf), np.append(upper, 1.0)
        found = [np.zeros((0, positions), dtype=np.int64)]
        for own in self._positions_together():
            order = own[np.argsort(~template.exclusive[own], kind="stable")]
            none, ones = np.zeros(len(own), dtype=np.int64), np.ones(len(own), dtype=np.int64)
            points = integer_points(matrix[:, order], lower, upper, none, ones, MOST_STATES, self.work)
            listed = np.zeros((len(points), positions), dtype=np.int64)
            listed[:, order] = points
            found.append(listed)
            if sum(map(len, found)) > MOST_STATES:
                what = (
                    f"members have more than {MOST_STATES:,} possible states on one element of `{self.quotient.root}`"
                )
                raise Obstacle(what, self.span)
        states = np.concatenate(found)
        states = states[states.any(axis=1)]
        if not (states @ template.exclusive.astype(np.int64) > 0).all():
            family = self.quotient.problem.column_family(int(template.column.max()))
            what = f"no row limits `{family.name}` to one element of `{self.quotient.root}`"
            raise Obstacle(what, family.span)
        return states[np.lexsort(states.T[::-1])][::-1]

    def _positions_together(self) -> list[Codes]:
        """The positions, split into groups such that every member has positions of one group only."""
        member, position = np.nonzero(self.template.column >= 0)
        members, positions = self.template.column.shape
        group = connected_components(positions + members, position, positions + member)[:positions]
        order = np.argsort(group, kind="stable").astype(np.int64)
        return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)

    def _hub_bounds(self) -> tuple[Ints, Ints]:
        problem, hubs = self.quotient.problem, self.template.hubs
        low, high = problem.lower[hubs], problem.upper[hubs]
        bad = np.flatnonzero(~problem.integer[hubs] | ~np.isfinite(low) | ~np.isfinite(high))
        if len(bad):
            family = problem.column_family(int(hubs[bad[0]]))
            why = "is not integer" if not problem.integer[hubs[bad[0]]] else "has no bounds"
            raise Obstacle(f"`{family.name}` {why}, so the uses of one element cannot be listed", family.span)
        return np.ceil(low - ROUNDING).astype(np.int64), np.floor(high + ROUNDING).astype(np.int64)

    def list_patterns(self) -> Patterns:
        """All patterns, of closed rows those to which no member can be added; raises Obstacle for too many."""
        common = self.template.common
        hubs = self._hub_values()
        shift = hubs @ common.hubs.T
        lower, upper = common.lower - shift, common.upper - shift
        states = self.allowed_states(hubs) & (self.members > 0)
        # Hubs that leave the members the same rows and states have the same patterns.
        first, which = distinct_rows(np.concatenate((states, lower, upper), axis=1) + 0.0)
        idle = ~states[first].any(axis=1)
        fits = ((lower[first] <= ROUNDING) & (upper[first] >= -ROUNDING)).all(axis=1)
        counts = np.where(idle, fits, 0).astype(np.int64)
        points = {int(g): np.zeros((1, len(self.states)), dtype=np.int64) for g in np.flatnonzero(idle & fits)[:1]}
        found = [np.zeros((0, len(self.states)), dtype=np.int64), *points.values()]
        starts = np.zeros(len(first), dtype=np.int64)
        listed = len(points)
        times = np.bincount(which, minlength=len(first))
        total = int(times[idle & fits].sum())
        for group in np.flatnonzero(~idle).tolist():
            self.work.spend(10 * STEP, self.span)
            at = int(first[group])
            used = np.flatnonzero(states[at])
            own = self._points(used, lower[at], upper[at])
            total += len(own) * int(times[group])
            if total > self.most:
                raise self._too_many()
            full = np.zeros((len(own), len(self.states)), dtype=np.int64)
            full[:, used] = own
            found.append(full)
            starts[group], counts[group] = listed, len(own)
            listed += len(own)
        if total > self.most:
            raise self._too_many()
        self.work.spend(total * (len(self.states) + len(self.low)), self.span)
        copies = counts[which]
        patterns = np.repeat(starts[which], copies) + ranges(copies)
        return Patterns(np.repeat(hubs, copies, axis=0), np.concatenate(found)[patterns])

    def _points(self, used: Codes, lower: Floats, upper: Floats) -> Ints:
        """The numbers of members in some states that keep the rows over members."""
        order = np.argsort(-self.weight[:, used].sum(axis=0), kind="stable")  # those that take most first
        weight, able = self.weight[:, used[order]], self.members[used[order]]
        most = self._at_most(weight, upper, able)
        points = self._integer_points(weight, lower, upper, np.zeros_like(most), most)
        if self.closed:
            self.work.spend(points.size * len(upper), self.span)
            points = _maximal_points(points, weight, upper, most)
        found = np.empty_like(points)
        found[:, order] = points
        return found

    def _hub_values(self) -> Ints:
        """The values of hubs that some members complete."""
        common = self.template.common
        ends = np.stack((np.zeros_like(self.weight), self.weight * self.members))
        lower = common.lower - ends.max(axis=0).sum(axis=1)
        upper = common.upper - ends.min(axis=0).sum(axis=1)
        return self._integer_points(common.hubs, lower, upper, self.low, self.high)

    def _integer_points(self, matrix: Floats, lower: Floats, upper: Floats, low: Ints, high: Ints) -> Ints:
        """The points of a system: few are listed at once, many are counted first."""
        system = (matrix, lower, upper, low, high)
        try:
            return integer_points(*system, min(FEW_POINTS, self.most), self.work)
        except Obstacle:  # more, or the work is used up, which what follows says again
            points = count_points(*system, self.work)
        if points is not None and points > self.most:
            raise self._too_many()
        return integer_points(*system, self.most, self.work)

    def _too_many(self) -> Obstacle:
        root = self.quotient.root
        return Obstacle(f"one element of `{root}` has more than {self.most:,} possible uses", self.span)

    def _refuse_needed_members(self) -> None:
        """Refuse rows of one member that an absent member can violate for some values of the hubs."""
        single = self.template.single
        ends = np.stack((single.hubs * self.low, single.hubs * self.high))
        least, most = ends.min(axis=0).sum(axis=1), ends.max(axis=0).sum(axis=1)
        slack = ROUNDING * np.maximum(1.0, np.abs(single.hubs).max(axis=1, initial=0.0))
        if ((most > single.upper + slack) | (least < single.lower - slack)).any():
            what = f"an element of `{self.quotient.root}` can only be used with all members"
            raise Obstacle(what, self.quotient.problem.row_family(int(self.component.rows[0])).span)

    def allowed_states(self, hubs: Ints) -> Bools:
        """Which states (columns) a member may have with which values of the hubs (rows)."""
        single = self.template.single
        if not len(single.lower) or not len(self.states):
            return np.ones((len(hubs), len(self.states)), dtype=np.bool_)
        slack = ROUNDING * np.maximum(1.0, np.abs(single.positions).max(axis=1, initial=0.0))
        self.work.spend(len(single.lower) * len(hubs) * len(self.states), self.span)
        of_hubs, of_states = hubs @ single.hubs.T, self.states @ single.positions.T
        allowed = np.ones((len(hubs), len(self.states)), dtype=np.bool_)
        for row in range(len(single.lower)):
            activity = of_hubs[:, row, None] + of_states[None, :, row]
            allowed &= (activity <= single.upper[row] + slack[row]) & (activity >= single.lower[row] - slack[row])
        return allowed

    def _at_most(self, weight: Floats, upper: Floats, able: Ints) -> Ints:
        """Return the largest number of members in each state, by single rows without negative entries."""
        most = able.copy()
        for row in np.flatnonzero(np.isfinite(upper) & (weight >= 0).all(axis=1)).tolist():
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(weight[row] > 0, np.floor(upper[row] / weight[row] + ROUNDING), np.inf)
            most = np.minimum(most, np.maximum(room, 0)).astype(np.int64)
        return most


def _maximal_points(points: Ints, weight: Floats, upper: Floats, most: Ints) -> Ints:
    """Those to which no member can be added."""
    room = upper - points @ weight.T  # points x rows
    slack = ROUNDING * np.maximum(1.0, np.abs(weight).max(axis=1, initial=0.0))
    more = np.zeros(len(points), dtype=np.bool_)
    for state in range(weight.shape[1]):
        more |= (points[:, state] < most[state]) & (weight[:, state] <= room + slack).all(axis=1)
    return points[~more]
