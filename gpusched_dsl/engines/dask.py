"""Dask distributed: a scheduler that runs already, or a cluster of this machine.

A Dask worker calls the function in a process of its own (`child.py`), as the local engine does. So a crash, the limit
of memory and a function that keeps the interpreter never reach the worker, which goes on answering the scheduler.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from time import monotonic, sleep
from types import TracebackType
from typing import Any

from gpusched_dsl.engines.child import Child
from gpusched_dsl.engines.protocol import ATTEMPTS, DIED, Done, Failure, Shared, Stop, Work
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.diagnostics.extras import missing_extra

POLL_SECONDS = 0.2
CONNECT_SECONDS = 20.0
IDLE_SECONDS = 3.0  # at most, for cancelled tasks to end
WORKER_SECONDS = 120.0  # until the first worker must be there
SETTINGS = {  # of a cluster that is started here
    "distributed.scheduler.worker-ttl": "60s",  # a worker that says nothing for so long is lost
    "distributed.scheduler.allowed-failures": 10,
    "distributed.worker.daemon": False,
}
PRELOAD = "gpusched_dsl.engines.dask_worker"
LARGE = {"distributed.admin.large-graph-warning-threshold": "4GB"}  # shared data are large, and sent once
CANCELLED = ("cancelled", "released", "forgotten")  # states of a task of a worker that nobody waits for
_child = threading.local()


class DaskEngine:
    """Workers of Dask: of the scheduler at an address, or of a new cluster of this machine."""

    name = "dask"

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        memory: int | None = None,
        cluster: Any = None,
        attempts: int = ATTEMPTS,
    ) -> None:
        """`memory` in bytes for each run. Raises DiagnosticError (GSM5309)."""
        distributed = import_package("distributed", "dask")
        import dask

        self._memory, self._attempts, self._cluster = memory, attempts, cluster
        self._shared: tuple[str, Any] = "", None
        self._workers = 0
        try:
            if address is None and cluster is None:
                from gpusched_dsl.engines.local import cores

                preloads = [*dask.config.get("distributed.worker.preload"), PRELOAD]
                with dask.config.set({**SETTINGS, "distributed.worker.preload": preloads}):
                    self._cluster = distributed.LocalCluster(
                        n_workers=workers or cores(), threads_per_worker=1, memory_limit=0, dashboard_address=None
                    )
            self._client = distributed.Client(address or self._cluster, timeout=CONNECT_SECONDS)
        except (OSError, ValueError, TimeoutError) as failure:
            if cluster is None and self._cluster is not None:
                self._cluster.close()
            raise DiagnosticError([_unreachable(address or "a cluster of this machine", failure)]) from failure

    @property
    def workers(self) -> int:
        """The number of workers; the last known one after the connection is lost."""
        if self._is_connected:
            with suppress(OSError):
                self._workers = sum(int(count) for count in self._client.nthreads().values())
        return self._workers

    def __enter__(self) -> DaskEngine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def run(
        self, function: str, work: Sequence[Work], stop: Stop = lambda: False, shared: Shared | None = None
    ) -> Iterator[Done]:
        self._wait_for_workers(stop)
        starts: Counter[str] = Counter()
        messages = {each.key: each for each in work}
        pending = {self._submit(function, each, starts, shared): each.key for each in work}
        try:
            while pending and not stop():
                for future in self._take_finished(list(pending)):
                    key = pending.pop(future)
                    result = self._fetch(future)
                    future.release()
                    if isinstance(result, Failure) and result.kind == DIED and starts[key] < self._attempts:
                        pending[self._submit(function, messages[key], starts, shared)] = key
                    else:
                        yield Done(key, result, starts[key])
        finally:
            if self._is_connected:
                with suppress(CancelledError, OSError):  # the scheduler may end now
                    self._client.cancel(list(pending))
                    if pending and self._cluster is not None:
                        self._wait_until_idle()

    @property
    def _is_connected(self) -> bool:
        connection = self._client.scheduler_comm
        return self._client.status == "running" and connection is not None and not connection.comm.closed()

    def close(self) -> None:
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def _wait_for_workers(self, stop: Stop) -> None:
        end = monotonic() + WORKER_SECONDS
        while not self.workers and not stop():
            if monotonic() > end:
                raise DiagnosticError([_unreachable("a worker", TimeoutError(f"none within {WORKER_SECONDS:.0f} s"))])
            sleep(POLL_SECONDS)

    def _wait_until_idle(self) -> None:
        """Wait until the workers have ended cancelled tasks: they warn of those that run when they are closed."""
        end = monotonic() + IDLE_SECONDS
        while monotonic() < end and any(self._client.run(count_running).values()):
            sleep(POLL_SECONDS)

    def _submit(self, function: str, work: Work, starts: Counter[str], shared: Shared | None) -> Any:
        starts[work.key] += 1
        key = f"gsdsl-{work.key}-{starts[work.key]}"
        return self._client.submit(
            call_in_child, key, function, work.message, self._memory, "" if shared is None else shared.key,
            None if shared is None else self._sent(shared), key=key, pure=False,
        )  # fmt: skip

    def _sent(self, shared: Shared) -> Any:
        """Return the shared data as the result of a task: workers fetch it from each other, and it is never lost."""
        import dask

        if self._shared[0] != shared.key:
            with dask.config.set(LARGE):
                future = self._client.submit(unchanged, shared.data, key=f"gsdsl-shared-{shared.key}", pure=False)
            self._shared = shared.key, future
        return self._shared[1]

    def _fetch(self, future: Any) -> bytes | Failure:
        """Return the result of a finished task; raise DiagnosticError (GSM5309) if the scheduler is gone."""
        try:
            return _result_of(future)
        except (CancelledError, OSError) as failure:  # the connection may be lost between the end of a task and here
            sleep(POLL_SECONDS)  # until the client has noticed
            if not self._is_connected:
                raise DiagnosticError([_lost()]) from failure
            return Failure(DIED, f"its result cannot be fetched: {failure}")

    def _take_finished(self, pending: list[Any]) -> list[Any]:
        """Return the futures that are done, after a moment if there are none.

        Raises DiagnosticError (GSM5309) if the scheduler is gone.
        """
        distributed = import_package("distributed", "dask")
        with suppress(TimeoutError, CancelledError):  # tasks are cancelled when the connection is lost
            return list(distributed.wait(pending, timeout=POLL_SECONDS, return_when="FIRST_COMPLETED").done)
        if not self._is_connected:
            raise DiagnosticError([_lost()])
        return []


def unchanged(data: bytes) -> bytes:
    """Return the data: a task that has them as its result."""
    return data


def count_running(dask_worker: Any) -> int:
    """Return the number of tasks that a worker executes; Dask passes the worker."""
    return len(dask_worker.active_threads)


def call_in_child(
    key: str, function: str, message: bytes, memory: int | None, shared_key: str = "", shared: bytes | None = None
) -> tuple[str, bytes | str]:
    """Call a function in the process of this thread of a worker; return a kind and a result or reason.

    The process is ended if the task `key` is cancelled.
    """
    child: Child | None = getattr(_child, "value", None)
    if child is None or not child.alive:
        child = _child.value = Child(memory)
    child.memory = memory
    child.start(function, Work("", message), None if shared is None else Shared(shared_key, shared))
    done: Done | None = None
    while done is None:
        if child.pipe.poll(POLL_SECONDS):
            done = child.receive()
            if done is None and not child.alive:
                done = Done("", Failure(DIED, "its process ended at the start"))
        elif _is_cancelled(key):
            child.close()
            done = Done("", Failure(DIED, "it was cancelled"))
        child.watch()
    if not isinstance(done.result, Failure):
        return "", done.result
    if not child.alive:
        child.close()
        _child.value = None
    return done.result.kind, done.result.reason


def _is_cancelled(key: str) -> bool:
    """Whether the scheduler no longer wants the result of a running task: cancelled, or its client is gone."""
    task = import_package("distributed", "dask").get_worker().state.tasks.get(key)
    return task is None or task.state in CANCELLED


def _result_of(future: Any) -> bytes | Failure:
    """Return the result of a future; a failure if the workers that had it died."""
    if future.status != "finished":
        error = future.exception() if future.status == "error" else None
        return Failure(DIED, f"{type(error).__name__}: {error}" if error is not None else "its worker is gone")
    kind, content = future.result()
    return Failure(kind, str(content)) if kind else bytes(content)


def import_package(package: str, extra: str) -> Any:
    """Import a package; raise DiagnosticError (GSM5309) if it is not installed."""
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError as missing:
        absent = missing_extra(extra, "this engine needs", "GSM5309", "use `--engine local`", (package,))
        raise DiagnosticError([absent]) from missing


def _lost() -> Diagnostic:
    help = "start the scheduler again, then run the same command: it continues with the stored results"
    return Diagnostic("GSM5309", "the connection to the scheduler of Dask was lost", help=help)


def _unreachable(what: str, failure: Exception) -> Diagnostic:
    message = f"{what} cannot be reached: {failure}"
    help = "check the address and that the scheduler runs: `dask scheduler`, then `dask worker ADDRESS` for each worker"
    return Diagnostic("GSM5309", message, help=help)
