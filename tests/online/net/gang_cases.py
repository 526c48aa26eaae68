"""Random blocks by events with gangs, racks and accumulated values, as text and as plain numbers."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from net_cases import blocks_of
from state_cases import (
    KINDS,
    TEAMS,
    Accumulator,
    StateCase,
    StateJob,
    calendar_of,
    declared_of,
    drawn_state,
    factor_of,
    key_of,
    lines_of,
    rows_of,
    smaller_state,
)

CHOICES: Final = ((), (), ("speed",), ("rent",), ("speed", "rent"), ("rent", "speed"))
RACKS: Final = ("r0", "r1", "r2")
CHANGES: Final = ("start", "resume", "migration", "resize", "halt", "boot")


@dataclass(frozen=True)
class GangJob(StateJob):
    """`gpus`, `watts` and `rate` are those of one worker."""

    workers: int = 1
    value: float = 1.0  # in the objective of solvers


@dataclass(frozen=True)
class GangCase(StateCase):
    """One block with its data. `gpus` of a case is not used: nodes have `rooms`."""

    rooms: tuple[int, ...] = ()  # GPUs of nodes
    racks: tuple[str, ...] = ()
    toll: tuple[float, ...] = ()  # of nodes, in the objective of solvers
    fare: tuple[float, ...] = ()  # what costs and delays of changes are multiplied by on nodes
    racked: bool = True  # whether the placement states racks
    across: tuple[float, ...] = ()  # factors for several nodes, and for several racks
    choose: tuple[str, ...] = ()  # keys of `choose`: the order of types of nodes
    binary: bool = False  # at most one worker on a node
    amounts: bool = False  # costs are amounts
    by_node: frozenset[str] = frozenset()  # changes that cost, and take, more on some nodes
    solved: bool = False  # by a solver
    cap: int = 0  # most GPUs in use in a rack; 0: any
    alike: bool = False  # all nodes are, and are declared identical
    gone: tuple[tuple[int, float, float], ...] = ()  # in live runs: job, when it is withdrawn, when it is back
    taken: tuple[Any, ...] = field(default=(), compare=False)  # the plans that were made

    @property
    def text(self) -> str:
        return text_of_gangs(self)

    @property
    def method(self) -> str:
        return "highs" if self.solved else "Queue"

    def change(self, kind: str) -> str:
        found = super().change(kind)
        return found.replace("]", "] * fare[n]") if kind in self.by_node else found

    def factor(self, nodes: frozenset[int]) -> float:
        """How much longer a gang takes on these nodes than on one."""
        if len(nodes) < 2 or not self.across:
            return 1.0
        several = self.racked and len({self.racks[n] for n in nodes}) > 1
        return self.across[-1] if several else self.across[0]


def drawn_gangs(seed: int) -> GangCase:
    """A case: a block with accumulated values, and gangs on racks."""
    rng = random.Random(f"gangs {seed}")

    def some(share: float) -> bool:
        return rng.random() < share

    base = drawn_state(rng.randrange(10**9))
    solved = some(0.2)
    nodes = rng.randint(2, 3 if solved else 5)
    binary = some(0.15)
    rooms = tuple(rng.randint(1, 4) for _ in range(nodes))
    jobs = tuple(_as_gang(rng, job, rooms, binary) for job in base.jobs[: rng.choice((2, 3, 4, 7))])
    racks = some(0.5)
    accumulators = tuple(_by_racks(a) if racks else a for a in base.accumulators)
    work = some(0.25)
    if work:  # `done` counts in hours then
        accumulators = tuple(replace(a, form="sum") if a.form == "done" else a for a in accumulators)
    grid = 1.0 / 4 * base.per_hour
    kept = {f.name: getattr(base, f.name) for f in fields(base)}
    kept |= {
        "seed": seed, "jobs": jobs, "accumulators": accumulators, "work": work,
        "kinds": tuple(rng.choice(KINDS) for _ in rooms),
        "speed": tuple(rng.choice((0.5, 1.0, 1.0, 2.0)) for _ in rooms),
        "rent": tuple(float(rng.randint(1, 4)) / base.per_hour for _ in rooms),
        "mtbf": tuple(round(rng.uniform(4.0, 30.0), 2) * 2 * grid for _ in rooms) if base.mtbf else (),
        "delays": {k: rng.randint(1, 3) * grid for k in CHANGES if k != "halt" and some(0.2)} if some(0.7) else {},
        "costs": {k: float(rng.randint(1, 4)) for k in CHANGES if some(0.25)} if some(0.7) else {},
    }  # fmt: skip
    across = rng.choice(((), (1.25,), (1.25, 2.0), (1.0, 1.5), (1.5, 1.5)))
    case = GangCase(
        **kept, rooms=rooms, racks=tuple(rng.choice(RACKS) for _ in rooms),
        toll=tuple(round(rng.uniform(0.1, 0.5), 4) for _ in rooms),
        fare=tuple(float(rng.choice((0, 0.5, 1, 2))) for _ in rooms),
        racked=some(0.8), across=across, choose=rng.choice(CHOICES), binary=binary,
        amounts=some(0.3), by_node=frozenset(k for k in CHANGES if some(0.4)), solved=solved,
        cap=rng.randint(2, 8) if some(0.25) else 0,
        gone=tuple(_absence(rng, number, job) for number, job in enumerate(jobs) if some(0.3)),
    )  # fmt: skip
    return with_nodes_alike(case) if some(0.15) else case


def with_nodes_alike(case: GangCase) -> GangCase:
    """The case with nodes that nothing distinguishes, in a policy or problem that places all jobs anew."""

    def plain(a: Accumulator) -> Accumulator:
        index, other = ("".join(i for i in name if i in "tj") for name in (a.index, a.other_index))
        coefficient = "gpus" if a.rate.coefficient == "speed" else a.rate.coefficient
        return replace(a, index=index, other_index=other, rate=replace(a.rate, coefficient=coefficient))

    columns = ("kinds", "speed", "rent", "mtbf", "rooms", "racks", "toll", "fare")
    equal = {name: (getattr(case, name)[:1]) * len(getattr(case, name)) for name in columns}
    return replace(
        case, **equal, cap=0, alike=True, keeps=False, racked=False, choose=(), by_node=frozenset(), resting=("", 0.0),
        accumulators=tuple(plain(a) for a in case.accumulators),
    )  # fmt: skip


def _as_gang(rng: random.Random, job: StateJob, rooms: tuple[int, ...], binary: bool) -> GangJob:
    gpus = rng.choice((1, 1, 1, 2))
    room = sum(min(r // gpus, 1) if binary else r // gpus for r in rooms)
    most = rng.choice((2, 3, max(room, 1), max(room, 1), room + 1))
    workers = rng.randint(1, most if rng.random() < 0.1 else max(1, min(most, room)))
    own = {f.name: getattr(job, f.name) for f in fields(job)} | {"gpus": gpus}
    return GangJob(**own, workers=workers, value=round(rng.uniform(0.5, 4.0), 4) * workers)


def _absence(rng: random.Random, number: int, job: GangJob) -> tuple[int, float, float]:
    at = job.submitted + rng.randint(0, 8) * job.length / 4
    return number, at, rng.choice((math.inf, at, at + job.length / 2, at + job.length * 3))


def _by_racks(a: Accumulator) -> Accumulator:
    return replace(a, index=a.index.replace("k", "r"), other_index=a.other_index.replace("k", "r"))


def text_of_gangs(case: GangCase) -> str:
    """The case in the language."""
    text = _text(case)
    return _without_data_of_nodes(case, text) if case.alike else text


def _without_data_of_nodes(case: GangCase, text: str) -> str:
    """The text with numbers in place of the parameters of nodes, which would distinguish them."""
    u, mtbf = case.unit, (case.mtbf or (1.0,))[0]
    for name, value in (
        ("speed", f"{case.speed[0]!r}"), ("rent", f"{case.rent[0]!r}[$/{u}]"), ("mtbf", f"{mtbf!r}[{u}]"),
        ("room", f"{case.rooms[0]}"), ("toll", f"{case.toll[0]!r}"),
    ):  # fmt: skip
        text = text.replace(f"{name}[n]", value)
    lines = [
        line for line in text.split("\n") if not line.startswith(("  param kind[", "  param room[", "  param held["))
    ]
    nodes = ", ".join(f"n{n}" for n in range(len(case.rooms)))
    lines = [f"  Nodes = {{ {nodes} }};" if line.startswith("  table Nodes:") else line for line in lines]
    return "\n".join(lines).replace("set Nodes;", "set Nodes identical;")


def _text(case: GangCase) -> str:
    u = case.unit
    jobs = "  ".join(
        f"j{i} {j.submitted!r} {j.length!r} {j.deadline!r} {j.weight!r} {j.gpus} {j.watts!r} {j.rate!r} {j.team} "
        f"{j.ends!r} {j.stretch!r} {j.workers} {j.value!r}"
        for i, j in enumerate(case.jobs)
    )
    mtbf = case.mtbf or (1.0,) * len(case.rooms)
    columns = (case.kinds, case.speed, case.rent, mtbf, case.rooms, case.racks, case.toll, case.fare)
    nodes = "  ".join(f"n{n} {' '.join(map(str, row))}" for n, row in enumerate(zip(*columns, strict=True)))
    kind = "binary" if case.binary else "integer >= 0 <= room[n]"
    amount = " * (remaining[j] * length[j] / speed[n])" if case.amounts else ""
    placement = [
        "job j;  node n;  workers workers[j];  uses gpus[j] of room[n];  lasts remaining[j] * length[j] / speed[n];",
        f"costs rate[j]{factor_of(case)}{amount};",
        "due deadline[j] - clock;  weight weight[j];  node_price rent[n];",
    ]
    placement += ["rack rack[n];"] if case.racked else []
    placement += [
        f"{name} {f!r};"
        for name, f in zip(("across_nodes", "across_racks")[: 1 + case.racked], case.across, strict=False)
    ]
    rows = rows_of(case)
    if case.cap:
        rows.append("constraint in_rack[r in Racks]: "
                    f"sum[j in Jobs, n in Nodes where rack[n] == r] gpus[j] * run[j, n] <= {case.cap};")  # fmt: skip
    if case.solved and case.keeps:
        rows.append("constraint stays[j in Jobs, n in Nodes where sum[m in Nodes] held[j, m] > 0]: "
                    "run[j, n] == held[j, n];")  # fmt: skip
    place = f"fewest_racks, {'wait' if case.stops else 'postpone'}"
    keys = ", ".join({"speed": "1 / speed[n]", "rent": "rent[n]"}[key] for key in case.choose)
    lines = [line.replace("ends[j]", "ends[j] * length[j]") if case.work else line for line in lines_of(case)]
    lines += ["work length[j];  speed speed[n];"] if case.work else []
    lines += ["carry held[j, n] = run[j, n];"] if case.solved and case.keeps else []
    return f"""
