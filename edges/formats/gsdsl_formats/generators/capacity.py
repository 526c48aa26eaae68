"""Generators of capacity planning: catalogues of VM types, jobs with due times, execution times after Amdahl's law."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpusched_dsl.data.formats.shape import Format, FormatColumn, FormatTable, Option, Raw, Setting

_CATALOGUE = Option(
    "catalogue",
    "VM types: the nine of the papers, or the six of them available at Azure",
    "full9",
    choices=("full9", "azure6"),
)
_INSTANCE = (
    Option("seed", "seed of the random numbers", 1, least=0),
    Option("jobs", "number of jobs", 40, least=1),
    Option("nodes", "number of nodes; part of the seed", 0, least=0, shown="a tenth of the jobs"),
    Option("interarrival", "mean time between arrivals", 30.0, unit="s", least=0),
    _CATALOGUE,
    Option(
        "weights",
        "range of the weights: that of 2019, 0.36 to 1.08 $/h, or that of the study of sharing, 91.44 to 159.84 $/h",
        "capacity",
        choices=("capacity", "sharing"),
    ),
)
_SOURCE = (
    "rules of Jahani et al., Optimizing on-demand GPUs in the Cloud for Deep Learning Applications Training, 2019, for "
    "prices, due times and weights; execution times are synthetic"
)


def _read(draw: str) -> Callable[[Raw | None, Mapping[str, Setting]], FormatTable]:
    def read(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
        from gsdsl_formats.generators import capacity_tables

        found: FormatTable = getattr(capacity_tables, draw)(settings)
        return found

    return read


FORMATS: Mapping[str, Format] = {
    "capacity_types": Format(
        "capacity_types",
        "The VM types of a catalogue.",
        (
            FormatColumn("type", "VM type"),
            FormatColumn("family", "model of its GPUs"),
            FormatColumn("gpus", "GPUs of a VM"),
            FormatColumn("price", "rent of a VM", "$/h"),
        ),
        _read("types"),
        (_CATALOGUE,),
        _SOURCE,
    ),
    "capacity_nodes": Format(
        "capacity_nodes",
        "Rentable nodes, numbered.",
        (FormatColumn("node", "node: `n1`, `n2`, ..."),),
        _read("nodes"),
        (Option("nodes", "number of nodes", 4, least=1),),
        _SOURCE,
    ),
    "capacity_jobs": Format(
        "capacity_jobs",
        "Jobs of four applications, with arrivals, due times and weights.",
        (
            FormatColumn("job", "job: `j1`, `j2`, ... in the order of arrival"),
            FormatColumn("application", "AlexNet, ResNet50, VGG19 or DeepSpeech, equally likely"),
            FormatColumn("framework", "PyTorch or TensorFlow, equally likely"),
            FormatColumn(
                "work",
                "time on one K80: log-uniform between the bounds of the application, times 1.1 with TensorFlow",
                "h",
            ),
            FormatColumn("submitted", "arrival: 0 for the first job, then exponential gaps", "h"),
            FormatColumn(
                "deadline", "time from arrival to due time, uniform from the shortest to twice the longest time", "h"
            ),
            FormatColumn("due", "arrival and deadline together", "h"),
            FormatColumn("weight", "price of an hour of tardiness, uniform in the range of `weights`", "$/h"),
            FormatColumn(
                "postponed_weight",
                "price of an hour of possible tardiness of a postponed job: 100 times `weight`",
                "$/h",
            ),
        ),
        _read("jobs"),
        _INSTANCE,
        _SOURCE,
    ),
    "capacity_times": Format(
        "capacity_times",
        "Execution times of the jobs of capacity_jobs with the same options, on every VM type and number of GPUs.",
        (
            FormatColumn("job", "job"),
            FormatColumn("type", "VM type"),
            FormatColumn("gpus", "GPUs of the VM that the job uses"),
            FormatColumn("time", "execution time", "h"),
        ),
        _read("times"),
        _INSTANCE,
        _SOURCE,
    ),
}
