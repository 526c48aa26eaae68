"""Random models of gangs in slots with rows that no role states, and a check of plans from the drawn numbers alone.

The variable decides starts, or occupied slots; in a third of the models a spread gang does less in a slot.
`broken_gang_rules` knows nothing of the package: it reads the drawn numbers, and the workers of jobs in slots.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

Plan = Mapping[str, Mapping[int, Mapping[str, int]]]  # workers on nodes, of jobs in slots
WORLDS = ("occupied", "start", "spread")
RULES = ("rack_cap", "team_at_once", "apart", "carbon", "one_rack", "few_nodes", "most_nodes")
HORIZON = 12
OFFICE = range(4, 9)
FACTORS = {"occupied": (1.0, 1.0), "start": (1.0, 1.0), "spread": (1.25, 2.0)}


@dataclass
class DrawnGangSlots:
    """A model as text, and its numbers by name."""

    seed: int
    world: str
    rules: tuple[str, ...]
    jobs: list[str]
    rack: dict[str, str]
    text: str = ""
    gpus: dict[str, int] = field(default_factory=dict)
    rent: dict[str, int] = field(default_factory=dict)
    need: dict[str, int] = field(default_factory=dict)
    size: dict[str, int] = field(default_factory=dict)
    length: dict[str, int] = field(default_factory=dict)
    due: dict[str, int] = field(default_factory=dict)
    value: dict[str, int] = field(default_factory=dict)
    team: dict[str, str] = field(default_factory=dict)
    tariff: dict[int, int] = field(default_factory=dict)
    grams: dict[int, int] = field(default_factory=dict)
    pairs: list[tuple[str, str]] = field(default_factory=list)
    limits: dict[str, int] = field(default_factory=dict)

    def slots(self, job: str, nodes: Mapping[str, int]) -> int:
        """The slots that a job takes on some nodes."""
        on_nodes, on_racks = FACTORS[self.world]
        racks = {self.rack[n] for n in nodes}
        return math.ceil(self.length[job] * (1.0 if len(nodes) == 1 else on_nodes if len(racks) == 1 else on_racks))


def drawn_gang_slots(seed: int) -> DrawnGangSlots:
    """Return the model of a seed: all worlds and rules come up."""
    rng = np.random.default_rng([11, seed])
    first = RULES[seed % len(RULES)]
    rules = (first,) if rng.random() < 0.4 else (first, str(rng.choice([r for r in RULES if r != first])))
    jobs = [f"j{i}" for i in range(int(rng.integers(5, 8)))]
    rack = {f"n{i}": f"r{i % 2}" for i in range(int(rng.integers(4, 7)))}
    one = DrawnGangSlots(seed, WORLDS[seed % len(WORLDS)], rules, jobs, rack)
    for n in rack:
        one.gpus[n], one.rent[n] = int(rng.integers(1, 5)), int(rng.choice([4, 4, 5, 6]))
    for j in jobs:
        one.need[j], one.size[j] = int(rng.integers(1, 5)), int(rng.choice([1, 1, 2]))
        one.length[j] = int(rng.integers(1, 5))
        one.due[j] = int(rng.integers(min(2 * one.length[j] + 2, HORIZON), HORIZON + 1))
        one.value[j] = one.need[j] * one.size[j] * one.length[j] * int(rng.integers(60, 120))
        one.team[j] = str(rng.choice(["red", "blue"]))
    for h in range(1, HORIZON + 1):
        one.tariff[h], one.grams[h] = int(rng.integers(2, 9)), int(rng.integers(1, 9))
    work = sum(one.length[j] * one.need[j] * one.size[j] for j in jobs)
    one.limits = {
        "rack": int(rng.integers(2, 5)),
        "at_once": 1,
        "carbon": int(work * 4 * rng.uniform(0.6, 0.9)),
        "nodes": max(2, len(rack) - 2),
        "most": 2,
    }
    shuffled = [jobs[at] for at in rng.permutation(len(jobs))]
    one.pairs = [(shuffled[0], shuffled[1]), (shuffled[2], shuffled[3])]
    one.text = text_of(one)
    return one


def _table(name: str, values: Mapping[str, object] | Mapping[int, object]) -> str:
    return f"  table {name} = " + " ".join(f"{key} {value}" for key, value in values.items()) + ";\n"


def text_of(one: DrawnGangSlots) -> str:
    on_nodes, on_racks = FACTORS[one.world]
    if one.world == "start":
        exists, lasts, goes_on = "where h + length[j] - 1 <= due[j]", "length[j]", ""
        at = "sum[q in Slots where q <= h and h < q + length[j] and q + length[j] - 1 <= due[j]] worker[j, n, q]"
        here = "h + length[j] - 1 <= due[j]"
        enough = "sum[h in Slots where h + length[j] - 1 <= due[j]] runs[j, h] == does[j]"
    else:
        exists, lasts, at, here = "where h <= due[j]", "1", "if h <= due[j] then worker[j, n, h] else 0", "h <= due[j]"
        enough = "sum[h in Slots where h <= due[j]] runs[j, h] == length[j] * does[j]"
        goes_on = """
  var begins[Jobs, Slots] binary;
  constraint begins_once[j in Jobs]: sum[h in Slots] begins[j, h] <= 1;
  constraint goes_on[j in Jobs, n in Nodes, h in Slots where h <= due[j]]:
    worker[j, n, h] <= (worker[j, n, h-1] else 0) + gpus[n] * begins[j, h];"""
    spread, factors = "", ""
    if one.world == "spread":
        factors = f"across_nodes {on_nodes};  across_racks {on_racks};"
        enough = (
            f"sum[h in Slots where h <= due[j]] (runs[j, h] - {1 - 1 / on_nodes} * several[j, h]"
            f" - {1 / on_nodes - 1 / on_racks} * far[j, h]) >= length[j] * does[j]"
        )
        spread = """
  var several[Jobs, Slots] binary;  var far[Jobs, Slots] binary;
  constraint one_node[j in Jobs, h in Slots]: sum[n in Nodes] on[j, n, h] <= 1 + need[j] * several[j, h];
  constraint one_place[j in Jobs, h in Slots]: sum[r in Racks] in_rack[j, r, h] <= 1 + need[j] * far[j, h];
  constraint far_is_several[j in Jobs, h in Slots]: far[j, h] <= several[j, h];
  constraint where_it_runs[j in Jobs, h in Slots]: several[j, h] <= runs[j, h];"""
    return f"""
