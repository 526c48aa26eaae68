"""A `.gsm` file with everything it imports: all blocks by name, all texts that were read."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Protocol, TypeVar

from gpusched_dsl.language import tree
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.diagnostics.similar_names import renew_proposals
from gpusched_dsl.language.parsing.parser import parse
from gpusched_dsl.language.project_root import project_root
from gpusched_dsl.language.source import Source, Span
from gpusched_dsl.language.source_files import (
    Place,
    imported_place,
    is_library_name,
    library_folder,
    library_place,
    read_source,
)

__all__ = ["MAX_FILES", "FilesOnDisk", "SourceFiles", "Workspace", "load_workspace", "workspace_from_text"]

MAX_FILES = 200

_Named = TypeVar("_Named", tree.ModelBlock, tree.Scenario, tree.Test, tree.Policy, tree.Online, tree.Campaign)


class SourceFiles(Protocol):
    """Reads and parses the files of a workspace; an editor has texts of its own, and parses only what has changed."""

    def read(self, place: Place, diagnostics: Diagnostics, asked: Span | None = None) -> tuple[Source, str] | None:
        """The text of a file and its SHA-256; None and a diagnostic (at `asked`) if it cannot be read."""
        ...

    def parse(self, source: Source, diagnostics: Diagnostics) -> tree.File:
        """The syntax tree of a text that was read, and its syntax errors."""
        ...


class FilesOnDisk:
    """The files as they are on the disk."""

    def read(self, place: Place, diagnostics: Diagnostics, asked: Span | None = None) -> tuple[Source, str] | None:
        return read_source(place, diagnostics, asked)

    def parse(self, source: Source, diagnostics: Diagnostics) -> tree.File:
        return parse(source, diagnostics)


def load_workspace(
    path: Path,
    diagnostics: Diagnostics,
    *,
    allow_outside: bool = False,
    files: SourceFiles | None = None,
    ceiling: Path | None = None,
) -> Workspace:
    """Read and parse a file and all of its imports; never raise for errors in the files.

    Imports are relative to the importing file and may not leave the folder of the main file, or the folder above it
    that is marked as the root of a project (`project_root`, at most `ceiling`), also not through symbolic links, unless
    `allow_outside`. `import "gsdsl:name.gsm"` reads from the standard library. Each file is read once, so
    files may import each other. The library is one folder: a file of it may read all others, also as the main file.
    `gsdsl:figure1.gsm` is a file of the library (`library_place`). `files` reads the texts, else from the disk.
    """
    reads = files or FilesOnDisk()
    if is_library_name(str(path)):
        shipped = library_place(str(path), diagnostics)
        if shipped is None:
            return Workspace(None, allow_outside, incomplete=True)
        return _load(shipped, diagnostics, allow_outside, reads)
    try:
        resolved = path.resolve()
    except (OSError, ValueError, RuntimeError) as error:
        diagnostics.error("GSM1001", f"cannot read `{path}`: {error}")
        return Workspace(None, allow_outside, incomplete=True)
    library = library_folder()
    root = library if resolved.is_relative_to(library) else project_root(resolved, ceiling)
    return _load(Place(resolved, str(path), root), diagnostics, allow_outside, reads)


def _load(place: Place, diagnostics: Diagnostics, allow_outside: bool, files: SourceFiles) -> Workspace:
    """Read and parse a file and all of its imports."""
    workspace = Workspace(place.root, allow_outside)
    read = files.read(place, diagnostics)
    if read is None:
        workspace.incomplete = True
    else:
        _follow(workspace, *read, place, diagnostics, files)
    return workspace


def workspace_from_text(
    text: str,
    name: str,
    diagnostics: Diagnostics,
    base: Path | None = None,
    *,
    allow_outside: bool = False,
    files: SourceFiles | None = None,
) -> Workspace:
    """The same for a text; its imports and data are relative to `base`, and refused if that is None."""
    import hashlib

    folder = None if base is None else base.resolve()
    workspace = Workspace(folder, allow_outside)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    place = None if folder is None else Place(folder / "text", name, folder)
    _follow(workspace, Source(name, text), digest, place, diagnostics, files or FilesOnDisk())
    return workspace


def _follow(
    workspace: Workspace,
    main: Source,
    digest: str,
    place: Place | None,
    diagnostics: Diagnostics,
    files: SourceFiles,
) -> None:
    """Parse the main text, then its imports, breadth first."""
    renew_proposals()
    seen: set[Path] = set() if main.path is None else {main.path}
    waiting: deque[tuple[Source, str, Place | None]] = deque([(main, digest, place)])
    while waiting:
        source, digest, place = waiting.popleft()
        file = files.parse(source, diagnostics)
        workspace.files.append(file)
        workspace.incomplete |= file.unread
        workspace.sha256[source.name] = digest
        if source.path is not None:
            workspace.roots[source.path] = None if place is None else place.root
        for block in file.blocks:
            if not isinstance(block, tree.Import):
                _enter(workspace, block, diagnostics)
                continue
            span = block.path.span
            wanted = imported_place(block.path.value, span, place, diagnostics, allow_outside=workspace.allow_outside)
            if wanted is not None and wanted.path in seen:
                continue
            if len(seen) >= MAX_FILES:
                diagnostics.error("GSM1033", f"more than {MAX_FILES} files are imported", span)
                workspace.incomplete = True
                return
            read = None
            if wanted is not None:
                seen.add(wanted.path)
                read = files.read(wanted, diagnostics, span)
            if wanted is None or read is None:
                workspace.incomplete = True
            else:
                waiting.append((*read, wanted))


def _enter(workspace: Workspace, block: tree.TopLevelBlock, diagnostics: Diagnostics) -> None:
    match block:
        case tree.ModelBlock():
            _add(workspace.models, "model", block, diagnostics)
        case tree.Scenario():
            _add(workspace.scenarios, "scenario", block, diagnostics)
        case tree.Test():
            _add(workspace.tests, "test", block, diagnostics)
        case tree.Policy():
            _add(workspace.policies, "policy", block, diagnostics)
        case tree.Online():
            _add(workspace.onlines, "online block", block, diagnostics)
        case tree.Campaign():
            _add(workspace.campaigns, "campaign", block, diagnostics)


def _add(blocks: dict[str, _Named], kind: str, block: _Named, diagnostics: Diagnostics) -> None:
    name = block.name.text
    if name in blocks:
        diagnostics.error(
            "GSM1032",
            f"{kind} `{name}` is declared twice",
            block.name.span,
            secondary=[Label(_name_span(blocks[name]), "first declared here")],
            help="rename one of them",
        )
        return
    blocks[name] = block


def _name_span(block: tree.ModelBlock | tree.Scenario | tree.Test | tree.Policy | tree.Online | tree.Campaign) -> Span:
    return block.name.span
