"""Scenarios of GPU sharing at random: a few nodes of two kinds, jobs that may share GPUs, tight and loose due dates."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

KINDS = {"K80": (0.9, 24, (5, 10)), "A100": (3.67, 80, (2, 3))}


@dataclass
class Text:
    """What a scenario says; `text` writes it, with prices and weights times `money`."""

    nodes: list[tuple[str, str]]
    gpus: int
    jobs: dict[str, dict[str, float]]
    times: dict[tuple[str, str, int], float]
    slowdown: dict[tuple[str, int], float]
    epochs: dict[str, list[int]]
    policies: str = ""
    order: list[str] = field(default_factory=list)

    def text(self, money: float = 1.0, later: float = 0.0) -> str:
        def rows(values) -> str:
            return "\n".join("    " + "  ".join(map(str, row)) for row in values)

        rates = [(k, g, repr(money * round(g * KINDS[k][0], 2))) for k in KINDS for g in range(1, self.gpus + 1)]
        jobs = [
            (j, self.jobs[j]["memory"], repr(self.jobs[j]["deadline"]), repr(money * self.jobs[j]["weight"]),
             repr(self.jobs[j]["submitted"] + later))
            for j in self.order
        ]  # fmt: skip
        times = [(j, k, g, repr(t)) for (j, k, g), t in self.times.items()]
        shares = [(k, u, repr(b)) for (k, u), b in self.slowdown.items()]
        epochs = [(o + 1, j, e) for j, listed in self.epochs.items() for o, e in enumerate(listed)]
        return f"""import "gsdsl:gpu_sharing/policies.gsm";
scenario Drawn for GpuSharing {{
  node_rule = none;
  table Types: gpus memory[GB] =
{rows((k, self.gpus, KINDS[k][1]) for k in KINDS)};
  table Nodes: node_type =
{rows(self.nodes)};
  table Configs: cost_rate[$/h] =
{rows(rates)};
  table Shares: slowdown =
{rows(shares)};
  table Jobs: memory_need[GB] deadline[h] weight[$/h] submitted[h] =
{rows(jobs)};
  table Runnable: exec_time[h] =
{rows(times)};
  outcomes = 4;
  table Outcomes, Jobs: epochs[epoch] =
{rows(epochs)};
}}
policy QuickRG for GpuSharing extends RG {{ repeat 15 keep best node_first_end; }}
{self.policies}
"""


def drawn(seed: int, jobs: int = 8, nodes: int = 3, gpus: int = 3) -> Text:
    rng = np.random.default_rng(seed)
    kinds = list(KINDS)
    names = [f"j{i}" for i in range(jobs)]
    listed = [(f"n{i}", kinds[int(k)]) for i, k in enumerate(np.sort(rng.integers(0, 2, nodes)))]
    there = sorted({k for _, k in listed})
    data, times, epochs = {}, {}, {}
    for j in names:
        base, overhead = rng.uniform(5, 60), rng.uniform(0.05, 0.3)
        factor = {"K80": 1.0, "A100": rng.uniform(2.4, 3.6)}
        for k in kinds:
            for g in range(1, gpus + 1):
                times[j, k, g] = float(base / factor[k] * (1 + overhead * (g - 1)) / g)
        least = min(t for (i, k, _), t in times.items() if i == j and k in there)
        data[j] = {
            "memory": int(rng.choice([3, 6, 10])),
            "deadline": float(least * rng.uniform(0.5, 6)),
            "weight": float(rng.uniform(20, 150)),
            "submitted": float(-rng.uniform(0, 10)),
        }
        epochs[j] = rng.integers(11, 101, 4).tolist()
    slowdown = {(k, u): float(rng.uniform(1.01, 1.15)) for k in kinds for u in KINDS[k][2]}
    return Text(listed, gpus, data, times, slowdown, epochs, order=list(names))
