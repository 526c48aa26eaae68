"""Errors that carry diagnostics, and the collector of one run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpusched_dsl.language.diagnostics.diagnostic import Cell, Diagnostic, Fix, Label, Severity, edits_of
from gpusched_dsl.language.diagnostics.render import render_text
from gpusched_dsl.language.source import Span


class DiagnosticError(Exception):
    """An error that ends the work; `diagnostics` has the reasons (at least one is an error)."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        first = next((d for d in self.diagnostics if d.severity is Severity.ERROR), None)
        super().__init__(f"{first.code}: {first.message}" if first else "no diagnostics")

    def __reduce__(self) -> tuple[type[DiagnosticError], tuple[tuple[Diagnostic, ...]]]:
        return type(self), (self.diagnostics,)

    def __str__(self) -> str:
        return render_text(self.diagnostics)

    def _render_traceback_(self) -> list[str]:
        """Return what IPython and Jupyter show of the error: the diagnostics without a traceback."""
        return render_text(self.diagnostics, color=True).rstrip("\n").split("\n")


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
