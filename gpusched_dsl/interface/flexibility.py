"""The part of a `Model` that asks how much power its cluster can shed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpusched_dsl.interface.runs import ModelRuns
from gpusched_dsl.interface.scenarios import Setting
from gpusched_dsl.solving.option_checks import check_values, plain_number, solve_options

if TYPE_CHECKING:
    from gpusched_dsl.reporting.flexibility import Flexibility
    from gsdsl_backends.protocol import Monitor


class ModelFlexibility(ModelRuns):
    """The power that can be shed in some slots."""

    def flexibility(
        self,
        event: str,
        scenario: str | None = None,
        *,
        days: Sequence[str | Mapping[str, Setting]] | str | Path | None = None,
        probability: float = 1.0,
        offers: Sequence[float] | None = None,
        steps: int = 4,
        power: str | None = None,
        notice: int | str | None = None,
        baseline: str | None = None,
        method: str = "highs",
        gap: float = 1e-4,
        time_limit: float | None = None,
        threads: int | None = None,
        seed: int = 0,
        settings: Mapping[str, Setting] | None = None,
        solver_options: Mapping[str, bool | int | float | str] | None = None,
        without: Collection[str] = (),
        monitor: Monitor | None = None,
    ) -> Flexibility:
        """Return how much power can be shed in the slots of `event`, at what cost, and which jobs move.

        `event` has the first and the last slot, `"68..75"`, or times from the start of slot 0, `"17:00..19:00"`. `days`
        are realised days: names of scenarios, settings (with `scenario` for another scenario and `day` for a label), or
        a text as in the command line: `"seed=1..20"`, or the path of a CSV file. By default there is one day, the
        scenario. On each day the shed is measured against the day's own plan without the event.

        `.guaranteed` is the largest shed in kW that at least the share `probability` of the days can keep in every
        slot of the event; `.table` has the cost of `offers` (in kW; by default `steps` equal parts of the
        guarantee) and their marginal prices, `.day_table` the days, `.moves` the decisions that differ. `power` names
        the variable or `let` of the power by slot, which is not needed if there is only one. With `notice`, a number
        of slots or a duration such as `"2h"`, decisions in earlier slots are those of the plan without the event.
        `baseline` is the policy or solver that makes this plan, by default `method`, at least cost.

        Time limit and gap are those of each solve. Raises DiagnosticError: GSM4025 for a model without slots or
        without a power by slot, without a day, or with a probability outside (0, 1], GSM4026 for an event outside of
        the horizon, GSM4027 for days that cannot be read; and as `solve` does.
        """
        values = check_values("flexibility", locals())
        from gpusched_dsl.workflows.flexibility.asked import FlexibilityConfig, plain_days, read_days
        from gpusched_dsl.workflows.flexibility.run import flexibility, solver_named

        if days is None or isinstance(days, str | Path):
            chosen = read_days(() if days is None else (str(days),))
        else:
            chosen = plain_days(day if isinstance(day, str) else _texts(day) for day in days)
        config = FlexibilityConfig.of(values, chosen)
        checked = self._select(self._scenario(chosen[0].scenario if scenario is None else scenario, settings))
        return flexibility(checked, config, solver_named(method), solve_options(values), monitor=monitor)


def _texts(day: Mapping[str, Setting]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else repr(plain_number(value)) for name, value in day.items()}
