"""Jobs on divided GPUs: instances of a size may begin at some slices only, which no role states.

Sizes and positions: NVIDIA, Multi-Instance GPU User Guide, section "Supported MIG Profiles" (A100).
"""

from __future__ import annotations

import numpy as np
import pytest

import gpusched_dsl as gs

POSITIONS = {"g1": (0, 1, 2, 3, 4, 5, 6), "g2": (0, 2, 4), "g3": (0, 4), "g4": (0,), "g7": (0,)}
SLICES = {"g1": 1, "g2": 2, "g3": 4, "g4": 4, "g7": 8}

MODEL = """
model Divided {
  set Jobs;  set Gpus;  set Profiles;  set Slices = 0..7;
  param size[Profiles] integer >= 1;  param begins[Profiles, Slices] binary default 0;
  param profile[Jobs] within Profiles;  param value[Jobs] in $;  param hours[Jobs] in h;
  param price in $/h = 0.05[$/h];
  var at[j in Jobs, g in Gpus, s in Slices where begins[profile[j], s] == 1] binary;
  minimize cost in $ {
    rent: sum[j in Jobs, g in Gpus, s in Slices where begins[profile[j], s] == 1]
      price * size[profile[j]] * hours[j] * at[j, g, s];
    waiting: sum[j in Jobs]
      value[j] * (1 - sum[g in Gpus, s in Slices where begins[profile[j], s] == 1] at[j, g, s]);
  }
  constraint once[j in Jobs]: sum[g in Gpus, s in Slices where begins[profile[j], s] == 1] at[j, g, s] <= 1;
  constraint slice[g in Gpus, c in Slices]:
    sum[j in Jobs, s in Slices where begins[profile[j], s] == 1 and s <= c and c < s + size[profile[j]]]
      at[j, g, s] <= 1;
  placement at[j, g, s] {
    job j;  node g;  uses size[profile[j]] of 8;  lasts hours[j];  costs price * size[profile[j]];
    postponed value[j];
  }
}
policy ByValue for Divided "the job that is worth most for its slices first, in its last place" {
  order j in Jobs by value[j] / size[profile[j]] descending;
  choose s in Slices where begins[profile[j], s] == 1 by s descending;
  place best_fit, new_node, next_choice, postpone;
}
policy Priced for Divided "the job that gains most beyond the prices of its slices first" {
  order j in Jobs by min[s in Slices where begins[profile[j], s] == 1] price(at[j, s]);
  choose g in Gpus, s in Slices where begins[profile[j], s] == 1 by price(at[j, g, s]), -s;
  place best_fit, new_node, next_choice, postpone;
}
policy PricedDrawn for Divided extends Priced {
  randomise order swapping with probability 0.3;
  repeat 20 keep best total;
}
policy Inserted for Divided extends ByValue { improve 1 best rounds all with insert_job(0); }
policy InsertedTwice for Divided extends PricedDrawn { improve 2 best rounds all with insert_job(0); }
policy InsertedFew for Divided extends ByValue { improve 1 best rounds all with insert_job(3); }
policy Repacked for Divided extends ByValue {
  improve 1 best rounds all with swap_postponed_running(0), repack_node(0), repack_two(0);
}
"""


def divided(seed: int, jobs: int = 24, gpus: int = 6) -> str:
    """Return the model with a scenario: some profiles for each job, and what it is worth."""
    rng = np.random.default_rng([8, seed])
    profiles = [str(p) for p in rng.choice(list(SLICES), jobs, p=[0.3, 0.25, 0.2, 0.15, 0.1])]
    values = [round(float(SLICES[p] * rng.uniform(0.4, 1.6)), 2) for p in profiles]
    names = [f"j{at}" for at in range(jobs)]
    rows = [f"{j} {p} {v} {rng.integers(1, 9)}" for j, p, v in zip(names, profiles, values, strict=True)]
    return f"""{MODEL}scenario S for Divided {{
  Gpus = 1..{gpus};
  table Profiles: size = {" ".join(f"{p} {size}" for p, size in SLICES.items())};
  table Profiles, Slices: begins = {" ".join(f"{p} {s} 1" for p, at in POSITIONS.items() for s in at)};
  table Jobs: profile value[$] hours[h] = {" ".join(rows)};
}}
"""


def gap(model: gs.Model, policy: str, least: float) -> float:
    result = model.solve(backend=policy)
    assert result.status == "feasible"
    assert result.objective is not None
    assert result.objective >= least - 1e-6
    return result.objective / least - 1


def test_jobs_change_their_positions() -> None:
    """Moves that look ways up by their GPUs alone cannot: no node has room, whatever the jobs on it are."""
    model = gs.loads(divided(5, jobs=8, gpus=2))
    best = model.solve(gap=0).objective
    assert best is not None
    assert gap(model, "InsertedFew", best) <= 0.02
    assert gap(model, "Repacked", best) > 0.05


def test_a_queue_by_prices_is_near_the_optimum() -> None:
    """The slices that two jobs of one instance would need have prices, whatever they are called in the model."""
    model = gs.loads(divided(4))
    best = model.solve(gap=0).objective
    assert best is not None
    assert gap(model, "Priced", best) <= 0.15
    assert gap(model, "ByValue", best) > 0.15


@pytest.mark.slow
def test_a_queue_by_prices_is_near_the_optimum_in_most_cases() -> None:
    models = [gs.loads(divided(seed)) for seed in range(12)]
    gaps = [gap(model, "Priced", float(model.solve(gap=0).objective or 0)) for model in models]
    assert sum(one <= 0.15 for one in gaps) >= 11, gaps


@pytest.mark.slow
def test_local_search_is_near_the_optimum() -> None:
    """From one queue within 2 % in 11 cases, 3 % in one; from the two best of draws by prices within 2 % there too."""
    models = [gs.loads(divided(seed)) for seed in range(12)]
    best = [float(model.solve(gap=0).objective or 0) for model in models]
    gaps = [gap(model, "Inserted", least) for model, least in zip(models, best, strict=True)]
    assert sum(one <= 0.02 for one in gaps) >= 11, gaps
    assert max(gaps) <= 0.04, gaps
    assert gap(models[8], "InsertedTwice", best[8]) <= 0.02
