"""The sentences of SECURITY.md: of its paragraphs and lists, and the rows of its tables."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "SECURITY.md"
_END = re.compile(r"(?<=[.:;])\s+(?=[A-Z`\[])")


def sentences() -> list[str]:
    """Return the sentences, each in one line; rows of tables as they are."""
    found: list[str] = []
    block: list[str] = []
    for line in [*PAGE.read_text(encoding="utf-8").splitlines(), ""]:
        starts = line.startswith(("- ", "#", "|")) or not line.strip()
        if starts and block:
            found += _END.split(" ".join(block).removeprefix("- "))
            block = []
        if line.startswith("|"):
            if not re.match(r"\|( --- \|)+$|\| input \|", line):
                found.append(line)
        elif line.strip() and not line.startswith("#"):
            block.append(line.strip())
    return found
