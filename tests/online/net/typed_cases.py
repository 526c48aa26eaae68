"""Random blocks with nodes of several types and jobs of several GPUs, which move, change their size and ask again."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from net_cases import ENDS_LAW, HOURS, STRETCH_LAW

KEYS = {  # of the queue
    "submitted": "submitted[j]",
    "deadline": "deadline[j]",
    "weight": "weight[j] descending, submitted[j]",
    "remaining": "remaining[j], weight[j]",
    "planned": "planned[j] descending, submitted[j]",
    "asked": "asked[j] descending, deadline[j]",
}
WAYS = {  # of the list of ways to run a job
    "time": "time[j, t, g]",
    "cost": "g * rent[t] * time[j, t, g], g",
    "switch": "(if remaining[j] > 0.5123 then time[j, t, g] / 1[h] else g * rent[t] * time[j, t, g] / 1[$])",
    "planned": "abs(g - planned[j]), time[j, t, g]",
    "turns": "(if there == 2 * floor(there / 2) then 1 else 0 - 1) * time[j, t, g]",
}
CARRIES = {
    "remaining": "carry remaining[j] = remaining[j];",
    "price": "carry price = sum[h in Hours where h == floor(now / 1[h])] tariff[h];",
    "deadline": "carry deadline[j] = deadline[j] - now;",
    "asked": "carry asked[j] = requested[j];",
}
MEMORIES = {"gpus": "g", "hours": "time[j, t, g] / 1[h]", "twice": "min(planned[j] + 1, 4)"}
PER_GPU = ("migration", "halt")  # what these changes cost is stated for a GPU


@dataclass(frozen=True)
class TypedJob:
    submitted: float
    deadline: float
    weight: float
    hours: tuple[tuple[float, ...], ...]  # by type and number of GPUs less one; 0: it cannot run so
    ends: float
    stretch: float


@dataclass(frozen=True)
class TypedCase:
    """One block with its data. `nodes` has the type of each node."""

    seed: int
    jobs: tuple[TypedJob, ...]
    gpus: tuple[int, ...]  # by type
    rent: tuple[float, ...]  # by type and hour
    nodes: tuple[int, ...]
    fit: str
    rules: tuple[str, ...]  # after `new_node`
    keeps: bool
    key: str
    ways: str
    most: int  # GPUs by `choose`; `otherwise` lists all
    grows: bool
    carries: frozenset[str]
    replans: tuple[str, ...]
    every: float = 0.0
    remembers: str = ""
    again: float = 0.0  # of the time of the way, for ways of more than one GPU
    moving_price: bool = False  # costs are multiplied by the tariff
    rated: bool = False  # the placement has `node_rate`
    charged: str = ""
    fee: float = 0.0
    delays: dict[str, float] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)
    tariff: tuple[int, ...] = ()
    mtbf: tuple[float, ...] = ()
    repair: float = 1.0
    ends: bool = False
    stretch: bool = False
    work: bool = False  # work and speed are stated
    laws: frozenset[str] = frozenset()
    outage_times: tuple[tuple[float, ...], ...] = ()
    draws: bool = False  # the policy draws, so nobody but the engine knows its plans

    @property
    def text(self) -> str:
        return text_of(self)


def drawn_typed(seed: int) -> TypedCase:
    """A case; most lines of a block are there with some probability."""
    rng = random.Random(f"typed {seed}")
    grid = rng.choice([1.0, 0.5, 0.25])

    def some(share: float) -> bool:
        return rng.random() < share

    types = rng.randint(1, 3)
    gpus = tuple(rng.randint(1, 4) for _ in range(types))
    nodes = tuple(rng.randrange(types) for _ in range(rng.randint(1, 4)))
    ends, stretch = some(0.3), some(0.3)
    jobs = tuple(
        TypedJob(
            submitted=round(rng.randint(0, 8) * grid, 9),
            deadline=round(rng.randint(1, 16) * grid, 9),
            weight=float(rng.randint(0, 3)),
            hours=_hours(rng, gpus, grid),
            ends=round(rng.uniform(0.4, 1.6), 2) if ends else 1.0,
            stretch=round(rng.uniform(0.5, 2.0), 2) if stretch else 1.0,
        )
        for _ in range(rng.randint(1, 6))
    )
    keeps = some(0.35)
    kinds = ("start", "resume", "migration", "resize", "halt", "boot")
    replans = tuple(e for e in ("arrival", "completion", "failure", "recovery") if some(0.9))
    outages = some(0.25)
    every = round(rng.choice([1, 2, 3]) * grid, 9) if some(0.4) or "completion" not in replans else 0.0
    if outages and "recovery" not in replans:
        every = every or 2 * grid
    again = rng.choice([0.3, 0.7]) if some(0.3) else 0.0
    rules = ("best_suboptimal",) if some(0.3) else ("next_choice",) if some(0.4) else ()
    stated = {"ends": ends, "stretch": stretch, "outages": outages}
    case = TypedCase(
        seed, jobs, gpus, rent=tuple(float(rng.randint(1, 4)) for _ in gpus), nodes=nodes,
        fit=rng.choice(["best_fit", "first_fit"]), rules=(*rules, "wait" if some(0.3) else "postpone"), keeps=keeps,
        key=rng.choice(list(KEYS)), ways=rng.choice(list(WAYS)), most=rng.choice([4, 4, 2, 1]), grows=some(0.25),
        carries=frozenset(name for name in CARRIES if some(0.6) or (name == "remaining" and (every or again))),
        replans=replans, every=every, remembers=rng.choice(["", "", *MEMORIES]), again=again,
        moving_price=some(0.5), rated=some(0.3), charged=rng.choice(["", "", "jobs", "nodes"]),
        fee=float(rng.choice([0, 0, 0, 2])),
        delays={k: round(rng.randint(1, 3) * grid / 4, 9) for k in kinds if k != "halt" and some(0.15)},
        costs={k: float(rng.randint(1, 4)) for k in kinds if some(0.2)},
        tariff=tuple(rng.randint(0, 9) for _ in range(HOURS)),
        mtbf=tuple(round(rng.uniform(2.0, 15.0) * 4 * grid, 2) for _ in nodes) if outages else (),
        repair=round(rng.randint(1, 5) * grid, 9), ends=ends, stretch=stretch, work=some(0.2),
        laws=frozenset(name for name, there in stated.items() if there and some(0.5)), draws=some(0.1),
    )  # fmt: skip
    return calmed(case, rng) if some(0.25) else case


def calmed(case: TypedCase, rng: random.Random) -> TypedCase:
    """The case without most of what keeps a run from a fast replay; the rest is drawn."""
    return replace(
        case, keeps=True, replans=("arrival", "completion"), carries=case.carries | {"remaining"}, delays={}, costs={},
        mtbf=(), fee=0.0, ends=False, stretch=False, work=False, laws=frozenset(), remembers="", again=0.0, draws=False,
        every=0.0, grows=False, moving_price=rng.random() < 0.2, ways=rng.choice(("time", "cost")),
        key=rng.choice(("submitted", "deadline", "weight")), most=rng.choice((4, 4, 2)),
        rules=(*(("next_choice",) if rng.random() < 0.5 else case.rules[:-1]), case.rules[-1]),
    )  # fmt: skip


def _hours(rng: random.Random, gpus: tuple[int, ...], grid: float) -> tuple[tuple[float, ...], ...]:
    """Times by type and number of GPUs, of which some are left out, but not all."""
    length = rng.randint(1, 9) * grid
    found = [
        [
            round(length * rng.uniform(0.5, 1.5) / g ** rng.uniform(0.3, 1.1), 3) * (rng.random() < 0.8)
            for g in range(1, n + 1)
        ]
        for n in gpus
    ]
    if not any(map(any, found)):
        found[0][0] = length
    return tuple(map(tuple, found))


def text_of(case: TypedCase) -> str:
    """The case in the language."""
    draws = ""
    if case.draws:
        draws = """randomise order swapping with probability 0.4;  randomise choose from 2;
  repeat 3 keep best total;"""
    remembers = f"remember planned = {MEMORIES[case.remembers]};" if case.remembers else ""
    again = f"again after {case.again!r} * time[j, t, g] where g > 1;" if case.again else ""
    runnable = "(j, t, g) in Runnable"
    factor = "price * " if case.moving_price else ""
    rate = f"\n    node_rate {factor}(1 + g) * rent[type[n]];" if case.rated else ""
    jobs = "  ".join(
        f"j{i} {j.submitted!r} {j.deadline!r} {j.weight!r} {j.ends!r} {j.stretch!r}" for i, j in enumerate(case.jobs)
    )
    times = "  ".join(
        f"j{i} t{t} {g + 1} {hours!r}"
        for i, j in enumerate(case.jobs)
        for t, by_gpus in enumerate(j.hours)
        for g, hours in enumerate(by_gpus)
        if hours
    )
    types = "  ".join(f"t{t} {n} {rent!r}" for t, (n, rent) in enumerate(zip(case.gpus, case.rent, strict=True)))
    mtbf = "".join(f"  n{n} {t!r}" for n, t in enumerate(case.mtbf))
    return f"""
