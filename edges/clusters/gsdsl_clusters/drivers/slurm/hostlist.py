"""Lists of nodes as Slurm writes them: `g[1-3,07],login` names five nodes."""

from __future__ import annotations

import re
from itertools import product

_BRACKET = re.compile(r"\[([^\]]*)\]")
MOST_NODES = 1_000_000


def expand(text: str) -> tuple[str, ...]:
    """The names of a list in their order. Raises ValueError for a malformed list."""
    found: list[str] = []
    for part in _split(text):
        literal = _BRACKET.split(part)
        ranges = [_range(body) for body in literal[1::2]]
        if "[" in "".join(literal[::2]) or "]" in "".join(literal[::2]):
            raise ValueError(f"`{text}` is not a list of nodes")
        for chosen in product(*ranges):
            pieces = [piece for pair in zip(literal[::2], (*chosen, ""), strict=True) for piece in pair]
            found.append("".join(pieces))
            if len(found) > MOST_NODES:
                raise ValueError(f"`{text}` names more than {MOST_NODES:,} nodes")
    return tuple(found)


def _split(text: str) -> list[str]:
    """Split at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [part for part in parts if part]


def _range(body: str) -> list[str]:
    names: list[str] = []
    for item in body.split(","):
        first, dash, last = item.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ValueError(f"`[{body}]` is not a range of numbers")
        if dash and int(last) - int(first) > MOST_NODES:
            raise ValueError(f"`[{body}]` has more than {MOST_NODES:,} numbers")
        names += [str(n).zfill(len(first)) for n in range(int(first), int(last or first) + 1)]
    return names
