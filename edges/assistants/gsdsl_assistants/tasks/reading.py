"""Reads the model of a call, and writes diagnostics as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusched_dsl.compiling.build import Permissions
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.diagnostics.render import render_json
from gpusched_dsl.language.workspace import Workspace, load_workspace


@dataclass(frozen=True, slots=True)
class ModelFile:
    """The main file of a call, relative to the working folder, and what it may use."""

    name: str
    permissions: Permissions

    def read(self) -> tuple[Workspace, Diagnostics]:
        """Return the file with its imports, and what was found. No root above the working folder counts."""
        diagnostics = Diagnostics()
        outside = self.permissions.outside
        workspace = load_workspace(Path(self.name), diagnostics, allow_outside=outside, ceiling=Path.cwd().resolve())
        return workspace, diagnostics

    def read_valid(self) -> tuple[Workspace, tuple[Diagnostic, ...]]:
        """Return the file and its warnings; raise DiagnosticError after syntax errors."""
        workspace, diagnostics = self.read()
        diagnostics.raise_if_errors()
        return workspace, tuple(diagnostics)


def as_json(found: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    """Return diagnostics as `--diagnostics json` writes them."""
    objects: list[dict[str, Any]] = json.loads(render_json(dict.fromkeys(found)))
    return objects
