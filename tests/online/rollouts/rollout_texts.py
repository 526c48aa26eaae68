"""Small clusters of capacity planning with portfolios, for the tests of rollouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

HEAD = """
import "gsdsl:capacity_planning/online.gsm";
policy Slack for CapacityPlanning extends Greedy {
  order j in Jobs by deadline[j] - min[(v, g) in Configs where (j, v, g) in Runnable] time_left[j, v, g] + 0.01 * now;
  place best_fit, new_node, next_choice, wait;
  keep running;
}
policy Crowd for CapacityPlanning extends Greedy {
  let crowd = count(Jobs) / (1 + sum[i in Jobs where deadline[i] < 1[h]] 1);
  let urgency[j in Jobs] = if crowd > 2 then weight[j] * 1[h/$] else -deadline[j] * 1[1/h];
  order j in Jobs by urgency[j] + 0.1 * shortest[j] * 1[1/h], attained[j], arrived[j];
}
policy Switching for CapacityPlanning { portfolio Greedy, ATC, EDF; }
policy Congested for CapacityPlanning { portfolio CongestionATC, ATC; continue with CongestionATC; }
policy Rolling for CapacityPlanning { portfolio Greedy, EDF, Slack; continue with ATC, Slack; }
policy Drawing for CapacityPlanning {
  portfolio Greedy, EDF, Crowd;
  lookahead 3[h];
  futures 2 with arrivals seed 5;
  continue with ATC, Crowd;
}
policy Mixing for CapacityPlanning { portfolio Greedy, ATC, EDF; continue with ATC; mix 6 plans; }
policy Searching for CapacityPlanning { portfolio RandomisedGreedy, FIFO; continue with FIFO; }
online Periodic for CapacityPlanning extends EveryEvent {}
online Noisy for CapacityPlanning extends EveryArrivalAndCompletion {
  stretch truncate(normal(mean = 1, deviation = 0.3), low = 0.7, high = 1.6);
}
online Failing for CapacityPlanning extends EveryArrivalAndCompletion {
  outage n in Nodes every exponential(mean = 3[h]) lasting 0.5[h];
}
online Whole for CapacityPlanning extends EveryArrivalAndCompletion { charge nodes; }
online Changing for CapacityPlanning extends EveryArrivalAndCompletion {
  on migration delay 0.2[h];
  on halt costs 0.5[$];
}
"""


class Job(NamedTuple):
    """A job: its arrival and due time, the price of an hour of tardiness, and its hours on one GPU."""

    name: str
    submitted: float
    deadline: float
    weight: float
    hours: float


def some_jobs(seed: int, count: int, within: float = 3.0) -> list[Job]:
    rng = np.random.default_rng(seed)
    arrivals = np.sort(np.round(rng.uniform(0, within, count), 3))
    return [
        Job(f"j{i}", float(a), float(np.round(a + rng.uniform(0.5, 4), 3)), float(np.round(rng.uniform(0.5, 4), 3)),
            float(np.round(rng.uniform(0.4, 3), 3)))
        for i, a in enumerate(arrivals)
    ]  # fmt: skip


def cluster(jobs: Sequence[Job], nodes: int = 2, more: str = "") -> str:
    rows = "  ".join(f"{j.name} {j.submitted!r} {j.deadline!r} {j.weight!r}" for j in jobs)
    times = "  ".join(
        f"{j.name} A 1 {j.hours!r}  {j.name} B 1 {0.8 * j.hours!r}  {j.name} B 2 {0.45 * j.hours!r}" for j in jobs
    )
    return f"""{HEAD}{more}
scenario S for CapacityPlanning {{
  node_rule = at_most;
  period = 0.75[h];
  Nodes = {{ {", ".join(f"n{i}" for i in range(nodes))} }};
  table Types:  gpus  price[$/h] =  A 1 0.5  B 2 1.4;
  table Jobs:  submitted[h]  deadline[h]  weight[$/h] = {rows};
  table Runnable:  exec_time[h] = {times};
}}
"""
