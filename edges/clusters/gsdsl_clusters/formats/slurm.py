"""Accounting records of Slurm: `sacct --parsable2`, one line for each job, cells between `|`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import structs

from gpusched_dsl.data.formats.fields import Field, SelectedRows, header_of
from gpusched_dsl.data.formats.jobs import COLUMNS, job_options
from gpusched_dsl.data.formats.lines import read_lines
from gpusched_dsl.data.formats.shape import Format, FormatColumn, FormatTable, Option, Raw, Setting
from gpusched_dsl.data.sources.files import Fault, Unreadable, check_text

if TYPE_CHECKING:
    import polars as pl

_UNKNOWN = ("Unknown", "None", "N/A", "INVALID", "(null)")
# The columns of the format, and the fields of sacct that can give them, best first.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "job": ("JobID", "JobIDRaw"),
    "submitted": ("Submit",),
    "eligible": ("Eligible",),
    "started": ("Start",),
    "ended": ("End",),
    "elapsed": ("ElapsedRaw", "Elapsed"),
    "limit": ("TimelimitRaw", "Timelimit"),
    "status": ("State",),
    "user": ("User",),
    "account": ("Account",),
    "vc": ("Partition",),
    "qos": ("QOS",),
    "name": ("JobName",),
    "priority": ("Priority",),
    "allocated": ("AllocTRES", "AllocGRES"),
    "requested_tres": ("ReqTRES", "ReqGRES"),
    "nnodes": ("NNodes", "AllocNodes", "ReqNodes"),
    "ncpus": ("AllocCPUS", "NCPUS", "ReqCPUS"),
}
_NEEDED = ("job", "submitted")
_COLUMNS = (
    *(COLUMNS[name] for name in ("job", "submitted", "gpus", "nodes", "duration")),
    FormatColumn("status", "final state, such as COMPLETED, without `by UID`"),
    FormatColumn("vc", "partition"),
    *(COLUMNS[name] for name in ("user", "cpus", "memory", "gpu_types")),
    FormatColumn("started", "start, on the clock of `submitted`", "s"),
    FormatColumn("ended", "end, on the clock of `submitted`", "s"),
    FormatColumn("wait", "time from `submitted` to `started`", "s"),
    FormatColumn("requested", "time limit; empty: none", "s"),
    FormatColumn("account", "account that is charged"),
    FormatColumn("qos", "quality of service"),
    FormatColumn("name", "name of the job"),
    FormatColumn("weight", "priority at the end, as a number of Slurm"),
)
_MEMORY = {"": 1.0, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
_WORTH = (
    "sacct --parsable2 --allocations --format=JobID,User,Account,Partition,Submit,Start,End,ElapsedRaw,State,AllocTRES"
)


def _read(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
    from gpusched_dsl.data.formats.jobs import select_jobs

    assert raw is not None
    rows = sacct_rows(raw, str(settings["separator"]))
    drop_steps(rows)
    _put_times(rows, settings)
    _put_resources(rows, int(settings["least_gpus"]))
    select_jobs(rows, settings, raw.name)
    return rows.table(column.name for column in _COLUMNS)


def sacct_rows(raw: Raw, separator: str, more: Mapping[str, tuple[str, ...]] = MappingProxyType({})) -> SelectedRows:
    """Read lines without quoting, which sacct does not have, as texts in the columns of `_FIELDS` and `more`.

    Raises Unreadable (GSM2011 for another form).
    """
    fields_of = {**_FIELDS, **more}
    header = header_of(raw, separator)
    if header[-1] == "":  # `--parsable` ends lines with the separator
        header[-1] = "(end)"
    found = {name: next((s for s in sources if s in header), None) for name, sources in fields_of.items()}
    missing = [name for name in _NEEDED if found[name] is None]
    if missing:
        shown = ", ".join(f"`{column}`" for column in header[:20])
        raise Unreadable(
            *(
                Fault(
                    "GSM2011",
                    f"data file `{raw.name}` has no column `{_FIELDS[name][0]}`, needed for `{name}` of its format",
                    notes=(f"its columns are {shown}",),
                    help=f"write the file by `{_WORTH}`",
                )
                for name in missing
            )
        )
    text = check_text(raw.name, raw.data)
    first = len(text) - len(text.lstrip())
    start, end = text.rfind(b"\n", 0, first) + 1, text.find(b"\n", first)
    text = text[:start] + (b"" if end < 0 else text[end:])  # blank lines count and mean nothing
    names = {source: name for name, source in found.items() if source is not None}
    layout = tuple(names.get(column, f"({at})") for at, column in enumerate(header))
    fields = [
        Field(name, (found[name] or name,), "number" if name == "priority" else "text", needed=False, unknown=_UNKNOWN)
        for name in fields_of
    ]
    return read_lines(structs.replace(raw, data=text), {len(header): layout}, fields, separator)


def drop_steps(rows: SelectedRows) -> None:
    """Keep jobs, not their steps (`7.batch`), and of a job that ran several times the last attempt."""
    import polars as pl

    rows.leave_out("no job", rows["job"].is_null(), column="JobID")
    rows.leave_out("step of a job", rows["job"].str.contains(".", literal=True), asked=True)
    last = rows.frame.select(~pl.col("job").is_last_distinct()).to_series()
    if last.any():
        first = rows.frame.select(pl.col("submitted").first().over("job")).to_series()
        rows.put(first.alias("submitted"))
        rows.leave_out("earlier attempt of a requeued job", last, asked=True)
    integers = rows["job"].str.contains(r"^[1-9][0-9]{0,17}$").all()
    rows.put(rows["job"].cast(pl.Int64) if integers else rows["job"])
    if "status" in rows:
        rows.put(rows["status"].str.replace(r" by .*$", "").str.replace(r"\+$", ""))


def _put_times(rows: SelectedRows, settings: Mapping[str, Setting]) -> None:
    import polars as pl

    from gpusched_dsl.data.formats.moments import midnight_before, of_one_job, seconds_of, times_of

    zone = str(settings["timezone"])
    rows.leave_out("no submission time", rows["submitted"].is_null(), column="Submit")
    names = [name for name in ("submitted", "started", "ended") if name in rows]
    found = {name: times_of(rows[name], zone, "ymd") for name in names}
    dated = any(times.dated for times in found.values())
    moments = of_one_job(found, seconds_of(with_hours(rows["elapsed"]))[0] if "elapsed" in rows else None)
    for name, times in found.items():
        known = pl.Series(times.has_value)
        rows.put(rows[name].alias(f"_{name} text"), pl.Series(name, moments[name]).set(~known, None))
        rows.put(pl.Series(f"_{name} wrong", times.wrong), pl.Series(f"_{name} skipped", times.skipped))
    for name in names:
        source, cells = _FIELDS[name][0], f"_{name} text"
        rows.leave_out(f"{source} is not a time", rows[f"_{name} wrong"], column=source, text=rows[cells])
        rows.leave_out(f"{source} does not exist in {zone}", rows[f"_{name} skipped"], column=source, text=rows[cells])
    first = rows["submitted"].min()
    zero = midnight_before(int(first), zone) if dated and isinstance(first, int) else 0
    rows.put(*(((rows[name] - zero).cast(pl.Float64) / 1e6).alias(name) for name in names))
    for name, target in (("elapsed", "duration"), ("limit", "requested")):
        if name not in rows:
            continue
        text = rows[name].set(rows[name].is_in(["UNLIMITED", "Partition_Limit"]), None)
        scale = 60.0 if name == "limit" else 1.0
        values, wrong = seconds_of(with_hours(text), scale)
        rows.put(pl.Series(target, values, nan_to_null=True), text.alias("_text"), pl.Series("_wrong", wrong))
        source = _FIELDS[name][1]
        rows.leave_out(f"{source} is not a length of time", rows["_wrong"], column=source, text=rows["_text"])
    if "duration" not in rows and {"started", "ended"} <= set(names):
        rows.put((rows["ended"] - rows["started"]).alias("duration"))
    if "started" in rows:
        rows.leave_out("never started", rows["started"].is_null())
        rows.put((rows["started"] - rows["submitted"]).clip(0.0).alias("wait"))
    if "duration" in rows:
        rows.leave_out("no duration", rows["duration"].is_null() | (rows["duration"] <= 0))


def with_hours(text: pl.Series) -> pl.Series:
    """Return `05:00` as `00:05:00` and `1-02` as `1-02:00:00`, as sacct means them."""
    clock = text.str.replace(r"^(\d+:\d+(?:\.\d+)?)$", "0:${1}")
    return clock.str.replace(r"^(\d+-\d+)$", "${1}:0:0").str.replace(r"^(\d+-\d+:\d+)$", "${1}:0")


def _put_resources(rows: SelectedRows, least: int) -> None:
    """Read GPUs, nodes, CPUs and memory from the allocated resources, or the requested ones without these."""
    import polars as pl

    given = [rows[name] for name in ("allocated", "requested_tres") if name in rows]
    if given:
        resources = given[0]
        for other in given[1:]:
            resources = resources.zip_with(resources.is_not_null(), other)
        resources = resources.fill_null("")
        rows.put(gpus_of(resources).alias("gpus"), types_of(resources).alias("gpu_types"))
        found = resources.str.extract_groups(r"(?:^|,)mem=([\d.]+)([KMGTP]?)").struct.unnest().get_columns()
        scale = found[1].replace_strict(_MEMORY, default=None, return_dtype=pl.Float64)
        rows.put((found[0].cast(pl.Float64, strict=False) * scale).alias("memory"))
    for name, key, field in (("nodes", "node", "nnodes"), ("cpus", "cpu", "ncpus")):
        stated = resources.str.extract(rf"(?:^|,){key}=(\d+)", 1) if given else None
        cells = [each for each in (stated, rows[field] if field in rows.frame.columns else None) if each is not None]
        if cells:
            found_cells = pl.select(pl.coalesce(cells)).to_series()
            rows.put(found_cells.cast(pl.Float64, strict=False).cast(pl.Int64, strict=False).alias(name))
    if "gpus" in rows:
        rows.leave_out(f"fewer than {least} GPUs", rows["gpus"] < least, asked=True)
    if "priority" in rows:
        rows.put(rows["priority"].alias("weight"))


def gpus_of(resources: pl.Series) -> pl.Series:
    """Return the number of GPUs: `gres/gpu=4`, else the sum of `gres/gpu:a100=2`; also `gpu:2` of older versions."""
    import polars as pl

    total = resources.str.extract(r"(?:^|,)gres/gpu=(\d+)", 1).cast(pl.Int64)
    by_type = _sums(resources, r"(?:^|,)gres/gpu:[^=,]+=(\d+)")
    older = _sums(resources, r"(?:^|,)(?:gres:)?gpu(?::[^:=,()]+)?:(\d+)")
    return pl.select(pl.coalesce(total, by_type, older, pl.lit(0))).to_series().cast(pl.Int64)


def _sums(resources: pl.Series, pattern: str) -> pl.Series:
    import polars as pl

    found = resources.str.extract_all(pattern)
    numbers = found.list.eval(pl.element().str.extract(r"(\d+)$", 1).cast(pl.Int64))
    return numbers.list.sum().set(found.list.len() == 0, None)


def types_of(resources: pl.Series) -> pl.Series:
    import polars as pl

    found = resources.str.extract_all(r"gpu:[^:=,()]*[a-zA-Z][^:=,()]*[=:]\d+")
    names = found.list.eval(pl.element().str.extract(r"gpu:([^:=,()]+)", 1)).list.unique(maintain_order=True)
    joined = names.list.join("|")
    return joined.set(joined == "", None)


def _options(names: Sequence[str]) -> tuple[Option, ...]:
    return (
        Option("timezone", "time zone of the times, by its name: `Europe/Berlin`", "UTC"),
        Option("separator", "text between cells", "|"),
        Option("least_gpus", "only jobs with at least this number of GPUs", 1, least=0),
        *job_options(names),
    )


FORMATS = MappingProxyType(
    {
        "sacct": Format(
            "sacct",
            "Jobs in the accounting records of Slurm: `sacct --parsable2 --format=...`; steps are left out.",
            _COLUMNS,
            _read,
            _options([column.name for column in _COLUMNS]),
            "slurm.schedmd.com/sacct.html",
        )
    }
)
