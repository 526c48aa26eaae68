"""The former place of the functions of `gsdsl_notebook`."""

from __future__ import annotations

from typing import Any

from gpusched_dsl.language.deprecation import warn_deprecated
from gpusched_dsl.language.entry_points import load_own

_NAMES = {"NotebookProgress", "gsm", "page", "progress"}


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn_deprecated(f"gpusched_dsl.notebook.{name}", f"gsdsl_notebook.{name}", since="0.3")
    return load_own("gpusched_dsl.notebook", name)
