"""The cluster file: the driver, the model, how jobs become data, and the guard rails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.source import Span
from gsdsl_clusters.drivers.positions import Positions
from gsdsl_clusters.drivers.protocol import DrivenCluster
from gsdsl_clusters.drivers.registry import make_cluster
from gsdsl_clusters.drivers.toml_reader import WRONG, TableReader, read_toml, seconds_of
from gsdsl_clusters.drivers.value_source import COMMON_FIELDS, ValueSource, read_field, read_source

FREEZE = "freeze"  # the file in the folder that stops all actions
PATHS = ("kubeconfig", "token_file", "commands")  # entries of drivers that are paths
SECRETS = ("kubeconfig", "token_file")  # those of them that only their owner should be able to read


@dataclass(frozen=True)
class GuardSettings:
    """`changes_per_hour` limits actions. Running jobs are stopped only with `preempt`. `attempts` are those of one
    action, and `patience` observations of a released job, before its nodes are excluded for it, for `retry` seconds.
    With `checkpoints`, jobs that were put back keep their progress. With `obeys_model` no plan is carried out that
    violates a row or bound of the model.
    """

    changes_per_hour: int = 60
    preempt: bool = False
    attempts: int = 3
    patience: int = 12
    retry: float = 600.0
    checkpoints: bool = False
    obeys_model: bool = True


@dataclass(frozen=True)
class ReportSettings:
    """`methods` are compared with the cluster in a report. With `daily` a run writes one after each day."""

    methods: tuple[str, ...]
    daily: bool = False


@dataclass(frozen=True)
class DriveSettings:
    """The content of a cluster file. Paths are absolute; `interval` is in seconds. Events of values are read from the
    file `values`, if there is one.
    """

    path: Path
    model: Path
    folder: Path
    driver: str
    cluster_settings: Mapping[str, Any]
    online: str | None
    scenario: str | None
    method: str
    fallback: str | None
    time_limit: float | None
    interval: float
    start: str | None
    seed: int
    values: Path | None
    derived: Mapping[str, ValueSource]
    sources: Mapping[str, ValueSource]
    spans: Mapping[str, Span]  # of the entries of [jobs]
    jobs_span: Span
    guard: GuardSettings
    report: ReportSettings


def read_settings(path: Path, cluster: DrivenCluster | None = None) -> tuple[DriveSettings, DrivenCluster]:
    """Read a cluster file and make its cluster (or use `cluster`). Raises DiagnosticError (GSM5401, GSM5402, GSM5404)
    with everything wrong in the file.
    """
    table, source = read_toml(path)
    found, places = Diagnostics(), Positions(source)
    top = TableReader(table, (), places, found)
    name = top.need("driver", str, 'name it: `driver = "slurm"`') or ""
    model = top.need("model", str, 'name the file of the scenario: `model = "cluster.gsm"`') or ""
    folder = path.parent.resolve()
    section = _with_paths(top.get(name, dict, {}) or {}, folder)
    if cluster is None and name:
        cluster = _make_cluster(name, section, top, found)
    fields = COMMON_FIELDS | (cluster.fields if cluster is not None else frozenset())
    derived_reader, jobs_reader = top.sub("fields"), top.sub("jobs")
    derived: dict[str, ValueSource] = {}
    if cluster is not None:
        for field in derived_reader.table:
            derived[field] = read_field(derived_reader, field, folder, fields | derived.keys())
    known = fields | derived.keys()
    sources = {n: read_source(jobs_reader, n, folder, known) for n in jobs_reader.table} if cluster is not None else {}
    guard = _read_guard(top.sub("guard"))
    method, values = top.get("method", str) or "highs", top.get("values", str)
    settings = DriveSettings(
        path=path,
        model=folder / model,
        folder=folder / (top.get("folder", str) or "shadow"),
        driver=name,
        cluster_settings=section,
        online=top.get("online", str),
        scenario=top.get("scenario", str),
        method=method,
        fallback=top.get("fallback", str),
        time_limit=_positive(top, "time_limit", None),
        interval=_positive(top, "interval", 5.0) or 5.0,
        start=top.get("start", str),
        seed=top.get("seed", int, 0) or 0,
        values=None if values is None else folder / values,
        derived=derived,
        sources=sources,
        spans={n: jobs_reader.value_span(n) for n in jobs_reader.table},
        jobs_span=jobs_reader.span,
        guard=guard,
        report=_read_report(top.sub("report"), method),
    )
    top.finish()
    found.raise_if_errors()
    assert cluster is not None
    return settings, cluster


def _with_paths(section: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """The section of a driver, with its files found from the folder of the cluster file."""
    found = {key: section[key] for key in PATHS if isinstance(section.get(key), str)}
    return {**section, **{key: str(folder / Path(path).expanduser()) for key, path in found.items()}}


def _make_cluster(name: str, section: Mapping[str, Any], top: TableReader, found: Diagnostics) -> DrivenCluster | None:
    try:
        return make_cluster(name, section, top.value_span("driver"))
    except DiagnosticError as error:
        for diagnostic in error.diagnostics:
            found.add(diagnostic)
    except ValueError as wrong:  # `key: reason`
        key, _, reason = str(wrong).partition(": ")
        span = top.sub(name).value_span(key) if key in section else top.sub(name).span
        found.add(Diagnostic(WRONG, f"`{key}` {reason}", span))
    return None


def _read_guard(reader: TableReader) -> GuardSettings:
    default = GuardSettings()
    guard = GuardSettings(
        changes_per_hour=_count(reader, "changes_per_hour", default.changes_per_hour),
        preempt=bool(reader.get("preempt", bool, default.preempt)),
        attempts=_count(reader, "attempts", default.attempts),
        patience=_count(reader, "patience", default.patience),
        retry=_positive(reader, "retry", default.retry) or default.retry,
        checkpoints=bool(reader.get("checkpoints", bool, default.checkpoints)),
        obeys_model=bool(reader.get("obeys_model", bool, default.obeys_model)),
    )
    reader.finish()
    return guard


def _read_report(reader: TableReader, method: str) -> ReportSettings:
    methods = reader.get("methods", list, []) or []
    if not all(isinstance(name, str) and name for name in methods):
        reader.error("methods", "`methods` must be a list of names", 'write `methods = ["SJF", "FIFO"]`')
        methods = []
    report = ReportSettings(tuple(methods) or (method,), bool(reader.get("daily", bool, False)))
    reader.finish()
    return report


def _count(reader: TableReader, name: str, default: int) -> int:
    value = reader.get(name, int, default)
    if value is None or value < 1:
        reader.error(name, f"`{name}` must be positive")
        return default
    return value


def _positive(reader: TableReader, name: str, default: float | None) -> float | None:
    """A number of seconds."""
    value = reader.get(name, float, default)
    try:
        return None if value is None else seconds_of(value)
    except ValueError as wrong:
        reader.error(name, f"`{name}` {wrong}")
        return default
