"""Random blocks that plan window after window: as text for the engine, and as plain numbers for a simulator."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from net_cases import ENDS_LAW, STRETCH_LAW, blocks_of

METHODS = ("highs", "Starts", "Valleys")
KEYS = {"due": "due[j]", "length": "length[j] descending", "arrives": "arrives[j], weight[j] descending"}
FORECASTS = {  # what the carry of the tariff says
    "told": "",
    "persists": "carry tariff[h] = (actual[committed] else forecast[h]);",
    "seen": "carry tariff[h] = if h - 2 <= committed then (actual[h - 2] else forecast[h]) else forecast[h];",
}
CHARGES = {
    "energy": "energy[k in Nodes] in $ = sum[h in Slots] actual[h] * slot * drawn[k, h];",
    "kwh": "kwh[k in Nodes] in kWh = sum[h in Slots] slot * drawn[k, h];",
    "lateness": "lateness[j in Jobs] in $ = sum[k in Nodes, h in Slots] weight[j] * late[j, h] * train[j, k, h];",
    "booting": "booting[k in Nodes] in $ = sum[h in Slots] boot[k] * BOOTS;",
    "starting": "starting[j in Jobs, k in Nodes] in $ = sum[h in Slots] restart[j] * STARTS;",
}


@dataclass(frozen=True)
class WindowJob:
    arrives: float  # label of a slot, or between two
    length: float  # epochs
    due: int  # label of the last slot in time
    weight: float
    restart: float
    price: float  # of an epoch that is left for later
    until: float  # hours from the first plan until it is due
    ends: float = 1.0  # of its length
    stretch: float = 1.0


@dataclass(frozen=True)
class WindowNode:
    pace: float  # epochs by slot
    power: float
    idle: float
    boot: float
    rent: float
    mtbf: float = 1.0  # hours
    count: int = 1  # nodes of the type, where types are counted


@dataclass(frozen=True)
class WindowCase:
    """One block with its data. All numbers are sums of few powers of two, so that sums of them are exact."""

    seed: int
    method: str
    jobs: tuple[WindowJob, ...]
    nodes: tuple[WindowNode, ...]
    first: int  # label of the first slot
    slot: float  # hours
    forecast: tuple[float, ...]
    actual: tuple[float, ...]
    lookahead: int
    commit: int
    every: int = 0  # slots, 0: not stated
    every_time: bool = False  # the same as a time
    triggers: tuple[str, ...] | None = ()  # None: no line `replan on`
    tariff: str = "told"
    room: int = 1  # jobs that a node takes
    counted: bool = False  # a number of nodes of each type is on
    boots: bool = True  # nodes are switched on at a price
    starts: bool = True  # jobs start at a price
    homes: bool = False  # a job stays on the node where it has worked
    goes_on: bool = False  # a job that worked in the last slot works in the next one
    least: float = 0.0  # epochs that a plan counts for a job that takes longer than stated
    outages: bool = False
    repair: float = 1.0
    ends: bool = False
    stretch: bool = False
    by_hour: bool = False  # the speed is stated by time, not by slot
    delays: dict[str, float] = field(default_factory=dict)  # hours by kind of change
    costs: dict[str, float] = field(default_factory=dict)
    charges: tuple[str, ...] = ()
    charged: str = ""  # `jobs`, `nodes`
    differences: bool = True  # starts and boots are charged as differences of other variables
    tardy: bool = False  # the placement has `due` and `weight`
    clock: bool = False  # and the time that has passed is carried
    key: str = "due"
    blocking: bool = False
    laws: frozenset[str] = frozenset()  # what is drawn: `ends`, `stretch`
    inherited: frozenset[int] = frozenset()  # the lines of the block, by number, that come from a block it extends

    @property
    def horizon(self) -> int:
        return len(self.actual)

    @property
    def text(self) -> str:
        return text_of(self)


def drawn_window(seed: int) -> WindowCase:
    """A case; each line of the block is there with some probability."""
    rng = random.Random(f"window {seed}")

    def some(share: float) -> bool:
        return rng.random() < share

    method = rng.choice(METHODS)
    solver = method == "highs"
    first, horizon, slot = rng.choice((0, 0, 3)), rng.randint(3, 8), rng.choice((0.25, 0.5, 1.0, 2.0))
    jobs = tuple(
        WindowJob(
            arrives=first + rng.choice((0, 0, 0, 1, 2, 0.5, 1.25, horizon - 1, -1, horizon)),
            length=float(rng.randint(1, 4)),
            due=first + rng.randint(0, horizon),
            weight=float(rng.randint(0, 3)),
            restart=float(rng.randint(0, 3)),
            price=float(rng.choice((1, 4, 16))),
            until=slot * rng.randint(1, 6),
            ends=rng.choice((0.25, 0.5, 0.75, 1.0, 1.5)),
            stretch=rng.choice((0.5, 0.5, 1.0, 1.5, 2.0)),
        )
        for _ in range(rng.randint(1, 3))
    )
    nodes = tuple(
        WindowNode(
            pace=rng.choice((1.0, 1.0, 2.0, 0.5, 1.5)),
            power=float(rng.randint(1, 4)),
            idle=float(rng.randint(0, 2)),
            boot=float(rng.randint(0, 3)),
            rent=float(rng.randint(1, 4)),
            mtbf=slot * rng.choice((1, 1.5, 2, 3, 2.25)),
        )
        for _ in range(rng.randint(1, 2))
    )
    lookahead = rng.randint(1, 4 if len(jobs) < 3 else 3)
    commit = rng.randint(1, lookahead)
    least_price = rng.choice((0, 0, -2))
    forecast = tuple(float(rng.randint(least_price, 6)) for _ in range(horizon))
    triggers: tuple[str, ...] | None = tuple(
        event for event in ("arrival", "completion", "failure", "recovery") if some(0.6)
    )
    every = rng.randint(1, commit) if some(0.5) or not triggers else 0
    if not every and some(0.2):
        triggers = None
    kinds = ("start", "resume", "migration", "halt", "boot")
    ends, stretch = some(0.25), some(0.25)
    starts = some(0.7)
    case = WindowCase(
        seed, method, jobs, nodes, first, slot,
        forecast=forecast,
        actual=forecast if some(0.4) else tuple(float(rng.randint(least_price, 6)) for _ in range(horizon)),
        lookahead=lookahead, commit=commit, every=every, every_time=some(0.3), triggers=triggers,
        tariff=rng.choice(tuple(FORECASTS)),
        room=rng.choice((1, 1, 2)) if solver else 1,
        boots=some(0.7), starts=starts, homes=some(0.4), goes_on=solver and starts and some(0.3),
        least=rng.choice((0.0, 0.5)) if ends or stretch else 0.0,
        outages=some(0.3), repair=slot * rng.choice((0.5, 1, 1.5, 2)), ends=ends, stretch=stretch, by_hour=some(0.5),
        delays={k: slot * rng.choice((0.25, 0.5, 1, 1.5)) for k in kinds if k != "halt" and some(0.12)},
        costs={k: float(rng.randint(1, 4)) for k in kinds if some(0.12)},
        charges=tuple(name for name in CHARGES if some(0.6)),
        charged=rng.choice(("", "jobs", "nodes")),
        differences=not solver or some(0.5),
        tardy=some(0.4), clock=some(0.5), key=rng.choice(tuple(KEYS)), blocking=some(0.3),
    )  # fmt: skip
    if not case.boots or not case.starts:
        charges = tuple(c for c in case.charges if (c != "booting" or case.boots) and (c != "starting" or case.starts))
        case = replace(case, charges=charges)
    if solver and some(0.25):
        case = counted(case, rng)
    if some(0.15):
        case = as_planned(case)
    stated = {"ends": case.ends, "stretch": case.stretch}
    case = replace(case, laws=frozenset(name for name, there in stated.items() if there and some(0.5)))
    return replace(case, inherited=frozenset(k for k in range(24) if some(0.5)) if some(0.3) else frozenset())


def as_planned(case: WindowCase) -> WindowCase:
    """The case in which all goes as the model says, and costs what it says."""
    charges = ("energy", "lateness", *(["booting"] if case.boots else []), *(["starting"] if case.starts else []))
    return replace(
        case, actual=case.forecast, outages=False, ends=False, stretch=False, delays={}, charged="", charges=charges
    )


def counted(case: WindowCase, rng: random.Random) -> WindowCase:
    """The case with types in place of nodes. What is said of single nodes does not go with it."""
    without = {kind: value for kind, value in case.delays.items() if kind != "boot"}
    costs = {kind: value for kind, value in case.costs.items() if kind != "boot"}
    nodes = tuple(replace(node, count=rng.randint(1, 2)) for node in case.nodes)
    return replace(
        case, counted=True, nodes=nodes, delays=without, costs=costs, charged=case.charged.replace("nodes", "jobs")
    )


def text_of(case: WindowCase) -> str:
    """The case in the language."""
    policy = "" if case.method == "highs" else _policy(case)
    return f"{_model(case)}{policy}{_block(case)}{_scenario(case)}"


DECOYS = {  # lines of the extended block that the own block states otherwise
    "window": "window h in Slots lookahead 2 commit 1;",
    "arrive": "arrive j in Jobs at arrives[j] + 1;",
    "carry work": "carry work[j] = length[j];",
    "carry was_on": "carry was_on[k] = 1 - on[k, committed];",
    "carry tariff": "carry tariff[h] = 17[$/kWh];",
    "on start": "on start delay 5[h] costs 50[$];",
    "on halt": "on halt costs 50[$];",
    "ends": "ends at 0.1[epoch];",
    "stretch": "stretch 3;",
    "charge energy": "charge energy in $ = sum[h in Slots] 77[$];",
}


def _model(case: WindowCase) -> str:
    terms = [
        "energy: sum[k in Nodes, h in Slots] tariff[h] * slot * drawn[k, h];",
        "lateness: sum[j in Jobs, k in Nodes, h in Slots] weight[j] * late[j, h] * train[j, k, h];",
        "later: sum[j in Jobs] price[j] * left[j];",
    ]
    declared, rows = [], []
    if case.boots:
        kind = "integer" if case.counted else "binary"
        declared.append(f"param was_on[Nodes] {kind} default 0;  var boots[Nodes, Slots] >= 0;")
        terms.append("booting: sum[k in Nodes, h in Slots] boot[k] * boots[k, h];")
        rows.append("booted[k in Nodes, h in Slots]: boots[k, h] >= on[k, h] - (on[k, h-1] else was_on[k]);")
    if case.starts:
        declared.append("param was_at[Jobs, Nodes] binary default 0;  var starts[Jobs, Nodes, Slots] >= 0;")
        terms.append("starting: sum[j in Jobs, k in Nodes, h in Slots] restart[j] * starts[j, k, h];")
        rows.append("started[j in Jobs, k in Nodes, h in Slots]: starts[j, k, h] >= train[j, k, h] - BEFORE;")
    if case.homes:
        declared.append("param held[Jobs, Nodes] binary default 0;  var home[Jobs, Nodes] binary;")
        rows.append("one_home[j in Jobs]: sum[k in Nodes] home[j, k] <= 1;")
        rows.append("stays[j in Jobs, k in Nodes, h in Slots]: train[j, k, h] <= home[j, k];")
        rows.append("as_before[j in Jobs, k in Nodes where held[j, k] == 1]: home[j, k] == 1;")
    if case.goes_on:
        fixed = "j in Jobs, k in Nodes where was_at[j, k] == 1 and work[j] > 0.000001[epoch]"
        rows.append(f"goes_on[{fixed}]: train[j, k, first(Slots)] == 1;")
    on = "var on[k in Nodes, Slots] integer >= 0 <= most[k];" if case.counted else "var on[Nodes, Slots] binary;"
    if "ends" in case.laws:
        declared.append(
            f"random goal[j in Jobs] in epoch ~ uniform({ENDS_LAW[0]} * length[j], {ENDS_LAW[1]} * length[j]);"
        )
    constraints = "\n  ".join(f"constraint {row}" for row in rows).replace("BEFORE", BEFORE)
    roles = f"job j;  {'node_type' if case.counted else 'node'} k;  slot h;  lasts slot;  uses 1 of ROOM;".replace(
        "ROOM", str(case.room)
    )
    roles += "  costs actual[h] * power[k] in $/h;  node_price rent[k];"
    if case.tardy:
        roles += f"  due until[j]{' - clock' if case.clock else ''};  weight weight[j] / 1[h];"
    return f"""
