"""The folders of data of the package: grammar, shipped models, pages."""

from __future__ import annotations

from pathlib import Path


def data_folder(name: str) -> Path:
    """Return the folder `name` of the package: within it in a wheel, beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    within = package / name
    return within if within.is_dir() else package.parent / name
