"""`price(run[j, n])`: what a place costs with the prices of all rows that it shares, against values by hand."""

from __future__ import annotations

import pytest
from priced_models import opened

import gpusched_dsl as gs
from gpusched_dsl.policies.prices.values import with_prices

# GPUs for 1.5 jobs: `b` runs by half, so a GPU costs 6 $ less its 1 $ of rent; the rack's limit may bind instead.
MODEL = """
model Small {
  set Jobs ordered;  set Nodes;
  param value[Jobs] in $;  param gpus[Nodes];  param most;
  var run[Jobs, Nodes] binary;
  OBJECTIVE
  constraint once[j in Jobs]: sum[n in Nodes] run[j, n] <= 1;
  constraint room[n in Nodes]: sum[j in Jobs] run[j, n] <= gpus[n];
  constraint rack: sum[j in Jobs, n in Nodes] run[j, n] <= most;
  placement run[j, n] { job j;  node n;  uses 1 of gpus[n];  postponed value[j]; }
}
policy Priced for Small {
  order j in Jobs by price(run[j]);
  choose n in Nodes by price(run[j, n]);
  place best_fit, new_node, next_choice, postpone;
}
"""
MINIMUM = """minimize cost in $: sum[j in Jobs] value[j] * (1 - sum[n in Nodes] run[j, n])
    + sum[j in Jobs, n in Nodes] 1[$] * run[j, n];"""
MAXIMUM = "maximize gain in $: sum[j in Jobs, n in Nodes] (value[j] - 1[$]) * run[j, n];"


def scenario(nodes: str, most: float) -> str:
    return f"""scenario S for Small {{
  table Jobs: value[$] = a 10 b 6 c 3;  table Nodes: gpus = {nodes};  most = {most};
}}
"""


def prices(text: str) -> dict[tuple[str, str], float]:
    """The prices of the policy, as one reads them in a parameter of its own."""
    policy, built = opened(text)
    store = with_prices(policy, built.instance.store, built.permissions.limits()).store
    values = {}
    for name, param in store.params.items():
        if name.startswith("price("):
            labels = [store.universes[root].labels for root in ("Jobs", "Nodes")]
            for *codes, value in zip(*(c.tolist() for c in param.domain.columns()), param.values, strict=True):
                key = tuple(names[code] for names, code in zip(labels, codes, strict=False))
                values[key if len(key) == 2 else (key[0], "")] = float(value)
    return values


@pytest.mark.parametrize("objective", [MINIMUM, MAXIMUM])
@pytest.mark.parametrize(
    ("nodes", "most"),
    [
        ("n1 1.5", 9),  # the GPUs of one node
        ("n1 0.75 n2 0.75", 9),  # of nodes that can be exchanged
        ("n1 1 n2 0.5", 9),  # of nodes that cannot
        ("n1 2 n2 2", 1.5),  # the limit of the rack, of nodes that can be exchanged
        ("n1 2 n2 3", 1.5),
    ],
)
def test_prices_by_hand(objective: str, nodes: str, most: float) -> None:
    found = prices(MODEL.replace("OBJECTIVE", objective) + scenario(nodes, most))
    names = ["", *nodes.split()[::2]]
    wanted = {(job, n): rise for job, rise in {"a": -4.0, "b": 0.0, "c": 3.0}.items() for n in names}
    assert found == pytest.approx(wanted)


def test_a_queue_by_prices_runs_what_is_worth_most() -> None:
    result = gs.loads(MODEL.replace("OBJECTIVE", MINIMUM) + scenario("n1 1 n2 1", 1.5)).solve(backend="Priced")
    assert [str(j) for j, _, value in result["run"].rows() if value > 0.5] == ["a"]


def test_only_the_decision_of_the_placement_has_a_price() -> None:
    text = MODEL.replace("OBJECTIVE", MINIMUM).replace("var run", "var up[Nodes] binary;\n  var run")
    with pytest.raises(gs.ModelError, match="GSM1671"):
        gs.loads(
            text.replace("order j in Jobs by price(run[j])", "order j in Jobs by price(up)") + scenario("n1 1", 9)
        ).solve(backend="Priced")


def test_without_an_objective_there_is_no_price() -> None:
    with pytest.raises(gs.ModelError, match="GSM1672"):
        gs.loads(MODEL.replace("OBJECTIVE", "") + scenario("n1 1", 9)).solve(backend="Priced")
