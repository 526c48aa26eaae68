"""One element of every class represents all: sizes, rows and objectives of random and of shipped models."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
import sharing_cases
from alike import check_alike
from capacity_cases import settings, write_cases, write_zoned
from rented import rented
from summing import case, case_of, workspace
from workshop import random_workshop

from gpusched_dsl.compiling.interchangeable.generic import Obstacle

MODELS = Path(__file__).resolve().parents[3] / "models"


def test_workshops(tmp_path: Path) -> None:
    several = 0
    for seed in range(8):
        made = case_of(tmp_path, random_workshop(Random(seed)), "Machines")
        several += 1 < made.small.classes.count < len(made.small.classes.of)
        check_alike(made, seed, seed)
    assert several > 0


@pytest.mark.parametrize("model", ["CapacityPlanning", "CapacityPlanningPrinted"])
def test_capacity_planning(tmp_path: Path, model: str) -> None:
    loaded = workspace(write_cases(tmp_path, range(4), model))
    for seed in range(4):
        own = settings(seed) if model == "CapacityPlanning" else {}
        check_alike(case(loaded, "Nodes", f"Seed{seed}", own), seed)


def test_capacity_planning_with_several_classes(tmp_path: Path) -> None:
    loaded = workspace(write_zoned(tmp_path, range(4)))
    for seed in range(4):
        check_alike(case(loaded, "Nodes", f"Seed{seed}", settings(seed)), seed)


def test_gpu_sharing(tmp_path: Path) -> None:
    loaded = workspace(sharing_cases.write_cases(tmp_path, range(6)))
    found = 0
    for seed in range(6):
        try:
            made = case(loaded, "Nodes", f"Seed{seed}", sharing_cases.settings(seed))
        except Obstacle:
            assert sharing_cases.settings(seed)["node_rule"] == "work_conserving"
            continue
        found += 1
        check_alike(made, seed)
    assert found > 3


SHIPPED = {
    "capacity_planning/scenarios/figure1.gsm": ("Figure1", {}),
    "gpu_sharing/scenarios/cluster_10x20.gsm": ("Sharing10x20", {"node_rule": "none", "energy_horizon": "full_run"}),
    "capacity_planning/scenarios/gavel_40_jobs.gsm": (None, {}),
}


@pytest.mark.parametrize("file", SHIPPED)
def test_shipped_models(file: str) -> None:
    scenario, own = SHIPPED[file]
    check_alike(case(workspace(MODELS / file), "Nodes", scenario, own), file)


ROWS = {
    "constants are added up over a class": ("", "constraint c: sum[m in Machines] (size[m] - on[m]) >= 1;"),
    "what no element indexes, once for each": ("var level >= 0;", "constraint c: sum[m in Machines] level >= 4;"),
    "an element picked out by equality": (
        "",
        "constraint c[m in Machines]: sum[j in Jobs, k in Machines where k == m] does[j, k] <= on[m];",
    ),
    "an element turned round": ("", "constraint c[m in Machines]: sum[k in Machines where m == k] on[k] <= 1;"),
    "lets of an element": (
        "let busy[m in Machines] = sum[j in Jobs] does[j, m];",
        "constraint c[m in Machines]: busy[m] <= on[m]; constraint d: sum[m in Machines] size[m] * busy[m] <= 9;",
    ),
    "a let over all elements in rows of none": (
        "let every = sum[m in Machines] on[m]; let more = 2 * every + 1;",
        "constraint c[j in Jobs]: sum[m in Machines] does[j, m] <= more; constraint d: every >= 1;",
    ),
    "sums of data over elements": (
        "",
        "constraint c[m in Machines]: on[m] <= sum[k in Machines] size[k] + max[k in Machines] size[k];",
    ),
    "a subset": (
        "set Big = { m in Machines where size[m] > 1 };",
        "constraint c[m in Big]: on[m] <= 1; constraint d: sum[m in Big] on[m] >= 1;",
    ),
    "pairs": (
        "set Able = { (j, m) : j in Jobs, m in Machines where size[m] >= need[j] };",
        "constraint c[(j, m) in Able]: does[j, m] <= 1; constraint d: sum[(j, m) in Able] does[j, m] >= 1;"
        "constraint e[m in Machines]: sum[(j, k) in Able where k == m] does[j, k] <= 1;",
    ),
    "two sides": ("", "constraint c: 1 <= sum[m in Machines] size[m] * on[m] <= 2 + sum[m in Machines] on[m];"),
    "a sum in a sum": ("", "constraint c: sum[j in Jobs] need[j] * sum[m in Machines] does[j, m] >= 1;"),
    "a sum of an element in a sum": (
        "let got[m in Machines] = sum[j in Jobs] does[j, m];",
        "constraint c: sum[m in Machines] (got[m] + sum[j in Jobs] does[j, m]) >= 1;",
    ),
}


@pytest.mark.parametrize("what", ROWS)
def test_rows(tmp_path: Path, what: str) -> None:
    declared, rows = ROWS[what]
    text = rented(declared, rows, "table Machines: size = p 1 q 2 r 2 s 1 t 1; need = 2;", machines="")
    text = text.replace("need = 2;", "").replace("need[Jobs] default 1", "need[Jobs] default 2")
    made = case_of(tmp_path, text, "Machines")
    assert made.small.classes.count == 2
    check_alike(made, what)
