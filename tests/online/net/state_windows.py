"""Random blocks with windows whose plans depend on what was executed: peaks, budgets, ramps, shares, prices by date."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Final

from state_cases import CALENDARS, DAYS, HOLIDAYS, TEAMS
from window_cases import WindowJob, WindowNode

PEAKS: Final = {  # the highest load so far
    "last": "max(previous(top), load[committed])",  # with commits of one slot
    "slots": "max(previous(top), max[h in Slots where h > committed - SPAN and h <= committed] load[h])",
    "executed": "max(previous(top), executed(max[h in Slots] load[h]))",
    "month": "if now mod MONTH == 0 then top else max(previous(top), executed(max[h in Slots] load[h]))",
    "decays": "max(previous(top) * 0.5 ^ (elapsed / HALF), executed(max[h in Slots] load[h]))",
}
USES: Final = {  # the energy so far
    "energy": "previous(used) + executed(sum[h in Slots] slot * load[h])",
    "nodes": "previous(used)"
    " + executed(sum[j in Jobs, k in Nodes, h in Slots] slot * power[j] * draw[k] * train[j, k, h])",
    "day": "if hour_of_day(now * slot) < 6[h] then used else previous(used) + executed(sum[h in Slots] slot * load[h])",
}
SHARES: Final = {  # the slots of a team so far
    "sum": "previous(had[t]) + executed(sum[j in Jobs, k in Nodes, h in Slots where team[j] == t] train[j, k, h])",
    "decay": "previous(had[t]) * 0.5 ^ (elapsed / HALF)"
    " + executed(sum[j in Jobs, k in Nodes, h in Slots where team[j] == t] train[j, k, h])",
    "done": "sum[j in Jobs where team[j] == t] done[j] / 1[epoch]",
    "dear": "previous(had[t]) + executed(sum[j in Jobs, k in Nodes, h in Slots where team[j] == t]"
    " tariff[h] / 1[$/kWh] * (1 + used / 10[kWh]) * train[j, k, h])",
}
TARIFFS: Final = {
    "basic": "basic[h]",
    "hour": "basic[h] * (1 + hour_of_day(number[h] * slot) / 24[h])",
    "weekday": "basic[h] * weekday(number[h] * slot)",
    "office": "basic[h] * (if weekday(number[h] * slot) <= 5 and 9[h] <= hour_of_day(number[h] * slot)"
    " and hour_of_day(number[h] * slot) < 18[h]"
    " then 3 else 1)",
    "holiday": "basic[h] * (if is_holiday(number[h] * slot) then 4 else 1)",
}
CHARGES: Final = {
    "energy": "energy in $ = sum[h in Slots] tariff[h] * slot * load[h];",
    "climbing": "climbing in $ = sum[h in Slots] 1[$/kW] * max(0[kW], load[h] - (load[h-1] else last_load));",
    "shares": "shares[t in Teams] in $ = sum[h in Slots] 1[$] * had[t];",
    "usage": "usage in kWh = sum[h in Slots] slot * load[h] * (1 + used / 10[kWh]);",
}


@dataclass(frozen=True)
class StateWindowCase:
    """One block with its data. Attributes that the simulator of windows reads have its names."""

    seed: int
    jobs: tuple[WindowJob, ...]
    nodes: tuple[WindowNode, ...]  # `power` multiplies that of jobs
    power: tuple[float, ...]  # of jobs
    teams: tuple[str, ...]  # of jobs
    slot: float
    basic: tuple[float, ...]
    lookahead: int
    commit: int
    every: int = 0
    triggers: tuple[str, ...] | None = ()
    clocks: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    calendar: tuple[str, str] | None = None
    tariff: str = "basic"
    peak: str = "executed"
    usage: str = "energy"
    share: str = "sum"
    half: float = 2.0
    month: int = 4
    start: tuple[float, float, float] = (0.0, 0.0, 0.0)  # of top, used and had
    demand: float = 0.0  # $ for each kW of new peak
    climb: float = 0.0  # $ for each kW of rise
    rise: float = 0.0  # the largest rise; 0: any
    budget: float = 0.0  # of energy; 0: any
    restarts: float = 0.0  # $ of a restart, by the number of those before
    guaranteed: float = 0.0  # hours for which a job is not halted
    outages: bool = False
    repair: float = 1.0
    ends: bool = False
    stretch: bool = False
    delays: dict[str, float] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)
    charges: tuple[str, ...] = ("energy",)
    # What the simulator of windows knows and these cases do not have.
    first: int = 0
    charged: str = ""
    tardy: bool = False
    clock: bool = False

    @property
    def horizon(self) -> int:
        return len(self.basic)

    @property
    def actual(self) -> tuple[float, ...]:
        return self.basic

    @property
    def text(self) -> str:
        return text_of(self)


def drawn_state_window(seed: int) -> StateWindowCase:
    """A case. Prices and powers are drawn such that two plans hardly ever cost the same."""
    rng = random.Random(f"state window {seed}")

    def some(share: float) -> bool:
        return rng.random() < share

    horizon, slot = rng.randint(3, 9), rng.choice((0.25, 0.5, 1.0, 2.0))
    ends, stretch = some(0.2), some(0.2)
    nodes_at, jobs_at, lookahead = rng.choice(
        ((1, 1, 4), (1, 2, 3), (2, 2, 2), (1, 3, 3), (2, 2, 3), (1, 3, 2), (2, 3, 2))
    )
    jobs = tuple(
        WindowJob(
            arrives=rng.choice((0, 0, 0, 1, 2, 0.5, 1.25, horizon - 1, -1)),
            length=float(rng.randint(1, 4)), due=0, weight=0.0, restart=0.0,
            price=round(rng.choice((2, 8, 30)) * rng.uniform(0.8, 1.2), 4), until=0.0,
            ends=rng.choice((0.25, 0.5, 0.75, 1.0, 1.5)) if ends else 1.0,
            stretch=rng.choice((0.5, 1.0, 1.5, 2.0)) if stretch else 1.0,
        )
        for _ in range(jobs_at)
    )  # fmt: skip
    nodes = tuple(
        WindowNode(
            pace=rng.choice((1.0, 1.0, 2.0, 0.5)), power=round(rng.uniform(0.6, 1.6), 4), idle=0.0, boot=0.0,
            rent=0.0, mtbf=slot * rng.choice((1, 1.5, 2, 3, 2.25)),
        )
        for _ in range(nodes_at)
    )  # fmt: skip
    commit = rng.randint(1, lookahead)
    calendar = rng.choice(CALENDARS) if some(0.7) else None
    triggers: tuple[str, ...] | None = tuple(e for e in ("arrival", "completion", "failure", "recovery") if some(0.5))
    every = rng.randint(1, commit) if some(0.5) or not triggers else 0
    clocks = None
    if calendar and some(0.4):
        days = rng.choice((("weekdays",), ("weekends",), (), tuple(rng.sample(DAYS, 3))))
        clocks = (tuple(rng.sample(("0:00", "2:30", "3:00", "9:00", "18:45", "23:30"), 3)), days)
    if not every and not clocks and some(0.2):
        triggers = None
    peaks = [name for name in PEAKS if name != "last" or commit == 1]
    kinds = ("start", "resume", "migration", "halt", "boot")
    outages = some(0.25)
    return StateWindowCase(
        seed, jobs, nodes,
        power=tuple(round(rng.uniform(1.0, 5.0), 4) for _ in jobs), teams=tuple(rng.choice(TEAMS) for _ in jobs),
        slot=slot, basic=tuple(round(rng.uniform(0.1, 3.0), 4) for _ in range(horizon)),
        lookahead=lookahead, commit=commit, every=every, triggers=triggers, clocks=clocks, calendar=calendar,
        tariff=rng.choice(tuple(TARIFFS)) if calendar else "basic", peak=rng.choice(peaks),
        usage=rng.choice(("energy", "nodes", "day")) if calendar else rng.choice(("energy", "nodes")),
        share=rng.choice(tuple(SHARES)), half=rng.choice((0.5, 2.0)), month=rng.randint(2, 5),
        start=(rng.choice((0.0, 2.5)), rng.choice((0.0, 3.0)), rng.choice((0.0, 1.0))),
        demand=round(rng.uniform(1, 6), 3) if some(0.6) else 0.0,
        climb=round(rng.uniform(0.2, 2), 3) if some(0.4) else 0.0,
        rise=rng.choice((6.125, 9.125)) if some(0.3) else 0.0,
        budget=round(rng.uniform(4, 20), 3) * slot if some(0.4) else 0.0,
        restarts=round(rng.uniform(0.5, 3), 3) if some(0.4) else 0.0,
        guaranteed=slot * rng.randint(1, 3) if some(0.3) and not outages else 0.0,
        outages=outages, repair=slot * rng.choice((0.5, 1, 1.5, 2)), ends=ends, stretch=stretch,
        delays={k: slot * rng.choice((0.25, 0.5, 1)) for k in kinds if k != "halt" and some(0.1)},
        costs={k: float(rng.randint(1, 4)) for k in kinds if some(0.1)},
        charges=tuple(name for name in CHARGES if some(0.6)) or ("energy",),
    )  # fmt: skip


def text_of(case: StateWindowCase) -> str:
    """The case in the language."""
    terms = [
        "energy: sum[h in Slots] tariff[h] * slot * load[h];",
        "later: sum[j in Jobs] price[j] * (1 + 0.1 * had[team[j]]) * left[j];",
    ]
    declared, rows = [], []
    if case.demand:
        declared.append("var over in kW >= 0;")
        terms.append(f"peak: {case.demand!r}[$/kW] * over;")
        rows.append("constraint peaks[h in Slots]: over >= load[h] - top;")
    if case.climb:
        declared.append("var climbs[Slots] in kW >= 0;")
        terms.append(f"climbing: sum[h in Slots] {case.climb!r}[$/kW] * climbs[h];")
        rows.append("constraint climbed[h in Slots]: climbs[h] >= load[h] - (load[h-1] else last_load);")
    if case.rise:
        rows.append(f"constraint rise[h in Slots]: load[h] - (load[h-1] else last_load) <= {case.rise!r}[kW];")
    if case.budget:
        declared.append("var excess in kWh >= 0;")
        terms.append("beyond: 50[$/kWh] * excess;")
        rows.append(f"constraint in_budget: used + (sum[h in Slots] slot * load[h]) <= {case.budget!r}[kWh] + excess;")
    if case.restarts:
        declared.append("var starts[Jobs, Slots] >= 0;")
        terms.append(f"restarting: sum[j in Jobs, h in Slots] {case.restarts!r}[$] * (1 + restarts[j]) * starts[j, h];")
        rows.append(
            "constraint started[j in Jobs, h in Slots]: starts[j, h] >= active[j, h] - (active[j, h-1] else was[j]);"
        )
    if case.guaranteed:
        rows.append(
            f"constraint guaranteed[j in Jobs where since[j] > 0[h] and since[j] < {case.guaranteed!r}[h]"
            " and work[j] > 0.000001[epoch]]: sum[k in Nodes] train[j, k, first(Slots)] == 1;"
        )
    jobs = "  ".join(
        f"j{i} {j.arrives!r} {j.length!r} {j.price!r} {case.power[i]!r} {case.teams[i]} {j.ends!r} {j.stretch!r}"
        for i, j in enumerate(case.jobs)
    )
    nodes = "  ".join(f"n{i} {n.pace!r} {n.power!r} {n.mtbf!r}" for i, n in enumerate(case.nodes))
    calendar = ""
    if case.calendar:
        date, zone = case.calendar
        days = ", ".join(f'"{day}"' for day in HOLIDAYS)
        calendar = f'calendar from "{date}" in "{zone}" holidays {{ {days} }};'
    top, used, had = case.start
    lines = "\n  ".join(_lines(case))
    return f"""
