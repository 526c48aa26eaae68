"""What a policy decides: a plan as values of the variables of its model, or the refusal of a portfolio."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpusched_dsl.compiling.lowering.fixing import VariableValues
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


@dataclass(frozen=True, eq=False)
class Decision:
    """The plan of a policy as values of variables, and its origin.

    `seconds` are those of the whole decision; `price` is what the engine took the plan to cost, NaN where it does not
    price; the model prices it again. `statistics` are counts and seconds, such as `iterations` and `compile_seconds`.
    For the next plan: `again`, in how long jobs want one (codes of jobs, the unit of `now`), and `remembered` values of
    parameters of jobs. `bound` is the bound on the first objective of the model that the prices of the policy prove,
    None for other policies. `outside` are values of the plan that the model has no elements for, so they are not in
    `values`. `obeys_rows`: the rows of the model that roles do not imply were evaluated, and the plan breaks none.
    """

    values: Mapping[str, VariableValues]
    seconds: float = 0.0
    price: float = float("nan")
    statistics: Mapping[str, float] = field(default_factory=dict)
    stopped: bool = False
    again: VariableValues | None = None
    remembered: Mapping[str, VariableValues] = field(default_factory=dict)
    bound: float | None = None
    outside: Mapping[str, VariableValues] = field(default_factory=dict)
    obeys_rows: bool = False


def portfolio_without_run(policy: CheckedPolicy) -> DiagnosticError:
    """GSM7015: a portfolio outside of a run by events has no futures to simulate."""
    message = f"the portfolio `{policy.name}` compares plans over a run, and there is none"
    help = "run an online block that plans at events, `gsdsl run FILE --method NAME`; or solve with one of its policies"
    return DiagnosticError([Diagnostic("GSM7015", message, policy.span, "a portfolio", help=help)])
