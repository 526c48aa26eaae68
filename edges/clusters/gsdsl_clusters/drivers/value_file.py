"""Values from a file to which other programs append lines, such as prices of the next slots, as events of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpusched_dsl.online.live.messages import LONGEST_LINE, Refused, content_of
from gsdsl_clusters.drivers.events import Content

FROM_FILE = "file "  # what ids of these events begin with
MOST_BYTES = 4 * LONGEST_LINE  # of one observation


@dataclass
class ValueFile:
    """The lines are events of kind `value` of a live run, with ids of their own. They apply when they are read.

    After a restart all lines are read again: the run knows the ids of those that it has. `tell` is called with each
    line that is not such an event, and with a file that cannot be read.
    """

    path: Path
    tell: Callable[[str], None]
    _begin: int = 0  # bytes that were read
    _line: int = 0

    def events(self, now: float) -> list[Content]:
        """Return the events of the complete lines that were added since the last call."""
        try:
            with self.path.open("rb") as file:
                if file.seek(0, 2) < self._begin:  # another file
                    self._begin = self._line = 0
                file.seek(self._begin)
                text = file.read(MOST_BYTES)
        except OSError as failure:
            self.tell(f"`{self.path.name}` cannot be read: {failure.strerror}")
            return []
        end = text.rfind(b"\n") + 1
        self._begin += end
        found = []
        for line in text[:end].splitlines():
            self._line += 1
            event = self._event(line, now) if line.strip() else None
            if event is not None:
                found.append(event)
        return found

    def _event(self, line: bytes, now: float) -> Content | None:
        try:
            content = content_of(line)
        except Refused as refused:
            self.tell(f"line {self._line} of `{self.path.name}`: {refused.diagnostic.message}")
            return None
        if content.get("kind") != "value" or not isinstance(content.get("id"), str):
            self.tell(f"line {self._line} of `{self.path.name}` is no event of kind `value` with an id")
            return None
        return {**content, "id": FROM_FILE + content["id"], "time": now}
