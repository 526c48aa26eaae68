"""The engine of local processes: killed, stopped and hungry workers, and the end of the parent."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from campaign_files import plan_of, results_of, run_in, write_files

from gpusched_dsl.engines import child
from gpusched_dsl.engines.inline import InlineEngine
from gpusched_dsl.engines.local import LocalEngine
from gpusched_dsl.engines.protocol import Done, Engine, Failure, Shared, Work

MIB = 1 << 20


def messages(count: int) -> list[Work]:
    return [Work(f"k{number}", str(number).encode()) for number in range(count)]


def test_results_and_workers_that_last() -> None:
    with LocalEngine(2) as engine:
        found = {done.key: done for done in engine.run("engine_work:square", messages(20))}
        assert {key: done.result for key, done in found.items()} == {f"k{n}": str(n * n).encode() for n in range(20)}
        pids = {done.result for done in engine.run("engine_work:process", messages(10))}
        assert len(pids) <= 2
        assert pids <= {str(pid).encode() for pid in engine.pids}
        failed = [done.result for done in engine.run("engine_work:broken", messages(2))]
        assert all(isinstance(result, Failure) and "ValueError: no " in result.reason for result in failed)
    assert engine.pids == []


def test_the_work_of_a_killed_worker_is_started_again(tmp_path: Path) -> None:
    work = [Work(f"k{number}", str(tmp_path / f"f{number}").encode()) for number in range(4)]
    with LocalEngine(2) as engine:
        found = {done.key: done for done in engine.run("engine_work:dies_first", work)}
        assert found == {f"k{n}": Done(f"k{n}", f"f{n}".encode(), attempts=2) for n in range(4)}
        (done,) = engine.run("engine_work:dies", messages(1))
    assert done.attempts == 3
    assert isinstance(done.result, Failure)
    assert (done.result.kind, "SIGKILL" in done.result.reason) == ("died", True)
    assert "the last words" in done.result.reason


def test_shared_data_reach_every_worker(tmp_path: Path) -> None:
    """Also large ones, changed ones, and those of a worker that takes the place of a dead one."""
    large, small = Shared("large", b"a" * MIB + b"z"), Shared("small", b"bc")
    with LocalEngine(2) as local:
        engines: list[Engine] = [InlineEngine(), local]
        for engine in engines:
            for shared in (large, small, large):
                found = [done.result for done in engine.run("engine_work:with_shared", messages(4), shared=shared)]
                words = sorted(
                    bytes(result).decode().rpartition(" ")[0] for result in found if isinstance(result, bytes)
                )
                text = f"{chr(shared.data[0])}{chr(shared.data[-1])} {len(shared.data)}"
                assert words == [f"{text} {number}" for number in range(4)]
        work = [Work(f"k{number}", str(tmp_path / f"f{number}").encode()) for number in range(2)]
        again = {done.key: done for done in local.run("engine_work:with_shared_dies_first", work, shared=small)}
        assert again == {f"k{n}": Done(f"k{n}", f"f{n}bc".encode(), attempts=2) for n in range(2)}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the state of processes is read from /proc")
def test_stopped_and_hungry_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "STOPPED_SECONDS", 0.5)
    with LocalEngine(2) as engine:
        work = [Work(f"k{number}", str(tmp_path / f"f{number}").encode()) for number in range(2)]
        found = {done.key: done.result for done in engine.run("engine_work:stops_first", work)}
    assert found == {"k0": b"f0", "k1": b"f1"}
    with LocalEngine(1, memory=120 * MIB) as engine:
        (done,) = engine.run("engine_work:hungry", [Work("k", str(200 * MIB).encode())])
        assert isinstance(done.result, Failure)
        assert (done.result.kind, done.attempts) == ("memory", 1)
        (done,) = engine.run("engine_work:square", messages(1))
        assert done.result == b"0"


def test_a_stop_ends_the_workers() -> None:
    start = time.monotonic()
    with LocalEngine(2) as engine:
        assert list(engine.run("engine_work:slow", messages(3), lambda: time.monotonic() > start + 0.5)) == []
        assert engine.pids == []
    assert time.monotonic() - start < 20


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the state of processes is read from /proc")
def test_workers_end_with_their_parent() -> None:
    program = (
        f"import os, signal, sys; sys.path[:] = {sys.path!r}\n"
        "from gpusched_dsl.engines.local import LocalEngine\n"
        "from gpusched_dsl.engines.protocol import Work\n"
        "engine, seen = LocalEngine(2), []\n"
        "def stop():\n"
        "    seen.append(1)\n"
        "    if len(seen) > 10:\n"
        "        print(*engine.pids, flush=True)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return False\n"
        "list(engine.run('engine_work:slow', [Work('a', b''), Work('b', b'')], stop))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    pids = done.stdout.split()
    assert len(pids) == 2, done.stderr
    end = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.slow
def test_a_campaign_on_processes_gives_the_results_of_one_process(tmp_path: Path) -> None:
    plan = plan_of(write_files(tmp_path))
    one = run_in(tmp_path / "one", plan)
    with LocalEngine(2) as engine:
        two = run_in(tmp_path / "two", plan, engine)
    assert list(results_of(one)) == list(results_of(two))
