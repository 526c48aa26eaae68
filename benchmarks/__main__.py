"""`python -m benchmarks [CASE ...]`: measures, prints tables and verdicts, writes benchmarks/results/*.json.

Exit code 1 when arms disagree about the model they built, or, with --strict, when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict

from benchmarks import report
from benchmarks.machine import describe
from benchmarks.measure import RESULTS, measure
from benchmarks.registry import CASES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"some of: {', '.join(c.name for c in CASES)}")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each arm, at most (default 5)")
    parser.add_argument("--fast", action="store_true", help="leave out the arms that take many seconds a run")
    parser.add_argument("--strict", action="store_true", help="exit 1 when a target is missed")
    options = parser.parse_args()
    names = {case.name: case for case in CASES}
    for name in options.cases:
        if name not in names:
            parser.error(f"no case `{name}`; there are: {', '.join(names)}")

    machine = describe()
    print(", ".join(f"{name} {fact}" for name, fact in machine.items()))
    results, wrong, missed = [], 0, 0
    for case in [names[name] for name in options.cases] or CASES:
        print(f"\n== {case.name}: {case.title}\n")
        measured = measure(case, options.rounds, not options.fast, say=_progress)
        print(report.comparison(case, measured))
        print(f"\nseconds: wall, without imports; ratios to {case.reference}")
        print()
        print(report.phases(measured))
        print()
        complaints = report.inconsistencies(case, measured)
        for complaint in complaints:
            print(f"WRONG         {complaint}")
        wrong += len(complaints)
        for target in case.targets:
            met, line = report.verdict(target, measured)
            missed += met is False
            print(line)
        results.append({"case": case.name, "arms": [asdict(one) for one in measured]})

    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    path.write_text(json.dumps({"machine": machine, "results": results}, indent=1), encoding="utf-8")
    return 1 if wrong or (missed and options.strict) else 0


def _progress(line: str) -> None:
    """One line on the terminal that the next one replaces; nothing where the output goes to a file."""
    if sys.stderr.isatty():
        print(f"\r\033[K{line}\r", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
