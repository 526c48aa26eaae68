"""Campaign files in a folder, and their plans, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from gpusched_dsl.campaigns.campaign import run_campaign
from gpusched_dsl.campaigns.plan import CampaignPlan, make_plan
from gpusched_dsl.campaigns.results import CampaignResults
from gpusched_dsl.campaigns.store import Store
from gpusched_dsl.engines.inline import InlineEngine
from gpusched_dsl.engines.protocol import Engine
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace

MODEL = """
model Pack "how many of each" {
  option sizes in { plain, doubled } default plain;
  set Items;
  param worth[Items] in $ >= 0;
  param size[Items] in GB > 0;
  param room in GB >= 0;
  var take[i in Items] integer >= 0 <= 9;
  maximize gain in $ {
    sold: sum[i in Items] worth[i] * take[i];
    fee: -1[$];
  }
  constraint fits: sum[i in Items] size[i] * take[i] <= room;
  let used in GB = sum[i in Items] size[i] * take[i];
}
"""
SCENARIOS = """
import "model.gsm";
scenario Small for Pack {
  room = 7[GB];
  data "items.csv" { Items = item;  worth[item] = worth[$];  size[item] = size[GB]; }
}
scenario Other for Pack {
  room = 7[GB];
  data "others.csv" { Items = item;  worth[item] = worth[$];  size[item] = size[GB]; }
}
"""
CAMPAIGN = """
import "scenarios.gsm";
campaign Sizes "Rooms of several sizes" {
  vary space in { 5[GB], 7[GB], 9[GB] };
  room = space;
  solve Small, Other with highs, scip (gap = 0);
  measure gain, sold, used;
}
"""
FILES = {
    "model.gsm": MODEL,
    "scenarios.gsm": SCENARIOS,
    "campaign.gsm": CAMPAIGN,
    "items.csv": "item,worth,size\na,3,2\nb,5,3\n",
    "others.csv": "item,worth,size\nc,1,1\nd,9,4\n",
}


def write_files(folder: Path, changed: Mapping[str, str] | None = None) -> Path:
    """Write the files, some of them with other texts; return the file of the campaign."""
    folder.mkdir(exist_ok=True)
    for name, text in (FILES | dict(changed or {})).items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "campaign.gsm"


def plan_of(path: Path, name: str | None = None) -> CampaignPlan:
    found = Diagnostics()
    workspace = load_workspace(path, found)
    found.raise_if_errors()
    return make_plan(workspace, name)


def run_in(folder: Path, plan: CampaignPlan, engine: Engine | None = None, **options: object) -> CampaignResults:
    """Run a plan with a store in a folder, in this process unless an engine is given."""
    with Store(folder, plan.name) as store:
        return run_campaign(plan, store, engine or InlineEngine(), **options)  # type: ignore[arg-type]


def titles(plan: CampaignPlan) -> dict[str, str]:
    """Return the keys of the runs by their titles."""
    return {run.run.title: run.key for run in plan.runs}


def results_of(done: CampaignResults) -> Iterator[tuple[object, ...]]:
    """Yield all that must not depend on the engine, in the order of the grid."""
    return (done.records[run.key].outcome for run in done.plan.runs)
