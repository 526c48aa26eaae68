"""Jobs and pods of Kubernetes: `kubectl get jobs -o json`, `kubectl get pods -o json`, and jobs of Kubeflow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from msgspec import structs

from gpusched_dsl.data.formats.fields import LARGEST, Field, SelectedRows, rows_of
from gpusched_dsl.data.formats.jobs import COLUMNS, job_options, select_jobs
from gpusched_dsl.data.formats.shape import Format, FormatColumn, FormatTable, Option, Raw, Setting
from gpusched_dsl.data.sources.files import Fault, Unreadable, check_text
from gpusched_dsl.data.sources.json_keys import check_keys
from gpusched_dsl.language.text.numbers import count_text
from gsdsl_clusters.kubernetes_objects.requests import pod_requests
from gsdsl_clusters.kubernetes_objects.values import UnknownValue, devices

QUEUE = "kueue.x-k8s.io/queue-name"
_COLUMNS = (
    FormatColumn("job", "name; with the namespace before a `/` if several namespaces have it"),
    COLUMNS["submitted"],
    FormatColumn("gpus", "requested GPUs of all its pods"),
    FormatColumn("nodes", "pods that run at the same time"),
    COLUMNS["duration"],
    FormatColumn("status", "Complete, Failed, Running, Suspended, Pending; of pods their phase"),
    FormatColumn("vc", "namespace"),
    FormatColumn("user", "value of the label that the option `user_label` names"),
    FormatColumn("cpus", "requested CPU cores of all its pods"),
    FormatColumn("memory", "requested main memory of all its pods", "MiB"),
    FormatColumn("started", "start, on the clock of `submitted`", "s"),
    FormatColumn("ended", "end, on the clock of `submitted`", "s"),
    FormatColumn("wait", "time from `submitted` to `started`", "s"),
    FormatColumn("queue", f"queue of Kueue, the label `{QUEUE}`"),
    FormatColumn("priority", "priority class"),
    FormatColumn("owner", "of a pod, the object that controls it"),
    FormatColumn("node", "of a pod, its node"),
)
_TIMES = {"submitted": "creationTimestamp", "started": "startTime", "ended": "completionTime"}
_TEXTS = ("job", "status", "vc", "user", "queue", "priority", "owner", "node")
_NUMBERS = ("gpus", "nodes", "cpus", "memory")
_UNREAD = ("gpus_unread", "cpus_unread", "memory_unread")


def _read(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
    import polars as pl

    assert raw is not None
    found = [_row(item, settings) for item in _items(raw)]
    lines = pl.int_range(1, len(found) + 1, eager=True).to_numpy()
    words = (*_TEXTS, *_UNREAD)
    names = (*words, *_TIMES, *_NUMBERS)
    texts = {name: pl.Series(name, [row.get(name) for row in found], dtype=pl.String) for name in names}
    fields = [
        *(Field(name, (name,)) if name == "job" else Field(name, (name,), needed=False) for name in words),
        *(Field(name, (source,), needed=False) for name, source in _TIMES.items()),
        *(Field(name, (name,), "number", needed=False) for name in _NUMBERS),
    ]
    rows = rows_of(texts, lines, fields)
    rows.facts.append("rows are counted as objects of the list, the first is 1")
    notes = _leave_out_unread(rows)
    _put_times(rows)
    _name(rows)
    rows.put(rows["gpus"].cast(pl.Int64), rows["nodes"].cast(pl.Int64))
    least = int(settings["least_gpus"])
    rows.leave_out(f"fewer than {least} GPUs", rows["gpus"] < least, asked=True)
    select_jobs(rows, settings, raw.name)
    return structs.replace(rows.table(column.name for column in _COLUMNS), notes=notes)


def _leave_out_unread(rows: SelectedRows) -> tuple[str, ...]:
    """Leave out objects whose GPUs cannot be read; return how many lack another amount, with the first reason."""
    unread = rows["gpus_unread"]
    rows.leave_out("its GPUs cannot be read", unread.is_not_null(), column="resources", text=unread)
    notes = []
    for name in ("cpus", "memory"):
        reasons = rows[f"{name}_unread"].drop_nulls()
        if len(reasons):
            notes.append(f"`{name}` is empty in {count_text(len(reasons), 'row')}: {reasons[0]}")
    return tuple(notes)


def _put_times(rows: SelectedRows) -> None:
    import polars as pl

    from gpusched_dsl.data.formats.moments import midnight_before, times_of

    rows.leave_out("no submission time", rows["submitted"].is_null(), column="creationTimestamp")
    for name, source in _TIMES.items():
        times = times_of(rows[name], "UTC", "ymd")
        text = rows[name].alias("_text")
        rows.put(pl.Series(name, times.micros).set(pl.Series(~times.has_value), None), text)
        rows.put(pl.Series("_wrong", times.wrong))
        rows.leave_out(f"{source} is not a time", rows["_wrong"], column=source, text=rows["_text"])
    first = rows["submitted"].min()
    zero = midnight_before(int(first), "UTC") if isinstance(first, int) else 0
    rows.put(*(((rows[name] - zero).cast(pl.Float64) / 1e6).alias(name) for name in _TIMES))
    rows.leave_out("never started", rows["started"].is_null())
    rows.leave_out("has not ended", rows["ended"].is_null())
    rows.put((rows["ended"] - rows["started"]).alias("duration"), (rows["started"] - rows["submitted"]).alias("wait"))
    rows.leave_out("no duration", rows["duration"] <= 0)


def _name(rows: SelectedRows) -> None:
    """Put the namespace before names if two namespaces have the same name."""
    import polars as pl

    spaces = rows.frame.select(pl.col("vc").n_unique().over("job").max()).item() if rows.frame.height else 1
    if spaces is not None and spaces > 1:
        rows.put(pl.select(pl.format("{}/{}", rows["vc"].fill_null("default"), rows["job"])).to_series().alias("job"))


def _items(raw: Raw) -> list[dict[str, Any]]:
    """Return the objects of a list, or the single object; raise Unreadable (GSM2008, GSM2009, GSM2010)."""
    import msgspec

    data = check_text(raw.name, raw.data)
    if not data.strip():
        raise Unreadable(Fault("GSM2010", f"data file `{raw.name}` is empty", help="it must contain a list in JSON"))
    help = "write the file by `kubectl get jobs --all-namespaces -o json`"
    raw.limits.allow_json(data, raw.name)
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        note = str(error) or "too deeply nested"
        raise Unreadable(Fault("GSM2008", f"data file `{raw.name}` is not JSON", notes=(note,), help=help)) from None
    check_keys(raw.name, data)
    items = document.get("items", [document]) if isinstance(document, dict) else document
    found = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    if not found or not any("metadata" in item for item in found):
        empty = isinstance(items, list) and not items
        message = "has no object" if empty else "does not contain objects of Kubernetes"
        raise Unreadable(Fault("GSM2010" if empty else "GSM2008", f"data file `{raw.name}` {message}", help=help))
    return found


def _row(item: Mapping[str, Any], settings: Mapping[str, Setting]) -> dict[str, str | None]:
    """Return one object as cells of text; what is missing or of another form is empty."""
    meta, spec, status = _map(item.get("metadata")), _map(item.get("spec")), _map(item.get("status"))
    labels = {**_map(meta.get("annotations")), **_map(meta.get("labels"))}
    pods = list(_pods(item, spec))
    found = {
        "job": _text(meta.get("name")),
        "vc": _text(meta.get("namespace")),
        "user": _text(labels.get(str(settings["user_label"]))),
        "queue": _text(labels.get(QUEUE)),
        "priority": next((_text(pod.get("priorityClassName")) for _, pod in pods), None),
        "submitted": _text(meta.get("creationTimestamp")),
        "nodes": str(sum(count for count, _ in pods)),
    }
    found |= _requests(pods, str(settings["resource"]))
    return found | (_pod_status(meta, spec, status) if item.get("kind") == "Pod" else _job_status(spec, status))


def _pods(item: Mapping[str, Any], spec: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield numbers of pods with their specifications: of a pod, a Job, or the roles of a job of Kubeflow."""
    if item.get("kind") == "Pod" or "containers" in spec:
        yield 1, spec
        return
    if "template" in spec:
        parallel, total = _count(spec.get("parallelism")), _count(spec.get("completions"))
        parallel = 1 if parallel is None else parallel
        yield parallel if total is None else min(parallel, total), _template(spec)
        return
    for key, roles in spec.items():
        if key.endswith("ReplicaSpecs"):
            for role in _map(roles).values():
                replicas = _count(_map(role).get("replicas"))
                yield 1 if replicas is None else replicas, _template(_map(role))


