"""Random blocks by events whose plans depend on accumulated values and on the clock, as text and as plain numbers."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from net_cases import blocks_of

TEAMS: Final = ("red", "blue")
KINDS: Final = ("k0", "k1")
INDICES: Final = ("", "t", "n", "k", "j", "jk", "tk", "jn")
SETS: Final = {"t": "Teams", "n": "Nodes", "k": "Kinds", "j": "Jobs", "r": "Racks"}
COEFFICIENTS: Final = {"one": "1", "gpus": "gpus[j]", "speed": "gpus[j] * speed[n]", "watts": "watts[j]"}
LEAST: Final = 1.25  # what `excess` and `flag` compare with: no sum of coefficients
FORMS: Final = (
    "sum", "sum", "decay", "decay", "peak", "slice", "since", "last", "reset", "cross", "done", "arrived", "jobs",
    "restarts", "gap",
)  # fmt: skip
CALENDARS: Final = (
    ("2026-03-28 20:00", "Europe/Berlin"),
    ("2026-10-24 21:30", "Europe/Berlin"),
    ("2026-11-01 00:00", "America/New_York"),
    ("2026-03-08 00:30", "America/New_York"),
    ("2026-10-03 22:00", "Australia/Lord_Howe"),
    ("2026-12-24 15:00", "Europe/Berlin"),
    ("2026-02-28 12:15", "+02:00"),
    ("2026-10-30 18:00", "UTC"),
)
HOLIDAYS: Final = ("2026-03-29", "2026-12-25", "2026-11-01")
DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
CLOCK: Final = {  # what the clock says, of a time
    "hour": "(1 + hour_of_day({}) / 1[h])",
    "office": "(if weekday({0}) <= 5 and 9[h] <= hour_of_day({0}) and hour_of_day({0}) < 18[h] then 3 else 1)",
    "holiday": "(if is_holiday({}) then 4 else 1)",
    "day": "day_of_month({})",
    "month": "month({})",
    "weekday": "weekday({})",
}


@dataclass(frozen=True)
class StateJob:
    submitted: float
    length: float
    deadline: float
    weight: float
    gpus: int
    watts: float
    rate: float
    team: str
    ends: float = 1.0
    stretch: float = 1.0


def subscripts(names: Iterable[str]) -> str:
    found = ", ".join(names)
    return f"[{found}]" if found else ""


@dataclass(frozen=True)
class Rate:
    """A function of decisions, for one element of the index of an accumulator."""

    coefficient: str
    shape: str = "plain"  # `excess` over LEAST; `flag`: 1 if it is more
    factor: str = ""  # what the last plan knew: `price`, or a scalar accumulator

    @property
    def unit(self) -> str:
        return "[kW]" if self.coefficient == "watts" else ""

    def text(self, index: str) -> str:
        names = [f"{name} in {SETS[name]}" for name in "jn" if name not in index]
        where = " and ".join(
            condition
            for name, condition in (("t", "team[j] == t"), ("k", "kind[n] == k"), ("r", "rack[n] == r"))
            if name in index
        )
        found = f"{COEFFICIENTS[self.coefficient]} * run[j, n]"
        if names:
            found = f"sum[{', '.join(names)}{' where ' if where else ''}{where}] {found}"
        elif where:
            found = f"(if {where} then {found} else 0{self.unit})"
        if self.shape == "excess":
            return f"max(0{self.unit}, {found} - {LEAST}{self.unit})"
        if self.shape == "flag":
            return f"(if {found} > {LEAST}{self.unit} then 1{self.unit} else 0{self.unit})"
        return f"({found})"

    def with_factor(self, index: str) -> str:
        factor = {"": "", "price": "price * "}.get(self.factor, f"(1 + {self.factor} / 1[h]) * ")
        return factor + self.text(index)


@dataclass(frozen=True)
class Accumulator:
    """`carry name[index] = ...;`, and the value of the scenario."""

    name: str
    index: str
    form: str
    rate: Rate
    start: float
    half: float = 1.0
    hour: float = 12.0
    other: str = ""  # the accumulator that `cross` and `jobs` read
    other_index: str = ""

    @property
    def unit(self) -> str:
        return "kWh" if self.rate.coefficient == "watts" else "h"

    @property
    def reference(self) -> str:
        return self.name + subscripts(self.index)

    @property
    def text(self) -> str:
        last, unit = f"previous({self.reference})", self.unit
        grown, seen = f"executed({self.rate.with_factor(self.index)})", f"{self.rate.text(self.index)} * 1[h]"
        fading = f"executed({self.rate.with_factor(self.index)}, {self.half!r}[h])"
        team = " where team[j] == t" if self.index == "t" else ""
        other = self.other + subscripts(self.other_index)
        right = {
            "sum": f"{last} + {grown}",
            "decay": f"{last} * 0.5 ^ (elapsed / {self.half!r}[h]) + {fading if self.fades else grown}",
            "peak": f"max({last}, {seen})",
            "slice": f"max({last}, {grown})",
            "since": f"if {seen} > 0.5[{unit}] then {last} + elapsed else 0[h]",
            "last": seen,
            "reset": f"if hour_of_day(now) < {self.hour!r}[h] then {self.reference} else {last} + {grown}",
            "cross": f"{last} + previous({other}) * (elapsed / 4[h])",
            "done": f"sum[j in Jobs{team}] gpus[j] * done[j] * 1[h]",
            "arrived": f"{last} + elapsed * sum[j in Jobs{team}] gpus[j]",
            "jobs": f"max({last}, sum[j in Jobs{team}] previous({self.other}[j]))",
            "restarts": f"{last} + 1[h] * max(0, max(previous(was[j]), "
            "if executed(sum[n in Nodes] run[j, n]) > 0[h] then 1 else 0) - running[j])",
            "gap": f"max({last}, elapsed)",
        }[self.form]  # fmt: skip
        return f"carry {self.reference} = {right};"

    @property
    def fades(self) -> bool:
        """Whether what was executed since the last plan decays, too."""
        return self.form == "decay" and self.hour < 12.0

    @property
    def first(self) -> bool:
        """Whether the right-hand side counts at the first plan already."""
        return self.form == "done"

    @property
    def reads_itself(self) -> bool:
        return "previous(" in self.text

    def of_job(self) -> str:
        """The value for a job, as a key of a queue reads it."""
        names = {"t": "team[j]", "j": "j", "k": "k", "n": "m", "r": "r"}
        found = self.name + subscripts(names[i] for i in self.index)
        over = subscripts(f"{names[i]} in {SETS[i]}" for i in self.index if i not in "tj")
        found = f"sum{over} {found}" if over else found
        return found if set(self.index) & set("tj") else f"gpus[j] * {found if over else self.name}"


@dataclass(frozen=True)
class StateCase:
    """One block with its data, times in units of the run's clock, `per_hour` in an hour."""

    seed: int
    jobs: tuple[StateJob, ...]
    kinds: tuple[str, ...]  # by node
    speed: tuple[float, ...]
    rent: tuple[float, ...]
    gpus: int
    fit: str
    stops: bool
    keeps: bool
    accumulators: tuple[Accumulator, ...]
    replans: tuple[str, ...]
    per_hour: int = 1
    every: float = 0.0
    clocks: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()  # times and days of `replan at`
    calendar: tuple[str, str] | None = None
    key: str = "submitted"  # an accumulator, `clock`, or a parameter
    descending: bool = False
    cost: str = ""  # an accumulator that multiplies the rate of a job
    cost_clock: str = ""  # and a function of the clock
    limit: tuple[str, float] = ("", 0.0)  # an accumulator of teams, or of the cluster, that stops jobs
    resting: tuple[str, float] = ("", 0.0)  # an accumulator of nodes that stops jobs on them
    hard: bool = False  # running jobs are stopped too
    shown: tuple[str, ...] = ()  # accumulators that are charged
    clocked: str = ""  # a charge by the clock
    charged: str = ""  # `jobs`, `nodes`
    tariff: tuple[int, ...] = ()
    delays: dict[str, float] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)
    mtbf: tuple[float, ...] = ()
    repair: float = 1.0
    ends: bool = False
    stretch: bool = False
    inherited: frozenset[int] = frozenset()
    laws: frozenset[str] = frozenset()
    outage_times: tuple[tuple[float, ...], ...] = ()
    work: bool = False

    @property
    def text(self) -> str:
        return text_of(self)

    @property
    def unit(self) -> str:
        return {1: "h", 60: "min"}[self.per_hour]

    def change(self, kind: str) -> str:
        """The line of a change of jobs."""
        delay = f" delay {self.delays[kind]!r}[{self.unit}]" if kind in self.delays else ""
        costs = f" costs {self.costs[kind]!r}[$]" if kind in self.costs else ""
        return f"on {kind}{delay}{costs};"

    def named(self, name: str) -> Accumulator:
        return next(a for a in self.accumulators if a.name == name)


