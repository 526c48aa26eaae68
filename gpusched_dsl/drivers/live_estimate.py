"""When will a job of a driven cluster start? The recorded run is restored, and continued by simulations from now."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import groupby

from gpusched_dsl.drivers.drive import JOURNAL, parts_of, start_of_run
from gpusched_dsl.drivers.settings import DriveSettings
from gpusched_dsl.language.workspace import Workspace
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.journal.quarantine import split_quarantined
from gpusched_dsl.online.journal.steps import RecordedSteps
from gpusched_dsl.online.live.messages import event_of
from gpusched_dsl.online.loops.external_slots import AnyExternalLoop
from gpusched_dsl.workflows.estimate import SAMPLES, Estimate, estimate_live
from gpusched_dsl.workflows.live import LiveParts
from gpusched_dsl.workflows.starts.candidates import Values


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
) -> Estimate:
    """Estimate a job of the recorded run of a cluster file from now on, also while the run continues.

    Further jobs arrive as in the past of the run, unless `arrivals` is False. In shadow mode the run is that of the
    plans, not of the cluster. Raises DiagnosticError for records that cannot be used, and as `estimate_live` does.
    """
    start = start_of_run(workspace, settings, now, create=False)
    parts = parts_of(workspace, settings, start)
    with Journal.read(settings.folder / JOURNAL) as journal:
        loop = restore_loop(parts, journal)
    seconds = parts.clock.seconds
    at = None if seconds is None else (now() - start.timestamp()) / seconds
    return estimate_live(loop, job, at=at, samples=samples, changes=changes, arrivals=arrivals, stop=stop)


def restore_loop(parts: LiveParts, journal: Journal) -> AnyExternalLoop:
    """The loop after the recorded steps of a journal, whose plans are not made or verified again."""
    loop = parts.make_loop(RecordedSteps(journal))
    examine, loop.examine = loop.examine, None
    recorded, quarantined = split_quarantined(journal.external())
    taken = [one for one in recorded if one.id not in quarantined]
    for _, batch in groupby(taken, key=lambda one: one.batch):
        if loop.step_count >= len(journal):
            break
        for one in batch:
            loop.apply(loop.check(event_of(one.content)), one.time)
        loop.decide()
        loop.decisions()
    loop.examine = examine
    return loop
