"""The cases of scale: capacity planning, GPU sharing, a week with prices, re-solving, and growth with the cluster.

Seconds are judged as CPU seconds of the process without imports, from the text to the checked plan, which a busy
machine disturbs less than wall seconds. The time limit of a solve is three times the target, in wall seconds, so that
what a case that misses it would have needed is known too.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.registry import RESOLVE, Arm, Case, Target

BY_GSDSL = "benchmarks.scale.by_gsdsl"
SEEDS = (1, 2, 3)
SHARING_SEEDS = range(1, 11)
PATIENCE = 3  # time limit over target
WHOLE_LIMIT = 60  # s
WHOLE_MEMORY = 3  # GiB
GROWTH = (10, 20, 40, 100, 400)  # nodes


def _within(arm: str, seconds: float, gap: float, megabytes: float | None = None) -> tuple[Target, ...]:
    targets = [Target(arm, "gap", limit=gap), Target(arm, "CPU", limit=seconds)]
    return (*targets, Target(arm, "peak_mb", limit=megabytes)) if megabytes is not None else tuple(targets)


def _plan(name: str, file: str, scenario: str, seconds: float, gap: float, memory: float = 8, repeats: int = 1) -> Arm:
    options = (f"gap={gap:g}", f"limit={PATIENCE * seconds:g}", f"memory={memory:g}")
    return Arm(name, BY_GSDSL, ("plan", file, scenario, *options), repeats)


def _capacity(
    nodes: int,
    seconds: float,
    gap: float = 1e-4,
    memory: float = 8,
    megabytes: float | None = None,
    repeats: int = 1,
    seeds: Sequence[int] = SEEDS,
) -> Case:
    folders = {f"seed {seed}": f"{nodes}x{seed}" for seed in seeds}
    return Case(
        name=f"capacity_{nodes}",
        title=f"capacity planning as printed, {nodes:,} nodes x {10 * nodes:,} jobs",
        prepare=("benchmarks.scale.data", *folders.values()),
        reference="seed 1",
        arms=tuple(
            _plan(name, f"{folder}/synthetic.gsm", "Synthetic", seconds, gap, memory, repeats)
            for name, folder in folders.items()
        ),
        targets=tuple(target for name in folders for target in _within(name, seconds, gap, megabytes)),
    )


WHOLE = Case(
    name="capacity_whole",
    title=f"the same with nothing aggregated or tightened, within {WHOLE_LIMIT} s",
    prepare=("benchmarks.scale.data", "10x1", "40x1"),
    reference="10 nodes x 100 jobs",
    arms=tuple(
        Arm(
            f"{nodes} nodes x {10 * nodes} jobs",
            BY_GSDSL,
            ("plan without passes", f"{nodes}x1/synthetic.gsm", "Synthetic", f"limit={WHOLE_LIMIT}"),
            repeats=1,
        )
        for nodes in (10, 40)
    ),
)

SHARING = Case(
    name="sharing_20x60",
    title="GPU sharing, 20 nodes x 60 jobs",
    prepare=("benchmarks.sharing.data", "20", "60", *map(str, SHARING_SEEDS)),
    reference="seed 1",
    arms=tuple(_plan(f"seed {seed}", f"seed{seed}/sharing.gsm", "Sharing", 60, 0.01) for seed in SHARING_SEEDS),
    targets=tuple(target for seed in SHARING_SEEDS for target in _within(f"seed {seed}", 60, 0.01)),
)


def _week(percent: int, seconds: float, gap: float, *, exclusive: bool = False) -> Case:
    """Nodes counted by type; services share a node, or (`exclusive`) one has it at a time."""
    return Case(
        name=f"week_{percent}_exclusive" if exclusive else f"week_{percent}",
        title=f"a week with prices, 160 nodes, 672 slots, 280 jobs with {percent} % slack"
        + (", one service at a time on a node" if exclusive else ""),
        prepare=("benchmarks.price_aware.week", "--slack", f"{percent / 100:g}"),
        reference="by type",
        arms=(_plan("by type", "week.gsm", "WeekExclusive" if exclusive else "Week", seconds, gap),),
        targets=_within("by type", seconds, gap, 8192),
    )


def _growth() -> Case:
    arms = []
    for nodes in GROWTH:
        file = f"{nodes}x1/synthetic.gsm"
        arms.append(Arm(f"{nodes} nodes, plan", BY_GSDSL, ("plan", file, "Synthetic", "limit=300"), repeats=1))
        whole = ("ground", file, "Synthetic", f"memory={WHOLE_MEMORY}")
        arms.append(Arm(f"{nodes} nodes, all elements grounded", BY_GSDSL, whole, repeats=1))
    return Case(
        name="growth",
        title="capacity planning as printed, ten jobs a node: a plan to 0.01 %, and grounding all elements",
        prepare=("benchmarks.scale.data", *(f"{nodes}x1" for nodes in GROWTH)),
        reference=arms[0].name,
        arms=tuple(arms),
    )


CASES = (
    _capacity(40, 1.5, repeats=3),
    _capacity(100, 4, repeats=3),
    _capacity(400, 20),
    _capacity(1000, 12, gap=1e-3, memory=4, megabytes=1500),
    _capacity(10_000, 30, gap=5e-3, memory=16, megabytes=1536, seeds=(1,)),
    _capacity(100_000, 300, gap=1e-2, memory=16, megabytes=16_384, seeds=(1,)),
    WHOLE,
    SHARING,
    _week(50, 90, 0.009),
    _week(100, 180, 0.01),
    _week(300, 300, 0.02),
    _week(50, 90, 0.009, exclusive=True),
    _week(100, 180, 0.01, exclusive=True),
    _week(300, 300, 0.02, exclusive=True),
    RESOLVE,
    _growth(),
)