def drawn_state(seed: int) -> StateCase:
    """A case; most lines of a block are there with some probability."""
    rng = random.Random(f"state {seed}")

    def some(share: float) -> bool:
        return rng.random() < share

    per_hour = rng.choice((1, 1, 60))
    grid = rng.choice((1.0, 0.5, 0.25)) * per_hour
    gpus = rng.choice((1, 2, 4))
    ends, stretch = some(0.2), some(0.2)
    jobs = tuple(
        StateJob(
            submitted=rng.randint(0, 16) * grid,
            length=rng.randint(1, 9) * grid,
            deadline=rng.randint(1, 20) * grid,
            weight=float(rng.choice((0, 0, 1, 2))) / per_hour,
            gpus=rng.randint(1, gpus),
            watts=float(rng.randint(1, 5)),
            rate=float(rng.randint(1, 5)) / per_hour,
            team=rng.choice(TEAMS),
            ends=round(rng.uniform(0.4, 1.6), 2) if ends else 1.0,
            stretch=round(rng.uniform(0.5, 2.0), 2) if stretch else 1.0,
        )
        for _ in range(rng.randint(1, 7))
    )
    nodes = rng.randint(1, 3)
    calendar = rng.choice(CALENDARS) if some(0.7) else None
    accumulators = _accumulators(rng, calendar is not None)
    names = [a.name for a in accumulators]
    outages = some(0.3)
    replans = tuple(e for e in ("arrival", "completion", "failure", "recovery") if some(0.8))
    clocks = _clocks(rng) if calendar is not None and some(0.4) else ()
    every = rng.choice((1, 2, 3)) * grid if some(0.35) or not (replans or clocks) else 0.0
    if "completion" not in replans or (outages and "recovery" not in replans):
        every = every or 2 * grid
    by_team = [a.name for a in accumulators if a.index in ("", "t")]
    by_node = [a.name for a in accumulators if a.index == "n"]
    kinds = ("start", "resume", "migration", "halt", "boot")
    keeps = some(0.5)
    case = StateCase(
        seed, jobs,
        kinds=tuple(rng.choice(KINDS) for _ in range(nodes)),
        speed=tuple(rng.choice((0.5, 1.0, 2.0)) for _ in range(nodes)),
        rent=tuple(float(rng.randint(1, 4)) / per_hour for _ in range(nodes)),
        gpus=gpus, fit=rng.choice(("best_fit", "first_fit")), stops=some(0.4), keeps=keeps,
        accumulators=accumulators, replans=replans, per_hour=per_hour, every=every, clocks=clocks, calendar=calendar,
        key=rng.choice((*names, *names, "submitted", *(("clock",) if calendar else ()))), descending=some(0.4),
        cost=rng.choice(("", *names)), cost_clock=rng.choice(("", *CLOCK)) if calendar else "",
        limit=(rng.choice(by_team), rng.randint(1, 12) + 0.375) if by_team and some(0.4) else ("", 0.0),
        resting=(rng.choice(by_node), rng.randint(1, 12) + 0.375) if by_node and some(0.4) else ("", 0.0),
        hard=not keeps and some(0.5),
        shown=tuple(name for name in names if some(0.5)),
        clocked=rng.choice(("", *CLOCK)) if calendar else "", charged=rng.choice(("", "jobs", "nodes")),
        tariff=tuple(rng.randint(0, 9) for _ in range(60)),
        delays={k: rng.randint(1, 3) * grid / 2 for k in kinds if k != "halt" and some(0.15)},
        costs={k: float(rng.randint(1, 4)) for k in kinds if some(0.15)},
        mtbf=tuple(round(rng.uniform(2.0, 15.0), 2) * 4 * grid for _ in range(nodes)) if outages else (),
        repair=rng.randint(1, 5) * grid, ends=ends, stretch=stretch,
        inherited=frozenset(k for k in range(24) if some(0.5)) if some(0.2) else frozenset(),
    )  # fmt: skip
    return calmed(case) if some(0.2) else case


