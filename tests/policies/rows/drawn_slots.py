"""Random models with slots and rows that no role states, and a check of plans from the drawn numbers alone.

Jobs occupy slots, or are decided by their start; a third of the models serves requests on the nodes that no job has.
`broken_slot_rules` knows nothing of the package: it reads the drawn numbers, the slots of each job, and the loads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

Slots = Mapping[tuple[str, str], list[int]]  # of a job on a node, in order
Loads = Mapping[tuple[str, int], float]  # of a node in a slot
WORLDS = ("occupied", "start", "serving")
RULES = ("office_power", "team_at_once", "apart", "carbon", "per_node", "few_nodes")
DEMANDS = ("at_least", "exactly", "together", "must", "cover", "floor", "level", "instead")
HORIZON = 12
OFFICE = range(4, 9)


@dataclass
class DrawnSlots:
    """A model as text, and its numbers by name."""

    seed: int
    world: str
    rules: tuple[str, ...]
    jobs: list[str]
    nodes: list[str]
    text: str = ""
    length: dict[str, int] = field(default_factory=dict)
    due: dict[str, int] = field(default_factory=dict)
    watts: dict[str, int] = field(default_factory=dict)
    value: dict[str, int] = field(default_factory=dict)
    team: dict[str, str] = field(default_factory=dict)
    idle: dict[str, int] = field(default_factory=dict)
    tariff: dict[int, int] = field(default_factory=dict)
    grams: dict[int, int] = field(default_factory=dict)
    load: dict[int, int] = field(default_factory=dict)
    pairs: list[tuple[str, str]] = field(default_factory=list)
    must: list[str] = field(default_factory=list)
    cover: list[int] = field(default_factory=list)
    limits: dict[str, int] = field(default_factory=dict)


def drawn_slots(seed: int) -> DrawnSlots:
    """Return the model of a seed: all worlds and rules come up."""
    rng = np.random.default_rng([7, seed])
    first = RULES[seed % len(RULES)]
    rules = (first,) if rng.random() < 0.4 else (first, str(rng.choice([r for r in RULES if r != first])))
    jobs = [f"j{i}" for i in range(int(rng.integers(6, 10)))]
    nodes = [f"n{i}" for i in range(int(rng.integers(2, 5)))]
    one = DrawnSlots(seed, WORLDS[(seed + seed // len(RULES)) % len(WORLDS)], rules, jobs, nodes)
    for j in jobs:
        one.length[j] = int(rng.integers(1, 5))
        one.due[j] = int(rng.integers(max(one.length[j] + 1, 5), HORIZON + 1))
        one.watts[j] = int(rng.integers(100, 400))
        one.value[j] = int(rng.integers(10, 40)) * 1000
        one.team[j] = str(rng.choice(["red", "blue"]))
    for n in nodes:
        one.idle[n] = int(rng.integers(50, 150))
    for h in range(1, HORIZON + 1):
        one.tariff[h], one.grams[h] = int(rng.integers(1, 9)), int(rng.integers(1, 9))
        one.load[h] = int(rng.integers(5, 30))
    work = sum(one.length[j] * one.watts[j] for j in jobs)
    base = sum(one.idle.values()) if one.world == "serving" else 0
    one.limits = {
        "power": base + int(rng.integers(300, 800)),
        "at_once": 1,
        "carbon": int(work * 4 * rng.uniform(0.3, 0.6)),
        "per_node": max(1, len(jobs) // len(nodes) - 1),
        "nodes": max(1, len(nodes) - 1),
    }
    shuffled = [jobs[at] for at in rng.permutation(len(jobs))]
    one.pairs = [(shuffled[0], shuffled[1]), (shuffled[2], shuffled[3]), (shuffled[4], shuffled[5])]
    one.text = text_of(one)
    return one


def drawn_slot_demands(seed: int) -> DrawnSlots:
    """Return the model of a seed with one to three demands, and perhaps a limit that does not concern loads."""
    rng = np.random.default_rng([71, seed])
    one = drawn_slots(seed)
    rules = [DEMANDS[seed % len(DEMANDS)], *(str(r) for r in rng.choice(DEMANDS, int(rng.integers(0, 3))))]
    rules += [str(rng.choice([r for r in RULES if r != "office_power"]))] if rng.random() < 0.5 else []
    one.rules = tuple(dict.fromkeys(rules))
    one.must = [str(j) for j in rng.choice(one.jobs, 2, replace=False)]
    one.cover = [int(h) for h in rng.choice(np.arange(1, HORIZON + 1), 2, replace=False)]
    one.limits.update(wanted=int(rng.integers(1, 4)), least=int(rng.integers(3, 5 * len(one.nodes))))
    one.text = text_of(one)
    return one


def _table(name: str, values: Mapping[str, object] | Mapping[int, object]) -> str:
    return f"  table {name} = " + " ".join(f"{key} {value}" for key, value in values.items()) + ";\n"


def text_of(one: DrawnSlots) -> str:
    if one.world == "start":
        variable, lasts = "where h + length[j] - 1 <= due[j]", "length[j]"
        at = "sum[q in Slots where q <= h and h < q + length[j]] run[j, n, q]"
        rows = "constraint whole[j in Jobs, n in Nodes]: sum[h in Slots] run[j, n, h] == does[j, n];"
    else:
        variable, lasts = "where h <= due[j]", "1"
        at = "run[j, n, h]"
        rows = "constraint whole[j in Jobs, n in Nodes]: sum[h in Slots] run[j, n, h] == length[j] * does[j, n];"
    serve, fix = "", ""
    if one.world == "serving":
        rows += """
  var share[Nodes, Slots, Services] >= 0;
  var shed[Slots] >= 0;
  constraint served[h in Slots, i in Services]: sum[n in Nodes] share[n, h, i] + shed[h] == load[h];
  constraint alone[n in Nodes, h in Slots, i in Services]:
    share[n, h, i] <= 100 * (1 - sum[j in Jobs] at[j, n, h]);"""
        serve = "serve share[n in Nodes, h in Slots, i in Services] of load[h] with equal_parts;"
        fix = (
            "fix on[n in Nodes, h in Slots] = 1;",
            "fix on[n in Nodes, h in Slots] ="
            " if sum[j in Jobs] run[j, n, h] > 0 or sum[i in Services] share[n, h, i] > 0 then 1 else 0;",
            "fix on[n in Nodes, h in Slots] = sum[j in Jobs] run[j, n, h];",
        )[one.seed % 3]
    used = "4 * sum[i in Services] share[n, h, i]" if one.world == "serving" else "0"
    single = ""
    if one.world != "start":
        single = "policy Single for Slotted extends Valley { place cheapest_block, cheapest_slots; }"
    return f"""