model Net {{
  set Jobs;  set Nodes;  set Teams;  set Kinds;  set Racks;  set Hours = 0..59;
  param submitted[Jobs] in {u};  param length[Jobs] in {u} > 0;  param deadline[Jobs] in {u};
  param weight[Jobs] in $/{u};  param gpus[Jobs] integer;  param watts[Jobs] in kW;  param rate[Jobs] in $/{u};
  param team[Jobs] within Teams;  param ends[Jobs] default 1;  param stretch[Jobs] default 1;
  param workers[Jobs] integer >= 1;  param value[Jobs];
  param kind[Nodes] within Kinds;  param speed[Nodes];  param rent[Nodes] in $/{u};  param mtbf[Nodes] in {u};
  param room[Nodes] integer >= 1;  param rack[Nodes] within Racks;  param toll[Nodes];  param fare[Nodes];
  param remaining[Jobs] > 0 <= 1 default 1;  param ran[Jobs] default 0;  param was[Jobs] default 0;
  param held[Jobs, Nodes] integer >= 0 default 0;
  param tariff[Hours];  param price default 1;  param clock in {u} default 0[{u}];
  {declared_of(case)}
  var run[j in Jobs, n in Nodes] {kind};
  var runs[Jobs] binary;
  maximize gain: sum[j in Jobs] value[j] * {worth_of(case)} * runs[j]
    - sum[j in Jobs, n in Nodes] value[j] / workers[j] * toll[n] * run[j, n];
  constraint all_or_none[j in Jobs]: sum[n in Nodes] run[j, n] == workers[j] * runs[j];
  constraint capacity[n in Nodes]: sum[j in Jobs] gpus[j] * run[j, n] <= room[n];
  {"  ".join(rows)}
  placement run[j, n] {{
    {"  ".join(placement)}
  }}
}}
policy Queue for Net {{
  order j in Jobs by {key_of(case)}{" descending" if case.descending else ""}, submitted[j];
  {f"choose by {keys};" if keys else ""}
  place {place};{"  keep running;" if case.keeps else ""}
}}
{blocks_of(lines, case.inherited, {})}
scenario S for Net {{
  {calendar_of(case)}
  Teams = {{ {", ".join(TEAMS)} }};  Kinds = {{ {", ".join(KINDS)} }};  Racks = {{ {", ".join(RACKS)} }};
  table Nodes: kind speed rent[$/{u}] mtbf[{u}] room rack toll fare = {nodes};
  table Jobs: submitted[{u}] length[{u}] deadline[{u}] weight[$/{u}] gpus watts[kW] rate[$/{u}] team ends stretch
    workers value = {jobs};
  table Hours: tariff = {"  ".join(f"{h} {price}" for h, price in enumerate(case.tariff))};
}}
"""


def worth_of(case: GangCase) -> str:
    """What multiplies the value of a job in the objective: it depends on an accumulated value where the queue does."""
    if case.key in ("submitted", "clock"):
        return "1"
    a = case.named(case.key)
    return f"(1 + 0.125 * ({a.of_job()}) / 1[{a.unit}])"


def smaller_gangs(case: GangCase) -> list[GangCase]:
    """Cases with less in them, for finding the smallest that fails."""
    found: list[Any] = smaller_state(replace(case, kinds=case.kinds[:1]))
    found = [replace(one, kinds=case.kinds) for one in found]
    for name, less in (
        ("across", ()), ("choose", ()), ("binary", False), ("amounts", False), ("by_node", frozenset()),
        ("work", False), ("racked", not case.alike), ("solved", False), ("gone", ()), ("cap", 0),
    ):  # fmt: skip
        if getattr(case, name) != less:
            found.append(replace(case, **{name: less}))
    for n in range(len(case.rooms)) if case.rooms[1:] else ():
        columns = ("kinds", "speed", "rent", "mtbf", "rooms", "racks", "toll", "fare")
        cut = {name: getattr(case, name)[:n] + getattr(case, name)[n + 1 :] for name in columns}
        found.append(replace(case, **cut))
    return found
