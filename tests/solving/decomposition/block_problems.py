"""Random problems with blocks: price-aware scheduling counted by type, and blocks of no particular shape."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
from price_aware_reference import Instance, Job, Service
from price_aware_texts import scenario, write_file

import gpusched_dsl as gs
from gpusched_dsl.ir.domains import IntervalDomain, ProductDomain, Universe
from gpusched_dsl.ir.problem import Family, Matrix, Objective, Problem, Term

OPTIONS = {
    "mode": ("hard", "soft"),
    "inference_sharing": ("independent", "exclusive"),
    "charge_first_start": ("yes", "no"),
    "work_balance": ("exact", "at_least"),
}


def by_type(folder: Path, seeds: range, **fixed: str) -> dict[int, Problem]:
    """Problems of price_aware/by_type.gsm with 3 to 8 slots and 2 to 4 jobs; some are infeasible."""
    made = {seed: _instance(Random(seed)) for seed in seeds}
    loaded = gs.load(write_file(folder, [scenario(f"Seed{seed}", instance) for seed, instance in made.items()]))
    problems = {}
    for seed in seeds:
        random = Random(-1 - seed)
        options = {name: random.choice(values) for name, values in OPTIONS.items()} | fixed
        problems[seed] = loaded.ground(f"Seed{seed}PriceAwareByType", settings=options)
    return problems


def _instance(random: Random) -> Instance:
    types = ("a",) * random.randint(1, 3) + ("b",) * random.randint(0, 3)
    kinds = tuple(dict.fromkeys(types))
    slots = random.randint(3, 8)
    prices = [round(random.uniform(2, 60), 2) for _ in range(slots)]
    if random.random() < 0.2:
        prices[random.randrange(slots)] *= -1
    was_on = tuple(random.random() < 0.4 for _ in types)
    running = [k for k, on in enumerate(was_on) if on]
    jobs = []
    for _ in range(random.randint(2, 4)):
        was_training = random.choice(running) if running and random.random() < 0.3 else None
        if was_training is not None:
            running.remove(was_training)
        arrives = 0 if was_training is not None else random.randint(0, slots - 2)
        fits = [kind for kind in kinds if random.random() < 0.85] or [random.choice(kinds)]
        jobs.append(
            Job(
                arrives=arrives,
                due=random.randint(arrives + 1, slots),
                epochs=random.choice((1.0, 2.0, 3.0)),
                time={kind: random.choice((0.4, 0.6, 1.0, 1.5)) * 15 for kind in fits},
                power={kind: float(random.randint(100, 400)) for kind in fits},
                restart={kind: random.choice((0.0, 0.0003, 0.002)) for kind in fits},
                lateness_weight=random.choice((0.0002, 0.002, 0.02)),
                was_training_on=was_training,
            )
        )
    services = [
        Service(
            load=tuple(float(random.choice((0, *range(100, 1200, 100)))) for _ in range(slots)),
            bound=random.choice((0.15, 0.3)),
            rate={kind: float(random.randint(600, 2400)) for kind in kinds},
            base_power={kind: float(random.choice((0, 20, 60))) for kind in kinds},
            load_power={kind: round(random.uniform(0.02, 0.15), 3) for kind in kinds},
            latency_weight={kind: random.choice((1e-7, 1e-6)) for kind in kinds},
        )
        for _ in range(random.choice((0, 1, 2)))
    ]
    return Instance(
        slot=15,
        prices=tuple(prices),
        types=types,
        idle={kind: float(random.randint(50, 150)) for kind in kinds},
        boot={kind: random.choice((0.0, 0.001, 0.005)) for kind in kinds},
        was_on=was_on,
        jobs=tuple(jobs),
        services=tuple(services),
    )


def any_blocks(seed: int) -> Problem:
    """Blocks of 2 to 4 whole or continuous columns with rows of their own, rows that link, and shared columns.

    The set is `Parts`; about half of the problems maximise, some are infeasible.
    """
    random = np.random.default_rng(seed)
    count, width = int(random.integers(2, 5)), int(random.integers(2, 5))
    shared = int(random.integers(0, 3))
    columns = count * width + shared
    parts = Universe("Parts", tuple(f"p{k}" for k in range(count)))
    own = ProductDomain((IntervalDomain(0, count - 1, component=parts), IntervalDomain(0, width - 1)))
    lower = np.where(random.random(columns) < 0.8, 0.0, -2.0)
    upper = lower + random.integers(1, 5, columns)
    integer = random.random(columns) < 0.7
    rows: list[np.ndarray] = []
    for k in range(count):
        for _ in range(int(random.integers(0, 3))):
            row = np.zeros(columns)
            row[k * width : (k + 1) * width] = random.integers(-3, 4, width)
            rows.append(row)
    inside = len(rows)
    for _ in range(int(random.integers(1, 4))):
        row = random.integers(-2, 4, columns).astype(np.float64)
        row[0] = row[width] = 1.0  # of two blocks: it links
        rows.append(row)
    dense = np.array(rows)
    middle = dense @ np.where(integer, np.round((lower + upper) / 2), (lower + upper) / 2)
    spread = random.integers(0, 4, len(rows))
    row_lower = np.where(random.random(len(rows)) < 0.5, middle - spread, -np.inf)
    row_upper = np.where(np.isinf(row_lower) | (random.random(len(rows)) < 0.3), middle + spread, np.inf)
    used = np.nonzero(dense)
    starts = np.concatenate(([0], np.cumsum((dense != 0).sum(axis=1)))).astype(np.int64)
    matrix = Matrix(starts, used[1].astype(np.int32), dense[used])
    costs = random.integers(-9, 10, columns).astype(np.float64)
    term = Term(None, np.arange(columns, dtype=np.int32), costs, float(random.integers(-5, 5)))
    variables = [Family("own", 0, own)]
    if shared:
        variables.append(Family("shared", count * width, IntervalDomain(0, shared - 1)))
    constraints = [Family("inside", 0, IntervalDomain(0, inside - 1))] if inside else []
    constraints.append(Family("link", inside, IntervalDomain(0, len(rows) - inside - 1)))
    sense = "maximize" if random.random() < 0.5 else "minimize"
    return Problem(
        "AnyBlocks", tuple(variables), lower, upper, integer, tuple(constraints), matrix, row_lower, row_upper,
        (Objective(sense, (term,)),),
    )  # fmt: skip
