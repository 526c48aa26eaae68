"""`verify=full`: a run of fast replay is simulated event by event too, and the two are compared."""

from __future__ import annotations

import math

import numpy as np

from gpusched_dsl.ir.tolerances import FEASIBILITY
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.online.run_record import RunOutcome

SAME = FEASIBILITY  # relative: the two round differently
CODE = "GSM9003"


def disagreement(replayed: RunOutcome, planned: RunOutcome) -> Diagnostic | None:
    """Return the diagnostic GSM9003 if a replay differs from the simulation by events; None if they agree."""
    differences = [] if replayed.ended == planned.ended else ["how they end"]
    for name in ("first_start", "end"):
        if not np.allclose(getattr(replayed.world, name), getattr(planned.world, name), SAME, 1e-9, equal_nan=True):
            differences.append({"first_start": "starts", "end": "ends"}[name])
    ours, theirs = replayed.world.ledger.totals, planned.world.ledger.totals
    for term in sorted({*ours, *theirs}):
        replayed_total, simulated_total = ours.get(term, 0.0), theirs.get(term, 0.0)
        if not math.isclose(replayed_total, simulated_total, rel_tol=SAME, abs_tol=1e-9):
            differences.append(f"`{term}` ({replayed_total:.9g} and {simulated_total:.9g})")
    if not differences:
        return None
    message = f"the fast replay differs from the simulation by events in {', '.join(differences)}"
    help = (
        "this is a defect of gsdsl: the result is that of the simulation by events; please report "
        "it, if possible with the input"
    )
    return Diagnostic(CODE, message, help=help)
