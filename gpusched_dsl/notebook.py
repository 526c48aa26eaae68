"""The former place of the functions of `gsdsl_notebook`."""

from __future__ import annotations

from typing import Any

from gpusched_dsl.language.deprecation import warn_deprecated
from gpusched_dsl.language.entry_points import own_entry_point

_NAMES = {"NotebookProgress", "gsm", "page", "progress"}


def __getattr__(name: str) -> Any:
    point = own_entry_point("gpusched_dsl.notebook", name) if name in _NAMES else None
    if point is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warn_deprecated(f"gpusched_dsl.notebook.{name}", f"gsdsl_notebook.{name}", since="0.3")
    return point.load()
