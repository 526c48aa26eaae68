"""What is on a page: the texts that a reader sees, and the data of its charts."""

from __future__ import annotations

import html
import json
import re
from typing import Any


def seen(page: str) -> str:
    """The texts outside of scripts and the style, a line per text."""
    return html.unescape(re.sub(r"<[^>]*>", "\n", re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.S)))


def page_parts(page: str) -> list[dict[str, Any]]:
    """The data of each result on the page, after that of the comparison."""
    found = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', page, re.S)
    assert found is not None
    parts: list[dict[str, Any]] = json.loads(found[1])["parts"]
    return parts


def figures_of(page: str, kind: str = "") -> list[dict[str, Any]]:
    """The figures of all parts, or those of a kind."""
    return [f for part in page_parts(page) for f in part["figures"] if kind in ("", f["kind"])]


def bars_of(schedule: dict[str, Any]) -> list[tuple[str, str, float, float, float | None, bool]]:
    """Job, node, start, end, GPUs and lateness of each bar of a schedule."""
    stays, names, nodes = schedule["stays"], schedule["jobs"]["names"], schedule["nodes"]
    columns = (stays[key] for key in ("job", "node", "start", "end", "uses", "late"))
    return [
        (names[j], nodes[n], start, end, uses, late == 1) for j, n, start, end, uses, late in zip(*columns, strict=True)
    ]


def idle_nodes(schedule: dict[str, Any]) -> list[str]:
    used = set(schedule["stays"]["node"])
    return [name for at, name in enumerate(schedule["nodes"]) if at not in used]
