"""Kernels begin as plain Python and change over to machine code, with the same results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from random_clusters import some_workload

from gpusched_dsl.policies.kernels.compiled import Kernel, compiled_at_once
from gpusched_dsl.policies.kernels.moves.change import empty_change
from gpusched_dsl.policies.kernels.moves.delta_evaluation import empty_delta_evaluation
from gpusched_dsl.policies.kernels.moves.hill_climbing import climb
from gpusched_dsl.policies.kernels.pricing import PRICES, price
from gpusched_dsl.policies.local_search import improve, shortest_minus_due
from gpusched_dsl.policies.rules import MOVE_CODES
from gpusched_dsl.policies.workload import copy_of, empty_schedule


def _twice(number: int) -> int:
    return 2 * number


def _four_times(number: int) -> int:
    return twice(twice(number))


twice, four_times = Kernel(_twice, at_once=False), Kernel(_four_times, at_once=False)


def test_a_plain_kernel_calls_plain_functions() -> None:
    assert four_times(3) == 12
    called = four_times._plain_function().__globals__["twice"]
    assert called.__code__ is _twice.__code__
    assert not isinstance(called, Kernel)


def test_kernels_stay_as_they_are_without_a_compiler() -> None:
    if os.environ.get("GSDSL_PYTHON_KERNELS"):
        assert compiled_at_once(_twice) is _twice
    else:
        assert isinstance(compiled_at_once(_twice), Kernel)


@pytest.mark.quick(5)
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("rounds", [1, 2, 5, 1_000])
def test_short_calls_climb_as_high_as_a_long_one(seed: int, rounds: int) -> None:
    work = some_workload(np.random.default_rng(seed))
    start = empty_schedule(work)
    whole = copy_of(start)
    delta = empty_delta_evaluation(work, PRICES["total"], shortest_minus_due(work))
    places = np.arange(len(MOVE_CODES))
    climb(work, whole, delta, places, np.zeros_like(places), rounds, empty_change(work), empty_change(work))
    cut = improve(work, [start], [(name, 0) for name in MOVE_CODES], rounds, "total")
    assert all(np.array_equal(one, other) for one, other in zip(whole, cut, strict=True))
    assert price(work, cut, PRICES["total"]) <= price(work, start, PRICES["total"])


CHANGEOVER = """
import sys, time
import numpy as np
from gpusched_dsl.policies.kernels import background, compiled
from gpusched_dsl.policies.kernels.queues import append_all
compiled.LOADED_AFTER = compiled.REQUESTED_AFTER = 0.0
rng = np.random.default_rng(1)
first, order = np.arange(0, 81, 2), np.arange(40)
node, length, rank = rng.integers(5, size=80), rng.random(80), np.arange(80)
found, until = set(), time.monotonic() + {seconds}
def call():
    taken, place = append_all(order, first, node, length, np.zeros(5), True, rank, np.full(40, -1), None)
    found.add((taken.tobytes(), place.tobytes()))
{before}
while not append_all._is_ready and time.monotonic() < until:
    call()
    time.sleep(0.01)
    {during}
print(append_all._is_ready, "numba" in sys.modules, bool(background._child))
call()
assert len(found) == 1, found
print(background._child._process.pid if background._child else 0)
"""


def run_changeover(folder: Path, before: str = "", during: str = "", seconds: int = 300) -> list[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GSDSL_", "NUMBA_"))}
    done = subprocess.run(
        [sys.executable, "-c", CHANGEOVER.format(before=before, during=during, seconds=seconds)],
        env={**environment, "XDG_CACHE_HOME": str(folder)}, capture_output=True, text=True, check=False, timeout=400,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_another_process_compiles_and_the_next_one_loads(tmp_path: Path) -> None:
    ready, loaded, has_child, child = run_changeover(tmp_path)
    assert (ready, loaded, has_child) == ("True", "True", "True")
    with pytest.raises(ProcessLookupError):  # it ended with its parent
        os.kill(int(child), 0)
    assert run_changeover(tmp_path) == ["True", "True", "False", "0"]


KILL = "background._child and background._child._process.kill()"


@pytest.mark.slow
def test_without_the_other_process_it_stays_python(tmp_path: Path) -> None:
    assert run_changeover(tmp_path, during=KILL, seconds=3)[0] == "False"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_without_the_other_process_it_compiles_in_the_end(tmp_path: Path) -> None:
    assert run_changeover(tmp_path, before="compiled.COMPILED_AFTER = 0.0", during=KILL)[0] == "True"


FIRST_PLANS = """
import gpusched_dsl as gs
from numba.core import event
made = []
class Listener(event.Listener):
    def on_start(self, told):
        made.append(told.data["dispatcher"].py_func)
    def on_end(self, told):
        pass
event.register("numba:compile", Listener())
for row in ("", "constraint few: sum[j in Jobs, n in Nodes] run[j, n] <= 2;"):
    gs.loads({text!r}.replace("ROW", row)).solve(method="FIFO")
    ours = [f for f in made if f.__module__.startswith("gpusched_dsl")]
    print(len(ours), *sorted({{f.__name__ for f in ours if f.__module__.endswith("row_guard")}}))
    made.clear()
"""
CLUSTER = """
model M {
  set Jobs;  set Nodes;
  var run[Jobs, Nodes] binary;
  maximize most: sum[j in Jobs, n in Nodes] run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint room[n in Nodes]: sum[j in Jobs] run[j, n] <= 2;
  ROW
  placement run[j, n] { job j;  node n;  uses 1 of 2;  lasts 1[h]; }
}
scenario S for M { Jobs = {a, b, c};  Nodes = {x, y}; }
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_plans_without_side_rows_compile_none_of_their_functions(tmp_path: Path) -> None:
    """Nor does the second process compile anything."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GSDSL_", "NUMBA_"))}
    environment |= {"XDG_CACHE_HOME": str(tmp_path), "GSDSL_COMPILED_KERNELS": "1"}
    printed = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", FIRST_PLANS.format(text=CLUSTER)],
            env=environment, capture_output=True, text=True, check=False, timeout=500,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        printed.append([line.split() for line in done.stdout.splitlines()])
    (count, *of_rows), (more, *of_rows_too) = printed[0]
    assert int(count) > 10
    assert of_rows == []
    assert int(more) > 10
    assert "admits" in of_rows_too
    assert printed[1] == [["0"], ["0"]]
