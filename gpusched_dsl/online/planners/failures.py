"""Failures of solvers in a run: which errors lead to the fallback, and the warning that counts them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from msgspec import structs

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.text.numbers import count_text
from gpusched_dsl.online.clock_time import RunClock

# The solver refuses the problem, ends without an answer, gives a wrong one, or crashes. All others are about the model,
# its data or the options of the solver: no later plan would be better.
OF_SOLVING: Final = frozenset({"GSM4006", "GSM4007", "GSM4008", "GSM4009", "GSM4017"})


# A program ends a simulated run, whose costs are compared; in a live run the cluster goes on.
OF_LIVE_PLANS: Final = OF_SOLVING | {"GSM7012", "GSM7013"}


def is_of_solving(error: DiagnosticError, codes: frozenset[str] = OF_SOLVING) -> bool:
    """Whether the error concerns one solve and not the request."""
    return all(diagnostic.code in codes for diagnostic in error.diagnostics)


@dataclass(frozen=True, slots=True)
class Failures:
    """So many plans of one method failed with errors of one code; `first` is that at `time`."""

    method: str
    first: Diagnostic
    time: float
    count: int = 1

    def count_another(self) -> Failures:
        return replace(self, count=self.count + 1)

    def warning(self, fallback: str | None, clock: RunClock) -> Diagnostic:
        """Return the first error as a warning, with the outcome of the plans."""
        at = f"the first at {clock.text(self.time)}"
        notes = (*self.first.notes, f"{count_text(self.count, 'plan')} of `{self.method}` failed like this, {at}")
        instead = "running jobs continued" if fallback in (None, self.method) else f"`{fallback}` planned instead"
        help = instead if self.first.help is None else f"{instead}; {self.first.help}"
        return structs.replace(self.first, notes=notes, help=help, severity=Severity.WARNING)
