"""The laws that every pass obeys on every problem.

- The optimum is the same, up to the stated error, or the problem is infeasible or unbounded before and after.
- `invert` turns every feasible point after into one before that is at least as good; `map_start` turns every feasible
  point before into one after that is as good, up to the stated error.
- Bounds of columns that stay only get tighter, integer columns stay integer, and no relaxation gets weaker.
- New rows and columns have the name and the place of the family or term that they come from; notes count them.
- The pass finds nothing to do in its own result.

Optima and points before are those of enumeration (`brute`), those after of HiGHS alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

import highspy
import numpy as np
from as_text import as_text
from brute import (
    TOLERANCE,
    Optimum,
    Unsupported,
    feasible_of,
    feasible_points,
    filled,
    free_columns,
    is_feasible,
    optimum,
)

from gpusched_dsl.compiling.passes.nonlinear import PASSES
from gpusched_dsl.compiling.passes.pipeline import TIGHTENINGS, reformulate
from gpusched_dsl.compiling.passes.reductions import REDUCTIONS
from gpusched_dsl.compiling.passes.steps import Analysis, Pass, PassResult, ReformulatedProblem, Target
from gpusched_dsl.ir.arrays import Bools, Floats
from gpusched_dsl.ir.definitions import complete
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Objective, Problem, Term
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

EVERY_PASS: tuple[Pass, ...] = (*PASSES, *TIGHTENINGS, *REDUCTIONS)
MOST_POINTS, MOST_CHOICES = 60, 5_000
OTHER_UNITS = {"scaling", "term_scaling"}  # their columns stand for others
# A sum of sums is one sum after a second time; bounds without the rows that went may imply others; exponents of two are
# rounded anew.
IN_ROUNDS = {"defined_sums", "redundant_rows", "scaling"}


class Sample:
    """A problem before a pass with its optimum and feasible points, each found once."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def after(self, step: PassResult) -> Sample:
        """The problem after a step that was checked, with the same optimum and the points mapped."""
        sample = Sample(step.problem)
        with suppress(Unsupported):
            if not step.bound_error:
                points = [complete(step.problem.definitions, step.map_start(point)) for point in self.points]
                sample.__dict__.update(optimum=self.optimum, points=points)
        return sample

    @cached_property
    def analysis(self) -> Analysis:
        return Analysis(self.problem)

    @cached_property
    def optimum(self) -> Optimum:
        """Raises Unsupported where it cannot be enumerated."""
        return optimum(self.problem)

    @cached_property
    def points(self) -> list[Floats]:
        """Feasible points: the best one, and others spread over all, or best for other objectives."""
        best = self.optimum.point
        if best is None:
            return []
        if (free_columns(self.problem) & ~self.problem.integer).any():
            some = np.array([best, *other_points(self.problem, optimum)])
            # Where a comparison wants to be just missed the optimum is a limit, which is no point.
            return list(feasible_of(self.problem, filled(self.problem, some)))
        every = feasible_points(self.problem)
        return [best, *every[:: -(-len(every) // MOST_POINTS)]]


def other_points(problem: Problem, solve: Callable[[Problem], Optimum], count: int = 3) -> Iterator[Floats]:
    """Points that are best for some other objectives."""
    rng = np.random.default_rng(7)
    for _ in range(count):
        costs = rng.integers(-2, 3, problem.columns).astype(np.float64)
        term = Term(None, np.arange(problem.columns, dtype=np.int32), costs)
        with suppress(Unsupported):
            found = solve(replace(problem, objectives=(Objective("minimize", (term,)),)))
            if found.point is not None:
                yield found.point


def solved(problem: Problem) -> Optimum:
    """The optimum by HiGHS alone where the problem is linear, by enumeration otherwise."""
    if not problem.is_linear:
        choices = free_columns(problem) & problem.integer
        if np.prod((problem.upper - problem.lower)[choices] + 1) > MOST_CHOICES:
            raise Unsupported("takes too long")
        return optimum(problem)
    if not problem.columns:  # HiGHS has no status for it
        return optimum(problem)
    highs = highspy.Highs()
    highs.silent()
    highs.setOptionValue("presolve_rule_off", 4096)  # a rule that loses optima
    highs.setOptionValue("mip_rel_gap", 0.0)
    maximize = bool(problem.objectives) and problem.objectives[0].sense == "maximize"
    costs = problem.objectives[0].costs(problem.columns) if problem.objectives else np.zeros(problem.columns)
    matrix = problem.matrix
    highs.passModel(
        problem.columns, problem.rows, len(matrix.values), int(highspy.MatrixFormat.kRowwise), -1 if maximize else 1,
        0.0, costs, problem.lower, problem.upper, problem.row_lower, problem.row_upper,
        matrix.starts.astype(np.int32), matrix.columns, matrix.values, problem.integer.astype(np.int32),
    )  # fmt: skip
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kOptimal:
        point = np.array(highs.getSolution().col_value)
        return Optimum("optimal", problem.objectives[0].value(point) if problem.objectives else 0.0, point)
    if status == highspy.HighsModelStatus.kInfeasible:
        return Optimum("infeasible")
    assert status in (highspy.HighsModelStatus.kUnbounded, highspy.HighsModelStatus.kUnboundedOrInfeasible), status
    feasible = solved(replace(problem, objectives=()))
    return Optimum("unbounded" if feasible.status == "optimal" else feasible.status)


def apply_checked(one: Pass, sample: Sample, target: Target) -> PassResult | None:
    """The result of a pass that accepts a problem and changes it, after a check of all laws; None for others."""
    if not one.accepts(sample.analysis, target):
        return None
    step = one.apply(sample.analysis, target)
    known = sample.analysis.problem
    if step.problem is known or (not step.notes and as_text(step.problem) == as_text(known)):
        assert all(note.abandoned or not (note.rows or note.columns) for note in step.notes)
        return None
    try:
        assert_sources_are_named(sample.problem, step)
        assert_bounds_are_tighter(sample.problem, step, one.name)
        assert_done(one, step, target)
        with suppress(Unsupported):
            assert_points_map(sample, ReformulatedProblem(sample.problem, sample.problem).then(step))
            assert_no_weaker(sample.problem, step.problem)
    except AssertionError as failure:
        failure.add_note(f"{one.name} changes\n{as_text(sample.problem)}to\n{as_text(step.problem)}")
        raise
    return step


def apply_all_checked(passes: Sequence[Pass], sample: Sample, target: Target) -> list[str]:
    """Check each pass on the result of those before it; the names of those that changed something."""
    names = []
    for one in passes:
        step = apply_checked(one, sample, target)
        if step is not None:
            sample = sample.after(step)
            names.append(one.name)
    return names


def assert_reformulated(sample: Sample, target: Target) -> None:
    """Check the points for the whole of a solve; what the target does not take is refused."""
    with suppress(Unsupported, DiagnosticError):
        assert_points_map(sample, reformulate(sample.problem, target, reduce=True, tighten=True))


# --- the laws --------------------------------------------------------------------------------------------------------


def assert_points_map(sample: Sample, step: ReformulatedProblem) -> None:
    """The same optimum, and every point has one on the other side that is no worse; raises Unsupported."""
    problem, after = sample.problem, step.problem
    before, found = sample.optimum, solved(after)
    assert found.status == before.status, (before.status, found.status)
    for point in [] if found.point is None else [found.point, *other_points(after, solved)]:
        point = np.where(after.integer, np.rint(point), point)
        point = complete(after.definitions, point)
        back = complete(problem.definitions, step.invert(point))
        assert is_feasible(problem, back[None], 10 * TOLERANCE)[0], f"inverted {point} to {back}"
        assert_no_worse(problem, back, after, point, 0.0)
    for point in sample.points:
        there = complete(after.definitions, step.map_start(point))
        assert is_feasible(after, there[None], 10 * TOLERANCE)[0], f"mapped {point} to {there}"
        assert_no_worse(after, there, problem, point, step.bound_error)
    if before.status == "optimal":
        sign = -1.0 if problem.objectives and problem.objectives[0].sense == "maximize" else 1.0
        close = 10 * TOLERANCE * max(1.0, abs(before.value))
        assert -close <= sign * (found.value - before.value) <= step.bound_error + close, (before.value, found.value)


def assert_no_worse(problem: Problem, point: Floats, other: Problem, there: Floats, error: float) -> None:
    for mine, its in zip(problem.objectives, other.objectives, strict=True):
        value, wanted = mine.value(point), its.value(there)
        size = float(np.abs(mine.costs(problem.columns)) @ np.abs(point))
        worse = (value - wanted) * (-1.0 if mine.sense == "maximize" else 1.0)
        assert worse <= error + 10 * TOLERANCE * max(1.0, size), f"{value} is worse than {wanted}"


def in_use(problem: Problem) -> Bools:
    """The columns that something reads."""
    used = np.zeros(problem.columns, dtype=np.bool_)
    used[problem.matrix.columns] = used[problem.conditions.columns] = True
    for objective in problem.objectives:
        used[np.flatnonzero(objective.costs(problem.columns))] = True
    for definition in problem.definitions:
        used[definition.results] = used[definition.arguments.matrix.columns] = True
    return used


def assert_bounds_are_tighter(problem: Problem, step: PassResult, name: str) -> None:
    after = step.problem
    places = {entry_name(after.column_family(j), j): j for j in range(after.columns)}
    used = in_use(after)
    for j in range(problem.columns):
        at = places.get(entry_name(problem.column_family(j), j))
        if at is None or not used[at] or name in OTHER_UNITS:
            continue
        room = 1e-9 * max(1.0, abs(problem.lower[j]) if np.isfinite(problem.lower[j]) else 1.0)
        assert after.lower[at] >= problem.lower[j] - room, (j, after.lower[at])
        assert after.upper[at] <= problem.upper[j] + room, (j, after.upper[at])
        assert after.integer[at] or not problem.integer[j] or name == "network_integrality", j


def assert_sources_are_named(problem: Problem, step: PassResult) -> None:
    after = step.problem
    named = (*problem.column_families, *problem.constraints, *problem.definitions, *problem.objectives)
    names, places = {source.name or "objective" for source in named}, {source.span for source in named}
    for family in (*after.column_families, *after.constraints):
        prefixes = [family.name[:end] for end, c in enumerate(f"{family.name}.") if c == "."]
        assert names & set(prefixes), f"{family.name} has no source"
        assert family.span in places, f"{family.name} has no place"
    for of in (after.column_families, after.constraints):
        assert max(Counter((family.name, family.part) for family in of).values(), default=1) == 1
    assert all(note.term in {*names, problem.name} or note.span in places for note in step.notes)
    assert sum(note.rows for note in step.notes) == after.rows - problem.rows
    noted, more = sum(note.columns for note in step.notes), int(in_use(after).sum() - in_use(problem).sum())
    new = sum(family.size for family in after.column_families if family.name not in names)
    assert noted in (after.columns - problem.columns, more, new), step.notes
    for numbers, old, new in ((step.rows, problem.rows, after.rows), (step.columns, problem.columns, after.columns)):
        assert numbers is None or (len(numbers) == old and numbers.max(initial=-1) < new)


def assert_no_weaker(problem: Problem, after: Problem) -> None:
    if not problem.is_linear or not after.is_linear:
        return
    before, found = (solved(replace(p, integer=np.zeros(p.columns, dtype=np.bool_))) for p in (problem, after))
    if before.status != "optimal" or found.status != "optimal":
        assert before.status != "infeasible" or found.status == "infeasible"
        assert before.status != "optimal" or found.status != "unbounded"
        return
    better = (found.value - before.value) * (
        -1.0 if problem.objectives and problem.objectives[0].sense == "maximize" else 1.0
    )
    assert better >= -TOLERANCE * max(1.0, abs(before.value)), (before.value, found.value)


def assert_done(one: Pass, step: PassResult, target: Target) -> None:
    analysis = Analysis(step.problem, swept=True)
    if one.name not in IN_ROUNDS and one.accepts(analysis, target):
        again = as_text(one.apply(analysis, target).problem)
        assert again == as_text(analysis.problem), f"{one.name} finds more to do: {again}"
