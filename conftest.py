"""Common settings of all tests: signals, random examples, time.

A shell starts what runs in the background with SIGINT ignored, and so would be the children of tests: here it has
Python's own handler, and children its default.

The quick suite draws the same examples each time, runs kernels as plain Python, which compiles nothing, and of a test
marked `quick(n)` runs n of its cases, spread over all. Tests in `more_of_the_same.txt` are long, too: others execute
all their lines at less cost (`tests/mutation/quick_suite.py`). The long tests draw new examples, run all cases with
compiled kernels, and have more time.
"""

import gc
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

MORE_OF_THE_SAME = frozenset(
    (Path(__file__).parent / "tests" / "more_of_the_same.txt").read_text(encoding="utf-8").split("\n")
)
LONG_TEST = 900.0  # seconds that a long test may take on a busy machine: none needs a tenth of that on a quiet one

QUICK_MINUTES = 6  # of CPU time, which a whole quick suite may take in all processes (`docs/testing.md`)
OF_WORKERS = pytest.StashKey[float]()  # CPU seconds

settings.register_profile("quick", derandomize=True, database=None)


# Else every child compiles the package anew, which takes longer than what most of them do.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[OF_WORKERS] = 0.0
    gc.set_threshold(20_000, 20, 20)  # by default, a tenth of the time goes to cycles among thousands of tests
    if config.getoption("markexpr") == "not slow":
        settings.load_profile("quick")
        os.environ.setdefault("GSDSL_PYTHON_KERNELS", "1")
    else:
        os.environ.setdefault("GSDSL_COMPILED_KERNELS", "1")
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(FailuresAtOnce(config))


class FailuresAtOnce:
    """Names failed tests as they fail: the long tests take more than an hour, and their report comes at the end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and terminal is not None:
            terminal.write_line(f" {report.nodeid} failed\n{report.longreprtext[-2000:]}")


def cpu_seconds() -> float:
    """Of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def pytest_sessionfinish(session: Any) -> None:
    if hasattr(session.config, "workerinput"):
        session.config.workeroutput["cpu"] = cpu_seconds()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[OF_WORKERS] += getattr(node, "workeroutput", {}).get("cpu", 0.0)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """A suite that grows is seen by everybody who runs it; no test fails because a machine is slow."""
    if is_quick(config):
        workers, own = config.stash[OF_WORKERS], os.times()  # workers are children, which may have ended by now
        minutes = (workers + own.user + own.system if workers else cpu_seconds()) / 60
        limit = f"a whole quick suite takes at most {QUICK_MINUTES} min"
        terminalreporter.write_line(f"CPU time of all processes: {minutes:.1f} min ({limit})")


def is_quick(config: pytest.Config) -> bool:
    """Whether a whole quick suite is collected: tests that are named on the command line are told as deselected."""
    return config.getoption("markexpr") == "not slow" and not any("::" in arg for arg in config.args)


def spread(count: int, of: int) -> set[int]:
    """The places of `count` cases of `of`, from the first to the last."""
    return {round(i * (of - 1) / max(1, count - 1)) for i in range(count)}


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: Any) -> list[pytest.Item] | None:
    """No items of long tests in a quick suite: they outnumber the others, and are made in each process."""
    if not is_quick(collector.config):
        return None
    of_module = getattr(getattr(collector, "module", None), "pytestmark", [])
    marks = [*getattr(obj, "pytestmark", []), *(of_module if isinstance(of_module, list) else [of_module])]
    return [] if callable(obj) and any(getattr(mark, "name", "") == "slow" for mark in marks) else None


@pytest.hookimpl(trylast=True)  # when all cases of the test are known
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("quick")
    if marker and is_quick(metafunc.config):
        calls = metafunc._calls
        calls[:] = [calls[at] for at in sorted(spread(marker.args[0], len(calls)))]


@pytest.hookimpl(tryfirst=True)  # before cases are chosen by their marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("quick") and not is_quick(config):
            cases.setdefault(item.nodeid.split("[")[0], []).append(item)
    for test in cases.values():
        chosen = spread(test[0].get_closest_marker("quick").args[0], len(test))
        for at, item in enumerate(test):
            if at not in chosen:
                item.add_marker(pytest.mark.slow)
    for item in items:
        if item.nodeid in MORE_OF_THE_SAME:
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(LONG_TEST))


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()  # the tests themselves and what they import stay until the end


@pytest.fixture(autouse=True, scope="session")
def ctrl_c_as_on_a_terminal() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


LONGEST_CHILD = 300.0  # seconds: far more than any test waits for a process


@pytest.fixture
def child() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """`subprocess.Popen` for processes that may run for ever: each leads a group of its own, which never stays.

    The groups are killed when the test ends, whether it passes or not, and after `LONGEST_CHILD`, so that no test waits
    for the output of a process without end. Standard output and errors are pipes where nothing else is asked for.
    """
    children: list[subprocess.Popen[str]] = []

    def kill() -> None:
        for process in children:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    def start(command: list[Any], **options: Any) -> "subprocess.Popen[str]":
        given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        process = subprocess.Popen([str(part) for part in command], start_new_session=True, **given)
        children.append(process)
        return process

    timer = threading.Timer(LONGEST_CHILD, kill)
    timer.daemon = True
    timer.start()
    try:
        yield start
    finally:
        timer.cancel()
        kill()
        for process in children:
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
