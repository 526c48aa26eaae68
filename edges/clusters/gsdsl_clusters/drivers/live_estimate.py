"""When will a job of a driven cluster start, and why does it wait? The recorded run is restored, and continued."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.checkpoints.restoring import restored_loop
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.journal.quarantine import split_quarantined
from gpusched_dsl.online.live.messages import event_of
from gpusched_dsl.online.loops.external import ExternalEventLoop
from gpusched_dsl.online.loops.external_slots import AnyExternalLoop
from gpusched_dsl.online.simulation.world import STATES, WAITING
from gpusched_dsl.solving.variants.solver import VariantSolver
from gpusched_dsl.workflows.estimate import SAMPLES, Estimate, estimate_live
from gpusched_dsl.workflows.live import LiveParts
from gpusched_dsl.workflows.past_starts import check_starts
from gpusched_dsl.workflows.start_changes import Values
from gpusched_dsl.workflows.why import DecisionExplanation, explain_live
from gsdsl_clusters.drivers.drive import JOURNAL, parts_of, start_of_run
from gsdsl_clusters.drivers.settings import DriveSettings


def estimate_driven(
    workspace: Workspace,
    settings: DriveSettings,
    job: str,
    *,
    samples: int = SAMPLES,
    changes: Sequence[Values] | None = None,
    arrivals: bool = True,
    stop: Callable[[], bool] | None = None,
    now: Callable[[], float] = time.time,
    report: Callable[[Diagnostic], None] = lambda warning: None,
) -> Estimate:
    """Estimate a job of the recorded run of a cluster file from now on, also while the run continues.

    Further jobs arrive as in the past of the run, unless `arrivals` is False. In shadow mode the run is that of the
    plans, not of the cluster. The start of a waiting job is checked on the past of the run, if its block plans at
    events. `report` gets a warning for a saved state that cannot be used. Raises DiagnosticError for
    records that cannot be used, and as `estimate_live` does.
    """
    start = start_of_run(workspace, settings, now, create=False)
    parts = parts_of(workspace, settings, start)
    seconds = parts.clock.seconds
    with Journal.read(settings.folder / JOURNAL) as journal:
        loop = restore_loop(parts, journal, report)
        at = None if seconds is None else (now() - start.timestamp()) / seconds
        found = estimate_live(loop, job, at=at, samples=samples, changes=changes, arrivals=arrivals, stop=stop)
        if found.state != STATES[WAITING] or seconds is None or not isinstance(loop, ExternalEventLoop):
            return found
        check = check_starts(
            parts, journal, loop.world, found.at, found.start, found.plans, arrivals=arrivals,
            stop=stop or (lambda: False),
        )  # fmt: skip
    return replace(found, check=check)


def explain_driven(
    workspace: Workspace,
    settings: DriveSettings,
    job: str,
    *,
    solver: VariantSolver | str = "highs",
    now: Callable[[], float] = time.time,
    report: Callable[[Diagnostic], None] = lambda warning: None,
) -> DecisionExplanation:
    """Explain the last plan of the recorded run of a cluster file for a job, also while the run continues.

    Raises DiagnosticError for records that cannot be used, and as `explain_live` does.
    """
    parts = parts_of(workspace, settings, start_of_run(workspace, settings, now, create=False))
    with Journal.read(settings.folder / JOURNAL) as journal:
        loop = restore_loop(parts, journal, report)
    return explain_live(loop, job, solver=solver)


def restore_loop(
    parts: LiveParts, journal: Journal, report: Callable[[Diagnostic], None] = lambda warning: None
) -> AnyExternalLoop:
    """The loop after the records of a journal, whose plans are not made or verified again.

    It goes on from the latest saved state, if there is one; `report` gets a warning for one that cannot be used.
    """
    loop, applied = restored_loop(parts.make_loop, journal, parts.header, report=report)
    examine, loop.examine = loop.examine, None
    recorded, quarantined = split_quarantined(journal.external(applied + 1))
    taken = [one for one in recorded if one.id not in quarantined]
    for _, batch in groupby(taken, key=lambda one: one.batch):
        for one in batch:
            loop.apply(loop.check(event_of(one.content)), one.time)
        loop.decide()
        loop.decisions()
    loop.examine = examine
    return loop
