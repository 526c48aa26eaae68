"""Quarantined events of a journal: the run continues without them.

That an event is set aside is a record of the journal like an event, so that it is durable and part of the chain.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gpusched_dsl.online.journal.records import External

KIND: Final = "quarantine"  # no event of a line has this kind
_LONGEST_ID: Final = 200  # of events of lines: a longer one is that of no such event


def quarantine_of(event: External, message: str, time: float, batch: int) -> External:
    """The record that sets an event aside."""
    id = f"{KIND} of {event.id}".ljust(_LONGEST_ID + 1)
    return External(id, time, {"kind": KIND, "event": event.id, "message": message}, batch)


def split_quarantined(recorded: Iterable[External]) -> tuple[list[External], dict[str, str]]:
    """The events of lines, and of those that are set aside the reason by their id."""
    events: list[External] = []
    aside: dict[str, str] = {}
    for external in recorded:
        if external.content.get("kind") == KIND:
            aside[external.content["event"]] = external.content["message"]
        else:
            events.append(external)
    return events, aside
