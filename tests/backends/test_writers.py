"""LP and MPS text, read back by both solvers."""

from __future__ import annotations

import io
import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import highspy
import numpy as np
import pyscipopt
import pytest
from building import (
    INF,
    at_least,
    at_most,
    between,
    equal,
    maximize,
    minimize,
    objective,
    problem,
)
from msgspec import structs
from problems import CASES, Case

from gpusched_dsl.ir.definitions import Conditions
from gpusched_dsl.ir.domains import IntervalDomain, ProductDomain, ScalarDomain, Universe
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.files import lp_mps
from gsdsl_backends.files.lp_mps import write_lp, write_mps
from gsdsl_backends.files.names import LP, MPS, entry_names
from gsdsl_backends.protocol import SolveOptions

Writer = Callable[[Problem, Path | str | BinaryIO, bool], None]
WRITERS: dict[str, Writer] = {"mps": write_mps, "lp": write_lp}

ALL_KINDS = problem(
    maximize(1 / 3, -2e-7, 1e10, 0, offset=12.5),
    columns=4,
    rows=[
        between(1, 4.3, 1, 2, 0, 0),
        at_most(5, 0, 1, 1, 0),
        equal(2.1, 1, 1, 1, 0),
        between(-1, 1, 0, 0, 0, 0),
        at_least(3, 1, 0, -1, 0),
        (-INF, (1, 1, 1, 1), INF),
        equal(0, 0, 0, 0, 1),
        at_least(-1e-9, 0, 0, 0, 1),
    ],
    lower=[0, -INF, -3.5, -INF],
    upper=[INF, INF, 7.25, -0.0],
    integer=[0, 2],
)


def text(write: Writer, one: Problem, names: bool = True) -> str:
    out = io.BytesIO()
    write(one, out, names)
    return out.getvalue().decode("ascii")


def read_by_highs(path: Path) -> tuple[str, float]:
    highs = highspy.Highs()
    highs.silent()
    assert highs.readModel(str(path)) != highspy.HighsStatus.kError
    highs.setOptionValue("presolve_rule_off", 4096)
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("dual_feasibility_tolerance", 1e-10)  # some costs are smaller than the default
    highs.run()
    return highs.modelStatusToString(highs.getModelStatus()).lower(), highs.getObjectiveValue()


def read_by_scip(path: Path) -> tuple[str, float]:
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.setParam("constraints/linear/upgrade/varbound", False)
    model.optimize()
    return model.getStatus(), model.getObjVal() if model.getNSols() else float("nan")


READERS = {"highs": read_by_highs, "scip": read_by_scip}


@pytest.mark.quick(6)
@pytest.mark.parametrize("names", [True, False], ids=["named", "numbered"])
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("ending", WRITERS)
def test_every_kind_of_row_and_bound(tmp_path: Path, ending: str, reader: str, names: bool) -> None:
    path = tmp_path / f"problem.{ending}"
    WRITERS[ending](ALL_KINDS, path, names)
    status, value = READERS[reader](path)
    solved = solve_problem(ALL_KINDS, "highs", SolveOptions(gap=0.0))
    assert status == "optimal"
    assert value == pytest.approx(solved.objective, rel=1e-9)


# Left out: what the formats cannot state, and what a reader corrects instead of taking it as it stands.
READABLE = [
    case
    for case in CASES
    if case.status in ("optimal", "infeasible")
    and case.problem.columns
    and len(case.problem.objectives) == 1
    and case.options.gap == 0
    and "tiny" not in case.name
    and case.name not in ("crossed_bounds", "crossed_sides", "infinite_lower_bound", "called_infeasible_by_presolve")
]


@pytest.mark.quick(17)
@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("case", READABLE, ids=lambda case: case.name)
def test_readers_find_the_known_optimum(tmp_path: Path, case: Case, ending: str) -> None:
    path = tmp_path / f"problem.{ending}"
    WRITERS[ending](case.problem, path, True)
    for read in READERS.values():
        status, value = read(path)
        if case.status == "infeasible":
            assert status in ("infeasible", "inforunbd", "primal infeasible or unbounded")
        else:
            assert status == "optimal"
            assert value == pytest.approx(case.objective, rel=1e-6)


