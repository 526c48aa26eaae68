"""Random small queues: the exact model against enumeration, the engine against plain loops, both orders of sorting."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from queue_help import case_of
from test_queue_oracles import completions

from gpusched_dsl.solving.solve import solve_problem
from gsdsl_backends.protocol import SolveOptions

SEEDS = range(8)


def instance(seed: int) -> tuple[str, dict[str, dict[str, int]]]:
    """A scenario of up to five jobs and three GPUs, with pairs that do not fit, and its times."""
    rng = np.random.default_rng(seed)
    jobs, gpus = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    # Whole seconds, all different: equal keys have no part in what is compared.
    times = rng.permutation(np.arange(5, 95))[: jobs * gpus].reshape(jobs, gpus)
    times[rng.random(times.shape) < 0.25] = 0
    rows = " ".join(f"j{j} g{g} {times[j, g]}" for j in range(jobs) for g in range(gpus))
    names = [f"g{g}" for g in range(gpus)]
    text = f"""
    scenario S for Allocation {{
      Jobs = {{ {", ".join(f"j{j}" for j in range(jobs))} }};
      Types = {{ {", ".join(names)} }};
      table GPUs: gpu_type = {" ".join(f"{g} {g}" for g in names)};
      table Profiled: exec_time[s] = {rows};
    }}
    """
    found = {f"j{j}": {f"g{g}": int(times[j, g]) for g in range(gpus) if times[j, g]} for j in range(jobs)}
    return text, found


def all_plans(times: dict[str, dict[str, int]]):
    """Completion times of every allocation in every order of the jobs."""
    jobs = [job for job in times if times[job]]
    for gpus in product(*(times[job] for job in jobs)):
        for order in permutations(range(len(jobs))):
            queues: dict[str, list[str]] = {}
            for at in order:
                queues.setdefault(gpus[at], []).append(jobs[at])
            yield completions(times, queues)


@pytest.mark.quick(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_optima_are_those_of_enumeration(seed: int) -> None:
    text, times = instance(seed)
    if not any(times.values()):
        pytest.skip("no job fits anywhere")
    ends = list(all_plans(times))
    best = min(sum(e.values()) / len(e) for e in ends), min(max(e.values()) for e in ends)
    for aim, value in zip(("completion", "makespan"), best, strict=True):
        built = case_of(text, "S", aim=aim).built
        solved = solve_problem(built.problem, "highs", SolveOptions(gap=0.0))
        assert solved.objectives[0].value == pytest.approx(value, rel=1e-9)


def by_hand(times: dict[str, dict[str, int]], *, first: bool, by_finish: bool, after: bool) -> dict[str, list[str]]:
    """The queues by plain loops: jobs sorted `first` or as submitted; queues sorted `after`."""
    jobs = [job for job in times if times[job]]
    if first:
        jobs.sort(key=lambda job: min(times[job].values()))
    ready, queues = {}, {}
    for job in jobs:
        best = min(times[job], key=lambda g: (ready.get(g, 0) if by_finish else 0) + times[job][g])
        ready[best] = ready.get(best, 0) + times[job][best]
        queues.setdefault(best, []).append(job)
    if after:
        for gpu, queue in queues.items():
            queue.sort(key=lambda job: times[job][gpu])
    return queues


POLICIES = {
    "TimeFIFO": {"first": False, "by_finish": False, "after": False},
    "TimeSJF": {"first": False, "by_finish": False, "after": True},
    "TimeSJFSortedBefore": {"first": True, "by_finish": False, "after": False},
    "EarliestFinishFIFO": {"first": False, "by_finish": True, "after": False},
    "EarliestFinishSJF": {"first": False, "by_finish": True, "after": True},
    "EarliestFinishSJFSortedBefore": {"first": True, "by_finish": True, "after": False},
}


@pytest.mark.quick(2)
@pytest.mark.parametrize("policy", POLICIES)
def test_queues_are_those_of_plain_loops(policy: str) -> None:
    for seed in SEEDS:
        text, times = instance(seed)
        assert case_of(text, "S", policy).queues() == by_hand(times, **POLICIES[policy]), seed


@pytest.mark.slow
def test_sorting_before_and_after_give_the_same_queues_unless_the_choice_looks_at_them() -> None:
    differ = 0
    for seed in SEEDS:
        text, _ = instance(seed)
        assert case_of(text, "S", "TimeSJF").queues() == case_of(text, "S", "TimeSJFSortedBefore").queues()
        differ += (
            case_of(text, "S", "EarliestFinishSJF").queues()
            != case_of(text, "S", "EarliestFinishSJFSortedBefore").queues()
        )
    assert differ > 0


@pytest.mark.slow
def test_shortest_first_is_no_worse_and_ends_no_later() -> None:
    """For one allocation: the mean completion time does not rise, and no queue gets longer."""
    for seed in SEEDS:
        text, times = instance(seed)
        fifo, sjf = case_of(text, "S", "TimeFIFO").queues(), case_of(text, "S", "TimeSJF").queues()
        before, after = completions(times, fifo), completions(times, sjf)
        assert sum(after.values()) <= sum(before.values())
        for gpu in fifo:
            assert (
                completions(times, {gpu: fifo[gpu]})[fifo[gpu][-1]] == completions(times, {gpu: sjf[gpu]})[sjf[gpu][-1]]
            )
