"""Random instances of price-aware scheduling, and any instance as a scenario of the shipped models."""

from __future__ import annotations

from pathlib import Path
from random import Random

from price_aware_reference import Instance, Job, Rules, Service

MODELS = {
    "PriceAware": "model",
    "PriceAwareByType": "by_type",
    "PriceAwareRejecting": "rejecting",
    "PriceAwarePrinted": "printed",
}


def random_instance(random: Random, alike: bool = False) -> Instance:
    """Two nodes (three of at most two types if `alike`), 3 to 5 slots, 1 to 3 jobs, 0 to 2 services.

    About one instance in five has a negative price; many are infeasible.
    """
    types = random.choice((("a", "a"), ("a", "a", "b"), ("a", "a", "a"))) if alike else ("a", "b")
    slots = random.randint(3, 4 if alike else 5)
    prices = [round(random.uniform(2, 60), 2) for _ in range(slots)]
    if random.random() < 0.2:
        prices[random.randrange(slots)] *= -1
    slot = random.choice((15, 60))
    scale = slot / 60
    kinds = tuple(dict.fromkeys(types))
    was_on = tuple(random.random() < 0.4 for _ in types)
    jobs = [_random_job(random, kinds, slots, slot) for _ in range(random.choice((1, 2, 2, 2 if alike else 3)))]
    running = [k for k, on in enumerate(was_on) if on]
    if running and random.random() < 0.3:
        jobs[0] = _running(jobs[0], random.choice(running))
    return Instance(
        slot=slot,
        prices=tuple(prices),
        types=types,
        idle={kind: float(random.randint(50, 150)) for kind in kinds},
        boot={kind: round(random.choice((0.0, 0.001, 0.005)) * scale, 6) for kind in kinds},
        was_on=was_on,
        jobs=tuple(jobs),
        services=tuple(_random_service(random, kinds, slots, scale) for _ in range(random.choice((0, 1, 1, 2)))),
    )


def _random_job(random: Random, kinds: tuple[str, ...], slots: int, slot: int) -> Job:
    fits = [kind for kind in kinds if random.random() < 0.85] or [random.choice(kinds)]
    arrives = random.choice((0, 0, 1))
    return Job(
        arrives=arrives,
        due=min(random.randint(arrives + 1, slots), slots + 1),
        epochs=random.choice((1.0, 2.0, 1.5)),
        time={kind: random.choice((0.4, 0.6, 1.0, 1.0, 1.5)) * slot for kind in fits},
        power={kind: float(random.randint(100, 400)) for kind in fits},
        restart={kind: random.choice((0.0, 0.0003, 0.002)) for kind in fits},
        lateness_weight=random.choice((0.0002, 0.002, 0.02)),
        priority=random.randint(0, 3),
    )


def _running(job: Job, node: int) -> Job:
    return Job(**{**vars(job), "arrives": 0, "was_training_on": node})


def _random_service(random: Random, kinds: tuple[str, ...], slots: int, scale: float) -> Service:
    rate = {kind: float(random.randint(600, 2400)) for kind in kinds}
    return Service(
        load=tuple(random.choice((0.0, 0.02, *[float(random.randint(100, 1600))] * 4)) for _ in range(slots)),
        bound=random.choice((0.06, 0.15, 0.3)),
        rate=rate,
        base_power={kind: float(random.choice((0, 20, 60))) for kind in kinds},
        load_power={kind: round(random.uniform(0.02, 0.15), 3) for kind in kinds},
        latency_weight={kind: random.choice((1e-7, 1e-6, 1e-5)) * scale for kind in kinds},
    )


def scenario(name: str, instance: Instance) -> str:
    """The text of a scenario of what is given, which those of all models extend."""
    jobs = [f"b{n}" for n in range(len(instance.jobs))]
    services = [f"i{n}" for n in range(len(instance.services))]
    nodes = [f"n{n}" for n in instance.nodes]
    lines = [f"slot = {instance.slot}[min];"]
    lines += _table("Slots: tariff[$/MWh]", [f"{h} {price}" for h, price in enumerate(instance.prices)])
    lines += _table(
        "Types: idle_power[W] boot_cost[$]", [f"{g} {w} {instance.boot[g]}" for g, w in instance.idle.items()]
    )
    on = [f"{n} {kind} {int(was)}" for n, kind, was in zip(nodes, instance.types, instance.was_on, strict=True)]
    lines += _table("Nodes: node_type was_on", on)
    each = list(zip(jobs, instance.jobs, strict=True))
    lines += _table(
        "Batch: arrives due epochs[epoch] lateness_weight[$] priority",
        [f"{b} {j.arrives} {j.due} {j.epochs} {j.lateness_weight} {j.priority}" for b, j in each],
    )
    lines += _table(
        "Fits: epoch_time[min/epoch] train_power[W] restart_cost[$]",
        [f"{b} {g} {j.time[g]} {j.power[g]} {j.restart[g]}" for b, j in each for g in j.time],
    )
    lines += [f'was_training["{b}", "n{j.was_training_on}"] = 1;' for b, j in each if j.was_training_on is not None]
    both = list(zip(services, instance.services, strict=True))
    lines += _table("Services: latency_bound[s]", [f"{i} {s.bound}" for i, s in both])
    lines += _table(
        "Deployed: rate[request/min] base_power[W] load_power[W*min/request] latency_weight[$*min/request]",
        [
            f"{i} {g} {s.rate[g]} {s.base_power[g]} {s.load_power[g]} {s.latency_weight[g]}"
            for i, s in both
            for g in s.rate
        ],
    )
    loads = [f"{i} {h} {load}" for i, s in both for h, load in enumerate(s.load)]
    lines += _table("Services, Slots: load[request/min]", loads)
    body = "\n".join(f"  {line}" for line in lines)
    each_model = "\n".join(f"scenario {name}{model} for {model} extends {name} {{ }}" for model in MODELS)
    return f"scenario {name} for PriceAwareSetting {{\n{body}\n}}\n{each_model}\n"


def _table(head: str, rows: list[str]) -> list[str]:
    return [f"table {head} =", *(f"  {row}" for row in rows), ";"]


def settings(rules: Rules, model: str) -> dict[str, str]:
    """The options of the model that state the rules."""
    options = dict(vars(rules))
    if model == "PriceAwareByType":
        assert options.pop("migration") == "within_type"
    return options


def write_file(folder: Path, scenarios: list[str]) -> Path:
    """A file with these scenarios of the shipped models."""
    imports = "\n".join(f'import "gsdsl:price_aware/{file}.gsm";' for file in MODELS.values())
    path = folder / "instances.gsm"
    path.write_text(imports + "\n" + "\n".join(scenarios), encoding="utf-8")
    return path
