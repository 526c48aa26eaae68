"""Models to build: random instances, shipped and generated models, and models of growing size."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from gpusched_dsl.cli.starters import starter_files
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace

ROOT = Path(__file__).resolve().parents[2]

STARTER = starter_files("starter")["starter.gsm"]
NEEDS = {"equal": (1,), "powers": (1, 2, 4, 8), "all": tuple(range(1, 9)), "small": (1, 2), "large": (5, 6, 7, 8)}


def starter(random: Random) -> str:
    """Nodes of one to three kinds, jobs that are equal, of a few kinds, or all different."""
    nodes, jobs = random.choice((2, 4, 10, 30)), random.choice((5, 12, 36, 60, 150))
    kinds, gpus = random.choice((1, 1, 2, 3)), random.choice((4, 8, 8, 64))
    needs = random.choice([n for n in NEEDS.values() if max(n) <= gpus])
    kinds_of_jobs = random.choice((1, 3, 1000))
    jobs_of = [
        (random.choice(needs), random.randint(1, 300) / 10, random.randint(1, 400) / 10) for _ in range(kinds_of_jobs)
    ]
    rows = "\n".join(f"j{k} {n} {h} {v}" for k, (n, h, v) in enumerate(random.choice(jobs_of) for _ in range(jobs)))
    named = "\n".join(f"n{k} {gpus} {0.5 + 0.1 * (k % kinds)}" for k in range(nodes))
    return f"""{STARTER[: STARTER.index("scenario Today")]}
