"""All blocks of a `.gsm` file and of everything that it imports, by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.source import Source, Span

# Checked models by name and choices of options, with their diagnostics.

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.statement_memo import StatementMemo

ModelKey: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]
CheckedModels: TypeAlias = dict[ModelKey, tuple[CheckedModel | None, tuple[Diagnostic, ...]]]
StatementMemos: TypeAlias = "dict[ModelKey, StatementMemo]"


class Workspace(Struct):
    """All blocks of a main file and its imports.

    `files` are in the order of reading, the main file first. The folder against which a block's data paths are
    resolved is that of the file it stands in: `workspace.folder_of(block)`. `sha256` gives the hash of each file read,
    by the name that diagnostics use. `base` is the folder that no path may leave unless `allow_outside`; None for a
    text without one. `incomplete` says that a file could not be read, so that any name may be missing.
    `checked` are checked models. `memos` has the results for statements of the last check of each model; None unless
    models are checked repeatedly.
    """

    base: Path | None
    allow_outside: bool = False
    files: list[tree.File] = field(default_factory=list)
    models: dict[str, tree.ModelBlock] = field(default_factory=dict)
    scenarios: dict[str, tree.Scenario] = field(default_factory=dict)
    tests: dict[str, tree.Test] = field(default_factory=dict)
    policies: dict[str, tree.Policy] = field(default_factory=dict)
    onlines: dict[str, tree.Online] = field(default_factory=dict)
    campaigns: dict[str, tree.Campaign] = field(default_factory=dict)
    sha256: dict[str, str] = field(default_factory=dict)
    checked: CheckedModels = field(default_factory=dict)
    roots: dict[Path, Path | None] = field(default_factory=dict)
    incomplete: bool = False
    memos: StatementMemos | None = None

    @property
    def sources(self) -> list[Source]:
        return [f.source for f in self.files]

    @property
    def main(self) -> tree.File | None:
        """The main file, None if it could not be read."""
        return self.files[0] if self.files else None

    @property
    def lost(self) -> dict[str, Span]:
        """The names of blocks and declarations that could not be read for syntax errors."""
        return {name.text: name.span for file in self.files for name in file.lost}

    @property
    def damaged(self) -> frozenset[str]:
        """Return the names of blocks with an unreadable statement."""
        return frozenset(name.text for file in self.files for name in file.damaged)

    def may_hold(self, name: str) -> bool:
        """Whether a block of this name may be in the unreadable text (which has been reported)."""
        return self.incomplete or name in self.lost

    def main_blocks(self) -> Iterator[tree.TopLevelBlock]:
        """Return the blocks of the main file itself, in its order."""
        return iter(self.files[0].blocks if self.files else ())

    def folder_of(self, node: tree.Node) -> Path | None:
        """Return the folder of the file of a node: relative paths in it start there."""
        path = node.span.source.path
        return self.base if path is None else path.parent

    def root_of(self, node: tree.Node) -> Path | None:
        """The folder that paths written in the file of this node may not leave; None if they may lead anywhere."""
        if self.allow_outside:
            return None
        path = node.span.source.path
        return self.base if path is None else self.roots.get(path, self.base)
