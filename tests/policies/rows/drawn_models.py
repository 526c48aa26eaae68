"""Random models with rows that no role states, and a check of plans from the drawn numbers alone.

Five worlds: nodes with GPUs; modes of different speed and power; positions on a GPU that is divided; types of rented
nodes; parts of GPUs. Each has one or two rules of a house. `broken_rules` knows nothing of the package: it reads the
drawn numbers and a list of who runs where.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

Place = tuple[str, ...]  # job, node, and the mode, position or type where the world has one
WORLDS = ("nodes", "modes", "positions", "types", "parts")
RULES = (
    "rack_cap", "team_share", "one_user", "apart", "together", "same_rack", "power", "carbon", "few_open", "after",
    "at_least",
)  # fmt: skip
STARTS = {1: (0, 1, 2, 3, 4, 5, 6), 2: (0, 2, 4), 4: (0, 4), 8: (0,)}


@dataclass
class Drawn:
    """A model as text, and its numbers by name."""

    seed: int
    world: str
    rules: tuple[str, ...]
    jobs: list[str]
    nodes: list[str]
    text: str = ""
    need: dict[str, float] = field(default_factory=dict)
    team: dict[str, str] = field(default_factory=dict)
    value: dict[str, float] = field(default_factory=dict)
    hours: dict[str, float] = field(default_factory=dict)
    watts: dict[str, float] = field(default_factory=dict)
    gpus: dict[str, float] = field(default_factory=dict)  # of a node, or of a type
    rack: dict[str, str] = field(default_factory=dict)
    price: dict[str, float] = field(default_factory=dict)
    grams: dict[str, float] = field(default_factory=dict)
    limits: dict[str, float] = field(default_factory=dict)
    pairs: list[tuple[str, str]] = field(default_factory=list)


def drawn(seed: int) -> Drawn:
    """Return the model of a seed: all worlds and rules come up."""
    rng = np.random.default_rng([4, seed])
    world = WORLDS[seed % len(WORLDS)]
    first = RULES[(seed // len(WORLDS)) % len(RULES)]
    rules = (first,) if rng.random() < 0.5 else (first, str(rng.choice([r for r in RULES if r != first])))
    jobs = [f"j{i}" for i in range(int(rng.integers(8, 13)))]
    nodes = [f"n{i}" for i in range(int(rng.integers(4, 7)))]
    one = Drawn(seed, world, rules, jobs, nodes)
    sizes = np.array({"positions": [1, 1, 2, 2, 4, 8], "parts": [0.25, 0.5, 0.5, 1, 1, 2]}.get(world, [1, 1, 2, 2, 4]))
    for j in jobs:
        one.need[j] = float(rng.choice(sizes))
        one.team[j] = str(rng.choice(["red", "blue", "green"]))
        one.value[j] = float(rng.integers(5, 40))
        one.hours[j] = float(rng.integers(1, 9))
        one.watts[j] = float(rng.integers(100, 400))
    for n in nodes:
        one.rack[n] = str(rng.choice(["r1", "r2"]))
        one.grams[n] = float(rng.integers(20, 100))
    for n in ["small", "large"] if world == "types" else nodes:
        one.gpus[n] = 8.0 if world == "positions" else float(rng.choice([2, 4])) if world != "types" else 4.0
        one.price[n] = float(rng.integers(1, 5)) / 10
    if world == "types":
        one.gpus["large"] = 8.0
    _limits(one, rng)
    one.text = _text(one)
    return one


def _limits(one: Drawn, rng: np.random.Generator) -> None:
    """Draw limits that bind, and that some plan obeys."""
    total = sum(one.need.values())
    for rack in ("r1", "r2"):
        one.limits[f"cap {rack}"] = float(max(2, round(0.3 * total * rng.uniform(0.5, 1.0))))
        one.limits[f"watts {rack}"] = float(rng.integers(700, 1600))
    for team in ("red", "blue", "green"):
        one.limits[f"share {team}"] = float(max(1, round(0.25 * total * rng.uniform(0.4, 1.0))))
    one.limits["carbon"] = float(
        round(60.0 * sum(one.hours[j] * one.need[j] for j in one.jobs) * rng.uniform(0.25, 0.5))
    )
    one.limits["open"] = float(max(2, len(one.nodes) // 2))
    teams = [t for t in ("red", "blue", "green") if any(one.team[j] == t for j in one.jobs)]
    chosen = str(rng.choice(teams))
    one.limits[f"least {chosen}"] = float(min(2, sum(one.team[j] == chosen for j in one.jobs)))
    shuffled = [one.jobs[at] for at in rng.permutation(len(one.jobs))]
    one.pairs = [(shuffled[0], shuffled[1]), (shuffled[2], shuffled[3])]


def _table(name: str, values: dict[str, float] | dict[str, str]) -> str:
    return f"  table {name} = " + " ".join(f"{key} {value}" for key, value in values.items()) + ";\n"


def _text(one: Drawn) -> str:
    index, listed, uses, lasts, price = {
        "nodes": ("", "", "need[j] of gpus[n]", "hours[j]", "price[n]"),
        "modes": (", m", ", m in Modes", "need[j] of gpus[n]", "hours[j] * slow[m]", "price[n] * draw[m]"),
        "positions": (", s", ", s in Slots where may_start[j, s] == 1", "need[j] of gpus[n]", "hours[j]", "price[n]"),
        "types": (", t", ", t in Types", "need[j] of gpus[t]", "hours[j]", "price[t]"),
        "parts": ("", "", "need[j] of gpus[n]", "hours[j]", "price[n]"),
    }[one.world]
    chosen = {
        "modes": "n in Nodes, m in Modes by price[n] * draw[m] * slow[m]",
        "positions": "n in Nodes, s in Slots where may_start[j, s] == 1 by price[n], s",
        "types": "t in Types by price[t], gpus[t]",
    }.get(one.world, "n in Nodes by price[n]")
    bound, binds = index[2:], listed[2:]
    least = f"min[{binds}] price(run[j, {bound}])" if bound else "price(run[j])"
    by_price = {"types": "t in Types by price(run[j, t])"}.get(
        one.world, f"n in Nodes{listed} by price(run[j, n{index}])"
    )
    rest = {"modes": ", Modes", "types": ", Types"}.get(one.world, "")
    variable = "var run[j in Jobs, n in Nodes, s in Slots where may_start[j, s] == 1] binary;"
    if one.world != "positions":
        variable = f"var run[Jobs, Nodes{rest}] binary;"
    inner = f"sum[{listed[2:]}] " if listed else ""
    owner = "Types" if one.world == "types" else "Nodes"
    roles = "node_type t;  stock 100;  node_price price[t] * gpus[t];" if one.world == "types" else ""
    return f"""
