"""The backend `concurrent`: several solvers in processes of their own, which share points and the best bound.

`highs+scip` names the solvers; `concurrent` is `DEFAULT`, as far as they are installed and of use for a problem.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec

from msgspec import structs

from gpusched_dsl.ir.problem import Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.solving.concurrent.session import ConcurrentSession, Member
from gsdsl_backends.isolation.backend import guard
from gsdsl_backends.protocol import Backend, Capabilities, SolveOptions
from gsdsl_backends.registry import backend
from gsdsl_backends.text_options import SEPARATOR

# The package of each solver. CVXPY solves linear problems by HiGHS, and nothing nonlinear with integers.
DEFAULT: Mapping[str, str] = {"highs": "highspy", "scip": "pyscipopt", "cpsat": "ortools", "cvxpy": "cvxpy"}
Load = Callable[[str], Backend]


class ConcurrentBackend:
    """Solvers that work on a problem at the same time: the first proof counts, with the best point of all.

    `names` are those of the solvers, empty: those that are installed. `load` creates a solver by name.
    """

    capabilities = Capabilities(reformulates=True)

    def __init__(self, name: str, names: tuple[str, ...] = (), load: Load | None = None) -> None:
        self.name = name
        self._load = load or _isolate
        self._chosen = bool(names)
        self._names = names or tuple(solver for solver, package in DEFAULT.items() if find_spec(package) is not None)
        self._versions: dict[str, str] = {}
        for solver in self._names:
            if self._chosen or solver != "cvxpy":
                self._load(solver)  # its process begins to start

    def versions(self) -> dict[str, str]:
        """Return the versions of the solvers that have solved something."""
        return dict(self._versions)

    def open(self, problem: Problem) -> ConcurrentSession:
        return ConcurrentSession(problem, self.members)

    def members(self, problem: Problem, options: SolveOptions) -> list[Member]:
        """Return the solvers for a problem, with their options; raises DiagnosticError (GSM4004) for wrong ones.

        Threads are divided among them. The first one also searches for a start and decomposes, if that is worth it.
        """
        names = [name for name in self._names if self._chosen or _is_useful(name, problem)]
        extras = self._options_by_solver(options)
        threads = max(1, (options.threads or os.cpu_count() or 1) // len(names))
        shared = structs.replace(options, threads=threads, second_opinion=False)
        members: list[Member] = []
        for name in names:
            alone = shared if not members else structs.replace(shared, heuristic="off", decompose="off")
            members.append(Member(name, structs.replace(alone, extra=extras.get(name, {})), self._load, self._versions))
        return members

    def _options_by_solver(self, options: SolveOptions) -> dict[str, dict[str, bool | int | float | str]]:
        found: dict[str, dict[str, bool | int | float | str]] = {}
        wrong = []
        for key, value in options.extra.items():
            solver, separator, name = key.partition(SEPARATOR)
            if separator and solver in self._names:
                found.setdefault(solver, {})[name] = value
                continue
            near = did_you_mean(solver, self._names) if separator else None
            help = near or f"write the solver before it: `{self._names[0]}{SEPARATOR}{name or key}`"
            message = f"`{self.name}` runs several solvers, and `{key}` belongs to none of them"
            wrong.append(Diagnostic("GSM4004", message, help=help))
        if wrong:
            raise DiagnosticError(wrong)
        return found


def make(name: str) -> ConcurrentBackend:
    """Return the backend `concurrent`, or the solvers of a name such as `highs+scip` at once.

    Raises DiagnosticError (GSM4001) for a solver that is unknown, named twice or missing.
    """
    names = tuple(name.split("+")) if "+" in name else ()
    if not all(names):
        known = [solver for solver in names if solver]
        alone = f"write `{known[0]}`, or " if len(known) == 1 else ""
        example = "+".join([*known, *(solver for solver in DEFAULT if solver not in known)][: max(2, len(known))])
        message = f"`{name}` lacks the name of a solver beside a `+`"
        raise DiagnosticError([Diagnostic("GSM4001", message, help=f"{alone}name solvers, as in `{example}`")])
    for solver in names:
        if solver in names[names.index(solver) + 1 :]:
            raise DiagnosticError([Diagnostic("GSM4001", f"`{name}` names `{solver}` twice", help="name it once")])
        backend_exists(solver)
    return ConcurrentBackend(name, names)


def backend_exists(name: str) -> None:
    """Raise DiagnosticError (GSM4001) for a name that is not that of one solver."""
    from gsdsl_backends.registry import backend_names

    if name in backend_names():
        return
    names = ", ".join(backend_names())
    help = did_you_mean(name, backend_names()) or f"the backends are {names}"
    raise DiagnosticError([Diagnostic("GSM4001", f"unknown backend `{name}`", help=help)])


@cache
def _isolate(name: str) -> Backend:
    """The backend in a process of its own."""
    return backend(name) if name == "cpsat" else guard(name, everything=True)


def _is_useful(name: str, problem: Problem) -> bool:
    if name == "cvxpy":
        return not problem.is_linear and not problem.is_mip
    return name != "cpsat" or problem.is_mip
