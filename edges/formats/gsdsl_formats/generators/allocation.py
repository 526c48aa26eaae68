"""Generators of the allocation of jobs to queues of GPUs: three GPUs, and the profile of every job on each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpusched_dsl.data.formats.shape import Format, FormatColumn, FormatTable, Option, Raw, Setting

_OPTIONS = (
    Option("seed", "seed of the random numbers", 1, least=0),
    Option("jobs", "number of jobs; after 96 the combinations of settings are repeated", 96, least=0),
    Option("error", "standard deviation of the logarithm of a prediction", 0.1, least=0),
    Option("order", "of the settings: random, or that of the table, by network", "random", choices=("random", "table")),
    Option(
        "networks", "what predictions know: the network of a job (seen), or not", "seen", choices=("seen", "unseen")
    ),
)
_SOURCE = (
    "Ferrino, Choe, Efficient GPU job allocation in Cloud using the predicted CPU and GPU usage properties, African "
    "Journal of Biological Sciences 6(9), 2024, for GPUs and settings of jobs; times and uses are synthetic"
)


def _read(draw: str) -> Callable[[Raw | None, Mapping[str, Setting]], FormatTable]:
    def read(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
        from gsdsl_formats.generators import allocation_tables

        found: FormatTable = getattr(allocation_tables, draw)(settings)
        return found

    return read


_TYPE = FormatColumn("type", "GPU model: GTX1080, RTX2070 or TitanX")
_RESOURCES = (
    ("gpu_util", "use of the GPU", "%"),
    ("gpu_mem_util", "use of the memory bandwidth of the GPU", "%"),
    ("gpu_mem", "memory of the GPU", "MB"),
    ("cpu_util", "use of the CPU", "%"),
)

FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
        Format(
            "allocation_gpus",
            "The three machines, one GPU each.",
            (FormatColumn("gpu", "machine, named after its GPU"), _TYPE),
            _read("gpus"),
            _OPTIONS,
            _SOURCE,
        ),
        Format(
            "allocation_profiles",
            "Every job on every GPU model.",
            (
                FormatColumn("job", "job: `j1`, `j2`, ..."),
                _TYPE,
                FormatColumn("fits", "0: the job does not fit into the memory of the GPU"),
                FormatColumn("exec_time", "predicted execution time", "s"),
                FormatColumn("actual_time", "execution time", "s"),
                *(
                    FormatColumn(f"{name}_{part}", f"{text}: {words}, in {unit}")
                    for name, text, unit in _RESOURCES
                    for part, words in (
                        ("burst", "mean of the upper samples"),
                        ("peak", "mean of the samples above 90 % of the maximum, 0 without any"),
                    )
                ),
            ),
            _read("profiles"),
            _OPTIONS,
            _SOURCE,
        ),
    )
}
