"""Plans: values of the variables of a model, and their origin; and the refusal of a portfolio outside of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gpusched_dsl.compiling.lowering.fixing import PlanValues, VariableValues
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

VIOLATES: Final = "violates the model, by "  # a note of such a plan, or of one in place of it


@dataclass(frozen=True, eq=False)
class Plan:
    """Values of variables in codes of an instance, and their origin: a policy, a solver or a program.

    `seconds` are those of the whole decision. `objective` and `bound` are what the method claims, None where it claims
    nothing; the model prices a plan again. For the next plan: `again`, in how long jobs want one (codes of jobs, the
    unit of `now`), and `remembered` values of parameters of jobs. `obeys_roles`: the rules of a policy have verified
    that the plan obeys the roles of the placement; `obeys_rows`: and all other rows, as the check of plans would find
    out again. Of a policy, `statistics` are counts and seconds, such as `iterations` and `compile_seconds`, `stopped`
    is whether it was asked to end early, and `outside` are values that the model has no elements for, so they are not
    in `values`.
    """

    values: PlanValues
    method: str = ""
    status: str = "feasible"
    seconds: float = 0.0
    objective: float | None = None
    bound: float | None = None
    again: VariableValues | None = None
    remembered: Mapping[str, VariableValues] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    obeys_roles: bool = False
    obeys_rows: bool = False
    statistics: Mapping[str, float] = field(default_factory=dict)
    stopped: bool = False
    outside: PlanValues = field(default_factory=dict)

    @property
    def violation(self) -> str:
        """Return which row or bound of the model this plan, or the refused one in place of it, violates; else ""."""
        return next((note.removeprefix(VIOLATES) for note in self.notes if note.startswith(VIOLATES)), "")


def portfolio_without_run(policy: CheckedPolicy) -> DiagnosticError:
    """GSM7015: a portfolio outside of a run by events has no futures to simulate."""
    message = f"the portfolio `{policy.name}` compares plans over a run, and there is none"
    help = "run an online block that plans at events, `gsdsl run FILE --method NAME`; or solve with one of its policies"
    return DiagnosticError([Diagnostic("GSM7015", message, policy.span, "a portfolio", help=help)])
