"""The formats and generators there are, by name; each is imported only when it is used.

Other packages add them by entry points of the groups `gpusched_dsl.formats` and `gpusched_dsl.generators`: the name of
a format, and the `Format`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from gpusched_dsl.data.formats.shape import Format
from gpusched_dsl.language.entry_points import entry_points, load_entry_points

FORMATS_GROUP, GENERATORS_GROUP = "gpusched_dsl.formats", "gpusched_dsl.generators"

# name: module below gpusched_dsl.data.formats, which has it as FORMATS[name]
READERS = MappingProxyType[str, str](
    {
        "acme": "recent_clusters",
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
        "genai_requests": "recent_clusters",
        "gpuspb_jobs": "deadlines",
        "gpuspb_nodes": "deadlines",
        "gpuspb_times": "deadlines",
        "helios": "clusters",
        "jobs": "own",
        "kubernetes": "kubernetes",
        "nyiso": "prices",
        "openb_nodes": "clusters",
        "openb_pods": "clusters",
        "pai": "clusters",
        "philly": "clusters",
        "philly_attempts": "clusters",
        "prices": "prices",
        "sacct": "slurm",
        "shockwave": "training",
        "sia": "training",
        "sia_placements": "throughputs",
        "sia_scalability": "throughputs",
        "spot_gpu": "recent_clusters",
        "spot_gpu_nodes": "recent_clusters",
        "swf": "swf",
        "table": "own",
        "tiresias": "training",
        "tiresias_nodes": "training",
    }
)
GENERATORS = MappingProxyType[str, str](
    {
        "allocation_gpus": "generators.allocation",
        "allocation_profiles": "generators.allocation",
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


def names(generated: bool) -> tuple[str, ...]:
    """The formats of files, or the generators, there are. Imports none of them."""
    own, group = (GENERATORS, GENERATORS_GROUP) if generated else (READERS, FORMATS_GROUP)
    return tuple(sorted({*own, *entry_points(group)}))


def reader(name: str) -> Format:
    """The format of files of this name; raises KeyError."""
    return _find(READERS, FORMATS_GROUP, name)


def generator(name: str) -> Format:
    """The generator of this name; raises KeyError."""
    return _find(GENERATORS, GENERATORS_GROUP, name)


def _find(own: Mapping[str, str], group: str, name: str) -> Format:
    if name not in own:
        return load_entry_points(group, Format, own)[name]
    found: Format = import_module(f"gpusched_dsl.data.formats.{own[name]}").FORMATS[name]
    return found
