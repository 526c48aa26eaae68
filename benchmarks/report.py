"""Tables of the measurements, their consistency, and the verdict on every target."""

from __future__ import annotations

import math
from collections.abc import Collection

from benchmarks.fingerprint import differences
from benchmarks.measure import Measured
from benchmarks.registry import Case, Target


def table(header: list[str], rows: list[list[str]], left: Collection[int] = (0,)) -> str:
    """The columns numbered in `left` to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [
        "  ".join(c.ljust(w) if i in left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in [header, *rows]
    ]
    lines.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(line.rstrip() for line in lines)


def comparison(case: Case, measured: list[Measured]) -> str:
    """Wall seconds without imports (best, median), CPU seconds, imports, peak memory; ratios to the reference arm."""
    reference = next((m for m in measured if m.arm.name == case.reference and m.samples), None)
    rows = []
    for one in measured:
        if one.skipped is not None:
            rows.append([one.arm.name, *[""] * 7, one.skipped])
            continue
        best = one.best
        ratio = memory = ""
        if reference is not None:
            ratio = f"{best.seconds / reference.best.seconds:.2f}"
            memory = f"{one.figure('peak_mb') / reference.figure('peak_mb'):.2f}"
        rows.append([
            one.arm.name, f"{best.seconds:.3f}", f"{one.median:.3f}", f"{min(s.cpu for s in one.samples):.3f}",
            ratio, f"{min(s.imports for s in one.samples):.3f}", f"{one.figure('peak_mb'):.0f}", memory,
            f"best of {len(one.samples)}",
        ])  # fmt: skip
    header = ["arm", "seconds", "median", "CPU", "ratio", "imports", "peak MB", "ratio", "runs"]
    return table(header, rows)


def phases(measured: list[Measured]) -> str:
    """Where the time of each arm's best run went."""
    rows = [
        [one.arm.name, *(f"{phase} {seconds:.3f}" for phase, seconds in one.best.phases.items())]
        for one in measured
        if one.samples
    ]
    width = max((len(row) for row in rows), default=1)
    return table(["phases of the best run", *[""] * (width - 1)], [row + [""] * (width - len(row)) for row in rows])


def inconsistencies(case: Case, measured: list[Measured]) -> list[str]:
    """Where an arm did not make the stated model, or not the same model as the others."""
    complaints = []
    ran = [one for one in measured if one.samples]
    for one in ran:
        facts = one.samples[0].facts
        for name, expected in case.facts.items():
            if facts.get(name) != expected:
                complaints.append(f"{one.arm.name}: {name} is {facts.get(name)}, not {expected}")
        if facts.keys() == ran[0].samples[0].facts.keys():
            for difference in differences(ran[0].samples[0].facts, facts):
                complaints.append(f"{ran[0].arm.name} and {one.arm.name} differ in {difference}")
    return complaints


def judged(target: Target, measured: list[Measured]) -> tuple[bool | None, float]:
    """Whether a target is met (None: not measured), and the figure, or its ratio to that of the other arm."""
    by_name = {one.arm.name: one for one in measured if one.samples}
    if target.arm not in by_name or (target.against is not None and target.against not in by_name):
        return None, math.nan
    value = by_name[target.arm].figure(target.figure)
    if target.against is not None:
        other = by_name[target.against].figure(target.figure)
        return value <= target.factor * other, value / other
    assert target.limit is not None
    return value <= target.limit, value


def verdict(target: Target, measured: list[Measured]) -> tuple[bool | None, str]:
    """Whether a target is met (None: not measured), and a line that says so."""
    unit = {"peak_mb": "MB", "gap": "(gap)"}.get(target.figure, "s")
    if target.against is not None:
        what = f"{target.arm} at most {target.factor:g} x {target.against} ({target.figure})"
    else:
        what = f"{target.arm} at most {target.limit:g} {unit}"
    met, value = judged(target, measured)
    if met is None:
        return None, f"not measured  {what}"
    figures = f"{value:.3g} x" if target.against is not None else f"{value:.3f} {unit}"
    return met, f"{'met' if met else 'MISSED':<12}  {what}: {figures}"
