"""Solver threads: long-lived ones are reused, their jobs end, they belong to their owner; other threads end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gsdsl_backends.interrupt import Control, run_stoppable
from gsdsl_backends.threads import IDLE, SolverThread, SolverThreads

# `exp(x) - a * x` is least at `x = log(a)`, where it is `a - a * log(a)`.
MANY_SOLVES = """
import math, sys, threading
sys.path.insert(0, sys.argv[1])
from building import minimize, problem
from defining import function, nonlinear, of
from gpusched_dsl.solving.solve import resolve, solve_problem

def cost(a):
    return nonlinear(minimize(-a, 1.0), columns=1, terms=[function("exp", of(1.0))], lower=-5.0, upper=5.0)

def solve(number, kept=[]):
    a = 2 + number / 10
    stated = cost(a)
    solved = resolve(kept.pop(), stated) if kept and number % 2 else solve_problem(stated, "scip")
    assert abs(solved.objective - (a - a * math.log(a))) < 1e-5, (solved.objective, a)
    kept.append(solved) if threading.current_thread() is threading.main_thread() else solved.close()

for number in range(70):
    solve(number)
threads = [threading.Thread(target=solve, args=(number,)) for number in range(0, 80, 2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
from gsdsl_backends.scip.backend import THREADS
assert len(THREADS._threads) <= 32
print("done")
"""


@pytest.mark.slow
def test_many_nonlinear_solves_by_scip_in_one_process() -> None:
    """SCIP's expression interpreter crashes in the 65th thread that enters it."""
    folder = str(Path(__file__).parent.parent / "conformance")
    ended = subprocess.run(
        [sys.executable, "-c", MANY_SOLVES, folder], capture_output=True, text=True, timeout=100, check=False
    )
    assert (ended.returncode, ended.stdout.strip()) == (0, "done"), ended.stderr


def seen_in(thread: SolverThread) -> int:
    found: list[int] = []
    thread.run(lambda: found.append(threading.get_ident())).wait()
    return found[0]


def test_jobs_of_one_thread_run_in_order_in_the_same_thread() -> None:
    thread = SolverThread()
    order: list[int] = []
    jobs = [thread.run(lambda n=n: order.append(n)) for n in range(20)]  # type: ignore[misc]
    thread.run_later(lambda: order.append(20))
    first, second = seen_in(thread), seen_in(thread)
    assert all(job.done.is_set() for job in jobs)
    assert order == list(range(21))
    assert first == second != threading.get_ident()
    assert thread.load == 0


def test_a_failure_is_raised_where_the_job_is_waited_for_and_the_thread_lives_on() -> None:
    thread = SolverThread()

    def fail() -> None:
        raise ArithmeticError("inside")

    job = thread.run(fail)
    with pytest.raises(ArithmeticError, match="inside"):
        job.wait()
    thread.run_later(fail)
    assert seen_in(thread)
    assert thread.load == 0


def test_idle_threads_are_reused_and_busy_ones_are_not_waited_for() -> None:
    threads = SolverThreads()
    one = threads.thread()
    assert seen_in(one) == seen_in(threads.thread())
    release = threading.Event()
    blocked = threads.run(lambda: (release.wait(10), None)[1])
    inner: list[int] = []
    threads.run(lambda: inner.append(threading.get_ident())).wait()
    assert not blocked.done.is_set()
    assert inner[0] != seen_in(threads.thread()) or threads.thread() is not one
    release.set()
    blocked.wait()


def test_a_full_pool_queues() -> None:
    threads = SolverThreads(most=2)
    release = threading.Event()
    blocked = [threads.run(lambda: (release.wait(10), None)[1]) for _ in range(2)]
    names: list[str] = []
    third = threads.run(lambda: names.append(threading.current_thread().name))
    assert not third.done.wait(0.05)
    release.set()
    third.wait()
    for job in blocked:
        job.wait()
    assert names == ["solver"]


def test_cancelled_work_is_left_out() -> None:
    thread = SolverThread()
    release = threading.Event()
    thread.run(lambda: (release.wait(10), None)[1])
    done: list[int] = []
    job = thread.run(lambda: done.append(1))
    job.cancelled = True
    release.set()
    job.wait()
    assert done == []


def test_a_job_that_ended_leaves_no_busy_thread() -> None:
    for _ in range(20):
        run_stoppable(lambda: None, Control())
        assert not [thread for thread in threading.enumerate() if thread.name == "solver"]
    seen_in(SolverThread())
    assert any(thread.name == IDLE for thread in threading.enumerate())


def test_solvers_that_count_no_threads_leave_none_behind() -> None:
    """The heap of a thread that lasts grows with each solve."""
    used: list[threading.Thread] = []
    for _ in range(3):
        run_stoppable(lambda: used.append(threading.current_thread()), Control())
    for thread in used:
        thread.join(10)
    assert len(set(used)) == 3
    assert not any(thread.is_alive() for thread in used)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork of POSIX")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_gets_threads_of_its_own() -> None:
    threads = SolverThreads(most=1)
    thread = threads.thread()
    seen_in(thread)
    child = os.fork()
    if child == 0:
        done = thread.run(lambda: None).done.wait(5) and threads.run(lambda: None).done.wait(5)
        os._exit(0 if done else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
