"""Policies of the standard library and written ones on small scenarios, up to the judgement of the model."""

from __future__ import annotations

import numpy as np
import pytest
from slot_help import case_of, codes_of

BY_EXPRESSION = """
policy ByExpression for PriceAware {
  order b in Batch by arrives[b];
  choose k in Nodes, h in Slots where (b, node_type[k]) in Fits and arrives[b] <= h by 1;
  occupies slots_needed[b, node_type[k]];
  place start_now first_free, block;
  reserve i in Services, k in Nodes, h in Slots where (i, node_type[k]) in Deployed of load[i, h]
    with equal_parts(highest_utilisation * rate[i, node_type[k]]);
  fix share[i in Services, k in Nodes, h in Slots] =
    (1 - sum[b in Batch] train[b, k, h]) * load[i, h] / sum[q in Nodes] (1 - sum[b in Batch] train[b, q, h]);
  fix on[k in Nodes, h in Slots] = if share["I1", k, h] > 0 then 1 else sum[b in Batch] train[b, k, h];
}
"""


def test_what_is_not_decided_by_rules_may_be_stated_by_expressions() -> None:
    """They read the plan, and each what is fixed before it."""
    rules, stated = (case_of(BY_EXPRESSION, "Baselines", name) for name in ("FIFO", "ByExpression"))
    assert stated.entries("train") == rules.entries("train")
    shares = rules.entries("share")
    assert stated.entries("share").keys() == shares.keys()
    assert all(stated.entries("share")[at] == pytest.approx(value) for at, value in shares.items())
    assert stated.entries("on") == rules.entries("on")
    assert stated.judged()[0].objectives[0].value == pytest.approx(0.09784)


SCALARS = """
model WithReserve extends PriceAware { var reserve >= 0; var spare >= 0; }
scenario Reserved for WithReserve extends Baselines { }
"""
RESERVES = (
    BY_EXPRESSION.replace("ByExpression for PriceAware", "Reserves for WithReserve").split("  fix on")[0]
    + """
  fix reserve = RESERVE;
  fix spare = 3;
  fix on[k in Nodes, h in Slots] = if reserve > 0 then 1 else spare;
}
"""
)


@pytest.mark.parametrize(("reserve", "on"), [("0", 3.0), ("2", 1.0)])
def test_a_variable_without_an_index_is_read_as_it_was_fixed_also_at_0(reserve: str, on: float) -> None:
    case = case_of(SCALARS + RESERVES.replace("RESERVE", reserve), "Reserved", "Reserves")
    assert set(case.entries("on").values()) == {on}


SUMS = """
policy Sums extends EPRONS {
  fix on[k in Nodes, h in Slots] =
    (sum[b in Batch] train[b, k, h] + 10 * sum[b in Batch where due[b] < 5 and k == k] train[b, k, h]
      + 100 * sum[b in Batch, q in Slots where q <= 2] train[b, k, q]
      + 1000 * sum[b in Batch, q in Nodes, t in Slots] train[b, q, t]
      + 10000 * sum[b in Batch where arrives[b] < h] train[b, k, h]
      + 100000 * sum[q in Slots where q < h] train["T1", k, q] + sum[b in Batch] 2 * train[b, k, h]) / 1000000;
}
"""


def test_sums_over_a_plan_are_those_over_all_that_might_be(monkeypatch: pytest.MonkeyPatch) -> None:
    from gpusched_dsl.policies.slotted.plan_values import PlanEvaluator

    case = case_of(SUMS, "Baselines", "Sums")
    found = case.entries("on")
    assert len(set(found.values())) > 5
    monkeypatch.setattr(PlanEvaluator, "_sum_of_entries", lambda *_: None)
    assert case.entries("on") == pytest.approx(found)


BUSY = """
scenario Busy for PriceAwareRejecting extends Baselines { load["I1", h in Slots] = 4000[request/min]; }
policy UnlimitedFIFO extends FIFORejecting {
  serve share[i in Services, k in Nodes, h in Slots where (i, node_type[k]) in Deployed] of load[i, h] with equal_parts;
}
"""


@pytest.mark.parametrize("policy", ["FIFORejecting", "EPRONSRejecting", "PAMBTRejecting"])
@pytest.mark.parametrize("mode", ["hard", "soft"])
def test_requests_beyond_what_nodes_may_get_are_not_served(policy: str, mode: str) -> None:
    """Three nodes may get 5,049 requests per minute in the soft mode, if none trains, and 3,982 in the hard mode."""
    case = case_of(BUSY, "Busy", policy, mode=mode)
    solved, warnings = case.judged()
    assert warnings == []
    assert solved.status == "feasible"
    assert (solved.objectives[0].value > 0) == (mode == "hard" or policy == "FIFORejecting")
    rate, threshold = {"n1": 2400, "n2": 1500, "n3": 1200}, {"n1": 2057.142857, "n2": 1125.0, "n3": 800.0}
    for (_, node, _), load in case.entries("share").items():
        most = threshold[str(node)] if mode == "hard" else max(0.99 * rate[str(node)], threshold[str(node)])
        assert load <= most + 1e-6


