"""A value that is better than a bound of it: one of the two is wrong, so neither is to be trusted."""

from __future__ import annotations

from typing import Final

from gpusched_dsl.ir.tolerances import FEASIBILITY
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.text.numbers import with_unit

CODE: Final = "GSM9002"
REMARK: Final = "better than its bound: do not trust this value"
# Of the larger of the two. Rows are satisfied within 1e-6 and jobs end within 1e-9 of their work: beyond, no rounding.
TOLERANCE: Final = FEASIBILITY


def beats(value: float | None, bound: float | None, *, minimise: bool = True, slack: float = 0.0) -> bool:
    """Whether a value is better than a bound by more than rounding: `TOLERANCE` of them, and `slack` in their unit."""
    if value is None or bound is None:
        return False
    better = bound - value if minimise else value - bound
    return better > TOLERANCE * max(abs(bound), abs(value)) + slack + 1e-9


def contradiction(what: str, value: float, bound: float, unit: str, bound_by: str) -> Diagnostic:
    """Return the diagnostic GSM9002. `what` names the value: `the total of FIFO`."""
    shown, least = with_unit(f"{value:.9g}", unit), with_unit(f"{bound:.9g}", unit)
    return Diagnostic(
        CODE,
        f"{what} is {shown}, better than its bound {least}: one of them is wrong",
        notes=(f"the bound: {bound_by}",),
        help="this is a defect of gsdsl: do not use these numbers, and please report it, if possible with the input",
    )
