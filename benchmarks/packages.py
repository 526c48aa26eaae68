"""The packages of the project, and the folders that an import finds them in, as `pyproject.toml` maps them."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def package_folders(root: Path = ROOT) -> dict[str, Path]:
    """Return the folder of each package of a checkout, by the name of the package."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    mapped: dict[str, str] = settings["tool"]["setuptools"]["package-dir"]
    return {name: root / folder for name, folder in mapped.items() if name and "." not in name}


def sources(root: Path = ROOT) -> list[Path]:
    """Return the Python files of the packages of a checkout, sorted."""
    return sorted(path for folder in package_folders(root).values() for path in folder.rglob("*.py"))


def search_path(root: Path = ROOT) -> str:
    """Return what `PYTHONPATH` needs to import the packages of a checkout, and its benchmarks."""
    return os.pathsep.join(map(str, dict.fromkeys((root, *(f.parent for f in package_folders(root).values())))))


def file_of_test(name: str) -> Path:
    """Return the place of `cli/test_usage.py`, below `tests/`, or of `service/test_service.py`, that of an edge."""
    first, _, rest = name.partition("/")
    edge = ROOT / "edges" / first / "tests"
    return edge / rest if edge.is_dir() else ROOT / "tests" / name
