"""Whether further jobs are expected to arrive, from the times between the arrivals so far.

A future without arrivals is the right one once the last job has come. Nobody says so at that time, but silence does.
Let n jobs have come at different times. By the rule of succession the last of them was the last of all with a chance of
1 / (n + 1). If it was not, the gap that is now open is like the earlier ones, and as long as the silence so far with a
chance of about (k + 1) / n, if k of the n - 1 gaps are longer than it. So the odds of the end against a further arrival
are about 1 : (k + 1), and the end is as likely as not when no gap was longer than the silence.
"""

from __future__ import annotations

import numpy as np

from gpusched_dsl.online.simulation.world import FUTURE, World


def expects_arrivals(world: World) -> bool:
    """Return whether a gap between arrivals so far was longer than the time since the last one.

    Jobs that come together are one arrival: after one there are no gaps, and none is expected.
    """
    came = world.arrival[world.status != FUTURE]
    times = np.unique(came[came <= world.now + world.tolerance()])
    if len(times) < 2:
        return False
    return bool(np.diff(times).max() > world.now - times[-1] + world.tolerance())
