"""Generators of GPU sharing: nodes of three models of GPU, jobs that arrive by a rate, and when their training ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpusched_dsl.data.formats.shape import Format, FormatColumn, FormatTable, Option, Raw, Setting

_OPTIONS = (
    Option("seed", "seed of the random numbers", 1, least=0),
    Option("nodes", "number of nodes", 10, least=1),
    Option("jobs", "number of jobs", 0, least=0, shown="ten a node"),
    Option("gpus", "GPUs of a node; 0: 4 or 8, equally likely", 8, least=0),
    Option(
        "mix",
        "models of GPU of the nodes: in turn, or each equally likely",
        "in_turn",
        choices=("in_turn", "random", "K80", "M60", "A100"),
    ),
    Option(
        "arrivals",
        "exponential: mean gap of 50000 s divided by the number of nodes; high: a Poisson process that would keep the "
        "share `load` of the GPUs busy; low: a quarter of its rate",
        "exponential",
        choices=("exponential", "high", "low"),
    ),
    Option("load", "share of the GPUs that high arrivals would keep busy", 0.4, least=0.001),
    Option(
        "rate_basis",
        "GPU time of a job, for high and low arrivals: on one GPU of its best model, or in its fastest way",
        "gpu_time",
        choices=("gpu_time", "fastest"),
    ),
    Option("due_extra", "relative increase of the latest due times", 0.0, least=0),
    Option("overhead", "factor on the overhead of further GPUs; 0.5 is mild", 1.0, least=0),
    Option("outcomes", "equally likely lengths drawn for each job", 10, least=1),
)
_SOURCE = (
    "Filippini, Anselmi, Ardagna, Gaujal, A Stochastic Approach for Scheduling AI Training Jobs in GPU-based Systems, "
    "2024, for rates, memory, parts of GPUs, arrivals, due times and weights; times and lengths are synthetic"
)


def _read(draw: str) -> Callable[[Raw | None, Mapping[str, Setting]], FormatTable]:
    def read(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
        from gsdsl_formats.generators import sharing_tables

        found: FormatTable = getattr(sharing_tables, draw)(settings)
        return found

    return read


def _format(name: str, doc: str, draw: str, *columns: FormatColumn) -> Format:
    return Format(name, doc, columns, _read(draw), _OPTIONS, _SOURCE)


_JOB, _GPU = FormatColumn("job", "job"), FormatColumn("gpu", "model of GPU")

FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
        _format(
            "sharing_gpus",
            "The models of GPU.",
            "gpus",
            _GPU,
            FormatColumn("memory", "memory of one GPU", "GB"),
            FormatColumn("gpus", "most GPUs of a node"),
        ),
        _format(
            "sharing_rates",
            "Cost of a node while some of its GPUs are in use.",
            "rates",
            _GPU,
            FormatColumn("gpus", "GPUs in use"),
            FormatColumn("rate", "cost of the node", "$/h"),
        ),
        _format(
            "sharing_nodes",
            "The nodes.",
            "nodes",
            FormatColumn("node", "node: `n1`, `n2`, ..."),
            _GPU,
            FormatColumn("gpus", "GPUs of the node"),
        ),
        _format(
            "sharing_shares",
            "The possible parts of a GPU for a job.",
            "shares",
            _GPU,
            FormatColumn("twentieths", "part of one GPU"),
            FormatColumn("slowdown", "speed of a job on this part of one GPU, relative to the complete GPU"),
        ),
        _format(
            "sharing_jobs",
            "The jobs: their networks, arrivals and due times.",
            "jobs",
            FormatColumn("job", "job: `j1`, `j2`, ... in the order of arrival"),
            FormatColumn("network", "AlexNet, ResNet, VGG16 or MobileNetV2, equally likely"),
            FormatColumn("batch", "batch size: 16, 32 or 64, equally likely"),
            FormatColumn("memory", "memory needed on each GPU, by network and batch size", "GB"),
            FormatColumn("submitted", "arrival", "h"),
            FormatColumn("deadline", "time from arrival to due time", "h"),
            FormatColumn("due", "arrival and deadline together", "h"),
            FormatColumn("weight", "price of a second of tardiness, uniform from 0.0254 to 0.0444", "$/s"),
            FormatColumn("max_epochs", "largest number of epochs: 100", "epoch"),
            FormatColumn("epochs", "epochs after which training really ends", "epoch"),
        ),
        _format(
            "sharing_times",
            "Execution times of all 100 epochs.",
            "times",
            _JOB,
            _GPU,
            FormatColumn("gpus", "GPUs that the job uses"),
            FormatColumn("time", "execution time of all epochs", "h"),
            FormatColumn("speed", "epochs in an hour", "epoch/h"),
        ),
        _format(
            "sharing_epochs",
            "Equally likely lengths of each job, independent of its real length.",
            "epochs",
            FormatColumn("outcome", "number of the outcome, from 1"),
            _JOB,
            FormatColumn("epochs", "epochs after which training ends", "epoch"),
            FormatColumn("probability", "probability of the outcome"),
        ),
        _format(
            "sharing_law",
            "The distribution of lengths of each network.",
            "law",
            FormatColumn("network", "network"),
            FormatColumn("epochs", "epochs after which training ends: 11 to 100", "epoch"),
            FormatColumn("probability", "probability that it ends there"),
        ),
    )
}
