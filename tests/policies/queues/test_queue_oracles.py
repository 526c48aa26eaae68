"""Queues, completion times, averages and makespans of the two worked cases, policy by policy; and least values."""

from __future__ import annotations

from itertools import product

import pytest
from queue_help import case_of

from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import workspace_from_text

TIMES = {
    "TimeAgainstEfficiency": {
        "J1": {"G1": 100, "G2": 150}, "J2": {"G1": 60, "G2": 90},
        "J3": {"G1": 80, "G2": 50}, "J4": {"G1": 30, "G2": 20},
    },
    "NotAllFit": {
        "B": {"TitanX": 150}, "A": {"GTX1080": 120, "RTX2070": 100, "TitanX": 90},
        "C": {"GTX1080": 80, "RTX2070": 60, "TitanX": 50}, "D": {"GTX1080": 40, "RTX2070": 30, "TitanX": 35},
        "E": {"RTX2070": 70, "TitanX": 60}, "F": {},
    },
}  # fmt: skip
# Scenario, policy, queues as "GPU: jobs" with the first one first, average, makespan.
ORACLES = [
    ("TimeAgainstEfficiency", "TimeFIFO", "G1: J1 J2; G2: J3 J4", 95, 160),
    ("TimeAgainstEfficiency", "TimeSJF", "G1: J2 J1; G2: J4 J3", 77.5, 160),
    ("TimeAgainstEfficiency", "TimeSJFSortedBefore", "G1: J2 J1; G2: J4 J3", 77.5, 160),
    ("TimeAgainstEfficiency", "EfficiencyFIFO", "G1: J2 J3; G2: J1 J4", 130, 170),
    ("TimeAgainstEfficiency", "EfficiencySJF", "G1: J3 J2; G2: J4 J1", 102.5, 170),
    ("TimeAgainstEfficiency", "EfficiencySJFSortedBefore", "G1: J3 J2; G2: J4 J1", 102.5, 170),
    ("TimeAgainstEfficiency", "EfficiencySJFByTime", "G1: J2 J3; G2: J4 J1", 97.5, 170),
    ("NotAllFit", "TimeFIFO", "RTX2070: D; TitanX: B A C E", 212, 350),
    ("NotAllFit", "TimeSJF", "RTX2070: D; TitanX: C E A B", 148, 350),
    ("NotAllFit", "TimeSJFSortedBefore", "RTX2070: D; TitanX: C E A B", 148, 350),
    ("NotAllFit", "EarliestFinishFIFO", "GTX1080: C D; RTX2070: A E; TitanX: B", 124, 170),
    ("NotAllFit", "EarliestFinishSJF", "GTX1080: D C; RTX2070: E A; TitanX: B", 110, 170),
    ("NotAllFit", "EarliestFinishSJFSortedBefore", "GTX1080: A; RTX2070: D E; TitanX: C B", 100, 200),
]
COMPLETIONS = {
    "TimeFIFO": (100, 160, 50, 70), "TimeSJF": (160, 60, 70, 20), "EfficiencyFIFO": (150, 60, 140, 170),
    "EfficiencySJF": (170, 140, 80, 20), "EfficiencySJFByTime": (170, 60, 140, 20),
}  # fmt: skip


def completions(times: dict[str, dict[str, float]], queues: dict[str, list[str]]) -> dict[str, float]:
    found = {}
    for gpu, queue in queues.items():
        end = 0.0
        for job in queue:
            end += times[job][gpu]
            found[job] = end
    return found


@pytest.mark.quick(3)
@pytest.mark.parametrize(("scenario", "policy", "queues", "average", "makespan"), ORACLES, ids=lambda v: str(v))
def test_queues_are_those_worked_out(scenario: str, policy: str, queues: str, average: float, makespan: float) -> None:
    case = case_of("", scenario, policy)
    found = case.queues()
    assert found == {part.split(": ")[0]: part.split(": ")[1].split() for part in queues.split("; ")}
    ends = completions(TIMES[scenario], found)
    if scenario == "TimeAgainstEfficiency" and policy in COMPLETIONS:
        assert tuple(ends[job] for job in ("J1", "J2", "J3", "J4")) == COMPLETIONS[policy]
    assert sum(ends.values()) / len(ends) == pytest.approx(average)
    assert max(ends.values()) == makespan
    assert case.priced().objectives[0].value == pytest.approx(average)
    assert case_of("", scenario, policy, aim="makespan").priced().objectives[0].value == pytest.approx(makespan)


