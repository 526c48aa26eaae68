"""A million elements: the problem must fit in memory and take seconds.

Bounds are of processor time, ten times what a small machine needs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import gpusched_dsl as gs
from gpusched_dsl.cli import main

pytestmark = pytest.mark.slow
MILLION = 10**6


@contextmanager
def within(seconds: float) -> Iterator[None]:
    began = time.process_time()
    yield
    taken = time.process_time() - began
    assert taken < seconds, f"{taken:.1f} s"


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def test_a_million_rows_and_columns() -> None:
    model = gs.loads("""
      model M {
        set I = 1..1000; set K = 1..1000;
        param c[i in I, k in K] = (i * k) ^ 0.5;
        var x[I, K] >= 0 <= 1; var y[K] >= 0 <= 1;
        maximize o: sum[i in I, k in K] c[i, k] * x[i, k] - sum[k in K] 1000 * y[k];
        constraint open[i in I, k in K]: x[i, k] <= y[k];
        constraint few[i in I]: sum[k in K] x[i, k] <= 5;
      }
      scenario S for M { }
    """)
    with within(10):
        problem = model.ground()
    assert (problem.columns, problem.rows, problem.matrix.nonzeros) == (1_001_000, 1_001_000, 3 * MILLION)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_million_tuples_from_a_file(kind: str, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    pairs = np.unique(random.integers(0, 20000 * 20000, size=MILLION + 5000))[:MILLION]
    random.shuffle(pairs)
    texts = {"i": [f"s{p // 20000}" for p in pairs.tolist()], "j": [f"t{p % 20000}" for p in pairs.tolist()]}
    table = pl.DataFrame({**texts, "cost": random.integers(1, 99, size=MILLION) / 4})
    table.write_csv(tmp_path / "links.csv")
    table.write_parquet(tmp_path / "links.parquet")
    text = """
      model M {
        set A; set B; set L within A cross B; param cost[L] >= 0; var f[L] >= 0 <= 1;
        minimize o: sum[(i, j) in L] cost[i, j] * f[i, j];
        constraint out[i in A]: sum[(k, j) in L where k == i] f[k, j] >= 1;
        constraint into[j in B]: sum[i in A where (i, j) in L] f[i, j] <= 90;
      }
      scenario S for M { data "links.KIND" { A = distinct(i); B = distinct(j); L = (i, j); cost[i, j] = cost; } }
    """
    with within(40):
        problem = gs.compile(text.replace("KIND", kind), base=tmp_path)
    assert (problem.columns, problem.matrix.nonzeros) == (MILLION, 2 * MILLION)
    assert problem.objectives[0].costs(MILLION).sum() == pytest.approx(float(table["cost"].sum()))


def test_sums_over_a_million() -> None:
    with within(10):
        problem = gs.compile("""
          model M {
            set I = 1..1000000; var x[I] >= 0 <= 1;
            let total = sum[i in I] i / 4 * x[i];
            maximize o: total;
            constraint cap: sum[i in I] x[i] <= 1000;
            constraint both: total + sum[i in I] x[i] >= 0;
          }
          scenario S for M { }
        """)
    assert problem.matrix.nonzeros == 2 * MILLION
    assert problem.matrix.values[MILLION:].tolist()[:4] == [1.25, 1.5, 1.75, 2.0]


def test_a_result_with_a_million_values(tmp_path: Path) -> None:
    model = gs.loads("""
      model M { set I = 1..1000; set K = 1..1000; var x[I, K] >= 0.5 <= 1; minimize o: sum[i in I, k in K] x[i, k];
                let twice[i in I, k in K] = 2 * x[i, k]; }
      scenario S for M { }
    """)
    with within(15):
        result = model.solve()
    with within(2):
        assert float(result["x"]["value"].sum()) == MILLION / 2
        assert float(result["twice"]["value"].sum()) == MILLION
    with within(30):
        result.to_json(tmp_path / "out.json")
        result.to_csv(tmp_path)
    with within(60):
        assert model.solve(warm_start=result).objective == MILLION / 2
        assert model.solve(warm_start=tmp_path / "out.json").objective == MILLION / 2


def test_a_placement_of_16000_jobs() -> None:
    jobs = ", ".join(f"job{n}" for n in range(16000))
    model = gs.loads(f"""
      model M {{
        set J; set N; var run[J, N] binary;
        maximize o: sum[j in J, n in N] run[j, n];
        constraint c[j in J]: sum[n in N] run[j, n] <= 1;
        placement run[j, n] {{ job j; node n; lasts 90[min]; costs 2[$/h]; }}
      }}
      scenario S for M {{ J = {{ {jobs} }}; N = {{ a, b, c }}; }}
    """)
    result = model.solve()
    with within(2):
        placement = result.placement
    assert placement is not None
    assert len(placement) == 16000
    assert float(placement["cost"].sum()) == 48000


@pytest.mark.parametrize("work", ["fmt", "check"])
def test_long_texts_take_time_in_proportion(work: str, tmp_path: Path) -> None:
    times = []
    for count in (400, 1600):
        rows = "\n".join(f"    j{n} {n % 17} {n / 2}" for n in range(10 * count))
        declarations = "\n".join(
            f"  param p{n}[J] in h >= 0 default {n};\n  var x{n}[J] in h >= 0;\n"
            f"  constraint c{n}[j in J]: x{n}[j] + 2 * p{n}[j] <= sum[k in J where k != j] x{max(0, n - 1)}[k] * 3;"
            for n in range(count)
        )
        text = (
            f"model M {{ set J; param a[J]; param b[J];\n{declarations}\n"
            "minimize o in h: sum[j in J] a[j] * x0[j]; }\n"
            f"scenario S for M {{ J = {{ j0, j1 }}; a = 1; b = 1; }}\n"
            f"scenario Long for M {{ table J: a b =\n{rows};\n}}\n"
        )
        codes: list[int] = []
        paths = [tmp_path / f"long{count}_{n}.gsm" for n in range(2)]
        for number, path in enumerate(paths):  # texts that have been parsed are kept, so each differs
            path.write_text(f"# {number}\n{text}", encoding="utf-8")
        times.append(min(seconds(lambda p=path, c=codes: c.append(main([work, str(p)]))) for path in paths))
        assert set(codes) == {0}
    assert times[1] < 8 * times[0] + 1
