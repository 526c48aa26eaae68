"""The price-aware models against enumeration: random small instances, all options, both solvers."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from price_aware_evaluation import CLOSE, Plan, broken_rules, cost
from price_aware_reference import Instance, Rules, cheapest, cheapest_rejecting
from price_aware_texts import random_instance, scenario, settings, write_file

import gpusched_dsl as gs
from gpusched_dsl.reporting.result import Result

BACKENDS = ("highs", "scip")


def random_rules(random: Random, migrations: tuple[str, ...]) -> Rules:
    migration = random.choice(migrations)
    return Rules(
        mode=random.choice(("hard", "soft")),
        inference_sharing=random.choice(("independent", "exclusive")),
        migration=migration,
        charge_first_start="yes" if migration == "anywhere" else random.choice(("yes", "no")),
        work_balance=random.choice(("exact", "exact", "at_least")),
        lateness_measure=random.choice(("per_slot", "last_slot")),
    )


def check(result: Result, best: float, where: object) -> None:
    if best == float("inf"):
        assert result.status == "infeasible", where
        return
    assert result.status == "optimal", where
    assert result.objective == pytest.approx(best, abs=1e-7), where


def plan_of(result: Result) -> Plan:
    """The decisions of a node-level model, indices by their numbers in the labels."""

    def rows(name: str) -> list[tuple[tuple[int, ...], float]]:
        return [(tuple(int(str(key).strip("nbi")) for key in row[:-1]), row[-1]) for row in result[name].rows()]

    train, on = ({key: round(value) for key, value in rows(name)} for name in ("train", "on"))
    share = dict(rows("share"))
    serve = {key: 1 for key, rate in share.items() if rate > CLOSE}  # (26): a node serves if requests are routed to it
    return Plan(train, serve, share, on)  # type: ignore[arg-type]


def check_plan(result: Result, instance: Instance, rules: Rules, where: object) -> None:
    """It can be carried out, and costs what the objective says."""
    plan = plan_of(result)
    assert not list(broken_rules(instance, plan, rules)), where
    assert cost(instance, plan, rules) == pytest.approx(result.objective, abs=1e-7), where


def instances(seeds: range, *, alike: bool = False) -> dict[str, Instance]:
    return {f"Seed{seed}": random_instance(Random(seed), alike) for seed in seeds}


def check_seeds(folder: Path, seeds: range, backends: tuple[str, ...] = BACKENDS) -> None:
    """The node-level model gives the optimum found by enumeration, and a plan that costs as much."""
    made = instances(seeds)
    loaded = gs.load(write_file(folder, [scenario(name, i) for name, i in made.items()]))
    for seed, (name, instance) in zip(seeds, made.items(), strict=True):
        rules = random_rules(Random(seed), ("forbidden", "forbidden", "within_type", "anywhere"))
        best = cheapest(instance, rules)
        for backend in backends:
            result = loaded.solve(f"{name}PriceAware", backend, gap=0, settings=settings(rules, "PriceAware"))
            check(result, best, (name, rules, backend))
            if best < float("inf"):
                check_plan(result, instance, rules, (name, rules, backend))


def check_types(folder: Path, seeds: range) -> None:
    """Counting the nodes of a type and naming them give the optimum found by enumeration."""
    made = instances(seeds, alike=True)
    loaded = gs.load(write_file(folder, [scenario(name, i) for name, i in made.items()]))
    for seed, (name, instance) in zip(seeds, made.items(), strict=True):
        rules = random_rules(Random(seed), ("within_type",))
        best = cheapest(instance, rules)
        for model, backend in (("PriceAware", "highs"), ("PriceAwareByType", "highs"), ("PriceAwareByType", "scip")):
            result = loaded.solve(f"{name}{model}", backend, gap=0, settings=settings(rules, model))
            check(result, best, (name, rules, model, backend))


def check_printed(folder: Path, seeds: range, backends: tuple[str, ...] = BACKENDS) -> None:
    """The formulas as printed give the optimum found by enumeration, and a plan that costs as much."""
    made = instances(seeds)
    loaded = gs.load(write_file(folder, [scenario(name, i) for name, i in made.items()]))
    for seed, (name, instance) in zip(seeds, made.items(), strict=True):
        rules = random_rules(Random(seed), ("forbidden", "forbidden", "anywhere"))
        best = cheapest(instance, rules)
        for backend in backends:
            options = settings(rules, "PriceAwarePrinted")
            result = loaded.solve(f"{name}PriceAwarePrinted", backend, gap=0, settings=options)
            check(result, best, (name, rules, backend))
            if best < float("inf"):
                check_plan(result, instance, rules, (name, rules, backend))


def check_rejecting(folder: Path, seeds: range) -> None:
    """As little as possible is rejected, and the rest done at least cost."""
    made = instances(seeds)
    loaded = gs.load(write_file(folder, [scenario(name, i) for name, i in made.items()]))
    for seed, (name, instance) in zip(seeds, made.items(), strict=True):
        rules = random_rules(Random(seed), ("forbidden", "within_type", "anywhere"))
        weight, cost = cheapest_rejecting(instance, rules)
        options = {**settings(rules, "PriceAware"), "rejection": "lexicographic"}
        result = loaded.solve(f"{name}PriceAwareRejecting", "highs", gap=0, settings=options)
        where = (name, rules)
        assert result.status == "optimal", where
        shed, rejected, price = (objective.value for objective in result.objectives)
        assert shed is not None
        assert (shed > 1e-6) == (cost == float("inf")), where
        if cost < float("inf"):
            assert rejected == pytest.approx(weight), where
            assert price == pytest.approx(cost, abs=1e-7), where


@pytest.mark.quick(1)
@pytest.mark.parametrize("backend", BACKENDS)
def test_nodes_named(tmp_path: Path, backend: str) -> None:
    start = 8 * BACKENDS.index(backend)
    check_seeds(tmp_path, range(start, start + 8), (backend,))


def test_set_packing_rows_that_scip_presolves_wrongly(tmp_path: Path) -> None:
    check_seeds(tmp_path, range(1467, 1468), ("scip",))


def test_costs_too_small_for_tolerances_of_highs(tmp_path: Path) -> None:
    """A request per minute costs 1e-7 $, and there are thousands: unscaled, HiGHS stops 0.2 % above the optimum."""
    check_printed(tmp_path, range(1003, 1004), ("highs",))


def test_nodes_counted(tmp_path: Path) -> None:
    check_types(tmp_path, range(3))


@pytest.mark.parametrize("backend", BACKENDS)
def test_formulas_as_printed(tmp_path: Path, backend: str) -> None:
    start = 2 * BACKENDS.index(backend)
    check_printed(tmp_path, range(start, start + 2), (backend,))


def test_rejecting(tmp_path: Path) -> None:
    check_rejecting(tmp_path, range(3))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1300, 50))
def test_nodes_named_often(tmp_path: Path, start: int) -> None:
    check_seeds(tmp_path, range(start, start + 50))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1200, 50))
def test_nodes_counted_often(tmp_path: Path, start: int) -> None:
    check_types(tmp_path, range(start, start + 50))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1200, 50))
def test_rejecting_often(tmp_path: Path, start: int) -> None:
    check_rejecting(tmp_path, range(start, start + 50))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1200, 25))
def test_formulas_as_printed_often(tmp_path: Path, start: int) -> None:
    check_printed(tmp_path, range(start, start + 25))
