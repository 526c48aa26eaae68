"""The state of a server: the open documents, their findings, and the files of the folders that the editor has open."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse
from urllib.request import url2pathname

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gsdsl_editor.checks import BlockChecks, NamedBlock
from gsdsl_editor.document import Document
from gsdsl_editor.positions import common_length
from gsdsl_editor.texts import Texts

MAX_FILES = 2_000


@dataclass(slots=True)
class Settings:
    """What a client may set at its start.

    `latex`: formulas of hovers as LaTeX. `allow_outside`: imports may leave the folder of their main file.
    `check_data`: also check the data when a file is opened or saved.
    """

    latex: bool = False
    allow_outside: bool = False
    check_data: bool = True

    @classmethod
    def of(cls, options: object) -> Settings:
        """Read the options of a client; unknown ones are ignored."""
        given = options if isinstance(options, dict) else {}
        return cls(
            latex=given.get("mathematics") == "latex",
            allow_outside=given.get("allowOutside") is True,
            check_data=given.get("checkData") is not False,
        )


class EditorSession:
    """The documents of one client."""

    def __init__(self) -> None:
        self.texts = Texts()
        self.settings = Settings()
        self.encoding = "utf-16"
        self.folders: list[Path] = []
        self._documents: dict[str, Document] = {}
        self._checks: dict[str, BlockChecks] = {}
        self._found: dict[str, tuple[Diagnostic, ...]] = {}
        self._edited: dict[str, int] = {}

    def document(self, uri: str) -> Document:
        """An open document, or a file that is not open. Raise KeyError if there is neither."""
        known = self._documents.get(uri)
        if known is not None:
            return known
        path = path_of(uri)
        if path is None or not path.is_file():
            raise KeyError(uri)
        return self._read_unopened(path)

    @property
    def open_uris(self) -> list[str]:
        return list(self._documents)

    def open(self, uri: str, text: str, version: int | None = None) -> Document:
        """Take a new text of a document, open or not."""
        path = path_of(uri)
        before = self._documents.get(uri)
        if before is not None:
            self._edited[uri] = common_length(before.text, text)
        if path is not None:
            self.texts.open(path, text)
        self._documents[uri] = made = self._make(uri, path, text, version)
        return made

    def refresh(self, uri: str) -> Document:
        """The document again, after another file has changed."""
        before = self._documents[uri]
        self._documents[uri] = made = self._make(uri, before.path, before.text, before.version)
        return made

    def close(self, uri: str) -> None:
        document = self._documents.pop(uri, None)
        if document is not None and document.path is not None:
            self.texts.close(document.path)
        for kept in (self._checks, self._found, self._edited):
            kept.pop(uri, None)

    def _make(self, uri: str, path: Path | None, text: str, version: int | None) -> Document:
        return Document(
            uri,
            path,
            text,
            self.texts,
            encoding=self.encoding,
            allow_outside=self.settings.allow_outside,
            version=version,
        )

    # --- findings ----------------------------------------------------------------------------------------------------

    def check(self, uri: str) -> Iterator[tuple[Diagnostic, ...]]:
        """Yield the findings on a document, after each block that was checked; the last ones are complete."""
        document = self._documents[uri]
        checks = self._checks.setdefault(uri, BlockChecks())
        for found in checks.check(document.workspace, self._edited_block(document)):
            self._found[uri] = tuple(dict.fromkeys((*document.reading_diagnostics, *found)))
            yield self._found[uri]

    def found(self, uri: str) -> tuple[Diagnostic, ...]:
        """The findings of the last check of an open document, or of a check now."""
        if uri in self._documents:
            *_, last = self.check(uri)
            return last
        return self._found.get(uri, ())

    def _edited_block(self, document: Document) -> NamedBlock | None:
        offset = self._edited.get(document.uri)
        extent = None if offset is None else document.block_at(offset)
        block = None if extent is None else extent.block
        return block if isinstance(block, NamedBlock) else None

    def importers(self, uri: str) -> list[str]:
        """The other open documents that read a document, or that have an import without a file."""
        path = self._documents[uri].path if uri in self._documents else path_of(uri)
        return [
            other
            for other, document in self._documents.items()
            if other != uri
            and (document.workspace.incomplete or any(s.path == path for s in document.workspace.sources))
        ]

    # --- other files -------------------------------------------------------------------------------------------------

    def others(self, uri: str, word: str) -> Iterator[Document]:
        """All other documents and files of the folders whose text has a word."""
        whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
        seen = {uri}
        for other, document in list(self._documents.items()):
            if other not in seen:
                seen.add(other)
                if whole.search(document.text):
                    yield document
        open_paths = {d.path for d in self._documents.values()}
        for path in self._files():
            if path not in open_paths:
                document = self._read_unopened(path)
                if whole.search(document.text):
                    yield document

    def _files(self) -> Iterator[Path]:
        """The files of the folders, hidden folders excluded."""
        count = 0
        for folder in self.folders:
            for base, folders, names in os.walk(folder):
                folders[:] = sorted(f for f in folders if not f.startswith(".") and f != "node_modules")
                for name in sorted(names):
                    if name.endswith(".gsm"):
                        count += 1
                        if count > MAX_FILES:
                            return
                        yield Path(base, name).resolve()

    def _read_unopened(self, path: Path) -> Document:
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, ValueError):
            text = ""
        return self._make(path.as_uri(), path, text, None)


def path_of(uri: str) -> Path | None:
    """The path of a `file:` URI; None for other URIs, such as those of texts that were never saved."""
    parts = urlparse(uri)
    if parts.scheme != "file":
        return None
    try:
        return Path(url2pathname(unquote(parts.path) if os.name == "nt" else parts.path)).resolve()
    except (OSError, ValueError, RuntimeError):
        return None
