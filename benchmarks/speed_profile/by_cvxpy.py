"""Job by job through one CVXPY problem per number of rungs, compiled once, its numbers given as parameters.

With z = (x - done) / mean the partial expectation of an exponential law is mean * (1 - exp(-z)): all that changes from
job to job stands in coefficients, and the problem obeys the rules of disciplined parametrised programming.
"""

from pathlib import Path

import cvxpy as cp
import numpy as np

from benchmarks.child import Lap
from benchmarks.speed_profile.data import LIMIT
from gpusched_dsl.policies.speed_levels import filter_levels


def run(folder: Path, lap: Lap) -> dict[str, float]:
    given = np.load(folder / "jobs.npz")
    jobs = {name: given[name] for name in given.files}
    lap("read")
    ladders = filter_levels(jobs["speed"], jobs["rate"])
    lap("filter")
    models = {int(count): Model(int(count)) for count in np.unique(ladders.counts)}
    for model in models.values():
        model.solve(np.ones(model.size), np.ones(model.size), 1.0, 1.0)  # compiles
    lap("compile")
    total = 0.0
    for row, (job, done, left) in enumerate(zip(jobs["job"], jobs["done"], jobs["left"], strict=True)):
        count = int(ladders.counts[row])
        mean = jobs["mean"][job]
        cost, pace = ladders.cost[row, :count], ladders.pace[row, :count]
        rest = LIMIT - done
        best = models[count].solve(
            mean * ladders.cost_gain[row, : count - 1], mean * ladders.pace_gain[row, : count - 1],
            left - rest * pace[-1], rest / mean,
        )  # fmt: skip
        total += cost[-1] * mean * -np.expm1(-rest / mean) - best
    lap("solve")
    return {"profiles": len(ladders.counts), "energy": float(f"{total:.5g}")}


class Model:
    def __init__(self, rungs: int) -> None:
        self.size = rungs - 1
        self.cost_gain, self.pace_gain = (cp.Parameter(self.size, nonneg=True) for _ in range(2))
        self.slack, self.limit = cp.Parameter(), cp.Parameter(nonneg=True)
        z = cp.Variable(self.size)
        rows = [z >= 0, z <= self.limit, cp.diff(z) >= 0, self.pace_gain @ z <= self.slack]
        self.problem = cp.Problem(cp.Maximize(self.cost_gain @ (1 - cp.exp(-z))), rows)
        assert self.problem.is_dpp()

    def solve(self, cost_gain: np.ndarray, pace_gain: np.ndarray, slack: float, limit: float) -> float:
        self.cost_gain.value, self.pace_gain.value = cost_gain, pace_gain
        self.slack.value, self.limit.value = slack, limit
        return float(self.problem.solve(solver=cp.CLARABEL))