model Slotted {{
  set Jobs;  set Nodes;  set Teams;  set Services;  set Pairs within Jobs cross Jobs;
  set Slots = 1..{HORIZON};  set Must within Jobs;  set Cover within Slots;
  param length[Jobs] integer >= 1;  param due[Jobs] integer;  param watts[Jobs];  param value[Jobs];
  param team[Jobs] within Teams;  param idle[Nodes];  param tariff[Slots];  param grams[Slots];  param load[Slots];
  var run[j in Jobs, n in Nodes, h in Slots {variable}] binary;
  var does[Jobs, Nodes] binary;
  var on[Nodes, Slots] >= 0 <= 1;
  let at[j in Jobs, n in Nodes, h in Slots] = {at};
  let power[n in Nodes, h in Slots] = idle[n] * on[n, h] + sum[j in Jobs] watts[j] * at[j, n, h] + {used};
  minimize cost: sum[n in Nodes, h in Slots] tariff[h] * power[n, h]
    + sum[j in Jobs] value[j] * (1 - sum[n in Nodes] does[j, n]);
  constraint once[j in Jobs]: sum[n in Nodes] does[j, n] <= 1;
  constraint busy[n in Nodes, h in Slots]: sum[j in Jobs] at[j, n, h] <= on[n, h];
  {rows}
{"".join(f"  {_ROWS[rule].format(**one.limits)}{chr(10)}" for rule in one.rules)}
  placement run[j, n, h] {{ job j;  node n;  slot h;  lasts {lasts}; }}
}}
policy Early for Slotted {{
  order j in Jobs by due[j] - length[j];
  choose n in Nodes, h in Slots where h + length[j] - 1 <= due[j] by idle[n];
  occupies length[j];
  place start_now;
  {serve}
  {fix}
}}
policy Blocking for Slotted extends Early {{ place start_now first_free, block; }}
policy Turns for Slotted extends Early {{ place by_performance by due[j] - h; }}
policy Valley for Slotted extends Early {{
  choose n in Nodes, h in Slots where h <= due[j] by tariff[h] * (idle[n] + watts[j]);
  place cheapest_block;
}}
{single}
scenario S for Slotted {{
  Jobs = {{ {", ".join(one.jobs)} }};  Nodes = {{ {", ".join(one.nodes)} }};  Teams = {{ red, blue }};
  Services = {{ i }};  Pairs = {{ {", ".join(f"({a}, {b})" for a, b in one.pairs)} }};
  Must = {{ {", ".join(one.must)} }};  Cover = {{ {", ".join(str(h) for h in one.cover)} }};
{_table("Jobs: length", one.length)}{_table("Jobs: due", one.due)}{_table("Jobs: watts", one.watts)}\
{_table("Jobs: value", one.value)}{_table("Jobs: team", one.team)}{_table("Nodes: idle", one.idle)}\
{_table("Slots: tariff", one.tariff)}{_table("Slots: grams", one.grams)}{_table("Slots: load", one.load)}\
}}
"""


_ROWS = {
    "office_power": f"constraint office_power[h in Slots where {OFFICE.start} <= h and h < {OFFICE.stop}]:"
    " sum[n in Nodes] power[n, h] <= {power};",
    "team_at_once": "constraint team_at_once[t in Teams, h in Slots]:"
    " sum[j in Jobs, n in Nodes where team[j] == t] at[j, n, h] <= {at_once};",
    "apart": "constraint apart[(a, b) in Pairs, h in Slots]:"
    " sum[n in Nodes] at[a, n, h] + sum[n in Nodes] at[b, n, h] <= 1;",
    "carbon": "constraint carbon:"
    " sum[j in Jobs, n in Nodes, h in Slots] grams[h] * watts[j] * at[j, n, h] <= {carbon};",
    "per_node": "constraint per_node[n in Nodes]: sum[j in Jobs] does[j, n] <= {per_node};",
    "few_nodes": "var up[Nodes] binary;\n  constraint opens[j in Jobs, n in Nodes, h in Slots]: at[j, n, h] <= up[n];\n"
    "  constraint few_nodes: sum[n in Nodes] up[n] <= {nodes};",
    "at_least": 'constraint at_least: sum[j in Jobs, n in Nodes where team[j] == "red"] does[j, n] >= {wanted};',
    "exactly": 'constraint exactly: sum[j in Jobs, n in Nodes where team[j] == "red"] does[j, n] == {wanted};',
    "together": "constraint together[(a, b) in Pairs]: sum[n in Nodes] does[a, n] == sum[n in Nodes] does[b, n];",
    "must": "constraint must[j in Must]: sum[n in Nodes] does[j, n] == 1;",
    "cover": "constraint cover[h in Cover]: sum[j in Jobs, n in Nodes] at[j, n, h] >= 1;",
    "floor": f"constraint floor: sum[j in Jobs, n in Nodes, h in Slots where {OFFICE.start} <= h and h < {OFFICE.stop}]"
    " at[j, n, h] >= {least};",
    "level": 'constraint level: sum[j in Jobs] does[j, "n0"] == sum[j in Jobs] does[j, "n1"];',
    "instead": "constraint instead[(a, b) in Pairs]: sum[n in Nodes] (does[a, n] + does[b, n]) >= 1;",
}


# --- the check ------------------------------------------------------------------------------------------------------


def broken_slot_rules(one: DrawnSlots, slots: Slots, loads: Loads) -> list[str]:
    """Return the rules that a plan breaks, those of the world included."""
    found = []
    if len({j for j, _ in slots}) < len(slots):
        found.append("once")
    if any(len(own) != one.length[j] or max(own) > one.due[j] for (j, _), own in slots.items()):
        found.append("whole")
    cells = [(n, h) for (_, n), own in slots.items() for h in own]
    if len(set(cells)) < len(cells) or any(loads.get(cell, 0.0) > 0 for cell in cells):
        found.append("busy")
    return found + [rule for rule in one.rules if not _CHECKS[rule](one, slots, loads)]


def _at(slots: Slots, h: int) -> list[tuple[str, str]]:
    return [place for place, own in slots.items() if h in own]


def _office_power(one: DrawnSlots, slots: Slots, loads: Loads) -> bool:
    for h in OFFICE:
        jobs = _at(slots, h)
        on = {n for _, n in jobs}
        if one.world == "serving" and one.seed % 3 == 0:
            on = set(one.nodes)
        elif one.world == "serving" and one.seed % 3 == 1:
            on |= {n for n in one.nodes if loads.get((n, h), 0.0) > 0}
        total = sum(one.idle[n] for n in on) + sum(one.watts[j] for j, _ in jobs)
        total += 4 * sum(loads.get((n, h), 0.0) for n in one.nodes)
        if total > one.limits["power"] + 1e-6:
            return False
    return True


def _team_at_once(one: DrawnSlots, slots: Slots, loads: Loads) -> bool:
    teams = [[one.team[j] for j, _ in _at(slots, h)] for h in range(1, HORIZON + 1)]
    return all(names.count(t) <= one.limits["at_once"] for names in teams for t in ("red", "blue"))


def _apart(one: DrawnSlots, slots: Slots, loads: Loads) -> bool:
    own = {j: set(where) for (j, _), where in slots.items()}
    return all(not (own.get(a, set()) & own.get(b, set())) for a, b in one.pairs)


def _carbon(one: DrawnSlots, slots: Slots, loads: Loads) -> bool:
    return sum(one.grams[h] * one.watts[j] for (j, _), own in slots.items() for h in own) <= one.limits["carbon"]


def _per_node(one: DrawnSlots, slots: Slots, loads: Loads) -> bool:
    return all(sum(n == node for _, node in slots) <= one.limits["per_node"] for n in one.nodes)


def _jobs(slots: Slots) -> set[str]:
    return {j for j, _ in slots}


def _of_team(one: DrawnSlots, slots: Slots, team: str) -> int:
    return sum(one.team[j] == team for j in _jobs(slots))


def _few_nodes(one: DrawnSlots, slots: Slots, loads: Loads) -> bool:
    return len({n for _, n in slots}) <= one.limits["nodes"]


_CHECKS: dict[str, Callable[[DrawnSlots, Slots, Loads], bool]] = {
    "office_power": _office_power, "team_at_once": _team_at_once, "apart": _apart, "carbon": _carbon,
    "per_node": _per_node, "few_nodes": _few_nodes,
    "at_least": lambda one, slots, loads: _of_team(one, slots, "red") >= one.limits["wanted"],
    "exactly": lambda one, slots, loads: _of_team(one, slots, "red") == one.limits["wanted"],
    "together": lambda one, slots, loads: all((a in _jobs(slots)) == (b in _jobs(slots)) for a, b in one.pairs),
    "must": lambda one, slots, loads: _jobs(slots) >= set(one.must),
    "cover": lambda one, slots, loads: all(_at(slots, h) for h in one.cover),
    "floor": lambda one, slots, loads: sum(len(_at(slots, h)) for h in OFFICE) >= one.limits["least"],
    "level": lambda one, slots, loads: sum(n == "n0" for _, n in slots) == sum(n == "n1" for _, n in slots),
    "instead": lambda one, slots, loads: all(a in _jobs(slots) or b in _jobs(slots) for a, b in one.pairs),
}  # fmt: skip
