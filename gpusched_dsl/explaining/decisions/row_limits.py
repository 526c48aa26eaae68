"""The constraints that exclude a job from places with room, as sentences about their use by other jobs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from gpusched_dsl.explaining.decisions.counterfactuals import CounterfactualProblem
from gpusched_dsl.explaining.excluding_rows import ExcludingRows, excluding_rows
from gpusched_dsl.explaining.job_reason import RowLimit
from gpusched_dsl.explaining.row_text import COMPILER_MARK
from gpusched_dsl.ir.arrays import Bools, Codes, Ints
from gpusched_dsl.ir.domains import decode_column
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Problem

MOST_ROWS = 3


def row_limits(
    question: CounterfactualProblem, names: Collection[str], kept: Collection[str], elements: Ints, workers: int
) -> tuple[RowLimit, ...]:
    """Return rows of some constraints that together exclude a job from all `elements` of its family, with the other
    jobs as planned; none if single rows do not.

    Consequences follow from the constraints `kept` alone, so that a full node is no reason. A gang is excluded by a row
    about all elements that has too little left for its `workers`.
    """
    found = _of_constraints(question, _excluding(question, kept, elements), names)
    rows = _cover(question, found, len(elements))
    if not rows and workers > 1:
        found = _of_constraints(question, _excluding(question, kept, elements, float(workers)), names)
        row, counts = np.unique(found.row, return_counts=True)
        rows = row[counts == len(elements)].tolist()
    return tuple(_row_limit(question, row, found, len(elements)) for row in rows[:MOST_ROWS])


def excluded_elements(question: CounterfactualProblem, kept: Collection[str], elements: Ints) -> Bools:
    """Return which elements of the job single rows of some constraints exclude, with the other jobs as planned."""
    return np.isin(elements, _excluding(question, kept, elements).column)


def _excluding(
    question: CounterfactualProblem, kept: Collection[str], elements: Ints, times: float = 1.0
) -> ExcludingRows:
    problem, family = _with_constraints(question.problem, kept), question.family
    lower, upper = problem.lower.copy(), problem.upper.copy()
    rest = np.ones(family.size, dtype=np.bool_)
    rest[question.all_own_elements] = False
    at = family.first + np.flatnonzero(rest)
    lower[at] = upper[at] = question.planned_values[rest]
    own = family.first + question.all_own_elements
    lower[own] = np.minimum(lower[own], 0.0)
    return excluding_rows(problem, family, elements, lower, upper, times)


def _with_constraints(problem: Problem, kept: Collection[str]) -> Problem:
    """Return the problem with free rows for all other constraints; those that the compiler added stay."""
    row_lower, row_upper = problem.row_lower.copy(), problem.row_upper.copy()
    for family in problem.constraints:
        if family.name not in kept and COMPILER_MARK not in family.name:
            row_lower[family.slice], row_upper[family.slice] = -np.inf, np.inf
    return replace(problem, row_lower=row_lower, row_upper=row_upper)


def named_rows(question: CounterfactualProblem, names: Collection[str]) -> tuple[RowLimit, ...]:
    """Return rows by name, with the descriptions of their constraints."""
    return tuple(RowLimit(name, _doc(question, name.partition("[")[0]), combined=True) for name in names)


def _doc(question: CounterfactualProblem, name: str) -> str:
    declared = question.moment.instance.scenario.model.constraints.get(name)
    return "" if declared is None or declared.doc is None else declared.doc


def _of_constraints(question: CounterfactualProblem, found: ExcludingRows, names: Collection[str]) -> ExcludingRows:
    """Return the rows of some constraints alone."""
    families = [question.problem.row_family(row).name for row in found.row.tolist()]
    kept = np.array([name in names and COMPILER_MARK not in name for name in families], dtype=np.bool_)
    return ExcludingRows(
        found.column[kept], found.row[kept], found.needs[kept], found.free[kept], found.most[kept]
    )  # fmt: skip


def _cover(question: CounterfactualProblem, found: ExcludingRows, elements: int) -> list[int]:
    """Return rows that exclude all elements together: those that exclude all, else few, the one with most first."""
    left = dict.fromkeys(found.column.tolist())
    if len(left) < elements or not elements:
        return []
    rows, counts = np.unique(found.row, return_counts=True)
    if (counts == elements).any():
        return [int(row) for row in rows[counts == elements]]
    chosen: list[int] = []
    open_columns = set(left)
    while open_columns:
        is_open = np.isin(found.column, list(open_columns))
        rows, counts = np.unique(found.row[is_open], return_counts=True)
        chosen.append(int(rows[int(np.argmax(counts))]))
        open_columns -= set(found.column[found.row == chosen[-1]].tolist())
    return chosen


def _row_limit(question: CounterfactualProblem, row: int, found: ExcludingRows, elements: int) -> RowLimit:
    problem, family = question.problem, question.family
    placement = question.moment.instance.scenario.model.placement
    assert placement is not None
    of_row = problem.row_family(row)
    mine = np.flatnonzero(found.row == row)
    limited = RowLimit(entry_name(of_row, row), _doc(question, of_row.name))
    node_at = placement.position("node")
    if len(mine) < elements and node_at is not None:
        nodes = np.unique(family.domain.columns_at(found.column[mine])[node_at])
        limited = replace(limited, places=_labels(question, node_at, nodes))
    entries = slice(int(problem.matrix.starts[row]), int(problem.matrix.starts[row + 1]))
    columns, values = problem.matrix.columns[entries].astype(np.int64), problem.matrix.values[entries]
    limit = float(problem.row_upper[row])
    inside = (columns >= family.first) & (columns < family.stop)
    if not np.isfinite(limit) or not inside.all() or (values < 0).any():
        return limited
    columns = columns - family.first
    planned = (question.of_job[columns] != question.job) & (question.planned_values[columns] > 0)
    jobs, number = np.unique(question.of_job[columns[planned]], return_inverse=True)
    amounts = values[planned] * question.planned_values[columns[planned]]
    uses = np.bincount(number.reshape(-1), weights=amounts, minlength=len(jobs))
    return replace(
        limited,
        used=float(uses.sum()),
        limit=limit,
        adds=float(found.needs[mine].min()),
        unit="" if of_row.unit == "1" else of_row.unit,
        jobs=_labels(question, placement.position("job") or 0, jobs),
        uses=tuple(uses.tolist()),
    )


def _labels(question: CounterfactualProblem, at: int, codes: Codes) -> tuple[str, ...]:
    return tuple(str(label) for label in decode_column(question.family.domain.components[at], codes))
