"""`python -m benchmarks.speed_profile.data FOLDER [JOBS]`: ladders, laws and due dates of random jobs on three types.

Each job has 8 GPU counts and two fractions of a GPU per type, fractions cheap but slower per price, a due date that
binds on every type, and some work done. Laws: exponential (for all arms), and seven families in turn.
"""

import sys
from pathlib import Path

import numpy as np

TYPES, COUNTS, LIMIT = 3, 8, 100.0
FRACTIONS = np.array([0.25, 0.5])


def main(folder: str, jobs: str = "400") -> None:
    rng = np.random.default_rng(2024)
    count = int(jobs)
    problems = count * TYPES
    gpus = np.arange(1, COUNTS + 1)
    whole = rng.uniform(0.5, 3, (problems, 1)) * gpus ** rng.uniform(0.6, 0.95, (problems, 1))
    price = rng.uniform(0.8, 4, (problems, 1))
    speed = np.concatenate((whole[:, :1] * FRACTIONS / 1.05, whole), axis=1)
    rate = np.concatenate((price * FRACTIONS, price * gpus), axis=1)
    done = np.repeat(rng.uniform(0, 15, count), TYPES)
    # Between the fastest and the slowest whole GPU: whichever rungs the filter leaves, the due date binds.
    pace = 1 / whole[:, -1] + (1 / whole[:, 0] - 1 / whole[:, -1]) * rng.uniform(0.02, 0.98, problems)
    np.savez(
        Path(folder) / "jobs.npz", speed=speed, rate=rate, done=done, left=pace * (LIMIT - done),
        mean=rng.uniform(20, 60, count), job=np.repeat(np.arange(count), TYPES),
    )  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
