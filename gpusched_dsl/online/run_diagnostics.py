"""The warnings of a run: single warnings, failed plans counted by planner and code, and crashes of solvers."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import structs

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.planners.failures import Failures
from gpusched_dsl.online.planners.protocol import Planner


@dataclass(eq=False)
class RunDiagnostics:
    """`failures` are by planner and code."""

    warnings: list[Diagnostic] = field(default_factory=list)
    failures: dict[tuple[str, str], Failures] = field(default_factory=dict)

    def count_failures(self, planner: Planner, error: DiagnosticError, now: float, unit: str) -> None:
        """Count the diagnostics of a failed plan."""
        for diagnostic in error.diagnostics:
            key = planner.name, diagnostic.code
            earlier = self.failures.get(key)
            first = Failures(planner.name, diagnostic, now, unit)
            self.failures[key] = first if earlier is None else earlier.count_another()

    def warn_of_crashes(self, planner: Planner) -> None:
        """Warn of the first crash of each kind: the run continues with the fallback, or as before."""
        for crash in getattr(planner, "crashes", ()):
            if not any(warning.message == crash.message for warning in self.warnings):
                help = "the run continued with a new process of the solver, its fallback, or the previous plan"
                self.warnings.append(structs.replace(crash, severity=Severity.WARNING, help=help))

    def warn_once(self, warning: Diagnostic) -> None:
        """Add a warning, unless there is one of its code."""
        if not any(other.code == warning.code for other in self.warnings):
            self.warnings.append(warning)

    def all_warnings(self, fallback: str | None) -> tuple[Diagnostic, ...]:
        """Return all warnings; those of failures name the fallback."""
        return (*self.warnings, *(failures.warning(fallback) for failures in self.failures.values()))

    def copy(self) -> RunDiagnostics:
        return RunDiagnostics(list(self.warnings), dict(self.failures))
