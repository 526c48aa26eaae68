"""Reservations that begin later, such as maintenance: jobs that may not have ended by then do not start on their nodes.

Reservations that are active are seen by the states of their nodes. Read from `scontrol -o show reservations` (releases
before 23.02 print no JSON of them) or from the REST interface.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gsdsl_clusters.drivers.slurm.json_values import UnknownJson, date, hosts, text

COMMAND = ("scontrol", "-o", "show", "reservations")
VARIABLES: Mapping[str, str] = {"SLURM_TIME_FORMAT": "%s"}  # dates in seconds since 1970
_ENTRY = re.compile(r"(\w+)=(\S*)")


@dataclass(frozen=True, slots=True)
class Reservation:
    """Some nodes from `start` to `end`, in seconds since 1970."""

    name: str
    start: float
    end: float
    nodes: frozenset[str]

    def blocks(self, now: float, seconds: float, reservation: str) -> bool:
        """Whether a job of this length that begins `now` would run into it. Its own reservation blocks no job."""
        return now < self.start < now + seconds and self.name != reservation


def from_text(printed: str) -> list[Mapping[str, Any]]:
    """The records of `scontrol -o show reservations`, with the keys of the REST interface."""
    found: list[Mapping[str, Any]] = []
    for line in printed.splitlines():
        entries = dict(_ENTRY.findall(line))
        if "ReservationName" in entries:
            found.append({
                "name": entries["ReservationName"], "node_list": entries.get("Nodes", "").removeprefix("(null)"),
                "start_time": _number(entries.get("StartTime", "")), "end_time": _number(entries.get("EndTime", "")),
            })  # fmt: skip
    return found


def reservations_of(records: Sequence[Any], unread: list[str]) -> Iterable[Reservation]:
    """The reservations of nodes; one that is not understood is added to `unread`, and Slurm alone obeys it."""
    for record in records:
        name = record.get("name") if isinstance(record, Mapping) else None
        try:
            if not isinstance(record, Mapping):
                raise UnknownJson("it is no object")
            nodes, start, end = hosts(text(record, "node_list")), date(record, "start_time"), date(record, "end_time")
            if nodes and (start is None or end is None):
                raise UnknownJson("it has no start or no end")
            if nodes and start is not None and end is not None:
                yield Reservation(str(name), start, end, frozenset(nodes))
        except UnknownJson as unknown:
            unread.append(f"reservation `{name}` is left out: {unknown}")


def _number(stated: str) -> int | str:
    return int(stated) if stated.isascii() and stated.isdigit() else stated
