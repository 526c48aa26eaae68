"""The engine of Dask: killed and stopped workers, its errors, and the same results as the other engines."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from campaign_files import plan_of, results_of, run_in, write_files

from gpusched_dsl.campaigns.engines.choose import choose_engine
from gpusched_dsl.campaigns.engines.local import LocalEngine
from gpusched_dsl.campaigns.engines.protocol import Done, Failure, Work
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

pytest.importorskip("distributed", reason="the package distributed is not installed")
from gpusched_dsl.campaigns.engines import dask as engine_of_dask
from gpusched_dsl.campaigns.engines.dask import DaskEngine

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def engine() -> Iterator[DaskEngine]:
    import dask

    with dask.config.set({"distributed.scheduler.worker-ttl": "5s"}), pytest.MonkeyPatch.context() as patch:
        patch.setitem(engine_of_dask.SETTINGS, "distributed.scheduler.worker-ttl", "5s")
        with DaskEngine(workers=2) as started:
            yield started


def worker_pids(engine: DaskEngine) -> list[int]:
    return list(engine._client.run(os.getpid).values())


def test_results_and_failures(engine: DaskEngine, tmp_path: Path) -> None:
    work = [Work(f"k{number}", str(number).encode()) for number in range(10)]
    found = {done.key: done.result for done in engine.run("engine_work:square", work)}
    assert found == {f"k{n}": str(n * n).encode() for n in range(10)}
    (failed,) = engine.run("engine_work:broken", work[:1])
    assert isinstance(failed.result, Failure)
    assert (failed.result.kind, "ValueError: no 0" in failed.result.reason) == ("broken", True)
    lost = [Work(f"k{number}", str(tmp_path / f"f{number}").encode()) for number in range(3)]
    found_again = {done.key: done for done in engine.run("engine_work:dies_first", lost)}
    assert found_again == {f"k{n}": Done(f"k{n}", f"f{n}".encode(), attempts=2) for n in range(3)}
    (died,) = engine.run("engine_work:dies", work[:1])
    assert isinstance(died.result, Failure)
    assert (died.result.kind, died.attempts) == ("died", 3)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_worker_that_is_lost_loses_no_run(engine: DaskEngine, number: signal.Signals) -> None:
    victim = worker_pids(engine)[0]
    threading.Timer(1.0, os.kill, (victim, number)).start()
    work = [Work(f"n{int(number)}-{index}", str(index).encode()) for index in range(12)]
    try:
        found = {done.key: done.result for done in engine.run("engine_work:square_slowly", work)}
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
    assert found == {each.key: str(int(each.message) ** 2).encode() for each in work}


def test_the_engines_give_the_same_results(engine: DaskEngine, tmp_path: Path) -> None:
    plan = plan_of(write_files(tmp_path))
    in_process = list(results_of(run_in(tmp_path / "one", plan)))
    with LocalEngine(2) as local:
        assert list(results_of(run_in(tmp_path / "two", plan, local))) == in_process
    done = run_in(tmp_path / "three", plan, engine)
    assert list(results_of(done)) == in_process
    assert not any(record.failed for record in done.records.values())


def test_a_scheduler_at_an_address(engine: DaskEngine, tmp_path: Path) -> None:
    address = engine._client.scheduler.address.removeprefix("tcp://")
    with choose_engine(f"dask://{address}") as other:
        (done,) = other.run("engine_work:square", [Work("other", b"7")])
        assert done.result == b"49"


def test_a_scheduler_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_of_dask, "CONNECT_SECONDS", 1.0)
    start = time.monotonic()
    with pytest.raises(DiagnosticError, match="GSM5309"):
        choose_engine("dask://127.0.0.1:9")
    assert time.monotonic() - start < 30
