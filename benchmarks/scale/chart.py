"""Draws growth as an SVG file: seconds and memory over nodes, both axes logarithmic, for light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape

from benchmarks.scale.growth import Growth, Line

WIDTH, HEIGHT = 880, 380
TOP, BOTTOM = 52, 46
PANEL_WIDTH = 360
LEFTS = (60, 500)
LABEL_GAP = 15  # px between the labels of two lines

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600 }
  .grid { stroke: #d0d7de; stroke-width: 1 }
  .line { fill: none; stroke-width: 2 }
  .blue { stroke: #0969da } .blue-dot { fill: #0969da }
  .orange { stroke: #bc4c00 } .orange-dot { fill: #bc4c00 }
  .grey { stroke: #6e7781; stroke-dasharray: 5 4 } .grey-dot { fill: #6e7781 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .grid { stroke: #3d444d }
    .blue { stroke: #58a6ff } .blue-dot { fill: #58a6ff }
    .orange { stroke: #f0883e } .orange-dot { fill: #f0883e }
    .grey { stroke: #9198a1 } .grey-dot { fill: #9198a1 }
  }
"""


@dataclass(frozen=True)
class Curve:
    label: str
    colour: str
    line: Line


@dataclass(frozen=True)
class Scale:
    """Numbers from `low` to `high` as pixels from `start` to `end`, by their logarithm."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)


def draw(growth: Growth) -> str:
    """The SVG text: CPU seconds on the left, peak memory on the right."""
    seconds = [
        Curve("build", "blue", growth.build),
        Curve("solve", "orange", growth.solve),
        Curve("ground all elements", "grey", growth.whole_build),
    ]
    memory = [Curve("plan", "blue", growth.memory), Curve("ground all elements", "grey", growth.whole_memory)]
    parts = [_panel(LEFTS[0], "CPU seconds", seconds), _panel(LEFTS[1], "peak memory, MB", memory)]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
    head += 'aria-label="Time and memory over the number of nodes">'
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>", ""])


def _panel(left: float, title: str, curves: Sequence[Curve]) -> str:
    shown = [curve for curve in curves if curve.line]
    if not shown:
        return ""
    nodes = sorted({x for curve in shown for x, _ in curve.line})
    values = [max(y, 1e-3) for curve in shown for _, y in curve.line]
    low, high = (10.0 ** f(math.log10(v)) for f, v in ((math.floor, min(values)), (math.ceil, max(values))))
    x = Scale(nodes[0], max(nodes[-1], 2 * nodes[0]), left, left + PANEL_WIDTH - 120)
    y = Scale(low, high if high > low else 10 * low, HEIGHT - BOTTOM, TOP)
    right, bottom = left + PANEL_WIDTH - 120, HEIGHT - BOTTOM
    out = [_text(left, 28, title, extra=' class="title"')]
    for power in range(round(math.log10(y.low)), round(math.log10(y.high)) + 1):
        at = y.at(10.0**power)
        out.append(f'<line class="grid" x1="{left:g}" x2="{right:g}" y1="{at:.1f}" y2="{at:.1f}"/>')
        out.append(_text(left - 8, at + 4, f"{10.0**power:,g}", "end"))
    for value in nodes:
        out.append(f'<line class="grid" x1="{x.at(value):.1f}" x2="{x.at(value):.1f}" y1="{TOP}" y2="{bottom}"/>')
        out.append(_text(x.at(value), bottom + 18, f"{value:g}", "middle"))
    out.append(_text((left + right) / 2, bottom + 36, "nodes, with ten jobs each", "middle"))
    last = [curve for curve in shown if curve.line[-1][0] == nodes[-1]]
    heights = _spread([y.at(max(curve.line[-1][1], 1e-3)) for curve in last])
    beside = {curve.label: height for curve, height in zip(last, heights, strict=True)}
    for curve in shown:
        dots = [(x.at(a), y.at(max(b, 1e-3))) for a, b in curve.line]
        out.append(f'<polyline class="line {curve.colour}" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in dots)}"/>')
        out += [f'<circle class="{curve.colour}-dot" cx="{a:.1f}" cy="{b:.1f}" r="3"/>' for a, b in dots]
        if curve.label in beside:
            out.append(_text(dots[-1][0] + 8, beside[curve.label] + 4, curve.label))
        else:  # it ends amid the others: above its end
            out.append(_text(dots[-1][0] - 4, dots[-1][1] - 8, curve.label, "end"))
    return "\n".join(out)


def _spread(heights: Sequence[float]) -> list[float]:
    """The heights of labels, moved down where they would cover one another."""
    moved = list(heights)
    order = sorted(range(len(moved)), key=moved.__getitem__)
    for above, below in pairwise(order):
        moved[below] = max(moved[below], moved[above] + LABEL_GAP)
    return moved


def _text(x: float, y: float, words: str, anchor: str = "start", extra: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(words)}</text>'