model Net {{
  set Jobs;  set Nodes;  set Teams;  set Slots ordered;  param number[Slots];
  param arrives[Jobs];  param length[Jobs] in epoch > 0;  param price[Jobs] in $/epoch;  param power[Jobs] in kW;
  param team[Jobs] within Teams;  param ends[Jobs] default 1;  param stretch[Jobs] default 1;
  param pace[Nodes] in epoch;  param draw[Nodes];  param mtbf[Nodes] in h;
  param slot in h;  param basic[Slots] in $/kWh;  param tariff[h in Slots] in $/kWh = {TARIFFS[case.tariff]};
  param work[j in Jobs] in epoch >= 0 default length[j];
  param top in kW default {top!r}[kW];  param used in kWh default {used!r}[kWh];  param had[Teams] default {had!r};
  param last_load in kW default 0[kW];  param was[Jobs] default 0;  param restarts[Jobs] default 0;
  param since[Jobs] in h default 0[h];
  var train[Jobs, Nodes, Slots] binary;  var left[Jobs] in epoch >= 0;  {"  ".join(declared)}
  let load[h in Slots] in kW = sum[j in Jobs, k in Nodes] power[j] * draw[k] * train[j, k, h];
  let active[j in Jobs, h in Slots] = sum[k in Nodes] train[j, k, h];
  minimize cost in $ {{
    {"  ".join(terms)}
  }}
  constraint enough[j in Jobs]: (sum[k in Nodes, h in Slots] pace[k] * train[j, k, h]) + left[j] >= work[j];
  constraint fits[k in Nodes, h in Slots]: sum[j in Jobs] train[j, k, h] <= 1;
  constraint one_place[j in Jobs, h in Slots]: sum[k in Nodes] train[j, k, h] <= 1;
  {"  ".join(rows)}
  placement train[j, k, h] {{ job j;  node k;  slot h;  lasts slot;  uses 1 of 1; }}
}}
online Block for Net {{
  {lines}
}}
scenario S for Net {{
  {calendar}
  slot = {case.slot!r}[h];  Teams = {{ {", ".join(TEAMS)} }};
  table Jobs: arrives length[epoch] price[$/epoch] power[kW] team ends stretch = {jobs};
  table Nodes: pace[epoch] draw mtbf[h] = {nodes};
  table Slots: number basic[$/kWh] = {"  ".join(f"{h} {h} {price!r}" for h, price in enumerate(case.basic))};
}}
"""


def _lines(case: StateWindowCase) -> list[str]:
    lines = ["arrive j in Jobs at arrives[j];", f"window h in Slots lookahead {case.lookahead} commit {case.commit};"]
    if case.triggers is not None:
        asked = [*case.triggers, *([f"every {case.every} slots"] if case.every else [])]
        lines += [f"replan on {', '.join(asked)};"] if asked else []
    if case.clocks:
        times, days = case.clocks
        lines.append(f"replan at {', '.join(times)}{' on ' if days else ''}{', '.join(days)};")
    lines.append("work length[j];  speed pace[k];  carry work[j] = max(length[j] - done[j], 0[epoch]);")
    values = {"SPAN": str(case.commit), "MONTH": str(case.month), "HALF": f"{case.half!r}[h]"}
    for name, right in (("top", PEAKS[case.peak]), ("used", USES[case.usage]), ("had[t]", SHARES[case.share])):
        for word, value in values.items():
            right = right.replace(word, value)
        lines.append(f"carry {name} = {right};")
    lines.append("carry last_load = load[committed];")
    if case.restarts:
        lines.append("carry was[j] = sum[k in Nodes] train[j, k, committed];")
        lines.append(
            "carry restarts[j] = previous(restarts[j])"
            " + max(0, previous(was[j]) - sum[k in Nodes] train[j, k, committed]);"
        )
    if case.guaranteed:
        lines.append(
            "carry since[j] = if sum[k in Nodes] train[j, k, committed] > 0.5"
            " then previous(since[j]) + elapsed else 0[h];"
        )
    lines += ["ends at ends[j] * length[j];"] if case.ends else []
    lines += ["stretch stretch[j];"] if case.stretch else []
    for kind in sorted({*case.delays, *case.costs}):
        delay = f" delay {case.delays[kind]!r}[h]" if kind in case.delays else ""
        costs = f" costs {case.costs[kind]!r}[$]" if kind in case.costs else ""
        lines.append(f"on {kind}{delay}{costs};")
    lines += [f"outage k in Nodes every mtbf[k] lasting {case.repair!r}[h];"] if case.outages else []
    return [*lines, *(f"charge {CHARGES[name]}" for name in case.charges)]


def smaller_state_window(case: StateWindowCase) -> list[StateWindowCase]:
    """Cases with less in them, for finding the smallest that fails."""
    found = []
    for at in range(len(case.jobs)) if case.jobs[1:] else ():
        jobs, power, teams = (parts[:at] + parts[at + 1 :] for parts in (case.jobs, case.power, case.teams))
        found.append(replace(case, jobs=jobs, power=power, teams=teams))
    found += [replace(case, nodes=(node,)) for node in case.nodes if case.nodes[1:]]
    if case.horizon > 2:
        found.append(replace(case, basic=case.basic[:-1]))
    for name, less in (
        ("demand", 0.0), ("climb", 0.0), ("rise", 0.0), ("budget", 0.0), ("restarts", 0.0), ("guaranteed", 0.0),
        ("outages", False), ("ends", False), ("stretch", False), ("tariff", "basic"), ("delays", {}), ("costs", {}),
        ("clocks", None), ("usage", "energy"), ("share", "sum"), ("peak", "executed"), ("start", (0.0, 0.0, 0.0)),
    ):  # fmt: skip
        if getattr(case, name) != less and (name != "clocks" or case.every or case.triggers):
            found.append(replace(case, **{name: less}))
    found += [replace(case, charges=tuple(c for c in case.charges if c != name)) for name in case.charges[1:]]
    if case.calendar and not case.clocks and case.tariff == "basic" and case.usage != "day":
        found.append(replace(case, calendar=None))
    return found
