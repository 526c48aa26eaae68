"""Random scenarios of the models of the standard library, and the policies on nodes that are written for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache

import numpy as np
import random_cluster_texts
from comparing import MODELS

from gpusched_dsl.language.blocks.policies.describe import policies_of
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace

DEMANDS = ("enough_run",)  # constraints that ask for jobs: policies change their queue for them


def _rows(rows: Iterable[tuple]) -> str:
    return "\n".join("    " + "  ".join(map(str, row)) for row in rows) + ";\n"


def capacity_planning(seed: int) -> str:
    """Up to three families of VM types, jobs that may not run on all of them; a few stocks."""
    rng = np.random.default_rng([1, seed])
    types = [
        (f"v{i}", int(rng.choice([1, 2, 4])), str(rng.choice(["a", "b", '""']))) for i in range(int(rng.integers(2, 5)))
    ]
    jobs = [f"j{i}" for i in range(int(rng.integers(2, 10)))]
    runnable = []
    for j in jobs:
        base, slope = float(rng.integers(2, 20)) / 2, rng.choice([1.0, 0.7, 0.5])
        some = [t for t in types if rng.random() < 0.8] or types[:1]
        for v, gpus, family in some:
            pace = {"a": 1.0, "b": 2.0}.get(family, 1.5)
            runnable += [(j, v, g, round(base / pace / g**slope, 3)) for g in range(1, gpus + 1)]
    nodes = [f"n{i}" for i in range(int(rng.integers(1, 5)))]
    listed = [
        (j, float(rng.integers(-2, 3)), float(rng.integers(-1, 9)), float(rng.choice([1, 1, 2, 5]))) for j in jobs
    ]
    priced = [(v, g, float(g * rng.choice([0.5, 0.5, 1])), f, int(rng.choice([1, len(nodes)]))) for v, g, f in types]
    return f"""import "gsdsl:capacity_planning/policies.gsm";
scenario S for CapacityPlanning {{
  node_rule = at_most;
  Nodes = {{ {", ".join(nodes)} }};
  table Types: gpus price[$/h] family stock =
{_rows(priced)}  table Jobs: submitted[h] deadline[h] weight[$/h] =
{_rows(listed)}  table Runnable: exec_time[h] =
{_rows(runnable)}}}
"""


def gpu_sharing(seed: int) -> str:
    rng = np.random.default_rng([2, seed])
    jobs, nodes, gpus = (int(rng.integers(low, high)) for low, high in ((2, 10), (1, 5), (1, 4)))
    text = random_cluster_texts.drawn(seed, jobs, nodes, gpus)
    return text.text().replace("scenario Drawn", "scenario S")


def trace_replay(seed: int) -> str:
    rng = np.random.default_rng([3, seed])
    nodes = [(f"n{i}", int(rng.choice([1, 2, 4, 8]))) for i in range(int(rng.integers(1, 6)))]
    jobs = [
        (
            f"j{i}", float(rng.integers(-3, 3)), int(rng.choice([1, 1, 2, 3, 4])), float(rng.integers(1, 9)) / 2,
            float(rng.integers(1, 12)), float(rng.choice([1, 1, 3])),
        )
        for i in range(int(rng.integers(2, 14)))
    ]  # fmt: skip
    return f"""import "gsdsl:trace_replay/policies.gsm";
scenario S for TraceReplay {{
  table Nodes: gpus =
{_rows(nodes)}  table Jobs: submitted[h] needs exec_time[h] deadline[h] weight[$/h] =
{_rows(jobs)}}}
"""


def priced_replay(seed: int) -> str:
    rng = np.random.default_rng([4, seed])
    types = [(f"t{i}", float(rng.choice([1, 2, 3]))) for i in range(int(rng.integers(1, 4)))]
    names = [t for t, _ in types]
    nodes = [(f"n{i}", str(rng.choice(names)), int(rng.choice([1, 2, 4]))) for i in range(int(rng.integers(1, 6)))]
    jobs = [
        (
            f"j{i}", float(rng.integers(-3, 3)), float(rng.choice([0.25, 0.5, 1, 1, 2, 3])),
            float(rng.integers(1, 9)) / 2, float(rng.integers(1, 12)), float(rng.choice([1, 1, 3])),
        )
        for i in range(int(rng.integers(2, 14)))
    ]  # fmt: skip
    allowed = [(job[0], t) for job in jobs for t in names if rng.random() < 0.7 or t == names[0]]
    pairs = ", ".join(f"({j}, {t})" for j, t in allowed)
    return f"""import "gsdsl:trace_replay/priced_policies.gsm";
scenario S for PricedReplay {{
  table Types: price[$/h] =
{_rows(types)}  table Nodes: node_type gpus =
{_rows(nodes)}  table Jobs: submitted[h] needs exec_time[h] deadline[h] weight[$/h] =
{_rows(jobs)}  Allowed = {{ {pairs} }};
}}
"""


SHIPPED: Mapping[str, tuple[str, Callable[[int], str]]] = {
    "CapacityPlanning": ("capacity_planning/policies.gsm", capacity_planning),
    "GpuSharing": ("gpu_sharing/policies.gsm", gpu_sharing),
    "TraceReplay": ("trace_replay/policies.gsm", trace_replay),
    "PricedReplay": ("trace_replay/priced_policies.gsm", priced_replay),
}


@cache
def policies_for(model: str) -> tuple[str, ...]:
    """The policies that the library has for a model, without portfolios, which have no plan of their own."""
    listed = policies_of(load_workspace(MODELS / SHIPPED[model][0], Diagnostics()))
    ours = [one for one in listed if one.model == model]
    return tuple(one.name for one in ours if not any(text.startswith("portfolio") for text, _ in one.lines))
