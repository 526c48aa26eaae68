"""Catalogues of GPU machines for rent, with the prices of many providers."""

from __future__ import annotations

from collections.abc import Mapping

from gpusched_dsl.data.formats.shape import Format, FormatColumn, FormatTable, Option, Raw, Setting


def _read(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
    from gpusched_dsl.data.formats.cloud_prices import read_catalogue

    assert raw is not None
    return read_catalogue(raw, settings)


FORMATS: Mapping[str, Format] = {
    "cloud_prices": Format(
        "cloud_prices",
        "Machines with GPUs that can be rented, one offer a row.",
        (
            FormatColumn(
                "type", "name of the machine, made unique with cloud, number and model of its GPUs where it is not"
            ),
            FormatColumn("name", "name of the machine as the provider has it; may be empty"),
            FormatColumn("cloud", "provider"),
            FormatColumn("gpu", "model of GPU: `V100 (16 GB)`"),
            FormatColumn("arch", "architecture of the GPU"),
            FormatColumn("gpus", "GPUs of the machine"),
            FormatColumn("price", "rent of the machine by the offer that is asked for", "$/h"),
            FormatColumn("on_demand", "rent on demand", "$/h"),
            FormatColumn("spot", "rent of a machine that may be taken back; may be empty", "$/h"),
            FormatColumn("price_per_gpu", "`price` shared out among the GPUs", "$/h"),
            FormatColumn("memory", "memory of all GPUs, as the file has it", "GB"),
            FormatColumn("gpu_memory", "memory of one GPU, as its model says where it does", "GB"),
            FormatColumn("cpus", "virtual CPUs, the least where a range is stated"),
            FormatColumn("ram", "main memory, the least where a range is stated", "GB"),
        ),
        _read,
        (
            Option("cloud", "provider", "", shown="all"),
            Option("gpu", "model of GPU, with its memory or without: `V100`", "", shown="all"),
            Option("offer", "whose prices are taken", "on_demand", choices=("on_demand", "spot")),
        ),
        "github.com/the-full-stack/website, docs/cloud-gpus (MIT)",
    )
}
