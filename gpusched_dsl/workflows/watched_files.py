"""Notices changes of files by their times and sizes, also on file systems without events."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

INTERVAL = 0.2  # seconds between two looks at the files
SETTLED = 0.1  # seconds without a change after which a save is complete


class WatchedFiles:
    """The files of a model with their last known state; a file that does not exist may appear."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._states = {path: _state(path) for path in paths}
        self._looked = time.monotonic()

    def add(self, paths: Iterable[Path]) -> None:
        """Watch further files from now on."""
        for path in paths:
            self._states.setdefault(path, _state(path))

    @property
    def changed(self) -> bool:
        """Whether a file has changed since its last known state; looks at the files at most every `INTERVAL`."""
        if time.monotonic() - self._looked < INTERVAL:
            return False
        self._looked = time.monotonic()
        return any(_state(path) != state for path, state in self._states.items())

    def wait(self, stop: Callable[[], bool]) -> list[Path]:
        """Wait for changes, and until the files rest; return what has changed. Empty if `stop` ends the wait."""
        while not stop():
            changed = self._take()
            if changed:
                while not stop():
                    time.sleep(SETTLED)
                    more = self._take()
                    if not more:
                        break
                    changed += [path for path in more if path not in changed]
                return changed
            time.sleep(INTERVAL)
        return []

    def _take(self) -> list[Path]:
        """Return the files that have changed, and remember their new state."""
        found = {path: _state(path) for path in self._states}
        changed = [path for path, state in found.items() if state != self._states[path]]
        self._states = found
        return changed


def _state(path: Path) -> tuple[int, int, int] | None:
    """The time of the last change, the size and the number of a file; None if there is none."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
