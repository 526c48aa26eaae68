"""Policies in plain English, in the author's names, with the origin of each line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusched_dsl.language.blocks.policies import rule_table as rules
from gpusched_dsl.language.blocks.policies.describe import (
    Setting,
    policies_of,
    policy_in_words,
    settings_of,
)
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.blocks.policies.steps import text_of
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import Workspace, load_workspace, workspace_from_text

MODELS = Path(__file__).resolve().parents[2] / "models"

TEXT = """
model M {
  set Jobs; set Types; set Configs = { (v, g) : v in Types, g in 1..4 };
  param time[Jobs, Configs] in h; param due[Jobs] in h;
  var run[Jobs, Configs] binary;
  minimize total: sum[j in Jobs, (v, g) in Configs] run[j, v, g];
  placement run[j, v, g] { job j; node_type v; lasts time[j, v, g]; }
}
policy Greedy "most urgent first" for M {
  let hurry[j in Jobs] in h =   # of each job
    -due[j];
  order j in Jobs by hurry[j] descending, due[j];
  choose (v, g) in Configs where time[j, v, g]
         <= due[j] and g > 1 by g;
  otherwise (v, g) in Configs by time[j, v, g];
  place best_fit, new_node;
}
policy Busy extends Greedy {
  let shortest = 2 "least length of a list";
  randomise order swapping with probability 0.3;
  randomise choose from shortest by inverse cost;
  randomise place from 3;
  repeat 50 keep best first_end;
  finish smaller_type;
  keep running;
  improve 4 best rounds all with swap_tardy_any(7), halve_gpus;
  split 2 controllers;
}
policy Broken extends Greedy { order k in Jobs by due[k]; }
"""
GREEDY = [
    "1. Put the jobs in a queue, `j in Jobs`, largest `hurry[j]` first, then smallest `due[j]`.",
    "2. For each job in turn, list the ways to run it, `(v, g) in Configs` where `time[j, v, g] <= due[j]` and "
    "`g > 1`, smallest `g` first.",
    "3. If that lists none, list `(v, g) in Configs`, smallest `time[j, v, g]` first.",
    "4. Place the job by the first of these rules that finds room:",
    f"   - `best_fit`: {rules.PLACE['best_fit'].words};",
    f"   - `new_node`: {rules.PLACE['new_node'].words}.",
    "where",
    "   hurry[j in Jobs] in h = -due[j]",
]


def workspace() -> Workspace:
    found = Diagnostics()
    read = workspace_from_text(TEXT, "test.gsm", found)
    assert not list(found)
    return read


def words(name: str) -> list[str]:
    read, found = workspace(), Diagnostics()
    policy = check_policy(read, read.policies[name], found)
    assert policy is not None
    return policy_in_words(policy)


def test_a_plain_policy() -> None:
    assert words("Greedy") == GREEDY


def test_a_policy_with_everything() -> None:
    told = words("Busy")
    steps = [line for line in told if line[:1].isdigit()]
    assert [step.split(". ")[0] for step in steps] == [str(i) for i in range(1, 13)]
    assert (
        steps[0] == "1. Distribute jobs and nodes round robin to `2` controllers; each controller plans its own jobs."
    )
    assert steps[1] == "2. Running jobs keep their node and their GPUs until they end."
    assert steps[2].startswith(
        "3. Plan by the steps below once without random draws and `50` times with random draws, and keep the best"
    )
    assert "`first_end`, costs of the plan until the first job ends" in steps[2]
    assert steps[3].endswith(" (from Greedy).")
    assert "`0.3`" in steps[4]
    assert steps[7] == "8. Draw the way from the first `shortest` of the list, cheaper ones more likely."
    assert steps[8] == "9. Place the job by the first of these rules that finds room (from Greedy):"
    assert steps[9] == "10. If several nodes have room, draw one of the best `3`, all equally likely."
    assert (
        steps[11]
        == "12. Take the best `4` plans and apply the best of these changes to each, until no change improves it:"
    )
    assert f"   - `swap_tardy_any`: {rules.IMPROVE['swap_tardy_any'].words} (length `7`);" in told
    assert f"   - `halve_gpus`: {rules.IMPROVE['halve_gpus'].words} (length 10)." in told
    assert told[-3:] == [
        "where",
        "   hurry[j in Jobs] in h = -due[j] (from Greedy)",
        '   shortest = 2 "least length of a list"',
    ]


def test_rules_of_other_packages_are_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "rules_of_packages", lambda: ("next_door",))
    found = Diagnostics()
    read = workspace_from_text(TEXT + "policy Q extends Greedy { place next_door(3); }", "test.gsm", found)
    policy = check_policy(read, read.policies["Q"], found)
    assert policy is not None
    assert "   - `next_door`: a rule of another package, with `3`." in policy_in_words(policy)


def test_settings() -> None:
    read, found = workspace(), Diagnostics()
    policy = check_policy(read, read.policies["Busy"], found)
    assert policy is not None
    settings = settings_of(policy)
    assert settings[0] == Setting("shortest", "2", "least length of a list", "Busy")
    assert {s.name: s.text for s in settings} == {
        "shortest": "2",
        "order swaps": "0.3",
        "choose list": "shortest",
        "place list": "3",
        "repetitions": "50",
        "improved": "4",
        "controllers": "2",
        "swap_tardy_any length": "7",
        "halve_gpus length": "10",
    }
    assert all(s.meaning for s in settings)


def test_the_list_of_policies() -> None:
    greedy, busy, broken = policies_of(workspace())
    assert (greedy.name, greedy.model, greedy.doc, greedy.extends) == ("Greedy", "M", "most urgent first", None)
    assert greedy.lines[0] == ("let hurry[j in Jobs] in h = -due[j];", "Greedy")
    assert (busy.extends, busy.model, busy.doc) == ("Greedy", "M", None)
    assert ("place best_fit, new_node;", "Greedy") in busy.lines
    assert ("split 2 controllers;", "Busy") in busy.lines
    assert (broken.model, broken.settings) == (None, ())
    assert ("order k in Jobs by due[k];", "Broken") in broken.lines


def test_what_is_solved_before_and_served_beside_is_told() -> None:
    shown = {}
    for family, name in (("price_aware", "EPRONS"), ("gpu_sharing", "STS")):
        found = Diagnostics()
        read = load_workspace(MODELS / family / "policies.gsm", found)
        policy = check_policy(read, read.policies[name], found)
        assert policy is not None
        shown[name] = policy_in_words(policy)
    occupies, reserve, serve, fix = (
        next(line for line in shown["EPRONS"] if words in line)
        for words in ("A job occupies a node for", "It may run only if", "Serve the loads", "Set `on[")
    )
    assert occupies.endswith("`slots_needed[b, node_type[k]]` slots.")
    assert "`load[i, h]` of `i in Services, k in Nodes, h in Slots` where `(i, node_type[k]) in Stable`:" in reserve
    assert "`load[i, h]`" in serve
    assert "`on[k in Nodes, h in Slots]`" in fix
    profile = shown["STS"]
    assert profile[0].startswith(
        "1. Solve `profile plan` for `j in Jobs, t in Kinds` over `(g, u) in Sizes`, which gives"
    )
    assert "   - `time_left`: `deadline[j]`;" in profile
    last = profile[profile.index("where") - 4 : profile.index("where")]
    assert last[0].endswith("possible stay on their node (from Greedy).")
    assert last[1] == "8. Remember `speed[j, t, g, u]` of the way chosen for a job as `planned_speed` of the next plan."
    assert last[3].startswith("10. Plan again `max(1[s], plan_leaves[j, t, g, u])` from now, for each job where `plan_")


def test_source_on_one_line() -> None:
    assert text_of('a   # b "c"\n  + "d # e"  # f') == 'a + "d # e"'


@pytest.mark.parametrize(
    ("family", "lines", "says"),
    [
        ("", "place best_fit, new_node, wait;", True),
        ("family size[n];", "place best_fit, new_node, wait;", True),
        ("family 1;", "place best_fit, new_node, wait;", False),
        ("", "place best_fit, new_node, next_choice, wait;", False),
        ("", "place best_fit, best_suboptimal;", False),
        ("", "choose n in Nodes by size[n]; place best_fit, wait;", False),
    ],
)
def test_jobs_that_are_tried_in_one_way_only(family: str, lines: str, says: bool) -> None:
    text = f"""
model Two {{
  set Jobs;  set Nodes;  param size[Nodes] integer;  param long[Jobs] in h;
  var run[Jobs, Nodes] binary;
  minimize all in h: sum[j in Jobs, n in Nodes] long[j] * run[j, n];
  placement run[j, n] {{ job j;  node n;  node_type size[n];  {family}  uses 1 of size[n];  lasts long[j]; }}
}}
policy P for Two {{ order j in Jobs by long[j];  {lines} }}
"""
    found = Diagnostics()
    read = workspace_from_text(text, "two.gsm", found)
    policy = check_policy(read, read.policies["P"], found)
    assert policy is not None, list(found)
    assert any("Take only the first way" in line for line in policy_in_words(policy)) == says
