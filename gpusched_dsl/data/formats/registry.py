"""The formats and generators there are, by name; each is imported only when it is used."""

from __future__ import annotations

from importlib import import_module
from types import MappingProxyType

from gpusched_dsl.data.formats.shape import Format

# name: module below gpusched_dsl.data.formats, which has it as FORMATS[name]
READERS = MappingProxyType[str, str](
    {
        "chronus": "deadlines",
        "chronus_values": "deadlines",
        "cloud_prices": "cloud",
        "dayahead_countries": "prices",
        "elasticflow": "deadlines",
        "elasticflow_throughputs": "throughputs",
        "entsoe": "prices",
        "epf": "prices",
        "gavel": "training",
        "gavel_colocated": "throughputs",
        "gavel_throughputs": "throughputs",
        "gpuspb_jobs": "deadlines",
        "gpuspb_nodes": "deadlines",
        "gpuspb_times": "deadlines",
        "helios": "clusters",
        "nyiso": "prices",
        "openb_nodes": "clusters",
        "openb_pods": "clusters",
        "pai": "clusters",
        "philly": "clusters",
        "prices": "prices",
        "shockwave": "training",
        "sia": "training",
        "sia_placements": "throughputs",
        "sia_scalability": "throughputs",
        "swf": "swf",
        "tiresias": "training",
        "tiresias_nodes": "training",
    }
)
GENERATORS = MappingProxyType[str, str](
    {
        "capacity_jobs": "generators.capacity",
        "capacity_nodes": "generators.capacity",
        "capacity_times": "generators.capacity",
        "capacity_types": "generators.capacity",
        "price_aware_jobs": "generators.price_aware",
        "price_aware_load": "generators.price_aware",
        "price_aware_nodes": "generators.price_aware",
        "price_aware_prices": "generators.price_aware",
        "price_aware_services": "generators.price_aware",
        "price_aware_serving": "generators.price_aware",
        "price_aware_training": "generators.price_aware",
        "price_aware_types": "generators.price_aware",
        "sharing_epochs": "generators.sharing",
        "sharing_gpus": "generators.sharing",
        "sharing_jobs": "generators.sharing",
        "sharing_law": "generators.sharing",
        "sharing_nodes": "generators.sharing",
        "sharing_rates": "generators.sharing",
        "sharing_shares": "generators.sharing",
        "sharing_times": "generators.sharing",
    }
)


def reader(name: str) -> Format:
    """The format of files of this name; raises KeyError."""
    return _named(READERS[name], name)


def generator(name: str) -> Format:
    """The generator of this name; raises KeyError."""
    return _named(GENERATORS[name], name)


def _named(module: str, name: str) -> Format:
    found: Format = import_module(f"gpusched_dsl.data.formats.{module}").FORMATS[name]
    return found
