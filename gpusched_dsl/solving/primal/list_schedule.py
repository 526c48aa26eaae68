"""A first point of a problem with intervals: serial schedule generation by some priority rules.

One task after the other gets its resources and its start. A task is a column that is the start of intervals; what
decides their presence, length and demand is chosen first, where the task ends earliest, then the start is the earliest
time at which all of its present intervals fit between those that are placed. After each decision bounds are propagated
through all rows and definitions, so that orders, releases, deadlines and conditions narrow the starts of other tasks.
A task that finds no time comes first in the next attempt. Columns that are then free take the bound that costs less.

Source: R. Kolisch, Serial and parallel resource-constrained project scheduling methods revisited, European Journal of
Operational Research 90, 1996; the rules are the latest start, the earliest start, and cost per length (Smith's rule).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from msgspec import Struct

from gpusched_dsl.compiling.analysis.bounds import Bounds, propagate
from gpusched_dsl.ir.arrays import Bools, Codes, Floats, unique
from gpusched_dsl.ir.definitions import Cumulative, IntervalDefinition, complete
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.ir.tolerances import ON_STEP
from gpusched_dsl.solving.primal.budget import HeuristicBudget
from gpusched_dsl.solving.primal.incumbent import Incumbent
from gpusched_dsl.solving.primal.resource_profile import ResourceProfile
from gsdsl_backends.protocol import Backend, Monitor, SolveOptions

MOST_SECONDS, SHARE = 10.0, 0.1  # of a time limit
ATTEMPTS = 12  # for each rule: every one moves a task to the front
TIMES = 200  # that are tried for a task
ROUNDS = 60  # of propagation before the first task
ONE_BY_ONE = 500  # columns that are fixed one by one where they cannot be fixed together

Rule = Callable[["_Schedule"], Floats]


def schedule_start(problem: Problem, backend: Backend, options: SolveOptions, monitor: Monitor | None) -> Floats | None:
    """The start by list schedules, in a share of the time limit, for backends that take starts of such problems."""
    able = backend.capabilities
    if options.heuristic == "off" or able.reformulates or not able.warm_start or not able.time_limit:
        return None
    seconds = MOST_SECONDS if options.time_limit is None else min(MOST_SECONDS, SHARE * options.time_limit)
    return list_schedule(problem, HeuristicBudget(seconds, monitor))


def list_schedule(problem: Problem, budget: HeuristicBudget) -> Floats | None:
    """The best feasible point that the rules lead to; None for none, and for problems without intervals.

    The point has passed `verify`, and its integer columns are integer.
    """
    bounds = _settled(problem)
    tasks = None if bounds is None else _Tasks.of(problem, bounds)
    if tasks is None or bounds is None:
        return None
    incumbent = Incumbent(problem)
    for rule in _rules(tasks, incumbent.sign):
        front: dict[int, int] = {}
        for _ in range(ATTEMPTS):
            if budget.over:
                return incumbent.point
            schedule = _Schedule(tasks, bounds, incumbent.sign, budget)
            stuck = schedule.run(rule, front)
            if stuck < 0:
                point = schedule.finished_point()
                if point is not None:
                    incumbent.offer(point)
                break
            front[stuck] = len(front) + 1
    return incumbent.point


def _settled(problem: Problem) -> Bounds | None:
    """The bounds that follow from all rows; None where there are no intervals, or no point."""
    if not any(isinstance(d, IntervalDefinition) for d in problem.definitions):
        return None
    bounds = propagate(problem)
    for _ in range(ROUNDS):
        if not bounds.feasible:
            return None
        further = propagate(replace(problem, lower=bounds.lower, upper=bounds.upper))
        if (further.lower == bounds.lower).all() and (further.upper == bounds.upper).all():
            break
        bounds = further
    return bounds


class _Interval(Struct, frozen=True):
    """An interval of a resource: its first argument in definition `definition`, and its start behind its task's."""

    definition: int
    argument: int
    resource: int
    shift: float


