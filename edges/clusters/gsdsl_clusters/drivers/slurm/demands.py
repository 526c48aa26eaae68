"""What jobs of Slurm demand of their nodes: lists, exclusions, features, types of GPUs, whole nodes, reservations."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, TypeAlias

from gsdsl_clusters.drivers.protocol import ObservedNode
from gsdsl_clusters.drivers.slurm.gres import GpuCount
from gsdsl_clusters.drivers.slurm.json_values import hosts, names, number, text
from gsdsl_clusters.drivers.slurm.reservations import Reservation

PLACED = "gsdsl step "  # how the AdminComment of a job begins whose node list is ours
HELD_BY_US = re.compile(
    r"gsdsl(?:$| step \d+: to wait by REST)"
)  # the AdminComment of a job that an operator seems to hold
_ASKED = " [asked for "
_FEATURES = re.compile(r"[\w.:+-]+(?:(?:&[\w.:+-]+)*|(?:\|[\w.:+-]+)*)$")


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A node, its features, its GPUs by type, and whether it belongs to a reservation now."""

    node: ObservedNode
    features: frozenset[str]
    gpus: GpuCount
    reserved: bool


_Demands: TypeAlias = tuple[str, str, str, frozenset[str], str, int, tuple[Reservation, ...]]


@dataclass
class SlurmDemands:
    """The nodes on which each job must not run, with the reason; equal demands share one answer."""

    facts: Mapping[str, NodeFacts]
    now: float = 0.0
    upcoming: Sequence[Reservation] = ()
    _known: dict[_Demands, Mapping[str, str]] = field(default_factory=dict)
    _lists: dict[_Demands, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)

    @property
    def has_reserved_node(self) -> bool:
        return any(known.reserved for known in self.facts.values())

    def gpus_of(self, node: str) -> int:
        return self.facts[node].node.gpus if node in self.facts else 0

    def of(self, record: Mapping[str, Any], wanted: GpuCount, nodes: int) -> Mapping[str, str]:
        """The misfits of a job. Raises UnknownJson for demands that cannot be read."""
        demands = self._demands(record, wanted, nodes)
        if demands not in self._known:
            self._known[demands] = self._misfits(*demands)
        return self._known[demands]

    def _demands(self, record: Mapping[str, Any], wanted: GpuCount, nodes: int) -> _Demands:
        return (
            asked_nodes(record), text(record, "excluded_nodes"), text(record, "features"), wanted.kinds,
            text(record, "resv_name"), wanted.count // nodes if is_exclusive(record) else 0,
            self._blocking(record),
        )  # fmt: skip

    def _blocking(self, record: Mapping[str, Any]) -> tuple[Reservation, ...]:
        """The reservations that begin before a job would have ended if it began now."""
        if not self.upcoming:
            return ()
        minutes, own = number(record, "time_limit"), text(record, "resv_name")
        seconds = inf if minutes is None else minutes * 60.0
        return tuple(known for known in self.upcoming if known.blocks(self.now, seconds, own))

    def lists_of(self, record: Mapping[str, Any], wanted: GpuCount, nodes: int) -> Mapping[str, tuple[str, ...]]:
        """The nodes that the demands leave to a job, and the types of their GPUs. Reservations do not count."""
        demands = self._demands(record, wanted, nodes)
        if demands not in self._lists:
            misfits = self._misfits(*demands, reservations=False)
            allowed = tuple(name for name in self.facts if name not in misfits)
            types = {kind for name in allowed for kind in self.facts[name].gpus.kinds}
            self._lists[demands] = {"allowed_nodes": allowed, "gpu_types": tuple(sorted(types & wanted.kinds or types))}
        return self._lists[demands]

    def unsupported(self, record: Mapping[str, Any], nodes: int) -> str:
        """Why the demands of a job cannot be obeyed, "" if they can."""
        asked, features = hosts(asked_nodes(record)), text(record, "features")
        if asked and len(asked) < nodes:
            return "it asks for some of its nodes by name"
        if features and not _FEATURES.match(features):
            return f"the features `{features}` are no plain list with `&` or `|`"
        return ""

    def _misfits(
        self,
        asked: str,
        excluded: str,
        features: str,
        kinds: frozenset[str],
        reservation: str,
        whole: int,
        blocking: Sequence[Reservation],
        *,
        reservations: bool = True,
    ) -> dict[str, str]:
        only, never = set(hosts(asked)), set(hosts(excluded))
        any_of = "|" in features
        wanted = set(re.split(r"[&|]", features)) if features else set()
        found: dict[str, str] = {}
        later = {name: known.name for known in blocking for name in known.nodes} if reservations else {}
        for name, known in self.facts.items():
            if only and name not in only:
                found[name] = f"it asks for {asked}"
            elif name in never:
                found[name] = f"it excludes {excluded}"
            elif wanted and not (wanted & known.features if any_of else wanted <= known.features):
                found[name] = f"it needs the features `{features}`"
            elif not kinds <= known.gpus.kinds:
                found[name] = f"it needs GPUs of type {' and '.join(sorted(kinds))}"
            elif reservations and known.reserved is not bool(reservation):
                found[name] = f"its reservation is `{reservation}`" if reservation else "the node is reserved"
            elif name in later:
                found[name] = f"it might not have ended when the reservation `{later[name]}` begins"
            elif whole and known.node.gpus != whole:
                found[name] = f"it takes whole nodes, with {whole} GPUs of each"
        return found


def is_exclusive(record: Mapping[str, Any]) -> bool:
    """Whether a job shares its nodes with no other job."""
    return bool({"NONE", "USER", "MCS", "TRUE"} & {*names(record, "shared"), *names(record, "exclusive")})


def asked_nodes(record: Mapping[str, Any]) -> str:
    """The nodes that the user asks for. After our first action the AdminComment has them, and the list is ours."""
    comment = text(record, "admin_comment")
    if not comment.startswith(PLACED):
        return text(record, "required_nodes")
    _, known, asked = comment.rpartition(_ASKED)
    return asked.removesuffix("]") if known else ""


def with_asked(comment: str, asked: str) -> str:
    """A comment of ours that keeps the nodes that the user asks for."""
    return f"{comment}{_ASKED}{asked}]" if asked else comment
