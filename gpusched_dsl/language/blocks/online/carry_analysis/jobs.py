"""Jobs, times and charges: plans get the progress of jobs, every slot has a plan, and amounts are charged once."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.language.blocks.online.carry_analysis.slots import WindowView
from gpusched_dsl.language.blocks.online.slot_counts import slot_count_errors
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.checked import (
    CheckedPlacementItem,
    Constant,
    IndexRef,
    NamedSet,
    Negate,
    Reduction,
    TypedExpr,
)
from gpusched_dsl.language.checked_online import CheckedCharge, CheckedOnline
from gpusched_dsl.language.checking.walk import walk
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.diagnostic import Label, Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.units import UNITS, Unit

_LOST = {
    "lasts": ("the remaining time of a job does not decrease with its progress", "remaining"),
    "due": ("the time until a job is due does not decrease with time", "now"),
}


def prove_jobs(online: CheckedOnline, view: WindowView, diagnostics: Diagnostics, workspace: Workspace | None) -> None:
    """Report GSM1650 and GSM1651 (progress), GSM1652 (times), GSM1654 (charges) and GSM1655 (fallback)."""
    jobs = _Jobs(online, view, diagnostics)
    if online.arrival is not None:
        if online.window is None:
            jobs.check_times()
        else:
            jobs.check_progress()
    for error in slot_count_errors(online, _number):
        diagnostics.add(error)
    for charge in online.charges:
        jobs.check_charge(charge)
    if workspace is not None and online.fallback is not None and online.fallback in workspace.policies:
        jobs.check_fallback(workspace, online.fallback)


@dataclass
class _Jobs:
    online: CheckedOnline
    view: WindowView
    diagnostics: Diagnostics

    # --- progress ----------------------------------------------------------------------------------------------------

    def check_times(self) -> None:
        """Check that the times of the placement depend on a carried value."""
        placement = self.online.base.placement
        assert self.online.arrival is not None
        for item in placement.all("lasts", "due") if placement is not None else ():
            if self.view.carried_params(item.value) or not self._of_jobs(item):
                continue
            what, clock_name = _LOST[item.role]
            clock_text = f"{clock_name}[{self.online.arrival.job.name}]" if clock_name == "remaining" else clock_name
            self.diagnostics.error(
                "GSM1650",
                f"{what}: `{item.role}` reads no carried value",
                item.value.span,
                "the same in every plan",
                secondary=[Label(self.online.arrival.span, f"jobs arrive in `{self.online.name}`")],
                help=f"carry a parameter that it reads, with `{clock_text}` on the right side",
                severity=Severity.WARNING,
            )

    def _of_jobs(self, item: CheckedPlacementItem) -> bool:
        """Whether an item depends on the job: a time that is equal for all jobs is that of a round."""
        placement = self.online.base.placement
        job = placement.value("job") if placement is not None else None
        names = set() if job is None else {p.variable for p in walk(job) if isinstance(p, IndexRef)}
        return any(isinstance(p, IndexRef) and p.variable in names for p in walk(item.value))

    def check_progress(self) -> None:
        """Check that a block with slots states the progress of a job per slot. A run refuses blocks reported here."""
        missing = [name for name, value in (("work", self.online.work), ("speed", self.online.speed)) if value is None]
        if not missing:
            return
        assert self.online.arrival is not None
        assert self.online.window is not None
        words = " and ".join(f"`{m}`" for m in missing)
        self.diagnostics.error(
            "GSM1651",
            f"jobs arrive in `{self.online.name}`, but their progress per slot is unknown: {words} "
            f"{'is' if len(missing) == 1 else 'are'} missing",
            self.online.arrival.span,
            "the progress of these jobs is unknown",
            secondary=[Label(self.online.window.span, "time advances in slots")],
            help="state both: `work epochs[b];` and `speed slot / epoch_time[b, k];`",
            severity=Severity.WARNING,
        )

    # --- charges -----------------------------------------------------------------------------------------------------

    def check_charge(self, charge: CheckedCharge) -> None:
        per = dict(charge.unit.dimension).get("time", 0)
        if self.online.window is not None:
            if per < 0:
                self._report_unit(
                    charge, f"is a rate, in `{charge.unit}`", "multiply by the length of a slot", "by slots"
                )
            elif not self._of_slots(charge):
                self._report_unit(
                    charge,
                    "is charged for every plan, independent of the number of executed slots",
                    "add up over the slots: `sum[h in Slots] ...`",
                    "by slots",
                    Severity.WARNING,
                )
            elif not self._of_executed_slots(charge):
                self._report_unit(
                    charge,
                    "is charged for all slots of the window, executed or not",
                    f"only `{self.view.slots}` contains just the executed slots: add `where h in {self.view.slots}`",
                    "by slots",
                )
        elif per >= 0 and charge.unit.dimension:
            self._report_unit(
                charge,
                f"is an amount, in `{charge.unit}`, without a duration",
                f"state a rate, in `{_per_hour(charge.unit)}`: it is charged for the duration of each plan",
                "by events",
            )

    def _of_slots(self, charge: CheckedCharge) -> bool:
        if self.view.slot_variables(charge.indexing):
            return True
        return any(
            isinstance(p, Reduction) and self.view.slot_variables(p.indexing) for p in self.view.with_lets(charge.value)
        )

    def _of_executed_slots(self, charge: CheckedCharge) -> bool:
        """Whether an index list or a condition names the set of slots itself."""
        parts = [*self.view.with_lets(charge.value), *(i.domain for i in charge.indexing.iterators)]
        return any(isinstance(p, NamedSet) and p.name == self.view.slots for p in parts)

    def _report_unit(
        self, charge: CheckedCharge, what: str, help: str, how: str, severity: Severity = Severity.ERROR
    ) -> None:
        window = self.online.window
        place = Label(self.online.span if window is None else window.span, f"`{self.online.name}` goes {how}")
        self.diagnostics.error(
            "GSM1654", f"`{charge.name}` {what}", charge.value.span, "", secondary=[place], help=help, severity=severity
        )

    # --- fallback ----------------------------------------------------------------------------------------------------

    def check_fallback(self, workspace: Workspace, name: str) -> None:
        """Check that a policy of the text fits the model; a policy of the library is checked when the block runs."""
        policy = workspace.policies[name]
        diagnostics = Diagnostics()
        check_policy(workspace, policy, diagnostics, self.online.base)
        own_diagnostics = Diagnostics()
        check_policy(workspace, policy, own_diagnostics)
        error = next((d for d in diagnostics if d.severity is Severity.ERROR), None)
        if error is None or own_diagnostics.has_errors:  # errors of the policy itself are reported there
            return
        self.diagnostics.error(
            "GSM1655",
            f"the fallback of `{self.online.name}` is `{name}`, which is not a policy for `{self.online.base.name}`",
            self.online.span,
            "used if no plan is found in time",
            secondary=[Label(policy.name.span, "this policy")],
            notes=[error.message],
            help=f"name a policy for `{self.online.base.name}`",
        )


def _number(expr: TypedExpr) -> float | None:
    match expr:
        case Constant(value=value):
            return value
        case Negate(operand=operand):
            inner = _number(operand)
            return None if inner is None else -inner
    return None


def _per_hour(unit: Unit) -> str:
    return str(unit / UNITS["h"])
