"""Random small instances of GPU sharing with several nodes of a kind."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from random import Random

from sharing_reference import Instance, Options
from sharing_texts import random_instance, scenario, write_file

# Rows of `work_conserving` and `system_first_end` tie nodes to what holds for all of them: they are refused.
RULES = (*2 * ("matching", "printed", "max_running", "none"), "work_conserving")
HORIZONS = (*3 * ("node_first_end", "full_run"), "system_first_end")
EXPECTATIONS = ("here_and_now", "worst_case", "mean_value", "by_outcome")


def several_nodes(seed: int) -> Instance:
    """2 to 5 nodes of one or two kinds, at least two of one; 1 to 4 jobs."""
    random = Random(seed)
    base = random_instance(random)
    kinds = list(base.kinds)
    nodes = [*base.nodes, *(random.choice(kinds) for _ in range(random.randint(0, 2)))]
    if len(set(nodes)) == len(nodes):
        nodes.append(random.choice(kinds))
    random.shuffle(nodes)
    return replace(base, nodes=tuple(nodes))


def settings(seed: int) -> dict[str, str]:
    random = Random(-seed - 1)
    sharing = random.choice(("on", "on", "off"))
    rule, horizon, expectation = random.choice(RULES), random.choice(HORIZONS), random.choice(EXPECTATIONS)
    return asdict(Options(rule, horizon, expectation, sharing))


def write_cases(folder: Path, seeds: range) -> Path:
    return write_file(folder, [scenario(f"Seed{s}", several_nodes(s), "GpuSharing") for s in seeds])
