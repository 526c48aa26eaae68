"""Backends by name, loaded on demand: ours, and entry points of the group `gpusched_dsl.backends`.

`concurrent` and names such as `highs+scip` are several backends at once.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, did_you_mean
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.entry_points import entry_points

if TYPE_CHECKING:  # the names of backends must not cost the import of NumPy
    from importlib.metadata import EntryPoint

    from gsdsl_backends.protocol import Backend

GROUP = "gpusched_dsl.backends"
BUILT_IN = {
    "cpsat": "gsdsl_backends.cpsat.backend:CpsatBackend",
    "cvxpy": "gsdsl_backends.cvxpy.backend:CvxpyBackend",
    "highs": "gsdsl_backends.highs.backend:HighsBackend",
    "scip": "gsdsl_backends.scip.backend:ScipBackend",
    "search": "gsdsl_backends.search.backend:SearchBackend",
}

WITHOUT_PROOFS = frozenset({"search"})  # of ours; those of other packages state it as a capability

CONCURRENT, AND = "concurrent", "+"
CONCURRENT_MODULE = "gpusched_dsl.solving.concurrent.backend"


@cache
def _known_backends() -> dict[str, EntryPoint]:
    """Our own backends, and those of other packages."""
    from importlib.metadata import EntryPoint

    return {name: EntryPoint(name, value, GROUP) for name, value in BUILT_IN.items()} | entry_points(GROUP)


def backend_names() -> tuple[str, ...]:
    """The names of single solvers, in alphabetical order. Imports no solver."""
    return tuple(sorted(_known_backends()))


def solver_names() -> tuple[str, ...]:
    """The names that `backend` accepts, in alphabetical order, except combinations such as `highs+scip`."""
    return tuple(sorted({*backend_names(), CONCURRENT}))


def is_concurrent(name: str) -> bool:
    """Whether a name means several solvers at once."""
    return name == CONCURRENT or AND in name


def proves(name: str) -> bool:
    """Whether a solver ends with a proof. Loads it if another package has it; raises DiagnosticError as `backend`."""
    if name in BUILT_IN or is_concurrent(name):
        return name not in WITHOUT_PROOFS
    return backend(name).capabilities.proves


@cache
def backend(name: str) -> Backend:
    """The backend of that name; raises DiagnosticError when there is none or when it cannot be imported."""
    if is_concurrent(name):
        several: Backend = import_module(CONCURRENT_MODULE).make(name)
        return several
    point = _known_backends().get(name)
    if point is None:
        names = ", ".join(solver_names())
        help = did_you_mean(name, solver_names()) or f"the backends are {names}"
        raise DiagnosticError([Diagnostic("GSM4001", f"unknown backend `{name}`", help=help)])
    try:
        made: Backend = point.load()()
    except DiagnosticError:
        raise
    except Exception as failure:  # another package's import may fail in any way
        raise DiagnosticError(
            [
                Diagnostic(
                    "GSM4002",
                    f"the backend `{name}` cannot be loaded: {failure}",
                    notes=(f"it is declared as `{point.value}`",),
                    help="install the solver's Python package, or choose another backend",
                )
            ]
        ) from failure
    return made
