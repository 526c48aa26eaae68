"""The meaning of the slot of a placement: a slot that the job occupies, or the slot in which it starts.

`lasts` decides. Where it is the length of a slot (it may read the slot, and nothing else that is decided), a 1 of the
variable is one occupied slot. Where it reads the job or the node, it is the time of the job, and the slot is its start.
"""

from __future__ import annotations

from gpusched_dsl.compiling.evaluation.free_variables import free_variables
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError


def slot_is_start(policy: CheckedPolicy) -> bool:
    """Whether the slot is the start of a job. Raises DiagnosticError (GSM3016) before anything is planned.

    Refused are placements without `lasts`, and rules that cut a job into pieces where only its start is decided.
    """
    placement = policy.model.placement
    assert placement is not None
    lasts = placement.value("lasts")
    if lasts is None:
        message = (
            "the placement does not state `lasts`, so the meaning of its slot is unknown: the "
            "start of a job, or an occupied slot"
        )
        help = "state the length of one slot if the job occupies it, the time of the job if the job starts in it"
        raise DiagnosticError([Diagnostic("GSM3016", message, placement.span, "no `lasts`", help=help)])
    if all(variable is placement.index("slot") for variable in free_variables(lasts)):
        return False
    for rule in policy.place:
        if rule.name == "cheapest_slots":
            message = (
                f"`cheapest_slots` selects single slots, but `{placement.variable}` decides only the start of a job"
            )
            help = "remove it: `cheapest_block` and `start_now` run a job without a break"
            label = "the slot of the placement is a start because `lasts` is the time of the job"
            raise DiagnosticError([Diagnostic("GSM3016", message, lasts.span, label, help=help)])
    return True
