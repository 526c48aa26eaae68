"""`python -m benchmarks.scale [CASE ...]`: measures how far models reach, prints a table, draws docs/images/growth.svg.

The last figures of each case are kept in benchmarks/results/scale; `--kept` prints those instead of measuring, so that
cases can be run one at a time. Exit code 1 when a run failed, or, with --strict, when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.machine import describe
from benchmarks.measure import RESULTS, ROOT, Measured, Sample, measure
from benchmarks.registry import Case
from benchmarks.scale.cases import CASES
from benchmarks.scale.chart import draw
from benchmarks.scale.growth import points
from benchmarks.scale.table import scale_table

KEPT = RESULTS / "scale"
CHART = ROOT / "docs" / "images" / "growth.svg"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"some of: {', '.join(c.name for c in CASES)}")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each arm, at most (default 3)")
    parser.add_argument("--kept", action="store_true", help="measure nothing, show the figures that were kept")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a target is missed")
    options = parser.parse_args()
    names = {case.name: case for case in CASES}
    for name in options.cases:
        if name not in names:
            parser.error(f"no case `{name}`; there are: {', '.join(names)}")
    chosen = [names[name] for name in options.cases] or list(CASES)

    failed = False
    if not options.kept:
        for case in chosen:
            try:
                keep(case, measure(case, options.rounds, slow=True, say=_progress))
            except subprocess.CalledProcessError as error:
                failed = True
                print(f"FAILED        {case.name}: {' '.join(error.cmd[1:])} ended with {error.returncode}")
    found = [(case, *kept) for case in chosen if (kept := load_kept(case)) is not None]
    print(", ".join(f"{name} {fact}" for name, fact in describe().items()))
    text, missed = scale_table(found)
    print(f"\n{text}")
    for case, measured, _ in found:
        if case.name == "growth":
            CHART.parent.mkdir(parents=True, exist_ok=True)
            CHART.write_text(draw(points(measured)), encoding="utf-8")
    return 1 if failed or (missed and options.strict) else 0


def keep(case: Case, measured: list[Measured], folder: Path = KEPT) -> None:
    """Write the samples of a case, with the machine and how busy it was."""
    folder.mkdir(parents=True, exist_ok=True)
    about: dict[str, Any] = {
        "case": case.name,
        "machine": describe(),
        "when": time.strftime("%Y-%m-%d %H:%M:%S"),
        "load": round(os.getloadavg()[1], 1) if hasattr(os, "getloadavg") else None,
        "arms": [asdict(one) for one in measured],
    }
    (folder / f"{case.name}.json").write_text(json.dumps(about, indent=1), encoding="utf-8")


def load_kept(case: Case, folder: Path = KEPT) -> tuple[list[Measured], str] | None:
    """The samples last kept of the arms of a case, and a note on how busy the machine was; None without any."""
    path = folder / f"{case.name}.json"
    if not path.is_file():
        return None
    about = json.loads(path.read_text(encoding="utf-8"))
    kept = {one["arm"]["name"]: one for one in about["arms"]}
    measured = []
    for arm in case.arms:
        one = kept.get(arm.name)
        samples = [Sample(**sample) for sample in one["samples"]] if one is not None else []
        skipped = "not measured" if one is None else one["skipped"]
        measured.append(Measured(arm, samples, skipped))
    return measured, "" if about["load"] is None else f"{about['load']:g}"


def _progress(line: str) -> None:
    """One line a run, since runs are long; nothing where the output goes to a file."""
    if sys.stderr.isatty():
        print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
