"""A live run forgets slots of long ago; its decisions and costs are those of a run that keeps all, to the last bit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from found_codes import raises_code
from live_toy import line
from live_windows import CHEAP, arrival, live, of_kind, records_of, simulated, tick, window_setup
from state_windows import drawn_state_window
from test_live_windows import many_jobs, told
from window_cases import drawn_window

from gpusched_dsl.online.loops import forgetting, forgetting_slots
from gpusched_dsl.online.loops.external_slots import ExternalSlotLoop
from gpusched_dsl.online.loops.forgetting_slots import reads_passed_slots
from gpusched_dsl.online.open import loop_of

REMEMBERS = CHEAP.replace(
    "  var train",
    "  param used in h default 0[h];  param top default 0;  param clock default 0;\n"
    "  param yesterday[Slots] in $/h default 0[$/h];\n  var train",
).replace(
    "  charge energy",
    """  carry used = previous(used) * 0.5^(elapsed / 3[h])
    + executed(sum[j in Jobs, n in Nodes, h in Slots] 1[h] * train[j, n, h]);
  carry top = max(previous(top), executed(max[h in Slots] sum[j in Jobs, n in Nodes] train[j, n, h]));
  carry yesterday[h] = (price[h - 2] else price[h]);
  carry clock = now;
  charge remembered[j in Jobs] in $ =
    sum[n in Nodes, h in Slots] (used / 1[h] + top + clock) * yesterday[h] * 1[h] * train[j, n, h];
  charge energy""",
)
BLOCKS = {"cheap": CHEAP, "remembers": REMEMBERS}


def keep(monkeypatch: pytest.MonkeyPatch, slots: int, reach: int = 1) -> None:
    monkeypatch.setattr(forgetting_slots, "KEPT", slots)
    monkeypatch.setattr(forgetting_slots, "REACH", reach)


def loop_with(lines: list[bytes], text: str = CHEAP) -> ExternalSlotLoop:
    loop = loop_of(window_setup(text, "Ahead", None, "highs", external=True))
    assert isinstance(loop, ExternalSlotLoop)
    for each in lines:
        loop.on_event(json.loads(each))
    return loop


def slots_of(loop: ExternalSlotLoop) -> int:
    return len(loop.base.store.universes["Slots"].labels)


@pytest.mark.quick(2)
@pytest.mark.parametrize("kept", [2, 5])
@pytest.mark.parametrize("text", BLOCKS)
def test_records_are_those_of_a_run_that_keeps_all(
    text: str, kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where jobs are forgotten, and after a kill, at which the run has forgotten some slots."""
    lines = many_jobs(18)
    whole = records_of(lines, tmp_path, BLOCKS[text])
    keep(monkeypatch, kept)
    monkeypatch.setattr(forgetting, "KEPT", 4)
    found = records_of(lines, tmp_path, BLOCKS[text])
    assert told(found) == told(whole)
    assert of_kind(found, "finished") == of_kind(whole, "finished")
    assert of_kind(found, "warning") == of_kind(whole, "warning")
    journal = str(tmp_path / "run.db")
    first = records_of(lines, tmp_path, BLOCKS[text], journal=journal, killed_at=len(whole) // 2)
    second = records_of(lines, tmp_path, BLOCKS[text], journal=journal)
    assert told(first + second) == told(whole)
    assert of_kind(second, "finished") == of_kind(whole, "finished")
    loop = loop_with(lines[:-1], BLOCKS[text])
    assert loop.forgotten_slots >= 17 - 2 * kept
    assert loop.slot < 2 * kept + 2
    assert slots_of(loop) <= 2 * kept + 2 + 3 * 4 + 8


def test_values_that_are_repeated_or_late_name_the_same_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last known price is that of a forgotten slot; ticks are missed, and the message names the first such slot."""
    lines = [arrival("a", 0, 9), *(tick(k) for k in range(9)), tick(16), arrival("b", 16.5, 3)]
    lines += [*(tick(k) for k in range(17, 30)), line("end", "e", 30)]
    whole = records_of(lines, tmp_path)
    assert {d.get("repeated", {}).get("price") for d in of_kind(whole, "decision")} >= {5}
    assert sorted(w["code"] for w in of_kind(whole, "warning")) == ["GSM7050", "GSM7051"]
    keep(monkeypatch, 2)
    found = records_of(lines, tmp_path)
    assert told(found) == told(whole)
    assert of_kind(found, "warning") == of_kind(whole, "warning")
    assert of_kind(found, "finished") == of_kind(whole, "finished")


def test_values_in_forgotten_slots_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    keep(monkeypatch, 2)
    loop = loop_with([arrival("a", 0, 9), *(tick(k) for k in range(9))])
    first = loop.forgotten_slots
    assert first >= 4
    late = {"kind": "value", "time": 8.5, "values": {"price": {str(first - 1): 3}}}
    with raises_code("GSM5207", str(first - 1)) as refused:
        loop.on_event(late)
    assert [d.code for d in refused.value.diagnostics] == ["GSM5207"]
    loop.on_event({**late, "values": {"price": {str(first): 3}}})


@pytest.mark.parametrize("cases", [5, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["windows", "states"])
def test_random_blocks_forget_nothing_that_they_read(kind: str, cases: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Peaks, budgets, shares and prices by date; plans by events and clocks. Costs are equal to the last bit."""
    forgot = 0
    for seed in range(cases):
        text = drawn_state_window(seed).text if kind == "states" else drawn_window(seed).text
        setup = window_setup(text, "Block", None, "highs", external=True)
        assert setup.window is not None
        slots = setup.window.horizon - setup.window.lookahead
        _, events = simulated(window_setup(text, "Block", None, "highs"), slots)
        keep(monkeypatch, 10**6)
        whole, _, _ = live(setup, events, slots)
        keep(monkeypatch, 2)
        found, _, loop = live(window_setup(text, "Block", None, "highs", external=True), events, slots)
        assert found == whole, seed
        forgot += loop.forgotten_slots > 0
    assert forgot >= 0.2 * cases


READS: list[tuple[str, bool]] = [
    ("carry used = previous(used) + executed(sum[h in Slots, j in Jobs, n in Nodes] 1[h] * train[j, n, h]);", False),
    ("carry used = if (sum[j in Jobs, n in Nodes] train[j, n, committed]) > 0.5 then 1[h] else 2[h];", False),
    ("carry yesterday[h] = (price[h - 2] else price[h]);", False),
    ("carry yesterday[h] = (price[h - 3] else price[h]);", True),
    ("carry yesterday[h] = if h <= committed then price[h] else 2 * price[h];", False),
    ("carry yesterday[h] = max(previous(yesterday[h]), (price[h - 1] else price[h]));", True),
    ("carry used = 1[h] * ord(last(Slots));", True),
    ("carry used = 1[h*h/$] * sum[h in Slots] price[h];", True),
    ("carry yesterday[h] = mean;", True),
    ("carry yesterday[h] = own[h];", False),
]


@pytest.mark.parametrize(("carry", "reads"), READS)
def test_which_blocks_keep_all_slots(carry: str, reads: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """`mean` and `own` are derived from the prices of all slots, or of each slot."""
    keep(monkeypatch, 2)
    derived = (
        "param mean in $/h = sum[h in Slots] price[h] / count(Slots);  param own[h in Slots] in $/h = 2 * price[h];"
    )
    text = REMEMBERS.replace("  var train", f"  {derived}\n  var train")
    before, _, after = text.partition("  carry used")
    text = before + f"  {carry}\n" + after[after.index("  charge remembered") :]
    setup = window_setup(text, "Ahead", None, "highs", external=True)
    assert reads_passed_slots(setup.online, setup.base, "Slots") is reads
