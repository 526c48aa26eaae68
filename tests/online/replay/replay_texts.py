"""Texts of models, policies and random scenarios for replays."""

from __future__ import annotations

import numpy as np

LIBRARY = 'import "gsdsl:trace_replay/policies.gsm";\n'

# Nodes of several types and families, several ways to run a job.
MIXED = """
model Mixed {
  set Jobs;
  set Types;
  set Nodes;
  param gpus[Types] integer >= 1;
  param maker[Types] symbol default "";
  param type[Nodes] within Types;
  set Configs = { (t, g) : t in Types, g in 1..gpus[t] };
  set Runnable within Jobs cross Configs;
  param exec_time[Runnable] in h > 0;
  param submitted[Jobs] in h;
  param remaining[Jobs] > 0 <= 1 default 1;
  param urgency[Jobs] default 0;
  param slack[Jobs] in h default 5[h];
  param time_left[(j, t, g) in Runnable] in h = remaining[j] * exec_time[j, t, g];
  var run[j in Jobs, n in Nodes, g in 1..max[t in Types] gpus[t] where (j, type[n], g) in Runnable] binary;
  minimize waiting: sum[j in Jobs] (1 - sum[n in Nodes, g in 1..max[t in Types] gpus[t]] run[j, n, g]);
  constraint room[n in Nodes]: sum[j in Jobs, g in 1..max[t in Types] gpus[t]] g * run[j, n, g] <= gpus[type[n]];
  placement run[j, n, g] {
    job j;  node n;  node_type type[n];  family maker[type[n]];
    uses g of gpus[type[n]];
    lasts remaining[j] * exec_time[j, type[n], g];
  }
}
policy First for Mixed {
  order j in Jobs by submitted[j];
  choose t in Types, g in 1..gpus[t] where (j, t, g) in Runnable by g * exec_time[j, t, g], g;
  place best_fit, new_node, wait;
  keep running;
}
policy Passing for Mixed extends First { place first_fit, new_node, next_choice, postpone; }
policy Spreading for Mixed extends First { place new_node, best_fit, next_choice, postpone; }
policy Alone for Mixed extends First { place new_node exclusive, next_choice, wait; }
policy Urgent for Mixed extends Passing {
  order j in Jobs where urgency[j] < 4 by urgency[j] descending,
    sum[(t, g) in Configs where (j, t, g) in Runnable] time_left[j, t, g];
  choose t in Types, g in 1..gpus[t] where (j, t, g) in Runnable and g <= 2 by time_left[j, t, g];
  otherwise t in Types, g in 1..gpus[t] where (j, t, g) in Runnable by g descending;
}
online EveryEvent for Mixed {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion;
  carry remaining[j] = remaining[j];
  carry slack[j] = slack[j] - now;
}
"""


def _times(rng: np.random.Generator, count: int) -> list[float]:
    grid = rng.choice([1.0, 0.25, 0.1])
    return [round(float(t), 12) for t in rng.integers(1, 6, count) * grid]


def random_library_run(rng: np.random.Generator) -> str:
    """A scenario of `TraceReplay` with few jobs and nodes."""
    jobs, nodes = int(rng.integers(1, 12)), int(rng.integers(1, 5))
    lines = [f"    n{n} {rng.choice([2, 4, 8])}" for n in range(nodes)]
    grid = float(rng.choice([1.0, 0.25, 0.1]))
    rows = [
        f"    j{j} {rng.integers(0, 8) * grid:.12g} {rng.choice([1, 1, 1, 2, 2, 4, 8])} {time:.12g} "
        f"{rng.integers(1, 9)} {rng.integers(1, 4)}"
        for j, time in enumerate(_times(rng, jobs))
    ]
    return LIBRARY + (
        "scenario Run for TraceReplay {\n  table Nodes: gpus =\n" + "\n".join(lines) + " ;\n"
        "  table Jobs: submitted[h] needs exec_time[h] deadline[h] weight[$/h] =\n" + "\n".join(rows) + " ;\n}\n"
    )


def random_mixed_run(rng: np.random.Generator) -> str:
    """A scenario of `Mixed`; some jobs can run nowhere."""
    jobs, types, nodes = int(rng.integers(1, 10)), int(rng.integers(1, 4)), int(rng.integers(1, 6))
    gpus = rng.choice([1, 2, 4], types)
    makers = rng.choice(['""', '"a"', '"b"'], types)
    ways = [(j, t, g) for j in range(jobs) for t in range(types) for g in range(1, gpus[t] + 1) if rng.random() < 0.5]
    speeds = _times(rng, len(ways))
    same = {}  # in a family, the time is that of the number of GPUs
    for (j, t, g), time in zip(ways, speeds, strict=True):
        same[j, t, g] = time if rng.random() < 0.5 else same.get((j, 0, g), time)
    grid = float(rng.choice([1.0, 0.25]))
    text = "scenario Run for Mixed {\n"
    text += "  table Types: gpus maker =\n"
    text += "\n".join(f"    t{t} {gpus[t]} {makers[t]}" for t in range(types)) + " ;\n"
    text += "  table Nodes: type =\n" + "\n".join(f"    n{n} t{rng.integers(types)}" for n in range(nodes)) + " ;\n"
    text += "  table Jobs: submitted[h] urgency =\n"
    text += "\n".join(f"    j{j} {rng.integers(0, 6) * grid:.12g} {rng.integers(0, 5)}" for j in range(jobs)) + " ;\n"
    text += "  Runnable = { " + ", ".join(f"(j{j}, t{t}, {g})" for j, t, g in ways) + " };\n"
    for (j, t, g), time in same.items():
        text += f'  exec_time["j{j}", "t{t}", {g}] = {time:.12g}[h];\n'
    return MIXED + text + "}\n"
