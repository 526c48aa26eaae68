"""`gsdsl inspect` on made records of sacct: CPU seconds and the peak of memory, of reading alone and of the whole.

    python -m benchmarks.inspect_records [ROWS ...]

The first run after an installation also compiles the kernel of queues. 400 nodes of 8 GPUs and two types, jobs of 60
days on up to four nodes, in partition, account and user as a site has them.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

NODES, NOW, DAYS = 400, 1_796_000_000, 60
LIMIT_SECONDS, LIMIT_GIB = 20.0, 1.0  # for 100,000 rows


def write_records(path: Path, rows: int) -> None:
    """Write records of jobs that ended, run and wait."""
    random = np.random.default_rng(1)
    submit = np.sort(random.integers(NOW - DAYS * 86_400, NOW, rows))
    each = random.choice([1, 2, 4, 8], rows, p=[0.4, 0.3, 0.2, 0.1])
    nodes = np.where(each == 8, random.choice([1, 2, 4], rows, p=[0.8, 0.15, 0.05]), 1)
    length = np.exp(random.normal(8.2, 1.5, rows)).astype(np.int64) + 30
    start = submit + random.exponential(1800, rows).astype(np.int64) * (random.random(rows) < 0.6)
    node = random.integers(0, NODES - 4, rows)
    state = np.where(start > NOW, "PENDING", np.where(start + length > NOW, "RUNNING", "COMPLETED"))
    table = pl.DataFrame({
        "id": np.arange(1, rows + 1), "submit": submit, "start": start, "end": start + length, "each": each,
        "nodes": nodes, "node": node, "state": state, "limit": (length // 30) + 60,
    }).with_columns(total=pl.col("each") * pl.col("nodes"))  # fmt: skip
    waits, ended = pl.col("state") == "PENDING", pl.col("state") == "COMPLETED"
    kind = pl.when(pl.col("node") < NODES // 2).then(pl.lit("a100")).otherwise(pl.lit("h100"))
    total = pl.col("total")
    asked = pl.format("cpu={},gres/gpu={},mem={}G,node={}", total * 8, total, total * 60, "nodes")
    used = pl.format("cpu={},gres/gpu:{}={},gres/gpu={},node={}", total * 8, kind, total, total, "nodes")
    last = pl.col("node") + pl.col("nodes") - 1

    def date(name: str, known: pl.Expr) -> pl.Expr:
        shown = pl.from_epoch(pl.col(name), time_unit="s").dt.strftime("%Y-%m-%dT%H:%M:%S")
        return pl.when(known).then(shown).otherwise(pl.lit("Unknown"))

    table.select(
        JobID="id", JobName=pl.format("job{}", pl.col("id") % 50), User=pl.format("u{}", pl.col("id") % 300),
        Account=pl.format("t{}", pl.col("id") % 20), Partition=pl.lit("gpu"), QOS=pl.lit("normal"), State="state",
        Submit=date("submit", pl.lit(True)), Eligible=date("submit", pl.lit(True)), Start=date("start", ~waits),
        End=date("end", ended),
        ElapsedRaw=pl.when(waits).then(0).otherwise(pl.min_horizontal("end", pl.lit(NOW)) - pl.col("start")),
        TimelimitRaw="limit", Priority=1000 + pl.col("id") % 100, ReqTRES=asked,
        AllocTRES=pl.when(waits).then(pl.lit("")).otherwise(used), NNodes="nodes",
        NodeList=pl.when(waits).then(pl.lit("None assigned")).otherwise(pl.format("g[{}-{}]", "node", last)),
        Reason=pl.when(waits).then(pl.lit("Priority")).otherwise(pl.lit("None")),
    ).write_csv(path, separator="|", quote_style="never")  # fmt: skip


def measure(rows: int) -> tuple[float, float, float]:
    """CPU seconds of reading and of the whole command, and the peak of its memory (GiB)."""
    from gpusched_dsl.data.sources.files import FileLimits
    from gsdsl_clusters.inspecting.reading import read_snapshot

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sacct.txt"
        write_records(path, rows)
        begin = time.process_time()
        found = read_snapshot(str(path), FileLimits(allow_outside=True))
        reading = time.process_time() - begin
        assert found.jobs.height == rows
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "gpusched_dsl", "inspect", str(path)]
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return reading, whole, after.ru_maxrss / 1024**2


def main(arguments: Sequence[str]) -> int:
    """Print a line for each number of rows; 1 if 100,000 rows exceed their limits."""
    good = True
    for rows in [int(text) for text in arguments] or [10_000, 100_000]:
        reading, whole, memory = measure(rows)
        print(f"{rows:>9,} rows: read in {reading:.1f} CPU s, whole {whole:.1f} CPU s, {memory:.2f} GiB")
        good &= rows > 100_000 or (whole <= LIMIT_SECONDS and memory <= LIMIT_GIB)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
