"""The shared data of the work in this process: of the last ones that an engine sent."""

from __future__ import annotations

import threading

from gpusched_dsl.engines.protocol import Shared

_kept = threading.local()


def keep(shared: Shared) -> None:
    """Replace the shared data of this thread."""
    _kept.value = shared


def latest() -> Shared:
    """Return the shared data of the work that this thread executes; raise LookupError without any."""
    found: Shared | None = getattr(_kept, "value", None)
    if found is None:
        raise LookupError("no shared data were sent to this worker")
    return found
