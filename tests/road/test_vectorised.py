"""Nothing on the road walks over its data in Python: as many lines run for many rows as for few."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import polars as pl
import pytest

import gpusched_dsl as gs

MODEL = """
model M {
  set A; set B;
  set L within A cross B;
  param c[L] >= 0;
  param kind[L] symbol;
  param first_one within B = argmin[j in B] 1;
  param home[A] within B default first_one;
  param best[i in A] = max[(k, j) in L where k == i] c[k, j];
  check [(i, j) in L]: c[i, j] >= 0;
  var f[L] in GB >= 0 <= 1;
  var g[i in A, j in B where (i, j) not in L] binary;
  let t[i in A] = sum[(k, j) in L where k == i] f[k, j];
  minimize o in GB: sum[(i, j) in L] c[i, j] * f[i, j];
  constraint out[i in A]: t[i] >= 1[GB];
  constraint into[j in B]: sum[i in A where (i, j) in L and kind[i, j] == "kind1"] f[i, j] <= 90[GB];
  constraint chosen[(i, j) in L]:
    c[i, j] > 3 => 0[GB] <= f[i, j] <= 1[GB] + sum[k in A where home[k] == j] 1[MB] * g[k, j];
  placement g[i, j] { job i;  node j;  lasts best[i] * 1[h];  costs 2[$/h]; }
}
scenario S for M {
  data "links.FORMAT" { A = distinct(i);  B = distinct(j);  L = (i, j);  c[i, j] = c;  kind[i, j] = k; }
}
"""
FEW, MANY = 400, 3200


def write_links(folder: Path, rows: int) -> None:
    table = pl.DataFrame(
        {
            "i": [f"a{k // 20}" for k in range(rows)],
            "j": [f"b{k % 97}" for k in range(rows)],
            "c": [k / 2 for k in range(rows)],
            "k": [f"kind{k % 3}" for k in range(rows)],
        }
    )
    table.write_csv(folder / "links.csv")
    table.write_parquet(folder / "links.parquet")


def lines_run(work: Callable[[], Any]) -> int:
    """How many lines of the package run, every pass of a loop counted."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        path = frame.f_code.co_filename
        if "gpusched_dsl" not in path and "backends" not in path:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def loaded(folder: Path, rows: int, kind: str) -> gs.Model:
    write_links(folder, rows)
    return gs.loads(MODEL.replace("FORMAT", kind), base=folder)


STAGES: dict[str, Callable[[gs.Result, Path], Any]] = {
    "tables": lambda r, folder: [r[name] for name in ("f", "g", "t", "c", "home", "best")],
    "placement": lambda r, folder: r.placement,
    "csv": lambda r, folder: r.to_csv(folder / "out"),
    "summary": lambda r, folder: repr(r),
}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_compiling(kind: str, tmp_path: Path) -> None:
    models = [loaded(tmp_path, FEW, kind)]
    models[0].ground()  # what is imported and looked up for the first time
    few = lines_run(loaded(tmp_path, FEW, kind).ground)
    many = lines_run(loaded(tmp_path, MANY, kind).ground)
    assert many < 1.2 * few


@pytest.mark.parametrize("backend", ["highs", "scip"])
def test_solving_and_telling(backend: str, tmp_path: Path) -> None:
    counts: list[dict[str, int]] = []
    for rows in (FEW, FEW, MANY):
        model = loaded(tmp_path, rows, "parquet")
        # Reasons of waiting jobs are found job by job, within seconds of their own.
        told = {"solve": lines_run(partial(model.solve, backend=backend, reasons=False))}
        result = model.solve(backend=backend)
        for name, stage in STAGES.items():
            told[name] = lines_run(partial(stage, result, tmp_path))
        counts.append(told)
    _, few, many = counts
    if backend == "scip":  # its interface takes one row at a time
        few.pop("solve")
    for name, count in few.items():
        # The labels of each column are made to text one by one; there are at most a dozen columns.
        assert many[name] < 1.2 * count + 12 * MANY // 20, (name, count, many[name])


def test_the_count_sees_loops(tmp_path: Path) -> None:
    """A walk over rows, as JSON needs it, is seen."""
    counts = []
    for rows in (FEW, MANY):
        result = loaded(tmp_path, rows, "parquet").solve()
        domain = result.problem.variables[0].domain
        counts.append(lines_run(partial(lambda d: [d.tuple_at(at) for at in range(d.size)], domain)))
    assert counts[1] > 6 * counts[0]
