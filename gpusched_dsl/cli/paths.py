"""The files of a command line: named files, and the `.gsm` files in named folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gpusched_dsl.language.source_files import LIBRARY_PREFIX, is_library_name, library_files

SUFFIX = ".gsm"


def gsm_files(names: Iterable[str]) -> list[Path]:
    """Return the named files and the `.gsm` files below the named folders, each once, folders in alphabetical order.

    `gsdsl:` and `gsdsl:FOLDER` are folders of the library.

    Raises DiagnosticError (GSM6004) if a folder cannot be read or has no such file. Named files may not exist.
    """
    found: dict[Path, None] = {}
    wrong: list[Diagnostic] = []
    for name in names:
        path = Path(name)
        if is_library_name(name) and len(shipped := library_files(name)) > 1:
            found.update(dict.fromkeys(Path(LIBRARY_PREFIX + file) for file in shipped))
            continue
        if not _is_folder(path):
            found[path] = None
            continue
        try:
            inside = sorted(_below(path))
        except OSError as failure:
            wrong.append(Diagnostic("GSM6004", f"cannot read the folder `{path}`: {failure.strerror or failure}"))
            continue
        if not inside:
            wrong.append(Diagnostic("GSM6004", f"there is no `{SUFFIX}` file in the folder `{path}`"))
        found.update(dict.fromkeys(inside))
    if wrong:
        raise DiagnosticError(wrong)
    return list(found)


def _below(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder; skip hidden files and symbolic links to folders."""
    for entry in folder.iterdir():
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from _below(entry)
        elif entry.suffix == SUFFIX and entry.is_file():
            yield entry


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
