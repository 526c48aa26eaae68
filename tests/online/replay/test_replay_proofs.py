"""A run is replayed only where nothing that it reads can change on the way, and the reason against it is named."""

from __future__ import annotations

import pytest
from planned_runs import ready, reasons

MODEL = """
model Small {
  set Jobs;  set Nodes;  set Hours = 0..9;
  param submitted[Jobs] in h default 0[h];
  param length[Jobs] in h > 0;
  param remaining[Jobs] > 0 <= 1 default 1;
  param deadline[Jobs] in h default 99[h];
  param tariff[Hours] in $/h default 1[$/h];
  param price in $/h default 1[$/h];
  param needs[Jobs] default 1;
  param clock in h default 0[h];
  param left[j in Jobs] in h = remaining[j] * length[j];
  param later[j in Jobs] in h = max(0[h], clock + left[j] - deadline[j]);
  DECLARED
  var run[j in Jobs, Nodes WHERE] binary;
  minimize cost in $: sum[j in Jobs, n in Nodes] price * 1[h] * run[j, n];
  placement run[j, n] {
    job j;  node n;  ROLES
  }
}
policy Queue for Small { order j in Jobs by submitted[j]; place best_fit, new_node, wait; keep running; POLICY }
online Events for Small {
  arrive j in Jobs at submitted[j];
  replan on arrival, completion;
  carry remaining[j] = remaining[j];
  BLOCK
}
scenario Run for Small { Jobs = { a, b }; Nodes = { m }; length["a"] = 1[h]; length["b"] = 2[h]; }
"""
ROLES = "uses needs[j] of 2;  lasts left[j];  costs price in $/h;  due deadline[j];  weight 1[$/h];"
FACTOR = "param factor default 1;"


def against(
    roles: str = "", declared: str = "", block: str = "", where: str = "", policy: str = "", **instead: str
) -> list[str]:
    """Reasons against a replay, with these lines beside those that may be replayed; `instead`: roles by name."""
    stated = [role.strip() for role in ROLES.split(";") if role.strip()]
    stated = [instead.get(role.split()[0], role) for role in stated]
    text = MODEL.replace("ROLES", "; ".join(role for role in stated if role) + "; " + roles)
    text = text.replace("DECLARED", declared).replace("BLOCK", block).replace("WHERE", where).replace("POLICY", policy)
    return reasons(ready(text, "Queue"), "Events")


def test_a_queue_whose_data_stay_is_replayed() -> None:
    assert against() == []


@pytest.mark.quick(8)
@pytest.mark.parametrize(
    ("roles", "said"),
    [
        ({"costs": "costs factor * price in $/h"}, "`costs` may change: `factor` is carried"),
        ({"costs": "costs (if factor > 3 then 2 else 1) * price in $/h"}, "`costs` may change: `factor` is carried"),
        ({"costs": "costs factor * left[j] * price in $"}, "`costs` is not a rate"),
        ({"costs": "costs 3[$] in $"}, "`costs` is not a rate"),
        ({"costs": "costs remaining[j] * price in $/h"}, "`costs` may change: `remaining` is carried"),
        ({"costs": "costs count(Jobs) * price in $/h"}, "`costs` may change: `Jobs` depends on the present jobs"),
        ({"uses": "uses factor of 2"}, "`uses` may change: `factor` is carried"),
        ({"uses": "uses needs[j] of 2 * factor"}, "`uses` may change: `factor` is carried"),
        ({"uses": "uses needs[j] * remaining[j] of 2"}, "`uses` may change: `remaining` is carried"),
        ({"lasts": "lasts factor * left[j]"}, "`lasts` may change: `factor` is carried"),
        ({"lasts": "lasts length[j]"}, "`lasts` does not depend on the remaining work"),
        ({"lasts": "lasts left[j] + 1[h]"}, "`lasts` may change: `remaining` is carried"),
        ({"lasts": "lasts remaining[j] * left[j]"}, "`lasts` may change: `remaining` is carried"),
        ({"lasts": "lasts max[i in Jobs] left[i]"}, "`lasts` may change: "),
        ({"lasts": ""}, "the placement has no duration of a job"),
        ({"due": "due factor * deadline[j]"}, "`due` may change: `factor` is carried"),
        ({"due": "due max(0[h], deadline[j] - clock)"}, "`due` may change: `clock` is carried"),
        ({"due": "due later[j]"}, "`due` may change: "),
        ({"weight": "weight factor * price"}, "`weight` may change: `factor` is carried"),
        ({"weight": "weight left[j] / 1[h] * price"}, "`weight` may change: `remaining` is carried"),
        ({"roles": "family floor(factor);"}, "`family` may change: `factor` is carried"),
    ],
)
def test_every_role_that_a_run_reads_is_looked_at(roles: dict[str, str], said: str) -> None:
    found = against(declared=FACTOR, block="carry factor = floor(now / 1[h]); carry clock = now;", **roles)
    assert any(one.startswith(said) for one in found), found


