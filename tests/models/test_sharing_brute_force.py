"""The compact model of GPU sharing against enumeration: random small instances, all options, both solvers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from random import Random

import pytest
from sharing_reference import Instance, Options, Schedule, bins, cheapest, evaluate
from sharing_texts import random_instance, scenario, write_file

import gpusched_dsl as gs
from gpusched_dsl.reporting.result import Result

RULES = ("matching", "printed", "work_conserving", "max_running", "none")
HORIZONS = ("node_first_end", "system_first_end", "full_run")
EXPECTATIONS = ("here_and_now", "worst_case", "mean_value", "by_outcome")


def random_options(random: Random, rule: str) -> Options:
    """The node rule given; sharing mostly on."""
    return Options(rule, random.choice(HORIZONS), random.choice(EXPECTATIONS), random.choice(("on", "on", "off")))


def schedule_of(result: Result, instance: Instance) -> tuple[Schedule, tuple[int, ...]]:
    """What the variables `run` and `used` tell."""
    schedule: Schedule = dict.fromkeys(instance.jobs)
    for job, node, gpus, units, value in result["run"].rows():
        assert value == pytest.approx(1)
        assert schedule[job] is None
        schedule[job] = (int(node[1:]) - 1, gpus, units)
    in_use = [0] * len(instance.nodes)
    for node, gpus, value in result["used"].rows():
        assert value == pytest.approx(1)
        in_use[int(node[1:]) - 1] += gpus
    return schedule, tuple(in_use)


def check_schedule(result: Result, instance: Instance, options: Options) -> None:
    """It can be carried out, and costs what the objective says, term by term."""
    schedule, in_use = schedule_of(result, instance)
    for position, kind in enumerate(instance.nodes):
        here = [way for way in schedule.values() if way is not None and way[0] == position]
        whole = sum(gpus for _, gpus, units in here if units == 20)
        parts = bins(tuple(sorted((units for _, _, units in here if units < 20), reverse=True)))
        assert whole + parts <= in_use[position] <= instance.kinds[kind].gpus
    cost = evaluate(instance, schedule, in_use, options)
    assert set(result.terms) >= {"lateness", "postponed", "energy"}
    for term in ("lateness", "postponed", "energy"):
        assert result.terms[term] == pytest.approx(getattr(cost, term), abs=1e-6, rel=1e-6), term


def check_seeds(folder: Path, seeds: range, backends: tuple[str, ...], rules_of_each: int = len(RULES)) -> None:
    """The solvers give the optimum found by enumeration, under the node rules in turn, with the other options drawn."""
    instances = {f"Seed{seed}": random_instance(Random(seed)) for seed in seeds}
    loaded = gs.load(write_file(folder, [scenario(name, i, "GpuSharing") for name, i in instances.items()]))
    for seed, (name, instance) in zip(seeds, instances.items(), strict=True):
        for number in range(rules_of_each):
            options = random_options(Random(1000 * seed + number), RULES[(seed + number) % len(RULES)])
            best, _ = cheapest(instance, options)
            for backend in backends:
                result = loaded.solve(name, backend, gap=0, settings=asdict(options))
                where = (name, options, backend)
                if best == float("inf"):
                    assert result.status == "infeasible", where
                    continue
                assert result.status == "optimal", where
                assert result.objectives[-1].value == pytest.approx(best, abs=1e-6, rel=1e-6), where
                check_schedule(result, instance, options)


@pytest.mark.quick(1)
@pytest.mark.parametrize("start", range(0, 8, 4))
def test_the_model_finds_the_optimum_of_small_instances(tmp_path: Path, start: int) -> None:
    check_seeds(tmp_path, range(start, start + 4), ("highs", "scip"), rules_of_each=1)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1100, 5))
def test_the_model_finds_the_optimum_of_many_small_instances(tmp_path: Path, start: int) -> None:
    check_seeds(tmp_path, range(start, start + 5), ("highs", "scip"))
