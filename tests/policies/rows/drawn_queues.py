"""Random models of queues with rows that no role states, and a check of plans from the drawn numbers alone.

`broken_queue_rules` knows nothing of the package: it reads the drawn numbers and the queue of each node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

Queues = Mapping[str, list[str]]  # of a node, the first job first
RULES = ("most_jobs", "team_share", "apart", "one_user", "power", "completions", "hurried", "rack_hours")
DEMANDS = ("at_least", "exactly", "together", "must", "cover", "floor", "level", "instead", "behind")


@dataclass
class DrawnQueues:
    """A model as text, and its numbers by name."""

    seed: int
    rules: tuple[str, ...]
    jobs: list[str]
    nodes: list[str]
    text: str = ""
    time: dict[tuple[str, str], int] = field(default_factory=dict)
    team: dict[str, str] = field(default_factory=dict)
    value: dict[str, int] = field(default_factory=dict)
    watts: dict[str, int] = field(default_factory=dict)
    rack: dict[str, str] = field(default_factory=dict)
    pairs: list[tuple[str, str]] = field(default_factory=list)
    hurried: list[str] = field(default_factory=list)
    must: list[str] = field(default_factory=list)
    cover: list[str] = field(default_factory=list)
    limits: dict[str, int] = field(default_factory=dict)


def drawn_queues(seed: int) -> DrawnQueues:
    """Return the model of a seed: all rules come up."""
    rng = np.random.default_rng([8, seed])
    first = RULES[seed % len(RULES)]
    rules = (first,) if rng.random() < 0.4 else (first, str(rng.choice([r for r in RULES if r != first])))
    jobs = [f"j{i}" for i in range(int(rng.integers(6, 10)))]
    nodes = [f"n{i}" for i in range(int(rng.integers(2, 5)))]
    one = DrawnQueues(seed, rules, jobs, nodes)
    for j in jobs:
        one.team[j] = str(rng.choice(["red", "blue"]))
        one.value[j] = int(rng.integers(500, 900))
        for n in nodes:
            if rng.random() < 0.85:
                one.time[j, n] = int(rng.integers(1, 20))
    for n in nodes:
        one.watts[n] = int(rng.integers(200, 500))
        one.rack[n] = str(rng.choice(["r1", "r2"]))
    shuffled = [jobs[at] for at in rng.permutation(len(jobs))]
    one.pairs = [(shuffled[0], shuffled[1]), (shuffled[2], shuffled[3])]
    one.hurried = shuffled[3:6]
    one.limits = {
        "jobs": max(1, len(jobs) // len(nodes)),
        "share": max(1, len(jobs) // 3),
        "power": sum(one.watts.values()) - min(one.watts.values()),
        "completions": int(sum(one.time.values()) / len(nodes) * rng.uniform(0.6, 1.2)),
        "behind": 2,
        "hours": int(sum(one.time.values()) / len(nodes) * rng.uniform(0.2, 0.4)),
    }
    one.text = _text(one)
    return one


def drawn_queue_demands(seed: int) -> DrawnQueues:
    """Return the model of a seed with one to three demands, and perhaps a limit."""
    rng = np.random.default_rng([81, seed])
    one = drawn_queues(seed)
    rules = [DEMANDS[seed % len(DEMANDS)], *(str(r) for r in rng.choice(DEMANDS, int(rng.integers(0, 3))))]
    rules += [str(rng.choice(RULES))] if rng.random() < 0.6 else []
    one.rules = tuple(dict.fromkeys(rules))
    one.must = [str(j) for j in rng.choice(one.jobs, 2, replace=False)]
    one.cover = [str(n) for n in rng.choice(one.nodes, 2, replace=False)]
    one.limits.update(wanted=int(rng.integers(1, 4)), least=int(rng.integers(10, 50)))
    one.text = _text(one)
    return one


def _text(one: DrawnQueues) -> str:
    times = " ".join(f"{j} {n} {time}" for (j, n), time in one.time.items())
    rows = "".join(f"  {_ROWS[rule].format(**one.limits)}\n" for rule in one.rules)

    def table(name: str, values: Mapping[str, object]) -> str:
        return f"  table {name} = " + " ".join(f"{key} {value}" for key, value in values.items()) + ";\n"

    return f"""
