"""Random small instances of capacity planning with several nodes, also of several classes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

from capacity_reference import Instance
from capacity_texts import random_instance, scenario, write_file
from exactness import MODELS

SETTINGS = {
    "node_rule": ("paper", "force", "at_most"),
    "deadline_terms": ("corrected", "corrected", "printed"),
    "work_conserving": ("no", "no", "yes"),
}


def several_nodes(seed: int, every_configuration: bool = False) -> Instance:
    """2 to 4 nodes; else as the generator says: 1 to 3 types of 1 to 4 GPUs, 1 to 4 jobs."""
    random = Random(seed)
    return replace(random_instance(random, every_configuration), nodes=random.randint(2, 4))


def settings(seed: int) -> dict[str, str]:
    random = Random(-seed - 1)
    return {name: random.choice(values) for name, values in SETTINGS.items()}


def write_cases(folder: Path, seeds: range, model: str = "CapacityPlanning") -> Path:
    printed = model == "CapacityPlanningPrinted"
    return write_file(folder, [scenario(f"Seed{s}", several_nodes(s, printed), model) for s in seeds])


def write_zoned(folder: Path, seeds: range) -> Path:
    """The model with nodes told apart by a fee that each charges when it is rented: one or two classes."""
    text = (MODELS / "capacity_planning" / "model.gsm").read_text(encoding="utf-8")
    for old, new in (
        ('set Nodes "nodes for rent; N in Table I" identical;', "set Nodes;\n  param fee[Nodes] in $;"),
        ("idle: idle_penalty * idle_gpus;", "idle: idle_penalty * idle_gpus; fees: sum[n in Nodes] charged[n];"),
        ("  let rented =", "  let charged[n in Nodes] in $ = fee[n] * sum[v in Types] hosts[n, v];\n  let rented ="),
    ):
        assert old in text, old
        text = text.replace(old, new)
    for seed in seeds:
        instance = several_nodes(seed)
        random = Random(seed)
        fees = "\n".join(f"    {n} {random.choice((0.25, 0.25, 0.6))}" for n in range(1, instance.nodes + 1))
        given = scenario(f"Seed{seed}", instance)
        text += given.replace(f"  Nodes = 1..{instance.nodes};", f"  table Nodes: fee[$] =\n{fees} ;")
    path = folder / "zoned.gsm"
    path.write_text(text, encoding="utf-8")
    return path
