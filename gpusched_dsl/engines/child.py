"""A worker process as its parent sees it: the pipe, the memory, whether it was stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing.connection import Connection, Pipe
from pathlib import Path

from gpusched_dsl.engines.protocol import BROKEN, DIED, MEMORY, Done, Failure, Shared, Work
from gpusched_dsl.engines.worker import END, RAISED, RESULT
from gpusched_dsl.language.diagnostics.systems import refuse_windows

PROGRAM = """import sys
sys.path[:] = {path!r}
from gpusched_dsl.engines.worker import main
main({fd}, {life})"""
END_SECONDS = 5.0
STOPPED_SECONDS = 10.0  # after which a process that was stopped by a signal counts as lost
SHOWN = 200  # characters of the last output
SHORT = 1 << 14  # bytes that a pipe takes although its reader is stopped


class Child:
    """One worker process and the work it has at present."""

    def __init__(self, memory: int | None = None) -> None:
        """`memory`: the process is ended when it uses more bytes. Raises DiagnosticError (GSM5460) on Windows."""
        # Pipes cannot be handed over there in this way.
        refuse_windows("an engine with processes", "run the work in this process: `--engine inline`")
        self.memory = memory
        self.work: Work | None = None
        self._stopped_since: float | None = None
        self._ended_for_memory = False
        self._shared = ""  # the key of the data that the process has
        self._sending: threading.Thread | None = None
        self._error_output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self.pipe, other = Pipe()
        life, self._life = Pipe(duplex=False)
        environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", **os.environ}
        with other, life:
            program = PROGRAM.format(path=sys.path, fd=other.fileno(), life=life.fileno())
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", program],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._error_output, env=environment,
                pass_fds=(other.fileno(), life.fileno()), start_new_session=True,  # Ctrl-C is for the parent alone
            )  # fmt: skip

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self, function: str, work: Work, shared: Shared | None = None) -> None:
        """Send work, after its shared data; a worker that is gone is noticed when its pipe is read."""
        self.work = work
        messages = [function.encode() + END + work.message]
        if shared is not None and shared.key != self._shared:
            self._shared = shared.key
            messages.insert(0, END + shared.key.encode() + END + shared.data)
        if self._sending is not None:
            self._sending.join()
            self._sending = None
        if sum(map(len, messages)) <= SHORT:
            self._send(messages)
        else:  # a process that was stopped does not read, and must not stop its parent
            self._sending = threading.Thread(target=self._send, args=(messages,), daemon=True)
            self._sending.start()

    def _send(self, messages: list[bytes]) -> None:
        with contextlib.suppress(OSError):
            for message in messages:
                self.pipe.send_bytes(message)

    def receive(self) -> Done | None:
        """Return the result of the work, a failure if the process is gone; None for the first message of a worker."""
        try:
            message = self.pipe.recv_bytes()
        except (EOFError, OSError):
            lost, self.work = self.work, None
            failure = self._end()
            return None if lost is None else Done(lost.key, failure)
        kind, content = message[:1], message[1:]
        if kind not in (RESULT, RAISED) or self.work is None:
            return None
        work, self.work = self.work, None
        return Done(work.key, content if kind == RESULT else Failure(BROKEN, content.decode(errors="replace")))

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def watch(self) -> None:
        """End the process if it uses too much memory, or was stopped by a signal for a while."""
        state, memory = _state_and_memory(self.pid)
        if self.memory is not None and memory > self.memory:
            self._ended_for_memory = True
            self._process.kill()
        if state != "T":
            self._stopped_since = None
        elif self._stopped_since is None:
            self._stopped_since = time.monotonic()
        elif time.monotonic() - self._stopped_since > STOPPED_SECONDS:
            self._process.kill()

    def close(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        if self._sending is not None:
            self._sending.join(END_SECONDS)
        self.pipe.close()
        self._life.close()
        self._error_output.close()

    def _end(self) -> Failure:
        """Return why the process is gone."""
        try:
            code = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if self._ended_for_memory:
            assert self.memory is not None
            return Failure(MEMORY, f"it used more than {self.memory / (1 << 30):.3g} GiB")
        self._error_output.seek(0)
        lines = [line.strip() for line in self._error_output.read().decode(errors="replace").splitlines()]
        words = [line for line in lines if line]
        shown = f"; its last output: {words[-1][:SHOWN]}" if words else ""
        return Failure(DIED, _exit_text(code) + shown)


def _exit_text(code: int) -> str:
    if code >= 0:
        return f"it ended with exit code {code}"
    try:
        return f"it was ended by the signal {signal.Signals(-code).name}"
    except ValueError:
        return f"it was ended by the signal {-code}"


def _state_and_memory(pid: int) -> tuple[str, int]:
    """Return the state letter of a process and its resident memory in bytes; of another system `""` and 0."""
    if sys.platform == "win32":
        return "", 0
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return fields[0], int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return "", 0


__all__ = ["Child", "Connection"]
