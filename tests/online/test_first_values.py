"""What carried values are when a plan first has an element, and when nodes fail: by hand."""

from __future__ import annotations

import pytest
from online_texts import setup

from gpusched_dsl.compiling.data.instance import Instance
from gpusched_dsl.online.loops.base import SimulationLoop
from gpusched_dsl.online.open import loop_of

TEXT = """
model Net {
  set Jobs;  set Nodes;
  param submitted[Jobs] in h;  param length[Jobs] in h > 0;  param deadline[Jobs] in h;  param mtbf[Nodes] in h;
  param remaining[Jobs] > 0 <= 1 default 1;  param clock in h default 7[h];  param seen in h default 7[h];
  param left[Jobs] in h default 7[h];  param here[Jobs, Nodes] default 0;  param load default 0;
  param copy[Jobs] in h default 5[h];
  var run[Jobs, Nodes] binary;
  minimize cost in $: sum[j in Jobs, n in Nodes] 1[$] * run[j, n];
  constraint alone[n in Nodes]: sum[j in Jobs] run[j, n] <= 1;
  placement run[j, n] { job j;  node n;  uses 1 of 1;  lasts remaining[j] * length[j];  due deadline[j] - clock; }
}
policy Queue for Net { order j in Jobs by left[j];  place first_fit, new_node, wait;  keep running; }
online Block for Net {
  arrive j in Jobs at submitted[j];
  replan on arrival;
  outage n in Nodes every mtbf[n] lasting 100[h];
  carry remaining[j] = remaining[j];
  CARRY
}
scenario S for Net {
  table Nodes: mtbf[h] = n0 3  n1 100;
  table Jobs: submitted[h] length[h] deadline[h] = a 1 1.5 9  b 4 1 20;
}
"""
CLOCK = "carry clock = now;  carry left[j] = deadline[j] - now;"
READERS = {
    "nobody": "",
    "previous": "carry seen = previous(clock) + previous(seen);  carry copy[j] = previous(left[j]);",
    "executed": "carry seen = previous(seen) + executed((clock / 1[h]) * sum[j in Jobs, n in Nodes] run[j, n]);"
    "  carry copy[j] = executed((left[j] / 1[h]) * sum[n in Nodes] run[j, n]);",
}


def values(carry: str) -> list[dict[str, list[float]]]:
    """What each plan of a run knows of the parameters."""
    found: list[dict[str, list[float]]] = []
    loop = loop_of(setup(TEXT.replace("CARRY", carry), online="Block", method="Queue"))
    assert isinstance(loop, SimulationLoop)

    def noted(instance: Instance, plan: object, number: int) -> None:
        names = ("clock", "left", "seen", "copy", "load")
        found.append({name: instance.store.params[name].values.tolist() for name in names})

    loop.examine = noted
    loop.run()
    return found


@pytest.mark.parametrize("reader", READERS)
def test_values_do_not_depend_on_who_reads_them(reader: str) -> None:
    """A carry without past counts at the first plan, and at the first plan of a job, whoever reads its last value."""
    first, second = values(CLOCK + READERS[reader])
    assert (first["clock"], first["left"]) == ([1.0], [8.0])
    assert (second["clock"], second["left"]) == ([4.0], [16.0])


def test_values_of_the_last_plan_have_no_effect_on_the_first_plan() -> None:
    first, second = values(CLOCK + READERS["previous"])
    assert (first["seen"], first["copy"]) == ([7.0], [5.0])
    assert (second["seen"], second["copy"]) == ([8.0], [7.0])  # job b had none yet: the value of the scenario
    assert values("carry seen = previous(clock);  carry clock = now;")[0]["seen"] == [7.0]


def test_decisions_of_jobs_that_ended_on_a_node_that_failed_count() -> None:
    """Job a ended at 2.5 on the node that fails at 3; the plan at 4 does not have the node any more."""
    carry = "carry load = sum[j in Jobs, n in Nodes] run[j, n];  carry seen = 1[h] * count(Nodes);"
    assert [(plan["load"], plan["seen"]) for plan in values(carry)] == [([0.0], [2.0]), ([1.0], [1.0])]


def test_a_job_that_a_failure_halts_has_no_decision() -> None:
    text = TEXT.replace("a 1 1.5 9", "a 1 2.5 9").replace("on arrival", "on arrival, completion")
    text = text.replace("CARRY", "carry load = sum[j in Jobs, n in Nodes] run[j, n];")
    loop = loop_of(setup(text, online="Block", method="Queue"))
    assert isinstance(loop, SimulationLoop)
    found: list[float] = []
    loop.examine = lambda instance, plan, number: found.extend(instance.store.params["load"].values.tolist())
    loop.run()
    assert found[:2] == [0.0, 0.0]
