"""Times from the arrival to the first start of jobs."""

from __future__ import annotations

import numpy as np

from gpusched_dsl.reporting.runs.job_times import queueing_times


def test_a_start_at_the_arrival_is_no_wait_despite_rounding() -> None:
    arrival = np.array([0.3, 1000.0, 5.0, 2.0, 1.0])
    start = np.array([0.1 + 0.2, 1000.0 - 1e-12, 7.5, np.nan, 0.9])
    times = queueing_times(start, arrival)
    assert times[:3].tolist() == [0.0, 0.0, 2.5]
    assert np.isnan(times[3])
    assert times[4] < -0.09, "a real error stays visible"
