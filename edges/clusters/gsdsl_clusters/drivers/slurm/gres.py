"""GPUs as generic resources: `gpu:h200:8(S:0-1)`, `gres:gpu:2`, `gpu:3090:no_consume:4`, `gres/gpu:h200=4`.

Slices of a GPU (MIG: `gpu:1g.10gb:7`, `gpu:a100_3g.20gb:2`) are no GPUs: they are not counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_GPU = re.compile(r"(?:gres[:/])?gpu(?:[:=](.*))?$", re.DOTALL)
_COUNT = re.compile(r"(\d{1,9})([kK]?)$")
_TYPE = re.compile(r"\w[\w.+-]*$")
_SLICE = re.compile(r"(?:^|[_.-])\d+g\.\d+gb", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class GpuCount:
    """The GPUs of a list of resources: `kind` is their type, "" if there is none or several; `slices` are parts of
    GPUs, which do not count. `kinds` are all types.
    """

    count: int = 0
    kind: str = ""
    slices: int = 0
    kinds: frozenset[str] = frozenset()


def read_gpus(text: str) -> GpuCount:
    """The GPUs in a list of resources.

    Where a list has the total and its types (`gres/gpu=4,gres/gpu:h200=4`), GPUs are counted once. Raises ValueError
    for GPUs of an unknown form, such as shares of one.
    """
    total = typed = slices = 0
    types: set[str] = set()
    for item in re.sub(r"\([^)]*\)", "", text).split(","):
        found = _GPU.match(item.strip())
        if found is None:
            continue
        count, kind = _item(item.strip(), found[1])
        if _SLICE.search(kind):
            slices += count
        elif kind:
            typed += count
            types.add(kind)
        else:
            total += count
    whole = max(total - slices, typed) if typed or slices else total
    return GpuCount(max(whole, 0), next(iter(types)) if len(types) == 1 else "", slices, frozenset(types))


def _item(item: str, rest: str | None) -> tuple[int, str]:
    """The number and the type of `gpu:REST`: a number alone is a number, also where types begin with digits."""
    words = [word for word in re.split(r"[:=]", rest or "") if word != "no_consume"]
    if words in ([], [""]):
        return 1, ""
    count = _COUNT.match(words[-1])
    kind = words[:-1] if count else words
    if len(kind) > 1 or (kind and not _TYPE.match(kind[0])):
        raise ValueError(f"`{item}` is not a number of GPUs")
    number = 1 if count is None else int(count[1]) * (1024 if count[2] else 1)
    return number, kind[0] if kind else ""
