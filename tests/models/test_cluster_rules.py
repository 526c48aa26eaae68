"""models/cluster: each rule alone and all rules together, by solvers against enumeration, and obeyed by policies."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cluster_rules import RULES, Instance, Job, Node, Plan, Window, draw

import gpusched_dsl as gs
from gpusched_dsl.cli import main
from gpusched_dsl.reporting.result import Result

POLICIES = ("FIFO", "Backfilling", "Priority", "PriorityEASY", "SlurmFairShare", "EASY", "Conservative", "FairShare")
CASES = [*((rule,) for rule in RULES), RULES, ()]
NAMES = {rules: "".join(rules).replace("_", "") if len(rules) == 1 else f"All{len(rules)}" for rules in CASES}


def load(folder: Path, instance: Instance) -> gs.Model:
    texts = [instance.text(NAMES[rules], rules) for rules in CASES]
    path = folder / "cluster.gsm"
    path.write_text('import "gsdsl:cluster/policies.gsm";\n' + "".join(texts))
    return gs.load(path)


def plan_of(result: Result) -> Plan:
    plan: dict[str, dict[str, int]] = {}
    for job, node, workers in result["worker"].rows():
        if workers:
            plan.setdefault(job, {})[node] = round(workers)
    return plan


def check_solvers(folder: Path, seed: int, backends: tuple[str, ...]) -> None:
    instance = draw(seed)
    model = load(folder, instance)
    for rules in CASES:
        best = instance.least_cost(rules)
        for backend in backends:
            result = model.solve(NAMES[rules], backend, gap=0)
            assert result.status == "optimal", (seed, rules, backend)
            plan = plan_of(result)
            assert list(instance.broken(plan, rules)) == [], (seed, rules, backend)
            assert result.objective == pytest.approx(best), (seed, rules, backend)
            assert instance.cost(plan) == pytest.approx(best), (seed, rules, backend)


def check_policies(folder: Path, seed: int, policies: tuple[str, ...]) -> None:
    instance = draw(seed)
    model = load(folder, instance)
    for rules in CASES:
        for policy in policies:
            result = model.solve(NAMES[rules], policy)
            assert result.status == "feasible", (seed, rules, policy)
            assert list(instance.broken(plan_of(result), rules)) == [], (seed, rules, policy)


BINDING = (23, 27)  # each rule alone excludes the best plans


@pytest.mark.parametrize("seed", [pytest.param(BINDING[0], marks=pytest.mark.slow), BINDING[1]])
def test_optimum(seed: int, tmp_path: Path) -> None:
    check_solvers(tmp_path, seed, ("highs", "scip") if seed == BINDING[0] else ("highs",))


@pytest.mark.quick(2)
@pytest.mark.parametrize(
    ("seed", "policy"),
    [*((BINDING[0], policy) for policy in POLICIES), *((BINDING[1], p) for p in ("FIFO", "EASY", "SlurmFairShare"))],
)
def test_policies_obey(seed: int, policy: str, tmp_path: Path) -> None:
    check_policies(tmp_path, seed, (policy,))


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_excludes_plans(rule: str) -> None:
    """Otherwise the tests above would not notice that a rule is missing."""
    assert all(draw(seed).least_cost((rule,)) > draw(seed).least_cost(()) for seed in BINDING)


def test_limit_of_a_type(tmp_path: Path) -> None:
    """A team's limit of one type excludes plans that its limit of all GPUs does not."""
    instance = replace(draw(23), team_gpus={"t1": 99, "t2": 99}, team_type_gpus={("t1", "a100"): 1, ("t2", "v100"): 1})
    best = instance.least_cost(("team_limits",))
    assert best > instance.least_cost(())
    model = load(tmp_path, instance)
    assert model.solve(NAMES[("team_limits",)], gap=0).objective == pytest.approx(best)
    plan = plan_of(model.solve(NAMES[("team_limits",)], "Backfilling"))
    assert list(instance.broken(plan, ("team_limits",))) == []


@pytest.mark.parametrize(
    ("date", "applies"),
    [("2026-11-30 09:00", True), ("2026-11-30 08:59", False), ("2026-11-30 17:59", True), ("2026-11-30 18:00", False),
     ("2026-12-05 12:00", False), ("2026-12-07 12:00", False)],
    ids=["start", "before", "last", "end", "saturday", "holiday"],
)  # fmt: skip
def test_office_hours(date: str, applies: bool, tmp_path: Path) -> None:
    instance = replace(draw(23), clock=0.0)
    text = instance.text("Dated", ()).replace(
        "{\n", f'{{ calendar from "{date}" in "UTC" holidays {{ "2026-12-07" }}; team_share = office_hours;\n', 1
    )
    path = tmp_path / "cluster.gsm"
    path.write_text('import "gsdsl:cluster/model.gsm";\n' + text)
    rules = ("team_share",) if applies else ()
    assert instance.least_cost(("team_share",)) > instance.least_cost(())
    assert gs.load(path).solve(gap=0).objective == pytest.approx(instance.least_cost(rules))


