"""`python docs/images/building.py`: draw building.svg, the chart of performance.md, from its first table."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

HERE = Path(__file__).parent
PAGE = HERE.parent / "reference" / "performance.md"
SHOWN = {  # the arm in the table, and its label in the chart
    "gsdsl": "gsdsl",
    "NumPy and SciPy, triplets": "NumPy and SciPy, by hand",
    "linopy, sparse": "linopy",
    "GMPL (glpsol), an earlier run": "GMPL",
    "Pyomo, an earlier run": "Pyomo",
}
OURS, OTHERS = "#2a6f97", "#b8c4cc"


def main() -> int:
    (HERE / "building.svg").write_text(draw(), encoding="utf-8")
    return 0


def figures() -> dict[str, tuple[float, float]]:
    """Seconds and megabytes of each shown arm in the first table, in the order of the chart.

    Raises KeyError for an arm without a row.
    """
    section = PAGE.read_text(encoding="utf-8").split("## A large model", 1)[1].split("The hand-written arms", 1)[0]
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in section.split("\n") if "|" in line]
    table = {row[0]: (float(row[1]), float(row[5])) for row in rows if re.fullmatch(r"[\d.]+", row[1])}
    return {label: table[arm] for arm, label in SHOWN.items()}


def draw() -> str:
    """The chart as SVG, equal for equal figures."""
    shown = figures()
    settings: Any = {
        "svg.hashsalt": "building",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans", "Arial"],
        "font.size": 9.0,
    }
    with matplotlib.rc_context(settings):
        chart = Figure(figsize=(8.4, 2.1), layout="constrained")
        for axes, at, title in zip(
            chart.subplots(1, 2, sharey=True), (0, 1), ("seconds", "peak memory, MB"), strict=True
        ):
            numbers = [each[at] for each in shown.values()]
            bars = axes.barh(list(shown), numbers, color=[OURS if name == "gsdsl" else OTHERS for name in shown])
            axes.bar_label(bars, [f"{number:.3g}" if at == 0 else f"{number:,.0f}" for number in numbers], padding=3)
            axes.set_title(title, fontsize=9.0, loc="left")
            axes.set_xlim(0, 1.15 * max(numbers))
            axes.set_xticks([])
            axes.tick_params(left=False)
            axes.spines[:].set_visible(False)
        axes.invert_yaxis()  # the axes share it
        written = io.StringIO()
        chart.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return re.sub(r"[ \t]+\n", "\n", written.getvalue())


if __name__ == "__main__":
    sys.exit(main())
