"""Plans of gangs are those of the described steps: nodes by enumeration, the order of jobs by plain loops.

Of several equally good sets of nodes the one of the plan is taken.
"""

from __future__ import annotations

import numpy as np
import pytest
from comparing import LIMITS, Decision, decision_of
from gang_clusters import Gang, Racks, random_racks
from referee import NEAR, Referee, Stay

from gpusched_dsl.policies.decide import decide

Workers = dict[int, dict[int, int]]  # of jobs, by node


def plan_of(decision: Decision, name: str) -> Workers:
    given = decide(decision.policy(name), decision.store, LIMITS).values["worker"]
    found: Workers = {}
    for job, node, workers in zip(*(codes.tolist() for codes in given.codes), given.values.tolist(), strict=True):
        found.setdefault(job, {})[node] = round(workers)
    return found


class Steps:
    """Goes through the jobs of a plan and checks each turn."""

    def __init__(self, racks: Racks, plan: Workers) -> None:
        self.racks, self.plan = racks, plan
        self.referee = Referee(racks, [])
        self.held: dict[tuple[int, int], int] = {}
        self.started: list[int] = []

    def turn(self, job: int) -> bool:
        """Whether the job has its places; they are the best ones beside those of earlier jobs."""
        found = self.referee.least(job, self.held)
        assert (found is not None) == (job in self.plan), job
        if found is None:
            return False
        stay = Stay(job, self.plan[job], 0.0, self.referee.time(job, self.plan[job]))
        self.referee.check_nodes(stay, found, self.held)
        self.start(job)
        return True

    def start(self, job: int) -> None:
        self.held |= {(node, job): workers for node, workers in self.plan[job].items()}
        self.started.append(job)

    def earliest(self, job: int) -> float:
        """When a job could start if no other one did."""
        ends = {other: self.referee.time(other, self.plan[other]) for other in self.started}
        for now in sorted({0.0, *ends.values()}):
            held = {key: workers for key, workers in self.held.items() if ends[key[1]] > now + NEAR}
            if self.referee.least(job, held) is not None:
                return now
        return np.inf


def check_turns(racks: Racks, plan: Workers) -> None:
    """Fair share: the next job is the first one, not yet tried, of the user with the fewest GPUs for its share."""
    steps = Steps(racks, plan)
    used = [0.0] * len(racks.shares)
    waiting = {user: [j for j, job in enumerate(racks.jobs) if job.owner == user] for user in range(len(used))}
    while any(waiting.values()):
        user = min((u for u in waiting if waiting[u]), key=lambda u: (round(used[u] / racks.shares[u][0], 9), u))
        job = waiting[user].pop(0)
        need = racks.jobs[job].need
        if used[user] + need > racks.shares[user][1]:
            assert job not in plan
        elif steps.turn(job):
            used[user] += need
    assert set(steps.started) == set(plan)


def check_reservation(racks: Racks, plan: Workers) -> bool:
    """EASY: the first job without a place starts as early as without those behind it; return whether there is one."""
    steps = Steps(racks, plan)
    for job in range(len(racks.jobs)):
        if steps.referee.least(job, steps.held) is None:
            assert job not in plan
            before = steps.earliest(job)
            for later in plan.keys() - set(steps.started):
                steps.start(later)
            assert steps.earliest(job) <= before + NEAR
            return True
        assert steps.turn(job)
    return False


def crowded(seed: int) -> Racks:
    """Nodes with more jobs than they have room for, most of them small."""
    racks, rng = random_racks(seed), np.random.default_rng(seed)
    jobs = [
        Gang(int(rng.choice([1, 1, 2, 3, 5])), 1.0, float(rng.integers(1, 9)), 0.0, 9.0, int(rng.integers(3)))
        for _ in range(14)
    ]
    shares = [(float(rng.integers(1, 5)), float(rng.integers(3, 12))) for _ in range(3)]
    return Racks(racks.nodes, jobs, shares)


def check_decision(seed: int) -> bool:
    racks = crowded(seed)
    decision = decision_of(racks.text())
    for name, waits in (("Packed", False), ("FIFO", True)):
        plan, steps = plan_of(decision, name), Steps(racks, plan_of(decision, name))
        for job in range(len(racks.jobs)):
            if not steps.turn(job) and waits:
                break
        assert set(steps.started) == set(plan), name
    check_turns(racks, plan_of(decision, "FairShare"))
    return check_reservation(racks, plan_of(decision, "EASY"))


@pytest.mark.parametrize("seed", range(16))
def test_gangs_follow_the_described_steps(seed: int) -> None:
    check_decision(seed)


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(10))
def test_many_gangs_follow_the_described_steps(batch: int) -> None:
    assert sum(check_decision(seed) for seed in range(100 + 30 * batch, 130 + 30 * batch)) >= 10
