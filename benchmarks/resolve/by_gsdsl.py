"""gsdsl: decision after decision, each from its files (`scratch`), or each from the one before (`incremental`).

The phase `first` solves the first decision from its files, for both; `solve again` all others, with everything from the
text or the tables to the checked plan. `tables` reads the tables that a re-solve is given, which a scheduler has in
memory.
"""

from pathlib import Path

import lark  # noqa: F401
import networkx  # noqa: F401
import polars as pl

from benchmarks.child import Lap
from gpusched_dsl import Model, load
from gpusched_dsl.reporting.result import Result
from gsdsl_backends.registry import backend

backend("highs")
GAP = 1e-4


def run(folder: Path, lap: Lap, way: str) -> dict[str, float]:
    states = sorted((f for f in folder.iterdir() if f.is_dir()), key=lambda f: int(f.name))
    model = load(states[0] / "synthetic.gsm")
    check(model.solve(gap=GAP, second_opinion=False, reasons=False))
    lap("first")
    for state in states[1:]:
        if way == "scratch":
            with load(state / "synthetic.gsm") as fresh:
                result = fresh.solve(gap=GAP, second_opinion=False, reasons=False)
        else:
            jobs, times = pl.read_csv(state / "instance_jobs.csv"), pl.read_csv(state / "instance_times.csv")
            lap("tables")
            set_jobs(model, jobs, times)
            result = model.resolve()
            assert result.rebuilt is None, result.rebuilt
        check(result)
        lap("solve again")
    return {"decisions": len(states)}


def set_jobs(model: Model, jobs: pl.DataFrame, times: pl.DataFrame) -> None:
    model.set("Jobs", jobs.select("job"))
    model.set("deadline", jobs.select("job", "deadline_h"))
    model.set("weight", jobs.select("job", "weight_usd_per_h"))
    model.set("Runnable", times.select("job", "vm_type", "gpus"))
    model.set("exec_time", times.select("job", "vm_type", "gpus", "hours"))


def check(result: Result) -> None:
    assert result.status == "optimal"
    assert result.gap is not None
    assert result.gap <= GAP
