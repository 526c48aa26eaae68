"""The limits of the tools: a model of an assistant must not occupy the machine."""

from __future__ import annotations

from dataclasses import dataclass

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class CallLimits:
    """`seconds` of a call, `memory` in bytes for data and problem, and sizes.

    A call with more than `characters` in its texts, or more than `files`, is refused; a problem of more than `columns`
    or `rows` is not solved; lists in answers are cut after `entries`, and answers list what is left out.
    """

    seconds: float = 30.0
    memory: int = GIB
    characters: int = 400_000
    files: int = 20
    columns: int = 200_000
    rows: int = 200_000
    entries: int = 100
    calls: int = 2  # at the same time


GRACE = 10.0  # seconds that a call may take beyond its limit, to start its process and to write its answer


class CallRefused(Exception):
    """A call that exceeds a limit or does not fit; the text is for the assistant."""
