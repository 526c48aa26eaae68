"""A table of samples to a table of profiles: one row for each pair of job and GPU model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gpusched_dsl.data.labels import has_values, texts
from gpusched_dsl.data.short_columns import as_series
from gpusched_dsl.ir.arrays import Floats
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.profiles.columns import GPU, JOB, MEMORY, RESOURCES
from gpusched_dsl.profiles.samples import TWO_MEANS, parts_of, peak_of
from gpusched_dsl.profiles.sheets import numbers_of, read_sheet, report_cells

if TYPE_CHECKING:
    import polars as pl

PERCENT = 100.0
IN_MB = "gpu_mem"


def summarise(
    samples: Path, diagnostics: Diagnostics, *, split: str = TWO_MEANS, gpus: Path | None = None
) -> pl.DataFrame | None:
    """Compute burst, idle and peak of every resource of the samples; None after an error (GSM2301, GSM2304).

    One row of samples has `job_id`, `gpu_type` and some of `gpu_util`, `gpu_mem_util`, `cpu_util` (percent) and
    `gpu_mem` (MB). The peak of memory needs the capacity of the GPU models (`gpus`, with `memory_mb`) and is empty
    without. An empty cell is no sample. Raises DiagnosticError (GSM20xx).
    """
    import polars as pl

    file = read_sheet(samples, (JOB, GPU))
    resources = [resource for resource in RESOURCES if resource in file.columns]
    if not resources:
        diagnostics.error(
            "GSM2304",
            f"`{file.name}` has no column of a resource",
            help=f"give at least one of the columns {', '.join(f'`{r}`' for r in RESOURCES)}",
        )
        return None
    if not file.rows:
        diagnostics.error("GSM2304", f"`{file.name}` has no samples", help="give a row for each sample")
        return None
    for column in (JOB, GPU):
        report_cells(file, column, ~has_values(file.columns[column]), "is empty", diagnostics)
    read = {resource: numbers_of(file, resource, diagnostics, least=0.0) for resource in resources}
    if diagnostics.has_errors:
        return None
    keys = pl.DataFrame({column: as_series(texts(file.columns[column])) for column in (JOB, GPU)})
    pairs = keys.unique(maintain_order=True)
    group = keys.join(pairs.with_row_index("pair"), on=[JOB, GPU], how="left", maintain_order="left")["pair"]
    codes = group.to_numpy().astype(np.int64)
    capacity = _capacity(gpus, pairs[GPU].to_list(), diagnostics)
    if diagnostics.has_errors:
        return None
    for resource, values in read.items():
        most = capacity if resource == IN_MB else np.full(pairs.height, PERCENT)
        has_value = np.isfinite(values)
        if not has_value.any():
            continue
        present, among = np.unique(codes[has_value], return_inverse=True)
        burst, idle = parts_of(among, values[has_value], len(present), split)
        columns = {"burst": burst, "idle": idle, "peak": peak_of(among, values[has_value], most[present])}
        for part, found in columns.items():
            column_values = np.full(pairs.height, np.nan)
            column_values[present] = found
            pairs = pairs.with_columns(pl.Series(f"{resource}_{part}", column_values).fill_nan(None))
    return pairs


def _capacity(gpus: Path | None, types: list[str], diagnostics: Diagnostics) -> Floats:
    """Memory of the GPU model of every pair, NaN where it is not given."""
    if gpus is None:
        return np.full(len(types), np.nan)
    machines = read_sheet(gpus, (GPU, MEMORY))
    sizes = numbers_of(machines, MEMORY, diagnostics, least=0.0)
    of_type = dict(zip(texts(machines.columns[GPU]).to_list(), sizes.tolist(), strict=True))
    return np.array([of_type.get(name, np.nan) for name in types])
