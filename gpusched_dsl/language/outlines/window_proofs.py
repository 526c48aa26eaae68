"""What is proved of an online block: that nothing that a plan must know of the last one is lost on the way.

Each part has a file: references that leave a window, rules over many slots, what is carried, jobs and charges.
docs/online.md says what follows from each proof; what cannot be proved and is surely wrong is an error, what may be
meant a warning.
"""

from __future__ import annotations

from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.diagnostics import Diagnostics
from gpusched_dsl.language.outlines.policy_lines import HasPolicies
from gpusched_dsl.language.outlines.window_proofs_carries import prove_carries
from gpusched_dsl.language.outlines.window_proofs_edges import prove_edges
from gpusched_dsl.language.outlines.window_proofs_jobs import prove_jobs
from gpusched_dsl.language.outlines.window_proofs_slots import Seen
from gpusched_dsl.language.outlines.window_proofs_ties import prove_ties
from gpusched_dsl.language.outlines.window_proofs_totals import prove_totals


def prove(online: CheckedOnline, diagnostics: Diagnostics, workspace: HasPolicies | None = None) -> None:
    """Report what is wrong between an online block without errors and its model: GSM1642 to GSM1656.

    `workspace` has the policies that may read what is carried, and that a block may fall back on; without it nothing is
    said of them.
    """
    seen = Seen.by(online)
    if online.window is not None:
        prove_edges(online, seen, diagnostics)
        prove_ties(online, seen, diagnostics)
        prove_totals(online, seen, diagnostics)
    prove_carries(online, seen, diagnostics, workspace)
    prove_jobs(online, seen, diagnostics, workspace)
