"""Tables of the measurements, their consistency, and the verdict on every target."""

from __future__ import annotations

from benchmarks.fingerprint import differences
from benchmarks.measure import Measured
from benchmarks.registry import Case, Target


def table(header: list[str], rows: list[list[str]]) -> str:
    """First column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = ["  ".join(c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
             for row in [header, *rows]]  # fmt: skip
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


def verdict(target: Target, measured: list[Measured]) -> tuple[bool | None, str]:
    """Whether a target is met (None: not measured), and a line that says so."""
    by_name = {one.arm.name: one for one in measured if one.samples}
    unit = "MB" if target.figure == "peak_mb" else "s"
    if target.against is not None:
        what = f"{target.arm} at most {target.factor:g} x {target.against} ({target.figure})"
    else:
        what = f"{target.arm} at most {target.limit:g} {unit}"
    if target.arm not in by_name or (target.against is not None and target.against not in by_name):
        return None, f"not measured  {what}"
    value = by_name[target.arm].figure(target.figure)
    if target.against is not None:
        other = by_name[target.against].figure(target.figure)
        met, figures = value <= target.factor * other, f"{value / other:.3g} x"
    else:
        assert target.limit is not None
        met, figures = value <= target.limit, f"{value:.3f} {unit}"
    return met, f"{'met' if met else 'MISSED':<12}  {what}: {figures}"