model GangSlots {{
  set Jobs;  set Nodes;  set Racks;  set Teams;  set Pairs within Jobs cross Jobs;
  set Slots = 1..{HORIZON};
  param rack[Nodes] within Racks;  param gpus[Nodes] integer >= 0;  param rent[Nodes];
  param need[Jobs] integer >= 1;  param size[Jobs] integer;  param length[Jobs] integer >= 1;
  param due[Jobs] integer;  param value[Jobs];  param team[Jobs] within Teams;
  param tariff[Slots];  param grams[Slots];
  var worker[j in Jobs, n in Nodes, h in Slots {exists}] integer >= 0 <= gpus[n];
  var runs[j in Jobs, h in Slots] binary;
  var does[Jobs] binary;
  var on[Jobs, Nodes, Slots] binary;  var in_rack[Jobs, Racks, Slots] binary;
  let at[j in Jobs, n in Nodes, h in Slots] = {at};
  minimize cost: sum[j in Jobs, n in Nodes, h in Slots] tariff[h] * rent[n] * size[j] * at[j, n, h]
    + sum[j in Jobs] value[j] * (1 - does[j]);
  constraint all_or_none[j in Jobs, h in Slots where {here}]: sum[n in Nodes] worker[j, n, h] == need[j] * runs[j, h];
  constraint enough[j in Jobs]: {enough};
  constraint room[n in Nodes, h in Slots]: sum[j in Jobs] size[j] * at[j, n, h] <= gpus[n];
  constraint uses_node[j in Jobs, n in Nodes, h in Slots]: at[j, n, h] <= need[j] * on[j, n, h];
  constraint uses_rack[j in Jobs, n in Nodes, h in Slots]: on[j, n, h] <= in_rack[j, rack[n], h];{goes_on}{spread}
{"".join(f"  {_ROWS[rule].format(**one.limits)}{chr(10)}" for rule in one.rules)}
  placement worker[j, n, h] {{
    job j;  node n;  slot h;  rack rack[n];  workers need[j];  uses size[j] of gpus[n];  lasts {lasts};  {factors}
  }}
}}
policy Early for GangSlots {{
  order j in Jobs by due[j] - length[j];
  choose n in Nodes, h in Slots where h + length[j] - 1 <= due[j] by rent[n];
  occupies length[j];
  place start_now;
}}
policy Blocking for GangSlots extends Early {{ place start_now, block; }}
policy Valley for GangSlots extends Early {{
  order j in Jobs by value[j] / (need[j] * size[j] * length[j]) descending;
  choose n in Nodes, h in Slots where h <= due[j] by tariff[h] * rent[n] * size[j];
  place cheapest_block;
}}
policy Tight for GangSlots extends Valley {{ order j in Jobs by need[j] * size[j] * length[j] descending, due[j]; }}
policy Priced for GangSlots extends Tight {{
  choose n in Nodes, h in Slots where h <= due[j] by price(worker[j, n, h]);
}}
scenario S for GangSlots {{
  Jobs = {{ {", ".join(one.jobs)} }};  Nodes = {{ {", ".join(one.rack)} }};  Racks = {{ r0, r1 }};
  Teams = {{ red, blue }};  Pairs = {{ {", ".join(f"({a}, {b})" for a, b in one.pairs)} }};
{_table("Nodes: rack", one.rack)}{_table("Nodes: gpus", one.gpus)}{_table("Nodes: rent", one.rent)}\
{_table("Jobs: need", one.need)}{_table("Jobs: size", one.size)}{_table("Jobs: length", one.length)}\
{_table("Jobs: due", one.due)}{_table("Jobs: value", one.value)}{_table("Jobs: team", one.team)}\
{_table("Slots: tariff", one.tariff)}{_table("Slots: grams", one.grams)}\
}}
"""


_ROWS = {
    "rack_cap": f"constraint rack_cap[r in Racks, h in Slots where {OFFICE.start} <= h and h < {OFFICE.stop}]:"
    " sum[j in Jobs, n in Nodes where rack[n] == r] size[j] * at[j, n, h] <= {rack};",
    "team_at_once": "var busy[Jobs, Slots] binary;\n"
    "  constraint is_busy[j in Jobs, n in Nodes, h in Slots]: at[j, n, h] <= need[j] * busy[j, h];\n"
    "  constraint team_at_once[t in Teams, h in Slots]: sum[j in Jobs where team[j] == t] busy[j, h] <= {at_once};",
    "apart": "constraint apart[(a, b) in Pairs, n in Nodes, h in Slots]: on[a, n, h] + on[b, n, h] <= 1;",
    "carbon": "constraint carbon: sum[j in Jobs, n in Nodes, h in Slots] grams[h] * size[j] * at[j, n, h] <= {carbon};",
    "one_rack": "constraint one_rack[j in Jobs, h in Slots]: sum[r in Racks] in_rack[j, r, h] <= 1;",
    "few_nodes": "var up[Nodes] binary;\n"
    "  constraint opens[j in Jobs, n in Nodes, h in Slots]: at[j, n, h] <= gpus[n] * up[n];\n"
    "  constraint few_nodes: sum[n in Nodes] up[n] <= {nodes};",
    "most_nodes": "constraint most_nodes[j in Jobs, h in Slots]: sum[n in Nodes] on[j, n, h] <= {most};",
}


# --- the check ------------------------------------------------------------------------------------------------------


def broken_gang_rules(one: DrawnGangSlots, plan: Plan, *, may_be_cut: bool = False) -> list[str]:
    """Return the rules that a plan breaks, those of the world included; with `may_be_cut` gangs may end later."""
    found = []
    if any(sum(nodes.values()) != one.need[j] for j, slots in plan.items() for nodes in slots.values()):
        found.append("all_or_none")
    for j, slots in plan.items():
        times = sorted(slots)
        if len({tuple(sorted(nodes.items())) for nodes in slots.values()}) > 1:
            found.append("moves")
        is_cut = may_be_cut and times[-1] == HORIZON and len(times) < one.slots(j, slots[times[0]])
        if times[-1] - times[0] + 1 != len(times) or (len(times) != one.slots(j, slots[times[0]]) and not is_cut):
            found.append("whole")
        if times[-1] > one.due[j]:
            found.append("due")
    return found + broken_limits(one, plan)


def broken_limits(one: DrawnGangSlots, plan: Plan) -> list[str]:
    """Return the limits that a plan, or a part of one, exceeds."""
    slots = range(1, HORIZON + 1)
    full = any(_used(one, plan, h, [n]) > one.gpus[n] for n in one.rack for h in slots)
    return (["room"] if full else []) + [rule for rule in one.rules if not _CHECKS[rule](one, plan)]


def _nodes(plan: Plan, j: str, h: int) -> Mapping[str, int]:
    return plan.get(j, {}).get(h, {})


def _used(one: DrawnGangSlots, plan: Plan, h: int, nodes: list[str]) -> int:
    return sum(one.size[j] * _nodes(plan, j, h).get(n, 0) for j in plan for n in nodes)


def _rack_cap(one: DrawnGangSlots, plan: Plan) -> bool:
    racks = [[n for n, rack in one.rack.items() if rack == r] for r in ("r0", "r1")]
    return all(_used(one, plan, h, nodes) <= one.limits["rack"] for h in OFFICE for nodes in racks)


def _team_at_once(one: DrawnGangSlots, plan: Plan) -> bool:
    for h in range(1, HORIZON + 1):
        teams = [one.team[j] for j in plan if _nodes(plan, j, h)]
        if any(teams.count(t) > one.limits["at_once"] for t in ("red", "blue")):
            return False
    return True


def _apart(one: DrawnGangSlots, plan: Plan) -> bool:
    slots = range(1, HORIZON + 1)
    return not any(set(_nodes(plan, a, h)) & set(_nodes(plan, b, h)) for a, b in one.pairs for h in slots)


def _carbon(one: DrawnGangSlots, plan: Plan) -> bool:
    total = sum(one.grams[h] * one.size[j] * sum(w.values()) for j, own in plan.items() for h, w in own.items())
    return total <= one.limits["carbon"]


def _one_rack(one: DrawnGangSlots, plan: Plan) -> bool:
    return all(len({one.rack[n] for n in nodes}) <= 1 for own in plan.values() for nodes in own.values())


def _few_nodes(one: DrawnGangSlots, plan: Plan) -> bool:
    return len({n for own in plan.values() for nodes in own.values() for n in nodes}) <= one.limits["nodes"]


def _most_nodes(one: DrawnGangSlots, plan: Plan) -> bool:
    return all(len(nodes) <= one.limits["most"] for own in plan.values() for nodes in own.values())


_CHECKS: dict[str, Callable[[DrawnGangSlots, Plan], bool]] = {
    "rack_cap": _rack_cap, "team_at_once": _team_at_once, "apart": _apart, "carbon": _carbon, "one_rack": _one_rack,
    "few_nodes": _few_nodes, "most_nodes": _most_nodes,
}  # fmt: skip