def test_without_a_largest_load_the_plan_of_such_requests_is_broken() -> None:
    solved, warnings = case_of(BUSY, "Busy", "UnlimitedFIFO").judged()
    assert solved.status == "broken"
    assert warnings == ["GSM4015"]


LATE = 'scenario Late extends Baselines { due["T3"] = 1; }\n'


@pytest.mark.slow
def test_a_job_that_ends_late_breaks_the_hard_mode() -> None:
    """All three jobs are due in slot 1, so no other order of the queue helps."""
    due = " ".join(f'due["{job}"] = 1;' for job in ("T1", "T2", "T3"))
    case = case_of(f"scenario Late extends Baselines {{ {due} }}\n", "Late", "FIFO")
    assert case.plan().statistics["values_without_variable"] > 0
    solved, warnings = case.judged()
    assert solved.status == "broken"
    assert warnings == ["GSM4015"]


def test_a_job_that_ends_late_has_a_price_in_the_soft_mode() -> None:
    case = case_of(LATE, "Late", "FIFO", mode="soft")
    assert case.plan().statistics["values_without_variable"] == 0
    solved, warnings = case.judged()
    assert warnings == []
    assert solved.objectives[0].value == pytest.approx(0.09784 + 0.005)


@pytest.mark.slow
def test_a_job_that_ends_after_the_last_slot_is_told() -> None:
    text = 'scenario Long extends Baselines { epochs["T2"] = 8[epoch]; due["T2"] = 20; }\n'
    found = case_of(text, "Long", "EPRONS", mode="soft").plan()
    assert found.statistics["jobs_beyond_the_last_slot"] == 1
    assert case_of(text, "Long", "EPRONS", mode="soft").judged()[0].status == "broken"


def test_a_job_that_runs_nowhere_is_told() -> None:
    text = 'scenario Tight extends Baselines { due["T1"] = 0; }\n'
    case = case_of(text, "Tight", "ValleyGreedy")
    assert case.plan().statistics["jobs_not_started"] == 1
    assert case.judged()[0].status == "broken"


def test_loads_above_what_nodes_take_are_told() -> None:
    text = 'scenario Crowded extends Baselines { load["I1", 2] = 9000[request/min]; }\n'
    case = case_of(text, "Crowded", "EPRONS", mode="soft")
    assert case.plan().statistics["slots_of_excess_load"] == 1
    assert sum(v for (_, _, h), v in case.entries("share").items() if h == 2) == pytest.approx(9000)


@pytest.mark.parametrize(
    ("policy", "sharing", "cost"),
    [("ValleyGreedy", "independent", 0.0091265), ("ValleyGreedyExclusive", "exclusive", 0.0126385)],
)
def test_both_ways_of_sharing(policy: str, sharing: str, cost: float) -> None:
    """The greedy plans are the best ones here. Exclusively, no two slots side by side can spare a node."""
    case = case_of("", "SharingByNode", policy, inference_sharing=sharing)
    assert case.judged()[0].objectives[0].value == pytest.approx(cost)


def test_nodes_dealt_in_turn() -> None:
    """In slot 1 a job has the first node, and the second one is dealt to the first service."""
    case = case_of("", "SharingByNode", "FIFOExclusive", inference_sharing="exclusive")
    shares = case.entries("share")
    assert {at: v for at, v in shares.items() if at[2] == 1} == {("A", "n2", 1): 200}
    assert {at: v for at, v in shares.items() if at[2] == 2} == {("A", "n1", 2): 200, ("B", "n2", 2): 150}
    assert case.plan().statistics["slots_of_excess_load"] == 1


def test_single_slots_need_their_rule() -> None:
    text = "policy Blocks extends ValleyGreedyExclusive { place cheapest_block; }"
    case = case_of(text, "SharingByNode", "Blocks", inference_sharing="exclusive")
    assert case.plan().statistics["jobs_not_started"] == 1


def test_where_restarts_are_dear_one_block_is_best() -> None:
    assert case_of("", "DearRestartsByNode", "ValleyGreedy").judged()[0].objectives[0].value == pytest.approx(0.0328)


def test_a_model_without_loads() -> None:
    for policy in ("FIFO", "EPRONS", "PAMBT", "ValleyGreedyBySlot"):
        case = case_of("", "ValleysByNode", policy)
        assert len(case.entries("train")) == 3
        assert case.judged()[0].status == "feasible"


