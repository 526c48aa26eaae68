"""The Python interface: load a text, or compile one; what a model can do is in `interface/model.py`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gpusched_dsl.compiling.build import DEFAULT_MEMORY, Permissions
from gpusched_dsl.interface.model import Model, Setting
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace, workspace_from_text
from gpusched_dsl.solving.option_checks import check_values

__all__ = ["Model", "compile", "load", "loads"]

if TYPE_CHECKING:
    from gpusched_dsl.ir.problem import Problem


def load(path: str | Path, *, allow_outside: bool = False, memory: int = DEFAULT_MEMORY) -> Model:
    """Read a `.gsm` file and all of its imports.

    Imports and data must be in its folder unless `allow_outside`; `memory` is the largest number of bytes for building
    a problem. Raises DiagnosticError with every syntax error.
    """
    start = time.perf_counter()
    check_values("load", {"path": path, "memory": memory, "allow_outside": allow_outside})
    diagnostics = Diagnostics()
    workspace = load_workspace(Path(path), diagnostics, allow_outside=allow_outside)
    diagnostics.raise_if_errors()
    return Model(workspace, Permissions(memory, allow_outside), tuple(diagnostics), time.perf_counter() - start)


def loads(
    text: str,
    name: str = "<text>",
    *,
    base: str | Path | None = None,
    allow_outside: bool = False,
    memory: int = DEFAULT_MEMORY,
) -> Model:
    """Read a text; its imports and data are relative to the folder `base`. Raises DiagnosticError as `load` does."""
    start = time.perf_counter()
    check_values("loads", {"text": text, "name": name, "memory": memory, "base": base, "allow_outside": allow_outside})
    diagnostics = Diagnostics()
    folder = None if base is None else Path(base)
    workspace = workspace_from_text(text, name, diagnostics, folder, allow_outside=allow_outside)
    diagnostics.raise_if_errors()
    return Model(workspace, Permissions(memory, allow_outside), tuple(diagnostics), time.perf_counter() - start)


def compile(
    text: str,
    scenario: str | None = None,
    *,
    settings: Mapping[str, Setting] | None = None,
    base: str | Path | None = None,
    allow_outside: bool = False,
    memory: int = DEFAULT_MEMORY,
) -> Problem:
    """Return the problem of a text and one of its scenarios (the only one if None): arrays with the names of the model.

    Raises DiagnosticError with all errors in text and data.
    """
    return loads(text, base=base, allow_outside=allow_outside, memory=memory).ground(scenario, settings=settings)
