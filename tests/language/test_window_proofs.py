"""Proofs about online blocks: correct blocks pass, and each way to lose needed state is reported at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusched_dsl.language.blocks.online.online_block import check_online
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import load_workspace, workspace_from_text

ROOT = Path(__file__).parents[2]

MODEL = """
model M {
  set Batch;
  set Nodes;
  set Slots ordered;
  param slot in min > 0 default 15[min];
  param price[Slots] in $/h default 1[$/h];
  param arrives[Batch] integer default 0;
  param epochs[Batch] in epoch default 4[epoch];
  param pace in epoch/h default 4[epoch/h];
  param was_on[Nodes] binary default 0;
  param was_out[Nodes] >= 0 default 0;
  param cap default 100;
  param left[Nodes] integer default 0;
  param place_of[h in Slots] integer = count[q in Slots where q < h];
  var train[Batch, Nodes, Slots] binary;
  var on[Nodes, Slots] binary;
  var out[Nodes, Slots] >= 0;
  minimize cost in $ {
    energy: sum[k in Nodes, h in Slots] price[h] * slot * on[k, h];
    boots: sum[k in Nodes, h in Slots] 1[$] * max(on[k, h] - (on[k, h-1] else was_on[k]), 0);
  }
  constraint powered[b in Batch, k in Nodes, h in Slots]: train[b, k, h] <= on[k, h];
  constraint finished[b in Batch]: sum[k in Nodes, h in Slots] slot * pace * train[b, k, h] >= epochs[b];
  ADDED
  placement train[b, k, h] { job b;  node k;  slot h;  lasts slot; }
}
"""
BLOCK = """
online O for M {
  window h in Slots lookahead 96 commit 4;
  arrive b in Batch at arrives[b];
  replan on arrival, every 4 slots;
  work epochs[b];
  speed slot * pace;
  carry was_on[k] = on[k, committed];
  carry epochs[b] = epochs[b] - done[b];
  ADDED
}
"""
COUNTED = ("warning", "GSM1645", "count[q in Slots where q < h]")

Told = tuple[str, str, str]


def proved(text: str) -> list[Diagnostic]:
    found = Diagnostics()
    workspace = workspace_from_text(text, "test.gsm", found)
    assert list(found) == []
    for online in workspace.onlines.values():
        check_online(workspace, online, found)
    return list(found)


def told(added: str = "", line: str = "", *, instead: dict[str, str] | None = None) -> list[Told]:
    """What is told of the model with a statement added, and of the block with a line added; but for `place_of`."""
    text = MODEL.replace("ADDED", added) + BLOCK.replace("ADDED", line)
    for old, new in (instead or {}).items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    found = [(d.severity.value, d.code, d.primary.text) for d in proved(text) if isinstance(d.primary, Span)]
    assert "place_of" in (instead or {}) or COUNTED in found
    return [f for f in found if f != COUNTED]


def test_a_sound_block() -> None:
    assert told() == []


# --- references that leave the window --------------------------------------------------------------------------------

SOUND = [
    # initial statuses and ramps: by `else`, by a choice, by a rule for the first slot
    ("constraint r[k in Nodes, h in Slots]: on[k, h] <= (on[k, h-1] else was_on[k]) + 1;", ""),
    ("constraint r[k in Nodes, h in Slots]: on[k, h] <= (on[k, prev(h)] else was_on[k]) + 1;", ""),
    (
        "constraint r[k in Nodes, h in Slots]: on[k, h] <= (if h == first(Slots) then was_on[k] else on[k, h-1]) + 1;",
        "",
    ),
    (
        "constraint r[k in Nodes, h in Slots where h > first(Slots)]: on[k, h] <= on[k, h-1];"
        "constraint r0[k in Nodes]: on[k, first(Slots)] <= was_on[k];",
        "",
    ),
    (
        "constraint r[k in Nodes, h in Slots]: out[k, h] <= (out[k, h-1] else was_out[k]) + 5;",
        "carry was_out[k] = out[k, committed];",
    ),
    (
        "constraint r[k in Nodes, h in Slots]: on[k, h] <= (if h > first(Slots) then on[k, h-1] else was_on[k]) + 1;",
        "",
    ),
    (
        "constraint r[k in Nodes, h in Slots]: on[k, h] <= (if ord(h) == 1 then was_on[k] else on[k, h-1]) + 1;",
        "",
    ),
    # a derived parameter and a `let` between
    (
        "param before[k in Nodes] = 2 * was_on[k]; let doubled[k in Nodes, h in Slots] = 2 * on[k, h];"
        "constraint r[k in Nodes, h in Slots]: on[k, h] <= (doubled[k, h-1] else before[k]) + 1;",
        "",
    ),
    # several slots back, with a value for each
    (
        "param was2[Nodes, Slots] binary default 0;"
        "constraint r[k in Nodes, h in Slots]: on[k, h] <= (on[k, h-2] else was2[k, h]) + 1;",
        "carry was2[k, h] = on[k, committed];",
    ),
    # minimum up times: what is left of them is carried, and holds slot by slot
    (
        "constraint up[k in Nodes, h in Slots]:"
        "  sum[q in Slots where h - 3 < q and q <= h] out[k, q] <= on[k, h];"
        "constraint stays[k in Nodes, h in Slots where place_of[h] < left[k]]: on[k, h] == 1;",
        "carry left[k] = 2 * on[k, committed];",
    ),
    # the same in one row
    (
        "constraint level[k in Nodes, h in Slots]: was_out[k] + sum[q in Slots where q <= h] out[k, q] <= 5;",
        "carry was_out[k] = out[k, committed];",
    ),
    # budgets: tracked, by slot, as an average
    ("constraint few: sum[k in Nodes, h in Slots] out[k, h] <= cap;", "carry cap = cap - now;"),
    ("constraint few[h in Slots]: sum[k in Nodes] out[k, h] <= cap;", ""),
    ("constraint few: sum[k in Nodes, h in Slots] out[k, h] <= cap * count(Slots);", ""),
    ("constraint few[k in Nodes]: max[h in Slots] out[k, h] <= cap;", ""),
    ("constraint few[k in Nodes]: all[h in Slots] (out[k, h] <= cap);", ""),
    ("constraint same[k in Nodes, q in Slots]: sum[h in Slots where h == q] out[k, h] <= 1;", ""),
    ("constraint same[k in Nodes, q in Slots]: sum[h in Slots where h == q and h <= q] out[k, h] <= 1;", ""),
    ("var gain >= 0; constraint counts: gain <= sum[k in Nodes, h in Slots] out[k, h];", ""),
    ("let used = sum[k in Nodes, h in Slots] out[k, h]; constraint few: used <= cap;", "carry cap = cap - now;"),
    (
        "param open[Batch] binary default 1;"
        "constraint once[b in Batch where open[b] == 1]: sum[k in Nodes, h in Slots] train[b, k, h] >= 1;",
        "carry open[b] = if remaining[b] < 1 then 0 else 1;",
    ),
    # decisions for all slots that are kept
    (
        "var home[Nodes] binary; param was_home[Nodes] binary default 0;"
        "constraint at_home[k in Nodes, h in Slots]: on[k, h] <= home[k] + was_home[k];",
        "carry was_home[k] = home[k];",
    ),
    # charges
    ("", "charge energy[h in Slots] in $ = sum[k in Nodes] price[h] * slot * on[k, h];"),
    ("", "charge energy in $ = sum[k in Nodes, h in Slots] price[h] * slot * on[k, h];"),
    ("", "charge time in h = sum[k in Nodes, h in Slots] slot * on[k, h];"),
]


@pytest.mark.quick(21)
@pytest.mark.parametrize(("added", "line"), SOUND)
def test_sound(added: str, line: str) -> None:
    assert told(added, line) == []


LOST = [
    # no word of what was before: GSM1656
    (
        "constraint r[k in Nodes, h in Slots where h > first(Slots)]: out[k, h] <= out[k, h-1];",
        "",
        ("error", "GSM1656", "out[k, h-1]"),
    ),
    (
        "constraint r[k in Nodes, h in Slots where h < last(Slots)]: out[k, h] <= out[k, h+1];",
        "",
        ("error", "GSM1656", "out[k, h+1]"),
    ),
    # the rule for the first slot reads what is not carried
    (
        "constraint r[k in Nodes, h in Slots where h > first(Slots)]: out[k, h] <= out[k, h-1];"
        "constraint r0[k in Nodes]: out[k, first(Slots)] <= was_out[k];",
        "",
        ("error", "GSM1656", "out[k, h-1]"),
    ),
    # the guard of the tie itself is no rule for the first slot, whatever it reads
    (
        "constraint r[k in Nodes, h in Slots where h > first(Slots)]: out[k, h] <= out[k, h-1] + was_on[k];",
        "",
        ("error", "GSM1656", "out[k, h-1]"),
    ),
    # not carried: GSM1642
    (
        "constraint r[k in Nodes, h in Slots]: out[k, h] <= (out[k, h-1] else was_out[k]) + 5;",
        "",
        ("error", "GSM1642", "was_out[k]"),
    ),
    (
        "constraint r[k in Nodes, h in Slots]: out[k, h] <= (if h == first(Slots) then was_out[k] else out[k, h-1]);",
        "",
        ("error", "GSM1642", "was_out[k]"),
    ),
    (
        "let change[k in Nodes, h in Slots] = out[k, h] - (out[k, h-1] else was_out[k]);"
        "constraint r[k in Nodes, h in Slots]: change[k, h] <= 5;",
        "",
        ("error", "GSM1642", "was_out[k]"),
    ),
    (
        "constraint r[k in Nodes, h in Slots]: out[k, h] <= (out[k, h-1] else 0) + 5;",
        "",
        ("warning", "GSM1642", "0"),
    ),
    (
        "param rise[h in Slots] in $/h = price[h] - (price[h-1] else 1[$/h]);",
        "",
        ("warning", "GSM1642", "1[$/h]"),
    ),
    (
        "param usual in $/h default 1[$/h]; param rise[h in Slots] in $/h = price[h] - (price[h-1] else usual);",
        "",
        ("warning", "GSM1642", "usual"),
    ),
    # one value for several slots: GSM1643
    (
        "constraint r[k in Nodes, h in Slots]: on[k, h] <= (on[k, h-2] else was_on[k]) + 1;",
        "",
        ("error", "GSM1643", "on[k, h-2]"),
    ),
    (
        "param lag integer default 3;"
        "constraint r[k in Nodes, h in Slots]: on[k, h] <= (on[k, h-lag] else was_on[k]) + 1;",
        "",
        ("error", "GSM1643", "on[k, h-lag]"),
    ),
    # what follows: GSM1644
    (
        "constraint r[k in Nodes, h in Slots]: out[k, h] <= (out[k, h+1] else 0) + 5;",
        "",
        ("warning", "GSM1644", "out[k, h+1]"),
    ),
    (
        "param last_slot[Nodes] within Slots; constraint r[k in Nodes]: out[k, last_slot[k]] <= 5;",
        "",
        ("warning", "GSM1644", "out[k, last_slot[k]]"),
    ),
]


@pytest.mark.quick(12)
@pytest.mark.parametrize(("added", "line", "what"), LOST)
def test_what_leaves_the_window(added: str, line: str, what: Told) -> None:
    assert told(added, line) == [what]


def test_the_tie_is_lost_when_the_carry_is() -> None:
    found = told(instead={"carry was_on[k] = on[k, committed];": ""})
    assert found == [("error", "GSM1642", "was_on[k]")]


def test_both_places_are_shown_and_the_line_to_write() -> None:
    text = MODEL.replace("ADDED", "") + BLOCK.replace("ADDED", "").replace("carry was_on[k] = on[k, committed];", "")
    found = next(d for d in proved(text) if d.code == "GSM1642")
    assert found.help == "add to the online block: `carry was_on[k] = on[k, committed];`"
    places = [s.place.text for s in found.secondary if isinstance(s.place, Span)]
    assert places == ["on[k, h-1]", "window h in Slots lookahead 96 commit 4;"]


# --- rules over many slots -------------------------------------------------------------------------------------------

CUT = [
    (
        "constraint up[k in Nodes, h in Slots]: sum[q in Slots where h - 3 < q and q <= h] out[k, q] <= on[k, h];",
        ("error", "GSM1645", "sum[q in Slots where h - 3 < q and q <= h] out[k, q]"),
    ),
    (
        "constraint up[k in Nodes, h in Slots, q in Slots where h < q and q < h + 3]: on[k, q] >= on[k, h];",
        ("error", "GSM1645", "up"),
    ),
    (
        "let recent[k in Nodes, h in Slots] = sum[q in Slots where h - 3 < q and q <= h] out[k, q];"
        "constraint up[k in Nodes, h in Slots]: recent[k, h] <= on[k, h];",
        ("error", "GSM1645", "sum[q in Slots where h - 3 < q and q <= h] out[k, q]"),
    ),
    (
        "constraint stock[k in Nodes, h in Slots]: sum[q in Slots where q <= h] out[k, q] <= cap;",
        ("error", "GSM1645", "sum[q in Slots where q <= h] out[k, q]"),
    ),
]


@pytest.mark.parametrize(("added", "what"), CUT)
def test_rules_over_several_slots(added: str, what: Told) -> None:
    assert what in told(added)
    assert {f[1] for f in told(added)} == {"GSM1645"}


TOTALS = [
    ("sum[k in Nodes, h in Slots] out[k, h] >= cap", "error", "sum[k in Nodes, h in Slots] out[k, h]"),
    ("cap <= sum[k in Nodes, h in Slots] out[k, h]", "error", "sum[k in Nodes, h in Slots] out[k, h]"),
    ("cap - sum[k in Nodes, h in Slots] out[k, h] <= 0", "error", "sum[k in Nodes, h in Slots] out[k, h]"),
    ("sum[k in Nodes, h in Slots] out[k, h] == cap", "error", "sum[k in Nodes, h in Slots] out[k, h]"),
    ("sum[k in Nodes, h in Slots] on[k, h] == 1", "error", "sum[k in Nodes, h in Slots] on[k, h]"),
    ("1 <= sum[k in Nodes, h in Slots] on[k, h] <= 5", "error", "sum[k in Nodes, h in Slots] on[k, h]"),
    ("sum[k in Nodes, h in Slots] out[k, h] <= cap", "warning", "sum[k in Nodes, h in Slots] out[k, h]"),
    ("cap >= sum[k in Nodes, h in Slots] out[k, h]", "warning", "sum[k in Nodes, h in Slots] out[k, h]"),
    ("count[k in Nodes, h in Slots] (out[k, h] >= 1) >= 2", "error", "count[k in Nodes, h in Slots] (out[k, h] >= 1)"),
    ("any[k in Nodes, h in Slots] (on[k, h] == 1)", "error", "any[k in Nodes, h in Slots] (on[k, h] == 1)"),
    ("max[k in Nodes, h in Slots] out[k, h] >= cap", "error", "max[k in Nodes, h in Slots] out[k, h]"),
    ("sum[k in Nodes, h in Slots] on[k, h] >= 0", "warning", "sum[k in Nodes, h in Slots] on[k, h]"),
    ("sum[k in Nodes, h in Slots] out[k, h] >= cap * count(Slots)", "warning", "sum[k in Nodes, h in Slots] out[k, h]"),
    (
        "sum[k in Nodes, h in Slots] max(on[k, h] - (on[k, h-1] else was_on[k]), 0) <= 3",
        "warning",
        "sum[k in Nodes, h in Slots] max(on[k, h] - (on[k, h-1] else was_on[k]), 0)",
    ),
]


@pytest.mark.parametrize(("body", "severity", "at"), TOTALS)
def test_totals_that_are_not_tracked(body: str, severity: str, at: str) -> None:
    assert told(f"constraint few: {body};") == [(severity, "GSM1646", at)]


@pytest.mark.parametrize(
    ("body", "severity", "at"),
    [
        ("-1 * sum[k in Nodes, h in Slots] out[k, h] <= -cap", "error", "sum[k in Nodes, h in Slots] out[k, h]"),
        ("not (sum[k in Nodes, h in Slots] out[k, h] >= cap)", "warning", "sum[k in Nodes, h in Slots] out[k, h]"),
        (
            "sum[k in Nodes, h in Slots] (if h == first(Slots) then was_on[k] else on[k, h-1]) >= 3",
            "error",
            "sum[k in Nodes, h in Slots] (if h == first(Slots) then was_on[k] else on[k, h-1])",
        ),
    ],
)
def test_totals_written_otherwise(body: str, severity: str, at: str) -> None:
    assert told(f"constraint few: {body};") == [(severity, "GSM1646", at)]


def test_a_set_that_reads_what_is_carried_tracks_nothing() -> None:
    added = "set Long = { b in Batch where epochs[b] > 2[epoch] };"
    added += "constraint few[b in Long]: sum[k in Nodes, h in Slots] train[b, k, h] >= 3;"
    assert told(added) == [("error", "GSM1646", "sum[k in Nodes, h in Slots] train[b, k, h]")]


NUMBERED = """
model N {
  param last_slot integer default 9;
  set Slots ordered = 1..last_slot;
  param was default 0;
  var x[Slots] >= 0;
  minimize total: sum[h in Slots] x[h];
  constraint rise[h in Slots]: ROW;
}
online O for N { window h in Slots lookahead 4 commit 2; CARRY }
"""


@pytest.mark.parametrize(
    ("row", "carry", "codes"),
    [
        ("x[h] <= (x[h-1] else was) + 5", "carry was = x[committed];", []),
        ("x[h] <= (x[h-1] else was) + 5", "", ["GSM1642"]),
        ("x[h] <= (x[h-2] else was) + 5", "carry was = x[committed];", ["GSM1643"]),
        ("x[h] <= (x[h+1] else 0) + 5", "", ["GSM1644"]),
        ("sum[q in h-2..h] (x[q] else 0) <= 5", "", ["GSM1645"]),
        ("x[h] <= (x[h-1] else was) + 5", "carry was = (x[committed + 1] else 0);", ["GSM1649"]),
    ],
)
def test_slots_that_are_numbers(row: str, carry: str, codes: list[str]) -> None:
    assert [d.code for d in proved(NUMBERED.replace("ROW", row).replace("CARRY", carry))] == codes


def test_totals_behind_a_let_are_told_where_they_are_compared() -> None:
    added = "let used[k in Nodes] = sum[h in Slots] out[k, h]; constraint few[k in Nodes]: used[k] >= cap;"
    assert told(added) == [("error", "GSM1646", "used[k]")]


def test_a_variable_that_stands_for_a_total() -> None:
    added = "var total >= 0; constraint adds: total == sum[k in Nodes, h in Slots] out[k, h];"
    assert told(added) == [("warning", "GSM1646", "sum[k in Nodes, h in Slots] out[k, h]")]


def test_work_that_is_not_carried() -> None:
    found = told(instead={"carry epochs[b] = epochs[b] - done[b];": ""})
    assert found == [("error", "GSM1646", "sum[k in Nodes, h in Slots] slot * pace * train[b, k, h]")]


def test_peaks() -> None:
    old = "boots: sum"
    new = "peak: 1[$] * max[k in Nodes, h in Slots] out[k, h]; boots: sum"
    assert told(instead={old: new}) == [("warning", "GSM1646", "max[k in Nodes, h in Slots] out[k, h]")]


ACCUMULATED = """
param spent >= 0 default 0;  param lately >= 0 default 0;
constraint few: sum[k in Nodes, h in Slots] out[k, h] + spent <= cap;
"""


@pytest.mark.parametrize(
    ("carry", "found"),
    [
        ("carry spent = previous(spent) + previous(lately);", []),
        ("carry spent = previous(spent) + lately;", [("warning", "GSM1647", "LATELY")]),  # the value of the scenario
        ("", [("warning", "GSM1647", "LATELY")]),  # `lately` reads only itself
    ],
)
def test_a_value_that_another_accumulates_is_read(carry: str, found: list[tuple[str, str, str]]) -> None:
    lately = "carry lately = previous(lately) + sum[k in Nodes] out[k, committed];"
    expected = [(severity, code, text.replace("LATELY", lately)) for severity, code, text in found]
    assert [one for one in told(ACCUMULATED, carry + lately) if one[1] == "GSM1647"] == expected


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("max(left[k], previous(left[k])) + min(on[k, committed], 1)", None),
        ("0.5 * on[k, committed] + previous(left[k])", []),  # no decision is at fault
        ("on[k, committed] + out[k, committed] + previous(left[k])", ["`out` is declared without"]),
    ],
)
def test_what_may_be_fractional_is_named(value: str, named: list[str] | None) -> None:
    stays = "constraint stays[k in Nodes, h in Slots where place_of[h] < left[k]]: on[k, h] == 1;"
    text = MODEL.replace("ADDED", stays)
    found = [d for d in proved(text + BLOCK.replace("ADDED", f"carry left[k] = {value};")) if d.code == "GSM1648"]
    assert (named is None) == (not found)
    for one in found:
        labels = [label.message for label in one.secondary if "without" in label.message]
        assert len(labels) == len(named or [])
        assert all(label.startswith(start) for label, start in zip(labels, named or [], strict=True))


def test_decisions_for_all_slots() -> None:
    added = "var home[Nodes] binary; constraint at_home[k in Nodes, h in Slots]: on[k, h] <= home[k];"
    assert told(added) == [("warning", "GSM1653", "home[k]")]


# --- what is carried -------------------------------------------------------------------------------------------------

CARRIED = [
    ("", "carry left[k] = 0;", ("warning", "GSM1647", "carry left[k] = 0;")),
    (
        "param spent default 0; constraint few: sum[k in Nodes, h in Slots] out[k, h] + spent <= cap;",
        "carry spent = spent + sum[k in Nodes, h in Slots where h <= committed] out[k, h];",
        ("error", "GSM1649", "spent + sum[k in Nodes, h in Slots where h <= committed] out[k, h]"),
    ),
    (
        "param spent default 0; constraint few: sum[k in Nodes, h in Slots] out[k, h] + spent <= cap;",
        "carry spent = sum[k in Nodes, h in Slots] out[k, h];",
        ("warning", "GSM1649", "sum[k in Nodes, h in Slots] out[k, h]"),
    ),
    (
        "constraint r[k in Nodes, h in Slots]: out[k, h] <= (out[k, h-1] else was_out[k]) + 5;",
        "carry was_out[k] = out[k, last(Slots)];",
        ("warning", "GSM1649", "out[k, last(Slots)]"),
    ),
    (
        "constraint r[k in Nodes, h in Slots]: out[k, h] <= (out[k, h-1] else was_out[k]) + 5;",
        "carry was_out[k] = (out[k, committed + 1] else 0);",
        ("warning", "GSM1649", "out[k, committed + 1]"),
    ),
    (
        "param spent default 0; constraint few: sum[k in Nodes, h in Slots] out[k, h] + spent <= cap;",
        "carry spent = previous(spent) + sum[k in Nodes] out[k, committed];",
        ("warning", "GSM1649", "out[k, committed]"),
    ),
    (
        "param spent default 0; constraint few: sum[k in Nodes, h in Slots] out[k, h] + spent <= cap;",
        "carry spent = max(previous(spent), sum[k in Nodes] out[k, committed]);",
        ("warning", "GSM1649", "out[k, committed]"),
    ),
    (
        "param spent default 0; constraint few: sum[k in Nodes, h in Slots] out[k, h] + spent <= cap;",
        "carry spent = previous(spent) + sum[b in Batch] done[b] / 1[epoch];",
        ("warning", "GSM1649", "sum[b in Batch] done[b] / 1[epoch]"),
    ),
    (
        "param spent default 0; constraint few: sum[k in Nodes, h in Slots] out[k, h] + spent <= cap;",
        "carry spent = previous(spent) + elapsed / 1[h] * sum[b in Batch] running[b];",
        ("warning", "GSM1649", "elapsed / 1[h] * sum[b in Batch] running[b]"),
    ),
    (
        "let used = sum[k in Nodes, h in Slots] out[k, h]; param spent default 0; constraint few: used + spent <= cap;",
        "carry spent = used;",
        ("warning", "GSM1649", "sum[k in Nodes, h in Slots] out[k, h]"),
    ),
    (
        "var status[Nodes, Slots] >= 0 <= 1; param was[Nodes] binary default 0;"
        "constraint r[k in Nodes, h in Slots]: out[k, h] <= 3 * status[k, h] + (status[k, h-1] else was[k]);",
        "carry was[k] = status[k, committed];",
        ("warning", "GSM1648", "status[k, committed]"),
    ),
]


@pytest.mark.parametrize(("added", "line", "what"), CARRIED)
def test_what_is_carried(added: str, line: str, what: Told) -> None:
    assert told(added, line) == [what]


@pytest.mark.parametrize(
    "line",
    [
        "carry spent = previous(spent) + executed(sum[k in Nodes, h in Slots] out[k, h]);",
        "carry spent = max(previous(spent), max[k in Nodes, h in Slots where h <= committed] out[k, h]);",
        "carry spent = if sum[k in Nodes] on[k, committed] > 0.5 then previous(spent) + 1 else 0;",
        "carry spent = sum[b in Batch] done[b] / 1[epoch];",
        "carry spent = previous(spent) + (sum[b in Batch] done[b] / 1[epoch]) - previous(past);"
        "carry past = sum[b in Batch] done[b] / 1[epoch];",
    ],
)
def test_what_counts_each_slot_and_each_job_once(line: str) -> None:
    params = "param spent default 0; param past default 0;"
    added = f"{params} constraint few: sum[k in Nodes, h in Slots] out[k, h] + spent + past <= cap;"
    assert [one for one in told(added, line) if one[1] == "GSM1649"] == []


def test_one_slot_is_all_that_a_plan_for_each_slot_executes() -> None:
    added = "param spent default 0; constraint few: sum[k in Nodes, h in Slots] out[k, h] + spent <= cap;"
    line = "carry spent = previous(spent) + sum[k in Nodes] out[k, committed];"
    text = MODEL.replace("ADDED", added) + BLOCK.replace("ADDED", line)
    for old, new in (("commit 4", "commit 1"), ("every 4 slots", "every 1 slots")):
        assert "GSM1649" not in [d.code for d in proved(text.replace(old, new))]


def test_what_policies_read_is_not_carried_for_nothing() -> None:
    text = MODEL.replace("ADDED", "") + BLOCK.replace("ADDED", "carry left[k] = 0;")
    policy = "policy P for M { order b in Batch by sum[k in Nodes] left[k]; occupies 1; place cheapest_block; }"
    assert [d.code for d in proved(text + policy)] == ["GSM1645"]


def test_fractions_that_the_block_itself_makes() -> None:
    added = "constraint stays[k in Nodes, h in Slots where place_of[h] < left[k]]: on[k, h] == 1;"
    assert told(added, "carry left[k] = now / 2;") == [("warning", "GSM1648", "now / 2")]
    assert told(added, "carry left[k] = floor(now / 2);") == []


WHOLE = "var up[Nodes, Slots] >= 0 <= 1; var rises[Nodes, Slots] >= 0; param was[Nodes] binary default 0;"


@pytest.mark.parametrize(
    ("rows", "whole"),
    [
        (
            "constraint a[k in Nodes, h in Slots]: on[k, h] <= up[k, h];"
            "constraint c[k in Nodes, h in Slots]: rises[k, h] >= up[k, h] - (up[k, h-1] else was[k]);",
            True,
        ),
        (
            "constraint a[k in Nodes, h in Slots]: sum[b in Batch] train[b, k, h] + 2 * on[k, h] <= up[k, h];"
            "constraint c[k in Nodes, h in Slots]: rises[k, h] >= up[k, h] - (up[k, h-1] else was[k]);",
            True,
        ),
        # a coefficient that is not 1
        (
            "constraint a[k in Nodes, h in Slots]: on[k, h] <= 2 * up[k, h];"
            "constraint c[k in Nodes, h in Slots]: rises[k, h] >= up[k, h] - (up[k, h-1] else was[k]);",
            False,
        ),
        # data that may be fractions
        (
            "constraint a[k in Nodes, h in Slots]: was_out[k] <= up[k, h];"
            "constraint c[k in Nodes, h in Slots]: rises[k, h] >= up[k, h] - (up[k, h-1] else was[k]);",
            False,
        ),
        # a continuous variable that rows share
        (
            "var most[Nodes] >= 0;"
            "constraint c[k in Nodes, h in Slots]: most[k] >= up[k, h] - (up[k, h-1] else was[k]);",
            False,
        ),
        # both of one sign
        ("constraint c[k in Nodes, h in Slots]: up[k, h] + (up[k, h-1] else was[k]) >= 1;", False),
    ],
)
def test_statuses_that_are_whole_by_themselves(rows: str, whole: bool) -> None:
    found = told(WHOLE + rows, "carry was[k] = up[k, committed];")
    assert (("warning", "GSM1648", "up[k, committed]") in found) is not whole


def test_bounds_and_terms_may_keep_a_status_from_being_whole() -> None:
    rows = "constraint a[k in Nodes, h in Slots]: on[k, h] <= 1 + up[k, h] - (up[k, h-1] else was[k]);"
    carry = "carry was[k] = up[k, committed];"
    assert told(WHOLE + rows, carry) == []
    half = told(WHOLE.replace("up[Nodes, Slots] >= 0 <= 1", "up[Nodes, Slots] >= 0 <= 0.5") + rows, carry)
    term = {"boots: sum": "steps: sum[k in Nodes, h in Slots] 1[$] * max(up[k, h] - 0.5, 0); boots: sum"}
    assert half == told(WHOLE + rows, carry, instead=term) == [("warning", "GSM1648", "up[k, committed]")]


# --- jobs, times, charges --------------------------------------------------------------------------------------------

EVENTS = """
model E {
  set Jobs;
  set Nodes;
  param submitted[Jobs] in h default 0;
  param time[Jobs] in h > 0;
  param due[Jobs] in h;
  param share[Jobs] > 0 <= 1 default 1;
  param left[j in Jobs] in h = share[j] * time[j];
  param round in h default 1[h];
  var run[Jobs, Nodes] binary;
  minimize total in $: sum[j in Jobs, n in Nodes] 1[$/h] * max(left[j] - due[j], 0) * run[j, n];
  placement run[j, n] { job j; node n; lasts LASTS; due due[j]; }
}
online O for E { arrive j in Jobs at submitted[j]; replan on arrival; ADDED }
"""
NOW = "carry due[j] = due[j] - now;"
SHARE = "carry share[j] = remaining[j];"


@pytest.mark.parametrize(
    ("lasts", "lines", "expected"),
    [
        ("left[j]", SHARE + NOW, []),
        ("round", NOW + "carry time[j] = remaining[j] * time[j];", []),
        ("time[j]", "carry time[j] = remaining[j] * time[j];" + NOW, []),
        ("time[j]", SHARE + NOW, [("warning", "GSM1650", "time[j]")]),
        ("left[j]", NOW, [("warning", "GSM1650", "left[j]")]),
        ("left[j]", SHARE, [("warning", "GSM1650", "due[j]")]),
        ("left[j]", SHARE + NOW + "charge rent in $/h = 1[$/h];", []),
        ("left[j]", SHARE + NOW + "charge busy = sum[j in Jobs, n in Nodes] run[j, n];", []),
        ("left[j]", SHARE + NOW + "charge rent in $ = 1[$];", [("error", "GSM1654", "1[$]")]),
        ("left[j]", SHARE + NOW + "charge power in kWh = 2[kWh];", [("error", "GSM1654", "2[kWh]")]),
        ("left[j]", SHARE + NOW + "charge power in W = 2[W];", []),
    ],
)
def test_blocks_by_events(lasts: str, lines: str, expected: list[Told]) -> None:
    found = proved(EVENTS.replace("LASTS", lasts).replace("ADDED", lines))
    assert [(d.severity.value, d.code, d.primary.text) for d in found if isinstance(d.primary, Span)] == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("work epochs[b];", "", [("warning", "GSM1651", "arrive b in Batch at arrives[b];")]),
        ("commit 4;", "commit 100;", [("error", "GSM1652", "100")]),
        ("commit 4;", "commit 0;", [("error", "GSM1652", "0"), ("error", "GSM1652", "4")]),
        ("lookahead 96", "lookahead 0", [("error", "GSM1652", "0")]),
        ("every 4 slots", "every 5 slots", [("error", "GSM1652", "5")]),
        ("every 4 slots", "every 5", [("error", "GSM1652", "5")]),
        ("every 4 slots", "every 0 slots", [("error", "GSM1652", "0")]),
        ("every 4 slots", "every 2 slots", []),
        ("every 4 slots", "every 100[h]", []),
    ],
)
def test_times(old: str, new: str, expected: list[Told]) -> None:
    if "work" in old:
        found = told(
            instead={
                old: new,
                "speed slot * pace;": "",
                "carry epochs[b] = epochs[b] - done[b];": "carry epochs[b] = remaining[b] * epochs[b];",
            }
        )
    else:
        found = told(instead={old: new})
    assert found == expected


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("charge energy in $/h = sum[h in Slots] price[h];", "error"),
        ("charge power in W = 2[W];", "error"),
        ("charge fee in $ = 2[$];", "warning"),
    ],
)
def test_charges_by_slots(line: str, severity: str) -> None:
    assert [f[:2] for f in told("", line)] == [(severity, "GSM1654")]


def test_what_to_fall_back_on() -> None:
    text = MODEL.replace("ADDED", "") + BLOCK.replace("ADDED", "fallback P;")
    fits = "policy P for M { order b in Batch by epochs[b]; occupies 1; place cheapest_block; }"
    other = "model Q { set Jobs; set Nodes; param a[Jobs]; var x[Jobs, Nodes] binary; minimize c: 0;"
    other += " placement x[j, n] { job j; node n; lasts 1[h]; } }"
    other += " policy P for Q { order j in Jobs by a[j]; place best_fit; }"
    assert [d.code for d in proved(text + fits)] == ["GSM1645"]
    assert [d.code for d in proved(text + other)] == ["GSM1645", "GSM1655"]
    assert [d.code for d in proved(text)] == ["GSM1645"]  # may be in the standard library


# --- whole models ----------------------------------------------------------------------------------------------------


def test_the_tour_by_events() -> None:
    found = Diagnostics()
    workspace = load_workspace(ROOT / "tests" / "tour" / "capacity_planning.gsm", found)
    assert check_online(workspace, workspace.onlines["EveryEvent"], found) is not None
    assert list(found) == []


def tour_by_slots() -> str:
    text = (ROOT / "tests" / "tour" / "price_aware.gsm").read_text(encoding="utf-8")
    return text.replace(
        "  replan   on arrival, every 4",
        "  work epochs[b];  speed slot / epoch_time[b, k];\n  replan   on arrival, every 4",
    )


def test_the_tour_by_slots() -> None:
    assert proved(tour_by_slots()) == []


@pytest.mark.parametrize(
    ("carry", "code"), [("was_on[k] ", "GSM1642"), ("was_training", "GSM1642"), ("epochs[b] ", "GSM1646")]
)
def test_each_carry_of_the_tour_is_needed(carry: str, code: str) -> None:
    lines = [line for line in tour_by_slots().splitlines() if not line.strip().startswith(f"carry    {carry}")]
    assert [(d.severity.value, d.code) for d in proved("\n".join(lines))] == [("error", code)]


SHIPPED = """
import "price_aware/{model}.gsm";
online O for {name} {{
  window h in Slots lookahead 96 commit 4;
  arrive b in Batch at arrives[b];
  replan on arrival, every 4 slots;
  work epochs[b];
  speed slot / epoch_time[b, {kind}];
  carry was_on[k] = {on};
  carry was_training[b, k] = {train};
  carry epochs[b] = epochs[b] - done[b];
}}
"""


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    ("model", "name", "kind", "on", "train"),
    [
        ("model", "PriceAware", "node_type[k]", "on[k, committed]", "train[b, k, committed]"),
        ("rejecting", "PriceAwareRejecting", "node_type[k]", "on[k, committed]", "train[b, k, committed]"),
        ("printed", "PriceAwarePrinted", "node_type[k]", "on[k, committed]", "train[b, k, committed]"),
        ("by_type", "PriceAwareByType", "g", "0", "0"),
    ],
)
def test_shipped_models_by_slots(model: str, name: str, kind: str, on: str, train: str) -> None:
    """What there is to tell of them is that the home of a job is not kept."""
    found = Diagnostics()
    text = SHIPPED.format(model=model, name=name, kind=kind, on=on, train=train)
    if name == "PriceAwarePrinted":  # has no placement, and a `done` of its own
        text = text.replace("speed slot / epoch_time[b, node_type[k]];", "speed 1[epoch];")
        text = text.replace("epochs[b] - done[b]", "remaining[b] * epochs[b]")
    workspace = workspace_from_text(text, "test.gsm", found, ROOT / "models")
    assert check_online(workspace, workspace.onlines["O"], found) is not None
    places = [(d.severity.value, d.code, d.primary.text[:4]) for d in found if isinstance(d.primary, Span)]
    assert places == [("warning", "GSM1653", "home")]


def online_files() -> list[Path]:
    """The shipped texts that have online blocks of their own."""
    return [p for p in sorted((ROOT / "models").rglob("*.gsm")) if "\nonline " in p.read_text(encoding="utf-8")]


@pytest.mark.quick(3)
@pytest.mark.parametrize("path", online_files(), ids=lambda p: p.name)
def test_shipped_blocks(path: Path) -> None:
    found = Diagnostics()
    workspace = load_workspace(path, found)
    for online in workspace.onlines.values():
        assert check_online(workspace, online, found) is not None
    assert [d for d in found if "GSM1642" <= d.code <= "GSM1656"] == []


SLOT_TIMES = [
    ("param at[h in Slots] in h = (ord(h) - 1) * 1[h];", "hour_of_day(at[h])", True),
    ("let at[h in Slots] in h = ord(h) * 1[h];", "hour_of_day(at[h])", True),
    ("", "hour_of_day(ord(h) * 1[h])", True),
    ("", "hour_of_day(count(Slots) * 1[h])", True),
    ("", "hour_of_day((count[q in Slots where q < h]) * 1[h])", True),
    ("param long[Slots] in h;", "hour_of_day(sum[q in Slots where q < h] long[q])", True),
    ("set Parts; param at[Slots] in h; param late[Parts] in h;", "hour_of_day(at[h] + sum[p in Parts] late[p])", False),
    ("param at[Slots] in h;", "hour_of_day(at[h])", False),
    ("param first default 0; param at[h in Slots] in h = (first + ord(h) - 1) * 1[h];", "hour_of_day(at[h])", False),
    ("set Others ordered; param at[Others] in h;", "hour_of_day(sum[o in Others] ord(o) * at[o])", False),
]


@pytest.mark.parametrize(("declared", "read", "counted"), SLOT_TIMES)
def test_the_clock_is_not_read_at_slots_counted_in_the_window(declared: str, read: str, counted: bool) -> None:
    text = f"""
    model M {{
      set Slots ordered;  {declared}
      let dear[h in Slots] = if {read} < 8[h] then 1 else 2;
      var x[Slots] binary;
      minimize cost in $: sum[h in Slots] dear[h] * 1[$] * x[h];
      placement x[h] {{ slot h;  lasts 1[h]; }}
    }}
    online O for M {{
      window h in Slots lookahead 8 commit 2;
      {"carry first = now;" if "first" in declared else ""}
    }}
    """
    found = Diagnostics()
    workspace = workspace_from_text(text, "test.gsm", found)
    check_online(workspace, workspace.onlines["O"], found)
    assert [d.code for d in found if d.severity is Severity.ERROR] == ["GSM1696"] * counted


@pytest.mark.parametrize("default", ["(ord(h) - 1) * 1[h]", "(count[q in Slots where q < h]) * 1[h]"])
def test_a_default_that_counts_in_the_window_is_a_warning(default: str) -> None:
    """The scenario may give the times of all slots."""
    text = f"""
    model M {{
      set Slots ordered;  param at[h in Slots] in h default {default};
      var x[Slots] binary;
      minimize cost in $: sum[h in Slots where hour_of_day(at[h]) < 8[h]] 1[$] * x[h];
      placement x[h] {{ slot h;  lasts 1[h]; }}
    }}
    online O for M {{ window h in Slots lookahead 8 commit 2; }}
    """
    found = Diagnostics()
    workspace = workspace_from_text(text, "test.gsm", found)
    check_online(workspace, workspace.onlines["O"], found)
    assert [d.severity for d in found if d.code == "GSM1696"] == [Severity.WARNING]