@pytest.mark.parametrize(("hour", "carbon"), [(10, 0.2), (9, 0.4)])
def test_carbon_by_hour(hour: int, carbon: float, tmp_path: Path) -> None:
    instance = replace(draw(23), clock=0.0, emission_rate=0.4)
    text = instance.text("Dated", ()).replace(
        "{\n",
        f'{{ calendar from "2026-11-30 {hour:02d}:30" in "UTC"; emission_limit = by_hour;\n'
        "carbon_of_hour[10] = 0.2[kg/kWh];\n",
        1,
    )
    path = tmp_path / "cluster.gsm"
    path.write_text('import "gsdsl:cluster/model.gsm";\n' + text)
    same = replace(instance, emission_rate=instance.emission_rate * 0.4 / carbon)
    assert same.least_cost(("emission_limit",)) > same.least_cost(()) or hour == 10
    assert gs.load(path).solve(gap=0).objective == pytest.approx(same.least_cost(("emission_limit",)))


HOUSE = """import "gsdsl:cluster/scenarios/shared_cluster.gsm";
scenario House extends SharedCluster {
  one_rack = yes; node_per_user = yes; team_share = office_hours; team_limits = yes; user_limits = yes;
  rack_power = yes; emission_limit = by_hour; maintenance = yes; reservations = yes; }
"""
SHARED_NODES = tuple(
    Node(f"{rack.lower()}{i}", rack, "a100" if i <= 2 else "v100", 4) for rack in "AB" for i in range(1, 5)
)
SHARED_JOBS = tuple(
    Job(name, team, user, needs, workers, 1, kind, hours, weight)
    for name, team, user, needs, workers, kind, hours, weight in (
        ("resnet", "vision", "ada", 4, 1, "a100", 3, 1), ("bert", "speech", "ben", 8, 2, "a100", 6, 2),
        ("gpt_small", "search", "cem", 8, 2, "any_type", 8, 3), ("vision_1", "vision", "ada", 2, 1, "any_type", 2, 1),
        ("speech_1", "speech", "ben", 6, 0, "v100", 4, 1), ("debug", "search", "dia", 1, 1, "any_type", 0.5, 4),
        ("tuning_1", "vision", "eva", 2, 1, "any_type", 1.5, 1),
        ("tuning_2", "vision", "eva", 2, 1, "any_type", 1.5, 1),
        ("ranking", "search", "cem", 8, 2, "v100", 3, 1), ("recommender", "search", "dia", 4, 1, "any_type", 4, 2),
        ("course_1", "speech", "fay", 2, 1, "v100", 1, 1), ("gpt_large", "vision", "ada", 8, 2, "a100", 6, 5),
    )
)  # fmt: skip
SHARED = Instance(
    SHARED_NODES, SHARED_JOBS,
    (Window("service", 4, 6, frozenset({"a4", "b4"}), True, "", ""),
     Window("course", 2, 5, frozenset({"b3"}), False, "speech", "")),
    clock=0.0, part={(t, "a100"): 0.5 for t in ("vision", "speech", "search")},
    team_gpus={"vision": 16, "speech": 8, "search": 12}, team_type_gpus={}, user_gpus=10,
    power_limit={"A": 8, "B": 8}, emission_rate=5.0,
)  # fmt: skip


def broken_over_time(rows: list[dict[str, Any]]) -> list[str]:
    """What each start breaks, among the jobs that run then; time 0 is Monday, 8 o'clock."""
    found = []
    sizes = {job.name: job.size for job in SHARED_JOBS}
    for now in sorted({row["start"] for row in rows}):
        plan: dict[str, dict[str, int]] = defaultdict(dict)
        for row in rows:
            if row["start"] <= now < row["end"]:
                plan[row["job"]][row["node"]] = round(row["gpus"] / sizes[row["job"]])
        old = {row["job"] for row in rows if row["start"] < now < row["end"]}
        jobs = tuple(replace(job, held=plan[job.name]) if job.name in old else job for job in SHARED_JOBS)
        hour = (8 + now) % 24
        office = 9 <= hour < 18 and 8 + now < 5 * 24
        rate = SHARED.emission_rate * (2 if 10 <= int(hour) < 16 else 1)
        at = replace(SHARED, jobs=jobs, clock=now, emission_rate=rate)
        rules = [rule for rule in RULES if rule != "team_share" or office]
        found += [f"{now}: {each}" for each in at.broken(plan, rules)]
    return found


@pytest.mark.quick(2)
@pytest.mark.timeout(240)
@pytest.mark.parametrize("method", ["FIFO", "EASY", "SlurmFairShare", "FairShare", "PriorityEASY", "highs"])
def test_a_day_with_all_rules(method: str, tmp_path: Path) -> None:
    (tmp_path / "house.gsm").write_text(HOUSE)
    out = tmp_path / "run.json"
    assert (
        main(["run", str(tmp_path / "house.gsm"), "--scenario", "House", "--method", method, "--json", str(out)]) == 0
    )
    rows = json.loads(out.read_text())["schedule"]
    assert broken_over_time(rows) == []
    assert {row["job"] for row in rows} == {job.name for job in SHARED_JOBS}


def test_a_day_without_rules_breaks_some(tmp_path: Path) -> None:
    """So the check above can fail."""
    (tmp_path / "free.gsm").write_text('import "gsdsl:cluster/scenarios/shared_cluster.gsm";')
    out = tmp_path / "run.json"
    assert main(["run", str(tmp_path / "free.gsm"), "--method", "FIFO", "--json", str(out)]) == 0
    text = "\n".join(broken_over_time(json.loads(out.read_text())["schedule"]))
    for said in ("'power'", "'team'", "'user'", "in service", "in course"):
        assert said in text, (said, text)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_more(seed: int, tmp_path: Path) -> None:
    check_solvers(tmp_path, seed, ("highs", "scip"))
    check_policies(tmp_path, seed, POLICIES)
