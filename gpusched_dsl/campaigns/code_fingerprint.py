"""The hash of the package's own sources, for installs whose version does not tell what they are.

A wheel from a package index has a version, and the same files wherever that version is installed. In an editable
install, a checkout, or a package built from one, the files change while the version stays.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path

import gsdsl_backends
from gpusched_dsl.data.formats.registry import FORMATS_GROUP, GENERATORS_GROUP
from gpusched_dsl.language.data_folders import data_folder
from gpusched_dsl.language.entry_points import own_entry_points

PIN = "code gsdsl"  # the name among the inputs of a run
LENGTH = 16  # characters of the hash
SOURCES = (".py", ".lark", ".json.gz")
# Folders whose code has no effect on results. Models are inputs of their own.
WITHOUT_EFFECT = frozenset(
    {
        "campaigns/claims", "cli", "docs", "engines", "explaining", "interface", "models", "language/formatting",
        "reporting/figures", "reporting/mathematics", "reporting/pages",
    }
)  # fmt: skip


@cache
def code_fingerprint() -> str:
    """Return the hash of the sources of this process's package; empty for a released wheel. Takes about 0.05 s."""
    package = Path(__file__).parents[1]
    if is_released(package):
        return ""
    points = (*own_entry_points(FORMATS_GROUP).values(), *own_entry_points(GENERATORS_GROUP).values())
    others = sorted({point.module.partition(".")[0] for point in points} - {package.name})
    folders = (Path(str(import_module(name).__file__)).parent for name in others)
    return folders_hash((package, Path(gsdsl_backends.__file__).parent, *folders, data_folder("grammar")))


def is_released(package: Path) -> bool:
    """Whether a package was installed from a wheel: beside it are its metadata, which name no folder or repository."""
    for metadata in package.parent.glob("gpusched_dsl-*.dist-info"):
        try:
            origin = json.loads((metadata / "direct_url.json").read_text(encoding="utf-8"))
        except FileNotFoundError:  # from an index
            return (metadata / "RECORD").is_file()
        except (OSError, ValueError):
            return False
        return isinstance(origin, dict) and "archive_info" in origin
    return False


def folders_hash(packages: Iterable[Path]) -> str:
    """Return the hash of the names and contents of the sources in some folders that can change a result."""
    digest = hashlib.sha256()
    for package in packages:
        for folder, subfolders, names in os.walk(package):
            here = Path(folder).relative_to(package)
            subfolders[:] = sorted(
                name for name in subfolders if name != "__pycache__" and (here / name).as_posix() not in WITHOUT_EFFECT
            )
            for name in sorted(names):
                if name.endswith(SOURCES):
                    content = hashlib.sha256((Path(folder) / name).read_bytes()).hexdigest()
                    digest.update(f"{package.name}\0{(here / name).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()[:LENGTH]
