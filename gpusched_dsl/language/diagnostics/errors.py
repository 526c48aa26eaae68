"""Errors that carry diagnostics, and the collector of one run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpusched_dsl.language.diagnostics.diagnostic import Cell, Diagnostic, Fix, Label, Severity, edits_of
from gpusched_dsl.language.source import Span


class DiagnosticError(Exception):
    """An error that ends the work; `diagnostics` has the reasons (at least one is an error).

    What is raised is the subclass for the code of the first error (`error_class`), if there is one.
    """

    diagnostics: tuple[Diagnostic, ...] = ()

    def __new__(cls, diagnostics: Iterable[Diagnostic] = (), *more: object) -> DiagnosticError:
        if cls is not DiagnosticError:
            return super().__new__(cls)
        found = tuple(diagnostics)  # which may be readable only once
        first = _first_error(found)
        error = super().__new__(DiagnosticError if first is None else error_class(first.code))
        error.diagnostics = found
        return error

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = self.diagnostics or tuple(diagnostics)
        first = _first_error(self.diagnostics)
        super().__init__(f"{first.code}: {first.message}" if first else "no diagnostics")

    def __reduce__(self) -> tuple[type[DiagnosticError], tuple[tuple[Diagnostic, ...]]]:
        return type(self), (self.diagnostics,)

    def __str__(self) -> str:
        from gpusched_dsl.language.diagnostics.render import render_text

        return render_text(self.diagnostics)

    def _render_traceback_(self) -> list[str]:
        """Return what IPython and Jupyter show of the error: the diagnostics without a traceback."""
        from gpusched_dsl.language.diagnostics.render import render_text

        return render_text(self.diagnostics, color=True).rstrip("\n").split("\n")


class ModelError(DiagnosticError):
    """A text is wrong, or no problem can be made of it: GSM1xxx, GSM3xxx, and most of GSM70xx."""


class DataError(DiagnosticError):
    """A data file, a value, an event or a profile is wrong: GSM2xxx and GSM52xx."""


class SolverError(DiagnosticError):
    """A solver, or a program that plans, fails or gives a wrong answer."""


class UsageError(DiagnosticError):
    """A call or a command is wrong: GSM60xx, and the options of GSM40xx."""


class LimitError(DiagnosticError):
    """Something is larger than its limit, such as that of memory."""


_SOLVER = frozenset((4002, 4003, *range(4006, 4010), *range(4012, 4016), 4017, 4018, 7012, 7013, 7014, 7018, 7019))
_USAGE = frozenset((7003, 7021))
_LIMIT = frozenset((1003, 1004, 1033, 1666, 2006, 2007, 3001, 5504, 6014, 7004))
_BY_RANGE: tuple[tuple[range, type[DiagnosticError]], ...] = (
    (range(1000, 2000), ModelError),
    (range(2000, 3000), DataError),
    (range(3000, 4000), ModelError),
    (range(4000, 5000), UsageError),
    (range(5200, 5300), DataError),
    (range(6000, 7000), UsageError),
    (range(7000, 8000), ModelError),
)


def error_class(code: str) -> type[DiagnosticError]:
    """Return the class of the errors with a code; `DiagnosticError` for journals, stores, clusters and defects."""
    number = int(code.removeprefix("GSM"))
    for numbers, kind in ((_LIMIT, LimitError), (_SOLVER, SolverError), (_USAGE, UsageError)):
        if number in numbers:
            return kind
    return next((kind for numbers, kind in _BY_RANGE if number in numbers), DiagnosticError)


def _first_error(diagnostics: Iterable[Diagnostic]) -> Diagnostic | None:
    return next((d for d in diagnostics if d.severity is Severity.ERROR), None)


class Diagnostics:
    """Collects findings so that one run reports many."""

    def __init__(self) -> None:
        self._found: dict[Diagnostic, None] = {}

    def add(self, diagnostic: Diagnostic) -> None:
        self._found[diagnostic] = None

    def error(
        self,
        code: str,
        message: str,
        primary: Span | Cell | None = None,
        label: str = "",
        *,
        secondary: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: str | None = None,
        severity: Severity = Severity.ERROR,
        fix: Fix = None,
    ) -> None:
        """Add a diagnostic. `fix`: the edits that `help` proposes, or the text that replaces the primary one."""
        edits = edits_of(fix, help, primary)
        self.add(Diagnostic(code, message, primary, label, tuple(secondary), tuple(notes), help, severity, edits))

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        for diagnostic in diagnostics:
            self.add(diagnostic)

    @property
    def errors(self) -> int:
        """The number of errors, without warnings and notes."""
        return sum(d.severity is Severity.ERROR for d in self._found)

    @property
    def has_errors(self) -> bool:
        return any(d.severity is Severity.ERROR for d in self._found)

    def raise_if_errors(self) -> None:
        """Raise `DiagnosticError` with everything found so far if any of it is an error."""
        if self.has_errors:
            raise DiagnosticError(self._found)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)