model Queues {{
  set Jobs ordered;  set Nodes ordered;  set Teams;  set Racks;
  set Runs within Jobs cross Nodes;  set Pairs within Jobs cross Jobs;  set Hurried within Jobs;
  set Places = 1..count(Jobs);  set Must within Jobs;  set Cover within Nodes;
  param time[Runs] > 0;  param team[Jobs] within Teams;  param value[Jobs];  param watts[Nodes];
  param rack[Nodes] within Racks;
  var run[j in Jobs, n in Nodes, p in Places where (j, n) in Runs] binary;
  let on[j in Jobs, n in Nodes] = sum[p in Places where (j, n) in Runs] run[j, n, p];
  minimize cost: sum[(j, n) in Runs, p in Places] p * time[j, n] * run[j, n, p]
    + sum[j in Jobs] value[j] * (1 - sum[n in Nodes] on[j, n]);
  constraint once[j in Jobs]: sum[n in Nodes] on[j, n] <= 1;
  constraint one_job[n in Nodes, p in Places]: sum[j in Jobs] run[j, n, p] <= 1;
  constraint no_gap[n in Nodes, p in Places where p > 1]: sum[j in Jobs] run[j, n, p] <= sum[j in Jobs] run[j, n, p-1];
{rows}
  placement run[j, n, p] {{ job j;  node n;  place_from_end p;  lasts time[j, n]; }}
}}
policy Fastest for Queues {{
  order j in Jobs by 0;
  choose n in Nodes where (j, n) in Runs by time[j, n];
  place append;
}}
policy FastestSorted for Queues extends Fastest {{ finish sort by time[j, n]; }}
policy Earliest for Queues extends Fastest {{ place append by earliest_finish; }}
policy EarliestSorted for Queues extends Earliest {{ finish sort by time[j, n]; }}
scenario S for Queues {{
  Jobs = {{ {", ".join(one.jobs)} }};  Nodes = {{ {", ".join(one.nodes)} }};  Teams = {{ red, blue }};
  Racks = {{ r1, r2 }};  Pairs = {{ {", ".join(f"({a}, {b})" for a, b in one.pairs)} }};
  Hurried = {{ {", ".join(one.hurried)} }};  Must = {{ {", ".join(one.must)} }};
  Cover = {{ {", ".join(one.cover)} }};
  table Runs: time = {times};
{table("Jobs: team", one.team)}{table("Jobs: value", one.value)}{table("Nodes: watts", one.watts)}\
{table("Nodes: rack", one.rack)}}}
"""


_ROWS = {
    "most_jobs": "constraint most_jobs[n in Nodes]: sum[j in Jobs] on[j, n] <= {jobs};",
    "team_share": "constraint team_share[t in Teams]:"
    " sum[j in Jobs, n in Nodes where team[j] == t] on[j, n] <= {share};",
    "apart": "constraint apart[(a, b) in Pairs, n in Nodes]: on[a, n] + on[b, n] <= 1;",
    "one_user": "var serves[Teams, Nodes] binary;\n"
    "  constraint serving[(j, n) in Runs, p in Places]: run[j, n, p] <= serves[team[j], n];\n"
    "  constraint one_user[n in Nodes]: sum[t in Teams] serves[t, n] <= 1;",
    "power": "var up[Nodes] binary;\n  constraint opens[(j, n) in Runs, p in Places]: run[j, n, p] <= up[n];\n"
    "  constraint power: sum[n in Nodes] watts[n] * up[n] <= {power};",
    "completions": "constraint completions: sum[(j, n) in Runs, p in Places] p * time[j, n] * run[j, n, p]"
    " <= {completions};",
    "hurried": "constraint hurried[j in Hurried]:"
    " sum[n in Nodes, p in Places where (j, n) in Runs] p * run[j, n, p] <= {behind};",
    "rack_hours": "constraint rack_hours[r in Racks]:"
    " sum[(j, n) in Runs where rack[n] == r] time[j, n] * on[j, n] <= {hours};",
    "at_least": 'constraint at_least: sum[j in Jobs, n in Nodes where team[j] == "red"] on[j, n] >= {wanted};',
    "exactly": 'constraint exactly: sum[j in Jobs, n in Nodes where team[j] == "red"] on[j, n] == {wanted};',
    "together": "constraint together[(a, b) in Pairs]: sum[n in Nodes] on[a, n] == sum[n in Nodes] on[b, n];",
    "must": "constraint must[j in Must]: sum[n in Nodes] on[j, n] == 1;",
    "cover": "constraint cover[n in Cover]: sum[j in Jobs] on[j, n] >= 1;",
    "floor": 'constraint floor: sum[(j, n) in Runs where rack[n] == "r1"] time[j, n] * on[j, n] >= {least};',
    "level": 'constraint level: sum[j in Jobs] on[j, "n0"] == sum[j in Jobs] on[j, "n1"];',
    "instead": "constraint instead[(a, b) in Pairs]: sum[n in Nodes] (on[a, n] + on[b, n]) >= 1;",
    "behind": "constraint behind[j in Hurried]:"
    " sum[n in Nodes, p in Places where (j, n) in Runs and p >= 2] run[j, n, p] >= 1;",
}


# --- the check ------------------------------------------------------------------------------------------------------


def broken_queue_rules(one: DrawnQueues, queues: Queues) -> list[str]:
    """Return the rules that a plan breaks, those of every model included."""
    placed = [j for queue in queues.values() for j in queue]
    found = ["once"] if len(set(placed)) < len(placed) else []
    if any((j, n) not in one.time for n, queue in queues.items() for j in queue):
        return [*found, "runs"]
    return found + [rule for rule in one.rules if not _CHECKS[rule](one, queues)]


def _completions(one: DrawnQueues, queues: Queues) -> bool:
    total = sum((len(queue) - at) * one.time[j, n] for n, queue in queues.items() for at, j in enumerate(queue))
    return total <= one.limits["completions"]


def _jobs(queues: Queues) -> set[str]:
    return {j for queue in queues.values() for j in queue}


def _of_team(one: DrawnQueues, queues: Queues, team: str) -> int:
    return sum(one.team[j] == team for j in _jobs(queues))


def _team_share(one: DrawnQueues, queues: Queues) -> bool:
    teams = [one.team[j] for queue in queues.values() for j in queue]
    return all(teams.count(t) <= one.limits["share"] for t in ("red", "blue"))


def _rack_hours(one: DrawnQueues, queues: Queues) -> bool:
    hours = {"r1": 0, "r2": 0}
    for n, queue in queues.items():
        hours[one.rack[n]] += sum(one.time[j, n] for j in queue)
    return max(hours.values()) <= one.limits["hours"]


_CHECKS: dict[str, Callable[[DrawnQueues, Queues], bool]] = {
    "most_jobs": lambda one, queues: all(len(queue) <= one.limits["jobs"] for queue in queues.values()),
    "team_share": _team_share,
    "apart": lambda one, queues: not any({a, b} <= set(queue) for a, b in one.pairs for queue in queues.values()),
    "one_user": lambda one, queues: all(len({one.team[j] for j in queue}) <= 1 for queue in queues.values()),
    "power": lambda one, queues: sum(one.watts[n] for n, queue in queues.items() if queue) <= one.limits["power"],
    "completions": _completions,
    "hurried": lambda one, queues: all(
        len(queue) - at <= one.limits["behind"]
        for queue in queues.values()
        for at, j in enumerate(queue)
        if j in one.hurried
    ),
    "rack_hours": _rack_hours,
    "at_least": lambda one, queues: _of_team(one, queues, "red") >= one.limits["wanted"],
    "exactly": lambda one, queues: _of_team(one, queues, "red") == one.limits["wanted"],
    "together": lambda one, queues: all((a in _jobs(queues)) == (b in _jobs(queues)) for a, b in one.pairs),
    "must": lambda one, queues: _jobs(queues) >= set(one.must),
    "cover": lambda one, queues: all(queues.get(n) for n in one.cover),
    "floor": lambda one, queues: (
        sum(one.time[j, n] for n, queue in queues.items() for j in queue if one.rack[n] == "r1") >= one.limits["least"]
    ),
    "level": lambda one, queues: len(queues.get("n0", [])) == len(queues.get("n1", [])),
    "instead": lambda one, queues: all(a in _jobs(queues) or b in _jobs(queues) for a, b in one.pairs),
    "behind": lambda one, queues: set(one.hurried) <= {j for queue in queues.values() for j in queue[:-1]},
}
