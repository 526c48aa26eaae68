"""Pages for contributors name files, functions and classes that exist; docs/reference/inside.md has all folders."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from benchmarks.packages import ROOT, package_folders, sources

INSIDE = (ROOT / "docs/reference/inside.md").read_text(encoding="utf-8")
ROWS = [row.split(" | ") for row in re.findall(r"^\| (`.*) \|$", INSIDE.partition("\n## ")[0], re.MULTILINE)]
OUTER = (ROOT, ROOT / "gpusched_dsl", ROOT / "backends")
PATH = re.compile(r"[\w./]*/|[\w./]+\.(?:py|gsm|lark|toml|md)")
NAMED = re.compile(r"((?:\w+[./])*\w+)\.(\w+)")
OTHER = ("gpusched_dsl.", "build/", "edges/NAME/")  # groups of entry points, what is made, any edge
MADE = {"cells.gsm"}  # a function, whose module ends as a file of a model does


@cache
def defined(file: Path) -> frozenset[str]:
    """The names that a module has: it defines or imports them, at its top, in a class or in a function."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.alias(name=name):
                names.add(name)
    return frozenset(names)


@cache
def files() -> dict[str, list[Path]]:
    """Files and folders of the project by their last name."""
    found: dict[str, list[Path]] = {}
    named = ("grammar", "models", "docs", "tests", "benchmarks", "edges")
    for top in (*package_folders().values(), *(ROOT / name for name in named)):
        for path in (top, *top.rglob("*")):
            found.setdefault(path.name, []).append(path)
    return found


def ends_with(path: str) -> list[Path]:
    """What a path on a page may mean: any file or folder with this end."""
    parts = Path(path).parts
    return [found for found in files().get(parts[-1], ()) if found.parts[-len(parts) :] == parts]


def wrong(name: str, folders: tuple[Path, ...] = ()) -> bool:
    """Whether a name in backticks stands for nothing; with `folders`, for nothing within one of them."""
    if PATH.fullmatch(name) and name not in MADE:
        inside = any((folder / name).exists() for folder in folders or OUTER)
        return not (inside or (not folders and ends_with(name)))
    if found := NAMED.fullmatch(name):
        module, attribute = found[1].replace(".", "/") + ".py", found[2]
        modules = [path for folder in folders if (path := folder / module).is_file()] or folders or ends_with(module)
        return not any(path.is_file() and attribute in defined(path) for path in modules)
    return False


def places(cell: str) -> list[Path]:
    """The folders, or files, of a row."""
    named = re.findall("`([^`]*)`", cell)
    found = [path for name in named for outer in OUTER if (path := outer / name).exists()]
    assert len(found) == len(named), f"not all of {cell} exist"
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip("`"))
def test_entry_points_of_a_folder_are_in_it(row: list[str]) -> None:
    found = places(row[0])
    folders = tuple(path for path in found if path.is_dir())
    modules = [path for path in found if path.is_file()] or [path for one in folders for path in one.glob("*.py")]
    named = [name for name in re.findall("`([^`]+)`", row[2]) if not name.startswith("make ")]
    words = {name for name in named if name.isidentifier()}
    assert words <= frozenset().union(*map(defined, modules))
    assert [name for name in named if name not in words and wrong(name, folders)] == []


def test_all_folders_are_on_the_page() -> None:
    shown = {path for place, *_ in ROWS for path in places(place)}
    core = package_folders()["gpusched_dsl"]
    missing = {file.parent for file in sources()} - shown - {core, core / "drivers"}  # a former place
    assert sorted(str(folder.relative_to(ROOT)) for folder in missing) == []


@pytest.mark.parametrize("page", ["inside.md", "checklists.md", "../design.md"])
def test_paths_and_names_on_pages_exist(page: str) -> None:
    text = re.sub(r"```.*?```", "", (ROOT / "docs/reference" / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    named = {name for name in re.findall("`([^`\n]+)`", text) if not name.startswith(OTHER)}
    assert len(named) > 40
    assert sorted(name for name in named if wrong(name)) == []
