"""Random decisions as texts of a model: nodes of several types, there or to rent, parts of GPUs, memory, modes.

Numbers are short, so that many of them tie. Modes are ways of equal size: they differ in their speed and price.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from instance_reader import Code

WORLDS = ("types", "rented", "nodes")
SIZES = {"q": 0.25, "h": 0.5, "s1": 1, "s2": 2, "s3": 3, "s4": 4}


@dataclass(frozen=True)
class Drawn:
    """A model with policies as text; `policies` are the names of its own. `amount` of sizes, by their codes."""

    world: str
    text: str
    policies: tuple[str, ...]
    owner: tuple[str, ...]  # of jobs
    rack: tuple[str, ...]  # of nodes
    amount: tuple[float, ...]


POLICIES = {
    "Fit": "place best_fit, new_node, best_suboptimal, postpone;  finish smaller_type, grow by speedup;",
    "First": "place first_fit, new_node, first_suboptimal, wait;  finish smaller_type, grow_by_one by speedup;",
    "Next": "place best_fit, new_node, next_choice, postpone;  finish expand_parts, grow_by_one by time;",
    "FirstNext": "place first_fit, new_node, next_choice, wait;  finish grow_if_cheaper by time, expand_parts;",
    "Alone": "place new_node exclusive, next_choice, wait;",
    "Mixed": "place best_fit, best_suboptimal, next_choice, new_node, next_choice, wait;",
    "Joining": "place new_node exclusive, best_fit, next_choice, postpone;  finish smaller_type;",
    "Kept": "place best_fit, new_node, best_suboptimal, next_choice, wait;  finish expand_parts, grow by speedup;"
    "  keep running;",
    "KeptAlone": "place new_node, new_node exclusive, next_choice, postpone;  finish smaller_type;  keep running;",
}

# The same with draws, and one with moves, which the interpreter does not carry out.
_DRAWS = (
    "randomise order swapping with probability 0.5;  randomise choose from 2 by inverse cost;  "
    "randomise place from 3 by inverse idle;",
    "randomise order swapping with probability 0.9 * (1 - weight[j] / 3[$/h]);  randomise choose from 3 by cost;  "
    "randomise place from 2 by idle;",
    "randomise choose from 1 + (if weight[j] > 1[$/h] then 2 else 0);  randomise place from 4;",
)
DRAWING = {
    f"Drawing{name}": f"{lines}  {_DRAWS[at % 3]}  repeat 6 keep best total;"
    for at, (name, lines) in enumerate(POLICIES.items())
}
IMPROVING = {
    "Improving": f"{POLICIES['Next']}  randomise order swapping with probability 0.5;  repeat 3 keep best total;  "
    "improve 2 best rounds all with swap_tardy_costly(0), swap_tardy_any(0), swap_postponed_running, faster_type(0), "
    "double_gpus(0), halve_gpus(0), regroup_gpus(0), repack_node(0), repack_two(5);",
}


def drawn(seed: int, *, ties: bool = True) -> Drawn:
    """The decision of a seed; all worlds come up. Without `ties` all times differ."""
    rng = np.random.default_rng([8, seed])
    world = WORLDS[seed % len(WORLDS)]
    types = [f"t{i}" for i in range(int(rng.integers(1, 5)))]
    nodes = [f"n{i}" for i in range(int(rng.integers(1, 8)))]
    jobs = [f"j{i}" for i in range(int(rng.integers(4, 14)))]
    sizes = [s for s in SIZES if (s == "s1" or rng.random() < 0.6) and (SIZES[s] >= 1 or seed % 2)]
    modes = ["eco", "fast", "odd"][: int(rng.choice([1, 1, 2, 3]))]
    owner = "Nodes" if world == "nodes" else "Types"
    owners = nodes if world == "nodes" else types
    gpus = {o: int(rng.choice([1, 2, 4, 4])) for o in owners}
    memory = {o: float(rng.choice([8, 16])) for o in owners}
    family = {o: str(rng.choice(["a", "b", '""'])) for o in owners}
    pace = {f: rng.choice([1.0, 1.0, 2.0]) for f in ("a", "b", '""')}
    allowed, time = [], []
    for j in jobs:
        base, linear = float(rng.integers(2, 17)) / 2, rng.random() < 0.7
        chance = rng.choice([0.6, 1.0, 1.0])
        for o in owners:
            for s in sizes:
                if rng.random() < chance and gpus[o] >= max(SIZES[s], 1):
                    hours = base / SIZES[s] ** (1.0 if linear else 0.5) / pace[family[o]]
                    allowed.append((j, o, s))
                    hours *= 1.25 if rng.random() < 0.1 else 1.0
                    time.append(round(hours if ties else hours * rng.uniform(0.9, 1.1), 3))
    if not allowed:
        return drawn(seed + 3000, ties=ties)
    data = {
        "Users": ["u0", "u1", "u2"],
        "Sizes": [(s, SIZES[s]) for s in sizes],
        "Modes": [(m, {"eco": 2, "fast": 1, "odd": 1}[m], {"eco": 0.25, "fast": 1, "odd": 0.5}[m]) for m in modes],
        "Jobs": [
            (
                j, float(rng.integers(0, 4)), float(rng.integers(1, 12)), float(rng.choice([1, 1, 2])),
                float(rng.integers(1, 9)), float(rng.choice([1, 3, 6])), f"u{int(rng.integers(3))}",
            )
            for j in jobs
        ],
        "Owners": [
            (o, gpus[o], memory[o], float(rng.choice([1, 1, 2])), family[o], int(rng.integers(0, 4))) for o in owners
        ],
        "Nodes": [(n, str(rng.choice(types)), f"r{i % 2}") for i, n in enumerate(nodes)],
        "users": [(f"u{i}", float(rng.integers(1, 4)), float(rng.integers(2, 9))) for i in range(3)],
    }  # fmt: skip
    by_name = world != "rented" and rng.random() < 0.4
    text = _text(world, owner, data, allowed, time, types, by_name, rng)
    owners_of_jobs, racks = tuple(row[-1] for row in data["Jobs"]), tuple(row[-1] for row in data["Nodes"])
    return Drawn(world, text, tuple(POLICIES), owners_of_jobs, racks, tuple(SIZES[s] for s in sizes))


def _table(rows) -> str:
    return "\n".join("    " + "  ".join(map(str, row)) for row in rows) + ";\n"


def _text(world, owner, data, allowed, time, types, by_name, rng) -> str:
    index = {"types": "n, s, m", "rented": "n, o, s, m", "nodes": "n, s, m"}[world]
    o = {"types": "kind[n]", "rented": "o", "nodes": "n"}[world]
    listed = {
        "types": "j in Jobs, n in Nodes, s in Sizes, m in Modes where (j, kind[n], s) in Allowed",
        "rented": "j in Jobs, n in Nodes, o in Types, s in Sizes, m in Modes where (j, o, s) in Allowed",
        "nodes": "j in Jobs, n in Nodes, s in Sizes, m in Modes where (j, n, s) in Allowed",
    }[world]
    if world == "nodes" or by_name:
        ways, key = "n in Nodes, s in Sizes, m in Modes", "n"
        where = f"(j, {o}, s) in Allowed"
    else:
        ways, key, where = "o in Types, s in Sizes, m in Modes", "o", "(j, o, s) in Allowed"
    item = o if key == "n" else "o"
    lasts = f"time[j, {item}, s] * slow[m]"
    cost = f"amount[s] * price[{item}] * draw[m] * {lasts}"
    keys = [cost, lasts, "amount[s]", f"amount[s] * {lasts}"]
    order = [
        str(k) for k in rng.permutation(["due_at[j]", "weight[j] descending", "value[j] descending", "submitted[j]"])
    ]
    chosen = ", ".join(str(k) for k in rng.permutation(keys)[: int(rng.integers(1, 3))])
    fast = f" and {lasts} <= due_at[j]" if rng.random() < 0.6 else ""
    base = f"""policy Base for Drawn {{
  order j in Jobs by {", ".join(order[: int(rng.integers(1, 4))])};
  choose {ways} where {where}{fast} by {chosen};
  otherwise {ways} where {where} by {lasts}, amount[s];
  place postpone;
}}
"""
    own = "".join(
        f"policy {name} for Drawn extends Base {{ {lines} }}\n"
        for name, lines in (POLICIES | DRAWING | IMPROVING).items()
    )
    roles = {
        "types": "node_type kind[n];  family family[kind[n]];",
        "rented": "node_type o;  family family[o];  stock stock[o];  node_price price[o] * gpus[o];",
        "nodes": "",
    }[world]
    jobs = len(data["Jobs"])
    pairs = ", ".join(f"(j{a}, j{a + 1})" for a in range(0, jobs - 1, 2))
    return f"""
