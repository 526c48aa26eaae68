"""Warns of online blocks and policies that read the clock although none of their scenarios states a calendar."""

from __future__ import annotations

from gpusched_dsl.language.blocks.policies.policy import lineage
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.checking.clock_functions import first_clock_function
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.diagnostic import Label, Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.calendars import EXAMPLE
from gpusched_dsl.language.scenarios.scenario import (
    CheckedScenario,
    check_scenario,
    missing_targets,
)
from gpusched_dsl.language.source import Span

MODELS = ("model", "base")  # their functions of the clock are reported with each scenario
SHOWN = 3


def warn_of_missing_calendar(
    workspace: Workspace, block: CheckedOnline | CheckedPolicy, diagnostics: Diagnostics
) -> None:
    """Report (GSM1692, warning) a block that needs dates if it has scenarios with all data, and none states a calendar.

    It is no error: `--start` with an offset gives a calendar.
    """
    need = _need(block)
    if need is None:
        return
    name = block.base.name if isinstance(block, CheckedOnline) else block.model.name
    found = _scenarios_of(workspace, name)
    if not found or any(scenario.calendar is not None for scenario in found):
        return
    what, span = need
    listed = ", ".join(f"`{scenario.name}`" for scenario in found[:SHOWN])
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    which = f"scenario {listed} states none" if len(found) == 1 else f"none of the scenarios {listed}{more} states one"
    diagnostics.error(
        "GSM1692",
        f"{what} needs a calendar, but {which}",
        span,
        "read here",
        secondary=[Label(scenario.span, "no calendar") for scenario in found[:SHOWN]],
        help=f"write in the scenario: `{EXAMPLE}`; or give a start with an offset, `--start 2026-10-05T00:00+02:00`",
        severity=Severity.WARNING,
    )


def _need(block: CheckedOnline | CheckedPolicy) -> tuple[str, Span] | None:
    """Return what reads the clock, and where; None if nothing does."""
    if isinstance(block, CheckedOnline) and block.clock_times:
        return "`replan at`", block.clock_times[0].span
    parts = tuple(getattr(block, name) for name in block.__struct_fields__ if name not in MODELS)
    function = first_clock_function(parts)
    return None if function is None else (f"`{function.name}`", function.span)


def _scenarios_of(workspace: Workspace, model: str) -> list[CheckedScenario]:
    """Return the scenarios with all data of a model and of those that extend it."""
    checked = (check_scenario(workspace, name, {}, Diagnostics()) for name in workspace.scenarios)
    return [
        scenario
        for scenario in checked
        if scenario is not None
        and model in (lineage(workspace, scenario.model.name) or ())
        and not missing_targets(scenario)
    ]