@pytest.mark.parametrize(
    "roles",
    [
        {"costs": "costs left[j] * price in $"},
        {"costs": "costs (if needs[j] > 1 then 2 else 1) * price in $/h"},
        {"lasts": "lasts (if needs[j] > 1 then 2 * left[j] else min(left[j], remaining[j] * 3[h]))"},
        {"lasts": "lasts -(-left[j]) / 2 + left[j] - 0.5 * left[j]"},
        {"due": "due deadline[j] - clock"},
        {"due": "due 2 * deadline[j] - 60[min] - clock"},
        {"due": "due 5[h]"},
        {"roles": "late later[j] / 1[h] * 1[$] in $;"},
    ],
)
def test_what_is_proved_to_stay_is_replayed(roles: dict[str, str]) -> None:
    assert against(block="carry clock = now;", **roles) == []


@pytest.mark.parametrize(
    ("carry", "declared"),
    [
        ("carry factor = floor(now / 1[h]);", FACTOR),
        ("carry factor = sum[j in Jobs] remaining[j];", FACTOR),
        ("carry factor = sum[j in Jobs] running[j];", FACTOR),
        ("carry own[j] = done[j];", "param own[Jobs] default 0; let factor = sum[j in Jobs] own[j];"),
        ("carry own[j] = requested[j];", "param own[Jobs] default 0; let factor = sum[j in Jobs] own[j];"),
        ("carry factor = sum[j in Jobs, n in Nodes] run[j, n];", FACTOR),
        ("carry factor = 7;", FACTOR),
        ("carry clock = now;", "param factor = clock / 1[h];"),
        ("carry clock = now;", "let factor = clock / 1[h];"),
    ],
)
def test_every_way_in_which_a_price_may_move_is_found(carry: str, declared: str) -> None:
    found = against(declared=declared, block=carry, costs="costs factor * price in $/h")
    assert any(one.startswith("`costs` may change: ") for one in found), found


@pytest.mark.quick(7)
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"declared": "check: count(Jobs) >= 2;"}, "the check `count(Jobs) >= 2` may fail"),
        ({"declared": "check: clock <= 3[h];", "block": "carry clock = now;"}, "the check `clock <= 3[h]` may fail"),
        ({"declared": "param f >= 0 <= 2 default 0;", "block": "carry f = now / 1[h];"}, "`f` is carried and may get"),
        ({"declared": "param f integer default 0;", "block": "carry f = now / 1[h];"}, "`f` is carried and may get"),
        ({"declared": "param g <= 1 = clock / 1[h];", "block": "carry clock = now;"}, "`g` may violate its bounds"),
        ({"declared": "param g >= 2 = count(Jobs);"}, "`g` may violate its bounds"),
        ({"declared": "param g = 1 / (clock - 2[h]) * 1[h];", "block": "carry clock = now;"}, "`1 / (clock - 2[h])`"),
        ({"declared": "param f default 0;", "block": "carry f = 1 / (now / 1[h] - 2);"}, "`1 / (now / 1[h] - 2)` may"),
        ({"declared": "param g = tariff[floor(clock / 1[h])] / 1[$/h];", "block": "carry clock = now;"}, "`tariff["),
        ({"declared": "param rest[Jobs] > 0.5 <= 1 default 1;", "block": "carry rest[j] = remaining[j];"}, "`rest` is"),
        ({"declared": "set Late = { j : j in Jobs where later[j] < 9[h] }; param g = max[j in Late] length[j] / 1[h];",
          "block": "carry clock = now;"}, "`max[j in Late] length[j]"),
    ],
)  # fmt: skip
def test_data_that_a_later_plan_may_refuse_are_no_replay(more: dict[str, str], said: str) -> None:
    found = against(**more)
    assert any(one.startswith(said) for one in found), found


def test_bounds_that_every_plan_keeps_are_no_reason() -> None:
    assert against(declared="param g[j in Jobs] in h >= 0 = remaining[j] * length[j];") == []
    assert against(declared="check: sum[h in Hours] tariff[h] >= 0[$/h]; check[j in Jobs]: length[j] > 0[h];") == []
    assert against(declared="param mean = sum[j in Jobs] needs[j];") == []


def test_where_decisions_exist_is_looked_at_for_jobs_that_run_too() -> None:
    (found,) = against(where="where remaining[j] > 0.5")
    assert found.startswith("the index set of `run` may change: `remaining` is carried")


@pytest.mark.parametrize("line", ["remember needs = 1;", "again after 1[h];"])
def test_policies_that_remember_or_want_plans_are_planned_at_every_event(line: str) -> None:
    assert any(one.startswith("the policy has a line") for one in against(policy=line))


def test_a_block_has_no_line_that_is_not_looked_at() -> None:
    lines = (
        "work 2;", "speed 1[1/h];", "ends at length[j] / 1[h];", "stretch 2;", "on start delay 1[h];", "charge nodes;",
        "outage m in Nodes every 50[h] lasting 1[h];", "charge extra[j in Jobs] in $/h = 1[$/h];",
        "charge jobs; charge extra[j in Jobs] in $/h = 1[$/h];",
    )  # fmt: skip
    for line in lines:
        assert any("the run has `" in one for one in against(block=line)), line
    assert against(block="charge jobs; fallback Queue;") == []
