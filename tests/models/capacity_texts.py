"""Random instances of capacity planning, and any instance as a scenario of each of the shipped models."""

from __future__ import annotations

from pathlib import Path
from random import Random

from capacity_reference import Instance


def random_instance(random: Random, every_configuration: bool = False) -> Instance:
    """1 to 3 types of 1 to 4 GPUs, 1 to 4 jobs, 1 to 3 nodes; some jobs late, some configurations missing."""
    gpus = {f"V{k}": random.randint(1, 4) for k in range(random.randint(1, 3))}
    price = {vm: round(random.uniform(0.1, 3.0), 2) for vm in gpus}
    jobs = [f"J{k}" for k in range(1, random.randint(1, 4) + 1)]
    time, deadline, weight = {}, {}, {}
    for job in jobs:
        serial = random.uniform(0.0, 0.3)
        for vm, most in gpus.items():
            alone = random.uniform(1.0, 10.0)
            for g in range(1, most + 1):
                time[job, vm, g] = round(alone * (1 + serial * (g - 1)) / g, 2)
        missing = 0.0 if every_configuration else random.choice((0.0, 0.0, 0.4))
        mine = [key for key in time if key[0] == job]
        for key in mine[1:]:
            if random.random() < missing:
                del time[key]
        slowest = max(t for key, t in time.items() if key[0] == job)
        deadline[job] = round(random.uniform(-3.0, 2.0 * slowest), 2)
        weight[job] = round(random.uniform(0.36, 1.08), 2)
    return Instance(
        nodes=random.randint(1, 3),
        gpus=gpus,
        price=price,
        deadline=deadline,
        weight=weight,
        time=time,
        postponed_weight={job: round(weight[job] * random.choice((2, 10, 100)), 2) for job in jobs},
        remaining={} if every_configuration else {job: random.choice((1.0, 1.0, 0.5, 0.25)) for job in jobs},
        stock={} if every_configuration or random.random() < 0.6 else {random.choice(list(gpus)): random.randint(0, 2)},
        period=random.choice((0.5, 1.0, 2.0)),
        idle_penalty=random.choice((0.0, 0.1, 1.0)),
    )


def scenario(name: str, instance: Instance, model: str = "CapacityPlanning") -> str:
    """The text of a scenario; CapacityPlanningPrinted knows neither missing configurations, `remaining` nor `stock`."""
    types = "\n".join(f"    {vm} {gpus} {instance.price[vm]}" for vm, gpus in instance.gpus.items())
    jobs = "\n".join(
        f"    {job} {due} {instance.weight[job]} {instance.price_of_postponing(job)}"
        for job, due in instance.deadline.items()
    )
    times = "\n".join(f"    {job} {vm} {gpus} {hours}" for (job, vm, gpus), hours in instance.time.items())
    keys = "Jobs, Configs" if model == "CapacityPlanningPrinted" else "Runnable"
    patches = [f'  remaining["{job}"] = {share};' for job, share in instance.remaining.items()]
    patches += [f'  stock["{vm}"] = {most};' for vm, most in instance.stock.items()]
    base = "extends AllPatterns" if model == "CapacityPlanningPatterns" else f"for {model}"
    return f"""
scenario {name} {base} {{
  Nodes = 1..{instance.nodes};
  period = {instance.period}[h];
  idle_penalty = {instance.idle_penalty}[$];
  table Types: gpus price[$/h] =
{types} ;
  table Jobs: deadline[h] weight[$/h] postponed_weight[$/h] =
{jobs} ;
  table {keys}: exec_time[h] =
{times} ;
{chr(10).join(patches)}
}}
"""


def write_file(folder: Path, scenarios: list[str]) -> Path:
    """A file with these scenarios of the shipped models."""
    names = ("model", "printed", "patterns")
    imports = "\n".join(f'import "gsdsl:capacity_planning/{name}.gsm";' for name in names)
    path = folder / "instances.gsm"
    path.write_text(imports + "\n" + "\n".join(scenarios), encoding="utf-8")
    return path
