"""A loop after a recorded plan, from the latest state that can be used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.online.checkpoints.codec import DamagedState
from gpusched_dsl.online.checkpoints.loop_state import set_state
from gpusched_dsl.online.checkpoints.state_files import UNUSABLE, StateFiles
from gpusched_dsl.online.journal.chain import Json, normalise_json
from gpusched_dsl.online.journal.errors import other_run
from gpusched_dsl.online.journal.header import differences
from gpusched_dsl.online.journal.journal import Journal
from gpusched_dsl.online.journal.steps import RecordedSteps
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.loops.step_journal import StepJournal

L = TypeVar("L", bound=SimulationLoop)
Report = Callable[[Diagnostic], None]


def restored_loop(
    make_loop: Callable[[StepJournal], L],
    journal: Journal,
    header: Mapping[str, Json],
    *,
    until: float = float("inf"),
    report: Report = lambda warning: None,
) -> tuple[L, int]:
    """Return a loop with the plans of a journal, and how many records of events it has applied.

    It comes from the latest usable state before the time `until`, after the plan that was saved with it; without one
    it is at the beginning of the run. `report` gets a warning (GSM5430) for a state that is left out. Recorded plans
    are not verified again. Raises DiagnosticError as the journal does, and GSM5104 if it is that of another run:
    `header` has entries of the header that a run with the present inputs has.
    """
    recorded = {name: value for name, value in journal.header.items() if name in header}
    if changed := differences(recorded, normalise_json(dict(header))):
        raise other_run(journal.path, changed, len(journal))
    for step in reversed(StateFiles.of(journal.path).steps()):
        found = loop_before(make_loop, journal, step, until=until, report=report)
        if found is not None:
            return found
    return make_loop(RecordedSteps(journal)), 0


def loop_before(
    make_loop: Callable[[StepJournal], L],
    journal: Journal,
    step: int,
    *,
    until: float = float("inf"),
    report: Report = lambda warning: None,
) -> tuple[L, int] | None:
    """Return the loop after plan `step`, from the state before it, and how many records of events it has applied.

    None for a state that cannot be used, which is reported, and for one that is not before the time `until`.
    """
    files = StateFiles.of(journal.path)
    try:
        state = files.read(step, journal)
        if state.time >= until:
            return None
        loop = make_loop(RecordedSteps(journal, step))
        set_state(loop, state.values)
        examine, loop.examine = loop.examine, None
        loop.plan_restored(tuple(state.values["why"]))
        loop.examine = examine
        return loop, state.events
    except DamagedState as failure:
        why = str(failure)
    except DiagnosticError as failure:
        why = failure.diagnostics[0].message
    except (LookupError, TypeError, ValueError, AttributeError) as failure:  # values that no run of ours has
        why = f"{type(failure).__name__}: {failure}"
    report(_unusable(files.path(step).name, why))
    return None


def _unusable(name: str, why: str) -> Diagnostic:
    message = f"the saved state `{name}` of the run is not used: {why}"
    help = "nothing is lost: the run is repeated from an earlier state or its beginning, which takes longer"
    return Diagnostic(UNUSABLE, message, help=help, severity=Severity.WARNING)
