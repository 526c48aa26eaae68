"""GPUs as generic resources: `gpu:h200:8(S:0-1)`, `gres:gpu:2`, `gres/gpu:h200=4` have 8, 2 and 4 of them."""

from __future__ import annotations

import re

_ITEM = re.compile(r"(?:gres[:/])?gpu(?::(?P<type>[A-Za-z_][\w.-]*))?(?:[:=](?P<count>\d+)(?P<k>[kK])?)?$")


def gpus(text: str) -> tuple[int, str]:
    """The number of GPUs in a list of resources, and their type, "" if there is none or several.

    Where a list has the total and its types (`gres/gpu=4,gres/gpu:h200=4`), GPUs are counted once. Raises ValueError
    for GPUs of an unknown form, such as shares of one.
    """
    total = typed = 0
    types: set[str] = set()
    for item in re.sub(r"\([^)]*\)", "", text).split(","):
        item = item.strip()
        if not re.match(r"(?:gres[:/])?gpu(?:[:=]|$)", item):
            continue
        found = _ITEM.match(item)
        if found is None:
            raise ValueError(f"`{item}` is not a number of GPUs")
        count = int(found["count"] or 1) * (1024 if found["k"] else 1)
        if found["type"]:
            typed += count
            types.add(found["type"])
        else:
            total += count
    return max(total, typed), types.pop() if len(types) == 1 else ""
