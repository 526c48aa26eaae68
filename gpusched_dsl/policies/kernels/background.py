"""Compiles kernels in a child process, which leaves machine code in the cache and ends with its parent.

Where the parent asks for it, the child finishes its work after the end of the parent, about a minute of CPU time; so
that such children do not add up, one that waits for another one ends with its parent.

The parent writes requests to the child's input, each a length and a pickled triple: module, name, types of arguments.
The child answers each with one byte. Children of several parents compile one after the other, so that the second finds
what the first has kept.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol

from gpusched_dsl.policies.kernels import machine_code

_LENGTH: Final = struct.Struct("<Q")
_DONE, _FAILED = b"+", b"-"
_NICE = 10
_LOOKS_EACH: Final = 0.1  # seconds between looks at the lock of another child


class _Compilable(Protocol):
    @property
    def py_func(self) -> Callable[..., Any]: ...

    def entry(self) -> Any: ...


class CompileRequest:
    """A kernel that is to be compiled, the `number`-th request of a child; without a child it has failed."""

    def __init__(self, child: _Child | None, number: int) -> None:
        self._child, self._number = child, number

    def is_done(self) -> bool:
        """Return whether the kernel was compiled, or cannot be."""
        return self._child is None or self._child.has_ended() or self._number < len(self._child.answers())

    @property
    def has_failed(self) -> bool:
        """Whether there is no machine code; after `is_done`."""
        return self._child is None or self._child.answers()[self._number : self._number + 1] != _DONE

    def outlive(self) -> None:
        """Let the child finish even if this process ends before."""
        if self._child is not None and not self.is_done():
            self._child.outlives = True


def request(kernel: _Compilable, signature: tuple[Any, ...]) -> CompileRequest:
    """Have a kernel compiled for these types of arguments."""
    global _child
    function = kernel.py_func
    if "<locals>" in function.__qualname__ or function.__module__ == "__main__":
        return CompileRequest(None, 0)  # nothing that another process could find
    if sys.platform == "win32":
        return CompileRequest(None, 0)  # pipes cannot be read there without waiting, before Python 3.12
    if _child is None or _child.process_id != os.getpid():
        try:
            _child = _Child()
        except OSError:
            return CompileRequest(None, 0)
    try:
        return _child.send(pickle.dumps((function.__module__, function.__qualname__, signature)))
    except (OSError, pickle.PicklingError):
        return CompileRequest(None, 0)


class _Child:
    def __init__(self) -> None:
        self.process_id = os.getpid()  # a fork has no part in it
        command = [sys.executable, "-P", "-c", f"from {__name__} import serve; serve({self.process_id})"]
        # The same files, or what the child keeps is not what this process looks for.
        paths = [str(Path(__file__).parents[3]), *(path or os.getcwd() for path in sys.path)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment, bufsize=0
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        if sys.platform != "win32":
            os.set_blocking(self._output.fileno(), False)
        self._answers = b""
        self._requests = 0
        self.outlives = False
        atexit.register(self._end)

    def send(self, content: bytes) -> CompileRequest:
        self._input.write(_LENGTH.pack(len(content)) + content)
        self._requests += 1
        return CompileRequest(self, self._requests - 1)

    def answers(self) -> bytes:
        with contextlib.suppress(BlockingIOError):
            self._answers += os.read(self._output.fileno(), 64)
        return self._answers

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def _end(self) -> None:
        if self.process_id != os.getpid():
            return
        if self.outlives and len(self.answers()) < self._requests:
            self._input.close()
            self._process.returncode = 0  # nobody waits for it
            return
        self._process.kill()
        self._process.wait()


_child: _Child | None = None


def serve(parent: int) -> None:
    """Compile what the parent asks for, until it closes its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    if hasattr(os, "nice"):
        os.nice(_NICE)
    while len(head := sys.stdin.buffer.read(_LENGTH.size)) == _LENGTH.size:
        module, name, signature = pickle.loads(sys.stdin.buffer.read(*_LENGTH.unpack(head)))
        try:
            entry = getattr(import_module(module), name).entry()
            with _one_at_a_time(parent):
                entry.compile(signature)
            answer = _DONE if machine_code.is_kept(entry, signature) else _FAILED
        except Exception:  # the parent goes on without
            answer = _FAILED
        with contextlib.suppress(OSError):  # the parent has ended
            os.write(sys.stdout.fileno(), answer)


@contextlib.contextmanager
def _one_at_a_time(parent: int) -> Iterator[None]:
    """Wait until no other child compiles, where the system has locks of files. Ends this process with the parent."""
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with Path(machine_code.cache_folder() / "lock").open("w", encoding="utf-8") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if os.getppid() != parent:
                    sys.exit()
                time.sleep(_LOOKS_EACH)
        yield
