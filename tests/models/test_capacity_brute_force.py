"""The shipped models against enumeration: random small instances, all node rules, both solvers."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from capacity_reference import Instance, Placement, cheapest, evaluate
from capacity_texts import random_instance, scenario, write_file

import gpusched_dsl as gs
from gpusched_dsl.reporting.result import Result

BACKENDS = ("highs", "scip")
SETTINGS = {
    "CapacityPlanning": [
        *({"node_rule": rule} for rule in ("paper", "force", "at_most")),
        {"deadline_terms": "printed"},
        {"deadline_terms": "printed", "node_rule": "at_most"},
        {"work_conserving": "yes"},
        {"work_conserving": "yes", "node_rule": "at_most"},
    ],
    "CapacityPlanningPatterns": [{"node_rule": rule} for rule in ("paper", "force", "at_most")],
    "CapacityPlanningPrinted": [{}],
}


def placement(result: Result) -> Placement:
    """The schedule that the variables `hosts` and `run` tell."""
    types = {node: vm for node, vm, _ in result["hosts"].rows()}
    jobs: dict[object, list[tuple[str, int]]] = {node: [] for node in types}
    for job, node, vm, gpus, _ in result["run"].rows():
        assert types[node] == vm
        jobs[node].append((job, gpus))
    return tuple((vm, tuple(jobs[node])) for node, vm in types.items())


def check_schedule(result: Result, instance: Instance, deadline_terms: str) -> None:
    """It can be carried out, and costs what the objective says, term by term."""
    schedule = placement(result)
    running = [job for _, jobs in schedule for job, _ in jobs]
    assert len(running) == len(set(running))
    assert len(schedule) <= instance.nodes
    for vm, jobs in schedule:
        assert sum(gpus for _, gpus in jobs) <= instance.gpus[vm]
    cost = evaluate(instance, schedule, deadline_terms)
    for term in ("lateness", "postponed", "idle", "rent"):
        assert result.terms[term] == pytest.approx(getattr(cost, term), abs=1e-6, rel=1e-6), term


def check_seeds(folder: Path, model: str, seeds: range) -> None:
    """Each way to set the model, with both solvers, gives the optimum found by enumeration."""
    printed = model == "CapacityPlanningPrinted"
    instances = {f"Seed{seed}": random_instance(Random(seed), every_configuration=printed) for seed in seeds}
    loaded = gs.load(write_file(folder, [scenario(name, i, model) for name, i in instances.items()]))
    for name, instance in instances.items():
        for settings in SETTINGS[model]:
            terms = "printed" if printed else settings.get("deadline_terms", "corrected")
            rules = (settings.get("node_rule", "paper"), terms, settings.get("work_conserving", "no"))
            best, _ = cheapest(instance, *rules)
            for backend in BACKENDS:
                result = loaded.solve(name, backend, gap=0, settings=settings)
                where = (name, settings, backend)
                if best == float("inf"):
                    assert result.status == "infeasible", where
                    continue
                assert result.status == "optimal", where
                assert result.objective == pytest.approx(best, abs=1e-6, rel=1e-6), where
                if model == "CapacityPlanningPatterns":
                    assert result["config"]["value"].to_list() == pytest.approx([1.0] * len(result["config"])), where
                else:
                    check_schedule(result, instance, terms)


@pytest.mark.quick(1)
@pytest.mark.parametrize("model", SETTINGS)
@pytest.mark.parametrize("start", range(0, 12, 4))
def test_models_find_the_optimum_of_small_instances(tmp_path: Path, model: str, start: int) -> None:
    check_seeds(tmp_path, model, range(start, start + 4))


@pytest.mark.slow
@pytest.mark.parametrize("model", SETTINGS)
@pytest.mark.parametrize("start", range(1000, 1100, 25))
def test_models_find_the_optimum_of_many_small_instances(tmp_path: Path, model: str, start: int) -> None:
    check_seeds(tmp_path, model, range(start, start + 25))
