"""Random models whose rows demand jobs, and a check of plans from the drawn numbers alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

DEMANDS = ("at_least", "exactly", "together", "must", "cover", "floor", "level", "instead")
LIMITS = ("cap", "apart", "share")

Place = tuple[str, str]  # job, node


@dataclass
class DrawnDemands:
    """A model as text, and its numbers by name."""

    rules: list[str]
    need: dict[str, int] = field(default_factory=dict)
    team: dict[str, str] = field(default_factory=dict)
    gpus: dict[str, int] = field(default_factory=dict)
    rack: dict[str, str] = field(default_factory=dict)
    value: dict[str, int] = field(default_factory=dict)
    pairs: list[tuple[str, str]] = field(default_factory=list)
    must: list[str] = field(default_factory=list)
    cover: list[str] = field(default_factory=list)
    wanted: int = 0
    floor: int = 0
    cap: int = 0
    share: int = 0

    def on(self, places: Sequence[Place], keeps: Callable[[str, str], bool]) -> int:
        """The GPUs of the jobs that are kept."""
        return sum(self.need[j] for j, n in places if keeps(j, n))


_ROWS = {
    "at_least": 'at_least: sum[j in Jobs where team[j] == "red"] runs[j] >= wanted;',
    "exactly": 'exactly: sum[j in Jobs where team[j] == "red"] runs[j] == wanted;',
    "together": "together[(a, b) in Pairs]: runs[a] == runs[b];",
    "must": "must[j in Must]: runs[j] == 1;",
    "cover": "cover[n in Cover]: sum[j in Jobs] run[j, n] >= 1;",
    "floor": 'floor: sum[j in Jobs, n in Nodes where rack[n] == "r1"] need[j] * run[j, n] >= least;',
    "level": """level: sum[j in Jobs, n in Nodes where rack[n] == "r1"] need[j] * run[j, n]
    == sum[j in Jobs, n in Nodes where rack[n] == "r2"] need[j] * run[j, n];""",
    "instead": "instead[(a, b) in Pairs]: runs[a] + runs[b] >= 1;",
    "cap": "cap[r in Racks]: sum[j in Jobs, n in Nodes where rack[n] == r] need[j] * run[j, n] <= most;",
    "apart": "apart[(a, b) in Pairs, n in Nodes]: run[a, n] + run[b, n] <= 1;",
    "share": "share[t in Teams]: sum[j in Jobs where team[j] == t] need[j] * runs[j] <= part;",
}


def drawn_demands(seed: int) -> tuple[DrawnDemands, str]:
    """Return the numbers and the text of a seed: one to three demands, and perhaps a limit."""
    rng = np.random.default_rng([63, seed])
    rules = [DEMANDS[seed % len(DEMANDS)]]
    rules += [str(r) for r in rng.choice(DEMANDS, int(rng.integers(0, 3))) if r not in rules]
    rules += [str(rng.choice(LIMITS))] if rng.random() < 0.5 else []
    one = DrawnDemands(list(dict.fromkeys(rules)))
    jobs = [f"j{i}" for i in range(int(rng.integers(6, 10)))]
    nodes = [f"n{i}" for i in range(int(rng.integers(3, 5)))]
    for j in jobs:
        one.need[j], one.team[j] = int(rng.choice([1, 2, 2, 3, 4])), str(rng.choice(["red", "blue"]))
        one.value[j] = int(rng.integers(1, 30))
    for at, n in enumerate(nodes):
        one.gpus[n], one.rack[n] = int(rng.choice([2, 4, 4])), "r1" if at % 2 == 0 else "r2"
    mixed = [jobs[at] for at in rng.permutation(len(jobs))]
    one.pairs, one.must = [(mixed[0], mixed[1]), (mixed[2], mixed[3])], mixed[4:6]
    one.cover = [str(n) for n in rng.choice(nodes, 2, replace=False)]
    one.wanted = int(rng.integers(1, 3))
    one.floor = int(rng.integers(2, 6))
    one.cap, one.share = int(rng.integers(4, 8)), int(rng.integers(4, 9))
    return one, _text(one)


def _text(one: DrawnDemands) -> str:
    rows = "".join(f"  constraint {_ROWS[rule]}\n" for rule in one.rules)
    jobs = " ".join(f"{j} {one.need[j]} {one.team[j]} {one.value[j]}" for j in one.need)
    return f"""
