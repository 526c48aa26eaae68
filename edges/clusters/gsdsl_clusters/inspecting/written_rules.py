"""Limits, reservations and maintenance of a snapshot as statements of models/cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from gpusched_dsl.language.text.numbers import count_text
from gsdsl_clusters.inspecting.snapshot import ClusterSnapshot
from gsdsl_clusters.inspecting.written_jobs import OTHER_TEAM

_FOREVER = 100_000.0  # h, of a reservation without an end


@dataclass(frozen=True)
class WrittenWindow:
    """A reservation of some nodes, in hours from time 0."""

    name: str
    start: float
    end: float
    nodes: Sequence[str]
    users: Sequence[str]
    teams: Sequence[str]
    maintenance: bool


def quoted(label: str) -> str:
    return f'"{label}"'


def label_set(labels: Iterable[str]) -> str:
    return "{ " + ", ".join(quoted(label) for label in labels) + " }"


def windows_of(snapshot: ClusterSnapshot, nodes: pl.DataFrame) -> list[WrittenWindow]:
    """The reservations that have not passed, of nodes with GPUs. Those with one name are numbered."""
    known, found, names = set(nodes["node"]), [], set[str]()
    for row in snapshot.reservations.iter_rows(named=True):
        covered = [node for node in row["nodes"] if node in known]
        if not covered or (row["end"] is not None and row["end"] <= snapshot.now):
            continue
        base = name = row["reservation"].replace('"', "'") or "reservation"
        number = 1
        while name in names:
            number += 1
            name = f"{base}_{number}"
        names.add(name)
        start = 0.0 if row["start"] is None else (row["start"] - snapshot.now) / 3600.0
        end = _FOREVER if row["end"] is None else (row["end"] - snapshot.now) / 3600.0
        found.append(WrittenWindow(name, start, end, covered, row["users"], row["teams"], row["maintenance"]))
    return found


def window_lines(windows: Sequence[WrittenWindow], teams: Sequence[str]) -> list[str]:
    """Statements about all reservations, and the teams for which they are."""
    lines = [f"  Windows = {label_set(window.name for window in windows)};" if windows else "  Windows = {};"]
    for window in windows:
        name = quoted(window.name)
        lines.append(f"  window_start[{name}] = {window.start:.6g}[h];")
        lines.append(f"  window_end[{name}] = {window.end:.6g}[h];")
        lines.append(f"  is_maintenance[{name}] = {int(window.maintenance)};")
        lines += [f"  covers[{name}, {quoted(node)}] = 1;" for node in window.nodes]
        lines += [f"  for_team[{name}, {quoted(team)}] = 1;" for team in window.teams if team in teams]
    return lines


def guest_lines(windows: Sequence[WrittenWindow], jobs: pl.DataFrame) -> list[str]:
    """Statements about the jobs of users for whom a reservation is."""
    return [
        f"  for_job[{quoted(window.name)}, {quoted(job)}] = 1;"
        for window in windows
        if not window.maintenance
        for job in jobs.filter(pl.col("user").is_in(list(window.users)))["job"]
    ]


@dataclass(frozen=True)
class WrittenLimits:
    """Statements about limits: numbers of teams and of each user, the other `quotas`, and how many these are.

    `left_out` says in words what is missing.
    """

    lines: Sequence[str]
    quotas: int
    left_out: Sequence[str]


def written_limits(limits: pl.DataFrame, teams: Sequence[str], types: Sequence[str]) -> WrittenLimits:
    """Write the limits of a snapshot for these teams and types of GPU."""
    written: dict[str, int] = {}
    quotas: list[str] = []
    count = unknown = 0
    for row in limits.iter_rows(named=True):
        targets = [] if row["qos"] or row["partition"] else _targets(row, teams, types)
        for target in targets:
            written[target] = min(row["gpus"], written.get(target, row["gpus"]))
        if not targets and ((row["gpu_type"] and row["gpu_type"] not in types) or not _teams_of(row, teams)):
            unknown += 1
        elif not targets:
            count += 1
            quotas += _quota(quoted(f"quota_{count}"), row, teams, types)
    lines = [f"{target} = {gpus};" for target, gpus in written.items()]
    if count:
        lines.append("quotas = yes;  # limits of QOS, partitions and users, which the cluster enforces")
        lines.append(f"Quotas = {label_set(f'quota_{number + 1}' for number in range(count))};")
    left_out = [f"{count_text(unknown, 'limit')} of other types or teams"] if unknown else []
    return WrittenLimits([f"  {line}" for line in (*lines, *quotas)], count, left_out)


def _teams_of(row: Mapping[str, str], teams: Sequence[str]) -> list[str]:
    """The teams whose jobs a limit counts."""
    named = row["team"] or (row["owner"] if row["scope"] == "team" else "")
    return [team for team in teams if team == named] if named else list(teams)


def _quota(name: str, row: Mapping[str, str], teams: Sequence[str], types: Sequence[str]) -> list[str]:
    """The statements about one limit."""
    lines = [f"quota_gpus[{name}] = {row['gpus']};"]
    for what in ("qos", "partition", "user"):
        if value := (row["owner"] if row["scope"] == what else row.get(what, "")):
            lines.append(f"quota_{what}[{name}] = {quoted(value.replace(chr(34), chr(39)))};")
    if row["team"] or (row["scope"] == "team" and row["owner"]):
        others = [team for team in (*teams, OTHER_TEAM) if team not in _teams_of(row, teams)]
        lines += [f"counts_team[{name}, {quoted(team)}] = 0;" for team in others]
    if row["gpu_type"]:
        lines += [f"counts_type[{name}, {quoted(kind)}] = 0;" for kind in types if kind != row["gpu_type"]]
    if row["scope"] in ("user", "team") and not row["owner"]:
        lines.append(f"for_each_{row['scope']}[{name}] = 1;")
    return lines


def _targets(row: dict[str, str], teams: Sequence[str], types: Sequence[str]) -> list[str]:
    """The parameters that a limit gives."""
    if row["scope"] == "user":
        return ["user_gpus"] if not (row["owner"] or row["team"] or row["gpu_type"]) else []
    if row["scope"] != "team" or (row["gpu_type"] and row["gpu_type"] not in types):
        return []
    whose = [row["owner"]] if row["owner"] else list(teams)
    known = [team for team in whose if team in teams]
    if row["gpu_type"]:
        return [f"team_type_gpus[{quoted(team)}, {quoted(row['gpu_type'])}]" for team in known]
    return [f"team_gpus[{quoted(team)}]" for team in known]
