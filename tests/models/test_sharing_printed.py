"""The paper's formulation of GPU sharing, with products and with rows in their place, against enumeration."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from random import Random

import pytest
from sharing_oracles import ORACLES, Oracle
from sharing_reference import Instance, Options, cheapest
from sharing_texts import random_instance, scenario, write_file
from test_sharing_brute_force import EXPECTATIONS, RULES

import gpusched_dsl as gs

MODEL = "GpuSharingPrinted"
FORMS = ("linear", "products")
SMALL = [oracle for oracle in ORACLES if oracle.name in ("RS-1", "RS-4")]


def write(folder: Path, instances: dict[str, Instance]) -> Path:
    texts = [scenario(name, instance, MODEL) for name, instance in instances.items()]
    return write_file(folder, texts, ("printed",))


def check(loaded: gs.Model, name: str, options: Options, best: float, form: str, backend: str) -> None:
    settings = {key: value for key, value in asdict(options).items() if key != "energy_horizon"} | {"form": form}
    result = loaded.solve(name, backend, gap=0, settings=settings)
    where = (name, settings, backend)
    if best == float("inf"):
        assert result.status == "infeasible", where
        return
    assert result.status == "optimal", where
    assert result.objectives[-1].value == pytest.approx(best, abs=1e-6, rel=1e-6), where


def check_oracle(folder: Path, oracle: Oracle, rules: tuple[str, ...], form: str, backends: tuple[str, ...]) -> None:
    loaded = gs.load(write(folder, {"Oracle": oracle.instance}))
    for rule in rules:
        if rule in oracle.optima:
            for backend in backends:
                check(loaded, "Oracle", oracle.choices(rule), oracle.optima[rule], form, backend)


def check_seeds(folder: Path, seeds: range, forms: tuple[str, ...], backends: tuple[str, ...], largest: int) -> None:
    """Under a node rule and an expectation drawn for each instance."""
    instances = {f"Seed{seed}": random_instance(Random(seed), largest) for seed in seeds}
    loaded = gs.load(write(folder, instances))
    for seed, (name, instance) in zip(seeds, instances.items(), strict=True):
        random = Random(1000 + seed)
        options = Options(random.choice(RULES), expectation=random.choice(EXPECTATIONS))
        options = replace(options, sharing=random.choice(("on", "on", "off")))
        best, _ = cheapest(instance, options)
        for form in forms:
            for backend in backends:
                check(loaded, name, options, best, form, backend)


@pytest.mark.quick(2)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("oracle", SMALL, ids=lambda oracle: oracle.name)
def test_both_forms_find_the_optimum_of_the_smallest(tmp_path: Path, oracle: Oracle, form: str) -> None:
    check_oracle(tmp_path, oracle, ("printed",), form, ("highs", "scip"))


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: oracle.name)
def test_both_forms_find_the_stated_optimum(tmp_path: Path, oracle: Oracle, form: str) -> None:
    check_oracle(tmp_path, oracle, RULES, form, ("highs",))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(2000, 2080, 10))
def test_linear_form_finds_the_optimum_of_small_instances(tmp_path: Path, start: int) -> None:
    check_seeds(tmp_path, range(start, start + 10), ("linear",), ("highs", "scip"), largest=300)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(2000, 2080, 10))
def test_products_find_the_optimum_of_small_instances(tmp_path: Path, start: int) -> None:
    check_seeds(tmp_path, range(start, start + 10), ("products",), ("highs", "scip"), largest=80)
