"""What Windows and macOS lack is called only after a check of the system, and texts have a stated encoding.

`make lint` checks the types for each system, which finds the same calls and more; this test needs a second.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from benchmarks.packages import package_folders, sources
from gpusched_dsl.data.sources.writing import write_text
from gpusched_dsl.engines.child import Child
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.planners.program_process import ProgramProcess
from gsdsl_clusters.drivers.slurm.cluster import SlurmCluster

ROOT = Path(__file__).resolve().parents[1]
FILES = sources()
MODULES = {
    "os": "os/__init__.pyi",
    "signal": "signal.pyi",
    "select": "select.pyi",
    "socket": "_socket.pyi",
    "time": "time.pyi",
}
ABSENT = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}  # modules of POSIX systems
CHECK = re.compile(r"sys\.platform\b|\bhasattr\((?:os|signal|select|socket), |except ImportError|\bos\.name\b")


@cache
def missing(module: str) -> frozenset[str]:
    """The names of a module that its type stubs define for systems other than Windows alone."""
    mypy = importlib.util.find_spec("mypy")
    assert mypy is not None
    assert mypy.origin is not None
    stubs = Path(mypy.origin).parent / "typeshed" / "stdlib" / MODULES[module]
    everywhere: set[str] = set()
    elsewhere: set[str] = set()
    for names, posix in definitions(ast.parse(stubs.read_text(encoding="utf-8")).body, False):
        (elsewhere if posix else everywhere).update(names)
    return frozenset(elsewhere - everywhere)


def definitions(body: list[ast.stmt], posix: bool) -> Iterator[tuple[set[str], bool]]:
    """The names that statements define, and whether they do for other systems than Windows alone."""
    for statement in body:
        match statement:
            case ast.If():
                text = ast.unparse(statement.test)
                without = "sys.platform != 'win32'" in text or "sys.platform == 'linux'" in text
                yield from definitions(statement.body, posix or without)
                yield from definitions(statement.orelse, posix or text == "sys.platform == 'win32'")
            case ast.FunctionDef() | ast.ClassDef():
                yield {statement.name}, posix
                if isinstance(statement, ast.ClassDef):  # signals are members of an enumeration
                    yield from definitions(statement.body, posix)
            case ast.AnnAssign():
                yield {ast.unparse(statement.target)}, posix
            case ast.Assign():
                yield {ast.unparse(target) for target in statement.targets}, posix
            case ast.ImportFrom():
                yield {alias.asname or alias.name for alias in statement.names}, posix


@cache
def uses() -> re.Pattern[str]:
    """What text with such a use has."""
    names = (rf"{module}\.(?:{'|'.join(sorted(missing(module)))})" for module in MODULES)
    return re.compile(rf"\b(?:{'|'.join(names)}|(?:import|from) (?:{'|'.join(sorted(ABSENT))}))\b")


def unguarded(text: str) -> list[str]:
    """The uses of what Windows lacks, without a check of the system before them in their function."""
    if not uses().search(text):
        return []
    tree = ast.parse(text)
    lines = text.splitlines()
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in MODULES and name in missing(module):
                used = f"{module}.{name}"
            case ast.Import(names=[ast.alias(name=module)]) | ast.ImportFrom(module=str(module)) if module in ABSENT:
                used = module
            case _:
                continue
        around = [f for f in functions if f.lineno <= node.lineno <= (f.end_lineno or 0)]
        first = max((f.lineno for f in around), default=1)
        if not CHECK.search("\n".join(lines[first - 1 : node.lineno])):
            found.append(f"{node.lineno}: {used}")
    return found


def test_the_stubs_name_what_windows_lacks() -> None:
    assert {"fork", "killpg", "getuid", "sysconf", "sched_getaffinity", "posix_spawn", "O_NONBLOCK"} <= missing("os")
    assert {"SIGUSR1", "SIGALRM", "SIGKILL", "SIGHUP", "setitimer", "pthread_sigmask"} <= missing("signal")
    assert {"poll"} <= missing("select")
    assert "AF_UNIX" in missing("socket")
    assert not {"kill", "getpid", "SIGTERM", "SIGINT", "environ", "replace"} & (missing("os") | missing("signal"))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("import os\ndef f():\n    os.fork()\n", 1),
        ("import os, sys\ndef f():\n    if sys.platform != 'win32':\n        os.fork()\n", 0),
        ("import signal\nsignal.SIGUSR1\n", 1),
        ("import fcntl\n", 1),
        ("import sys\nif sys.platform != 'win32':\n    import fcntl\n", 0),
        ("import sys\ndef f():\n    sys.platform\ndef g():\n    import pwd\n", 1),
        ("import os\nos.kill(1, 2)\n", 0),
    ],
)
def test_uses_without_a_check_are_found(text: str, count: int) -> None:
    assert len(unguarded(text)) == count


def test_what_windows_lacks_is_called_after_a_check() -> None:
    found = [f"{p.relative_to(ROOT)}:{use}" for p in FILES for use in unguarded(p.read_text(encoding="utf-8"))]
    assert found == []


def test_no_process_is_forked() -> None:
    """Windows cannot, and threads of solvers do not survive it."""
    fork = re.compile(r"os\.fork\(|get_context\(\"fork|set_start_method\(\"fork|preexec_fn")
    assert [str(p) for p in FILES if fork.search(p.read_text(encoding="utf-8"))] == []


def test_texts_have_an_encoding() -> None:
    """The usual one of Windows is not UTF-8."""
    words = ["check", "--isolated", "--preview", "--select", "PLW1514", "-q", "--output-format", "concise"]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *words, *package_folders().values(), "benchmarks", "docs"],
        cwd=ROOT, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("use", "words", "help"),
    [
        (Child, "an engine with processes does not work on Windows", "--engine inline"),
        (lambda: ProgramProcess("x", ["x"]), "a program as a method does not work on Windows", "use a policy"),
    ],
)
def test_what_windows_lacks_is_a_diagnostic(
    use: Callable[[], object], words: str, help: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(DiagnosticError) as raised:
        use()
    (found,) = raised.value.diagnostics
    assert (found.code, found.message) == ("GSM5460", words)
    assert help in (found.help or "")


def test_a_unix_socket_is_refused_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"api": "unix:/run/slurmrestd.sock", "version": "v0.0.40"}
    SlurmCluster.from_settings(settings)
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(ValueError, match="api: Windows has no Unix sockets"):
        SlurmCluster.from_settings(settings)


def test_files_are_flushed_as_windows_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows flushes only files that are open for writing."""
    import fcntl

    flushed = os.fsync

    def flush(handle: int) -> None:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            assert fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
            done.append(handle)
        flushed(handle)

    done: list[int] = []
    monkeypatch.setattr(os, "fsync", flush)
    write_text(tmp_path / "page.html", "text")
    with Journal.open(tmp_path / "run.journal", {}):
        pass
    assert len(done) >= 2
