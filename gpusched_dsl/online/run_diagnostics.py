"""The warnings of a run: single warnings, failed plans counted by planner and code, and crashes of solvers."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import structs

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.online.clock_time import RunClock
from gpusched_dsl.online.planners.failures import Failures
from gpusched_dsl.online.planners.protocol import Planner
from gpusched_dsl.online.planners.violations import VIOLATED
from gpusched_dsl.online.run_record import BrokenPlans
from gpusched_dsl.policies.broken_rows import BrokenRows


@dataclass(eq=False)
class RunDiagnostics:
    """`failures` are by planner and code."""

    warnings: list[Diagnostic] = field(default_factory=list)
    failures: dict[tuple[str, str], Failures] = field(default_factory=dict)
    broken: BrokenPlans | None = None

    def count_failures(self, planner: Planner, error: DiagnosticError, now: float) -> None:
        """Count the diagnostics of a failed plan."""
        for diagnostic in error.diagnostics:
            key = planner.name, diagnostic.code
            earlier = self.failures.get(key)
            first = Failures(planner.name, diagnostic, now)
            self.failures[key] = first if earlier is None else earlier.count_another()

    def count_broken(self, method: str, now: float, rows: BrokenRows, *, refused: bool = False) -> None:
        """Count a plan that violates the model."""
        before = self.broken or BrokenPlans(0, 0, rows.text, rows.excess, rows.relative, method, now)
        found = before
        if rows.relative > before.relative:
            found = BrokenPlans(0, 0, rows.text, rows.excess, rows.relative, method, now)
        self.broken = found._replace(
            plans=before.plans + 1, rows=before.rows + rows.number, refused=before.refused + refused
        )

    def _warning_of_broken(self, plans: int, clock: RunClock, span: Span | None) -> tuple[Diagnostic, ...]:
        """Return the warning that counts the plans that violate the model and took effect."""
        found = self.broken
        if found is None or found.plans == found.refused:
            return ()
        number = found.plans - found.refused
        many = f"{number} of {count_text(plans, 'plan')} {'violates' if number == 1 else 'violate'} the model"
        worst = f"the worst, by `{found.method}` at {clock.text(found.time)}: {found.text}"
        message = f"{many} in {count_text(found.rows, 'row')}; {worst}"
        help = "the run continues with these plans; `gsdsl solve --method POLICY` lists all violations of a plan"
        return (Diagnostic(VIOLATED, message, span, help=help, severity=Severity.WARNING),)

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

    def all_warnings(
        self, fallback: str | None, plans: int, clock: RunClock, span: Span | None
    ) -> tuple[Diagnostic, ...]:
        """Return all warnings of a run of so many plans; those of failures name the fallback."""
        of_failures = (failures.warning(fallback, clock) for failures in self.failures.values())
        return (*self.warnings, *self._warning_of_broken(plans, clock, span), *of_failures)

    def copy(self) -> RunDiagnostics:
        return RunDiagnostics(list(self.warnings), dict(self.failures), self.broken)
