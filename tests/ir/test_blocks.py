"""Blocks of a root set: the block of each column and row, and problems without blocks."""

from __future__ import annotations

import numpy as np
import pytest

from gpusched_dsl.ir.blocks import NoBlocksError, blocks_of
from gpusched_dsl.ir.domains import Domain, IntervalDomain, TupleDomain, Universe
from gpusched_dsl.ir.problem import Family, Matrix, Problem

JOBS = Universe("Jobs", ("a", "b", "c"))
NODES = Universe("Nodes", ("n", "m"))


def tuples(*index: tuple[int, ...], components: tuple[Universe | None, ...]) -> TupleDomain:
    return TupleDomain(components, tuple(np.array(c, dtype=np.int64) for c in zip(*index, strict=True)))


def problem(families: dict[str, Domain], rows: list[list[int]]) -> Problem:
    """Columns of these families and rows with a 1 at these columns."""
    variables, first = [], 0
    for name, domain in families.items():
        variables.append(Family(name, first, domain))
        first += domain.size
    starts = np.concatenate(([0], np.cumsum([len(r) for r in rows]))).astype(np.int64)
    columns = np.array([c for row in rows for c in row], dtype=np.int32)
    return Problem(
        "Test", tuple(variables), np.zeros(first), np.ones(first), np.zeros(first, dtype=np.bool_),
        (Family("rows", 0, IntervalDomain(0, len(rows) - 1)),), Matrix(starts, columns, np.ones(len(columns))),
        np.zeros(len(rows)), np.ones(len(rows)),
    )  # fmt: skip


def test_columns_follow_their_index_and_rows_their_columns() -> None:
    x = tuples((0, 1), (2, 0), (2, 1), components=(JOBS, NODES))
    y = IntervalDomain(0, 1, component=NODES)
    made = problem({"x": x, "y": y}, [[0], [1, 2], [0, 1], [0, 3], [3, 4], []])
    blocks = blocks_of(made, "Jobs")
    assert blocks.labels == ("a", "c")  # b has no column
    assert blocks.column.tolist() == [0, 1, 1, -1, -1]
    assert blocks.row.tolist() == [0, 1, -1, -1, -1, -1]
    assert blocks.columns_of(0).tolist() == [0]
    assert blocks.columns_of(1).tolist() == [1, 2]
    assert blocks.rows_of(1).tolist() == [1]


def test_a_pair_of_one_element_belongs_to_it() -> None:
    pairs = tuples((0, 0), (1, 1), components=(JOBS, JOBS))
    assert blocks_of(problem({"x": pairs}, [[0, 1]]), "Jobs").column.tolist() == [0, 1]


def test_a_pair_of_two_elements_is_refused_by_name() -> None:
    made = problem({"x": tuples((0, 0), (0, 1), components=(JOBS, JOBS))}, [[0, 1]])
    with pytest.raises(NoBlocksError, match=r"x\[a, b\]") as refused:
        blocks_of(made, "Jobs")
    assert refused.value.family is made.variables[0]


def test_a_set_that_no_variable_is_indexed_by_makes_no_blocks() -> None:
    with pytest.raises(NoBlocksError, match="no variable is indexed by `Jobs`"):
        blocks_of(problem({"y": IntervalDomain(0, 1, component=NODES)}, [[0, 1]]), "Jobs")


def test_variables_without_an_element_make_no_blocks() -> None:
    none = TupleDomain((JOBS,), (np.array([], dtype=np.int64),))
    with pytest.raises(NoBlocksError, match="the variables indexed by `Jobs` have no elements"):
        blocks_of(problem({"x": none, "y": IntervalDomain(0, 1, component=NODES)}, [[0, 1]]), "Jobs")


def test_blocks_that_nothing_links_are_refused() -> None:
    with pytest.raises(NoBlocksError, match="no constraint links"):
        blocks_of(problem({"x": IntervalDomain(0, 2, component=JOBS)}, [[0], [1]]), "Jobs")
