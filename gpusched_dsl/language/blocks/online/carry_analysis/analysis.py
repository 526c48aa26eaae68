"""Proofs about an online block: no state that a plan needs from the previous plan is lost.

Each part has a file: references that leave a window, rules over many slots, carries, jobs and charges. docs/online.md
describes the proofs. Definite losses are errors; possibly intended ones are warnings.
"""

from __future__ import annotations

from gpusched_dsl.language.blocks.online.carry_analysis.accumulation import prove_accumulation
from gpusched_dsl.language.blocks.online.carry_analysis.boundaries import prove_edges
from gpusched_dsl.language.blocks.online.carry_analysis.carries import prove_carries
from gpusched_dsl.language.blocks.online.carry_analysis.jobs import prove_jobs
from gpusched_dsl.language.blocks.online.carry_analysis.linking import prove_links
from gpusched_dsl.language.blocks.online.carry_analysis.slot_times import prove_slot_times
from gpusched_dsl.language.blocks.online.carry_analysis.slots import WindowView
from gpusched_dsl.language.blocks.online.carry_analysis.totals import prove_totals
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.errors import Diagnostics


def prove(online: CheckedOnline, diagnostics: Diagnostics, workspace: Workspace | None = None) -> None:
    """Report the errors between an online block and its model: GSM1642 to GSM1656, GSM1696.

    `workspace` has the policies that may read carried values, and the fallbacks of blocks; without it they are not
    checked.
    """
    view = WindowView.of(online)
    if online.window is not None:
        prove_edges(online, view, diagnostics)
        prove_links(online, view, diagnostics)
        prove_totals(online, view, diagnostics)
        prove_slot_times(online, view, diagnostics)
    prove_accumulation(online, view, diagnostics)
    prove_carries(online, view, diagnostics, workspace)
    prove_jobs(online, view, diagnostics, workspace)
