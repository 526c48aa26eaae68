"""The former place of `gsdsl_clusters.drivers.protocol`."""

from __future__ import annotations

from typing import Any

from gpusched_dsl.language.deprecation import warn_deprecated
from gpusched_dsl.language.entry_points import load_own


def __getattr__(name: str) -> Any:
    value = getattr(load_own("gpusched_dsl.clusters", "protocol"), name)
    warn_deprecated(f"{__name__}.{name}", f"gsdsl_clusters.drivers.protocol.{name}", since="0.3")
    return value
