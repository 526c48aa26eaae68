"""The engine of Dask: killed and stopped workers, its errors, and the same results as the other engines."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from campaign_files import plan_of, results_of, run_in, write_files

from gpusched_dsl.campaigns.campaign import CampaignProgress
from gpusched_dsl.engines.choose import choose_engine
from gpusched_dsl.engines.local import LocalEngine
from gpusched_dsl.engines.protocol import Done, Failure, Shared, Work
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

pytest.importorskip("distributed", reason="the package distributed is not installed")
from gpusched_dsl.engines import dask as engine_of_dask
from gpusched_dsl.engines.dask import DaskEngine

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


def test_shared_data_reach_every_worker(engine: DaskEngine, tmp_path: Path) -> None:
    for shared in (Shared("large", b"a" * 20_000_000 + b"z"), Shared("small", b"bc")):
        work = [Work(f"{shared.key}{number}", str(number).encode()) for number in range(6)]
        found = {done.key: done.result for done in engine.run("engine_work:with_shared", work, shared=shared)}
        text = f"{chr(shared.data[0])}{chr(shared.data[-1])} {len(shared.data)}"
        words = {key: bytes(r).decode().rpartition(" ")[0] for key, r in found.items() if isinstance(r, bytes)}
        assert words == {each.key: f"{text} {each.message.decode()}" for each in work}
    lost = [Work(f"s{number}", str(tmp_path / f"f{number}").encode()) for number in range(2)]
    again = {
        done.key: done for done in engine.run("engine_work:with_shared_dies_first", lost, shared=Shared("d", b"!"))
    }
    assert again == {f"s{n}": Done(f"s{n}", f"f{n}!".encode(), attempts=2) for n in range(2)}


def started_processes(folder: Path, count: int) -> list[int]:
    """Return the processes that wrote their numbers into the files of a folder, as soon as there are so many."""
    end = time.monotonic() + 60
    while len(texts := [path.read_text() for path in folder.iterdir()]) < count or not all(texts):
        assert time.monotonic() < end
        time.sleep(0.05)
    return [int(text) for text in texts]


def all_end(pids: list[int]) -> bool:
    end = time.monotonic() + 30
    while any(Path(f"/proc/{pid}/fd").exists() and os.listdir(f"/proc/{pid}/fd") for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.skipif(sys.platform != "linux", reason="the state of processes is read from /proc")
def test_a_stop_ends_running_and_waiting_tasks(engine: DaskEngine, tmp_path: Path) -> None:
    """On the workers of a scheduler that goes on, which then execute other work."""
    address = engine._client.scheduler.address.removeprefix("tcp://")
    work = [Work(f"w{number}", str(tmp_path / f"f{number}").encode()) for number in range(6)]
    with choose_engine(f"dask://{address}") as other:
        assert list(other.run("engine_work:writes_and_waits", work, lambda: len(list(tmp_path.iterdir())) >= 2)) == []
        pids = started_processes(tmp_path, 2)
    assert all_end(pids)
    started = time.monotonic()
    (done,) = engine.run("engine_work:square", [Work("after", b"9")])
    assert done.result == b"81"
    assert time.monotonic() - started < 30  # no worker still waits
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(sys.platform != "linux", reason="the state of processes is read from /proc")
def test_tasks_end_with_a_killed_client(engine: DaskEngine, tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        "from gpusched_dsl.engines.dask import DaskEngine\n"
        "from gpusched_dsl.engines.protocol import Work\n"
        f"engine = DaskEngine({engine._client.scheduler.address!r})\n"
        f"work = [Work(f'v{{n}}', f'{tmp_path}/runs/f{{n}}'.encode()) for n in range(2)]\n"
        "list(engine.run('engine_work:writes_and_waits', work))\n"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as client:
        try:
            pids = started_processes(tmp_path, 2)
        finally:
            client.kill()
    assert all_end(pids)


def test_the_engines_give_the_same_results(engine: DaskEngine, tmp_path: Path) -> None:
    plan = plan_of(write_files(tmp_path))
    runs = [run_in(tmp_path / "one", plan)]
    with LocalEngine(2) as local:
        runs.append(run_in(tmp_path / "two", plan, local))
    runs.append(run_in(tmp_path / "three", plan, engine))
    for each in runs:
        assert [record.diagnostics for record in each.records.values() if record.failed] == []
    assert list(results_of(runs[0])) == list(results_of(runs[1])) == list(results_of(runs[2]))


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


CLUSTER = """
import sys
from distributed import LocalCluster
with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, protocol="tcp",
                  dashboard_address=None) as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_scheduler_that_is_lost_keeps_the_stored_results(tmp_path: Path, number: signal.Signals) -> None:
    """A killed or ended scheduler ends the campaign with a diagnostic; the same command continues."""
    plan = plan_of(write_files(tmp_path))
    started = [sys.executable, "-c", CLUSTER]
    with subprocess.Popen(started, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as cluster:
        assert cluster.stdout is not None
        address = cluster.stdout.readline().strip()

        def end_scheduler(progress: CampaignProgress) -> None:
            if progress.executed == 2:
                cluster.send_signal(number)

        try:
            with DaskEngine(address) as engine, pytest.raises(DiagnosticError, match="the connection to the scheduler"):
                run_in(tmp_path / "store", plan, engine, tell=end_scheduler)
        finally:
            cluster.kill()
    done = run_in(tmp_path / "store", plan)
    assert not any(record.failed for record in done.records.values())
    assert 2 <= len(plan.runs) - done.executed < len(plan.runs)


@pytest.mark.skipif(sys.platform != "linux", reason="Ctrl-C is sent to a group of processes")
def test_ctrl_c_ends_the_workers_without_a_warning(tmp_path: Path) -> None:
    """A terminal sends Ctrl-C to the command and to its workers."""
    program = (
        f"import signal, sys; sys.path[:] = {sys.path!r}\n"
        "from gpusched_dsl.engines.dask import DaskEngine\n"
        "from gpusched_dsl.engines.protocol import Work\n"
        "pressed = []\n"
        "if __name__ == '__main__':\n"
        "    with DaskEngine(workers=2) as engine:\n"
        "        signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))\n"
        f"        work = [Work(f'w{{n}}', str({str(tmp_path)!r} + f'/runs/f{{n}}').encode()) for n in range(2)]\n"
        "        print(list(engine.run('engine_work:writes_and_waits', work, lambda: bool(pressed))))\n"
    )
    (tmp_path / "runs").mkdir()
    file = tmp_path / "program.py"
    file.write_text(program)
    with subprocess.Popen(
        [sys.executable, str(file)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as started:
        started_processes(tmp_path / "runs", 2)
        os.killpg(started.pid, signal.SIGINT)
        printed, _ = started.communicate(timeout=60)
    assert printed == "[]\n"
