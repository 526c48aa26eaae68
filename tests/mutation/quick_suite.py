"""Which tests the quick suite leaves to the long one: `python -m tests.mutation.quick_suite RECORD`.

RECORD is a folder written by the plugin in `record.py` during a run of all that is not marked `slow`. A test of at
least `DEAR` CPU seconds stays in the quick suite if it executes a line of the package that no cheaper tests execute.
The others are written to `tests/more_of_the_same.txt`, which `conftest.py` reads.
"""

from __future__ import annotations

import argparse
import re
from functools import reduce
from operator import or_
from pathlib import Path

from .recorded import Record

LEFT_OUT = Path(__file__).parents[1] / "more_of_the_same.txt"
DEAR = 0.1  # CPU seconds, by the record
# Tests that execute less do their work in other processes, or read the tree: a record of lines says nothing about them.
FEWEST_LINES = 300
# Random models and runs find what no line shows, nor do lines show what is printed: these tests stay, as do those that
# `KEPT` lists, one a line.
ALWAYS = re.compile(
    r"tests/generated_models/test_generated_models|tests/online/net/test_runs_net|tests/(cli|docs|broken)/"
)
KEPT = Path(__file__).with_name("kept.txt")


def left_out(record: Record, kept: set[str]) -> list[str]:
    """The dear tests without a line of their own, after a greedy cover by new lines per CPU second."""
    covered = reduce(or_, record.of_fixtures.values(), 0)
    dear: dict[str, int] = {}
    for name, cost in record.cost.items():
        lines = record.lines[name]
        stays = cost < DEAR or lines.bit_count() < FEWEST_LINES or ALWAYS.match(name) or name in kept
        if stays:
            covered |= lines
        else:
            dear[name] = lines
    while dear:
        dear = {name: lines & ~covered for name, lines in dear.items()}
        best = max(dear, key=lambda name: (dear[name].bit_count() / record.cost[name], name))
        if not dear[best]:
            break
        covered |= dear.pop(best)
    return sorted(dear)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("record", type=Path)
    record = Record(parser.parse_args().record)
    names = left_out(record, set(KEPT.read_text(encoding="utf-8").split("\n")))
    LEFT_OUT.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    cost, of = sum(record.cost[name] for name in names), sum(record.cost.values())
    print(f"{len(names)} of {len(record.cost)} tests, {cost:.0f} of {of:.0f} CPU s, are left out")


if __name__ == "__main__":
    main()
