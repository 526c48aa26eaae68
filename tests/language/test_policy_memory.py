"""`remember` and `again`: their names in scope, their units, and their inheritance."""

from __future__ import annotations

import pytest

from gpusched_dsl.language.blocks.blocks import check_blocks
from gpusched_dsl.language.blocks.policies.describe import policy_in_words
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.checked_policy import CheckedPolicy
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.formatting.formatter import format_text
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import Workspace, workspace_from_text

MODEL = """
model M {
  set Jobs;
  set Nodes;
  set Types;
  param gpus[Types] integer >= 1 default 2;
  param type[Nodes] within Types;
  param time[Jobs, Types] in h;
  param deadline[Jobs] in min;
  param pace[Jobs] in epoch/h default 0;
  param last[Jobs] integer default 0;
  param doubled[j in Jobs] in h = 2 * time[j, "a"];
  param home[Jobs] within Types;
  param one in h default 1[h];
  var run[j in Jobs, n in Nodes, g in 1..4] binary;
  placement run[j, n, g] { job j; node n; node_type type[n]; lasts time[j, type[n]] / g; due deadline[j]; }
}
policy Base for M {
  order j in Jobs by deadline[j];
  choose t in Types, g in 1..4 where g <= gpus[t] by g * time[j, t];
  place best_fit;
}
model Queued {
  set Jobs; set Nodes;
  param time[Jobs, Nodes] in h;
  var at[Jobs, Nodes, p in 1..9] binary;
  placement at[j, n, p] { job j; node n; place_from_end p; lasts time[j, n]; }
}
policy Queues for Queued { order j in Jobs by 1; choose n in Nodes by time[j, n]; place append; }
"""


def read(text: str) -> Workspace:
    found = Diagnostics()
    workspace = workspace_from_text(MODEL + text, "test.gsm", found)
    assert not list(found)
    return workspace


def checked(lines: str) -> CheckedPolicy:
    workspace = read(f"policy Q extends Base {{ {lines} }}")
    found = Diagnostics()
    policy = check_policy(workspace, workspace.policies["Q"], found)
    assert list(found) == []
    assert policy is not None
    return policy


def wrong(lines: str, code: str, at: str, base: str = "Base") -> Diagnostic:
    """The one finding, which has this code and underlines this text."""
    found = Diagnostics()
    check_blocks(read(f"policy Q extends {base} {{ {lines} }}"), found, ())
    told = list(found)
    assert [(d.code, d.primary.text if isinstance(d.primary, Span) else None) for d in told] == [(code, at)]
    return told[0]


def test_they_see_the_job_its_node_its_way_and_the_type_of_node() -> None:
    policy = checked(
        "remember pace = 10[epoch] / time[j, t] * g; remember last = if type[n] == t then g else 0;"
        "again after time[j, t] / g where g < gpus[type[n]];"
    )
    assert [m.target for m in policy.memories] == ["pace", "last"]
    assert [v.name for v in policy.memories[0].node_types] == ["t"]
    assert policy.again is not None
    assert policy.again.condition is not None


def test_times_are_told_in_the_unit_of_now() -> None:
    """`lasts` is in hours, so 90 minutes are one and a half."""
    policy = checked("again after 90[min] where true;")
    assert policy.again is not None
    assert policy.again.after.span.text == "90[min]"
    assert getattr(policy.again.after, "value", None) == pytest.approx(1.5)


def test_a_line_takes_the_place_of_the_inherited_one_about_the_same() -> None:
    workspace = read(
        "policy P extends Base { remember last = g; remember pace = pace[j]; again after 1[h]; }"
        "policy Q extends P { remember last = 2 * g; }"
    )
    policy = check_policy(workspace, workspace.policies["Q"], Diagnostics())
    assert policy is not None
    assert {m.target: m.value.span.text for m in policy.memories} == {"last": "2 * g", "pace": "pace[j]"}
    origins = {line: policy.lines[line].policy for line in ("remember last", "remember pace", "again")}
    assert origins == {"remember last": "Q", "remember pace": "P", "again": "P"}


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("gone", "is not a parameter of the model"),
        ("doubled", "is derived from other data"),
        ("one", "is not indexed by jobs"),
        ("gpus", "is not indexed by jobs"),
        ("home", "is not a number"),
        ("run", "is not a parameter of the model"),
    ],
)
def test_what_cannot_be_remembered(target: str, reason: str) -> None:
    assert wrong(f"remember {target} = 1;", "GSM1641", target).message.endswith(f"it {reason}")


@pytest.mark.parametrize(
    ("lines", "code", "at"),
    [
        ("remember pace = time[j, t];", "GSM1302", "time[j, t]"),
        ("remember last = g / 3;", "GSM1207", "g / 3"),
        ("remember last = v;", "GSM1101", "v"),
        ("remember pace = sum[m in Nodes] run[j, m, 1] * pace[j];", "GSM1211", "run[j, m, 1]"),
        ("again after pace[j];", "GSM1302", "pace[j]"),
        ("again after one where g;", "GSM1205", "g"),
        ("again after one where run[j, n, g] == 1;", "GSM1211", "run[j, n, g]"),
        ("again after one; again after one;", "GSM1613", "again after one;"),
        ("remember last = g; remember last = 1;", "GSM1613", "remember last = 1;"),
    ],
)
def test_what_does_not_fit(lines: str, code: str, at: str) -> None:
    wrong(lines, code, at)


def test_queues_are_not_planned_again_by_policies() -> None:
    wrong("again after 1[h];", "GSM1632", "again after 1[h];", "Queues")


def test_they_are_told_in_words_and_keep_their_form() -> None:
    policy = checked("remember last = g; again after time[j, t] where g > 1;")
    told = policy_in_words(policy)
    assert "4. Remember `g` of the way chosen for a job as `last` of the next plan." in told
    assert "5. Plan again `time[j, t]` from now, for each job where `g > 1`." in told
    text = "policy Q extends Base {\n  remember last = g;\n  again after time[j, t] where g > 1;\n}\n"
    assert format_text(text) == text