def _template(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    return _map(_map(spec.get("template")).get("spec"))


def _requests(pods: list[tuple[int, Mapping[str, Any]]], gpu: str) -> dict[str, str | None]:
    """Return the sums of what pods reserve; of a quantity that cannot be read the reason, as `NAME_unread`."""
    found: dict[str, str | None] = {}
    for name, resource in (("gpus", gpu), ("cpus", "cpu"), ("memory", "memory")):
        try:
            found[name] = _total(pods, resource, whole=name == "gpus")
        except UnknownValue as unknown:
            found[f"{name}_unread"] = str(unknown)
    if found.get("memory") is not None:
        found["memory"] = repr(float(found["memory"] or 0.0) / 2**20)
    return found


def _total(pods: list[tuple[int, Mapping[str, Any]]], resource: str, *, whole: bool) -> str:
    total = Decimal(0)
    for count, pod in pods:
        amount = pod_requests(dict(pod), resource).get(resource, Decimal(0))
        total += count * (devices(amount) if whole else amount)
    if whole and (total > LARGEST or sum(count for count, _ in pods) > LARGEST):
        raise UnknownValue("it has more GPUs or pods than can be counted")
    return f"{total:f}"


def _job_status(spec: Mapping[str, Any], status: Mapping[str, Any]) -> dict[str, str | None]:
    held = [_map(each) for each in _list(status.get("conditions")) if _map(each).get("status") == "True"]
    last = {str(each.get("type")): _text(each.get("lastTransitionTime")) for each in held}
    done = next((name for name in ("Complete", "Succeeded", "Failed") if name in last), None)
    running = "Suspended" if spec.get("suspend") is True else "Running" if status.get("active") else "Pending"
    return {
        "started": _text(status.get("startTime")),
        "ended": _text(status.get("completionTime")) or (None if done is None else last[done]),
        "status": {"Succeeded": "Complete", None: running}.get(done, done),
    }


def _pod_status(meta: Mapping[str, Any], spec: Mapping[str, Any], status: Mapping[str, Any]) -> dict[str, str | None]:
    states = [_map(_map(each).get("state")) for each in _list(status.get("containerStatuses"))]
    ends = [_text(_map(state.get("terminated")).get("finishedAt")) for state in states]
    known = [end for end in ends if end is not None]
    owners = [_map(each) for each in _list(meta.get("ownerReferences"))]
    return {
        "started": _text(status.get("startTime")),
        "ended": max(known) if known and len(known) == len(states) else None,
        "status": _text(status.get("phase")),
        "owner": next((_text(each.get("name")) for each in owners if each.get("controller")), None),
        "node": _text(spec.get("nodeName")),
    }


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


FORMATS = MappingProxyType(
    {
        "kubernetes": Format(
            "kubernetes",
            "Jobs, pods, or jobs of Kubeflow that have ended: `kubectl get jobs -A -o json`.",
            _COLUMNS,
            _read,
            (
                Option("resource", "resource of GPUs", "nvidia.com/gpu"),
                Option("user_label", "label or annotation that names the user", "user"),
                Option("least_gpus", "only jobs with at least this number of GPUs", 1, least=0),
                *job_options([column.name for column in _COLUMNS]),
            ),
            "kubernetes.io/docs/concepts/workloads/controllers/job",
        )
    }
)
