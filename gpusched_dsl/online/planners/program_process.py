"""A child process that answers lines with lines, each within a time limit."""

from __future__ import annotations

import os
import selectors
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, NoReturn

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.diagnostics.systems import refuse_windows

CODE = "GSM7013"
LONGEST_LINE = 16 * 1024 * 1024  # bytes
LAST_WORDS = 500  # characters of the standard error that a diagnostic shows
_CHUNK = 1 << 16
_GRACE = 1.0  # seconds from the end of its input to the end of a process


def command_of(name: str, text: str) -> list[str]:
    """Return the words of a command as a shell reads them. Raises DiagnosticError (GSM7013) if there is none."""
    try:
        words = shlex.split(text)
    except ValueError as failure:
        raise DiagnosticError([_not_started(name, str(failure))]) from None
    if not words:
        raise DiagnosticError([_not_started(name, "it has no command")])
    return words


def _not_started(name: str, reason: str) -> Diagnostic:
    help = "write the command of an executable file: `--method 'program:python entry.py'`"
    return Diagnostic(CODE, f"`{name}` cannot be started: {reason}", help=help)


class ProgramProcess:
    """A running program. Its standard error goes to a file, whose end diagnostics show."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        """Start the program. Raises DiagnosticError: GSM7013 if it cannot be started, GSM5460 on Windows."""
        # Windows cannot wait for a pipe with a limit of time.
        refuse_windows("a program as a method", "use a policy, or a method from Python")
        self.name = name
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `_end`)
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True
            )
        except (OSError, ValueError) as failure:
            self._errors.close()
            raise DiagnosticError([_not_started(name, getattr(failure, "strerror", None) or str(failure))]) from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        if sys.platform != "win32":
            os.set_blocking(self._input, False)
            os.set_blocking(self._output, False)
        self._lines: deque[bytes] = deque()
        self._rest = bytearray()
        self._finalizer = weakref.finalize(self, _end, self._process, self._errors)

    @property
    def is_open(self) -> bool:
        """Whether the program may still be asked."""
        return self._finalizer.alive

    def ask(self, lines: bytes, seconds: float) -> None:
        """Write lines. Raises DiagnosticError (GSM7013) if the program does not read them in time."""
        until = time.monotonic() + seconds
        rest = memoryview(lines)
        with selectors.DefaultSelector() as selector:
            selector.register(self._input, selectors.EVENT_WRITE)
            selector.register(self._output, selectors.EVENT_READ)  # a program that waits for us to read
            while rest:
                for key, _ in self._ready(selector, until, seconds, "read its lines"):
                    if key.fd == self._output:
                        self._read()
                        continue
                    try:
                        rest = rest[os.write(self._input, rest) :]
                    except BlockingIOError:
                        continue
                    except OSError:
                        self._refuse_ended()

    def answer(self, seconds: float) -> bytes:
        """Return the next line. Raises DiagnosticError (GSM7013) at the end of the program, or if it takes longer."""
        until = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            while not self._lines:
                self._ready(selector, until, seconds, "answer")
                self._read()
        return self._lines.popleft()

    def close(self) -> None:
        """End the program."""
        self._finalizer()

    def _ready(
        self, selector: selectors.BaseSelector, until: float, seconds: float, what: str
    ) -> list[tuple[selectors.SelectorKey, int]]:
        found = selector.select(max(0.0, until - time.monotonic()))
        if not found:
            help = "`--time-limit` is the time of each decision"
            self._refuse(f"`{self.name}` did not {what} within {seconds:g} s", help)
        return found

    def _read(self) -> None:
        try:
            found = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return
        if not found:
            self._refuse_ended()
        self._rest += found
        *lines, self._rest = self._rest.split(b"\n")
        self._lines.extend(bytes(line) for line in lines if line.strip())
        if len(self._rest) > LONGEST_LINE:
            self._refuse(f"`{self.name}` wrote a line longer than {LONGEST_LINE} bytes", "write one decision on a line")

    def _refuse_ended(self) -> NoReturn:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        code = self._process.returncode
        how = "closed its output" if code is None else f"ended with exit code {code}"
        self._refuse(f"`{self.name}` {how} before its decision", "a program reads events until `end`")

    def _refuse(self, message: str, help: str) -> NoReturn:
        self._errors.seek(0)
        words = self._errors.read()[-4 * LAST_WORDS :].decode("utf-8", "replace")[-LAST_WORDS:].strip()
        self.close()
        notes = (f"its standard error ends with: {words}",) if words else ()
        raise DiagnosticError([Diagnostic(CODE, message, help=help, notes=notes)])


def _end(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    """Close the pipes, wait a moment, then kill the process and its children."""
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        with suppress(OSError):
            pipe.close()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE)
    if sys.platform != "win32":
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    errors.close()
