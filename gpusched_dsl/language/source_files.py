"""Reads `.gsm` files: only UTF-8, of a bounded size, and imports only from allowed places."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from pathlib import Path

from msgspec import Struct

from gpusched_dsl.language.data_folders import data_folder
from gpusched_dsl.language.diagnostics.diagnostic import did_you_mean, suggest
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.diagnostics.similar_names import nearest
from gpusched_dsl.language.parsing.lexing import MAX_CHARACTERS
from gpusched_dsl.language.project_root import MARKER
from gpusched_dsl.language.source import Source, Span

LIBRARY_PREFIX = "gsdsl:"
MAX_BYTES = 4 * MAX_CHARACTERS
_LISTED = 6


class Place(Struct, frozen=True):
    """A file to read: its path, its name in diagnostics, and the folder that its own imports may not leave."""

    path: Path
    name: str
    root: Path | None


def library_folder() -> Path:
    """The folder of the standard library."""
    return data_folder("models")


def is_library_name(name: str) -> bool:
    """Whether a name of a file on the command line or in Python is that of a shipped model: `gsdsl:figure1.gsm`."""
    return name.startswith(LIBRARY_PREFIX)


def library_files(name: str) -> list[str]:
    """Return the shipped files that a name can mean: by path, or by the end of the path, with or without `.gsm`.

    Names are paths in the library. Files of tests count only if no other file fits. A folder means all of its files.
    """
    asked = name.removeprefix(LIBRARY_PREFIX).strip("/")
    library = library_folder()
    known = [p.relative_to(library).as_posix() for p in sorted(library.rglob("*.gsm"))]
    if not asked:
        return known
    wanted = (asked, f"{asked}.gsm")
    exact = [file for file in known if file in wanted]
    fits = exact or [file for file in known if file.endswith(tuple("/" + each for each in wanted))]
    fits = [file for file in fits if "/tests/" not in file] or fits
    return fits or [file for file in known if file.startswith(asked + "/")]


def library_place(name: str, diagnostics: Diagnostics) -> Place | None:
    """Return the place of the one shipped file that a name means; else None and a diagnostic (GSM1001)."""
    fits, library = library_files(name), library_folder()
    if len(fits) == 1:
        return Place(library / fits[0], LIBRARY_PREFIX + fits[0], library)
    listing = f"`gsdsl show {LIBRARY_PREFIX}` lists the shipped models"
    if fits:
        shown = ", ".join(f"`{LIBRARY_PREFIX}{file}`" for file in fits[:_LISTED])
        more = f" and {len(fits) - _LISTED} more" if len(fits) > _LISTED else ""
        what = f"`{name}` may be any of {len(fits)} shipped models"
        diagnostics.error("GSM1001", what, notes=[f"they are {shown}{more}"], help=listing)
        return None
    known = library_files(LIBRARY_PREFIX)
    asked = name.removeprefix(LIBRARY_PREFIX)
    from gpusched_dsl.language.moved_files import MOVED

    moved = MOVED.get(asked) or MOVED.get(f"{asked}.gsm")
    stems = {Path(file).name: file for file in known if "/tests/" not in file}
    stems |= {Path(file).stem: file for file in known if "/tests/" not in file}
    near = [moved] if moved else nearest(asked, (*known, *stems))
    help = suggest(name, [LIBRARY_PREFIX + each for each in near]) or listing
    diagnostics.error("GSM1001", f"there is no shipped model `{name}`", help=help)
    return None


def read_source(place: Place, diagnostics: Diagnostics, asked: Span | None = None) -> tuple[Source, str] | None:
    """Return the text of a file and its SHA-256, or None (and a diagnostic, at `asked` if the file is
    imported there).
    """
    try:
        # Without O_NONBLOCK, opening a pipe would wait for its other end.
        handle = os.open(place.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                diagnostics.error(
                    "GSM1001", f"`{place.name}` is not a file", asked, help="give the path of a text file"
                )
                return None
            data = file.read(MAX_BYTES + 1)
    except IsADirectoryError:
        diagnostics.error("GSM1001", f"`{place.name}` is a folder", asked, help="give the path of a file in it")
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        diagnostics.error("GSM1001", f"cannot read `{place.name}`: {reason}", asked, help=_near(place))
        return None
    if len(data) > MAX_BYTES:
        diagnostics.error(
            "GSM1003",
            f"`{place.name}` is larger than {MAX_BYTES:,} bytes",
            asked,
            help="put large tables into data files and read them with `data`",
        )
        return None
    text = _decode(place, data, diagnostics)
    return None if text is None else (Source(place.name, text, place.path), hashlib.sha256(data).hexdigest())


def _near(place: Place) -> str | None:
    """Return a help line with files of a similar name in the same folder, or in the complete library."""
    path = place.path
    try:
        if path.exists():
            return None
        library = library_folder()
        if path.is_relative_to(library):
            return _near_in_library(place.name, path.relative_to(library).as_posix(), library)
        if not path.parent.is_dir():
            return None
        near = did_you_mean(path.name, [p.name for p in path.parent.glob("*.gsm")])
        if near is None and not place.name.startswith(LIBRARY_PREFIX) and len(library_files(path.name)) == 1:
            return f"for the shipped model, write `{LIBRARY_PREFIX}{path.name}`"
        return near
    except (OSError, ValueError):
        return None


def _near_in_library(name: str, file: str, library: Path) -> str | None:
    """A help line for `file`, a path in the library that was written as `name`: where it is now, or similar paths."""
    known = [p.relative_to(library).as_posix() for p in sorted(library.rglob("*.gsm"))]
    from gpusched_dsl.language.moved_files import MOVED

    near = [file] if file in MOVED else nearest(file, (*known, *MOVED))
    head = name.removesuffix(file) if name.endswith(file) else LIBRARY_PREFIX
    return suggest(name, list(dict.fromkeys(head + MOVED.get(each, each) for each in near)))


def _decode(place: Place, data: bytes, diagnostics: Diagnostics) -> str | None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        diagnostics.error("GSM1002", f"`{place.name}` is UTF-16", help="save it as UTF-8")
        return None
    zero = data.find(b"\0")
    if zero >= 0:
        diagnostics.error("GSM1002", f"`{place.name}` is not a text file: byte {zero + 1} is zero")
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        shown = Source(place.name, data.decode("utf-8-sig", "replace"), place.path)
        at = len(data[: error.start].decode("utf-8-sig", "replace"))
        diagnostics.error(
            "GSM1002",
            f"`{place.name}` is not UTF-8: byte 0x{data[error.start]:02x} is not valid here",
            shown.span(at, min(at + 1, len(shown.text))),
            help="save the file as UTF-8",
        )
        return None


def imported_place(
    asked: str, span: Span, importer: Place | None, diagnostics: Diagnostics, *, allow_outside: bool
) -> Place | None:
    """Where an import leads, or None (and a diagnostic) when it may not lead there."""
    if asked.startswith(LIBRARY_PREFIX):
        folder = library_folder()
        return _confine(asked.removeprefix(LIBRARY_PREFIX), span, folder, folder, asked, diagnostics)
    if importer is None:
        diagnostics.error(
            "GSM1030",
            f"a text without a file cannot import `{asked}`",
            span,
            help=f'give a base folder, or import from the standard library: `"{LIBRARY_PREFIX}..."`',
        )
        return None
    if importer.name.startswith(LIBRARY_PREFIX):
        name = LIBRARY_PREFIX + os.path.normpath(os.path.join(os.path.dirname(importer.name[6:]), asked))
    else:
        name = os.path.normpath(os.path.join(os.path.dirname(importer.name), asked))
    root = None if allow_outside else importer.root
    place = _confine(asked, span, importer.path.parent, root, name, diagnostics)
    if place is not None and root is None:
        return Place(place.path, place.name, importer.root)
    return place


def _confine(
    asked: str, span: Span, folder: Path, root: Path | None, name: str, diagnostics: Diagnostics
) -> Place | None:
    """Return the file `asked` in `folder`; inside `root`, also through symbolic links, unless that is None."""
    if not asked or "\0" in asked or "\\" in asked or "://" in asked or re.match(r"[A-Za-z]:", asked):
        diagnostics.error(
            "GSM1031",
            f"{f'`{asked}`' if asked else 'an empty path'} is not the relative path of a file",
            span,
            help="write the path with `/`, relative to the file that contains it",
        )
        return None
    try:
        path = (folder / asked).resolve()
        inside = root is None or (not os.path.isabs(asked) and path.is_relative_to(root))
    except (OSError, ValueError, RuntimeError) as error:
        diagnostics.error("GSM1001", f"cannot read `{name}`: {error}", span)
        return None
    if not inside:
        diagnostics.error(
            "GSM1030",
            f"`{asked}` is outside the folder of the model",
            span,
            help="move the file into the folder of the main file, mark a folder above both as the root of a project by "
            f"an empty file `{MARKER}`, or allow reading outside",
        )
        return None
    return Place(path, name, root)
