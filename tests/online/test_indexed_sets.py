"""Runs over time read indexed sets as they read sets of tuples: jobs that come and go take their elements along."""

from __future__ import annotations

import pytest
from online_texts import MACHINES, run

DATA = """
  Nodes = { n1, n2 };
  table Jobs: submitted[h] length[h] = a 0 3  b 0 1  c 1 1  d 1 2  e 5 1;
"""
FORMS = {
    "indexed": (
        "set Can[Jobs] within Nodes; set Pred[Jobs] within Jobs;"
        "set Early[j in Jobs] = { i in Jobs where length[i] < 2[h] };",
        "constraint can[j in Jobs, n in Nodes where n not in Can[j]]: run[j, n] <= 0;"
        "constraint wait[j in Jobs, p in Pred[j]]: sum[n in Nodes] run[j, n] <= 0;"
        "constraint few[j in Jobs]: sum[i in Early[j], n in Nodes] run[i, n] <= 1 + count(Early[j]);",
        "table Jobs: Can Pred = a {n1 n2} {b}  b {n2} {}  c {n1 n2} {}  d {n1} {c, a}  e {n2} {d};",
    ),
    "tuples": (
        "set Can within Jobs cross Nodes; set Pairs within Jobs cross Jobs;",
        "constraint can[j in Jobs, n in Nodes where (j, n) not in Can]: run[j, n] <= 0;"
        "constraint wait[j in Jobs, p in Jobs where (j, p) in Pairs]: sum[n in Nodes] run[j, n] <= 0;",
        "Can = { (a, n1), (a, n2), (b, n2), (c, n1), (c, n2), (d, n1), (e, n2) };"
        "Pairs = { (a, b), (d, c), (d, a), (e, d) };",
    ),
}


def text(form: str) -> str:
    sets, rows, data = FORMS[form]
    model = MACHINES.replace("set Nodes identical;", f"set Nodes; {sets}").replace(
        "  placement", f"  {rows}  placement"
    )
    return f"{model} scenario S for Machines {{ {DATA} {data} }}"


@pytest.mark.parametrize("method", ["highs", "SRTF"])
def test_a_run_is_that_of_sets_of_tuples(method: str) -> None:
    indexed, tuples = (run(text(form), "Events", "S", method) for form in FORMS)
    assert indexed.world.end.tolist() == tuples.world.end.tolist()
    assert indexed.total == pytest.approx(tuples.total)
    assert [step.time for step in indexed.steps] == [step.time for step in tuples.steps]
    assert indexed.ended == tuples.ended
