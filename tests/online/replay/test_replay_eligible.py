"""Which runs allow fast replay, and the reasons given for those that do not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from planned_runs import Ready, block, driven, ready, reasons
from replay_texts import LIBRARY, MIXED

from gpusched_dsl.compiling.evaluation.limits import MemoryLimits
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.workspace import load_workspace
from gpusched_dsl.online.replay.eligibility import ReplayFacts, replay_facts, replay_obstacles, rules_of
from gpusched_dsl.online.replay.trace import BEST_FIT, FITS_NOWHERE, Rules
from gpusched_dsl.online.replay.trace_reader import NoReplay, read_trace

POOL = """
scenario Run for TraceReplay {
  Nodes = { n };
  gpus["n"] = 4;
  table Jobs: submitted[h] needs exec_time[h] =
    j1 0 2 1
    j2 1 4 2 ;
}
"""


EVENTS, REMAINING = frozenset({"arrival", "completion"}), frozenset({"remaining"})
SHRINKS = "carry remaining[j] = remaining[j];"


def pool(policy: str, more: str = "") -> Ready:
    return ready(LIBRARY + POOL + more, policy)


def own(lines: str, base: str = "FIFO", more: str = "") -> list[str]:
    """Reasons against a policy of the library with other lines."""
    return reasons(pool("Own", f"policy Own for TraceReplay extends {base} {{ {lines} }}\n{more}"), "Replay")


def mixed(lines: str, online: str = "EveryEvent", more: str = "") -> list[str]:
    text = MIXED + f"policy Own for Mixed extends First {{ {lines} }}\n{more}"
    text += 'scenario Run for Mixed { Jobs = { j }; Types = { t }; Nodes = { n }; gpus["t"] = 1; type["n"] = "t"; '
    text += 'Runnable = { (j, t, 1) }; exec_time["j", "t", 1] = 1[h]; submitted["j"] = 0[h]; }'
    return reasons(ready(text, "Own"), online)


@pytest.mark.quick(6)
@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("order j in Jobs by now - submitted[j];", "the time changes"),
        ("order j in Jobs by clock - submitted[j];", "`clock` is carried from plan to plan"),
        ("order j in Jobs by late[j];", "`clock` is carried from plan to plan"),
        ("order j in Jobs by weight[j] / max[i in Jobs] weight[i];", "`Jobs` depends on the present jobs"),
        ("order j in Jobs by count(Jobs) * needs[j];", "`Jobs` depends on the present jobs"),
        ("order j in Jobs where deadline[j] >= clock by submitted[j];", "`clock` is carried"),
        ("let age[j in Jobs] in h = now - submitted[j]; order j in Jobs by age[j];", "the time changes"),
        ('order j in Jobs by weight["j1"] * needs[j];', "the job `j1` is not always present"),
    ],
)
def test_keys_that_change_are_named(lines: str, reason: str) -> None:
    found = own(lines)
    assert len(found) == 1
    assert found[0].startswith("`order` may change while a job waits: ")
    assert reason in found[0]


@pytest.mark.quick(6)
@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("finish smaller_type;", "the policy has a line `finish`"),
        ("randomise order swapping with probability 0.5;", "the policy has a line `randomise`"),
        ("repeat 10 keep best total;", "the policy has a line `repeat`"),
        ("split 2 controllers;", "the policy has a line `split`"),
        ("keep nodes;", "running jobs may be moved: the policy has no `keep running`"),
        ("place best_fit, new_node, best_suboptimal, wait;", "fast replay does not support `best_suboptimal`"),
        ("place best_fit, next_choice, new_node, wait;", "fast replay does not support `new_node` at this position"),
        ("place best_fit, first_fit, new_node, wait;", "is not supported by fast replay"),
        ("place best_fit, new_node exclusive, wait;", "is not supported by fast replay"),
        ("place wait;", "`place wait` is not supported by fast replay"),
    ],
)
def test_lines_that_are_not_replayed_are_named(lines: str, reason: str) -> None:
    assert any(reason in found for found in own(lines)), own(lines)


def test_what_stays_as_it_is_may_be_replayed() -> None:
    assert own("order j in Jobs by min[n in Nodes] gpus[n] * needs[j], 2 * deadline[j];") == []
    area = "let area[j in Jobs] in h = needs[j] * time_left[j];"
    assert own(area + " order j in Jobs where needs[j] < 9 by area[j];") == []
    assert own("order j in Jobs by remaining[j] * weight[j];") == []
    assert mixed("order j in Jobs by slack[j];") == [
        "`order` may change while a job waits: `slack` is carried from plan to plan"
    ]
    assert mixed("order j in Jobs by count[(t, g) in Configs where (j, t, g) in Runnable];") == []


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        ("replan on arrival;", "there is no plan after every completion"),
        ("replan on completion, every 1[h];", "there is no plan after every arrival"),
        ("replan on arrival, completion; carry submitted[j] = submitted[j] - now;", "`submitted` is carried"),
        ("replan on arrival, completion; carry remaining[j] = remaining[j] / 2;", "`remaining` is carried"),
        ("replan on arrival, completion; carry exec_time[j] = exec_time[j] + now;", "`lasts` may change"),
    ],
)
def test_what_drives_the_run_is_looked_at(statements: str, reason: str) -> None:
    text = f"online Own for TraceReplay {{ arrive j in Jobs at submitted[j]; {statements} }}"
    found = reasons(pool("FIFO", text), "Own")
    assert any(reason in one for one in found), found


def test_ticks_between_events_change_nothing() -> None:
    ticks = "replan on arrival, completion, every period;"
    text = f"online Own for TraceReplay {{ arrive j in Jobs at submitted[j]; {ticks} {SHRINKS} }}"
    assert reasons(pool("FIFO", text), "Own") == []


def test_more_of_the_world_is_no_replay() -> None:
    given = pool("FIFO")
    found = replay_obstacles(
        given.policy, ReplayFacts(frozenset({"clock"}), EVENTS, ("outage",), REMAINING, {"clock": 1.0})
    )
    assert found == ["the run has `outage`, not only arrivals and completions"]


def test_nodes_that_are_chosen_with_the_plan_are_no_replay() -> None:
    found = Diagnostics()
    workspace = load_workspace(Path(__file__).parents[3] / "models" / "capacity_planning" / "policies.gsm", found)
    policy = check_policy(workspace, workspace.policies["FIFO"], found)
    found.raise_if_errors()
    assert policy is not None
    told = replay_obstacles(policy, ReplayFacts(frozenset({"deadline"}), frozenset({"arrival", "completion"})))
    assert "each plan chooses the types of nodes" in told
    assert "`choose` may change while a job waits: `deadline` is carried from plan to plan" in told


def test_what_differs_between_nodes_of_one_type_is_no_replay() -> None:
    more = """
    model Local extends Mixed {
      param away[Nodes] in h default 0[h];
      placement run[j, n, g] {
        job j;  node n;  node_type type[n];
        uses g of gpus[type[n]];
        lasts remaining[j] * (exec_time[j, type[n], g] + away[n]);
      }
    }
    policy Own for Local extends First { place best_fit, new_node, wait; }
    online Own for Local { arrive j in Jobs at submitted[j]; replan on arrival, completion; SHRINKS }
    scenario Run for Local { Jobs = { j }; Types = { t }; Nodes = { n }; gpus["t"] = 1; type["n"] = "t";
      Runnable = { (j, t, 1) }; exec_time["j", "t", 1] = 1[h]; submitted["j"] = 0[h]; }
    """
    found = reasons(ready(MIXED + more.replace("SHRINKS", SHRINKS), "Own"), "Own")
    assert found == ["`lasts` differs between nodes of one type"]


def test_projections_of_jobs_depend_on_who_is_there() -> None:
    more = """
    model Local extends Mixed {
      param home[Jobs] within Nodes;
      set Homes = { home[j] : j in Jobs };
    }
    policy Own for Local extends First { order j in Jobs by count(Homes) * urgency[j]; }
    online Own for Local { arrive j in Jobs at submitted[j]; replan on arrival, completion; SHRINKS }
    scenario Run for Local { Jobs = { j }; Types = { t }; Nodes = { n }; gpus["t"] = 1; type["n"] = "t";
      home["j"] = "n";  Runnable = { (j, t, 1) }; exec_time["j", "t", 1] = 1[h]; submitted["j"] = 0[h]; }
    """
    (found,) = reasons(ready(MIXED + more.replace("SHRINKS", SHRINKS), "Own"), "Own")
    assert "depends on the present jobs" in found


def test_rules_are_read_as_they_stand() -> None:
    assert rules_of(pool("FIFO").policy) == Rules(BEST_FIT, opens=True, waits=True)
    spreading = pool("Own", "policy Own for TraceReplay extends FIFO { place new_node, best_fit, next_choice; }")
    assert rules_of(spreading.policy) == Rules(BEST_FIT, opens=True, opens_first=True, next_choice=True)
    alone = pool("Own", "policy Own for TraceReplay extends FIFO { place new_node exclusive, wait; }")
    assert rules_of(alone.policy) == Rules(FITS_NOWHERE, opens=True, opens_first=True, alone=True, waits=True)


def test_an_online_block_is_read_off_its_text() -> None:
    expected = ReplayFacts(frozenset({"clock"}), EVENTS, fractions=REMAINING, slopes={"clock": 1.0})
    assert replay_facts(block(pool("FIFO"), "Replay")) == expected


def test_keys_too_near_one_another_are_no_replay() -> None:
    rows = "\n".join(f"    j{j} {1 + 0.7e-9 * j:.12f} 1 1" for j in range(4))
    text = 'scenario Run for TraceReplay { Nodes = { n }; gpus["n"] = 4; '
    text += f"table Jobs: submitted[h] needs exec_time[h] =\n{rows} ; }}"
    given = ready(LIBRARY + text, "FIFO")
    assert reasons(given, "Replay") == []
    with pytest.raises(NoReplay, match="so close"):
        read_trace(given.policy, given.store, MemoryLimits(), given.submitted, driven(given).fractions)


def test_arrivals_that_never_are_are_no_replay() -> None:
    given = pool("FIFO")
    with pytest.raises(NoReplay, match="never arrive"):
        read_trace(given.policy, given.store, MemoryLimits(), np.array([0.0, np.inf]))


def test_jobs_that_arrive_with_part_of_their_work_done_are_no_replay() -> None:
    text = POOL.replace("exec_time[h] =", "exec_time[h] remaining =").replace("j1 0 2 1", "j1 0 2 1 1")
    given = ready(LIBRARY + text.replace("j2 1 4 2", "j2 1 4 2 0.5"), "FIFO")
    with pytest.raises(NoReplay, match="`remaining` is not 1"):
        read_trace(given.policy, given.store, MemoryLimits(), given.submitted, driven(given).fractions)
