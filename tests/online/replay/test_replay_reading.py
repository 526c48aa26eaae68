"""Replays equal the decisions of the policy at every event, with the present jobs."""

from __future__ import annotations

import numpy as np
import pytest
from planned_runs import planned, ready, reasons, replayed
from replay_texts import random_library_run, random_mixed_run

LIBRARY_POLICIES = (
    "FIFO", "Backfilling", "SJF", "SJFSkipping", "SmallestArea", "EDF", "EDFSkipping", "LargestFirst", "SmallestFirst",
    "Priority",
)  # fmt: skip
MIXED_POLICIES = ("First", "Passing", "Spreading", "Alone", "Urgent")


def agree(text: str, policy: str, online: str) -> int:
    given = ready(text, policy)
    assert reasons(given, online) == []
    fast, slow = replayed(given), planned(given)
    assert fast.keys() == slow.keys(), text
    for job, (start, end, element) in slow.items():
        assert fast[job] == (start, end, element), (text, policy, job)
    return len(fast)


@pytest.mark.quick(3)
@pytest.mark.parametrize("policy", LIBRARY_POLICIES)
def test_policies_of_the_library_are_replayed_as_they_decide(policy: str) -> None:
    rng = np.random.default_rng(4)
    assert sum(agree(random_library_run(rng), policy, "Replay") for _ in range(4)) > 8


@pytest.mark.quick(2)
@pytest.mark.parametrize("policy", MIXED_POLICIES)
def test_policies_that_choose_ways_are_replayed_as_they_decide(policy: str) -> None:
    rng = np.random.default_rng(5)
    assert sum(agree(random_mixed_run(rng), policy, "EveryEvent") for _ in range(5)) > 6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6, 10))
def test_many_runs_are_replayed_as_their_policies_decide(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(40):
        agree(random_library_run(rng), str(rng.choice(LIBRARY_POLICIES)), "Replay")
        agree(random_mixed_run(rng), str(rng.choice(MIXED_POLICIES)), "EveryEvent")
