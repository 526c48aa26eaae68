"""Random online blocks with random data: as text for the engine, and as plain numbers for a simulator of its own."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

HOURS = 60  # of the tariff; later hours have no entry, and the price is 0 there

FACTORS = {  # what multiplies the rate of a job, by name
    "constant": "1",
    "tariff": "price",
    "clock": "(1 + clock / 1[h])",
    "left": "(1 + remaining[j])",
    "ran": "(1 + ran[j])",
    "there": "count(Jobs)",
}
KEYS = {
    "submitted": "submitted[j]",
    "left": "left[j], submitted[j]",
    "deadline": "deadline[j]",
    "weight": "weight[j] descending, submitted[j]",
    "needs": "needs[j] descending",
    "age": "now - submitted[j]",
    "remaining": "remaining[j] descending, weight[j]",
}
CARRIES = {
    "remaining": "carry remaining[j] = remaining[j];",
    "price": "carry price = sum[h in Hours where h == floor(now / 1[h])] tariff[h];",
    "clock": "carry clock = now;",
    "deadline": "carry deadline[j] = deadline[j] - now;",
    "ran": "carry ran[j] = running[j];",
}


@dataclass(frozen=True)
class Job:
    submitted: float
    length: float
    deadline: float
    weight: float
    needs: int
    rate: float
    ends: float  # of its work, which is 1
    stretch: float


@dataclass(frozen=True)
class Case:
    """One block with its data. `mtbf` and `repair` by node, empty without outages; `every` 0: no period."""

    seed: int
    jobs: tuple[Job, ...]
    nodes: int
    gpus: int
    exclusive: bool
    fit: str
    stops: bool  # `wait`: nobody overtakes
    keeps: bool
    key: str
    factor: str
    due: str  # `stated`: deadline[j]; `clock`: deadline[j] - clock
    carries: frozenset[str]
    replans: tuple[str, ...]
    every: float = 0.0
    delays: dict[str, float] = field(default_factory=dict)  # by kind of change
    costs: dict[str, float] = field(default_factory=dict)
    tariff: tuple[int, ...] = ()
    mtbf: tuple[float, ...] = ()
    repair: float = 1.0
    fee: float = 0.0  # by job and hour, beside or in place of the rates
    charges_jobs: bool = True
    lamp: float = 0.0  # by node in use and hour, and for several in use: by variables that policies leave open
    ends: bool = False
    stretch: bool = False
    work: bool = False  # work and speed are stated, in hours
    laws: frozenset[str] = frozenset()  # what is drawn: `ends`, `stretch`, `outages`
    outage_times: tuple[tuple[float, ...], ...] = ()  # by node, as they were drawn
    inherited: frozenset[int] = frozenset()  # the lines of the block, by number, that come from a block it extends

    @property
    def text(self) -> str:
        return text_of(self)


def drawn(seed: int) -> Case:
    """A case; most lines of a block are there with some probability."""
    rng = random.Random(seed)
    grid = rng.choice([1.0, 0.5, 0.25, 0.1])

    def some(share: float) -> bool:
        return rng.random() < share

    keeps, exclusive = some(0.7), some(0.5)
    if not keeps:
        exclusive = True  # which of several plans of the same jobs is taken is not stated elsewhere
    gpus = 1 if exclusive else rng.choice([2, 4])
    ends, stretch = some(0.3), some(0.3)
    jobs = tuple(
        Job(
            submitted=round(rng.randint(0, 12) * grid, 9),
            length=round(rng.randint(1, 9) * grid, 9),
            deadline=round(rng.randint(1, 20) * grid, 9),
            weight=float(rng.randint(0, 3)),
            needs=1 if exclusive else rng.randint(1, gpus),
            rate=float(rng.randint(1, 5)),
            ends=round(rng.uniform(0.4, 1.6), 2) if ends else 1.0,
            stretch=round(rng.uniform(0.5, 2.0), 2) if stretch else 1.0,
        )
        for _ in range(rng.randint(1, 7))
    )
    nodes = rng.randint(1, 3)
    outages = keeps and some(0.3)
    kinds = ("start", "resume", "halt", *(("boot",) if keeps else ()))
    replans = tuple(e for e in ("arrival", "completion", "failure", "recovery") if some(0.9))
    every = round(rng.choice([1, 2, 3]) * grid, 9) if some(0.4) or not replans else 0.0
    if "completion" not in replans or "recovery" not in replans:
        every = every or 2 * grid
    carries = frozenset(name for name in CARRIES if some(0.9 if name == "remaining" else 0.5))
    if every:
        carries |= {"remaining"}  # else a job begins anew with every period, and may never end
    case = Case(
        seed, jobs, nodes, gpus, exclusive,
        fit=rng.choice(["best_fit", "first_fit"]), stops=some(0.5), keeps=keeps, key=rng.choice(list(KEYS)),
        factor=rng.choice(["constant", *FACTORS]), due=rng.choice(["stated", "clock"]), carries=carries,
        replans=replans, every=every,
        delays={k: round(rng.randint(1, 3) * grid, 9) for k in kinds if k != "halt" and some(0.15)},
        costs={k: float(rng.randint(1, 4)) for k in kinds if some(0.15)},
        tariff=tuple(rng.randint(0, 9) for _ in range(HOURS)),
        mtbf=tuple(round(rng.uniform(2.0, 15.0) * 4 * grid, 2) for _ in range(nodes)) if outages else (),
        repair=round(rng.randint(1, 5) * grid, 9),
        fee=float(rng.choice([0, 0, 0, 2])), charges_jobs=some(0.7), ends=ends, stretch=stretch, work=some(0.2),
    )  # fmt: skip
    case = calmed(case, rng) if some(0.4) else case
    more = random.Random(f"more {seed}")  # the draws above stay what they were
    if more.random() < 0.3:
        case = replace(case, inherited=frozenset(k for k in range(20) if more.random() < 0.5))
    stated = {"ends": case.ends, "stretch": case.stretch, "outages": bool(case.mtbf)}
    case = replace(case, laws=frozenset(name for name, there in stated.items() if there and more.random() < 0.5))
    return replace(case, lamp=3.0) if case.fee and more.random() < 0.5 else case


def calmed(case: Case, rng: random.Random) -> Case:
    """The case without most of what keeps a run from fast replay; the rest is drawn."""
    carries = case.carries | {"remaining"} if rng.random() < 0.9 else case.carries
    return replace(
        case, keeps=True, replans=("arrival", "completion"), carries=carries, delays={}, costs={}, mtbf=(), fee=0.0,
        ends=False, stretch=False, work=False, every=case.every if "remaining" in carries else 0.0,
        factor=case.factor if rng.random() < 0.3 else "constant", key=case.key if rng.random() < 0.3 else "submitted",
    )  # fmt: skip


ENDS_LAW = (0.4, 1.6)  # of the work
STRETCH_LAW = (
    "mixture({ (uniform(0.5, 1), 0.5), (truncate(lognormal(median = 1, sigma = 0.5), low = 0.5, high = 2), 0.5) })"
)


def _goal(laws: frozenset[str], work: str) -> str:
    low, high = ENDS_LAW
    return f"random goal[j in Jobs] ~ uniform({low} * {work}, {high} * {work});" if "ends" in laws else ""


def _lasting(repair: float) -> str:
    return f"uniform({repair / 2!r}[h], {repair * 2!r}[h])"


LAMPS = """  var several binary;  var lamp[Nodes] binary;
  constraint lit[j in Jobs, n in Nodes]: run[j, n] <= lamp[n];
  constraint many[n in Nodes, m in Nodes where n != m]: lamp[n] + lamp[m] <= 1 + several;"""
LIGHT = " + 1[$] * several + 1[$] * sum[n in Nodes] lamp[n]"


def text_of(case: Case) -> str:
    """The case in the language."""
    keys = KEYS[case.key]
    place = ("new_node exclusive" if case.exclusive else f"{case.fit}, new_node") + (
        ", wait" if case.stops else ", postpone"
    )
    triggers = [*case.replans, *([f"every {case.every!r}[h]"] if case.every else [])]
    lines = [f"arrive j in Jobs at submitted[j];  replan on {', '.join(triggers)};"]
    lines += [CARRIES[name] for name in sorted(case.carries)]
    if case.work:
        lines.append("work length[j] / 1[h];  speed 1[1/h];")
    if case.ends and "ends" in case.laws:
        lines.append("ends at goal[j];")
    elif case.ends:
        lines.append("ends at ends[j] * length[j] / 1[h];" if case.work else "ends at ends[j];")
    if case.stretch:
        lines.append(f"stretch {STRETCH_LAW};" if "stretch" in case.laws else "stretch stretch[j];")
    for kind in sorted({*case.delays, *case.costs}):
        delay = f" delay {case.delays[kind]!r}[h]" if kind in case.delays else ""
        costs = f" costs {case.costs[kind]!r}[$]" if kind in case.costs else ""
        lines.append(f"on {kind}{delay}{costs};")
    if case.mtbf and "outages" in case.laws:
        lines.append(f"outage n in Nodes every exponential(mean = mtbf[n]) lasting {_lasting(case.repair)};")
    elif case.mtbf:
        lines.append(f"outage n in Nodes every mtbf[n] lasting {case.repair!r}[h];")
    if case.fee:
        lines.append(f"charge extra[j in Jobs] in $/h = {case.fee!r}[$/h] * sum[n in Nodes] run[j, n];")
        if case.charges_jobs:
            lines.append("charge jobs;")
        if case.lamp:
            lines.append(f"charge lamps[n in Nodes] in $/h = {case.lamp!r}[$/h] * lamp[n];")
            lines.append(f"charge several in $/h = {case.lamp!r}[$/h] * several;")
    rows = "  ".join(
        f"j{i} {j.submitted!r} {j.length!r} {j.deadline!r} {j.weight!r} {j.needs} {j.rate!r} {j.ends!r} {j.stretch!r}"
        for i, j in enumerate(case.jobs)
    )
    hours = "  ".join(f"{h} {price}" for h, price in enumerate(case.tariff))
    mtbf = "  ".join(f"n{n} {t!r}" for n, t in enumerate(case.mtbf))
    blocks = blocks_of(lines, case.inherited)
    return f"""
