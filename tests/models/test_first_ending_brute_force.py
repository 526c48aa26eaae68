"""The model with rent until the first end against enumeration: both forms of the product, all options."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from random import Random

import pytest
from capacity_reference import Instance
from capacity_texts import random_instance, scenario
from first_ending_reference import Options, cheapest, cost
from test_capacity_brute_force import placement

import gpusched_dsl as gs

FORMS = ("shares", "products")


def random_options(random: Random) -> Options:
    return Options(
        scope=random.choice(("system", "node")),
        charge=random.choice(("used", "whole")),
        until=random.choice(("first_end", "first_end", "next_decision")),
        node_rule=random.choice(("paper", "force", "at_most")),
        work_conserving=random.choice(("no", "no", "yes")),
    )


def small_instance(random: Random, most_configurations: int) -> Instance:
    """With few enough configurations for the form with products."""
    while len((instance := random_instance(random)).time) * instance.nodes > most_configurations:
        pass
    return instance


def check_seeds(folder: Path, seeds: range, forms: tuple[str, ...], backends: tuple[str, ...], most: int) -> None:
    instances = {f"Seed{seed}": small_instance(Random(seed), most) for seed in seeds}
    path = folder / "instances.gsm"
    texts = [scenario(name, instance, "FirstEnding") for name, instance in instances.items()]
    path.write_text("\n".join(['import "gsdsl:capacity_planning/first_ending.gsm";', *texts]), encoding="utf-8")
    loaded = gs.load(path)
    for seed, (name, instance) in zip(seeds, instances.items(), strict=True):
        options = random_options(Random(1000 + seed))
        best = cheapest(instance, options)
        for form in forms:
            for backend in backends:
                result = loaded.solve(name, backend, gap=0, settings={**asdict(options), "form": form})
                where = (name, options, form, backend)
                if best == float("inf"):
                    assert result.status == "infeasible", where
                    continue
                assert result.status == "optimal", where
                assert result.objective == pytest.approx(best, abs=1e-6, rel=1e-6), where
                found = cost(instance, placement(result), options)
                for term in ("lateness", "postponed", "idle", "rent"):
                    assert result.terms[term] == pytest.approx(getattr(found, term), abs=1e-6, rel=1e-6), (where, term)


def test_shares_find_the_optimum_of_small_instances(tmp_path: Path) -> None:
    check_seeds(tmp_path, range(8), ("shares",), ("highs",), most=40)


def test_products_find_the_optimum_of_small_instances(tmp_path: Path) -> None:
    check_seeds(tmp_path, range(20, 24), ("products",), ("highs", "scip"), most=16)


def check_patterns(folder: Path, seeds: range, backends: tuple[str, ...]) -> None:
    """With nodes counted: the first end of all, GPUs in use paid for."""
    model = "CapacityPlanningPatterns"
    instances = {f"Seed{seed}": random_instance(Random(seed)) for seed in seeds}
    texts = [scenario(name, instance, model) for name, instance in instances.items()]
    texts += [f"scenario {name}First for FirstEndingPatterns extends {name} {{}}" for name in instances]
    path = folder / "instances.gsm"
    texts.insert(0, 'import "gsdsl:capacity_planning/first_ending_patterns.gsm";')
    path.write_text("\n".join(texts), encoding="utf-8")
    loaded = gs.load(path)
    for seed, (name, instance) in zip(seeds, instances.items(), strict=True):
        options = Options(node_rule=("paper", "force", "at_most")[seed % 3])
        best = cheapest(instance, options)
        for backend in backends:
            result = loaded.solve(f"{name}First", backend, gap=0, settings={"node_rule": options.node_rule})
            assert result.status == ("optimal" if best < float("inf") else "infeasible"), (name, options, backend)
            if best < float("inf"):
                assert result.objective == pytest.approx(best, abs=1e-6, rel=1e-6), (name, options, backend)


def test_counted_nodes_find_the_optimum_of_small_instances(tmp_path: Path) -> None:
    check_patterns(tmp_path, range(6), ("highs",))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1500, 25))
def test_counted_nodes_find_the_optimum_of_many_small_instances(tmp_path: Path, start: int) -> None:
    check_patterns(tmp_path, range(start, start + 25), ("highs", "scip"))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1200, 10))
def test_shares_find_the_optimum_of_many_small_instances(tmp_path: Path, start: int) -> None:
    check_seeds(tmp_path, range(start, start + 10), ("shares",), ("highs", "scip"), most=60)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1200, 10))
def test_products_and_shares_agree_on_many_small_instances(tmp_path: Path, start: int) -> None:
    check_seeds(tmp_path, range(start, start + 10), FORMS, ("highs", "scip"), most=24)
