"""Random models of gangs with rows that no role states, and a check of plans from the drawn numbers alone.

Half of the models count workers by node, half have a binary for each node of a job. `broken_rules` knows nothing of the
package: it reads the drawn numbers and a list of who has how many workers where.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

Place = tuple[str, str, int]  # job, node, workers
RACKS, TEAMS = ("r1", "r2", "r3"), ("red", "blue")
RULES = (
    "rack_cap", "team_share", "one_user", "power", "same_rack", "one_rack", "half_in_rack", "apart", "few_open",
    "carbon", "together", "at_least",
)  # fmt: skip


@dataclass
class DrawnGangs:
    """A model as text, and its numbers by name."""

    seed: int
    rules: tuple[str, ...]
    binary: bool
    jobs: list[str] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    workers: dict[str, int] = field(default_factory=dict)
    team: dict[str, str] = field(default_factory=dict)
    hours: dict[str, float] = field(default_factory=dict)
    value: dict[str, float] = field(default_factory=dict)
    watts: dict[str, float] = field(default_factory=dict)
    rack: dict[str, str] = field(default_factory=dict)
    gpus: dict[str, int] = field(default_factory=dict)
    grams: dict[str, float] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    pair: tuple[str, str] = ("", "")
    text: str = ""


def drawn_gangs(seed: int) -> DrawnGangs:
    """Return the model of a seed: all rules come up."""
    rng = np.random.default_rng([47, seed])
    first = RULES[seed % len(RULES)]
    rules = (first,) if rng.random() < 0.4 else (first, str(rng.choice([r for r in RULES if r != first])))
    one = DrawnGangs(seed, rules, binary=seed % 2 == 1)
    one.nodes = [f"n{i}" for i in range(int(rng.integers(4, 8)))]
    for n in one.nodes:
        one.rack[n] = str(rng.choice(RACKS))
        one.gpus[n] = int(rng.choice([2, 4, 4, 8]))
        one.grams[n] = float(rng.integers(20, 100))
    one.jobs = [f"j{i}" for i in range(int(rng.integers(6, 10)))]
    most = len(one.nodes) if one.binary else 8
    for j in one.jobs:
        one.workers[j] = int(rng.integers(1, most + 1))
        one.team[j] = str(rng.choice(TEAMS))
        one.hours[j] = float(rng.integers(1, 9))
        one.value[j] = float(rng.integers(5, 40))
        one.watts[j] = float(rng.integers(100, 400))
    total = sum(one.workers.values())
    for r in RACKS:
        one.limits[f"cap {r}"] = float(max(2, round(0.25 * total * rng.uniform(0.4, 1.0))))
        one.limits[f"watts {r}"] = float(rng.integers(600, 2500))
    for t in TEAMS:
        one.limits[f"share {t}"] = float(max(2, round(0.4 * total * rng.uniform(0.3, 1.0))))
        one.limits[f"least {t}"] = float(min(1, sum(team == t for team in one.team.values())))
    one.limits["open"] = float(max(2, len(one.nodes) // 2))
    one.limits["carbon"] = float(round(60 * sum(one.hours[j] * one.workers[j] for j in one.jobs) * 0.4))
    a, b = rng.choice(len(one.jobs), 2, replace=False)
    one.pair = (one.jobs[int(a)], one.jobs[int(b)])
    one.text = _text(one)
    return one


def _table(name: str, values: dict[str, int] | dict[str, float] | dict[str, str]) -> str:
    return f"  table {name} = " + " ".join(f"{key} {value}" for key, value in values.items()) + ";\n"


def _text(one: DrawnGangs) -> str:
    kind = "binary" if one.binary else "integer >= 0 <= gpus[n]"
    racks = {r: one.limits[f"cap {r}"] for r in RACKS}
    a, b = one.pair
    return f"""
