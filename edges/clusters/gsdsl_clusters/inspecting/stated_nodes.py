"""The nodes of a cluster as a user states them, `20x8:a100,4x4:v100` or a table, for sources that have only jobs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from gpusched_dsl.data.formats.fields import Field, optional_field, read_rows
from gpusched_dsl.data.formats.shape import Raw, dropped_text
from gpusched_dsl.data.sources.files import DataFile, Fault, FileLimits, Unreadable, read_bytes
from gsdsl_clusters.inspecting.inferring import infer_nodes
from gsdsl_clusters.inspecting.snapshot import NODE_COLUMNS, complete

_GROUP = re.compile(r"(\d{1,7})x(\d{1,4})(?::(\S+))?")
_MOST_NODES = 100_000
_FIELDS = (
    Field("node", ("node", "name", "hostname")),
    Field("gpus", ("gpus", "gpu"), "number", least=0.0, reason="a negative number of GPUs"),
    optional_field("gpu_type", ("type", "gpu_type")),
    optional_field("rack", ("rack",)),
    optional_field("partitions", ("partition", "partitions")),
)


@dataclass(frozen=True, eq=False)
class StatedNodes:
    """A table of nodes; nodes without own names (`named` is False) get those of the records where they fit."""

    table: pl.DataFrame
    named: bool

    def for_jobs(self, jobs: pl.DataFrame, types: pl.Series | None = None) -> pl.DataFrame:
        """The nodes, with the names that the records have: the largest ones first, each on the smallest node of its
        type, or without a type, that is as large. A name that fits nowhere is left out.
        """
        if self.named or not (jobs["on_nodes"].list.len() > 0).any():
            return self.table
        seen, _ = infer_nodes(jobs, types)
        stated = self.table.sort("gpus", maintain_order=True)
        names, kinds, sizes = (stated[column].to_list() for column in ("node", "gpu_type", "gpus"))
        free = list(range(len(names)))
        for name, kind, least in seen.sort("gpus", "node", descending=[True, False]).select(
            "node", "gpu_type", "gpus"
        ).iter_rows():  # fmt: skip
            at = next((n for n in free if sizes[n] >= least and (not kind or kinds[n] in (kind, ""))), None)
            if at is not None:
                free.remove(at)
                names[at] = name
        return stated.with_columns(pl.Series("node", names))


def read_stated_nodes(text: str, limits: FileLimits) -> tuple[StatedNodes, list[str]]:
    """Read `--nodes`: groups `COUNTxGPUS[:TYPE]` with commas, or a CSV file with `node`, `gpus` and maybe `type`.

    Returns also sentences on what was left out. Raises Unreadable: GSM5602 for another form, GSM20xx for a file that
    cannot be read.
    """
    if Path(text).suffix.lower() in (".csv", ".tsv") or Path(text).is_file():
        return _read_file(text, limits)
    rows: list[dict[str, object]] = []
    for group in text.split(","):
        found = _GROUP.fullmatch(group.strip())
        if found is None or int(found[1]) < 1 or int(found[2]) < 1:
            raise _wrong(f"`{group.strip()}` is not a number of nodes and of the GPUs of each")
        if len(rows) + int(found[1]) > _MOST_NODES:
            raise _wrong(f"`{text}` has more than {_MOST_NODES:,} nodes")
        first = len(rows) + 1
        rows += [
            {"node": f"node-{first + at}", "gpus": int(found[2]), "gpu_type": found[3] or ""}
            for at in range(int(found[1]))
        ]
    return StatedNodes(complete(pl.DataFrame(rows), NODE_COLUMNS), False), []


def _read_file(text: str, limits: FileLimits) -> tuple[StatedNodes, list[str]]:
    path = Path(text)
    if not path.exists():
        raise Unreadable(Fault("GSM2001", f"data file `{text}` does not exist"))
    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    rows = read_rows(Raw(text, read_bytes(DataFile(path.resolve(), text), limits), separator, limits=limits), _FIELDS)
    rows.leave_out("the number of GPUs is not an integer", rows["gpus"] % 1 != 0, column="gpus")
    rows.leave_out("its name occurs before", ~rows["node"].is_first_distinct(), column="node")
    if not rows.frame.height:
        raise _wrong(f"data file `{text}` has no node")
    table = rows.frame
    if "partitions" in rows:
        table = table.with_columns(pl.col("partitions").fill_null("").str.split(",").list.filter(pl.element() != ""))
    return StatedNodes(complete(table, NODE_COLUMNS), True), [
        f"nodes of `{text}`: {dropped_text(each)}" for each in rows.dropped.values()
    ]


def _wrong(message: str) -> Unreadable:
    help = "state `--nodes 20x8` (20 nodes of 8 GPUs), `--nodes 20x8:a100,4x4:v100`, or a CSV file with `node`, `gpus`"
    return Unreadable(Fault("GSM5602", message, help=help))
