"""Which small wrong changes of the source the quick tests notice: `python -m tests.mutation RECORD --count 100`.

RECORD is a folder written by the plugin in `record.py`. Of each mutant the tests run that execute its line, the
cheapest first and files in turn, until one fails. If none does, those that the quick suite leaves out run as well: one
that fails is told, to be added to `kept.txt`. The tree is changed in place and restored: use its own checkout.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from .mutants import CORE, Mutant, draw
from .quick_suite import LEFT_OUT
from .recorded import Record

ROOT = Path(__file__).resolve().parents[2]
MOST_TESTS = 120
SECONDS_FOR_TESTS = 25.0  # of CPU, by the record
SECONDS_FOR_MUTANT = 180.0  # until a mutant counts as noticed, since it never ends


def tests_of(mutant: Mutant, record: Record, among: set[str]) -> list[str]:
    """Those that execute the mutant's line, or share a fixture that does: cheap ones first, files in turn."""
    direct, shared = record.executing(mutant.path, mutant.line)
    indirect = {name for name in record.cost if name not in direct and name.split("::")[0] in shared}
    names = [*in_turn(direct & among, record), *in_turn(indirect & among, record)]
    return list(itertools.islice(affordable(names, record), MOST_TESTS))


def in_turn(names: set[str], record: Record) -> list[str]:
    by_file: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names, key=lambda name: (record.cost[name], name)):
        by_file[name.split("::")[0]].append(name)
    files = sorted(by_file.values(), key=lambda tests: record.cost[tests[0]])
    turns = itertools.zip_longest(*files)
    return [name for turn in turns for name in turn if name is not None]


def affordable(names: list[str], record: Record) -> Iterator[str]:
    spent = 0.0
    for name in names:
        if spent + record.cost[name] <= SECONDS_FOR_TESTS or not spent:
            spent += record.cost[name]
            yield name


def noticed_by(mutant: Mutant, tests: list[str], marks: str) -> str:
    """The test that fails, `time` if one never ends, or nothing."""
    if not tests:
        return ""
    path = ROOT / mutant.path
    source = path.read_bytes()
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "GSDSL_PYTHON_KERNELS": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "--no-header",
        "-p",
        "no:cacheprovider",
        "--timeout=60",
        "-m",
        marks,
    ]
    path.write_bytes(mutant.apply(source))
    try:
        done = subprocess.run(
            [*command, *tests], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS_FOR_MUTANT
        )
    except subprocess.TimeoutExpired:
        return "time"
    finally:
        path.write_bytes(source)
    if done.returncode == 0:
        return ""
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split(" - ")[0] if failed else f"exit code {done.returncode}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", type=Path)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", type=int, default=0, help="so many of the mutants were tried before")
    parser.add_argument("--within", nargs="*", default=CORE)
    parser.add_argument("--to", type=Path, help="a file for lines of JSON")
    options = parser.parse_args()
    record = Record(options.record)
    left_out = set(LEFT_OUT.read_text(encoding="utf-8").split("\n")) & record.cost.keys()
    counts = {"noticed": 0, "by a test left out": 0, "not noticed": 0, "not executed": 0}
    for mutant in draw(ROOT, options.count, options.seed, tuple(options.within))[options.skip :]:
        quick, others = (tests_of(mutant, record, among) for among in (record.cost.keys() - left_out, left_out))
        kind = "noticed" if (by := noticed_by(mutant, quick, "not slow")) else "not noticed"
        if not by and (by := noticed_by(mutant, others, "slow or not slow")):
            kind = "by a test left out"
        if not quick and not others:
            kind = "not executed"
        counts[kind] += 1
        print(f"{kind:18}  {mutant}  {by}", flush=True)
        if options.to is not None:
            with options.to.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"mutant": str(mutant), "kind": kind, "by": by}) + "\n")
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))


if __name__ == "__main__":
    main()
