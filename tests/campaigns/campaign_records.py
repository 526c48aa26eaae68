"""Plans of campaigns with records of known numbers, without running anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from campaign_files import MODEL, SCENARIOS, plan_of, write_files

from gpusched_dsl.campaigns.plan import CampaignPlan
from gpusched_dsl.campaigns.tasks import DONE, FAILED, RunRecord, StoredDiagnostic
from gpusched_dsl.language.blocks.campaigns.grid import GridRun

HOSTILE = "<img src=x onerror=attack()>"
GRID = """
import "scenarios.gsm";
campaign Sizes "Rooms & <b>sizes</b>" {
  vary space in { 5[GB], 7[GB], 9[GB] };
  vary seed in 1..6;
  room = space;
  solve Small, Other with highs, scip (gap = 0);
  measure gain, used;
}
"""
OTHER = "campaign Other for Pack { solve Small with highs; }\n"


def made(
    tmp_path: Path, text: str, value: Callable[[GridRun], float | None], gain_name: str = "gain"
) -> tuple[CampaignPlan, dict[str, RunRecord]]:
    """A plan, and a record for each run: its gain is `value`, a failure if that is None. The gain may be renamed."""
    texts = {"campaign.gsm": text, "model.gsm": MODEL, "scenarios.gsm": SCENARIOS + OTHER}
    plan = plan_of(write_files(tmp_path, {name: text.replace("gain", gain_name) for name, text in texts.items()}))
    records = {}
    for planned in plan.runs:
        gain = value(planned.run)
        if gain is None:
            problem = StoredDiagnostic(code="GSM4004", message=f"no {HOSTILE}")
            records[planned.key] = RunRecord(key=planned.key, state=FAILED, diagnostics=[problem])
        else:
            records[planned.key] = RunRecord(
                key=planned.key, state=DONE, objective=gain, unit="$", seconds=2.0,
                metrics={gain_name: gain, "used": 1.5}, units={gain_name: "$", "used": "GB"},
            )  # fmt: skip
    return plan, records


def gain_of(run: GridRun) -> float:
    """Falls with the space; Other is 100 more, scip 1 more at odd seeds only."""
    size = float(run.factors["space"].number)  # type: ignore[union-attr]
    return 100.0 * (run.scenario == "Other") - 2 * size + 0.1 * run.seed + (run.label == "scip" and run.seed % 2)
