"""`history/model.gsm`: the accumulated values of each plan, and the starts, are those of a simulation of its own."""

from __future__ import annotations

from typing import Any

import pytest
from online_texts import driver
from team_shares_simulator import Cluster, drawn

import gpusched_dsl as gs
from gpusched_dsl.online.loops.base import SimulationLoop

POLICIES = ["SlurmFairShare", "KueueFairSharing", "KaiTimeAware"]


def text_of(case: Cluster) -> str:
    rows = "  ".join(f"{j.name} {j.team} {j.submitted} {j.needs} {j.length}" for j in case.jobs)
    return f"""
import "gsdsl:history/model.gsm";
scenario Drawn for TeamShares {{
  table Nodes: gpus = {"  ".join(f"{n} {g}" for n, g in case.gpus.items())};
  table Teams: share quota = {"  ".join(f"{t} {case.share[t]} {case.quota[t]}" for t in case.share)};
  half_life = {case.half_life}[h];  sampling = {case.sampling}[h];
  table Jobs: team submitted[h] needs exec_time[h] = {rows};
}}
"""


@pytest.mark.quick(8)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("seed", "together"), [*((seed, 1) for seed in range(5)), (5, 3), (6, 4), (7, 6)])
def test_ten_and_more_steps_equal_the_simulation(seed: int, together: int, policy: str) -> None:
    case = drawn(seed, together)
    found: list[tuple[float, dict[str, list[float]]]] = []

    def note(loop: SimulationLoop) -> None:
        assert loop.past is not None
        found.append((loop.world.now, {name: kept.values.tolist() for name, kept in loop.past.kept.items()}))

    given: dict[str, Any] = {"on_plan": note, "fast": False}
    outcome = driver(text_of(case), "TeamsOverTime", "Drawn", policy, **given).run()
    starts, table = case.play(policy)
    assert len(table) >= 10
    assert [time for time, _ in found] == pytest.approx([row[0] for row in table])
    for (time, values), (_, usage, offered, average) in zip(found, table, strict=True):
        assert values["used"] == pytest.approx(list(usage.values()), abs=1e-9), time
        assert values["offered"] == pytest.approx([offered], abs=1e-9), time
        assert values["average"] == pytest.approx(list(average.values()), abs=1e-9), time
    assert {name: starts[name] for name in starts} == pytest.approx(started(outcome))


def started(outcome: Any) -> dict[str, float]:
    world = outcome.world
    return dict(zip((f"j{i}" for i in range(len(world.first_start))), world.first_start.tolist(), strict=True))


WATCHED = """
import "gsdsl:history/model.gsm";
model Watched extends TeamShares {
  report slurm[j in Jobs] = priority[j];
  report kueue[j in Jobs] = level[j];
  report kai[t in Teams] = fair[t];
}
"""


def test_the_keys_of_ten_steps_equal_those_of_the_systems() -> None:
    """A table of ten plans with their usage: the factor with age, the level with the penalty, and the fair GPUs."""
    case = drawn(3)
    _, table = case.play("KaiTimeAware")
    for time, usage, offered, average in table[1:11]:
        case.now, case.usage, case.offered, case.average = time, usage, offered, average
        case.running = {j: ("n1", 99.0) for j in case.jobs if j.submitted < time - 2.0}
        present = [j for j in case.jobs if j.submitted <= time]
        rows = "  ".join(
            f"{j.name} {j.team} {j.submitted} {j.needs} {j.length} {1 if j in case.running else 0}" for j in present
        )
        text = f"""{WATCHED}
scenario S for Watched {{
  table Nodes: gpus = {"  ".join(f"{n} {g}" for n, g in case.gpus.items())};
  table Teams: share quota used[h] average =
    {"  ".join(f"{t} {case.share[t]} {case.quota[t]} {usage[t]} {average[t]}" for t in case.share)};
  half_life = {case.half_life}[h];  sampling = {case.sampling}[h];  offered = {offered}[h];  clock = {time}[h];
  age_weight = 0.5;  max_age = 2[h];
  table Jobs: team submitted[h] needs exec_time[h] occupied = {rows};
}}
"""
        shown = gs.loads(text).solve(backend="SlurmFairShare").reports
        case.starts = {}
        fair = case.fair()
        assert values(shown, "kai") == pytest.approx([fair[t] for t in case.share]), time
        ages = [0.5 * min(1.0, (time - j.submitted) / 2.0) for j in present]
        factors = [case.factor(j.team) + age for j, age in zip(present, ages, strict=True)]
        assert values(shown, "slurm") == pytest.approx(factors)
        before = {
            j: sum(i.needs for i in case.waiting() if i.team == j.team and i.submitted < j.submitted) for j in present
        }
        waiting = [j in case.waiting() for j in present]
        levels = [case.level(j, before[j]) for j in present]
        found = values(shown, "kueue")
        assert [v for v, w in zip(found, waiting, strict=True) if w] == pytest.approx(
            [v for v, w in zip(levels, waiting, strict=True) if w]
        )


def values(shown: dict[str, Any], name: str) -> list[float]:
    found: list[float] = shown[name]["value"].to_list()
    return found
