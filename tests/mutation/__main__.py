"""Which small wrong changes of the source the quick tests notice: `python -m tests.mutation RECORD --count 100`.

RECORD is a folder written by the plugin in `record.py`. Of each mutant the tests run that call its function, the
cheapest first and files in turn, until one fails. The tree is changed in place and restored: use its own checkout.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from .mutants import CORE, Mutant, draw

ROOT = Path(__file__).resolve().parents[2]
MOST_TESTS = 120
SECONDS_FOR_TESTS = 25.0  # of CPU, by the record
SECONDS_FOR_MUTANT = 180.0  # until a mutant counts as noticed, since it never ends


class Record:
    """The tests that call each function, and what they cost."""

    def __init__(self, folder: Path) -> None:
        self.cost: dict[str, float] = {}
        self.callers: dict[tuple[str, int], set[str]] = defaultdict(set)
        for file in sorted(folder.glob("*.jsonl")):
            for line in file.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                if not entry["name"].startswith("fixture "):
                    self.cost[entry["name"]] = entry["cpu"]
                for path, first in entry["calls"]:
                    self.callers[path, first].add(entry["name"])

    def tests(self, mutant: Mutant) -> list[str]:
        """Those that call the mutant's function, or share a fixture that does: cheap ones first, files in turn."""
        callers = self.callers.get((mutant.path, mutant.function), set())
        shared = {name.removeprefix("fixture ") for name in callers if name.startswith("fixture ")}
        direct = [name for name in callers if name in self.cost]
        indirect = [name for name in self.cost if name not in callers and name.split("::")[0] in shared]
        return list(itertools.islice(self._affordable([*self._in_turn(direct), *self._in_turn(indirect)]), MOST_TESTS))

    def _in_turn(self, names: list[str]) -> list[str]:
        by_file: dict[str, list[str]] = defaultdict(list)
        for name in sorted(names, key=lambda name: (self.cost[name], name)):
            by_file[name.split("::")[0]].append(name)
        files = sorted(by_file.values(), key=lambda tests: self.cost[tests[0]])
        turns = itertools.zip_longest(*files)
        return [name for turn in turns for name in turn if name is not None]

    def _affordable(self, names: list[str]) -> list[str]:
        spent, kept = 0.0, []
        for name in names:
            if spent + self.cost[name] <= SECONDS_FOR_TESTS or not kept:
                spent += self.cost[name]
                kept.append(name)
        return kept


def noticed_by(mutant: Mutant, tests: list[str]) -> str:
    """The test that fails, `time` if one never ends, or nothing."""
    path = ROOT / mutant.path
    source = path.read_bytes()
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "GSDSL_PYTHON_KERNELS": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", "--timeout=60"]
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
    counts = {"noticed": 0, "not noticed": 0, "not called": 0}
    for mutant in draw(ROOT, options.count, options.seed, tuple(options.within))[options.skip :]:
        tests = record.tests(mutant)
        by = noticed_by(mutant, tests) if tests else ""
        kind = "noticed" if by else "not noticed" if tests else "not called"
        counts[kind] += 1
        print(f"{kind:11}  {mutant}  {by}", flush=True)
        if options.to is not None:
            with options.to.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"mutant": str(mutant), "kind": kind, "by": by}) + "\n")
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))


if __name__ == "__main__":
    main()
