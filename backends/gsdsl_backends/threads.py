"""Solver threads: a new one for each solve, or threads that last, which solves reuse.

Some solvers count the threads that ever enter them. The expression interpreter of SCIP has a table of 64 entries, one
for each such thread, and writes beyond its end from the 65th on: with a thread per solve, the process crashes after 63
nonlinear solves. Memory of that interpreter belongs to the thread that asked for it, so it is freed there, too.

Other solvers get a new thread each time. The heap of a thread that lasts grows from solve to solve, as the problems in
it are freed by the caller's thread; that of a thread that ends is used again by others.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable

# The names of the threads; the command line looks for a busy one before it ends.
BUSY, IDLE = "solver", "idle solver"


class Job:
    """Work for a solver thread. `done` is set at its end; `failure` is its exception."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.work: Callable[[], None] | None = work
        self.done = threading.Event()
        self.counted = False  # in the load of its thread
        self.cancelled = False  # work that has not begun is left out
        self.failure: BaseException | None = None

    def wait(self) -> None:
        """Wait for the end; raise the exception of the work."""
        self.done.wait()
        if self.failure is not None:
            raise self.failure

    def do(self, ended: Callable[[], None]) -> None:
        """Do the work in this thread; `ended` is called before those who wait go on."""
        thread = threading.current_thread()
        thread.name = BUSY
        work, self.work = self.work, None
        try:
            if work is not None and not self.cancelled:
                work()
        except BaseException as failure:
            self.failure = failure
        work = None  # what it refers to belongs to the caller alone from here on
        ended()
        thread.name = IDLE
        self.done.set()


def run_in_new_thread(work: Callable[[], None]) -> Job:
    """Do a job in a daemon thread that ends with it; return at once."""
    job = Job(work)
    threading.Thread(target=job.do, args=(_do_nothing,), name=BUSY, daemon=True).start()
    return job


class SolverThread:
    """A daemon thread that runs jobs in the order of their arrival."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self.load = 0  # jobs that `run` got and that are not done; counted under the lock
        self._lock = threading.Lock()
        threading.Thread(target=_work_off, args=(self, self._jobs), name=IDLE, daemon=True).start()

    def run(self, work: Callable[[], None]) -> Job:
        """Queue a job and return at once."""
        if self._process != os.getpid():
            self._start()  # threads do not survive a fork
        job = Job(work)
        job.counted = True
        with self._lock:
            self.load += 1
        self._jobs.put(job)
        return job

    def run_later(self, work: Callable[[], None]) -> None:
        """Queue a job without waiting for it, such as freeing memory. Finalizers may call it: it acquires no lock."""
        if self._process == os.getpid():
            self._jobs.put(Job(work))

    def do(self, job: Job) -> None:
        """Do a job (in this thread)."""
        job.do(lambda: self._count_off(job))

    def _count_off(self, job: Job) -> None:
        if job.counted:
            with self._lock:
                self.load -= 1


def _work_off(thread: SolverThread, jobs: queue.SimpleQueue[Job]) -> None:
    while True:
        thread.do(jobs.get())


def _do_nothing() -> None:
    pass


class SolverThreads:
    """Solver threads to choose from: an idle one, or a new one while there are fewer than `most`."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._threads: list[SolverThread] = []

    def run(self, work: Callable[[], None]) -> Job:
        """Queue a job where it begins soonest: at once, unless all of `most` threads are busy."""
        with self._own_lock():
            return self._least_busy().run(work)

    def thread(self) -> SolverThread:
        """A thread for several jobs that belong together."""
        with self._own_lock():
            return self._least_busy()

    def finish(self, seconds: float = 1.0) -> None:
        """Let idle threads finish deferred jobs, such as freeing memory; busy threads continue."""
        with self._own_lock():
            jobs = [thread.run(_do_nothing) for thread in self._threads if not thread.load]
        for job in jobs:
            job.done.wait(seconds)

    def _own_lock(self) -> threading.Lock:
        if self._process != os.getpid():
            self._start()
        return self._lock

    def _least_busy(self) -> SolverThread:
        least = min(self._threads, key=lambda thread: thread.load, default=None)
        if least is None or (least.load and (self.most is None or len(self._threads) < self.most)):
            least = SolverThread()
            self._threads.append(least)
        return least