def calmed(case: StateCase) -> StateCase:
    """The case without most of what keeps a run from fast replay."""
    return replace(
        case, keeps=True, replans=("arrival", "completion"), every=0.0, clocks=(), delays={}, costs={}, mtbf=(),
        shown=(), clocked="", charged="", cost="", cost_clock="", limit=("", 0.0), resting=("", 0.0), ends=False,
        stretch=False, hard=False, key="submitted",
    )  # fmt: skip


def _accumulators(rng: random.Random, dated: bool) -> tuple[Accumulator, ...]:
    found: list[Accumulator] = []
    scalars: list[str] = []
    shapes = [(f"a{i}", rng.choice(INDICES)) for i in range(rng.randint(1, 4))]
    for name, index in shapes:
        form = rng.choice(FORMS)
        coefficient = rng.choice(list(COEFFICIENTS))
        others = [(other, i) for other, i in shapes if other != name and set(i) <= set(index)]
        of_jobs = [other for other, i in shapes if i == "j" and other != name]
        if (form == "reset" and not dated) or (form == "cross" and not others):
            form = "sum"
        if (form in ("done", "arrived", "jobs") and index not in ("", "t")) or (form == "jobs" and not of_jobs):
            form = "peak"
        if form == "restarts" and index != "j":
            form = "decay"
        if form in ("since", "cross", "done", "arrived", "jobs", "restarts", "gap") and coefficient == "watts":
            coefficient = "gpus"
        other, other_index = rng.choice(others) if form == "cross" else ("", "")
        other = rng.choice(of_jobs) if form == "jobs" else other
        rate = Rate(
            coefficient, rng.choice(("plain", "plain", "excess", "flag")), rng.choice(("", "", "price", *scalars))
        )
        found.append(
            Accumulator(name, index, form, rate, float(rng.choice((0, 0, 0, 2))), rng.choice((0.5, 2.0, 6.0)),
                        rng.choice((3.0, 12.0)), other, other_index)
        )  # fmt: skip
        if index == "" and coefficient != "watts":
            scalars.append(name)
    return _in_hours(tuple(found))


