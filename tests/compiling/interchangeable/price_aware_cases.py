"""Random small instances of price-aware scheduling with several nodes of a type."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

from price_aware_reference import Instance, Rules, Service
from price_aware_texts import random_instance, scenario


def few_nodes(seed: int) -> Instance:
    """2 to 5 slots, 1 to 3 jobs, 0 to 2 services, 2 to 4 nodes of one or two types."""
    random = Random(seed)
    base = random_instance(random, alike=random.random() < 0.5)
    kinds = tuple(base.idle)
    types = tuple(random.choice(kinds) for _ in range(random.choice((2, 3, 3, 4))))
    was_on = tuple(random.random() < random.choice((0.0, 0.4)) for _ in types)
    running = [k for k, on in enumerate(was_on) if on]
    jobs = [replace(job, was_training_on=None) for job in base.jobs]
    if running and random.random() < 0.5:
        jobs[0] = replace(jobs[0], was_training_on=random.choice(running))
    slots = len(base.prices) if random.random() < 0.8 else 2
    return replace(
        base,
        prices=base.prices[:slots],
        types=types,
        was_on=was_on,
        jobs=tuple(jobs),
        services=tuple(_cut(service, slots) for service in base.services),
    )


def _cut(service: Service, slots: int) -> Service:
    return replace(service, load=service.load[:slots])


def rules(seed: int, migrations: tuple[str, ...] = ("within_type", "within_type", "anywhere")) -> Rules:
    random = Random(-seed - 1)
    migration = random.choice(migrations)
    return Rules(
        mode=random.choice(("hard", "soft")),
        inference_sharing=random.choice(("independent", "exclusive")),
        migration=migration,
        charge_first_start="yes" if migration == "anywhere" else random.choice(("yes", "no")),
        work_balance=random.choice(("exact", "exact", "at_least")),
        lateness_measure=random.choice(("per_slot", "last_slot")),
    )


def write_cases(folder: Path, made: dict[str, Instance], model: str = "PriceAware", file: str = "model") -> Path:
    """A file with a scenario of one model for each instance, named like it."""
    texts = [f'import "gsdsl:price_aware/{file}.gsm";']
    for name, instance in made.items():
        given = scenario(f"Given{name}", instance)
        texts.append(given[: given.index("\n}\n") + 3])
        texts.append(f"scenario {name} for {model} extends Given{name} {{ }}")
    path = folder / "cases.gsm"
    path.write_text("\n".join(texts), encoding="utf-8")
    return path
