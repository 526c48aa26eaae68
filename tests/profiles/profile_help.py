"""Profiles written to files and read again, with their diagnostics."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpusched_dsl.language.diagnostics.diagnostic import Cell
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.profiles.profile import Profile, read_profile

GPUS = {"A": 1.0, "B": 0.4, "C": 2.5}


def read(folder: Path, table: str, *, jobs: str | None = None, gpus: str | None = None) -> tuple[Profile | None, list]:
    """The profile of some CSV texts, and the findings."""
    paths = {"table": table, "jobs": jobs, "gpus": gpus}
    for name, text in paths.items():
        if text is not None:
            (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    found = Diagnostics()
    profile = read_profile(
        folder / "table.csv",
        found,
        jobs=folder / "jobs.csv" if jobs else None,
        gpus=folder / "gpus.csv" if gpus else None,
    )
    return profile, list(found)


def places(findings: list) -> list[tuple[str, int | None, str | None]]:
    """Code, line and column of every finding."""
    return [(d.code, d.primary.row if isinstance(d.primary, Cell) else None, getattr(d.primary, "column", None))
            for d in findings]  # fmt: skip


def planted(jobs: int, *, noise: float = 0.0, seed: int = 0, drop: float = 0.0, job_noise: float = 0.0) -> str:
    """A profile by the law time = c[GPU] * d[dataset] * batch ** -0.4 * epochs, and one for powers.

    `noise` and `job_noise` are the deviations of the logarithms by pair and by job; `drop` of the rows are left out.
    """
    rng = np.random.default_rng(seed)
    lines = ["job_id,gpu_type,exec_time_s,power_w,dataset,batch_size,epochs"]
    for j in range(jobs):
        batch, epochs, dataset = 2 ** int(rng.integers(3, 9)), int(rng.integers(1, 30)), "xy"[int(rng.integers(2))]
        own = rng.normal() * job_noise
        for gpu, speed in GPUS.items():
            time = speed * (3.0 if dataset == "x" else 7.0) * batch**-0.4 * epochs * np.exp(own + noise * rng.normal())
            power = 50 * speed**0.5 * batch**0.2 * np.exp(noise * rng.normal())
            if rng.random() >= drop:
                lines.append(f"j{j},{gpu},{float(time)!r},{float(power)!r},{dataset},{batch},{epochs}")
    return "\n".join(lines) + "\n"


def law(gpu: str, dataset: str, batch: float, epochs: float) -> float:
    return GPUS[gpu] * (3.0 if dataset == "x" else 7.0) * batch**-0.4 * epochs