def _in_hours(found: tuple[Accumulator, ...]) -> tuple[Accumulator, ...]:
    """What others read counts in hours, as they do."""
    read = {a.other for a in found} | {a.rate.factor for a in found}
    return tuple(
        replace(a, rate=replace(a.rate, coefficient="gpus")) if a.name in read and a.rate.coefficient == "watts" else a
        for a in found
    )


def _clocks(rng: random.Random) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    days = rng.choice((("weekdays",), ("weekends",), (), tuple(sorted(rng.sample(DAYS, 3), key=DAYS.index))))
    times = sorted(rng.sample(("0:00", "2:00", "2:15", "2:30", "3:00", "9:00", "18:45", "23:30"), rng.randint(1, 3)))
    times.sort(key=lambda time: int(time.replace(":", "")))
    return ((tuple(times), days),)


def text_of(case: StateCase) -> str:
    """The case in the language."""
    u = case.unit
    nodes = [f"n{n}" for n in range(len(case.kinds))]
    jobs = "  ".join(
        f"j{i} {j.submitted!r} {j.length!r} {j.deadline!r} {j.weight!r} {j.gpus} {j.watts!r} {j.rate!r} {j.team} "
        f"{j.ends!r} {j.stretch!r}"
        for i, j in enumerate(case.jobs)
    )
    table = "  ".join(
        f"{name} {kind} {speed!r} {rent!r} {(case.mtbf[n] if case.mtbf else 1.0)!r}"
        for n, (name, kind, speed, rent) in enumerate(zip(nodes, case.kinds, case.speed, case.rent, strict=True))
    )
    place = f"{case.fit}, new_node, {'wait' if case.stops else 'postpone'}"
    return f"""
model Net {{
  set Jobs;  set Nodes;  set Teams;  set Kinds;  set Hours = 0..59;
  param submitted[Jobs] in {u};  param length[Jobs] in {u} > 0;  param deadline[Jobs] in {u};
  param weight[Jobs] in $/{u};  param gpus[Jobs] integer;  param watts[Jobs] in kW;  param rate[Jobs] in $/{u};
  param team[Jobs] within Teams;  param ends[Jobs] default 1;  param stretch[Jobs] default 1;
  param kind[Nodes] within Kinds;  param speed[Nodes];  param rent[Nodes] in $/{u};  param mtbf[Nodes] in {u};
  param remaining[Jobs] > 0 <= 1 default 1;  param ran[Jobs] default 0;  param was[Jobs] default 0;
  param tariff[Hours];  param price default 1;  param clock in {u} default 0[{u}];
  {declared_of(case)}
  var run[Jobs, Nodes] binary;
  minimize cost in $: sum[j in Jobs, n in Nodes] 1[$] * run[j, n];
  constraint room[n in Nodes]: sum[j in Jobs] gpus[j] * run[j, n] <= {case.gpus};
  {"  ".join(rows_of(case))}
  placement run[j, n] {{
    job j;  node n;  uses gpus[j] of {case.gpus};  lasts remaining[j] * length[j];
    costs rate[j]{factor_of(case)};  due deadline[j] - clock;  weight weight[j];  node_price rent[n];
  }}
}}
policy Queue for Net {{
  order j in Jobs by {key_of(case)}{" descending" if case.descending else ""}, submitted[j];
  place {place};{"  keep running;" if case.keeps else ""}
}}
{blocks_of(lines_of(case), case.inherited, {})}
scenario S for Net {{
  {calendar_of(case)}
  Teams = {{ {", ".join(TEAMS)} }};  Kinds = {{ {", ".join(KINDS)} }};
  table Nodes: kind speed rent[$/{u}] mtbf[{u}] = {table};
  table Jobs: submitted[{u}] length[{u}] deadline[{u}] weight[$/{u}] gpus watts[kW] rate[$/{u}] team ends stretch =
    {jobs};
  table Hours: tariff = {"  ".join(f"{h} {price}" for h, price in enumerate(case.tariff))};
}}
"""