model Net {{
  set Jobs;  set Types;  set Nodes;  set Hours = 0..{HOURS - 1};  set Levels = 1..4;
  param type[Nodes] within Types;  param gpus[Types] integer >= 1;  param rent[Types] in $/h;
  {"param mtbf[Nodes] in h;" if case.mtbf else ""}
  set Configs = {{ (t, g) : t in Types, g in 1..gpus[t] }};  set Runnable within Jobs cross Configs;
  param time[Runnable] in h > 0;  param submitted[Jobs] in h;  param deadline[Jobs] in h;  param weight[Jobs] in $/h;
  param ends[Jobs] default 1;  param stretch[Jobs] default 1;  param tariff[Hours];  param price default 1;
  param remaining[Jobs] > 0 <= 1 default 1;  param planned[Jobs] default 2;  param asked[Jobs] default 0;
  {"param there = count(Jobs);" if case.ways == "turns" else ""}
  {f"random goal[j in Jobs] ~ uniform({ENDS_LAW[0]}, {ENDS_LAW[1]});" if "ends" in case.laws else ""}
  var run[j in Jobs, n in Nodes, g in Levels where (j, type[n], g) in Runnable] binary;
  minimize cost in $: sum[j in Jobs, n in Nodes, g in Levels where (j, type[n], g) in Runnable] 1[$] * run[j, n, g];
  constraint room[n in Nodes]: sum[j in Jobs, g in Levels] g * run[j, n, g] <= gpus[type[n]];
  constraint once[j in Jobs]: sum[n in Nodes, g in Levels] run[j, n, g] <= 1;
  placement run[j, n, g] {{
    job j;  node n;  node_type type[n];  uses g of gpus[type[n]];  lasts remaining[j] * time[j, type[n], g];
    costs {factor}g * rent[type[n]] in $/h;  due deadline[j];  weight weight[j];
    node_price {factor}rent[type[n]];{rate}
  }}
}}
policy Queue for Net {{
  order j in Jobs by {KEYS[case.key]};
  choose t in Types, g in Levels where {runnable} and g <= {case.most} by {WAYS[case.ways]};
  {f"otherwise t in Types, g in Levels where {runnable} by time[j, t, g];" if case.most < 4 else ""}
  place {", ".join((case.fit, "new_node", *case.rules))};
  {"finish grow_by_one by time;" if case.grows else ""}  {"keep running;" if case.keeps else ""}
  {remembers}  {again}
  {draws}
}}
online Block for Net {{
  {_lines(case)}
}}
scenario S for Net {{
  table Types: gpus rent[$/h] = {types};
  table Nodes: type = {"  ".join(f"n{n} t{t}" for n, t in enumerate(case.nodes))};
  table Jobs: submitted[h] deadline[h] weight[$/h] ends stretch = {jobs};
  table Runnable: time[h] = {times};
  table Hours: tariff = {"  ".join(f"{h} {price}" for h, price in enumerate(case.tariff))};
  {f"table Nodes: mtbf[h] ={mtbf};" if case.mtbf else ""}
}}
"""


def _lines(case: TypedCase) -> str:
    triggers = [*case.replans, *([f"every {case.every!r}[h]"] if case.every else [])]
    lines = ["arrive j in Jobs at submitted[j];", f"replan on {', '.join(triggers)};"]
    lines += [CARRIES[name] for name in sorted(case.carries)]
    if case.work:
        lines.append("work 1;  speed 1 / time[j, type[n], g];")
    if case.ends:
        lines.append("ends at goal[j];" if "ends" in case.laws else "ends at ends[j];")
    if case.stretch:
        lines.append(f"stretch {STRETCH_LAW};" if "stretch" in case.laws else "stretch stretch[j];")
    for kind in sorted({*case.delays, *case.costs}):
        delay = f" delay {case.delays[kind]!r}[h]" if kind in case.delays else ""
        amount = f"{case.costs.get(kind)!r}[$]{' * g' if kind in PER_GPU else ''}"
        lines.append(f"on {kind}{delay}{f' costs {amount}' if kind in case.costs else ''};")
    if case.mtbf:
        law = "exponential(mean = mtbf[n])" if "outages" in case.laws else "mtbf[n]"
        lasting = (
            f"uniform({case.repair / 2!r}[h], {case.repair * 2!r}[h])"
            if "outages" in case.laws
            else f"{case.repair!r}[h]"
        )
        lines.append(f"outage n in Nodes every {law} lasting {lasting};")
    if case.fee:
        lines.append(
            f"charge extra[j in Jobs] in $/h = {case.fee!r}[$/h] * sum[n in Nodes, g in Levels] g * run[j, n, g];"
        )
    if case.charged:
        lines.append(f"charge {case.charged};")
    return "\n  ".join(lines)


def smaller_typed(case: TypedCase) -> list[TypedCase]:
    """Cases with less in them, for finding the smallest that fails."""
    found = [replace(case, jobs=case.jobs[:at] + case.jobs[at + 1 :]) for at in range(len(case.jobs)) if case.jobs[1:]]
    if case.nodes[1:]:
        found += [
            replace(case, nodes=case.nodes[:at] + case.nodes[at + 1 :], mtbf=case.mtbf[:at] + case.mtbf[at + 1 :])
            for at in range(len(case.nodes))
        ]
    found += [replace(case, delays={k: v for k, v in case.delays.items() if k != kind}) for kind in case.delays]
    found += [replace(case, costs={k: v for k, v in case.costs.items() if k != kind}) for kind in case.costs]
    found += [
        replace(case, **{n: False}) for n in ("ends", "stretch", "work", "grows", "rated", "draws") if getattr(case, n)
    ]
    found += [replace(case, carries=case.carries - {n}) for n in case.carries if n != "remaining"]
    if case.laws:
        found.append(replace(case, laws=frozenset()))
    if case.mtbf:
        found.append(replace(case, mtbf=(), laws=case.laws - {"outages"}))
    if len(case.rules) > 1:
        found.append(replace(case, rules=case.rules[-1:]))
    for name, less in (
        ("remembers", ""),
        ("again", 0.0),
        ("charged", ""),
        ("fee", 0.0),
        ("most", 4),
        ("key", "submitted"),
        ("ways", "time"),
    ):
        if getattr(case, name) != less:
            found.append(replace(case, **{name: less}))
    if case.every and "completion" in case.replans:
        found.append(replace(case, every=0.0))
    return found
