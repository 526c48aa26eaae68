"""docs/installing.md has each ordinary package and each extra of users, with what it is for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from benchmarks.installed_packages import FOR_DEVELOPERS, PURPOSES, closure

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ALWAYS = {"lark", "cvxpy", "pyscipopt", "highspy", "networkx", "jinja2"}


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines() if line[:1] == "|"]


def tables() -> list[list[list[str]]]:
    shown = PAGE.partition("<!-- tables -->")[2].partition("<!-- end of tables -->")[0]
    return [rows(part) for part in re.split(r"\n\n+", shown) if part.startswith("|")]


def required(requirements: list[str]) -> list[str]:
    return [re.split("[<>=]", requirement)[0] for requirement in requirements]


def test_the_table_has_the_ordinary_packages() -> None:
    shown = [row for row in tables()[0][2:] if row[-1] != "shared"]
    assert {row[0]: row[-1] for row in shown} == {name: PURPOSES[name] for name in required(PROJECT["dependencies"])}
    assert {row[0] for row in shown} >= ALWAYS


def test_the_sum_is_that_of_the_table() -> None:
    shown = tables()[0][2:]
    found = re.search(r"^(\d+) packages with (\d+) MB", PAGE, re.MULTILINE)
    assert found is not None
    assert int(found[1]) == len(shown) + sum(len(row[2].split(", ")) for row in shown if row[2])
    assert abs(int(found[2]) - sum(float(row[1]) + float(row[3] or 0) for row in shown)) < 2  # of rounded numbers


def test_the_table_has_the_extras() -> None:
    extras = {name: parts for name, parts in PROJECT["optional-dependencies"].items() if name not in FOR_DEVELOPERS}
    assert {row[0]: (row[1].split(", "), row[-1]) for row in tables()[1][2:]} == {
        f"`{extra}`": (required(parts), PURPOSES[extra]) for extra, parts in extras.items()
    }


def test_what_packages_bring_is_followed() -> None:
    assert {"matplotlib", "pillow", "numpy"} <= closure(["matplotlib"])
    assert closure(["rich"], stops=["pygments"]) >= {"rich", "pygments", "markdown-it-py", "mdurl"}
    assert "matplotlib" not in closure(required(PROJECT["dependencies"]))