def declared_of(case: StateCase) -> str:
    """The parameters that accumulate."""
    return "\n  ".join(
        f"param {a.name}{subscripts(SETS[i] for i in a.index)} in {a.unit} default {a.start!r}[{a.unit}];"
        for a in case.accumulators
    )


def factor_of(case: StateCase) -> str:
    """What multiplies the rate of a job."""
    factor = ""
    if case.cost:
        a = case.named(case.cost)
        factor += f" * (1 + ({a.of_job()}) / 1[{a.unit}])"
    if case.cost_clock:
        factor += " * " + CLOCK[case.cost_clock].format("clock")
    return factor


def calendar_of(case: StateCase) -> str:
    if not case.calendar:
        return ""
    date, zone = case.calendar
    days = ", ".join(f'"{day}"' for day in HOLIDAYS)
    return f'calendar from "{date}" in "{zone}" holidays {{ {days} }};'


def key_of(case: StateCase) -> str:
    if case.key == "clock":
        return "(if hour_of_day(now) < 12[h] then 1 else 0 - 1) * weekday(now) * gpus[j]"
    return "submitted[j]" if case.key == "submitted" else case.named(case.key).of_job()


def rows_of(case: StateCase) -> list[str]:
    rows, stopped = list[str](), "" if case.hard else " and ran[j] == 0"
    if case.limit[0]:
        a = case.named(case.limit[0])
        rows.append(
            f"constraint budget[t in Teams where {a.reference} >= {case.limit[1]!r}[{a.unit}]]: "
            f"sum[j in Jobs, n in Nodes where team[j] == t{stopped}] run[j, n] <= 0;"
        )
    if case.resting[0]:
        a = case.named(case.resting[0])
        rows.append(
            f"constraint rest[n in Nodes where {a.reference} >= {case.resting[1]!r}[{a.unit}]]: "
            f"sum[j in Jobs{' where ran[j] == 0' if stopped else ''}] run[j, n] <= 0;"
        )
    return rows