def test_a_job_that_fits_nowhere_is_in_no_queue() -> None:
    case = case_of("", "NotAllFit", "TimeFIFO")
    assert all("F" not in queue for queue in case.queues().values())
    assert case.priced().statistics["unplaced"] == 1
    assert case_of("", "TimeAgainstEfficiency", "TimeFIFO").priced().statistics["unplaced"] == 0


def test_least_values_over_all_sixteen_allocations() -> None:
    times, jobs = TIMES["TimeAgainstEfficiency"], ("J1", "J2", "J3", "J4")
    averages, makespans = [], []
    for gpus in product(("G1", "G2"), repeat=4):
        queues: dict[str, list[str]] = {}
        for job, gpu in sorted(zip(jobs, gpus, strict=True), key=lambda pair: times[pair[0]][pair[1]]):
            queues.setdefault(gpu, []).append(job)
        ends = completions(times, queues)
        averages.append(sum(ends.values()) / 4)
        makespans.append(max(ends.values()))
    assert (min(averages), min(makespans)) == (77.5, 140)


SORTED_UP = "policy P extends TimeFIFO { finish sort by time[j, g]; }\n"
SORTED_DOWN = "policy P extends TimeFIFO { finish sort by time[j, g] descending; }\n"


def test_a_key_may_be_descending() -> None:
    up, down = (case_of(text, "NotAllFit", "P").queues() for text in (SORTED_UP, SORTED_DOWN))
    assert down == {gpu: queue[::-1] for gpu, queue in up.items()}


def test_otherwise_adds_nodes() -> None:
    """Jobs that may not go to their fastest GPU take what `otherwise` lists."""
    text = """policy P extends TimeFIFO {
      choose g in GPUs where (j, g) in Choices and time[j, g] < 40[s] by time[j, g];
      otherwise g in GPUs where (j, g) in Choices by time[j, g] descending;
    }"""
    assert case_of(text, "TimeAgainstEfficiency", "P").queues() == {"G1": ["J3"], "G2": ["J1", "J2", "J4"]}


def test_turns_go_before_the_order_of_submission() -> None:
    text = 'scenario S extends TimeAgainstEfficiency { turn["J1"] = 5; }'
    assert case_of(text, "S", "TimeFIFO").queues() == {"G1": ["J2", "J1"], "G2": ["J3", "J4"]}


def test_nodes_that_the_model_does_not_allow_are_left_out() -> None:
    """Listing all GPUs changes nothing: a pair that is no choice has no variable."""
    text = "policy P extends TimeFIFO { choose g in GPUs by count[h in GPUs where h < g] (true); }"
    assert case_of(text, "NotAllFit", "P").queues() == {"GTX1080": ["A", "C", "D"], "RTX2070": ["E"], "TitanX": ["B"]}


def test_equal_keys_keep_the_order_of_the_sets() -> None:
    text = "policy P extends TimeFIFO { choose g in GPUs where (j, g) in Choices by 0; finish sort by 0; }"
    assert case_of(text, "TimeAgainstEfficiency", "P").queues() == {"G1": ["J1", "J2", "J3", "J4"]}


def test_of_equal_ends_the_first_gpu_is_taken() -> None:
    """J2 would end at 50 on G1, behind nothing, and on G2, behind J1, where it is faster."""
    text = """scenario S for Allocation {
      Jobs = { J1, J2 };
      Types = { G1, G2 };
      table GPUs: gpu_type = G1 G1 G2 G2;
      table Profiled: exec_time[s] = J1 G1 70 J1 G2 20 J2 G1 50 J2 G2 30;
    }"""
    assert case_of(text, "S", "EarliestFinishFIFO").queues() == {"G1": ["J2"], "G2": ["J1"]}


def test_lines_that_do_not_go_with_queues_are_refused() -> None:
    found = Diagnostics()
    text = (
        'import "gsdsl:allocation/policies.gsm";\npolicy P extends TimeFIFO { place append, best_fit; keep running; }'
    )
    workspace = workspace_from_text(text, "text", found)
    check_policy(workspace, workspace.policies["P"], found)
    assert [d.code for d in found] == ["GSM1632", "GSM1632"]
