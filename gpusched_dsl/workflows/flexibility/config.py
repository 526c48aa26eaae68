"""What is asked about the flexibility of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

CODE = "GSM4025"  # no day, slot or power to compute with
STEPS = 4


@dataclass(frozen=True, slots=True)
class Day:
    """A realised day: a scenario (None: the scenario of the question) with settings."""

    label: str
    scenario: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlexibilityConfig:
    """The slots of the event, as `68..75` or `17:00..19:00`, the days, and the share of them that must shed.

    `offers` are in kW, or in the unit of a power without a unit; None: `steps` equal parts of what is guaranteed.
    `power` names the variable or `let` of the power by slot, None if there is only one. `notice` is the time from the
    announcement to the first slot of the event: slots, or a duration such as `2h`; None: before the first slot.
    `baseline` is the method of the plans without the event; None: the solver, at least cost.
    """

    event: str
    days: tuple[Day, ...]
    probability: float = 1.0
    offers: tuple[float, ...] | None = None
    steps: int = STEPS
    power: str | None = None
    notice: str | None = None
    baseline: str | None = None

    def __post_init__(self) -> None:
        findings = []
        if not self.days:
            findings.append(_error("there are no days", "a guarantee needs at least one day: see `--days`"))
        if not 0.0 < self.probability <= 1.0:
            message = f"the probability must be above 0 and at most 1, it is {self.probability:g}"
            findings.append(_error(message, "write a share of the days, such as 0.95 or 95%"))
        offers = (1.0,) if self.offers is None else self.offers
        if not offers or not all(0.0 < offer < float("inf") for offer in offers):
            findings.append(_error("offers must be positive numbers of kW", "such as `--offers 0.5,1,2`"))
        if self.steps < 1:
            findings.append(_error("the number of offers must be at least 1", "write `--steps 4`"))
        if findings:
            raise DiagnosticError(findings)


def _error(message: str, help: str) -> Diagnostic:
    return Diagnostic(CODE, message, help=help)