def lines_of(case: StateCase) -> list[str]:
    u = case.unit
    triggers = [*case.replans, *([f"every {case.every!r}[{u}]"] if case.every else [])]
    lines = ["arrive j in Jobs at submitted[j];"]
    lines += [f"replan on {', '.join(triggers)};"] if triggers else []
    for times, days in case.clocks:
        lines.append(f"replan at {', '.join(times)}{' on ' if days else ''}{', '.join(days)};")
    lines += ["carry remaining[j] = remaining[j];", "carry clock = now;", "carry ran[j] = running[j];"]
    lines.append("carry price = sum[h in Hours where h == floor(now / 1[h])] tariff[h];")
    lines += [a.text for a in case.accumulators]
    if any(a.form == "restarts" for a in case.accumulators):
        lines.append("carry was[j] = running[j];")
    lines += ["ends at ends[j];"] if case.ends else []
    lines += ["stretch stretch[j];"] if case.stretch else []
    lines += [case.change(kind) for kind in sorted({*case.delays, *case.costs})]
    lines += [f"outage n in Nodes every mtbf[n] lasting {case.repair!r}[{u}];"] if case.mtbf else []
    for name in case.shown:
        a = case.named(name)
        inside = subscripts(f"{i} in {SETS[i]}" for i in a.index)
        over = subscripts(f"{i} in {SETS[i]}" for i in "jn" if i not in a.index)
        runs = f" * {f'sum{over} ' if over else ''}run[j, n]" if set(a.index) & set("jn") else ""
        lines.append(f"charge of_{name}{inside} in $/h = 1[$/h/{a.unit}] * {a.reference}{runs};")
    if case.clocked:
        lines.append(
            f"charge clocked[j in Jobs] in $/h = 1[$/kWh] * watts[j] * {CLOCK[case.clocked].format('clock')} * "
            "sum[n in Nodes] run[j, n];"
        )
    lines += [f"charge {case.charged};"] if case.charged else []
    return lines


def with_rate(case: StateCase, one: Accumulator, rate: Rate) -> StateCase:
    found = (replace(a, rate=rate) if a == one else a for a in case.accumulators)
    return replace(case, accumulators=tuple(found))


def smaller_state(case: StateCase) -> list[StateCase]:
    """Cases with less in them, for finding the smallest that fails."""
    found = [replace(case, jobs=case.jobs[:at] + case.jobs[at + 1 :]) for at in range(len(case.jobs)) if case.jobs[1:]]
    used = {case.key, case.cost, case.limit[0], case.resting[0], *case.shown}
    used |= {a.other for a in case.accumulators} | {a.rate.factor for a in case.accumulators}
    found += [
        replace(case, accumulators=tuple(a for a in case.accumulators if a != b))
        for b in case.accumulators
        if b.name not in used
    ]
    found += [
        with_rate(case, b, replace(b.rate, **{what: less}))
        for b in case.accumulators
        for what, less in (("factor", ""), ("shape", "plain"))
        if getattr(b.rate, what) != less
    ]  # fmt: skip
    found += [replace(case, shown=tuple(s for s in case.shown if s != name)) for name in case.shown]
    found += [replace(case, delays={k: v for k, v in case.delays.items() if k != kind}) for kind in case.delays]
    found += [replace(case, costs={k: v for k, v in case.costs.items() if k != kind}) for kind in case.costs]
    for name, less in (
        ("mtbf", ()), ("clocks", ()), ("ends", False), ("stretch", False), ("inherited", frozenset()), ("clocked", ""),
        ("cost", ""), ("cost_clock", ""), ("charged", ""), ("key", "submitted"), ("limit", ("", 0.0)),
        ("resting", ("", 0.0)), ("descending", False), ("every", 0.0), ("stops", False),
        ("keeps", True), ("hard", False),
    ):  # fmt: skip
        if getattr(case, name) != less and not (name == "keeps" and case.hard):
            if name in ("every", "clocks") and "completion" not in case.replans:
                continue
            found.append(replace(case, **{name: less}))
    if len(case.kinds) > 1:
        found.append(
            replace(case, kinds=case.kinds[:-1], speed=case.speed[:-1], rent=case.rent[:-1], mtbf=case.mtbf[:-1])
        )
    return found