@pytest.mark.quick(60)
@pytest.mark.parametrize("lines", [1, 2, 5])
@pytest.mark.parametrize("case", READABLE, ids=lambda case: case.name)
def test_texts_are_written_in_parts(case: Case, lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = {ending: _text_of(case.problem, ending) for ending in WRITERS}
    monkeypatch.setattr(lp_mps, "LINES", lines)
    assert _text_of(case.problem, "lp") == whole["lp"]
    without_markers = [[line for line in text.splitlines() if "'MARKER'" not in line]
                       for text in (_text_of(case.problem, "mps"), whole["mps"])]  # fmt: skip
    assert without_markers[0] == without_markers[1]


def _text_of(one: Problem, ending: str) -> str:
    out = io.BytesIO()
    WRITERS[ending](one, out, True)
    return out.getvalue().decode()


@pytest.mark.parametrize("lines", [1 << 21, 3, 1])
def test_mps_holds_the_very_same_numbers(tmp_path: Path, lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS reads the arrays of an MPS file back bit by bit, but for the far side of rows with two sides."""
    monkeypatch.setattr(lp_mps, "LINES", lines)
    draws = random.Random(7)
    columns, rows = 17, 23

    def number() -> float:
        return draws.uniform(-1, 1) * 10 ** draws.uniform(-6, 9)

    sides = []
    for k in range(rows):
        coefficients = [number() if draws.random() < 0.4 else 0.0 for _ in range(columns)]
        side = number()
        sides.append([at_least, at_most, equal][k % 3](side, *coefficients))
    lower = [-abs(number()) for _ in range(columns)]
    upper = [abs(number()) for _ in range(columns)]
    costs = [number() for _ in range(columns)]
    one = problem(
        minimize(*costs, offset=number()), columns=columns, rows=sides, lower=lower, upper=upper, integer=[0, 1, 5, 16]
    )
    path = tmp_path / "exact.mps"
    write_mps(one, path)
    highs = highspy.Highs()
    highs.silent()
    highs.readModel(str(path))
    read = highs.getLp()
    assert list(read.col_cost_) == costs
    assert read.offset_ == one.objectives[0].offset
    assert list(read.col_lower_) == lower
    assert list(read.col_upper_) == upper
    assert list(read.row_lower_) == one.row_lower.tolist()
    assert list(read.row_upper_) == one.row_upper.tolist()
    integral = [int(kind) for kind in read.integrality_]
    assert integral == one.integer.astype(int).tolist()
    read.a_matrix_.ensureRowwise() if hasattr(read.a_matrix_, "ensureRowwise") else None
    entries = {}
    for column in range(columns):
        for k in range(read.a_matrix_.start_[column], read.a_matrix_.start_[column + 1]):
            entries[int(read.a_matrix_.index_[k]), column] = read.a_matrix_.value_[k]
    matrix = one.matrix
    assert entries == dict(
        zip(zip(matrix.row_of.tolist(), matrix.columns.tolist(), strict=True), matrix.values.tolist(), strict=True)
    )
    assert list(read.col_names_) == [f"x[{j}]" for j in range(columns)]


# --- names ------------------------------------------------------------------------------------------------------


def families(*labels: str, name: str = "run") -> tuple[Family, ...]:
    return (Family(name, 0, IntervalDomain(0, len(labels) - 1, 1, Universe("Jobs", labels))),)


def test_names_are_the_authors() -> None:
    jobs, nodes = Universe("Jobs", ("j1", "j2")), Universe("Nodes", (7, 9))
    index = ProductDomain((IntervalDomain(0, 1, 1, jobs), IntervalDomain(0, 1, 1, nodes), IntervalDomain(2, 3)))
    some = (Family("run", 0, index), Family("total", 8, ScalarDomain()), Family("pay", 9, IntervalDomain(1, 1), part=1))
    names = entry_names(some, "c", MPS).to_list()
    assert names[:3] == ["run[j1,7,2]", "run[j1,7,3]", "run[j1,9,2]"]
    assert names[-2:] == ["total", "pay.part2[1]"]
    assert entry_names(some, "c", LP).to_list()[0] == "run(j1,7,2)"


def test_names_become_printable_and_stay_unique() -> None:
    names = entry_names(families("a b", "a\tb", "ä", "a_b", "x" * 300), "c", MPS).to_list()
    assert names == ["run[a_b]", "run[a_b].1", "run[_]", "run[a_b].3", "c4"]


def test_names_that_collide_with_the_numbered_ones_are_all_numbered() -> None:
    names = entry_names((*families("a b", "a_b"), Family("run[a_b].1", 2, ScalarDomain())), "c", MPS)
    assert names.n_unique() == 3


@pytest.mark.parametrize("word", ["free", "END", "st", "e12", "Infinity", "general", "9lives", "min"])
def test_words_of_the_lp_format_are_not_names(word: str, tmp_path: Path) -> None:
    one = replace(
        problem(maximize(1, name=word), columns=1, rows=[at_most(3, 2)], integer=True),
        variables=(Family(word, 0, ScalarDomain()),),
        constraints=(Family(word, 0, ScalarDomain()),),
    )
    path = tmp_path / "words.lp"
    write_lp(one, path)
    assert [read(path) for read in READERS.values()] == [("optimal", 1.0), ("optimal", 1.0)]


@pytest.mark.parametrize("ending", WRITERS)
def test_objective_and_row_of_the_same_name(tmp_path: Path, ending: str) -> None:
    one = problem(minimize(1, name="cost"), columns=1, rows=[at_least(2, 1)])
    one = replace(one, constraints=(Family("cost", 0, ScalarDomain()),))
    path = tmp_path / f"same.{ending}"
    WRITERS[ending](one, path, True)
    assert [read(path) for read in READERS.values()] == [("optimal", 2.0), ("optimal", 2.0)]


# --- what formats cannot say --------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", WRITERS)
def test_of_several_objectives_the_first_is_read(tmp_path: Path, ending: str) -> None:
    one = problem(
        minimize(1, 2, name="cost"), objective("maximize", [5, 0], name="taste"), columns=2, rows=[at_least(1, 1, 1)]
    )
    path = tmp_path / f"several.{ending}"
    WRITERS[ending](one, path, True)
    assert [read(path) for read in READERS.values()] == [("optimal", 1.0), ("optimal", 1.0)]
    assert "objective 2: taste, to maximize" in path.read_text()


def test_lp_needs_a_column() -> None:
    with pytest.raises(DiagnosticError) as caught:
        write_lp(problem(minimize(offset=1), columns=0), io.BytesIO())
    assert caught.value.diagnostics[0].code == "GSM4023"


def test_lp_has_linear_rows_only() -> None:
    one = problem(minimize(1), columns=1, rows=[at_least(2, 1)], integer=True)
    some = Conditions(np.array([0]), np.array([0], dtype=np.int32), np.array([True]))
    with pytest.raises(DiagnosticError) as caught:
        write_lp(replace(one, conditions=some), io.BytesIO())
    assert caught.value.diagnostics[0].code == "GSM4023"


def test_mps_without_columns_or_rows(tmp_path: Path) -> None:
    empty = text(write_mps, problem(minimize(offset=1), columns=0))
    assert empty.splitlines()[-1] == "ENDATA"
    path = tmp_path / "no_rows.mps"
    write_mps(problem(maximize(1, 1), columns=2, upper=4), path)
    assert [read(path) for read in READERS.values()] == [("optimal", 8.0), ("optimal", 8.0)]


def test_small_mps_as_it_stands() -> None:
    one = problem(minimize(1, 0, offset=2, name="cost"), columns=2, rows=[between(1, 4, 1, 2)], integer=[1], name="a b")
    assert text(write_mps, one).splitlines() == [
        "NAME a_b", "ROWS", " N cost", " G row[0]", "COLUMNS", " x[0] cost 1.0", " x[0] row[0] 1.0",
        " MARK0A 'MARKER' 'INTORG'", " x[1] row[0] 2.0", " MARK0B 'MARKER' 'INTEND'", "RHS", " RHS cost -2.0",
        " RHS row[0] 1.0", "RANGES", " RNG row[0] 3.0", "BOUNDS", " LO BND x[1] 0.0", " PL BND x[1]", "ENDATA",
    ]  # fmt: skip


@pytest.mark.slow
def test_writing_is_columnar() -> None:
    """A million entries in a time that no loop over them could keep."""
    rows, columns, each = 100_000, 50_000, 10
    starts = np.arange(rows + 1, dtype=np.int64) * each
    entries = (np.arange(rows * each, dtype=np.int64) * 7919) % columns
    small = problem(minimize(1), columns=1, rows=[at_least(1, 1)])
    one = replace(
        small,
        variables=(Family("x", 0, IntervalDomain(0, columns - 1)),),
        lower=np.zeros(columns),
        upper=np.ones(columns),
        integer=np.ones(columns, dtype=bool),
        constraints=(Family("row", 0, IntervalDomain(0, rows - 1)),),
        matrix=structs.replace(
            small.matrix, starts=starts, columns=entries.astype(np.int32), values=np.ones(rows * each)
        ),
        row_lower=np.full(rows, -np.inf),
        row_upper=np.ones(rows),
    )
    for write in WRITERS.values():
        began = time.process_time()
        write(one, io.BytesIO(), True)
        assert time.process_time() - began < 8
