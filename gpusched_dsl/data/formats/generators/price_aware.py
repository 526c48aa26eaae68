"""Generators of price-aware scheduling: jobs with windows, requests, prices, and what nodes of each type do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpusched_dsl.data.formats.shape import Column, Format, Option, Raw, Setting, Table

_OPTIONS = (
    Option("seed", "of the random numbers", 1, least=0),
    Option("jobs", "number of training jobs", 175, least=0),
    Option("slots", "number of slots", 672, least=1),
    Option("slot", "length of a slot", 15.0, unit="min", least=0.001),
    Option("nodes", "nodes of each of the four types", 40, least=0),
    Option("rate", "requests of all services, mean of a day", 100_000.0, unit="request/min", least=0),
    Option("load_noise", "largest relative deviation of the requests in a slot, uniform", 0.0, least=0),
    Option("slack", "mean slack of a job, as a share of its shortest time", 0.5, least=0),
    Option("slack_deviation", "standard deviation of the slack", 0.075, least=0),
    Option("median_epochs", "median of the epochs of a job", 40.0, unit="epoch", least=1),
    Option("epochs_deviation", "standard deviation of their logarithm", 0.5, least=0),
    Option("least_epochs", "fewest epochs of a job", 8, unit="epoch", least=1),
    Option("most_epochs", "most epochs of a job", 140, unit="epoch", least=1),
    Option("iterations", "iterations of an epoch", 400, least=1),
    Option("latency_bound", "largest mean response time of all services", 0.2, unit="s", least=0),
    Option("price_noise", "standard deviation of a price around the wave of the day", 1.5, unit="$/MWh", least=0),
    Option("first_hour", "hour of the day at which slot 0 begins", 0.0, unit="h", least=0),
)
_SOURCE = (
    "Kang, Lee, Kim, Cost Efficient GPU Cluster Management for Training and Inference of Deep Learning, Energies "
    "15(2), 2022, for nodes, jobs, requests and some times; the others are synthetic"
)


def _read(draw: str) -> Callable[[Raw | None, Mapping[str, Setting]], Table]:
    def read(raw: Raw | None, settings: Mapping[str, Setting]) -> Table:
        from gpusched_dsl.data.formats.generators import price_aware_tables

        found: Table = getattr(price_aware_tables, draw)(settings)
        return found

    return read


def _format(name: str, doc: str, draw: str, *columns: Column) -> Format:
    return Format(name, doc, columns, _read(draw), _OPTIONS, _SOURCE)


_TYPE, _SERVICE = Column("type", "node type"), Column("service", "service: ResNet152, VGG19 or InceptionV3")
_SLOT = Column("slot", "number of the slot, from 0")

FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
        _format(
            "price_aware_types",
            "The four node types, one GPU each.",
            "types",
            _TYPE,
            Column("nodes", "nodes of the type"),
            Column("idle_power", "power of a node that is on", "W"),
            Column("boot_cost", "cost of switching a node on", "$"),
        ),
        _format("price_aware_nodes", "The nodes.", "nodes", Column("node", "node: `n1`, `n2`, ..."), _TYPE),
        _format(
            "price_aware_jobs",
            "Training jobs with the window in which they may run.",
            "jobs",
            Column("job", "job: `j1`, `j2`, ..."),
            Column("network", "ResNet152, VGG19 or InceptionV3, equally likely"),
            Column("arrives", "first slot in which the job may run"),
            Column("due", "last slot that is still in time"),
            Column("epochs", "epochs to train", "epoch"),
            Column("lateness_weight", "of a slot that is late by one slot", "$"),
        ),
        _format(
            "price_aware_training",
            "Every job on every node type.",
            "training",
            Column("job", "job"),
            _TYPE,
            Column("epoch_time", "time of an epoch", "min/epoch"),
            Column("power", "power added while training", "W"),
            Column("restart_cost", "cost of starting or resuming the job", "$"),
        ),
        _format(
            "price_aware_services",
            "The services.",
            "services",
            _SERVICE,
            Column("latency_bound", "largest mean response time", "s"),
            Column("share", "share of all requests"),
        ),
        _format(
            "price_aware_serving",
            "Every service on every node type.",
            "serving",
            _SERVICE,
            _TYPE,
            Column("rate", "service rate", "request/min"),
            Column("base_power", "power added by serving at all", "W"),
            Column("load_power", "power added by a request per minute", "W*min/request"),
            Column("latency_weight", "of a request per minute beyond the latency bound", "$*min/request"),
        ),
        _format(
            "price_aware_load",
            "Requests to each service in each slot: a wave over the day, least at 2:00.",
            "load",
            _SERVICE,
            _SLOT,
            Column("rate", "requests that arrive", "request/min"),
        ),
        _format(
            "price_aware_prices",
            "Prices of electricity: waves over the day with noise, from 2 to 50 $/MWh.",
            "prices",
            _SLOT,
            Column("time", "start of the slot", "h"),
            Column("price", "price", "$/MWh"),
            Column("forecast", "the wave without the noise", "$/MWh"),
        ),
    )
}
