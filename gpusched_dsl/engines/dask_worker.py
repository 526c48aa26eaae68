"""What a Dask worker of this machine loads at its start: it leaves Ctrl-C to the command, which ends it in order."""

from __future__ import annotations

import signal


def dask_setup(worker: object) -> None:
    """Ignore Ctrl-C, which a terminal sends to all processes; Dask calls this in the main thread of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
