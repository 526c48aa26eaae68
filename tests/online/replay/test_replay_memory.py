"""Replays on large pools: no table has a cell for each job and each GPU of the largest node."""

from __future__ import annotations

import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from found_codes import shows
from replay_texts import LIBRARY

import gpusched_dsl as gs
from gpusched_dsl.cli import main
from gpusched_dsl.compiling.data.instance import build_instance
from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.scenarios.scenario import check_scenario
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.policies.placement_reader import cluster_of

JOBS, GPUS = 2_000, 16_384
TABLE = 8 * JOBS * (GPUS + 1)  # bytes: 262 MB


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    rows = "".join(f"j{j},{j % 97 / 4},{1 + j % 8},{1 + j % 5}\n" for j in range(JOBS))
    (tmp_path / "trace.csv").write_text("job,at,gpus,hours\n" + rows)
    text = f"""{LIBRARY}scenario Run for TraceReplay {{
      Nodes = {{ pool }}; gpus["pool"] = {GPUS};
      data "trace.csv" {{ Jobs = job; submitted[job] = at[h]; needs[job] = gpus; exec_time[job] = hours[h]; }} }}"""
    (tmp_path / "trace.gsm").write_text(text)
    return tmp_path / "trace.gsm"


@pytest.mark.parametrize("limit", ["0.0625", "4"])
def test_reports_and_bounds_need_no_table(limit: str, trace: Path) -> None:
    """The JSON document has the bound of the run. Memory is that of the process: `ru_maxrss` has its parent's, too."""
    out = str(trace.with_suffix(".json"))
    command = f"""
import re
from pathlib import Path
from gpusched_dsl.cli import main
assert main(["run", {str(trace)!r}, "--method", "FIFO", "--memory-limit", "{limit}", "--json", {out!r}]) == 0
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{JOBS:,} of {JOBS:,} finished" in done.stdout
    assert json.loads(Path(out).read_text())["bound"]["value"] == 0.0
    assert 1024 * int(done.stdout.split()[-1]) < TABLE  # of the complete process


@pytest.mark.parametrize(("numbers", "fits"), [(219_000, False), (243_000, False), (245_000, True)])
def test_runs_that_do_not_fit_are_refused(
    numbers: int, fits: bool, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There are 110 numbers for each job and 12 for each of its ways, one in this cluster."""
    limit = f"{8 * numbers / 2**30:.9f}"
    assert main(["run", str(trace), "--method", "FIFO", "--memory-limit", limit]) == (0 if fits else 1)
    told = capsys.readouterr()
    assert shows(told.err, "GSM3001", "2,000") is not fits
    assert ("2,000 of 2,000 finished" in told.out) is fits


def test_no_bound_where_nothing_is_charged(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = gs.load(trace).run(method="FIFO")
    with monkeypatch.context() as patch:
        patch.setattr("gpusched_dsl.online.bounds.run_bound.job_by_job_bound", None)
        assert "finished" in str(result)
        assert result.warnings == ()
    assert result.bound.value == 0.0  # on request


def test_tables_are_counted_before_they_are_made(trace: Path) -> None:
    found = Diagnostics()
    scenario = check_scenario(load_workspace(trace, found), "Run", {}, found)
    found.raise_if_errors()
    assert scenario is not None
    store = build_instance(scenario, folder=trace.parent).store
    tracemalloc.start()
    with pytest.raises(DiagnosticError) as caught:
        cluster_of(scenario.model, store, MemoryLimits(memory=TABLE - 1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [d.code for d in caught.value.diagnostics] == ["GSM3001"]
    assert peak < TABLE // 4
    assert cluster_of(scenario.model, store, MemoryLimits(memory=TABLE)).work.way_at.nbytes == TABLE
