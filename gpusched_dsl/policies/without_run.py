"""The refusal of portfolios where there is no run over time."""

from __future__ import annotations

from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


def portfolio_without_run(policy: CheckedPolicy) -> DiagnosticError:
    """GSM7015: a portfolio outside of a run by events has no futures to simulate."""
    message = f"the portfolio `{policy.name}` compares plans over a run, and there is none"
    help = "run an online block that plans at events, `gsdsl run FILE --method NAME`; or solve with one of its policies"
    return DiagnosticError([Diagnostic("GSM7015", message, policy.span, "a portfolio", help=help)])
