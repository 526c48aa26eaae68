"""Proofs about an online block: no state that a plan needs from the previous plan is lost.

Each part has a file: references that leave a window, rules over many slots, what is carried, jobs and charges.
docs/online.md says what follows from each proof; what cannot be proved and is surely wrong is an error, what may be
meant a warning.
"""

from __future__ import annotations

from gpusched_dsl.language.blocks.online.carry_analysis.boundaries import prove_edges
from gpusched_dsl.language.blocks.online.carry_analysis.carries import prove_carries
from gpusched_dsl.language.blocks.online.carry_analysis.jobs import prove_jobs
from gpusched_dsl.language.blocks.online.carry_analysis.linking import prove_ties
from gpusched_dsl.language.blocks.online.carry_analysis.slots import Seen
from gpusched_dsl.language.blocks.online.carry_analysis.totals import prove_totals
from gpusched_dsl.language.blocks.policies.inheritance import HasPolicies
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.diagnostics.errors import Diagnostics


def prove(online: CheckedOnline, diagnostics: Diagnostics, workspace: HasPolicies | None = None) -> None:
    """Report the errors between an online block and its model: GSM1642 to GSM1656.

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
