"""Failures of backends of other packages, reported as theirs, not as defects of gsdsl."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_backends.protocol import Backend

_OWN = ("gpusched_dsl", "gsdsl_backends")


@contextmanager
def foreign_failures(backend: Backend) -> Iterator[None]:
    """Turn an exception of the code of another package's backend into the diagnostic GSM4007."""
    try:
        yield
    except (DiagnosticError, MemoryError):
        raise
    except Exception as failure:
        home = type(backend).__module__
        if home.partition(".")[0] in _OWN or not _comes_from(failure.__traceback__, home):
            raise
        raise DiagnosticError([_failure(backend, home, failure)]) from failure


def _comes_from(traceback: TracebackType | None, home: str) -> bool:
    """Whether the exception passed through a module, or through one of its package."""
    package = home.partition(".")[0]
    while traceback is not None:
        module = str(traceback.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] == package:
            return True
        traceback = traceback.tb_next
    return False


def _failure(backend: Backend, home: str, failure: Exception) -> Diagnostic:
    words = str(failure).strip().splitlines()
    what = type(failure).__name__ + (f": {words[0][:200]}" if words else "")
    return Diagnostic(
        "GSM4007",
        f"the backend `{backend.name}` failed: {what}",
        notes=(f"it belongs to the package `{home.partition('.')[0]}`, not to gsdsl",),
        help="report it to the authors of that package, or choose another backend",
    )
