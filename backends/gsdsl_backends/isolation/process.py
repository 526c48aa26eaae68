"""The other end of `backend.py`: a process that serves one backend until its pipe closes."""

from __future__ import annotations

import os
import pickle
import signal
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cached_property
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from gpusched_dsl.engines.lifetime import end_with
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.ir.changes import changes
from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends.protocol import Backend, Session, SolverProgress
from gsdsl_backends.registry import backend
from gsdsl_backends.third_party import foreign_failures


def main(name: str, factory: str, fd: int, life: int) -> None:
    """Serve the backend `name` at the pipe `fd` until the pipe `life` closes; returns never.

    `factory` names the class to serve, as `module:class`; empty: that of the registry.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(life)
    pipe = Connection(fd)
    with suppress(EOFError, OSError):  # the other process has ended
        Server(name, factory, pipe).serve()
    os._exit(0)  # whatever a solver still does in its thread


class Server:
    """Sessions by number, and the answers to requests, one after the other."""

    def __init__(self, name: str, factory: str, pipe: Connection) -> None:
        self.name, self.factory, self.pipe = name, factory, pipe
        self.sessions: dict[int, tuple[Session, Problem]] = {}

    @cached_property
    def backend(self) -> Backend:
        if not self.factory:
            return backend(self.name)
        module, _, kind = self.factory.partition(":")
        made: Backend = getattr(import_module(module), kind)()
        return made

    def serve(self) -> None:
        """Answer until the pipe closes: raises EOFError then."""
        while True:
            kind, *content = pickle.loads(self.pipe.recv_bytes())
            if kind in ("stop", "offer"):
                continue  # the solve had just ended
            try:
                with self._name_failures(kind):
                    answer = ("done", getattr(self, f"on_{kind}")(*content))
            except DiagnosticError as refused:
                answer = ("refused", list(refused.diagnostics))
            except (EOFError, OSError):
                raise
            except Exception as failure:  # of the solver's package: it is raised in the other process
                answer = ("raised", _sendable(failure))
            self.send(*answer)

    def _name_failures(self, kind: str) -> AbstractContextManager[None]:
        """Name failures of another package's backend here, where the origin of the code is known."""
        return nullcontext() if kind == "hello" else foreign_failures(self.backend)

    def send(self, kind: str, content: Any) -> None:
        self.pipe.send_bytes(pickle.dumps((kind, content), pickle.HIGHEST_PROTOCOL))

    def on_hello(self) -> Any:
        return self.backend.capabilities, self.backend.versions()

    def on_open(self, number: int, problem: Problem) -> None:
        self.sessions[number] = self.backend.open(problem), problem

    def on_update(self, number: int, problem: Problem) -> None:
        session, _ = self.sessions[number]
        session.update(problem)
        self.sessions[number] = session, problem

    def on_carry(self, number: int, problem: Problem) -> None:
        session, before = self.sessions[number]
        session.carry(problem, changes(before, problem))
        self.sessions[number] = session, problem

    def on_solve(self, number: int, options: Any, start: Any, reports_progress: bool, exchanges: bool) -> Any:
        session, _ = self.sessions[number]
        kind = _PipeExchange if exchanges else _PipeMonitor
        return session.solve(options, start, kind(self, reports_progress))

    def on_close(self, number: int) -> None:
        session, _ = self.sessions.pop(number)
        session.close()


class _PipeMonitor:
    """Passes progress on, and the wish to stop in; ends the process when the other one has gone."""

    def __init__(self, server: Server, reports_progress: bool) -> None:
        self._server, self._reports_progress, self._stop = server, reports_progress, False
        self._offer: Floats | None = None

    def progress(self, progress: SolverProgress) -> None:
        if self._reports_progress:
            self._server.send("progress", progress)

    @property
    def stop_requested(self) -> bool:
        self._receive()
        return self._stop

    def _receive(self) -> None:
        try:
            while not self._stop and self._server.pipe.poll():
                kind, *content = pickle.loads(self._server.pipe.recv_bytes())
                if kind == "offer":
                    self._offer = content[0]
                else:
                    self._stop = True
        except (EOFError, OSError):
            os._exit(0)


class _PipeExchange(_PipeMonitor):
    """Also exchanges points with the other process."""

    def take_improvement(self, values: Floats) -> None:
        self._server.send("improved", values)

    def next_offer(self) -> Floats | None:
        self._receive()
        offer, self._offer = self._offer, None
        return offer


def _sendable(failure: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(failure))
    except Exception:
        return RuntimeError(f"{type(failure).__name__}: {failure}")
    return failure
