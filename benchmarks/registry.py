"""The cases of the benchmarks, their arms, and the targets of the measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Arm:
    """One way of doing a case: `module.run(folder, lap, *arguments)`, measured `repeats` times at most.

    `needs` names Python modules, or programs written `program:NAME`; without them the arm is skipped, and says so.
    """

    name: str
    module: str
    arguments: tuple[str, ...] = ()
    repeats: int = 5
    needs: tuple[str, ...] = ()
    slow: bool = False


@dataclass(frozen=True)
class Target:
    """`figure` of `arm` is at most `factor` times that of `against`, or at most `limit`.

    Figures: `seconds` (wall, without imports), `peak_mb`, `gap` (a fact; without a plan it is infinite), the name of a
    phase (its wall seconds), or `CPU`, alone or with the name of a phase, which a busy machine disturbs less.
    """

    arm: str
    figure: str = "seconds"
    against: str | None = None
    factor: float = 1.0
    limit: float | None = None


@dataclass(frozen=True)
class Case:
    """Arms that do the same work on the data that `prepare` (module and arguments) writes into a folder.

    `facts`: counts that every arm must report; beyond them the arms' facts must agree with one another.
    `reference`: the arm that ratios are taken against. `rounds` replaces the number of rounds asked for.
    """

    name: str
    title: str
    prepare: tuple[str, ...]
    arms: tuple[Arm, ...]
    reference: str
    facts: Mapping[str, float] = field(default_factory=dict)
    targets: tuple[Target, ...] = ()
    rounds: int | None = None


CAPACITY = Case(
    name="capacity",
    title="40 nodes x 400 jobs as printed: CSV files to a model loaded in HiGHS",
    prepare=("benchmarks.capacity.data", "40", "1"),
    reference="gsdsl",
    facts={"columns": 513_600, "rows": 1_041_601, "nonzeros": 4_114_040, "integers": 512_800},
    arms=(
        Arm("gsdsl", "benchmarks.capacity.by_gsdsl"),
        Arm("NumPy, column by column", "benchmarks.capacity.by_numpy_columns"),
        Arm("NumPy, constraint by constraint", "benchmarks.capacity.by_numpy_rows"),
        Arm("NumPy and SciPy, triplets", "benchmarks.capacity.by_numpy_triplets", needs=("scipy",)),
        Arm("linopy, sparse", "benchmarks.capacity.by_linopy", ("sparse",), needs=("linopy",)),
        Arm("linopy, default", "benchmarks.capacity.by_linopy", ("dense",), needs=("linopy",)),
        Arm("GMPL (glpsol)", "benchmarks.capacity.by_gmpl", repeats=1, needs=("program:glpsol",), slow=True),
        Arm("Pyomo", "benchmarks.capacity.by_pyomo", repeats=1, needs=("pyomo",), slow=True),
    ),
    targets=(
        Target("gsdsl", against="linopy, sparse"),
        Target("gsdsl", against="linopy, default"),
        Target("gsdsl", against="NumPy and SciPy, triplets", factor=1.5),
        Target("gsdsl", against="NumPy, constraint by constraint", factor=1.5),
        Target("gsdsl", figure="peak_mb", against="linopy, sparse"),
        Target("gsdsl", figure="peak_mb", against="linopy, default"),
    ),
)

LARGER_CAPACITY = Case(
    name="larger_capacity",
    title="70 nodes x 700 jobs as printed, three times the nonzeros: CSV files to a model loaded in HiGHS",
    prepare=("benchmarks.capacity.data", "70", "1"),
    reference="gsdsl",
    facts={"columns": 1_570_800, "nonzeros": 12_596_570},
    arms=(
        Arm("gsdsl", "benchmarks.capacity.by_gsdsl"),
        Arm("NumPy and SciPy, triplets", "benchmarks.capacity.by_numpy_triplets", needs=("scipy",)),
    ),
    targets=(Target("gsdsl", figure="CPU", against="NumPy and SciPy, triplets", factor=1.5),),
)

CAPACITY_SCIP = Case(
    name="capacity_scip",
    title="the same model loaded in SCIP",
    prepare=("benchmarks.capacity.data", "40", "1"),
    reference="gsdsl",
    arms=(Arm("gsdsl", "benchmarks.capacity.by_gsdsl", ("scip",), repeats=2),),
)


def _natural_targets() -> tuple[Target, ...]:
    """What is written naturally costs little more, in all and in grounding alone."""
    return tuple(
        Target("gsdsl, natural", figure, against="gsdsl, indexed by hand", factor=1.3)
        for figure in ("seconds", "CPU ground")
    )


def _network(name: str, nodes: int, arcs: int, others: tuple[Arm, ...]) -> Case:
    return Case(
        name=name,
        title=f"flow balance over {arcs:,} arcs among {nodes:,} nodes: conditions in `where`, and indexed by hand",
        prepare=("benchmarks.sparse.data", str(nodes), str(arcs)),
        reference="gsdsl, indexed by hand",
        facts={"columns": arcs, "rows": nodes, "nonzeros": 2 * arcs},
        arms=(
            Arm("gsdsl, natural", "benchmarks.sparse.by_gsdsl", ("network_natural",)),
            Arm("gsdsl, over all nodes", "benchmarks.sparse.by_gsdsl", ("network_plain",)),
            Arm("gsdsl, indexed by hand", "benchmarks.sparse.by_gsdsl", ("network_indexed",)),
            *others,
        ),
        targets=_natural_targets(),
    )


NETWORK = _network("network", 2_000, 200_000, ())
SMALL_NETWORK = _network(
    "small_network",
    500,
    50_000,
    (
        Arm("GMPL, natural", "benchmarks.sparse.by_gmpl", ("network_natural",), 1, ("program:glpsol",), slow=True),
        Arm("GMPL, indexed by hand", "benchmarks.sparse.by_gmpl", ("network_indexed",), 1, ("program:glpsol",)),
    ),
)
TRIPLES = Case(
    name="triples",
    title="sums and rows over 250,000 of 8,000,000 triples: a membership in `where`, and over the set itself",
    prepare=("benchmarks.sparse.data",),
    reference="gsdsl, indexed by hand",
    facts={"columns": 250_050, "rows": 250_001, "nonzeros": 750_000},
    arms=(
        Arm("gsdsl, natural", "benchmarks.sparse.by_gsdsl", ("triples_natural",)),
        Arm("gsdsl, indexed by hand", "benchmarks.sparse.by_gsdsl", ("triples_indexed",)),
    ),
    targets=_natural_targets(),
)
WINDOW_FORMS = ("and", "chain", "difference", "slots_first", "ordered", "ordered_slots_first")


def _windows(name: str, jobs: int, slots: int) -> Case:
    return Case(
        name=name,
        title=f"jobs running in a slot, {jobs} jobs x {slots + 1} slots x 4 resources: the ways to write the condition",
        prepare=("benchmarks.windows.data", str(jobs), str(slots)),
        reference="range",
        arms=tuple(Arm(form, "benchmarks.sparse.by_gsdsl", (form,)) for form in ("range", *WINDOW_FORMS)),
        targets=tuple(
            Target(form, figure, against="range", factor=factor)
            for form in WINDOW_FORMS
            for figure, factor in (("CPU", 1.5), ("peak_mb", 1.1))
        ),
    )


WINDOWS = _windows("windows", 200, 300)
LARGE_WINDOWS = _windows("large_windows", 400, 600)
SPEED_PROFILES = Case(
    name="speed_profiles",
    title="the best speed profiles of 400 jobs with exponential laws on three GPU types",
    prepare=("benchmarks.speed_profile.data",),
    reference="gsdsl, all in one call",
    facts={"profiles": 1200},
    arms=(
        Arm("gsdsl, all in one call", "benchmarks.speed_profile.by_gsdsl", ("exponential",)),
        Arm("CVXPY, parameters reused", "benchmarks.speed_profile.by_cvxpy", repeats=2),
    ),
    targets=(Target("gsdsl, all in one call", "CPU solve", against="CVXPY, parameters reused", factor=1 / 200),),
)
MIXED_SPEED_PROFILES = Case(
    name="mixed_speed_profiles",
    title="the same with laws of seven families",
    prepare=("benchmarks.speed_profile.data",),
    reference="gsdsl, all in one call",
    facts={"profiles": 1200},
    arms=(Arm("gsdsl, all in one call", "benchmarks.speed_profile.by_gsdsl", ("mixed",)),),
    targets=(Target("gsdsl, all in one call", "CPU solve", limit=0.05),),
)
STARTUP = Case(
    name="startup",
    title="commands from the start of their process to its end",
    prepare=(),
    reference="bare interpreter",
    arms=(
        Arm("bare interpreter", "benchmarks.startup", ("python",), repeats=10),
        Arm("gsdsl --version", "benchmarks.startup", ("--version",), repeats=10),
        Arm("gsdsl --help", "benchmarks.startup", ("--help",), repeats=10),
        Arm("gsdsl check of one file", "benchmarks.startup", ("check", "tests/tour/speed_profile.gsm"), repeats=10),
        Arm("gsdsl check with data", "benchmarks.startup", ("check", "tests/tour/figure1.gsm"), repeats=10),
        Arm("gsdsl check of the tour", "benchmarks.startup", ("check", "--quiet", "tests/tour/*.gsm"), repeats=10),
    ),
    targets=(Target("gsdsl --help", limit=0.25), Target("gsdsl check of the tour", limit=0.6)),
    rounds=10,
)
PRICE_AWARE = Case(
    name="price_aware",
    title="20 nodes, 96 slots, 30 jobs, 3 services: a day planned to a gap of 1 % by HiGHS, nodes counted by type",
    prepare=(),
    reference="gsdsl",
    arms=(Arm("gsdsl", "benchmarks.price_aware.by_gsdsl", ("DayByType",), repeats=2, slow=True),),
    targets=(Target("gsdsl", figure="CPU solve", limit=60.0),),
)

REFORMULATION = Case(
    name="reformulation",
    title="20 nodes, 96 slots, 30 jobs, 3 services with the formulas as printed: grounding, and making it linear",
    prepare=(),
    reference="grounding",
    arms=(
        Arm("grounding", "benchmarks.reformulation.by_gsdsl", ("grounding",)),
        Arm("passes", "benchmarks.reformulation.by_gsdsl", ("passes",)),
    ),
    targets=(Target("passes", "CPU work", against="grounding"),),
)

SHARING = Case(
    name="sharing",
    title="10 nodes of 8 GPUs, 20 jobs that may share GPUs: proved optimal by HiGHS, and built as printed",
    prepare=(),
    reference="gsdsl",
    arms=(
        Arm("gsdsl", "benchmarks.sharing.by_gsdsl", ("Sharing10x20Matching", "optimum"), repeats=3),
        Arm("gsdsl, with big M", "benchmarks.sharing.by_gsdsl", ("BigM", "optimum"), repeats=1, slow=True),
        Arm("gsdsl, as printed, built only", "benchmarks.sharing.by_gsdsl", ("Sharing10x20Printed", "size")),
    ),
    targets=(
        Target("gsdsl", figure="CPU solve", limit=15.0),
        Target("gsdsl", figure="CPU solve", against="gsdsl, with big M", factor=1 / 3),
    ),
)

RESOLVE = Case(
    name="resolve",
    title="40 nodes x 400 jobs, nodes counted: ten times a job arrives and one completes, proved to 0.01 %",
    prepare=("benchmarks.resolve.data", "40", "1", "10"),
    reference="gsdsl, from scratch",
    facts={"decisions": 11},
    arms=(
        Arm("gsdsl, from scratch", "benchmarks.resolve.by_gsdsl", ("scratch",)),
        Arm("gsdsl, re-solving", "benchmarks.resolve.by_gsdsl", ("incremental",)),
    ),
    targets=(Target("gsdsl, re-solving", "CPU solve again", against="gsdsl, from scratch", factor=1 / 8),),
)

STS = Case(
    name="sts",
    title="stochastic scheduler: one decision on 100 nodes and 400 jobs that may share GPUs, from memory to the plan",
    prepare=("benchmarks.sharing.data", "100", "400", "1"),
    reference="gsdsl",
    arms=(
        Arm("gsdsl", "benchmarks.sts.by_gsdsl", repeats=3),
        Arm("Python, job by job", "benchmarks.sts.by_python", repeats=3),
    ),
    # Three steps each.
    targets=(
        Target("gsdsl", figure="CPU 3 steps", limit=3 * 0.25),
        Target("gsdsl", figure="CPU 3 steps", against="Python, job by job"),
    ),
)
GREEDY = Case(
    name="greedy",
    title="100 nodes x 1,000 jobs x nine VM types: 20 decisions of the greedy method, ranking included",
    prepare=("benchmarks.capacity.data", "100", "1"),
    reference="gsdsl",
    arms=(
        Arm("gsdsl", "benchmarks.greedy.by_gsdsl", ("passes", "20")),
        Arm("the same functions in plain Python", "benchmarks.greedy.by_python", ("passes", "20"), repeats=1),
    ),
    targets=(
        Target("gsdsl", "CPU work", limit=20 * 0.004),
        Target("gsdsl", "CPU work", against="the same functions in plain Python", factor=1 / 50),
    ),
)
GREEDY_DRAWN = Case(
    name="greedy_drawn",
    title="the same instance: one decision of the randomised greedy method, 1,000 drawn passes",
    prepare=("benchmarks.capacity.data", "100", "1"),
    reference="gsdsl",
    arms=(
        Arm("gsdsl", "benchmarks.greedy.by_gsdsl", ("drawn", "1000")),
        Arm("the same functions in plain Python", "benchmarks.greedy.by_python", ("drawn", "1000"), 1, slow=True),
    ),
    targets=(Target("gsdsl", "CPU work", limit=3.0),),
)
REPLAY = Case(
    name="replay",
    title="50,000 jobs of a trace through a strict queue for 384 GPUs, from CSV to the end of every job",
    prepare=("benchmarks.replay.data",),
    reference="gsdsl",
    facts={"finished": 50_000},
    arms=(
        Arm("gsdsl", "benchmarks.replay.by_gsdsl", ("FIFO", "interpreted")),
        Arm("gsdsl, compiled", "benchmarks.replay.by_gsdsl", ("FIFO", "compiled"), repeats=3),
        Arm("gsdsl run, the whole command", "benchmarks.replay.by_command", ("FIFO",), repeats=3),
        Arm("Python, this queue by hand", "benchmarks.replay.by_python", repeats=3),
        Arm("Numba, this queue by hand", "benchmarks.replay.by_numba", repeats=3),
        Arm("simpy", "benchmarks.replay.by_simpy", repeats=3, needs=("simpy",)),
        Arm("AccaSim", "benchmarks.replay.by_accasim", repeats=1, needs=("accasim",), slow=True),
    ),
    targets=(
        Target("gsdsl", figure="CPU", limit=50_000 / 5_000),
        Target("gsdsl", figure="peak_mb", limit=150.0),
        Target("gsdsl run, the whole command", figure="peak_mb", limit=200.0),
        Target("gsdsl", figure="CPU", against="simpy"),
        Target("gsdsl", figure="CPU", against="AccaSim"),
    ),
)
REPLAY_LARGE = Case(
    name="replay_large",
    title="500,000 jobs of a trace through a strict queue for 384 GPUs",
    prepare=("benchmarks.replay.data", "500000"),
    reference="gsdsl run, the whole command",
    facts={"finished": 500_000},
    arms=(
        Arm("Python, this queue by hand", "benchmarks.replay.by_python", repeats=3),
        Arm("Numba, this queue by hand", "benchmarks.replay.by_numba", repeats=3),
        Arm("gsdsl run, the whole command", "benchmarks.replay.by_command", ("FIFO",), repeats=3),
    ),
    targets=(
        Target("gsdsl run, the whole command", figure="CPU", against="Python, this queue by hand", factor=6.0),
        Target("gsdsl run, the whole command", figure="peak_mb", limit=700.0),
    ),
)
ONLINE = Case(
    name="online",
    title="100 nodes, 400 jobs there at once: 120 events of a run over time, a plan for each",
    prepare=("benchmarks.online.data", "100", "40"),
    reference="Greedy",
    facts={"plans": 120},
    arms=(
        Arm("Greedy", "benchmarks.online.by_gsdsl", ("Greedy", "120", "380"), repeats=3),
        Arm("FIFO", "benchmarks.online.by_gsdsl", ("FIFO", "120", "380"), repeats=3),
    ),
    # `loop` is all but the instances and the plans.
    targets=(
        Target("Greedy", "CPU loop", limit=120 * 0.002),
        Target("FIFO", "CPU loop", limit=120 * 0.002),
    ),
)
LARGE_ONLINE = Case(
    name="large_online",
    title="1,000 nodes, 4,500 jobs there at once: 120 events of a run over time, a plan for each",
    prepare=("benchmarks.online.data", "1000", "4000"),
    reference="FIFO",
    facts={"plans": 120},
    arms=(Arm("FIFO", "benchmarks.online.by_gsdsl", ("FIFO", "120", "4000"), repeats=3),),
    targets=(Target("FIFO", "CPU loop", limit=120 * 0.0025), Target("FIFO", "CPU build", limit=120 * 0.0025)),
)

CASES = (
    CAPACITY,
    LARGER_CAPACITY,
    CAPACITY_SCIP,
    NETWORK,
    SMALL_NETWORK,
    TRIPLES,
    WINDOWS,
    LARGE_WINDOWS,
    SPEED_PROFILES,
    MIXED_SPEED_PROFILES,
    STARTUP,
    PRICE_AWARE,
    REFORMULATION,
    SHARING,
    RESOLVE,
    STS,
    GREEDY,
    GREEDY_DRAWN,
    REPLAY,
    REPLAY_LARGE,
    ONLINE,
    LARGE_ONLINE,
)