model Drawn {{
  set Jobs;  set Nodes;  set Racks;  set Teams;  set Pairs within Jobs cross Jobs;
  param workers[Jobs] integer >= 1;  param team[Jobs] within Teams;  param hours[Jobs] in h > 0;
  param value[Jobs] in $;  param watts[Jobs] in W;
  param rack[Nodes] within Racks;  param gpus[Nodes] integer >= 1;  param grams[Nodes];
  param cap[Racks];  param most_watts[Racks] in W;  param share[Teams];  param least[Teams];
  param carbon_limit;  param most_open;
  var worker[j in Jobs, n in Nodes] {kind};
  var runs[Jobs] binary;
  var on[Jobs, Nodes] binary;
  var in_rack[Jobs, Racks] binary;
  var up[Nodes] binary;
  var serves[Teams, Nodes] binary;
  minimize waiting in $: sum[j in Jobs] value[j] * (1 - runs[j]);
  constraint all_or_none[j in Jobs]: sum[n in Nodes] worker[j, n] == workers[j] * runs[j];
  constraint room[n in Nodes]: sum[j in Jobs] worker[j, n] <= gpus[n];
{_rows(one)}\
  placement worker[j, n] {{
    job j;  node n;  rack rack[n];  workers workers[j];  uses 1 of gpus[n];  lasts hours[j];
    across_nodes 1.2;  across_racks 1.5;  user team[j];
  }}
}}
policy Queue for Drawn "most value for each GPU first" {{
  order j in Jobs by value[j] / (workers[j] * hours[j]) descending;
  choose by hours[j];
  place fewest_racks, postpone;
  keep running;
}}
scenario S for Drawn {{
  Racks = {{ {", ".join(RACKS)} }};  Teams = {{ {", ".join(TEAMS)} }};
  Jobs = {{ {", ".join(one.jobs)} }};  Nodes = {{ {", ".join(one.nodes)} }};
  Pairs = {{ ({a}, {b}) }};
{_table("Jobs: workers", one.workers)}{_table("Jobs: team", one.team)}{_table("Jobs: hours[h]", one.hours)}\
{_table("Jobs: value[$]", one.value)}{_table("Jobs: watts[W]", one.watts)}{_table("Nodes: rack", one.rack)}\
{_table("Nodes: gpus", one.gpus)}{_table("Nodes: grams", one.grams)}{_table("Racks: cap", racks)}\
{_table("Racks: most_watts[W]", {r: one.limits[f"watts {r}"] for r in RACKS})}\
{_table("Teams: share", {t: one.limits[f"share {t}"] for t in TEAMS})}\
{_table("Teams: least", {t: one.limits[f"least {t}"] for t in TEAMS})}\
  carbon_limit = {one.limits["carbon"]};  most_open = {one.limits["open"]};
}}
"""


_LINKS = {  # rows that several rules read, stated once
    "on": """has[j in Jobs, n in Nodes]: worker[j, n] <= gpus[n] * on[j, n];
  constraint has_rack[j in Jobs, n in Nodes]: on[j, n] <= in_rack[j, rack[n]];""",
    "up": "opened[j in Jobs, n in Nodes]: worker[j, n] <= gpus[n] * up[n];",
}
_ROWS = {
    "rack_cap": "rack_cap[r in Racks]: sum[j in Jobs, n in Nodes where rack[n] == r] worker[j, n] <= cap[r];",
    "team_share": "team_share[t in Teams]: sum[j in Jobs, n in Nodes where team[j] == t] worker[j, n] <= share[t];",
    "one_user": """serving[j in Jobs, n in Nodes]: worker[j, n] <= gpus[n] * serves[team[j], n];
  constraint one_user[n in Nodes]: sum[t in Teams] serves[t, n] <= 1;""",
    "power": """power_cap[r in Racks]: sum[n in Nodes where rack[n] == r] 150[W] * up[n]
    + sum[j in Jobs, n in Nodes where rack[n] == r] watts[j] * worker[j, n] <= most_watts[r];""",
    "same_rack": """same_rack[(a, b) in Pairs, r in Racks]: in_rack[a, r] == in_rack[b, r];
  constraint in_rack_if[j in Jobs, r in Racks]: in_rack[j, r] <= sum[n in Nodes where rack[n] == r] worker[j, n];""",
    "one_rack": "one_rack[j in Jobs]: sum[r in Racks] in_rack[j, r] <= 1;",
    "half_in_rack": """half_in_rack[j in Jobs, r in Racks]:
    2 * (sum[n in Nodes where rack[n] == r] worker[j, n]) <= workers[j] + 1;""",
    "apart": "apart[(a, b) in Pairs, n in Nodes]: on[a, n] + on[b, n] <= 1;",
    "few_open": "few_open: sum[n in Nodes] up[n] <= most_open;",
    "carbon": "carbon: sum[j in Jobs, n in Nodes] grams[n] * hours[j] / 1[h] * worker[j, n] <= carbon_limit;",
    "together": "together[(a, b) in Pairs]: runs[a] == runs[b];",
    "at_least": "at_least[t in Teams]: sum[j in Jobs where team[j] == t] runs[j] >= least[t];",
}


def _rows(one: DrawnGangs) -> str:
    reads = dict.fromkeys(("same_rack", "one_rack", "apart"), "on") | dict.fromkeys(("power", "few_open"), "up")
    links = sorted({reads[rule] for rule in one.rules if rule in reads})
    return "".join(f"  constraint {row}\n" for row in [_LINKS[k] for k in links] + [_ROWS[rule] for rule in one.rules])


# --- the check ------------------------------------------------------------------------------------------------------


def broken_rules(one: DrawnGangs, places: Sequence[Place]) -> list[str]:
    """Return the rules that a plan breaks; all workers of a job run, or none, and no node has more than its GPUs."""
    found = []
    for j in one.jobs:
        own = [place for place in places if place[0] == j]
        if own and sum(count for _, _, count in own) != one.workers[j]:
            found.append("all_or_none")
        if one.binary and any(count > 1 for _, _, count in own):
            found.append("binary")
    if any(_sum(places, lambda j, at, n=n: at == n) > one.gpus[n] for n in one.nodes):  # type: ignore[misc]
        found.append("room")
    return found + [rule for rule in one.rules if not _CHECKS[rule](one, places)]


def cost(one: DrawnGangs, places: Sequence[Place]) -> float:
    running = {place[0] for place in places}
    return sum(value for j, value in one.value.items() if j not in running)


def _sum(places: Sequence[Place], keeps: Callable[[str, str], bool]) -> int:
    return sum(count for j, n, count in places if keeps(j, n))


def _racks_of(one: DrawnGangs, places: Sequence[Place], job: str) -> set[str]:
    return {one.rack[n] for j, n, _ in places if j == job}


def _rack_cap(one: DrawnGangs, places: Sequence[Place]) -> bool:
    return all(_sum(places, lambda j, n, r=r: one.rack[n] == r) <= one.limits[f"cap {r}"] for r in RACKS)  # type: ignore[misc]


def _team_share(one: DrawnGangs, places: Sequence[Place]) -> bool:
    return all(_sum(places, lambda j, n, t=t: one.team[j] == t) <= one.limits[f"share {t}"] for t in TEAMS)  # type: ignore[misc]


def _one_user(one: DrawnGangs, places: Sequence[Place]) -> bool:
    return all(len({one.team[j] for j, at, _ in places if at == n}) <= 1 for n in one.nodes)


def _power(one: DrawnGangs, places: Sequence[Place]) -> bool:
    for r in RACKS:
        here = [place for place in places if one.rack[place[1]] == r]
        drawn = 150 * len({n for _, n, _ in here}) + sum(one.watts[j] * count for j, _, count in here)
        if drawn > one.limits[f"watts {r}"] + 1e-6:
            return False
    return True


def _same_rack(one: DrawnGangs, places: Sequence[Place]) -> bool:
    a, b = one.pair
    return _racks_of(one, places, a) == _racks_of(one, places, b)


def _one_rack(one: DrawnGangs, places: Sequence[Place]) -> bool:
    return all(len(_racks_of(one, places, j)) <= 1 for j in one.jobs)


def _half_in_rack(one: DrawnGangs, places: Sequence[Place]) -> bool:
    return all(
        2 * _sum(places, lambda i, n, j=j, r=r: i == j and one.rack[n] == r) <= one.workers[j] + 1  # type: ignore[misc]
        for j in one.jobs
        for r in RACKS
    )


def _apart(one: DrawnGangs, places: Sequence[Place]) -> bool:
    a, b = ({n for j, n, _ in places if j == job} for job in one.pair)
    return not a & b


def _few_open(one: DrawnGangs, places: Sequence[Place]) -> bool:
    return len({n for _, n, _ in places}) <= one.limits["open"]


def _carbon(one: DrawnGangs, places: Sequence[Place]) -> bool:
    return sum(one.grams[n] * one.hours[j] * count for j, n, count in places) <= one.limits["carbon"] + 1e-6


def _together(one: DrawnGangs, places: Sequence[Place]) -> bool:
    running = {place[0] for place in places}
    return (one.pair[0] in running) == (one.pair[1] in running)


def _at_least(one: DrawnGangs, places: Sequence[Place]) -> bool:
    running = {place[0] for place in places}
    return all(sum(one.team[j] == t for j in running) >= one.limits[f"least {t}"] for t in TEAMS)


_CHECKS: dict[str, Callable[[DrawnGangs, Sequence[Place]], bool]] = {
    "rack_cap": _rack_cap, "team_share": _team_share, "one_user": _one_user, "power": _power, "same_rack": _same_rack,
    "one_rack": _one_rack, "half_in_rack": _half_in_rack, "apart": _apart, "few_open": _few_open, "carbon": _carbon,
    "together": _together, "at_least": _at_least,
}  # fmt: skip