scenario S for Cluster {{
  table Nodes: gpus price[$/h] = {named};
  table Jobs: needs hours[h] value[$] = {rows};
}}"""


def clustered(random: Random) -> str:
    """Nodes that are rented, with memory and jobs that exclude one another: rows of many kinds in one element."""
    nodes, jobs = random.choice((3, 8, 20)), random.choice((6, 15, 40))
    different = random.random() < 0.5
    rows = "\n".join(
        f"j{k} {random.randint(1, 4)} {random.randint(1, 20) if different else 4} {random.randint(1, 9)}"
        for k in range(jobs)
    )
    extra = random.choice(
        (
            "",
            "constraint alone[n in Nodes]: sum[j in Jobs where need[j] >= 3] run[j, n] <= 1;",
            "constraint apart[n in Nodes, j in Jobs, k in Jobs where j < k and need[j] == need[k]]: "
            "run[j, n] + run[k, n] <= 1;",
            "constraint few: count[n in Nodes] (sum[j in Jobs] run[j, n] >= 2) <= 2;",
        )
    )
    return f"""model Clustered {{
  set Nodes; set Jobs ordered; param need[Jobs]; param memory[Jobs]; param value[Jobs];
  var run[Jobs, Nodes] binary; var on[Nodes] binary;
  minimize cost: sum[n in Nodes] 3 * on[n] - sum[j in Jobs, n in Nodes] value[j] * run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint gpus[n in Nodes]: sum[j in Jobs] need[j] * run[j, n] <= 8 * on[n];
  constraint space[n in Nodes]: sum[j in Jobs] memory[j] * run[j, n] <= 40;
  {extra}
}}
scenario S for Clustered {{ Nodes = 1..{nodes}; table Jobs: need memory value = {rows}; }}"""


def apart(random: Random) -> str:
    """No row of a node at all: every column of a node is a component of its own."""
    nodes, jobs = random.choice((5, 40)), random.choice((20, 100, 400))
    rows = "\n".join(f"j{k} {random.randint(1, 1000)}" for k in range(jobs))
    return f"""model Apart {{
  set Nodes; set Jobs; param value[Jobs];
  var run[Jobs, Nodes] binary;
  maximize gain: sum[j in Jobs, n in Nodes] value[j] * run[j, n];
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint most: sum[j in Jobs, n in Nodes] run[j, n] <= {jobs // 2};
}}
scenario S for Apart {{ Nodes = 1..{nodes}; table Jobs: value = {rows}; }}"""


def slotted(random: Random) -> str:
    """Nodes switched on and off over slots."""
    nodes, hours, jobs = random.choice((4, 20)), random.choice((8, 24, 72)), random.choice((3, 10, 25))
    rows = "\n".join(f"j{k} {random.randint(1, max(1, hours // 2))} {random.randint(1, 9)}" for k in range(jobs))
    prices = "\n".join(f"{h} {random.randint(1, 50)}" for h in range(hours))
    return f"""model Slotted {{
  set Nodes; set Jobs; set Hours ordered; param long[Jobs]; param value[Jobs]; param price[Hours];
  var run[Jobs, Nodes, Hours] binary; var on[Nodes, Hours] binary; var start[Nodes, Hours] >= 0;
  let done[j in Jobs] = sum[n in Nodes, h in Hours] run[j, n, h];
  minimize cost: sum[n in Nodes, h in Hours] (price[h] * on[n, h] + 4 * start[n, h])
    + sum[j in Jobs] 20 * value[j] * (long[j] - done[j]);
  constraint whole[j in Jobs]: done[j] <= long[j];
  constraint single[j in Jobs, h in Hours]: sum[n in Nodes] run[j, n, h] <= 1;
  constraint one[n in Nodes, h in Hours]: sum[j in Jobs] run[j, n, h] <= on[n, h];
  constraint begins[n in Nodes, h in Hours]: start[n, h] >= on[n, h] - (on[n, h - 1] else 0);
}}
scenario S for Slotted {{ Nodes = 1..{nodes}; table Jobs: long value = {rows}; table Hours: price = {prices}; }}"""


def random_cases(each: int) -> Iterator[tuple[str, str]]:
    """A name and a text for every instance."""
    for make in (starter, clustered, apart, slotted):
        for seed in range(each):
            yield f"{make.__name__} {seed}", make(Random(f"{make.__name__} {seed}"))


def shipped_cases() -> Iterator[tuple[str, Path, str]]:
    """A name, the file and the scenario of all scenarios of models/, each in the file that declares it."""
    for path in sorted((ROOT / "models").rglob("*.gsm")):
        for name, scenario in load_workspace(path, Diagnostics()).scenarios.items():
            if Path(scenario.span.source.name).name == path.name:
                yield f"{path.relative_to(ROOT)} {name}", path, name


def generated_cases(count: int) -> Iterator[tuple[str, str]]:
    """A name and a text for generated models of the tests, small and large ones by turns."""
    folder = str(ROOT / "tests" / "generated_models")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    from model_generator import Size, generated  # type: ignore[import-not-found]
    from model_text import text_of  # type: ignore[import-not-found]

    sizes = (Size(), Size(points=1 << 15, mixed=64, continuous=4, elements=4, constraints=6))
    for seed in range(count):
        yield f"generated {seed}", text_of(generated(seed, sizes[seed % 2]))


def _knapsack(size: int, extra: str, cost: str = "sum[i in I] (1 + mod[i]) * x[i]", more: str = "") -> str:
    mods = "\n".join(f"{i} {(i * 7919) % 1000 / 100} {(i * 104729) % 1000 / 10}" for i in range(1, size + 1))
    return f"""model M {{
  set I ordered; param mod[I]; param weight[I]; param n = count(I); {more}
  var x[I] binary; var y[I] >= 0 <= 10; var k[I] integer >= 0 <= 7;
  minimize cost: {cost};
  constraint some: sum[i in I] weight[i] * x[i] >= 10 * n;
  {extra}
}}
scenario S for M {{ table I: mod weight = {mods}; }}"""


GROWING: dict[str, tuple[Callable[[int], str], tuple[int, ...]]] = {
    "products": (
        lambda n: _knapsack(n, "constraint c[i in I where i < last(I)]: x[i] * x[next(i)] + y[i] >= 0.5;"),
        (500, 2000, 8000),
    ),
    "square of a sum": (
        lambda n: _knapsack(n, "constraint c: (sum[i in I] x[i]) * (sum[i in I] x[i]) <= 3 * n;"), (25, 50, 100),
    ),
    "binary times continuous": (
        lambda n: _knapsack(n, "constraint c[i in I]: x[i] * y[i] >= 2 * x[i] - 1;"), (500, 2000, 8000),
    ),
    "integer times continuous": (
        lambda n: _knapsack(n, "constraint c[i in I]: k[i] * y[i] <= 20; constraint d[i in I]: k[i] + y[i] >= 3;"),
        (500, 2000, 8000),
    ),
    "one maximum": (lambda n: _knapsack(n, "", "max[i in I] (weight[i] * x[i] + y[i])"), (500, 2000, 8000)),
    "one minimum": (
        lambda n: _knapsack(n, "", "sum[i in I] x[i] + min[i in I] (weight[i] * x[i] + y[i])"), (500, 2000, 8000),
    ),
    "absolute values": (
        lambda n: _knapsack(n, "constraint c: sum[i in I] abs(y[i] - mod[i]) >= n;"), (500, 2000, 8000),
    ),
    "squares of integers": (lambda n: _knapsack(n, "constraint c[i in I]: k[i] ^ 2 >= 5 * x[i];"), (500, 2000, 8000)),
    "lateness": (
        lambda n: _knapsack(
            n, "", "sum[i in I] max(0, weight[i] * x[i] + weight[i] * 0.5 * (next_of[i]) - 30)",
            "let next_of[i in I] = (x[i + 1] else 0);",
        ),
        (500, 2000, 8000),
    ),
    "conditions": (
        lambda n: _knapsack(n, "constraint c: count[i in I] (k[i] >= 3) >= n / 4;"), (500, 2000, 8000),
    ),
    "implications": (
        lambda n: _knapsack(n, "constraint c[i in I]: x[i] >= 1 => y[i] + k[i] >= 4;"), (500, 2000, 8000),
    ),
    "pairs that exclude each other": (
        lambda n: _knapsack(n, "constraint c[i in I, j in I where i < j and j <= i + 20]: x[i] + x[j] <= 1;",
                            more=""), (100, 400, 1600),
    ),
    "one wide exclusion with links": (
        lambda n: _knapsack(n, "constraint c: sum[i in I] x[i] <= 1; constraint d[i in I]: y[i] <= 10 * x[i];"
                            "constraint e: sum[i in I] weight[i] * y[i] <= 100;").replace(">= 10 * n", ">= 10"),
        (500, 2000, 8000),
    ),
    "nested rows": (
        lambda n: _knapsack(n, "constraint c[i in I]: sum[j in I where j <= i] weight[j] * x[j] <= 60 * mod[i] + 50;"),
        (50, 200, 800),
    ),
    "chain of lets": (
        lambda n: _knapsack(n, "constraint c[i in I]: z[i] == (z[i - 1] else 0) + weight[i] * x[i];"
                            "constraint d[i in I]: z[i] <= 40 * mod[i] + 100;", more="var z[I] >= 0;"),
        (500, 2000, 8000),
    ),
    "chain that one fraction spoils": (
        lambda n: _knapsack(n, "constraint c[i in I]: z[i] == (z[i - 1] else 0.5) + x[i];", "sum[i in I] (x[i] + z[i])",
                            more="var z[I] >= 0 <= 100000;"), (500, 2000, 8000),
    ),
}  # fmt: skip