@dataclass(frozen=True, eq=False)
class _Tasks:
    """The intervals by the column of their start; those with a constant start are tasks with negative numbers.

    `choices` are the free columns that decide presence, lengths and demands. `capacities[r]` is the argument of the
    capacity of resource r in its definition, -1 without one.
    """

    problem: Problem
    definitions: tuple[IntervalDefinition, ...]
    intervals: dict[int, list[_Interval]]
    choices: dict[int, Codes]
    capacities: list[tuple[int, int]]
    required: Bools

    @staticmethod
    def of(problem: Problem, bounds: Bounds) -> _Tasks | None:
        """None where a start is not a column plus a number."""
        definitions = tuple(d for d in problem.definitions if isinstance(d, IntervalDefinition))
        intervals: dict[int, list[_Interval]] = {}
        capacities: list[tuple[int, int]] = []
        for number, definition in enumerate(definitions):
            of = definition.interval_entry
            first, matrix = definition.intervals, definition.arguments.matrix
            sure = bounds.lower[definition.results] > 0.5
            begins, counts = matrix.starts[:-1][first], np.diff(matrix.starts)[first]
            if (sure[of] & ((counts > 1) | ((counts == 1) & (np.append(matrix.values, 1.0)[begins] != 1.0)))).any():
                return None
            for entry in np.flatnonzero(sure).tolist():
                capacity = int(definition.capacities[entry]) if isinstance(definition, Cumulative) else -1
                for place in np.flatnonzero(of == entry).tolist():
                    argument = int(first[place])
                    task = int(matrix.columns[begins[place]]) if counts[place] else -1 - len(intervals)
                    shift = float(definition.arguments.constants[argument])
                    intervals.setdefault(task, []).append(_Interval(number, argument, len(capacities), shift))
                capacities.append((number, capacity))
        if not intervals:
            return None
        free = bounds.lower < bounds.upper
        choices = {task: _choices(problem, definitions, found, free) for task, found in intervals.items()}
        return _Tasks(problem, definitions, intervals, choices, capacities, _required(problem))


def _choices(
    problem: Problem, definitions: tuple[IntervalDefinition, ...], intervals: list[_Interval], free: Bools
) -> Codes:
    """The free columns of presence, lengths and demands; for a truth value or a term, those that it is of."""
    found = [np.zeros(0, dtype=np.int64)]
    for interval in intervals:
        definition = definitions[interval.definition]
        arguments = np.arange(interval.argument + 1, interval.argument + definition.each)
        found.append(definition.arguments.matrix.take(arguments).columns.astype(np.int64))
    columns = unique(np.concatenate(found))
    for term in reversed(problem.definitions):  # each is of columns and of earlier ones
        results = np.flatnonzero(np.isin(term.results, columns))
        if len(results):
            read = term.take(results).arguments.matrix.columns
            columns = np.setdiff1d(np.union1d(columns, read), term.results[results])
    return columns[free[columns]]


def _required(problem: Problem) -> Bools:
    """The columns that a row wants to be large, as the sum of the choices of a task."""
    matrix = problem.matrix
    with np.errstate(invalid="ignore"):
        wants = (problem.row_lower[matrix.row_of] > 0) & (matrix.values > 0)
        wants |= (problem.row_upper[matrix.row_of] < 0) & (matrix.values < 0)
    required = np.zeros(problem.columns, dtype=np.bool_)
    required[matrix.columns[wants]] = True
    return required


