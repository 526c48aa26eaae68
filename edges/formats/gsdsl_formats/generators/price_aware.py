"""Generators of price-aware scheduling: jobs with windows, requests, prices, and properties of node types."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpusched_dsl.data.formats.shape import Format, FormatColumn, FormatTable, Option, Raw, Setting

_OPTIONS = (
    Option("seed", "seed of the random numbers", 1, least=0),
    Option("jobs", "number of training jobs", 175, least=0),
    Option("slots", "number of slots", 672, least=1),
    Option("slot", "length of a slot", 15.0, unit="min", least=0.001),
    Option("nodes", "nodes of each of the four types", 40, least=0),
    Option("rate", "requests of all services, mean over a day", 100_000.0, unit="request/min", least=0),
    Option("load_noise", "largest relative deviation of the requests in a slot, uniform", 0.0, least=0),
    Option("slack", "mean slack of a job, as a share of its shortest time", 0.5, least=0),
    Option("slack_deviation", "standard deviation of the slack", 0.075, least=0),
    Option("median_epochs", "median of the epochs of a job", 40.0, unit="epoch", least=1),
    Option("epochs_deviation", "standard deviation of their logarithm", 0.5, least=0),
    Option("least_epochs", "fewest epochs of a job", 8, unit="epoch", least=1),
    Option("most_epochs", "most epochs of a job", 140, unit="epoch", least=1),
    Option("iterations", "iterations of an epoch", 400, least=1),
    Option("latency_bound", "largest mean response time of all services", 0.2, unit="s", least=0),
    Option("price_mean", "mean price of a day", 24.0, unit="$/MWh", least=0),
    Option("price_swing", "amplitude of the daily wave of prices", 9.0, unit="$/MWh", least=0),
    Option("price_peak", "hour of the day at which this wave is highest", 15.0, unit="h", least=0),
    Option("price_half_day_swing", "amplitude of the half-day wave of prices", 3.0, unit="$/MWh", least=0),
    Option("price_noise", "standard deviation of a price around the waves", 1.5, unit="$/MWh", least=0),
    Option("first_hour", "hour of the day at which slot 0 begins", 0.0, unit="h", least=0),
)
_SOURCE = (
    "Kang, Lee, Kim, Cost Efficient GPU Cluster Management for Training and Inference of Deep Learning, Energies "
    "15(2), 2022, for nodes, jobs, requests and some times; the others are synthetic"
)


def _read(draw: str) -> Callable[[Raw | None, Mapping[str, Setting]], FormatTable]:
    def read(raw: Raw | None, settings: Mapping[str, Setting]) -> FormatTable:
        from gsdsl_formats.generators import price_aware_tables

        found: FormatTable = getattr(price_aware_tables, draw)(settings)
        return found

    return read


def _format(name: str, doc: str, draw: str, *columns: FormatColumn) -> Format:
    return Format(name, doc, columns, _read(draw), _OPTIONS, _SOURCE)


_TYPE, _SERVICE = FormatColumn("type", "node type"), FormatColumn("service", "service: ResNet152, VGG19 or InceptionV3")
_SLOT = FormatColumn("slot", "number of the slot, from 0")

FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
        _format(
            "price_aware_types",
            "The four node types, one GPU each.",
            "types",
            _TYPE,
            FormatColumn("nodes", "nodes of the type"),
            FormatColumn("idle_power", "power of a node that is switched on", "W"),
            FormatColumn("boot_cost", "cost of switching a node on", "$"),
        ),
        _format("price_aware_nodes", "The nodes.", "nodes", FormatColumn("node", "node: `n1`, `n2`, ..."), _TYPE),
        _format(
            "price_aware_jobs",
            "Training jobs with the window in which they may run.",
            "jobs",
            FormatColumn("job", "job: `j1`, `j2`, ..."),
            FormatColumn("network", "ResNet152, VGG19 or InceptionV3, equally likely"),
            FormatColumn("arrives", "first slot in which the job may run"),
            FormatColumn("due", "last slot without tardiness"),
            FormatColumn("epochs", "epochs to train", "epoch"),
            FormatColumn("lateness_weight", "cost of a slot that is late by one slot", "$"),
        ),
        _format(
            "price_aware_training",
            "Every job on every node type.",
            "training_times",
            FormatColumn("job", "job"),
            _TYPE,
            FormatColumn("epoch_time", "time of an epoch", "min/epoch"),
            FormatColumn("power", "power added while training", "W"),
            FormatColumn("restart_cost", "cost of starting or resuming the job", "$"),
        ),
        _format(
            "price_aware_services",
            "The services.",
            "services",
            _SERVICE,
            FormatColumn("latency_bound", "largest mean response time", "s"),
            FormatColumn("share", "share of all requests"),
        ),
        _format(
            "price_aware_serving",
            "Every service on every node type.",
            "serving_rates",
            _SERVICE,
            _TYPE,
            FormatColumn("rate", "service rate", "request/min"),
            FormatColumn("base_power", "added power of a serving node", "W"),
            FormatColumn("load_power", "added power of one request per minute", "W*min/request"),
            FormatColumn("latency_weight", "cost of one request per minute beyond the latency bound", "$*min/request"),
        ),
        _format(
            "price_aware_load",
            "Requests to each service in each slot: a daily wave with its minimum at 2:00.",
            "load",
            _SERVICE,
            _SLOT,
            FormatColumn("rate", "arriving requests", "request/min"),
        ),
        _format(
            "price_aware_prices",
            "Prices of electricity: daily waves with noise, from 2 to 50 $/MWh.",
            "prices",
            _SLOT,
            FormatColumn("time", "start of the slot", "h"),
            FormatColumn("price", "price", "$/MWh"),
            FormatColumn("forecast", "the wave without the noise", "$/MWh"),
        ),
    )
}
