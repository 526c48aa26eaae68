"""The data of the growth chart: seconds and memory by the number of nodes, from the samples of the case `growth`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.measure import Measured
from benchmarks.scale.table import built_seconds

Line = list[tuple[float, float]]


@dataclass(frozen=True)
class Growth:
    """Points (nodes, CPU seconds) or (nodes, MB); a size that was refused or not measured has none."""

    build: Line
    solve: Line
    memory: Line
    whole_build: Line
    whole_memory: Line


def points(measured: Sequence[Measured]) -> Growth:
    """From arms `N nodes, plan` and `N nodes, all elements grounded`."""
    growth = Growth([], [], [], [], [])
    for one in measured:
        ran = [sample for sample in one.samples if not sample.facts.get("refused")]
        if not ran:
            continue
        best = min(ran, key=lambda sample: sample.cpu)
        nodes, what = one.arm.name.split(" nodes, ")
        at, built = float(nodes), built_seconds(best.cpu_phases)
        if what == "plan":
            growth.build.append((at, built))
            growth.solve.append((at, best.cpu - built))
            growth.memory.append((at, best.peak_mb))
        else:
            growth.whole_build.append((at, built))
            growth.whole_memory.append((at, best.peak_mb))
    return growth
