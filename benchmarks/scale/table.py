"""One table of all cases of scale: the resources and the result of each run, and its target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from benchmarks.measure import Measured, Sample
from benchmarks.registry import Case, Target
from benchmarks.report import judged, table

HEADER = ["", "build s", "CPU", "solve s", "CPU", "objective", "bound", "gap %", "peak MB", "runs", "load", "targets"]
NONE = "-"
Found = tuple[Case, list[Measured], str]


def scale_table(found: Iterable[Found]) -> tuple[str, int]:
    """The table, with the title of every case above its arms, and how many targets were missed.

    Each entry is a case, its samples and how busy the machine was. Of several runs of an arm the one with the least CPU
    time is shown. Building goes from the text to the problem, solving from there to the checked plan.
    """
    titles: dict[int, str] = {}
    rows: list[list[str]] = []
    missed = 0
    for case, measured, load in found:
        titles[len(rows)] = f"{case.name}: {case.title}"
        for one in measured:
            verdicts = [_told(target, measured) for target in case.targets if target.arm == one.arm.name]
            missed += sum(met is False for met, _ in verdicts)
            rows.append([f"  {one.arm.name}", *_figures(one), load, "; ".join(line for _, line in verdicts)])
    header, rule, *lines = table(HEADER, rows, left=(0, len(HEADER) - 1)).split("\n")
    told = [header, rule]
    for number, line in enumerate(lines):
        told += [titles[number]] if number in titles else []
        told.append(line)
    return "\n".join(told), missed


def _figures(one: Measured) -> list[str]:
    """Seconds, what was reached, memory, and the number of runs."""
    if not one.samples:
        return [NONE] * 8 + ["0"]
    best = min(one.samples, key=lambda sample: sample.cpu)
    facts = best.facts
    reached = [_number(facts, "objective"), _number(facts, "bound"), _number(facts, "gap", 100)]
    if facts.get("refused"):
        reached = ["too large", NONE, NONE]
    return [*_seconds(best), *reached, f"{one.figure('peak_mb'):.0f}", str(len(one.samples))]


def _seconds(sample: Sample) -> list[str]:
    """Wall and CPU seconds of building, and of all the rest; a case may know of only one of them."""
    built, cpu_built = built_seconds(sample.phases), built_seconds(sample.cpu_phases)
    rest = [f"{sample.seconds - built:.2f}", f"{sample.cpu - cpu_built:.2f}"]
    if sample.phases.keys() <= {"import", "text", "build"}:
        rest = [NONE, NONE]
    first = [f"{built:.2f}", f"{cpu_built:.2f}"] if built else [NONE, NONE]
    return [*first, *rest]


def built_seconds(phases: Mapping[str, float]) -> float:
    """From the text to the problem."""
    return phases.get("text", 0.0) + phases.get("build", 0.0)


def _number(facts: Mapping[str, float], name: str, factor: float = 1.0) -> str:
    if name not in facts:
        return NONE
    value = factor * facts[name]
    return f"{value:,.2f}" if abs(value) >= 1 else f"{value:.4f}"


def _told(target: Target, measured: list[Measured]) -> tuple[bool | None, str]:
    """Whether a target is met, and a few words that say so."""
    met, value = judged(target, measured)
    if target.against is not None:
        asked, reached = f"{target.factor:.2g} x {target.against}", f"{value:.2f}"
    elif target.figure == "gap":
        asked, reached = f"{100 * (target.limit or 0):g} %", f"{100 * value:.3g}"
    elif target.figure == "peak_mb":
        asked, reached = f"{target.limit:g} MB", f"{value:.0f}"
    else:
        asked, reached = f"{target.limit:g} s", f"{value:.3g}"
    if met is None:
        return None, f"{asked}: not measured"
    return met, f"{asked}: {'reached' if met else 'MISSED'}, {reached}"
