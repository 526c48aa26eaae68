"""Replays are the runs that a plain simulation gives, job by job."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from slow_replay import Job, Setting, Way, none_for, random_setting, simulate, trace_of

from gpusched_dsl.online.replay.run import replay
from gpusched_dsl.online.replay.trace import (
    BEHIND,
    BEST_FIT,
    FINISHED,
    LEFT_OUT,
    NO_ROOM,
    UNOPENED,
    ReplayedJobs,
    Rules,
)

STRICT = Rules(BEST_FIT, opens=True, waits=True)
SKIPPING = Rules(BEST_FIT, opens=True)


def one_pool(jobs: list[tuple[float, int, float]], gpus: int, rules: Rules) -> Setting:
    """Jobs as (submitted, GPUs, time) in the order of the queue, on one pool."""
    made = tuple(Job(at, rank, (Way(0, size, time, 0),)) for rank, (at, size, time) in enumerate(jobs))
    return Setting(made, (0,), (gpus,), (0,), rules)


def check(setting: Setting, compiled: bool = False) -> ReplayedJobs:
    found, slow = replay(trace_of(setting), compiled), simulate(setting)
    assert np.array_equal(found.start, none_for(slow.start), equal_nan=True), setting
    assert np.array_equal(found.end, none_for(slow.end), equal_nan=True), setting
    assert found.node.tolist() == [-1 if n is None else n for n in slow.node], setting
    own = [-1 if w < 0 else w - sum(len(job.ways) for job in setting.jobs[:j]) for j, w in enumerate(found.way)]
    assert own == [-1 if w is None else w for w in slow.way], setting
    assert ((found.reason == FINISHED) == ~np.isnan(found.end)).all()
    return found


def test_nobody_overtakes_the_head_of_a_strict_queue() -> None:
    setting = one_pool([(0, 3, 10), (1, 2, 5), (2, 1, 1)], 4, STRICT)
    assert check(setting).start.tolist() == [0, 10, 10]
    assert check(replace(setting, rules=SKIPPING)).start.tolist() == [0, 10, 2]


def test_completions_come_before_arrivals_and_arrivals_before_the_queue() -> None:
    # At time 2 a job ends, and two come of which the one that comes later in the data is first in the queue.
    setting = one_pool([(0, 1, 2), (2, 1, 3), (2, 1, 1)], 1, STRICT)
    jobs = (setting.jobs[0], replace(setting.jobs[1], rank=2), replace(setting.jobs[2], rank=1))
    assert check(replace(setting, jobs=jobs)).start.tolist() == [0, 3, 2]


def test_a_new_head_is_tried_where_the_old_one_was_stuck() -> None:
    setting = one_pool([(5, 1, 1), (0, 3, 10), (1, 2, 1)], 4, STRICT)
    assert check(setting).start.tolist() == [5, 0, 10]


def test_what_is_a_hair_apart_is_simultaneous() -> None:
    setting = one_pool([(0, 1, 0.1 + 0.2), (0.3, 1, 1)], 1, STRICT)
    found = check(setting)
    assert found.start.tolist() == [0, 0.3]
    assert found.instants == 3


def test_too_large_a_job_is_told_and_blocks_a_strict_queue() -> None:
    setting = one_pool([(0, 1, 1), (1, 9, 1), (2, 1, 1)], 4, STRICT)
    assert check(setting).reason.tolist() == [FINISHED, NO_ROOM, BEHIND]
    assert check(replace(setting, rules=SKIPPING)).reason.tolist() == [FINISHED, NO_ROOM, FINISHED]


def test_why_jobs_never_start() -> None:
    setting = one_pool([(0, 1, 1), (1, 1, 1)], 4, SKIPPING)
    left_out = replace(setting, jobs=(setting.jobs[0], replace(setting.jobs[1], rank=None)))
    assert check(left_out).reason.tolist() == [FINISHED, LEFT_OUT]
    assert check(replace(setting, rules=Rules(BEST_FIT, opens=False))).reason.tolist() == [UNOPENED, UNOPENED]
    no_way = replace(setting, jobs=(replace(setting.jobs[0], ways=()), setting.jobs[1]))
    assert check(no_way).reason.tolist() == [NO_ROOM, FINISHED]


def test_a_trace_without_jobs() -> None:
    found = check(one_pool([], 4, STRICT))
    assert found.instants == 0
    assert len(found.start) == 0


def test_nonsense_is_refused() -> None:
    trace = trace_of(one_pool([(0, 1, 1)], 4, STRICT))
    for broken in (
        replace(trace, size=np.array([0])),
        replace(trace, time=np.array([0.0])),
        replace(trace, submitted=np.array([math.nan])),
    ):
        with pytest.raises(ValueError, match=r"uses no GPU|no submission time"):
            replay(broken)


def test_random_runs_are_those_of_the_simulation() -> None:
    rng = np.random.default_rng(1)
    told = np.zeros(5, dtype=np.int64)
    for _ in range(600):
        told += np.bincount(check(random_setting(rng)).reason, minlength=5)
    assert (told > 30).all(), told  # all that can become of a job has become of some


def test_machine_code_gives_the_same_runs() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        check(random_setting(rng), compiled=True)


@pytest.mark.slow
def test_many_random_runs_are_those_of_the_simulation() -> None:
    rng = np.random.default_rng(3)
    for _ in range(10_000):
        check(random_setting(rng), compiled=bool(rng.random() < 0.5))
