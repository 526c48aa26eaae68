"""All ways to cut the GPUs of a VM into parts: the partitions of 1 to 8.

python generate_patterns.py [FOLDER]      # writes patterns.csv and parts.csv again, byte for byte
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

LARGEST_VM = 8


def partitions(number: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """The partitions of `number` into parts of at most `largest`, parts in falling order."""
    if number == 0:
        yield ()
    for part in range(min(number, largest or number), 0, -1):
        for rest in partitions(number - part, part):
            yield part, *rest


def main(folder: Path) -> None:
    patterns = [parts for size in range(1, LARGEST_VM + 1) for parts in partitions(size)]
    with (
        (folder / "patterns.csv").open("w", encoding="utf-8", newline="") as of_patterns,
        (folder / "parts.csv").open("w", encoding="utf-8", newline="") as of_parts,
    ):
        sizes, counts = csv.writer(of_patterns, lineterminator="\n"), csv.writer(of_parts, lineterminator="\n")
        sizes.writerow(("pattern", "size"))
        counts.writerow(("pattern", "part", "pieces"))
        for parts in patterns:
            name = f"{sum(parts)}={'+'.join(map(str, parts))}"
            sizes.writerow((name, sum(parts)))
            counts.writerows((name, part, parts.count(part)) for part in sorted(set(parts)))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent)
