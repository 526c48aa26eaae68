"""Kernels begin as plain Python and change over to machine code, with the same results."""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from random_clusters import some_workload

from gpusched_dsl.policies.kernels import changeover
from gpusched_dsl.policies.kernels.changeover import watched_range
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


LONG_CALL = """
import numpy as np
from gpusched_dsl.policies.kernels import background, changeover, compiled

def shuffle(cells, sums, rng, rounds):
    total = 0.0
    for _ in range(rounds):
        for at in range(len(cells)):
            other = rng.integers(0, len(cells))
            cells[at], cells[other] = cells[other], cells[at]
            sums[at] += 1.0 / (1 + cells[at])
            total += sums[at] * rng.random()
    return total

kernel = compiled.Kernel(shuffle)

def shuffled(function, rounds):
    cells, sums, rng = np.arange(50), np.zeros(50), np.random.default_rng(3)
    total = function(cells, sums, rng, rounds)
    return total, cells.tolist(), sums.tolist(), int(rng.integers(1 << 40))

def main(has_child):
    begun, watched_range = [], changeover.watched_range
    def counted(*arguments):
        begun.append(len(arguments))
        return watched_range(*arguments)
    changeover.watched_range, compiled.LOADED_FROM = counted, 0
    if not has_child:
        compiled.COMPILED_AFTER = 1.0
        background.request = lambda *_: background.CompileRequest(None, 0)
    found = shuffled(kernel, ROUNDS)
    assert kernel._is_ready
    assert 10 < len(begun) < ROUNDS, len(begun)
    assert found == shuffled(compiled.Kernel(shuffle, at_once=True), ROUNDS)
    assert shuffled(kernel, 40) == shuffled(shuffle, 40)
    assert bool(background._child) == has_child
"""


@pytest.mark.timeout(400)
@pytest.mark.parametrize("has_child", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_long_call_changes_over_in_its_middle(has_child: bool, tmp_path: Path) -> None:
    """Machine code begins again with the arguments from before the call, and does as plain Python would have done."""
    pytest.importorskip("numba")
    rounds = 300_000  # minutes as plain Python
    (tmp_path / "long_call.py").write_text(LONG_CALL.replace("ROUNDS", str(rounds)), encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GSDSL_", "NUMBA_"))}
    done = subprocess.run(
        [sys.executable, "-c", f"import long_call; long_call.main({has_child})"], cwd=tmp_path,
        env={**environment, "XDG_CACHE_HOME": str(tmp_path)}, capture_output=True, text=True, check=False, timeout=350,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_a_call_with_an_unknown_argument_runs_to_its_end() -> None:
    with pytest.raises(changeover.NotRestorable):
        changeover.saved((np.zeros(3), [1]))


def test_restored_arguments_are_those_from_before() -> None:
    constant = np.arange(4)
    constant.flags.writeable = False
    rng = np.random.default_rng(5)
    given = (np.arange(6).reshape(2, 3).T, (rng, None, True), constant, 1.5)
    saved = changeover.saved(given)
    given[0][:] = 7
    drawn = rng.random()
    changeover.restore(given, saved)
    assert given[0].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert rng.random() == drawn


def test_only_watched_threads_change_over() -> None:
    with changeover.watched(lambda: True):
        with ThreadPoolExecutor() as pool:
            assert pool.submit(ranges_for, 0.3).result() is None
        with pytest.raises(changeover.ChangeOver):
            ranges_for(10.0)
    ranges_for(0.3)


def ranges_for(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        watched_range(3)


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


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_other_process_finishes_what_is_worth_keeping(tmp_path: Path) -> None:
    worth = "compiled.WORTH_KEEPING_AFTER = 0.0"
    ready, _, has_child, _ = run_changeover(tmp_path, before=worth, seconds=1)
    assert (ready, has_child) == ("False", "True")
    until = time.monotonic() + 500
    while not list(tmp_path.rglob("queues.append_all_entry-*.nbi")) and time.monotonic() < until:
        time.sleep(0.5)
    assert run_changeover(tmp_path) == ["True", "True", "False", "0"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no locks of files")
def test_a_process_that_waits_for_another_one_ends_with_its_parent(tmp_path: Path) -> None:
    import fcntl

    program = "from gpusched_dsl.policies.kernels import {}"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    told = [sys.executable, "-c", program.format("machine_code; print(machine_code.cache_folder())")]
    folder = Path(subprocess.run(told, env=environment, capture_output=True, text=True, check=True).stdout.strip())
    folder.mkdir(parents=True)
    request = pickle.dumps(("gpusched_dsl.policies.kernels.queues", "append_all", ()))
    with (folder / "lock").open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for parent, is_left in ((os.getpid(), False), (os.getpid() + 1, True)):
            served = [sys.executable, "-c", program.format(f"background; background.serve({parent})")]
            with subprocess.Popen(served, env=environment, stdin=-1, stdout=-1) as child:
                assert child.stdin is not None
                child.stdin.write(struct.pack("<Q", len(request)) + request)
                child.stdin.flush()
                if is_left:
                    assert child.wait(60) == 0
                else:
                    with pytest.raises(subprocess.TimeoutExpired):
                        child.wait(20)
                    child.kill()


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
