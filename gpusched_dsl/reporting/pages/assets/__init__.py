"""The scripts, style and charting library of pages, as texts that a page includes.

`echarts-6.1.0.min.js` is `dist/echarts.min.js` of the npm package `echarts` 6.1.0 (https://echarts.apache.org),
unchanged, under the Apache License 2.0; its NOTICE and LICENSE are in this folder. Its SHA-256 is `LIBRARY_SHA256`.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

LIBRARY: Final = "echarts-6.1.0.min.js"
LIBRARY_SHA256: Final = "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0"
# In the order of their use: each adds one member to the object `report`.
SCRIPTS: Final = (
    "report", "numbers", "theme", "visible_bars", "price_bands", "job_search", "time_window", "words",
    "chart_base", "schedule_rows", "schedule_chart", "curves_chart", "heat_map_chart", "bars_chart",
    "lines_chart", "keyboard", "saving", "schedule_tools", "tables", "start",
)  # fmt: skip


@cache
def asset(name: str) -> str:
    """Return a file of this folder."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def charting_library() -> str:
    """Return the minified library; it cannot end the script that contains it."""
    return asset(LIBRARY).replace("</script", "<\\/script")


def scripts() -> str:
    """Return all scripts of ours as one."""
    return '"use strict";\n' + "\n".join(asset(f"{name}.js") for name in SCRIPTS)


def style() -> str:
    return asset("page.css")


def licence() -> str:
    """Return the notice of the charting library."""
    return asset("NOTICE")