model Net {{
  set Jobs;  set Nodes;  set Slots ordered;
  param arrives[Jobs];  param length[Jobs] in epoch > 0;  param due[Jobs];  param weight[Jobs] in $;
  param restart[Jobs] in $;  param price[Jobs] in $/epoch;  param until[Jobs] in h;
  param ends[Jobs] default 1;  param stretch[Jobs] default 1;
  param pace[Nodes] in epoch;  param power[Nodes] in kW;  param idle[Nodes] in kW;  param boot[Nodes] in $;
  param rent[Nodes] in $/h;  param mtbf[Nodes] in h;  param most[Nodes] integer;
  param number[Slots];  param forecast[Slots] in $/kWh;  param actual[Slots] in $/kWh;
  param tariff[h in Slots] in $/kWh default forecast[h];
  param slot in h;  param clock in h default 0[h];
  param work[j in Jobs] in epoch >= 0 default length[j];
  param late[j in Jobs, h in Slots] = max(0, number[h] - due[j]);
  var train[Jobs, Nodes, Slots] binary;  {on}  var left[Jobs] in epoch >= 0;
  let drawn[k in Nodes, h in Slots] in kW = idle[k] * on[k, h] + power[k] * sum[j in Jobs] train[j, k, h];
  {"  ".join(declared)}
  minimize cost in $ {{
    {"  ".join(terms)}
  }}
  constraint enough[j in Jobs]: sum[k in Nodes, h in Slots] pace[k] * train[j, k, h] + left[j] >= work[j];
  constraint fits[k in Nodes, h in Slots]: sum[j in Jobs] train[j, k, h] <= {case.room} * on[k, h];
  constraint one_place[j in Jobs, h in Slots]: sum[k in Nodes] train[j, k, h] <= 1;
  {constraints}
  placement train[j, k, h] {{ {roles} }}
}}
"""


BEFORE = "(train[j, k, h-1] else was_at[j, k])"


def _policy(case: WindowCase) -> str:
    where = " where held[j, k] == 1 or sum[n in Nodes] held[j, n] == 0" if case.homes else ""
    home = "if held[j, k] == 1 or sum[h in Slots] train[j, k, h] > 0 then 1 else 0"
    key, place = {
        "Starts": ("power[k] / pace[k]", "start_now, block" if case.blocking else "start_now"),
        "Valleys": ("tariff[h] * power[k]", "cheapest_block, cheapest_slots"),
    }[case.method]
    return f"""policy {case.method} for Net {{
  order j in Jobs by {KEYS[case.key]};
  choose k in Nodes, h in Slots{where} by {key};
  occupies max(1, ceil(work[j] / pace[k] - 0.000001));
  place {place};
  fix on[k in Nodes, h in Slots] = if sum[j in Jobs] train[j, k, h] > 0 then 1 else 0;
  {f"fix home[j in Jobs, k in Nodes] = {home};" if case.homes else ""}
}}
"""


def _block(case: WindowCase) -> str:
    lines = ["arrive j in Jobs at arrives[j];", f"window h in Slots lookahead {case.lookahead} commit {case.commit};"]
    if case.triggers is not None:
        every = f"every {case.every * case.slot!r}[h]" if case.every_time else f"every {case.every} slots"
        asked = [*case.triggers, *([every] if case.every else [])]
        lines += [f"replan on {', '.join(asked)};"] if asked else []
    lines.append("work length[j];  " + ("speed pace[k] / slot;" if case.by_hour else "speed pace[k];"))
    lines.append(f"carry work[j] = max(length[j] - done[j], {case.least!r}[epoch]);")
    lines += [FORECASTS[case.tariff]] if case.tariff != "told" else []
    lines += ["carry was_on[k] = on[k, committed];"] if case.boots else []
    lines += ["carry was_at[j, k] = train[j, k, committed];"] if case.starts else []
    lines += ["carry held[j, k] = if done[j] > 0 then home[j, k] else 0;"] if case.homes else []
    lines += ["carry clock = now * slot;"] if case.tardy and case.clock else []
    if case.ends:
        lines.append("ends at goal[j];" if "ends" in case.laws else "ends at ends[j] * length[j];")
    if case.stretch:
        lines.append(f"stretch {STRETCH_LAW};" if "stretch" in case.laws else "stretch stretch[j];")
    for kind in sorted({*case.delays, *case.costs}):
        delay = f" delay {case.delays[kind]!r}[h]" if kind in case.delays else ""
        costs = f" costs {case.costs[kind]!r}[$]" if kind in case.costs else ""
        lines.append(f"on {kind}{delay}{costs};")
    lines += [f"outage k in Nodes every mtbf[k] lasting {case.repair!r}[h];"] if case.outages else []
    boots = "max(0, on[k, h] - (on[k, h-1] else was_on[k]))" if case.differences else "boots[k, h]"
    starts = f"max(0, train[j, k, h] - {BEFORE})" if case.differences else "starts[j, k, h]"
    lines += [f"charge {CHARGES[c]}".replace("BOOTS", boots).replace("STARTS", starts) for c in case.charges]
    lines += [f"charge {case.charged};"] if case.charged else []
    return blocks_of(lines, case.inherited, DECOYS) + "\n"


def _scenario(case: WindowCase) -> str:
    jobs = "  ".join(
        f"j{i} {j.arrives!r} {j.length!r} {j.due} {j.weight!r} {j.restart!r} {j.price!r} {j.until!r} {j.ends!r} "
        f"{j.stretch!r}"
        for i, j in enumerate(case.jobs)
    )
    nodes = "  ".join(
        f"n{i} {n.pace!r} {n.power!r} {n.idle!r} {n.boot!r} {n.rent!r} {n.mtbf!r} {n.count}"
        for i, n in enumerate(case.nodes)
    )
    slots = "  ".join(
        f"{case.first + h} {case.first + h} {told!r} {paid!r}"
        for h, (told, paid) in enumerate(zip(case.forecast, case.actual, strict=True))
    )
    return f"""scenario S for Net {{
  slot = {case.slot!r}[h];
  table Jobs: arrives length[epoch] due weight[$] restart[$] price[$/epoch] until[h] ends stretch = {jobs};
  table Nodes: pace[epoch] power[kW] idle[kW] boot[$] rent[$/h] mtbf[h] most = {nodes};
  table Slots: number forecast[$/kWh] actual[$/kWh] = {slots};
}}
"""


def smaller_window(case: WindowCase) -> list[WindowCase]:
    """Cases with less in them, for finding the smallest that fails."""
    found = [replace(case, jobs=case.jobs[:at] + case.jobs[at + 1 :]) for at in range(len(case.jobs)) if case.jobs[1:]]
    found += [replace(case, nodes=(node,)) for node in case.nodes if case.nodes[1:]]
    if case.horizon > 2:
        found.append(replace(case, forecast=case.forecast[:-1], actual=case.actual[:-1]))
    for name in ("boots", "starts"):
        if getattr(case, name):
            without = tuple(c for c in case.charges if c != {"boots": "booting", "starts": "starting"}[name])
            goes_on = case.goes_on and name != "starts"
            found.append(replace(case, **{name: False}, charges=without, goes_on=goes_on))
    switches = ("homes", "goes_on", "outages", "ends", "stretch", "by_hour", "tardy", "clock", "blocking", "every_time")
    found += [replace(case, **{name: False}) for name in switches if getattr(case, name)]
    found += [replace(case, delays={k: v for k, v in case.delays.items() if k != kind}) for kind in case.delays]
    found += [replace(case, costs={k: v for k, v in case.costs.items() if k != kind}) for kind in case.costs]
    found += [replace(case, charges=tuple(c for c in case.charges if c != name)) for name in case.charges]
    found += [
        replace(case, triggers=tuple(e for e in case.triggers if e != name))
        for name in case.triggers or ()
        if case.every or case.triggers[1:]
    ]
    for name, less in (("charged", ""), ("laws", frozenset()), ("inherited", frozenset())):
        if getattr(case, name):
            found.append(replace(case, **{name: less}))
    if case.counted:
        found.append(replace(case, counted=False))
    if case.tariff != "told":
        found.append(replace(case, tariff="told"))
    if case.forecast != case.actual:
        found.append(replace(case, forecast=case.actual))
    if case.lookahead > case.commit:
        found.append(replace(case, lookahead=case.lookahead - 1))
    if case.room > 1:
        found.append(replace(case, room=1))
    if case.first:
        jobs = tuple(replace(j, arrives=j.arrives - case.first, due=j.due - case.first) for j in case.jobs)
        found.append(replace(case, first=0, jobs=jobs))
    return found