def test_nodes_that_nothing_tells_apart() -> None:
    """A year of `was_on` is not read by policies; a key by name, a list of some nodes and what `let`s read are."""
    some = """
scenario Alike extends MigrationByNode { was_on["n1"] = 1; }
policy ByName extends FIFO {
  choose k in Nodes, h in Slots where (b, node_type[k]) in Fits and arrives[b] <= h by sum[q in Nodes where q == k] 1;
}
policy ByState extends FIFO {
  let cold[k in Nodes] = 1 - was_on[k];
  choose k in Nodes, h in Slots where (b, node_type[k]) in Fits and arrives[b] <= h by cold[k] descending;
}
"""
    for policy, classes in (("FIFO", 1), ("EPRONS", 1), ("ByName", 2), ("ByState", 2)):
        assert len(np.unique(case_of(some, "Alike", policy).instance().cluster.class_of)) == classes
    first = min(case_of(some, "Alike", "ByState").entries("train"), key=lambda at: (at[2], at[0]))
    assert first == ("T1", "n2", 0)


def test_several_keys_rank_one_after_the_other() -> None:
    text = """
policy Ranked extends FIFO {
  choose k in Nodes, h in Slots where (b, node_type[k]) in Fits and arrives[b] <= h
    by slots_needed[b, node_type[k]], idle_power[node_type[k]];
}
policy RankedDown extends FIFO {
  choose k in Nodes, h in Slots where (b, node_type[k]) in Fits and arrives[b] <= h
    by slots_needed[b, node_type[k]] descending, idle_power[node_type[k]];
}
"""
    assert ("T1", "n2", 0) in case_of(text, "Baselines", "Ranked").entries("train")
    assert ("T1", "n3", 0) in case_of(text, "Baselines", "RankedDown").entries("train")


def test_a_job_occupies_a_slot_at_least() -> None:
    from gpusched_dsl.language.diagnostics.errors import DiagnosticError

    case = case_of("policy None extends FIFO { occupies 0; }", "Baselines", "None")
    with pytest.raises(DiagnosticError) as error:
        case.plan()
    assert error.value.diagnostics[0].code == "GSM3016"


WRONG = {
    "serve share[i in Services, k in Nodes, h in Slots] of load[i, h] with equal_parts(1, 2);": "GSM1614",
    "serve share[i in Services, k in Nodes, h in Slots] of load[i, h] with equal_parts(load[i, h]);": "GSM1640",
    "occupies 1.5;": "GSM1207",
    "finish smaller_type;": "GSM1640",
    "place best_fit;": "GSM1640",
    "fix train[b in Batch, k in Nodes, h in Slots] = 1;": "GSM1640",
    "fix boots[k in Nodes, h in Slots] = excess[\"I1\", k, h] / load[\"I1\", h];": "GSM1640",
    "fix on[k in Nodes] = 1;": "GSM1640",
    "fix onn[k in Nodes, h in Slots] = 1;": "GSM1101",
    "fix on[k in Nodes, h in Slots] = tariff[h];": "GSM1302",
    "reserve i in Services, h in Slots of load[i, h] with all_services(1[request/min]);": "GSM1640",
    "reserve i in Services, k in Nodes, h in Slots of load[i, h] with all_services;": "GSM1614",
    "reserve i in Services, k in Nodes, h in Slots of load[i, h] with all_service(1[request/min]);": "GSM1614",
    "reserve i in Services, k in Nodes, h in Slots of load[i, h] with all_services(1[W]);": "GSM1302",
    "reserve i in Services, k in Nodes, h in Slots of load[i, h] with all_services(load[i, h]);": "GSM1640",
    "reserve i in Services, k in Nodes, h in Slots of load[i, h] * was_on[k] with equal_parts(load[i, 1]);": "GSM1640",
    "serve share[i in Services, k in Nodes, h in Slots where was_on[k] == 1 or load[i, h] > 0[request/min]] "
    "of load[i, h] with equal_parts;": "GSM1640",
    "serve share[i in Services, k in Nodes, h in Slots] of tariff[h] with equal_parts;": "GSM1302",
}  # fmt: skip


@pytest.mark.parametrize("number", range(len(WRONG)), ids=list(WRONG))
def test_lines_that_do_not_fit(number: int) -> None:
    text = "\n".join(f"policy P{n} extends FIFO {{ {line} }}" for n, line in enumerate(WRONG))
    assert codes_of(text, f"P{number}") == [list(WRONG.values())[number]]


def test_the_cheapest_block_adds_up_one_key() -> None:
    text = "policy P extends FIFO { place cheapest_block; choose k in Nodes, h in Slots by 1, 2; }"
    assert codes_of(text, "P") == ["GSM1640"]
