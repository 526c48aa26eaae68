"""The entries: policies of the library, policies of a file, solvers, and programs."""

from __future__ import annotations

import importlib.util
import shlex
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.parsing.parser import parse
from gpusched_dsl.language.source import Source

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "entries"
LIBRARY = "gsdsl:"
Kind = Literal["policy", "solver", "program"]


@dataclass(frozen=True)
class Entry:
    """A method. `families` names the tracks it enters by family; `tracks` restricts it to these. `seconds` is the time
    limit of a decision. `file`: of a program, or of a policy that is not in the library. `costly`: why the method may
    cost much more than the best. `package`: what must be installed to run it.
    """

    name: str
    by: str
    families: tuple[str, ...]
    kind: Kind = "policy"
    method: str = ""
    file: str = ""
    tracks: tuple[str, ...] = ()
    seconds: float | None = None
    gap: float = 1e-4
    costly: str = ""
    package: str = ""

    @property
    def is_installed(self) -> bool:
        return not self.package or importlib.util.find_spec(self.package) is not None

    @property
    def path(self) -> Path:
        return FOLDER / self.file

    @cached_property
    def command(self) -> str:
        """The method of a run."""
        if self.kind == "program":
            return f"program:{shlex.join([sys.executable, str(self.path)])}"
        return self.method or self.name

    @cached_property
    def blocks(self) -> str:
        """The text of a policy file, "" for other entries. Raises DiagnosticError as `policy_text` does."""
        return policy_text(self.path) if self.kind == "policy" and self.file else ""

    def enters(self, name: str, family: str) -> bool:
        """Whether it enters a track."""
        return family in self.families and (not self.tracks or name in self.tracks)


def policy_text(file: Path) -> str:
    """Return the text of an entry in the language.

    Raises DiagnosticError: GSM7012 it contains more than policies and imports of the library, else syntax errors.
    """
    text = file.read_text(encoding="utf-8")
    found = Diagnostics()
    parsed = parse(Source(file.name, text), found)
    found.raise_if_errors()
    wrong = [block.span for block in parsed.blocks if not _is_allowed(block)]
    if wrong:
        message = "an entry contains only policies: models, data and online blocks are those of the track"
        help = f'keep `policy` blocks, and imports of the library, `import "{LIBRARY}..."`'
        raise DiagnosticError([Diagnostic("GSM7012", message, span, help=help) for span in wrong])
    return text


def _is_allowed(block: tree.TopLevelBlock) -> bool:
    if isinstance(block, tree.Import):
        return str(block.path.value).startswith(LIBRARY)
    return isinstance(block, tree.Policy)


def read_entries() -> list[Entry]:
    """Return the entries in the order of their file."""
    content = tomllib.loads((HERE / "entries.toml").read_text(encoding="utf-8"))
    found = []
    for block in content["entries"]:
        shared = {key: tuple(value) if isinstance(value, list) else value for key, value in block.items()}
        names = shared.pop("names")
        found += [Entry(name=name, **shared) for name in names]
    return found


def explained(entries: Sequence[Entry]) -> set[str]:
    """Return the names of entries whose high costs have a documented reason."""
    return {entry.name for entry in entries if entry.costly}
