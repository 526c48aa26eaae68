"""Names that are replaced: they keep working for a while, with a warning (`docs/reference/stability.md`)."""

from __future__ import annotations

import warnings


def warn_deprecated(name: str, successor: str, since: str) -> None:
    """Warn the caller of the caller, once per place, that a name has a successor since a version."""
    message = f"`{name}` is deprecated since gsdsl {since}: use `{successor}`"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
