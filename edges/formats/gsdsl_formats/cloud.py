"""Catalogues of GPU machines for rent, with the prices of many providers."""

from __future__ import annotations

from collections.abc import Mapping

from gpusched_dsl.data.formats.separators import TEXT_OPTIONS
from gpusched_dsl.data.formats.shape import Format, FormatColumn, FormatTable, Option, Raw, Setting


def _read(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
    from gsdsl_formats.cloud_prices import read_catalogue

    assert raw is not None
    return read_catalogue(raw, settings)


FORMATS: Mapping[str, Format] = {
    "cloud_prices": Format(
        "cloud_prices",
        "Machines with GPUs for rent, one offer per row.",
        (
            FormatColumn(
                "type", "unique name of the machine; if necessary, cloud, number and model of its GPUs are appended"
            ),
            FormatColumn("name", "name of the machine of the provider; may be empty"),
            FormatColumn("cloud", "provider"),
            FormatColumn("gpu", "model of GPU: `V100 (16 GB)`"),
            FormatColumn("arch", "architecture of the GPU"),
            FormatColumn("gpus", "GPUs of the machine"),
            FormatColumn("price", "rent of the machine by the chosen offer", "$/h"),
            FormatColumn("on_demand", "rent on demand", "$/h"),
            FormatColumn("spot", "rent of a preemptible (spot) machine; may be empty", "$/h"),
            FormatColumn("price_per_gpu", "`price` divided by the number of GPUs", "$/h"),
            FormatColumn("memory", "memory of all GPUs, from the file", "GB"),
            FormatColumn("gpu_memory", "memory of one GPU, from the name of its model if it is there", "GB"),
            FormatColumn("cpus", "virtual CPUs; of a range, the smallest number"),
            FormatColumn("ram", "main memory; of a range, the smallest number", "GB"),
        ),
        _read,
        (
            Option("cloud", "provider", "", shown="all"),
            Option("gpu", "model of GPU, with or without its memory: `V100`", "", shown="all"),
            Option("offer", "type of the prices", "on_demand", choices=("on_demand", "spot")),
            *TEXT_OPTIONS,
        ),
        "github.com/the-full-stack/website, docs/cloud-gpus (MIT)",
    )
}