class _Schedule:
    """One attempt: the bounds of all columns as decided so far, and the profiles of all resources."""

    def __init__(self, tasks: _Tasks, bounds: Bounds, sign: float, budget: HeuristicBudget) -> None:
        self.tasks, self.bounds, self.budget = tasks, bounds, budget
        self.problem = problem = tasks.problem
        # Profiles know more of the intervals that are placed than their bounds do.
        others = tuple(d for d in problem.definitions if d not in tasks.definitions)
        self.narrowing = replace(problem, definitions=others)
        self.costs = np.zeros(problem.columns)
        if problem.objectives:
            self.costs = sign * problem.objectives[0].costs(problem.columns)
        self.waiting = np.array([t for t in tasks.intervals if t >= 0], dtype=np.int64)
        self._read_arguments()
        self.profiles = [
            ResourceProfile(None if at < 0 else float(self.high[d][at])) for d, at in tasks.capacities
        ]  # fmt: skip

    def run(self, rule: Rule, front: dict[int, int]) -> int:
        """Place all tasks; the one that found no time, -1 if all did. Those in `front` come before the others."""
        for task in (t for t in self.tasks.intervals if t < 0):
            if not self._schedule(task):
                return task
        urgent = np.array([-front.get(int(t), 0) for t in self.waiting])
        while len(self.waiting):
            if self.budget.over:
                return int(self.waiting[0])
            keys = rule(self)
            at = int(np.lexsort((self.bounds.upper[self.waiting], keys, urgent))[0])
            task = int(self.waiting[at])
            if not self._schedule(task):
                return task
            self.waiting, urgent = np.delete(self.waiting, at), np.delete(urgent, at)
        return -1

    def lengths(self) -> Floats:
        """The least length of every waiting task."""
        return np.array(
            [max(self.low[i.definition][i.argument + 1] for i in self.tasks.intervals[int(t)]) for t in self.waiting]
        )

    # --- bounds ------------------------------------------------------------------------------------------------------

    def _read_arguments(self) -> None:
        ends = [self.bounds.of(d.arguments) for d in self.tasks.definitions]
        self.low, self.high = [e[0] for e in ends], [e[1] for e in ends]

    def _narrowed(self, columns: Codes, low: Floats, high: Floats) -> Bounds | None:
        """The bounds with narrower ones of some columns; None where they contradict the problem."""
        lower, upper = self.bounds.lower.copy(), self.bounds.upper.copy()
        lower[columns], upper[columns] = np.maximum(lower[columns], low), np.minimum(upper[columns], high)
        if (lower[columns] > upper[columns]).any():
            return None
        found = propagate(replace(self.narrowing, lower=lower, upper=upper))
        return found if found.feasible else None

    def _narrow(self, columns: Codes, low: Floats, high: Floats) -> bool:
        found = self._narrowed(columns, low, high)
        if found is None:
            return False
        self.bounds = found
        self._read_arguments()
        return True

    def _return_to(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self._read_arguments()

    def _fix(self, column: int, value: float) -> bool:
        return self._narrow(np.array([column]), np.array([value]), np.array([value]))

    # --- one task ----------------------------------------------------------------------------------------------------

    def _schedule(self, task: int) -> bool:
        """Choose for a task, place it, and narrow the other columns; whether there was a time for it.

        Where there is none with the first choice, it is made without that choice.
        """
        before = self.bounds
        excluded: list[int] = []
        while not self.budget.over:
            chosen = self._choose(task)
            if chosen is not None and self._place(task):
                return True
            self._return_to(before)
            if not chosen:
                return False
            excluded.append(chosen[0])
            none = self.bounds.lower[excluded]
            if not self._narrow(np.array(excluded), none, none):
                return False
        return False

    def _place(self, task: int) -> bool:
        """Place a task whose choices are made at the earliest time that no row forbids."""
        time = 0.0 if task < 0 else float(self.bounds.lower[task])
        for _ in range(TIMES):
            time = self._earliest(task, time)
            if time > (0.0 if task < 0 else self.bounds.upper[task] + ON_STEP):
                return False
            if task < 0 or self._fix(task, time):
                return self._add(task, time if task < 0 else float(self.bounds.lower[task]))
            time = time + 1.0 if self.problem.integer[task] else self._next_end(time)
        return False

    def _add(self, task: int, time: float) -> bool:
        """Add the intervals of a task to the profiles; whether the capacities that are decided allow it."""
        present = self._present(task)
        for interval in present:
            low, at = self.low[interval.definition], interval.argument
            profile = self.profiles[interval.resource]
            demand = 1.0 if profile.capacity is None else float(low[at + 3])
            profile.place(time + interval.shift, float(low[at + 1]), demand)
        if all(self._reserve(i.resource, self.profiles[i.resource].peak) for i in present):
            return True
        for interval in present:
            self.profiles[interval.resource].remove_last()
        return False

    def _reserve(self, resource: int, peak: float) -> bool:
        """A capacity that is decided is at least the peak of its load."""
        number, at = self.tasks.capacities[resource]
        if at < 0:
            return True
        row = self.tasks.definitions[number].arguments.take(np.array([at]))
        if len(row.matrix.columns) != 1 or self.low[number][at] >= peak:
            return True
        column, value = row.matrix.columns.astype(np.int64), float(row.matrix.values[0])
        needed = (peak - float(row.constants[0])) / value
        low, high = (needed, np.inf) if value > 0 else (-np.inf, needed)
        return self._narrow(column, np.array([low]), np.array([high]))

    def _choose(self, task: int) -> list[int] | None:
        """Fix what decides presence, length and demand: what lets the task end earliest first.

        The columns that were chosen to be large, None where there is no choice that the rows allow.
        """
        columns = self._free(self.tasks.choices[task])
        chosen: list[int] = []
        wanted = self.tasks.required[columns] | (self.costs[columns] < 0)
        ends = np.array([self._end_with(task, int(c)) if w else np.inf for c, w in zip(columns, wanted, strict=True)])
        for at in np.lexsort((self.costs[columns], ends)).tolist():
            column = int(columns[at])
            low, high = float(self.bounds.lower[column]), float(self.bounds.upper[column])
            if low == high:
                continue
            first, second = (high, low) if np.isfinite(ends[at]) else (low, high)
            if not self._fix(column, first) and not self._fix(column, second):
                return None
            if self.bounds.lower[column] == high:
                chosen.append(column)
        return chosen

    def _end_with(self, task: int, column: int) -> float:
        """When the task ends at the earliest if a column is as large as it may be; infinite if it may not."""
        before = self.bounds
        ended = np.inf
        if self._fix(column, float(before.upper[column])):
            time = self._earliest(task, 0.0 if task < 0 else float(self.bounds.lower[task]))
            lengths = [float(self.low[i.definition][i.argument + 1]) for i in self._present(task)]
            if task < 0 or time <= self.bounds.upper[task]:
                ended = time + max(lengths, default=0.0)
        self._return_to(before)
        return ended

    def _earliest(self, task: int, time: float) -> float:
        """The earliest time, from `time` on, at which all present intervals of a task fit."""
        present = self._present(task)
        moved = True
        while moved and np.isfinite(time):
            moved = False
            for interval in present:
                low, at = self.low[interval.definition], interval.argument
                profile = self.profiles[interval.resource]
                demand = 1.0 if profile.capacity is None else float(low[at + 3])
                found = profile.earliest(time + interval.shift, float(low[at + 1]), demand) - interval.shift
                if task >= 0 and self.problem.integer[task] and np.isfinite(found):
                    found = float(np.ceil(found - ON_STEP))
                moved |= found > time
                time = max(time, found)
        return time

    def _next_end(self, time: float) -> float:
        """The next end of a placed interval behind a time."""
        ends = np.concatenate([p.end for p in self.profiles])
        later = ends[ends > time + ON_STEP]
        return float(later.min(initial=np.inf))

    def _present(self, task: int) -> list[_Interval]:
        return [i for i in self.tasks.intervals[task] if self.low[i.definition][i.argument + 2] > 0.5]

    def _free(self, columns: Codes) -> Codes:
        return columns[self.bounds.lower[columns] < self.bounds.upper[columns]]

    # --- the other columns -------------------------------------------------------------------------------------------

    def finished_point(self) -> Floats | None:
        """The point with all other columns at the bound that costs less; None where that is impossible."""
        rest = np.ones(self.problem.columns, dtype=np.bool_)
        for definition in self.problem.definitions:
            rest[definition.results] = False
        for columns in (np.flatnonzero(rest & self.problem.integer), np.flatnonzero(rest)):
            free = self._free(columns)
            target = self._cheap_ends(free)
            if len(free) and not self._narrow(free, target, target):
                for column in free[np.argsort(-np.abs(self.costs[free]), kind="stable")][:ONE_BY_ONE].tolist():
                    if self.budget.over:
                        return None
                    self._settle(column)
        point = np.clip(0.0, self.bounds.lower, self.bounds.upper)
        return complete(self.problem.definitions, point)

    def _settle(self, column: int) -> None:
        """Fix a column at its cheap end, or else at the other one."""
        low, high = float(self.bounds.lower[column]), float(self.bounds.upper[column])
        cheap = float(self._cheap_ends(np.array([column]))[0])
        if low < high and not self._fix(column, cheap):
            self._fix(column, high if cheap == low else low)

    def _cheap_ends(self, columns: Codes) -> Floats:
        low, high = self.bounds.lower[columns], self.bounds.upper[columns]
        near, far = np.where(self.costs[columns] < 0, high, low), np.where(self.costs[columns] < 0, low, high)
        return np.where(np.isfinite(near), near, np.where(np.isfinite(far), far, 0.0))


def _rules(tasks: _Tasks, sign: float) -> tuple[Rule, ...]:
    """The rules, the most promising first: where starts themselves cost something, it is that of their costs."""
    problem = tasks.problem
    starts = [t for t in tasks.intervals if t >= 0]
    costs = sign * problem.objectives[0].costs(problem.columns)[starts] if problem.objectives else np.zeros(1)
    if (costs > 0).any():
        return _cost_per_length, _latest_start, _earliest_start
    return _latest_start, _cost_per_length, _earliest_start


def _latest_start(schedule: _Schedule) -> Floats:
    upper: Floats = schedule.bounds.upper[schedule.waiting]
    return upper


def _earliest_start(schedule: _Schedule) -> Floats:
    lower: Floats = schedule.bounds.lower[schedule.waiting]
    return lower


def _cost_per_length(schedule: _Schedule) -> Floats:
    """Cost per length, of tasks that can start before another one ends: no task comes before one that it must follow.

    Without costs this is the parallel scheme, in which the latest start decides.
    """
    lower, length = schedule.bounds.lower[schedule.waiting], schedule.lengths()
    soon = lower < np.min(lower + np.maximum(length, ON_STEP))
    worth = schedule.costs[schedule.waiting] / np.maximum(length, ON_STEP)
    return np.where(soon, -worth, np.inf)