model Drawn {{
  set Jobs;  set Nodes;  set Types;  set Users;  set Sizes;  set Modes;  set Racks;
  set Pairs within Jobs cross Jobs;
  set Allowed within Jobs cross {owner} cross Sizes;
  param amount[Sizes];  param slow[Modes];  param draw[Modes];
  param submitted[Jobs] in h;  param due_at[Jobs] in h;  param weight[Jobs] in $/h;  param value[Jobs] in $;
  param mem[Jobs] in GB;  param owner[Jobs] within Users;
  param gpus[{owner}];  param memory[{owner}] in GB;  param price[{owner}] in $/h;
  param family[{owner}] symbol;  param stock[{owner}] integer;
  param kind[Nodes] within Types;  param rack[Nodes] within Racks;
  param part[Users];  param most[Users];
  param time[Allowed] in h;
  var run[{listed}] binary;
  maximize earned in $: sum[{listed}] value[j] * run[j, {index}];
  # further rows
  placement run[j, {index}] {{
    job j;  node n;  {roles}
    uses amount[s] of gpus[{o}];  uses mem[j] of memory[{o}];
    lasts time[j, {o}, s] * slow[m];  costs amount[s] * price[{o}] * draw[m] in $/h;
    due due_at[j];  weight weight[j];  postponed value[j];
    user owner[j];  share part[owner[j]];  quota most[owner[j]];
  }}
}}
{base}{own}
scenario S for Drawn {{
  Types = {{ {", ".join(types)} }};  Users = {{ u0, u1, u2 }};  Racks = {{ r0, r1 }};
  Pairs = {{ {pairs} }};
  table Sizes: amount =
{_table(data["Sizes"])}  table Modes: slow draw =
{_table(data["Modes"])}  table Jobs: submitted[h] due_at[h] weight[$/h] value[$] mem[GB] owner =
{_table(data["Jobs"])}  table Nodes: kind rack =
{_table(data["Nodes"])}  table {owner}: gpus memory[GB] price[$/h] family stock =
{_table(data["Owners"])}  table Users: part most =
{_table(data["users"])}  table Allowed: time[h] =
{_table([(*a, t) for a, t in zip(allowed, time, strict=True)])}}}
"""


# --- rows that roles state, and others --------------------------------------------------------------------------------


def with_rows_of_roles(one: Drawn) -> Drawn:
    """The same with rows for what the roles of its placement state: one place, GPUs, memory, types and their stock."""
    rented = one.world == "rented"
    middle, of_type = (", o", ", o in Types") if rented else ("", "")
    where = {"types": "kind[n]", "rented": "o", "nodes": "n"}[one.world]
    allowed = f"(j, {where}, s) in Allowed"
    run = f"run[j, n{middle}, s, m]"
    rows = [
        f"""constraint once[j in Jobs]:
    sum[n in Nodes{of_type}, s in Sizes, m in Modes where {allowed}] {run} <= 1;""",
        f"""constraint gpus_of[n in Nodes{of_type}]:
    sum[j in Jobs, s in Sizes, m in Modes where {allowed}] amount[s] * {run} <= gpus[{where}];""",
        f"""constraint memory_of[n in Nodes{of_type}]:
    sum[j in Jobs, s in Sizes, m in Modes where {allowed}] mem[j] * {run} <= memory[{where}];""",
    ]
    if rented:
        rows += [
            "var rented[Nodes, Types] binary;",
            f"""constraint opens[j in Jobs, n in Nodes, o in Types]:
    sum[s in Sizes, m in Modes where {allowed}] {run} <= rented[n, o];""",
            "constraint one_type[n in Nodes]: sum[o in Types] rented[n, o] <= 1;",
            "constraint in_stock[o in Types]: sum[n in Nodes] rented[n, o] <= stock[o];",
        ]
    return replace(one, text=one.text.replace("  # further rows", "  " + "\n  ".join(rows)))


def with_side_rows(one: Drawn, seed: int) -> tuple[Drawn, Callable[[Sequence[Code]], bool]]:
    """The same with one or two caps of a house, and whether a plan obeys them, from the drawn numbers alone."""
    rng = np.random.default_rng([9, seed])
    middle = ", o" if one.world == "rented" else ""
    of_type = ", o in Types" if one.world == "rented" else ""
    where = {"types": "kind[n]", "rented": "o", "nodes": "n"}[one.world]
    ways = f"s in Sizes, m in Modes{of_type} where (j, {where}, s) in Allowed"
    run = f"run[j, n{middle}, s, m]"
    cap, share = float(rng.integers(1, 5)), float(rng.integers(1, 5))
    pairs = [(a, a + 1) for a in range(0, len(one.owner) - 1, 2)]

    def used(plan: Sequence[Code], counts: Callable[[Code], bool]) -> float:
        return sum(one.amount[element[-2]] for element in plan if counts(element))

    def on_one_node(plan: Sequence[Code], a: int, b: int) -> bool:
        return len({e[1] for e in plan if e[0] in (a, b)}) < len([e for e in plan if e[0] in (a, b)])

    rules = {
        "rack": (
            f"""constraint rack_cap[r in Racks]:
    sum[j in Jobs, n in Nodes, {ways} and rack[n] == r] amount[s] * {run} <= {cap};""",
            lambda plan: all(used(plan, lambda e, r=r: one.rack[e[1]] == r) <= cap for r in ("r0", "r1")),
        ),
        "team": (
            f"""constraint team_share[u in Users]:
    sum[j in Jobs, n in Nodes, {ways} and owner[j] == u] amount[s] * {run} <= {share};""",
            lambda plan: all(used(plan, lambda e, u=u: one.owner[e[0]] == u) <= share for u in ("u0", "u1", "u2")),
        ),
        "apart": (
            f"""constraint apart[(a, b) in Pairs, n in Nodes]:
    sum[j in Jobs, {ways} and (j == a or j == b)] {run} <= 1;""",
            lambda plan: not any(on_one_node(plan, a, b) for a, b in pairs),
        ),
        "one_user": (
            f"""var serves[Users, Nodes] binary;
  constraint serving[j in Jobs, n in Nodes]: sum[{ways}] {run} <= serves[owner[j], n];
  constraint one_user[n in Nodes]: sum[u in Users] serves[u, n] <= 1;""",
            lambda plan: all(len({one.owner[e[0]] for e in plan if e[1] == n}) <= 1 for n in range(len(one.rack))),
        ),
    }
    names = [name for name in rules if name != "apart" or pairs]
    chosen = [str(name) for name in rng.permutation(names)[: int(rng.integers(1, 3))]]
    text = one.text.replace("  # further rows", "  " + "\n  ".join(rules[name][0] for name in chosen))
    return replace(one, text=text), lambda plan: all(rules[name][1](plan) for name in chosen)
