"""Comparisons of commits that were kept (`python -m benchmarks.commits BASE --keep`), and the page that shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
RESULTS, PAGE = FOLDER / "kept", FOLDER / "README.md"
HEAD = """# History of the benchmarks

CPU seconds with imports and peak memory of our own arms by two commits, in turns in one run, as `make compare-commits`
prints them. Ratios below 1 mean that the later commit needs less; only figures of one comparison can be compared,
since machines differ.
`python -m benchmarks.commits BASE --keep` adds a comparison and renders this page again.
"""


def keep(comparison: dict[str, Any]) -> Path:
    """Store a comparison (`date`, `before`, `now`, `machine`, `rows`) under its commits, and render the page."""
    RESULTS.mkdir(exist_ok=True)
    place = RESULTS / f"{comparison['date']}_{comparison['before']}_{comparison['now']}.json"
    place.write_text(json.dumps(comparison, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(rendered(), encoding="utf-8")
    return place


def rendered() -> str:
    """The page: the stored comparisons, the latest first."""
    kept = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(RESULTS.glob("*.json"), reverse=True)]
    return HEAD + "".join(_section(one) for one in kept)


def _section(one: dict[str, Any]) -> str:
    machine = ", ".join(f"{name} {value}" for name, value in one["machine"].items() if value != "not installed")
    lines = [
        f"\n## {one['date']}: {one['before']} to {one['now']}\n",
        f"{machine}.\n",
        "| case | arm | CPU s before | now | ratio | without imports | MB before | now | ratio |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(f"| {' | '.join(row)} |" for row in one["rows"]),
    ]
    return "\n".join(lines) + "\n"
