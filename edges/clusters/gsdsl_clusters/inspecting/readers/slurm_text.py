"""Lines of `scontrol --oneliner show ...` as records with the keys that the JSON of Slurm has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

_KEY = re.compile(r"(?:^| )([A-Za-z][\w/:.]*)=")
_NOTHING = ("(null)", "N/A", "n/a", "None", "NONE", "Unknown", "*", "")
_JOB_KEYS: Mapping[str, str] = {
    "JobId": "job_id", "ArrayJobId": "array_job_id", "ArrayTaskThrottle": "array_max_tasks", "JobName": "name",
    "Account": "account", "QOS": "qos", "JobState": "job_state", "Reason": "state_reason", "Dependency": "dependency",
    "Priority": "priority", "Partition": "partition", "ReqNodeList": "required_nodes", "ExcNodeList": "excluded_nodes",
    "NodeList": "nodes", "NumNodes": "node_count", "NumCPUs": "cpus", "NumTasks": "tasks", "Features": "features",
    "Licenses": "licenses", "Reservation": "resv_name", "HetJobId": "het_job_id", "HetJobOffset": "het_job_offset",
    "TresPerJob": "tres_per_job",
    "TresPerNode": "tres_per_node", "TresPerTask": "tres_per_task", "TresPerSocket": "tres_per_socket",
    "AdminComment": "admin_comment",
}  # fmt: skip
_DATES: Mapping[str, str] = {
    "SubmitTime": "submit_time", "EligibleTime": "eligible_time", "StartTime": "start_time", "EndTime": "end_time",
}  # fmt: skip
_NODE_KEYS: Mapping[str, str] = {
    "NodeName": "name", "Gres": "gres", "Partitions": "partitions", "ActiveFeatures": "active_features",
    "AvailableFeatures": "features", "Reason": "reason", "CPUTot": "cpus", "RealMemory": "real_memory",
}  # fmt: skip


def fields_of(line: str) -> dict[str, str]:
    """The values of a line of `Key=value` pairs, "" for those that Slurm writes as nothing; values may have spaces."""
    found = list(_KEY.finditer(line))
    ends = [*(each.start() for each in found[1:]), len(line)]
    values = {each[1]: line[each.end() : end].strip() for each, end in zip(found, ends, strict=True)}
    return {key: "" if value in _NOTHING else value for key, value in values.items()}


def lines_of(text: str, first: str) -> Iterator[dict[str, str]]:
    """The lines that begin with the key `first`."""
    for line in text.splitlines():
        if line.strip().startswith(f"{first}="):
            yield fields_of(line.strip())


def date_of(text: str, zone: str) -> float | None:
    """A date on the clock of a zone in seconds since 1970, None without one. Raises ValueError for another form."""
    if not text:
        return None
    found = datetime.fromisoformat(text)
    return found.replace(tzinfo=UTC if zone == "UTC" else ZoneInfo(zone)).timestamp()


def job_records(text: str, zone: str) -> list[dict[str, Any]]:
    """The jobs of `scontrol show job` as records of `squeue --json`."""
    found: list[dict[str, Any]] = []
    for values in lines_of(text, "JobId"):
        record: dict[str, Any] = {key: values[name] for name, key in _JOB_KEYS.items() if values.get(name)}
        for key in (
            "job_id",
            "array_job_id",
            "array_max_tasks",
            "priority",
            "cpus",
            "tasks",
            "het_job_id",
            "het_job_offset",
        ):
            if key in record:
                record[key] = int(record[key]) if record[key].isdigit() else record[key]
        least, _, most = values.get("NumNodes", "").partition("-")
        if least.isdigit():
            record |= {"node_count": int(least), "max_nodes": int(most) if most.isdigit() else 0}
        task = values.get("ArrayTaskId", "")
        record |= {"array_task_id": int(task)} if task.isdigit() else {"array_task_string": task}
        record["user_name"] = values.get("UserId", "").partition("(")[0]
        record["tres_req_str"] = values.get("ReqTRES") or values.get("TRES", "")
        record["tres_alloc_str"] = values.get("AllocTRES", "")
        if values.get("OverSubscribe") == "NO":
            record["shared"] = "none"
        record["time_limit"] = _minutes(values.get("TimeLimit", ""))
        for name, key in _DATES.items():
            record[key] = _seconds(values.get(name, ""), zone)
        found.append(record)
    return found


def node_records(text: str) -> list[dict[str, Any]]:
    """The nodes of `scontrol show node` as records of `sinfo --json`."""
    found: list[dict[str, Any]] = []
    for values in lines_of(text, "NodeName"):
        record: dict[str, Any] = {key: values[name] for name, key in _NODE_KEYS.items() if values.get(name)}
        for key in ("cpus", "real_memory"):
            if str(record.get(key, "")).isdigit():
                record[key] = int(record[key])
        found.append({**record, "state": values.get("State", "")})
    return found


def _seconds(text: str, zone: str) -> Any:
    """A date as the JSON of Slurm writes it; another text is returned, and refused where it is needed."""
    try:
        found = date_of(text, zone)
    except ValueError:
        return text
    return 0 if found is None else int(found)


def _minutes(text: str) -> Any:
    """A time limit `[days-]hours:minutes:seconds` in minutes; None for no limit."""
    if text in ("", "UNLIMITED", "Partition_Limit"):
        return None
    days, _, clock = text.rpartition("-")
    parts = clock.split(":")
    if len(parts) != 3 or not all(part.isdigit() for part in [*parts, days or "0"]):
        return text
    hours, minutes, seconds = (int(part) for part in parts)
    return (int(days or 0) * 24 + hours) * 60 + minutes + seconds / 60