model Drawn {{
  set Jobs ordered;  set Nodes;  set Racks;  set Teams;
  set Pairs within Jobs cross Jobs;  set Must within Jobs;  set Cover within Nodes;
  param need[Jobs] integer >= 1;  param team[Jobs] within Teams;  param value[Jobs] in $;
  param gpus[Nodes] integer >= 1;  param rack[Nodes] within Racks;
  param wanted integer;  param least integer;  param most integer;  param part integer;
  var run[Jobs, Nodes] binary;
  let runs[j in Jobs] = sum[n in Nodes] run[j, n];
  minimize waiting in $: sum[j in Jobs] value[j] * (1 - runs[j]);
  constraint once[j in Jobs]: runs[j] <= 1;
  constraint room[n in Nodes]: sum[j in Jobs] need[j] * run[j, n] <= gpus[n];
{rows}
  placement run[j, n] {{ job j;  node n;  uses need[j] of gpus[n];  postponed value[j]; }}
}}
policy Queue for Drawn {{
  order j in Jobs by value[j] / need[j] descending;
  place best_fit, new_node, next_choice, postpone;
}}
policy Waiting for Drawn {{ order j in Jobs by ord(j);  place first_fit, new_node, next_choice, wait; }}
policy Drawing for Drawn extends Queue {{ randomise order swapping with probability 0.3;  repeat 5 keep best total; }}
policy Inserting for Drawn extends Queue {{ improve 1 best rounds all with insert_job(2); }}
scenario S for Drawn {{
  Racks = {{ r1, r2 }};  Teams = {{ red, blue }};
  table Jobs: need team value[$] = {jobs};
  table Nodes: gpus rack = {" ".join(f"{n} {one.gpus[n]} {one.rack[n]}" for n in one.gpus)};
  Pairs = {{ {", ".join(f"({a}, {b})" for a, b in one.pairs)} }};
  Must = {{ {", ".join(one.must)} }};  Cover = {{ {", ".join(one.cover)} }};
  wanted = {one.wanted};  least = {one.floor};  most = {one.cap};  part = {one.share};
}}
"""


def broken_rules(one: DrawnDemands, places: Sequence[Place]) -> list[str]:
    """Return the rules that a plan breaks, those of nodes included."""
    node = dict(places)
    red = sum(one.team[j] == "red" for j in node)
    racks = [one.on(places, lambda j, n, r=r: one.rack[n] == r) for r in ("r1", "r2")]  # type: ignore[misc]
    teams = [one.on(places, lambda j, n, t=t: one.team[j] == t) for t in ("red", "blue")]  # type: ignore[misc]
    holds = {
        "once": len(node) == len(places),
        "room": all(one.on(places, lambda j, n, m=m: n == m) <= one.gpus[m] for m in one.gpus),  # type: ignore[misc]
        "at_least": red >= one.wanted,
        "exactly": red == one.wanted,
        "together": all((a in node) == (b in node) for a, b in one.pairs),
        "must": all(j in node for j in one.must),
        "cover": all(n in node.values() for n in one.cover),
        "floor": racks[0] >= one.floor,
        "level": racks[0] == racks[1],
        "instead": all(a in node or b in node for a, b in one.pairs),
        "cap": max(racks) <= one.cap,
        "apart": all(a not in node or node[a] != node.get(b) for a, b in one.pairs),
        "share": max(teams) <= one.share,
    }
    return [rule for rule in ("once", "room", *one.rules) if not holds[rule]]
