"""An engineer embeds gsdsl in a service: extensions, threads, cancellation, pickling. Prints `fine` at the end."""

from __future__ import annotations

import pickle
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import shop

import gpusched_dsl as gs

PLAN = """
model Shop {
  set Orders;
  param gpus[Orders] >= 0;
  var nodes integer >= 0.5 <= 6.5;
  minimize cost: 3 * nodes;
  constraint room: 4 * nodes >= sum[j in Orders] gpus[j];
}
scenario Today for Shop { data "orders.txt" as orders (least = 1) { Orders = job; gpus[job] = gpus; } }
"""
CLUSTER = """
import "gsdsl:capacity_planning/scenarios/three_jobs.gsm";
import "gsdsl:capacity_planning/policies.gsm";
import "gsdsl:capacity_planning/online.gsm";
policy Last for CapacityPlanning extends Greedy { place last_used, new_node, postpone; }
"""
# Five equations over forty binaries: no solver decides this in the time of a test.
HARD = """
model Split {
  set Rows = 1..5;
  set Items = 1..40;
  param weight[Rows, Items];
  param half[r in Rows] = floor(0.5 * sum[i in Items] weight[r, i]);
  var take[Items] binary;
  var miss[Rows] >= 0;
  minimize total: sum[r in Rows] miss[r];
  constraint above[r in Rows]: sum[i in Items] weight[r, i] * take[i] - half[r] <= miss[r];
  constraint below[r in Rows]: half[r] - sum[i in Items] weight[r, i] * take[i] <= miss[r];
}
"""


class Cancel:
    """A monitor that another thread may trigger."""

    def __init__(self) -> None:
        self.requested = threading.Event()

    def progress(self, progress: gs.SolverProgress) -> None:
        pass

    @property
    def stop_requested(self) -> bool:
        return self.requested.is_set()


def plan(least: int) -> gs.Result:
    return gs.loads(PLAN.replace("least = 1", f"least = {least}"), base=Path.cwd()).solve("Today")


def extensions() -> None:
    model = gs.loads(PLAN, base=Path.cwd())
    result: gs.Result = model.solve("Today", backend="enumeration")
    assert (result.status, result.objective) == ("optimal", 9.0)
    assert model.solve("Today").objective == 9.0  # HiGHS, with the pass
    assert shop.RoundBounds.calls
    assert [diagnostic.code for diagnostic in result.warnings] == ["GSM2017"]
    run: gs.RunResult = gs.loads(CLUSTER).run("ThreeJobs", "EveryEvent", method="Last")
    assert run.ended == "finished"
    both: gs.RunComparison = gs.loads(CLUSTER).run("ThreeJobs", "EveryEvent", method=["Last", "FIFO"])
    assert [row.method for row in both.rows] == ["Last", "FIFO"]


def threads() -> None:
    with ThreadPoolExecutor(4) as pool:
        found = [result.objective for result in pool.map(plan, (1, 5, 1, 6))]
    assert found == [9.0, 9.0, 9.0, 6.0]


def cancellation() -> None:
    cancel = Cancel()
    timer = threading.Timer(0.5, cancel.requested.set)
    timer.start()
    start = time.perf_counter()
    model, draw = gs.loads(HARD), random.Random(1)
    model.set("weight", {(r, i): draw.randint(1, 99) for r in range(1, 6) for i in range(1, 41)})
    result = model.solve(time_limit=60, monitor=cancel)
    assert result.status == "limit", result.status
    assert time.perf_counter() - start < 20
    timer.join()
    run = gs.loads(CLUSTER).run("ThreeJobs", "EveryEvent", method="FIFO", stop=lambda: True)
    assert run.ended == "interrupt"


def pickling() -> None:
    result = plan(1)
    again: gs.Result = pickle.loads(pickle.dumps(result))
    assert again.to_dict() == result.to_dict()
    try:
        gs.loads("model M { var x; minimize y; }").check()
    except gs.DiagnosticError as error:
        read: gs.DiagnosticError = pickle.loads(pickle.dumps(error))
        first: gs.Diagnostic = read.diagnostics[0]
        assert first.severity is gs.Severity.ERROR
    else:
        raise AssertionError("an unknown name was accepted")


if __name__ == "__main__":
    Path("orders.txt").write_text("a 5\nb 0\nc 6\n")
    for part in (extensions, threads, cancellation, pickling):
        start = time.perf_counter()
        part()
        print(part.__name__, f"{time.perf_counter() - start:.2f} s")
    print("fine")
