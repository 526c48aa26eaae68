"""Job shops of the literature, gangs on named nodes and jobs on divided GPUs drawn from a seed, as texts of models."""

from __future__ import annotations

from pathlib import Path
from random import Random

# Machine and duration of every operation, a row for each job.
FT06 = """
2 1 0 3 1 6 3 7 5 3 4 6
1 8 2 5 4 10 5 10 0 10 3 4
2 5 3 4 5 8 0 9 1 1 4 7
1 5 0 5 2 5 3 3 4 8 5 9
2 9 1 3 4 5 5 4 0 3 3 1
1 3 3 3 5 9 0 10 4 4 2 1
"""
FT10 = """
0 29 1 78 2 9 3 36 4 49 5 11 6 62 7 56 8 44 9 21
0 43 2 90 4 75 9 11 3 69 1 28 6 46 5 46 7 72 8 30
1 91 0 85 3 39 2 74 8 90 5 10 7 12 6 89 9 45 4 33
1 81 2 95 0 71 4 99 6 9 8 52 7 85 3 98 9 22 5 43
2 14 0 6 1 22 5 61 3 26 4 69 8 21 7 49 9 72 6 53
2 84 1 2 5 52 3 95 8 48 9 72 0 47 6 65 4 6 7 25
1 46 0 37 3 61 2 13 6 32 5 21 9 32 8 89 7 30 4 55
2 31 0 86 1 46 5 74 4 32 6 88 8 19 9 48 7 36 3 79
0 76 1 69 3 76 5 51 2 85 9 11 6 40 7 89 4 26 8 74
1 85 0 13 2 61 6 7 8 64 9 76 5 47 3 52 4 90 7 45
"""
LA01 = """
1 21 0 53 4 95 3 55 2 34
0 21 3 52 4 16 2 26 1 71
3 39 4 98 1 42 2 31 0 12
1 77 0 55 4 79 2 66 3 77
0 83 3 34 2 64 1 19 4 37
1 54 2 43 4 79 0 92 3 62
3 69 4 77 1 87 2 87 0 93
2 38 0 60 1 41 3 24 4 83
3 17 1 49 4 25 0 44 2 98
4 77 3 79 2 43 1 75 0 96
"""

SHOP = """
model Shop {{
  set Jobs;
  set Steps ordered = 1..{steps};
  set Machines;
  param machine[Jobs, Steps] within Machines;
  param lasts[Jobs, Steps] integer >= 0;
  param horizon = {horizon};
  var begin[Jobs, Steps] integer >= 0 <= horizon;
  var makespan integer >= 0 <= horizon;
  interval task[j in Jobs, k in Steps] start begin[j, k] length lasts[j, k];
  minimize makespan;
  constraint one[m in Machines]: no_overlap[j in Jobs, k in Steps where machine[j, k] == m] task[j, k];
  constraint next[j in Jobs, k in Steps where ord(k) > 1]: begin[j, k - 1] + lasts[j, k - 1] <= begin[j, k];
  constraint last[j in Jobs]: begin[j, {steps}] + lasts[j, {steps}] <= makespan;
}}
scenario S for Shop {{
  Jobs = {{ {jobs} }};
  Machines = {{ {machines} }};
  table Jobs, Steps: machine lasts = {rows};
}}
"""

GANGS = """
model Gangs {{
  set Jobs = 1..{jobs};
  set Nodes = 1..{nodes};
  param hours[Jobs] integer;
  param gpus[Jobs] integer;
  param weight[Jobs];
  param horizon = {horizon};
  var begin[Jobs] integer >= 0 <= horizon;
  var on[Jobs, Nodes] binary;
  interval run[j in Jobs, n in Nodes] start begin[j] length hours[j] optional on on[j, n];
  minimize sum[j in Jobs] weight[j] * begin[j];
  constraint once[j in Jobs]: sum[n in Nodes] on[j, n] == 1;
  constraint room[n in Nodes]: cumulative[j in Jobs] (run[j, n], gpus[j]) <= 8;
}}
scenario S for Gangs {{
  table Jobs: hours gpus weight = {rows};
}}
"""


def shop(text: str, horizon: int) -> str:
    jobs = [[int(word) for word in line.split()] for line in text.strip().splitlines()]
    steps = len(jobs[0]) // 2
    rows = [f"j{j} {k + 1} m{row[2 * k]} {row[2 * k + 1]}" for j, row in enumerate(jobs) for k in range(steps)]
    machines = sorted({m for row in jobs for m in row[::2]})
    return SHOP.format(
        steps=steps, horizon=horizon, rows="  ".join(rows), jobs=", ".join(f"j{j}" for j in range(len(jobs))),
        machines=", ".join(f"m{m}" for m in machines),
    )  # fmt: skip


def gangs(jobs: int, nodes: int, seed: int) -> str:
    random = Random(seed)
    rows, load = [], 0
    for j in range(1, jobs + 1):
        hours, gpus = random.randint(1, 6), random.choice((1, 2, 2, 4, 4, 8))
        rows.append(f"{j} {hours} {gpus} {random.randint(1, 9)}")
        load += hours * gpus
    horizon = load // (8 * nodes) + 8
    return GANGS.format(jobs=jobs, nodes=nodes, horizon=horizon, rows="  ".join(rows))


MIG = Path(__file__).parents[2] / "models" / "intervals" / "mig_slices.gsm"
SIZES = {"g1_5gb": 1, "g2_10gb": 2, "g3_20gb": 4, "g4_20gb": 4, "g7_40gb": 8}
POSITIONS = {"g1_5gb": range(7), "g2_10gb": (0, 2, 4), "g3_20gb": (0, 4), "g4_20gb": (0,), "g7_40gb": (0,)}
DIVIDED = """
scenario S for MigSlices {{
  Gpus = {{ {gpus} }};
  slices = 8;
  price = 1[$/h];
  table Profiles: size = {sizes};
  table Profiles, Slots: position = {positions};
  table Jobs: profile value[$/h] = {jobs};
}}
"""


def divided(jobs: int, gpus: int, seed: int) -> str:
    """The shipped model of divided GPUs, of the A100 with 40 GB, with jobs of random sizes and values."""
    random = Random(seed)
    rows = []
    for j in range(jobs):
        (profile,) = random.choices(list(SIZES), [5, 4, 3, 2, 1])
        rows.append(f"j{j} {profile} {round(SIZES[profile] * random.uniform(0.3, 0.8), 2)}")
    scenario = DIVIDED.format(
        gpus=", ".join(f"g{i}" for i in range(gpus)), sizes="  ".join(f"{p} {s}" for p, s in SIZES.items()),
        positions="  ".join(f"{p} {s} 1" for p, slots in POSITIONS.items() for s in slots), jobs="  ".join(rows),
    )  # fmt: skip
    return MIG.read_text(encoding="utf-8") + scenario


# The text of each case, and its published optimum where there is one.
CASES: dict[str, tuple[str, int | None]] = {
    "ft06": (shop(FT06, 100), 55),
    "la01": (shop(LA01, 1200), 666),
    "ft10": (shop(FT10, 1500), 930),
    "gangs 12 x 2": (gangs(12, 2, 1), None),
    "gangs 20 x 2": (gangs(20, 2, 1), None),
    "gangs 40 x 4": (gangs(40, 4, 1), None),
    "divided 60 x 12": (divided(60, 12, 1), None),
}
