"""The figures of the last report, which a run serves as metrics."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FIGURES = "savings.json"  # in the folder of the records


def write_figures(path: Path, figures: Mapping[str, Any]) -> None:
    """Write the figures of a report; a reader sees the old file or the new one."""
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(figures), encoding="utf-8")
    fresh.replace(path)
