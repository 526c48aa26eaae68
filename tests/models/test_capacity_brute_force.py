"""The shipped models against enumeration: random small instances, all node rules, both solvers."""

from pathlib import Path
from random import Random

import pytest
from capacity_reference import Instance, cheapest
from capacity_texts import random_instance, scenario, write_file

import gpusched_dsl as gs

RULES = ("paper", "force", "at_most")
BACKENDS = ("highs", "scip")


def solved(model: gs.Model, name: str, backend: str, **options: str) -> float:
    result = model.solve(name, backend, gap=0, settings=options)
    assert result.status == "optimal"
    return result.objective


def agree(model: gs.Model, name: str, instance: Instance, printed: bool) -> None:
    """Every node rule that the model has, with both solvers, gives the optimum found by enumeration."""
    for rule in ("paper",) if printed else RULES:
        best, _ = cheapest(instance, rule, "printed" if printed else "corrected")
        for backend in BACKENDS:
            options = {} if printed else {"node_rule": rule}
            assert solved(model, name, backend, **options) == pytest.approx(best, abs=1e-6, rel=1e-6), (rule, backend)


def check_seeds(folder: Path, model: str, seeds: range) -> None:
    printed = model == "CapacityPlanningPrinted"
    instances = [random_instance(Random(seed), every_configuration=printed) for seed in seeds]
    names = [f"Seed{seed}" for seed in seeds]
    path = write_file(folder, [scenario(name, i, model) for name, i in zip(names, instances, strict=True)])
    loaded = gs.load(path)
    for name, instance in zip(names, instances, strict=True):
        agree(loaded, name, instance, printed)


MODELS = ("CapacityPlanning", "CapacityPlanningPatterns", "CapacityPlanningPrinted")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("start", range(0, 12, 4))
def test_models_find_the_optimum_of_small_instances(tmp_path: Path, model: str, start: int) -> None:
    check_seeds(tmp_path, model, range(start, start + 4))


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("start", range(1000, 2000, 50))
def test_models_find_the_optimum_of_many_small_instances(tmp_path: Path, model: str, start: int) -> None:
    check_seeds(tmp_path, model, range(start, start + 50))
