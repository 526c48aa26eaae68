"""What `record.py` has written: the CPU time of each test, and the lines of the package that it executes."""

from __future__ import annotations

import json
from pathlib import Path


class Record:
    """Of each test, and of each fixture of more than one test, CPU seconds and lines, as bits of an integer."""

    def __init__(self, folder: Path) -> None:
        self.cost: dict[str, float] = {}
        self.lines: dict[str, int] = {}
        self.of_fixtures: dict[str, int] = {}  # by file or folder of tests
        self._places: dict[tuple[str, int], int] = {}
        for file in sorted(folder.glob("*.jsonl")):
            with file.open(encoding="utf-8") as entries:
                for entry in entries:
                    self._add(**json.loads(entry))

    def _add(self, name: str, cpu: float, lines: dict[str, list[int]]) -> None:
        places = [self._places.setdefault((path, line), len(self._places)) for path in lines for line in lines[path]]
        bits = bytearray(max(places, default=0) // 8 + 1)
        for at in places:
            bits[at >> 3] |= 1 << (at & 7)
        executed = int.from_bytes(bits, "little")
        if name.startswith("fixture "):
            base = name.split(" ")[1]
            self.of_fixtures[base] = self.of_fixtures.get(base, 0) | executed
        else:
            self.cost[name], self.lines[name] = cpu, executed

    def executing(self, path: str, line: int) -> tuple[set[str], set[str]]:
        """The tests, and the files or folders of the fixtures, that execute a line."""
        if (at := self._places.get((path, line))) is None:
            return set(), set()
        return (
            {name for name, lines in self.lines.items() if lines >> at & 1},
            {base for base, lines in self.of_fixtures.items() if lines >> at & 1},
        )
