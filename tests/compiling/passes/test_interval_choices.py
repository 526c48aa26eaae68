"""Intervals that 0/1 columns choose: the rows for every time against enumeration, and when there are none."""

from __future__ import annotations

import numpy as np
import pytest
from brute import Unsupported, assert_same_optimum, feasible_points
from drafts import Affine, Draft

from gpusched_dsl.compiling.passes.interval_choices import IntervalChoices
from gpusched_dsl.compiling.passes.steps import Analysis, Target
from gpusched_dsl.ir.problem import Problem

MILP = Target("milp")


def random_problem(rng: np.random.Generator) -> Problem:
    """Jobs with a choice among binaries each, and intervals of several machines that read it in many ways."""
    draft = Draft()
    jobs = 2
    sizes = [int(rng.integers(2, 5)) for _ in range(jobs)]
    choices = [draft.columns(f"at{j}", size) for j, size in enumerate(sizes)]
    begins = [draft.columns(f"begin{j}", 1, -1, 4)[0] for j in range(jobs)]
    lone = draft.columns("lone")[0]
    values = [[float(rng.integers(0, 4)) for _ in c] for c in choices]
    shift, scale = float(rng.integers(-1, 2)), float(rng.choice([-2.0, 1.0, 0.5]))
    sets = [(1.0 if rng.random() < 0.5 else -np.inf, dict.fromkeys(c, 1.0), 1.0) for c in choices]
    if rng.random() < 0.1:  # a set that may have two at 1: no such form
        sets[0] = (-np.inf, dict.fromkeys(choices[0], 1.0), 2.0)
    draft.rows("once", sets)
    draft.rows(
        "begins",
        [
            (scale * shift, {begins[j]: scale, **{c: -scale * v for c, v in zip(choices[j], values[j], strict=True)}},
             scale * shift)
            for j in range(jobs)
        ],
    )  # fmt: skip

    def subset(j: int) -> list[int]:
        return [c for c in choices[j] if rng.random() < 0.6] or [choices[j][0]]

    presences = []
    for j in range(jobs):
        one = subset(j)
        presences.append((1.0, dict.fromkeys(one, 1.0), np.inf))
    truths = draft.holds("here", presences)

    def presence(j: int) -> Affine:
        kind = rng.choice(6, p=(0.15, 0.2, 0.15, 0.05, 0.25, 0.2))
        if kind == 0:
            return {None: 1.0}
        if kind == 1:
            return int(rng.choice(choices[j]))
        if kind == 2:
            return {int(rng.choice(choices[j])): -1.0, None: 1.0}
        return lone if kind == 3 else truths[j]

    def start(j: int) -> Affine:
        if rng.random() < 0.7:
            return begins[j]
        return dict(zip(choices[j], values[j], strict=True)) | {None: float(rng.integers(-1, 2))}

    def amount(j: int) -> Affine:
        if rng.random() < 0.6:
            return {None: float(rng.integers(0 if rng.random() < 0.1 else 1, 4))}
        least = rng.choice([-1, 0, 1], p=(0.1, 0.15, 0.75))
        return {c: float(rng.integers(0, 3)) for c in choices[j]} | {None: float(least)}

    loads = bool(rng.random() < 0.5)
    entries: list[list[Affine]] = []
    for _ in range(2):
        entry: list[Affine] = []
        for j in range(jobs):
            for _ in range(int(rng.integers(1, 3))):
                entry += [start(j), amount(j), presence(j), *([amount(j)] if loads else [])]
        if loads:
            entry.append(lone if rng.random() < 0.2 else {None: float(rng.integers(1, 4))})
        entries.append(entry)
    results = (draft.cumulative if loads else draft.no_overlap)("fits", entries)
    must = results if rng.random() < 0.7 else results[:1]
    draft.rows("must", [(1.0, r, np.inf) for r in must])
    costs: dict[int | None, float] = {c: float(rng.integers(-5, 6)) for c in [*choices[0], *choices[1], *begins, lone]}
    costs |= {r: float(rng.integers(-5, 2)) for r in results if r not in must}
    draft.minimize(costs)
    return draft.problem()


def rows_made(problem: Problem) -> int:
    analysis = Analysis(problem)
    if not IntervalChoices().accepts(analysis, MILP):
        return 0
    return sum(note.entries for note in IntervalChoices().apply(analysis, MILP).notes)


def check(seed: int) -> int:
    problem = random_problem(np.random.default_rng(seed))
    try:
        assert_same_optimum(problem, MILP)
    except Unsupported:
        return 0
    return rows_made(problem)


def test_forms() -> None:
    seeds = (*range(25), 52)  # the last one has an amount that may be negative
    assert sum(check(seed) > 0 for seed in seeds) >= 12


@pytest.mark.slow
@pytest.mark.parametrize("seeds", range(8))
def test_many_forms(seeds: int) -> None:
    for seed in range(100 * seeds + 100, 100 * seeds + 200):
        check(seed)


def slices(*, once: float = 1.0, length: float = 2.0, stray: bool = False) -> Problem:
    """Two jobs that may begin at 0, 1 or 2 of one GPU, or not at all."""
    draft = Draft()
    at = [draft.columns(f"at{j}", 3) for j in range(2)]
    first = draft.columns("first", 2, 0, 9)
    more = draft.columns("more")[0]
    draft.rows("once", [(-np.inf, dict.fromkeys(c, 1.0), once) for c in at])
    draft.rows(
        "begins", [(0.0, {first[j]: 1.0, at[j][1]: -1.0, at[j][2]: -2.0, **({more: -1.0} if stray else {})}, 0.0)
                   for j in range(2)]
    )  # fmt: skip
    on = draft.holds("on", [(1.0, dict.fromkeys(c, 1.0), np.inf) for c in at])
    entry: list[Affine] = []
    for j in range(2):
        entry += [first[j], {None: length}, on[j]]
    (fits,) = draft.no_overlap("fits", [entry])
    draft.rows("must", [(1.0, fits, np.inf)])
    draft.maximize({at[0][1]: 3.0, at[1][0]: 2.0, at[1][1]: 4.0, more: -1.0})
    return draft.problem()


def test_one_row_for_each_time_and_no_column() -> None:
    problem = slices()
    analysis = Analysis(problem)
    step = IntervalChoices().apply(analysis, MILP)
    assert step.problem.columns == problem.columns
    assert step.problem.rows == problem.rows + 3
    rows = step.problem.matrix.take(np.arange(problem.rows, step.problem.rows))
    covered = [sorted(rows.columns[a:b].tolist()) for a, b in zip(rows.starts[:-1], rows.starts[1:], strict=True)]
    assert covered == [[0, 3], [0, 1, 3, 4], [1, 2, 4, 5]]
    assert len(feasible_points(problem)) == 2 * (1 + 6 + 2)  # `more` is free


@pytest.mark.parametrize("problem", [slices(once=2.0), slices(length=0.0), slices(stray=True)])
def test_other_forms_are_left(problem: Problem) -> None:
    """Two columns of a job at 1, an empty interval, and a start that reads a column of no set."""
    assert rows_made(problem) == 0
    assert_same_optimum(problem, MILP)


def test_targets_with_intervals_get_the_clauses_too() -> None:
    target = Target("cpsat", frozenset({"integers", "no_overlap", "cumulative"}))
    assert IntervalChoices().accepts(Analysis(slices()), target)
