"""Pairs of jobs that arrive at different times: no condition is in force before the second; a warning says so."""

from __future__ import annotations

import pytest
from online_texts import MACHINES, run

SETS = {
    "indexed": ("set Pred[Jobs] within Jobs;", "p in Pred[j]", "Pred[a] = { b };"),
    "tuples": ("set Pred within Jobs cross Jobs;", "p in Jobs where (j, p) in Pred", "Pred = { (a, b) };"),
    "binary": ("param Pred[Jobs, Jobs] binary default 0;", "p in Jobs where Pred[j, p] == 1", "Pred[a, b] = 1;"),
}
KNOWN = (
    " param known[j in Jobs] in h = if count(Pred[j]) == 0 then submitted[j]"
    " else max(submitted[j], max[p in Pred[j]] submitted[p]);"
)


def text(form: str, jobs: str, more: str = "", online: str = "") -> str:
    declared, pairs, data = SETS[form]
    model = MACHINES.replace("set Nodes identical;", f"set Nodes; {declared}{more}").replace(
        "  placement", f"  constraint wait[j in Jobs, {pairs}]: sum[n in Nodes] run[j, n] <= 0;\n  placement"
    )
    table = f"table Jobs: submitted[h] length[h] = {jobs};"
    return f"{model} {online} scenario S for Machines {{ Nodes = {{ n1, n2 }}; {table} {data} }}"


@pytest.mark.parametrize("form", SETS)
def test_pairs_that_arrive_apart_are_told(form: str) -> None:
    outcome = run(text(form, "a 0 3  b 2 1"), "Events", "S", "highs")
    assert outcome.world.end.tolist() == [4.0, 3.0]  # a runs until b is there, and again after it
    [warning] = outcome.warnings
    assert warning.code == "GSM7060"
    assert warning.message.startswith(
        "`Pred` has `a`, which arrives at 0 h, with `b`, which arrives at 2 h: until then"
    )


@pytest.mark.parametrize("form", SETS)
def test_pairs_that_arrive_together_are_not_told(form: str) -> None:
    outcome = run(text(form, "a 1 3  b 1 1"), "Events", "S", "highs")
    assert outcome.world.end.tolist() == [5.0, 2.0]
    assert outcome.warnings == ()


def test_predecessors_that_arrive_before_are_not_told() -> None:
    assert run(text("indexed", "a 1 3  b 0 2"), "Events", "S", "highs").warnings == ()


def test_a_job_that_arrives_with_its_predecessors_waits_for_them() -> None:
    """The advice of the message and of docs/online.md."""
    online = "online Ordered for Machines extends Events { arrive j in Jobs at known[j]; }"
    outcome = run(text("indexed", "a 0 3  b 2 1", KNOWN, online), "Ordered", "S", "highs")
    assert outcome.world.end.tolist() == [6.0, 3.0]
    assert outcome.warnings == ()