model Net {{
  set Jobs;  set Nodes{"" if case.mtbf else " identical"};  set Hours = 0..{HOURS - 1};
  param submitted[Jobs] in h;  param length[Jobs] in h > 0;  param deadline[Jobs] in h;
  param weight[Jobs] in $/h;  param needs[Jobs] integer;  param rate[Jobs] in $/h;
  param ends[Jobs] default 1;  param stretch[Jobs] default 1;{"  param mtbf[Nodes] in h;" if case.mtbf else ""}
  param remaining[Jobs] > 0 <= 1 default 1;  param ran[Jobs] default 0;
  param tariff[Hours];  param price default 1;  param clock in h default 0[h];
  param left[j in Jobs] in h = remaining[j] * length[j];
  {_goal(case.laws, "length[j] / 1[h]" if case.work else "1")}
  var run[Jobs, Nodes] binary;{LAMPS if case.lamp else ""}
  minimize cost in $: sum[j in Jobs, n in Nodes] rate[j] * left[j] * run[j, n]{LIGHT if case.lamp else ""};
  constraint room[n in Nodes]: sum[j in Jobs] needs[j] * run[j, n] <= {case.gpus};
  placement run[j, n] {{
    job j;  node n;  uses needs[j] of {case.gpus};  lasts left[j];
    costs {FACTORS[case.factor]} * rate[j] in $/h;
    due {"deadline[j]" if case.due == "stated" else "deadline[j] - clock"};  weight weight[j];
  }}
}}
policy Queue for Net {{
  order j in Jobs by {keys};  place {place};{"  keep running;" if case.keeps else ""}
}}
{blocks}
scenario S for Net {{
  Nodes = {{ {", ".join(f"n{n}" for n in range(case.nodes))} }};
  table Jobs: submitted[h] length[h] deadline[h] weight[$/h] needs rate[$/h] ends stretch = {rows};
  table Hours: tariff = {hours};
  {f"table Nodes: mtbf[h] = {mtbf};" if case.mtbf else ""}
}}
"""


DECOYS = {  # lines of the extended block that the own block states otherwise
    "arrive": "arrive j in Jobs at submitted[j] + 1[h];  replan on every 7[h];",
    "carry remaining": "carry remaining[j] = 0.5;",
    "carry price": "carry price = 13;",
    "carry clock": "carry clock = 2 * now;",
    "carry deadline": "carry deadline[j] = deadline[j] + 3 * now;",
    "carry ran": "carry ran[j] = 1 - running[j];",
    "stretch": "stretch 3;",
    "ends": "ends at 0.1;",
    "on start": "on start delay 5[h] costs 50[$];",
    "on resume": "on resume delay 5[h] costs 50[$];",
    "on boot": "on boot delay 5[h] costs 50[$];",
    "on halt": "on halt costs 50[$];",
    "charge several": "charge several in $/h = 77[$/h];",
    "charge extra": "charge extra[j in Jobs] in $/h = 77[$/h] * sum[n in Nodes] run[j, n];",
}


def blocks_of(lines: list[str], inherited: frozenset[int], decoys: dict[str, str] = DECOYS) -> str:
    """One block of these lines, or one that extends another with some of the lines and wrong values for others."""
    if not inherited:
        return "online Block for Net {\n  " + "\n  ".join(lines) + "\n}"
    own = [line for k, line in enumerate(lines) if k not in inherited]
    base = [line for k, line in enumerate(lines) if k in inherited]
    for line in own:
        base += [decoy for start, decoy in decoys.items() if line.startswith(start)]
    if not any(line.startswith("arrive") for line in base):
        base.insert(0, lines[0])
    parts = ["online Base for Net {", *base, "}", "online Block for Net extends Base {", *own, "}"]
    return "\n  ".join(parts).replace("\n  }", "\n}").replace("\n  online", "\nonline")


def smaller(case: Case) -> list[Case]:
    """Cases with less in them, for finding the smallest that fails."""
    found = [replace(case, jobs=case.jobs[:at] + case.jobs[at + 1 :]) for at in range(len(case.jobs)) if case.jobs[1:]]
    found += [replace(case, carries=case.carries - {name}) for name in sorted(case.carries)]
    found += [replace(case, delays={k: v for k, v in case.delays.items() if k != kind}) for kind in case.delays]
    found += [replace(case, costs={k: v for k, v in case.costs.items() if k != kind}) for kind in case.costs]
    if case.laws:
        found.append(replace(case, laws=frozenset()))
    if case.mtbf:
        found.append(replace(case, mtbf=()))
    if case.fee:
        found.append(replace(case, fee=0.0))
    for name in ("ends", "stretch", "work"):
        if getattr(case, name):
            found.append(replace(case, **{name: False}))
    if case.factor != "constant":
        found.append(replace(case, factor="constant"))
    if case.key != "submitted":
        found.append(replace(case, key="submitted"))
    if case.every and len(case.replans) > 1:
        found.append(replace(case, every=0.0))
    if case.inherited:
        found.append(replace(case, inherited=frozenset()))
    if case.nodes > 1:
        found.append(replace(case, nodes=case.nodes - 1, mtbf=case.mtbf[:-1]))
    return found
