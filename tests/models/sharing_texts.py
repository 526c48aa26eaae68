"""Random instances of GPU sharing, and any instance as a scenario of each of the shipped models."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from pathlib import Path
from random import Random

from sharing_reference import Instance, Job, Kind, ways

SHARES = ((5, 10), (2, 3), (10,), (3,), (2, 4), (7,), (1, 2, 4))


def random_instance(random: Random, largest: int = 600) -> Instance:
    """1 to 3 nodes of 1 or 2 kinds with 1 to 3 GPUs, 1 to 4 jobs; at most `largest` combinations of ways to run.

    Some jobs are late already, some configurations missing, some jobs too large for some nodes.
    """
    while True:
        kinds = {f"V{k}": random_kind(random) for k in range(random.randint(1, 2))}
        nodes = tuple(random.choice(list(kinds)) for _ in range(random.randint(1, 3)))
        names = [f"J{k}" for k in range(1, random.randint(1, 4) + 1)]
        instance = Instance(
            {name: kind for name, kind in kinds.items() if name in nodes},
            nodes,
            {name: random_job(random, {kind: kinds[kind] for kind in nodes}) for name in names},
            postpone_factor=random.choice((1, 2, 10)),
            period=random.choice((0.5, 1, 4)),
        )
        combinations = prod(1 + len(ways(instance, name, "on")) for name in names)
        if combinations <= largest and all(ways(instance, name, "off") for name in names):
            return with_outcomes(random, instance)


def random_kind(random: Random) -> Kind:
    gpus, alone = random.randint(1, 3), random.uniform(0.5, 4)
    rate = sorted(round(alone * (k + random.choice((0, 0, random.uniform(-0.4, 0.4)))), 2) for k in range(1, gpus + 1))
    slowdown = {u: round(random.uniform(1.01, 1.3), 2) for u in random.choice(((), *SHARES))}
    return Kind(random.choice((16, 24, 80)), tuple(rate), slowdown)


def random_job(random: Random, kinds: dict[str, Kind]) -> Job:
    serial, time = random.uniform(0.0, 0.3), dict[tuple[str, int], float]()
    missing = random.choice((0.0, 0.0, 0.3))
    for name, kind in kinds.items():
        alone = random.uniform(1, 10)
        for k in range(1, kind.gpus + 1):
            if not time or random.random() >= missing:
                time[name, k] = round(alone * (1 + serial * (k - 1)) / k, 2)
    slowest = max(time.values())
    done = random.choice((0, 0, 25))
    return Job(
        memory=random.choice((1, 3, 5, 10, 20)),
        deadline=round(random.uniform(-2, 1.5 * slowest), 2),
        weight=round(random.uniform(0.1, 2), 2),
        time=time,
        done=done,
    )


def with_outcomes(random: Random, instance: Instance) -> Instance:
    """None, or 2 or 3 outcomes whose probabilities are multiples of 1/10."""
    count = random.choice((1, 2, 3))
    if count == 1:
        return instance
    cuts = sorted(random.sample(range(1, 10), count - 1))
    shares = [(b - a) / 10 for a, b in zip([0, *cuts], [*cuts, 10], strict=True)]
    outcomes = tuple((p, {name: float(random.choice((30, 60, 100))) for name in instance.jobs}) for p in shares)
    return replace(instance, outcomes=outcomes)


def node(position: int) -> str:
    return f"n{position + 1}"


def table(header: str, rows: list[str]) -> str:
    return f"  table {header} =\n" + "\n".join(f"    {row}" for row in rows) + " ;\n" if rows else ""


def scenario(name: str, instance: Instance, model: str) -> str:
    kinds, jobs = instance.kinds, instance.jobs
    shares = [f"{kind} {u} {by}" for kind, found in kinds.items() for u, by in found.slowdown.items()]
    text = table("Types: gpus memory[GB]", [f"{kind} {found.gpus} {found.memory}" for kind, found in kinds.items()])
    text += table("Nodes: node_type", [f"{node(n)} {kind}" for n, kind in enumerate(instance.nodes)])
    text += table(
        "Configs: cost_rate[$/h]",
        [f"{kind} {k} {rate!r}" for kind, found in kinds.items() for k, rate in enumerate(found.rate, start=1)],
    )
    text += table("Shares: slowdown", shares) or "  Shares = {};\n"
    text += table(
        "Jobs: memory_need[GB] deadline[h] weight[$/h] max_epochs[epoch] done[epoch]",
        [f"{j} {job.memory} {job.deadline} {job.weight} {job.max_epochs} {job.done}" for j, job in jobs.items()],
    )
    text += table(
        "Runnable: exec_time[h]",
        [f"{j} {kind} {k} {hours}" for j, job in jobs.items() for (kind, k), hours in job.time.items()],
    )
    if instance.outcomes:
        text += f"  outcomes = {len(instance.outcomes)};\n"
        text += table("Outcomes: probability", [f"{o} {p!r}" for o, (p, _) in enumerate(instance.outcomes, start=1)])
        text += table(
            "Outcomes, Jobs: epochs[epoch]",
            [f"{o} {j} {e}" for o, (_, epochs) in enumerate(instance.outcomes, start=1) for j, e in epochs.items()],
        )
    text += f"  postpone_factor = {instance.postpone_factor};\n  period = {instance.period}[h];\n"
    return f"scenario {name} for {model} {{\n{text}}}\n"


def write_file(folder: Path, scenarios: list[str], models: tuple[str, ...] = ("model",)) -> Path:
    """A file with these scenarios of the shipped models."""
    imports = "\n".join(f'import "gsdsl:gpu_sharing/{name}.gsm";' for name in models)
    path = folder / "instances.gsm"
    path.write_text(imports + "\n" + "\n".join(scenarios), encoding="utf-8")
    return path
