"""Every kind of expression over interchangeable elements, as text and as a Python function of a plan.

The base model has a binary `on[n]`, a binary `does[j, n]`, an integer `z` and the rows `starts` and `once`. A construct
adds declarations, rows and a term of the objective. The functions are written by hand from the meaning of the language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

NODES = ("n1", "n2", "n3")
JOBS = ("j1", "j2")

TEXT = """model Base {
  set Nodes;
  set Jobs;
  param fee[Nodes];
  param gain[Jobs];
  DECLARED
  var on[Nodes] binary;
  var does[Jobs, Nodes] binary;
  var z integer >= 0 <= 2;
  constraint starts[j in Jobs, n in Nodes]: does[j, n] <= on[n];
  constraint once[j in Jobs]: sum[n in Nodes] does[j, n] <= 1;
  ROWS
  minimize cost: sum[n in Nodes] fee[n] * on[n] - sum[j in Jobs, n in Nodes] gain[j] * does[j, n] + z + (ADDED);
}
scenario S for Base {
  table Nodes: fee = FEES;
  table Jobs: gain = GAINS;
  DATA
}
"""


@dataclass(frozen=True)
class Data:
    """What tells elements apart: the fees of nodes and the gains of jobs."""

    fees: tuple[float, ...]
    gains: tuple[float, ...]


DATA = {
    "equal nodes": Data((1, 1, 1), (2, 3)),
    "equal nodes and jobs": Data((1, 1, 1), (0.6, 0.6)),
    "equal jobs": Data((1, 1.5, 2), (2, 2)),
    "two classes": Data((0.5, 0.5, 2.5), (2, 2)),
}


@dataclass(frozen=True)
class Plan:
    """Values of all variables; `on` by node, `does` by job and node."""

    on: tuple[int, ...]
    does: tuple[tuple[int, ...], ...]
    z: int

    def of(self, node: int) -> int:
        """The jobs on a node."""
        return sum(row[node] for row in self.does)


@dataclass(frozen=True)
class Construct:
    """`holds` says whether a plan satisfies the added rows, `costs` what the added term is worth."""

    rows: str = ""
    holds: Callable[[Plan], bool] = lambda p: True
    added: str = "0"
    costs: Callable[[Plan], float] = lambda p: 0.0
    declared: str = ""
    data: str = ""


def text_of(construct: Construct, data: Data) -> str:
    fees = " ".join(f"{n} {f}" for n, f in zip(NODES, data.fees, strict=True))
    gains = " ".join(f"{j} {g}" for j, g in zip(JOBS, data.gains, strict=True))
    text = TEXT.replace("FEES", fees).replace("GAINS", gains).replace("ADDED", construct.added)
    return text.replace("DECLARED", construct.declared).replace("ROWS", construct.rows).replace("DATA", construct.data)


def plans() -> Iterator[Plan]:
    """All plans that satisfy the rows of the base model."""
    places = [(tuple(int(k == at) for k in range(3))) for at in range(-1, 3)]
    for on in product((0, 1), repeat=3):
        for does in product(places, repeat=2):
            if all(d <= o for row in does for d, o in zip(row, on, strict=True)):
                for z in range(3):
                    yield Plan(on, does, z)


PLANS = tuple(plans())


def best(construct: Construct, data: Data) -> float | None:
    """The least cost by trying all plans; None where no plan satisfies the rows."""
    found = None
    for plan in PLANS:
        if not construct.holds(plan):
            continue
        cost = plan.z + construct.costs(plan) + sum(f * o for f, o in zip(data.fees, plan.on, strict=True))
        cost -= sum(g * sum(row) for g, row in zip(data.gains, plan.does, strict=True))
        found = cost if found is None else min(found, cost)
    return found


def _all(plan: Plan) -> int:
    return sum(plan.on)


def _done(plan: Plan) -> int:
    return sum(map(sum, plan.does))


CONSTRUCTS = {
    "nothing": Construct(),
    # sums
    "sum": Construct("constraint c: sum[n in Nodes] on[n] >= 2;", lambda p: _all(p) >= 2),
    "sum in an equation": Construct("constraint c: sum[n in Nodes] on[n] == z + 1;", lambda p: _all(p) == p.z + 1),
    "sum of both": Construct("constraint c: sum[j in Jobs, n in Nodes] does[j, n] >= 2;", lambda p: _done(p) >= 2),
    "chain": Construct("constraint c: 1 <= sum[n in Nodes] on[n] <= z + 1;", lambda p: 1 <= _all(p) <= p.z + 1),
    "nested sums": Construct(
        "constraint c: sum[n in Nodes] sum[j in Jobs] does[j, n] >= 1;", lambda p: _done(p) >= 1
    ),
    "sum in a row": Construct(
        "constraint c[n in Nodes]: 2 * on[n] <= sum[m in Nodes] on[m];", lambda p: all(2 * o <= _all(p) for o in p.on)
    ),
    "sum of a quotient": Construct("constraint c: sum[n in Nodes] on[n] / 2 >= 1;", lambda p: _all(p) >= 2),
    "sum times data": Construct("constraint c: 3 * (sum[n in Nodes] on[n]) >= 4;", lambda p: 3 * _all(p) >= 4),
    "negated sum": Construct("constraint c: -(sum[n in Nodes] on[n]) <= -2;", lambda p: _all(p) >= 2),
    # any, all, count
    "any": Construct("constraint c: any[n in Nodes] on[n] >= 1;", lambda p: _all(p) >= 1),
    "any of sums over jobs": Construct(
        "constraint c: any[n in Nodes] sum[j in Jobs] does[j, n] >= 2;", lambda p: any(p.of(n) >= 2 for n in range(3))
    ),
    "any in a row": Construct(
        "constraint c[n in Nodes]: any[j in Jobs] does[j, n] >= on[n];",
        lambda p: all(any(row[n] >= p.on[n] for row in p.does) for n in range(3)),
    ),
    "all": Construct("constraint c: all[n in Nodes] on[n] <= z;", lambda p: all(o <= p.z for o in p.on)),
    "all of sums over jobs": Construct(
        "constraint c: all[n in Nodes] sum[j in Jobs] does[j, n] <= 1;", lambda p: all(p.of(n) <= 1 for n in range(3))
    ),
    "not all": Construct("constraint c: not (all[n in Nodes] on[n] >= 1);", lambda p: _all(p) < 3),
    "count": Construct("constraint c: count[n in Nodes] (on[n] >= 1) >= 2;", lambda p: _all(p) >= 2),
    "count of sums over jobs": Construct(
        "constraint c: count[n in Nodes] (sum[j in Jobs] does[j, n] >= 2) >= 1;",
        lambda p: sum(p.of(n) >= 2 for n in range(3)) >= 1,
    ),
    "count in the objective": Construct(
        added="0.7 * count[n in Nodes] (sum[j in Jobs] does[j, n] >= 2)",
        costs=lambda p: 0.7 * sum(p.of(n) >= 2 for n in range(3)),
    ),
    "count in a row": Construct(
        "constraint c[n in Nodes]: count[j in Jobs] (does[j, n] >= 1) <= 1;",
        lambda p: all(p.of(n) <= 1 for n in range(3)),
    ),
    "any of two": Construct(
        "constraint c: any[n in Nodes, j in Jobs] does[j, n] >= 1;", lambda p: _done(p) >= 1
    ),
    # logic
    "or": Construct(
        "constraint c: sum[n in Nodes] on[n] >= 3 or z >= 1;", lambda p: _all(p) >= 3 or p.z >= 1
    ),
    "and": Construct(
        "constraint c: sum[n in Nodes] on[n] >= 2 and z >= 1;", lambda p: _all(p) >= 2 and p.z >= 1
    ),
    "not": Construct("constraint c: not (sum[n in Nodes] on[n] <= 1);", lambda p: _all(p) >= 2),
    "implication": Construct(
        "constraint c: sum[n in Nodes] on[n] >= 2 => z >= 2;", lambda p: _all(p) < 2 or p.z >= 2
    ),
    "implied sum": Construct(
        "constraint c: z >= 1 => sum[n in Nodes] on[n] >= 2;\n  constraint d: z >= 1;",
        lambda p: p.z >= 1 and _all(p) >= 2,
    ),
    "implied by a binary": Construct(
        "constraint c: b >= 1 => sum[n in Nodes] on[n] >= 2;\n  constraint d: b >= 1;",
        lambda p: _all(p) >= 2,
        declared="var b binary;",
    ),
    "implication of data": Construct(
        "constraint c: floor >= 2 => sum[n in Nodes] on[n] >= floor;",
        lambda p: _all(p) >= 2,
        declared="param floor default 2;",
    ),
    "implication in a row": Construct(
        "constraint c[n in Nodes]: on[n] >= 1 => sum[j in Jobs] does[j, n] >= 1;",
        lambda p: all(o == 0 or p.of(n) >= 1 for n, o in enumerate(p.on)),
    ),
    "implication of two binaries": Construct(
        "constraint c[j in Jobs, n in Nodes]: on[n] >= 1 => does[j, n] >= 1;",
        lambda p: all(row[n] >= p.on[n] for row in p.does for n in range(3)),
    ),
    "equivalence": Construct(
        "constraint c: sum[n in Nodes] on[n] >= 2 <=> z >= 1;", lambda p: (_all(p) >= 2) == (p.z >= 1)
    ),
    "a condition as a number": Construct(
        added="1.5 * (sum[n in Nodes] on[n] <= 1)", costs=lambda p: 1.5 * (_all(p) <= 1)
    ),
    "a condition of an element as a number": Construct(
        added="sum[n in Nodes] 0.4 * (on[n] <= 0)", costs=lambda p: 0.4 * (3 - _all(p))
    ),
    # if
    "if": Construct(
        added="if z >= 1 then 0 else sum[n in Nodes] on[n]", costs=lambda p: 0 if p.z >= 1 else _all(p)
    ),
    "if of a sum": Construct(
        added="if sum[n in Nodes] on[n] >= 2 then 0.3 else 2", costs=lambda p: 0.3 if _all(p) >= 2 else 2
    ),
    "if of data": Construct(
        added="if floor >= 2 then sum[n in Nodes] on[n] else 0",
        costs=lambda p: _all(p),
        declared="param floor default 2;",
    ),
    "if of data chooses rows": Construct(
        "constraint c: if floor >= 2 then sum[n in Nodes] on[n] >= floor else z >= 1;",
        lambda p: _all(p) >= 2,
        declared="param floor default 2;",
    ),
    "if in a row": Construct(
        "constraint c[n in Nodes]: (if on[n] >= 1 then 1 else z) <= 1;",
        lambda p: all((1 if o else p.z) <= 1 for o in p.on),
    ),
    # min, max, abs
    "max over nodes": Construct(
        added="max[n in Nodes] sum[j in Jobs] does[j, n]", costs=lambda p: max(p.of(n) for n in range(3))
    ),
    "min over nodes": Construct(added="0 - min[n in Nodes] on[n]", costs=lambda p: -min(p.on)),
    "max of a sum": Construct(added="max(sum[n in Nodes] on[n] - 1, z)", costs=lambda p: max(_all(p) - 1, p.z)),
    "max in a sum": Construct(
        added="sum[n in Nodes] max(on[n], sum[j in Jobs] does[j, n])",
        costs=lambda p: sum(max(o, p.of(n)) for n, o in enumerate(p.on)),
    ),
    "max over jobs in a sum": Construct(
        added="0.5 * sum[n in Nodes] max[j in Jobs] does[j, n]",
        costs=lambda p: 0.5 * sum(max(row[n] for row in p.does) for n in range(3)),
    ),
    "abs": Construct(added="abs(sum[n in Nodes] on[n] - 2)", costs=lambda p: abs(_all(p) - 2)),
    # products and powers
    "square of a sum": Construct(added="0.6 * (sum[n in Nodes] on[n]) ^ 2", costs=lambda p: 0.6 * _all(p) ** 2),
    "sum of squares": Construct(added="sum[n in Nodes] on[n] ^ 2", costs=lambda p: _all(p)),
    "product of sums": Construct(
        added="(sum[n in Nodes] on[n]) * (sum[n in Nodes] on[n])", costs=lambda p: _all(p) ** 2
    ),
    "product with a shared column": Construct(
        added="0.5 * b * (sum[n in Nodes] on[n]) - 1.2 * b", costs=lambda p: min(0.0, 0.5 * _all(p) - 1.2),
        declared="var b binary;",
    ),
    "product of an element": Construct(
        added="sum[j in Jobs, n in Nodes] does[j, n] * on[n]", costs=lambda p: _done(p)
    ),
    "reciprocal": Construct(
        "constraint c: 1 / (1 + sum[n in Nodes] on[n]) <= 0.4;", lambda p: 1 / (1 + _all(p)) <= 0.4 + 1e-9
    ),
    # lets
    "let": Construct(
        "constraint c: every >= 2;", lambda p: _all(p) >= 2, declared="let every = sum[n in Nodes] on[n];"
    ),
    "let in a square": Construct(
        added="0.6 * every ^ 2", costs=lambda p: 0.6 * _all(p) ** 2, declared="let every = sum[n in Nodes] on[n];"
    ),
    "let in a condition": Construct(
        "constraint c: every >= 2 or z >= 2;", lambda p: _all(p) >= 2 or p.z >= 2,
        declared="let every = sum[n in Nodes] on[n];",
    ),
    "let of a let in a maximum": Construct(
        added="max(more, 2)", costs=lambda p: max(_all(p) + 1, 2),
        declared="let every = sum[n in Nodes] on[n]; let more = every + 1;",
    ),
    "let of a node": Construct(
        "constraint c[n in Nodes]: load[n] <= 1;", lambda p: all(p.of(n) <= 1 for n in range(3)),
        declared="let load[n in Nodes] = sum[j in Jobs] does[j, n];",
    ),
    "let of a job": Construct(
        "constraint c[j in Jobs]: runs[j] >= 1;", lambda p: all(sum(row) >= 1 for row in p.does),
        declared="let runs[j in Jobs] = sum[n in Nodes] does[j, n];",
    ),
    "let of a job in a condition": Construct(
        "constraint c: any[j in Jobs] runs[j] >= 1;", lambda p: _done(p) >= 1,
        declared="let runs[j in Jobs] = sum[n in Nodes] does[j, n];",
    ),
    # sets
    "subset": Construct(
        "constraint c: sum[n in Cheap] on[n] >= 1;",
        lambda p: p.on[0] + p.on[1] >= 1,
        declared="set Cheap within Nodes;", data="Cheap = { n1, n2 };",
    ),
    "derived subset": Construct(
        "constraint c: sum[n in Nodes where fee[n] >= 0] on[n] >= 2;", lambda p: _all(p) >= 2
    ),
    "tuple set": Construct(
        "constraint c: sum[(j, n) in Able] does[j, n] >= 1;",
        lambda p: p.does[0][0] + p.does[1][1] + p.does[1][2] >= 1,
        declared="set Able within Jobs cross Nodes;", data="Able = { (j1, n1), (j2, n2), (j2, n3) };",
    ),
    "count of a set": Construct(
        "constraint c: sum[n in Nodes] on[n] >= count(Nodes) - 1;", lambda p: _all(p) >= 2
    ),
    "named element": Construct('constraint c: on["n2"] >= 1;', lambda p: p.on[1] >= 1),
    "element of a parameter": Construct(
        "constraint c: on[home] >= 1;", lambda p: p.on[2] >= 1,
        declared="param home within Nodes;", data="home = n3;",
    ),
    "ordered set": Construct(
        "constraint c[h in Hours]: late[h] >= sum[n in Nodes] on[n] - (late[h - 1] else 1);",
        lambda p: True,
        added="sum[h in Hours] late[h]", costs=lambda p: max(_all(p) - 1, 0) + max(_all(p) - max(_all(p) - 1, 0), 0),
        declared="set Hours ordered; var late[Hours] integer >= 0 <= 3;", data="Hours = 1..2;",
    ),
    "next of an element": Construct(
        "constraint c[n in Nodes, h in Hours where h < last(Hours)]: busy[n, next(h)] >= busy[n, h];\n"
        "  constraint d[n in Nodes]: busy[n, first(Hours)] == on[n];",
        lambda p: True,
        added="0.2 * sum[n in Nodes, h in Hours] busy[n, h]", costs=lambda p: 0.4 * _all(p),
        declared="set Hours ordered; var busy[Nodes, Hours] binary;", data="Hours = 1..2;",
    ),
    "pairs of nodes": Construct(
        "constraint c[n in Nodes, m in Nodes where m != n]: on[n] + on[m] <= 1;", lambda p: _all(p) <= 1
    ),
    "itself": Construct(
        "constraint c[n in Nodes]: sum[m in Nodes where m == n] on[m] <= z;", lambda p: all(o <= p.z for o in p.on)
    ),
    # random quantities
    "expectation of a product": Construct(
        added="0.2 * E(load * sum[n in Nodes] on[n])", costs=lambda p: 0.4 * _all(p),
        declared="random load ~ discrete({ (1, 0.5), (3, 0.5) });",
    ),
    "expectation of a maximum": Construct(
        added="E(max(load - sum[n in Nodes] on[n], 0))",
        costs=lambda p: 0.5 * max(1 - _all(p), 0) + 0.5 * max(3 - _all(p), 0),
        declared="random load ~ discrete({ (1, 0.5), (3, 0.5) });",
    ),
    "expectation of each element": Construct(
        added="sum[n in Nodes] E(max(load - 2 * on[n], 0))",
        costs=lambda p: sum(0.5 * max(1 - 2 * o, 0) + 0.5 * max(3 - 2 * o, 0) for o in p.on),
        declared="random load ~ discrete({ (1, 0.5), (3, 0.5) });",
    ),
    "probability": Construct(
        added="P(load > 2) * sum[n in Nodes] on[n]", costs=lambda p: 0.5 * _all(p),
        declared="random load ~ discrete({ (1, 0.5), (3, 0.5) });",
    ),
    # what reads no decisions
    "check": Construct(declared='check [n in Nodes]: fee[n] >= 0 "fees are paid";'),
    "placement": Construct(
        declared="placement does[j, n] { job j; node n; uses 1 of 2; lasts 1[h]; }",
    ),
}  # fmt: skip