model Drawn {{
  set Jobs;  set Nodes;  set Racks;  set Teams;
  set Modes;  set Slots = 0..7;  set Types;  set After within Nodes cross Nodes;
  set Pairs within Jobs cross Jobs;
  param need[Jobs] >= 0;  param team[Jobs] within Teams;  param value[Jobs] in $;  param hours[Jobs] in h > 0;
  param watts[Jobs] in W;  param gpus[{owner}] >= 0;  param rack[Nodes] within Racks;  param price[{owner}] in $/h;
  param grams[Nodes];  param cap[Racks];
  param most_watts[Racks] in W;  param share[Teams];  param least[Teams] default 0;
  param carbon_limit;  param most_open;
  param may_start[Jobs, Slots] binary default 0;
  param slow[Modes];  param draw[Modes];
  {variable}
  var up[Nodes] binary;
  var serves[Teams, Nodes] binary;
  var hosts[Nodes, Types] binary;
  let on[j in Jobs, n in Nodes] = {inner}run[j, n{index}];
  let runs[j in Jobs] = sum[n in Nodes] on[j, n];
  let power[j in Jobs, n in Nodes] = {inner}{"draw[m] * " if one.world == "modes" else ""}run[j, n{index}];
  minimize cost in $ {{
    rent: sum[j in Jobs, n in Nodes{listed}] need[j] * {price} * {lasts} * run[j, n{index}];
    waiting: sum[j in Jobs] value[j] * (1 - runs[j]);
  }}
  constraint once[j in Jobs]: runs[j] <= 1;
{_world_rows(one)}{"".join(_rule_rows(rule) for rule in one.rules)}
  placement run[j, n{index}] {{
    job j;  node n;  {roles}  uses {uses};  lasts {lasts};  costs need[j] * {price};
    postponed value[j];  user team[j];
  }}
}}
policy Queue for Drawn "the job that earns most for its GPUs first, in its cheapest way" {{
  order j in Jobs by value[j] / (need[j] * hours[j]) descending;
  choose {chosen};
  place best_fit, new_node, next_choice, postpone;
}}
policy FirstFit for Drawn extends Queue {{ place first_fit, new_node, next_choice, wait; }}
policy Drawing for Drawn extends Queue {{
  randomise order swapping with probability 0.3;
  randomise place from 3 by inverse idle;
  repeat 20 keep best total;
}}
policy Improving for Drawn extends Drawing {{
  improve 2 best rounds all with swap_tardy_costly(10), swap_tardy_any(10), swap_postponed_running, faster_type(10),
    double_gpus(10), halve_gpus(10), regroup_gpus(10), repack_node(0), repack_two(20);
}}
policy Priced for Drawn "the job that gains most beyond the prices of all rows first, in its cheapest place" {{
  order j in Jobs by {least};
  choose {by_price};
  place best_fit, new_node, next_choice, postpone;
}}
policy PricedDrawn for Drawn extends Priced {{
  randomise order swapping with probability 0.3;
  repeat 20 keep best total;
}}
policy Inserting for Drawn extends Queue {{ improve 1 best rounds all with insert_job(2); }}
scenario S for Drawn {{
  Jobs = {{ {", ".join(one.jobs)} }};  Nodes = {{ {", ".join(one.nodes)} }};  Racks = {{ r1, r2 }};
  Teams = {{ red, blue, green }};  Types = {{ {"small, large" if one.world == "types" else ""} }};
  table Modes: slow draw = slow 1.5 0.5  fast 1 1;  After = {{ (n0, n1) }};
  Pairs = {{ {", ".join(f"({a}, {b})" for a, b in one.pairs)} }};
{_table("Jobs: need", one.need)}{_table("Jobs: team", one.team)}{_table("Jobs: value[$]", one.value)}\
{_table("Jobs: hours[h]", one.hours)}{_table("Jobs: watts[W]", one.watts)}{_table(f"{owner}: gpus", one.gpus)}\
{_table("Nodes: rack", one.rack)}{_table(f"{owner}: price[$/h]", one.price)}{_table("Nodes: grams", one.grams)}\
{_table("Racks: cap", {r: one.limits[f"cap {r}"] for r in ("r1", "r2")})}\
{_table("Racks: most_watts[W]", {r: one.limits[f"watts {r}"] for r in ("r1", "r2")})}\
{_table("Teams: share", {t: one.limits[f"share {t}"] for t in ("red", "blue", "green")})}\
{_table("Teams: least", {t: one.limits.get(f"least {t}", 0.0) for t in ("red", "blue", "green")})}\
  carbon_limit = {one.limits["carbon"]};  most_open = {one.limits["open"]};
{_starts(one)}}}
"""


def _starts(one: Drawn) -> str:
    if one.world != "positions":
        return ""
    entries = [f"{j} {s} 1" for j in one.jobs for s in STARTS[int(one.need[j])]]
    return f"  table Jobs, Slots: may_start = {' '.join(entries)};\n"


def _world_rows(one: Drawn) -> str:
    if one.world == "positions":
        return """  constraint cell[n in Nodes, c in Slots]:
    sum[j in Jobs, s in Slots where may_start[j, s] == 1 and s <= c and c < s + need[j]] run[j, n, s] <= 1;
