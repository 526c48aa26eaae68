"""`verify=full`: a run of fast replay is simulated event by event too, and the two are compared."""

from __future__ import annotations

import math

import numpy as np

from gpusched_dsl.ir.tolerances import FEASIBILITY
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.online.run_record import RunOutcome

SAME = FEASIBILITY  # relative: the two round otherwise
CODE = "GSM9003"


def disagreement(replayed: RunOutcome, planned: RunOutcome) -> Diagnostic | None:
    """The finding GSM9003 where a replay is not the run event by event; None where it is."""
    differs = [] if replayed.ended == planned.ended else ["how they end"]
    for name in ("first_start", "end"):
        if not np.allclose(getattr(replayed.world, name), getattr(planned.world, name), SAME, 1e-9, equal_nan=True):
            differs.append({"first_start": "starts", "end": "ends"}[name])
    ours, theirs = replayed.world.ledger.totals, planned.world.ledger.totals
    for term in sorted({*ours, *theirs}):
        one, other = ours.get(term, 0.0), theirs.get(term, 0.0)
        if not math.isclose(one, other, rel_tol=SAME, abs_tol=1e-9):
            differs.append(f"`{term}` ({one:.9g} and {other:.9g})")
    if not differs:
        return None
    message = f"the fast replay differs from the simulation by events in {', '.join(differs)}"
    help = (
        "this is a defect of gsdsl: the result is that of the simulation by events; please report "
        "it, if possible with the input"
    )
    return Diagnostic(CODE, message, help=help)