"""
    if one.world == "types":
        return """  constraint one_type[n in Nodes]: sum[t in Types] hosts[n, t] <= 1;
  constraint room[n in Nodes, t in Types]: sum[j in Jobs] need[j] * run[j, n, t] <= gpus[t] * hosts[n, t];
"""
    return "  constraint room[n in Nodes]: sum[j in Jobs] need[j] * on[j, n] <= gpus[n];\n"


_ROWS = {
    "rack_cap": "rack_cap[r in Racks]: sum[j in Jobs, n in Nodes where rack[n] == r] need[j] * on[j, n] <= cap[r];",
    "team_share": "team_share[t in Teams]: sum[j in Jobs where team[j] == t] need[j] * runs[j] <= share[t];",
    "one_user": """serving[j in Jobs, n in Nodes]: on[j, n] <= serves[team[j], n];
  constraint one_user[n in Nodes]: sum[t in Teams] serves[t, n] <= 1;""",
    "apart": "apart[(a, b) in Pairs, n in Nodes]: on[a, n] + on[b, n] <= 1;",
    "together": "together[(a, b) in Pairs]: runs[a] == runs[b];",
    "same_rack": """same_rack[(a, b) in Pairs, r in Racks]:
    sum[n in Nodes where rack[n] == r] on[a, n] == sum[n in Nodes where rack[n] == r] on[b, n];""",
    "power": """powered[j in Jobs, n in Nodes]: on[j, n] <= up[n];
  constraint power_cap[r in Racks]: sum[n in Nodes where rack[n] == r] 150[W] * up[n]
    + sum[j in Jobs, n in Nodes where rack[n] == r] watts[j] * power[j, n] <= most_watts[r];""",
    "carbon": "carbon: sum[j in Jobs, n in Nodes] grams[n] * need[j] * hours[j] / 1[h] * on[j, n] <= carbon_limit;",
    "few_open": """opened[j in Jobs, n in Nodes]: on[j, n] <= up[n];
  constraint few_open: sum[n in Nodes] up[n] <= most_open;""",
    "after": "after[j in Jobs, (m, n) in After]: on[j, n] <= sum[i in Jobs] on[i, m];",
    "at_least": "at_least[t in Teams]: sum[j in Jobs where team[j] == t] runs[j] >= least[t];",
}


def _rule_rows(rule: str) -> str:
    return f"  constraint {_ROWS[rule]}\n"


# --- the check ------------------------------------------------------------------------------------------------------


def broken_rules(one: Drawn, places: Sequence[Place]) -> list[str]:
    """Return the rules that a plan breaks, those of the world included."""
    found = ["once"] if len({place[0] for place in places}) < len(places) else []
    if not _room(one, places):
        found.append("room")
    return found + [rule for rule in one.rules if not _CHECKS[rule](one, places)]


def cost(one: Drawn, places: Sequence[Place]) -> float:
    """Return what a plan costs."""
    total = sum(one.value.values())
    for job, node, *rest in places:
        price = one.price[rest[0] if one.world == "types" else node]
        factor = 0.75 if rest and rest[0] == "slow" else 1.0  # half the draw for one and a half times as long
        total += one.need[job] * price * factor * one.hours[job] - one.value[job]
    return total


def _room(one: Drawn, places: Sequence[Place]) -> bool:
    if one.world == "positions":
        cells = [(node, int(s) + at) for job, node, s in places for at in range(int(one.need[job]))]
        return len(set(cells)) == len(cells) and all(int(s) in STARTS[int(one.need[j])] for j, _, s in places)
    for n in one.nodes:
        here = [place for place in places if place[1] == n]
        owners = {place[2] for place in here} if one.world == "types" else {n}
        if here and (len(owners) > 1 or sum(one.need[p[0]] for p in here) > sum(one.gpus[o] for o in owners) + 1e-9):
            return False
    return True


def _used(one: Drawn, places: Sequence[Place], keeps: Callable[[str, str], bool]) -> float:
    return sum(one.need[j] for j, n, *_ in places if keeps(j, n))


def _rack_cap(one: Drawn, places: Sequence[Place]) -> bool:
    return all(_used(one, places, lambda j, n, r=r: one.rack[n] == r) <= one.limits[f"cap {r}"] for r in ("r1", "r2"))  # type: ignore[misc]


def _team_share(one: Drawn, places: Sequence[Place]) -> bool:
    teams = ("red", "blue", "green")
    return all(_used(one, places, lambda j, n, t=t: one.team[j] == t) <= one.limits[f"share {t}"] for t in teams)  # type: ignore[misc]


def _one_user(one: Drawn, places: Sequence[Place]) -> bool:
    return all(len({one.team[place[0]] for place in places if place[1] == n}) <= 1 for n in one.nodes)


def _apart(one: Drawn, places: Sequence[Place]) -> bool:
    node = {place[0]: place[1] for place in places}
    return all(a not in node or b not in node or node[a] != node[b] for a, b in one.pairs)


def _together(one: Drawn, places: Sequence[Place]) -> bool:
    running = {place[0] for place in places}
    return all((a in running) == (b in running) for a, b in one.pairs)


def _same_rack(one: Drawn, places: Sequence[Place]) -> bool:
    rack = {place[0]: one.rack[place[1]] for place in places}
    return all(rack.get(a) == rack.get(b) for a, b in one.pairs)


def _power(one: Drawn, places: Sequence[Place]) -> bool:
    for r in ("r1", "r2"):
        here = [place for place in places if one.rack[place[1]] == r]
        drawn_by = sum(one.watts[p[0]] * (0.5 if len(p) > 2 and p[2] == "slow" else 1.0) for p in here)
        if drawn_by + 150 * len({place[1] for place in here}) > one.limits[f"watts {r}"] + 1e-6:
            return False
    return True


def _carbon(one: Drawn, places: Sequence[Place]) -> bool:
    grams = sum(one.grams[n] * one.need[j] * one.hours[j] for j, n, *_ in places)
    return grams <= one.limits["carbon"] + 1e-6


def _few_open(one: Drawn, places: Sequence[Place]) -> bool:
    return len({place[1] for place in places}) <= one.limits["open"]


def _after(one: Drawn, places: Sequence[Place]) -> bool:
    nodes = {place[1] for place in places}
    return "n1" not in nodes or "n0" in nodes


def _at_least(one: Drawn, places: Sequence[Place]) -> bool:
    counts = {t: sum(one.team[place[0]] == t for place in places) for t in ("red", "blue", "green")}
    return all(counts[t] >= one.limits.get(f"least {t}", 0.0) for t in counts)


_CHECKS: dict[str, Callable[[Drawn, Sequence[Place]], bool]] = {
    "rack_cap": _rack_cap, "team_share": _team_share, "one_user": _one_user, "apart": _apart, "together": _together,
    "same_rack": _same_rack, "power": _power, "carbon": _carbon, "few_open": _few_open, "after": _after,
    "at_least": _at_least,
}  # fmt: skip
