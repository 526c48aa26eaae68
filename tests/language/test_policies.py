"""Policies: their checked form after inheritance, and every line that does not fit the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusched_dsl.language.blocks.blocks import check_blocks
from gpusched_dsl.language.blocks.policies import rule_table as rules
from gpusched_dsl.language.blocks.policies.policy import check_policy
from gpusched_dsl.language.checked import Constant, IndexRef, LetRef, Numeric
from gpusched_dsl.language.checked_policy import CheckedPolicy, at
from gpusched_dsl.language.checking import check_model
from gpusched_dsl.language.checking.walk import walk
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import Workspace, workspace_from_text

MODEL = """
model M {
  option rule in { soft, hard } default soft;
  set Jobs;
  set Nodes;
  set Types;
  set Configs = { (v, g) : v in Types, g in 1..gpus[v] };
  param gpus[Types] integer >= 1 default 2;
  param price[Types] in $/h default 1;
  param time[Jobs, Configs] in h;
  param deadline[Jobs] in h;
  param weight[Jobs] in $/h default 1;
  let spare[j in Jobs] in h = deadline[j] - 1[h];
  var run[Jobs, Nodes, Configs] binary;
  var delay in h >= 0;
  minimize total in $ {
    rent: sum[j in Jobs, n in Nodes, (v, g) in Configs] price[v] * time[j, v, g] * run[j, n, v, g];
    lateness: 2[$/h] * delay;
  }
  when rule == hard { constraint on_time: delay <= 0[h]; }
  placement run[j, n, v, g] { job j; node n; node_type v; uses g of gpus[v]; lasts time[j, v, g]; }
}
model Wider extends M { param extra[Jobs] in h default 0; }
model Other { set Jobs; param deadline[Jobs] in h; var runs[Jobs] binary; placement runs[j] { job j; } }
model Unplaced { set Jobs; param deadline[Jobs] in h; var runs[Jobs] binary; }
model Nodal {
  set Jobs; set Nodes; set Types; param type[Nodes] within Types; param time[Jobs, Types] in h;
  var run[j in Jobs, n in Nodes, g in 1..4] binary;
  placement run[j, n, g] { job j; node n; node_type type[n]; lasts time[j, type[n]]; }
}
policy Base for M { order j in Jobs by deadline[j]; choose (v, g) in Configs by time[j, v, g]; place best_fit; }
policy Alone for Other { order j in Jobs by deadline[j]; place best_fit; }
"""
GREEDY = """
policy Greedy "most urgent first" for M {
  let pressure[j in Jobs] in h = min[(v, g) in Configs] time[j, v, g] - deadline[j];
  order     j in Jobs by pressure[j] descending, weight[j];
  choose    (v, g) in Configs where time[j, v, g] < deadline[j] by g * price[v] * time[j, v, g];
  otherwise (v, g) in Configs by time[j, v, g];
  place     best_fit, new_node exclusive, best_suboptimal, next_choice, first_suboptimal, wait, postpone;
  finish    smaller_type, grow by speedup, grow_by_one by speedup, expand_parts;
  keep      running;
}
policy Random extends Greedy {
  let pressure[j in Jobs] in h = -deadline[j];
  let shortest = 2;
  randomise order  swapping with probability 1 / (1 + weight[j] / 1[$/h]);
  randomise choose from max(shortest, ceil(0.2 * count[(v, g) in Configs where time[j, v, g] < deadline[j]]))
            by inverse cost;
  randomise place  from 2 by idle;
  repeat 1000 keep best total;
  improve 10 best rounds 2 with swap_tardy_costly(5), regroup_gpus;
  split max(1, ceil(count(Nodes) / 10)) controllers;
}
policy Deep extends Random {
  place best_fit, postpone;
  repeat 10 keep best first_end;
  improve 3 rounds all with swap_tardy_any;
}
"""


def read(text: str) -> Workspace:
    found = Diagnostics()
    workspace = workspace_from_text(MODEL + text, "test.gsm", found)
    assert not list(found)
    return workspace


def findings(text: str) -> list[Diagnostic]:
    found = Diagnostics()
    check_blocks(read(text), found, ())
    return list(found)


def wrong(text: str, code: str, at: str) -> Diagnostic:
    """The one finding, which has this code and underlines this text."""
    found = findings(text)
    assert [(d.code, d.primary.text if isinstance(d.primary, Span) else None) for d in found] == [(code, at)]
    return found[0]


def checked(text: str, name: str, model: str | None = None, **options: str) -> CheckedPolicy:
    workspace = read(text)
    found = Diagnostics()
    wanted = None if model is None else check_model(workspace, model, options, found)
    policy = check_policy(workspace, workspace.policies[name], found, wanted)
    assert list(found) == []
    assert policy is not None
    return policy


def test_sound_policies() -> None:
    assert findings(GREEDY) == []


# --- what comes of them ----------------------------------------------------------------------------------------------


def test_lines_of_a_policy() -> None:
    policy = checked(GREEDY, "Greedy")
    assert (policy.name, policy.doc, policy.span.text) == ("Greedy", "most urgent first", "Greedy")
    keys = [(k.value.span.text, k.descending) for k in policy.order.keys]
    assert keys == [("pressure[j]", True), ("weight[j]", False)]
    assert policy.choose is not None
    assert [c.span.text for c in policy.choose.indexing.conditions] == ["time[j, v, g] < deadline[j]"]
    assert [v.name for v in policy.choose.indexing.variables] == ["v", "g"]
    assert policy.choose.node_type is None
    job = policy.order.indexing.variables[0]
    (key,) = policy.choose.keys
    assert any(isinstance(p, IndexRef) and p.variable is job for p in walk(key.value))
    assert [r.text for r in policy.finish][1:3] == ["grow by speedup", "grow_by_one by speedup"]
    assert (policy.place[1].name, policy.place[1].modifiers, policy.place[1].text) == (
        "new_node",
        ("exclusive",),
        "new_node exclusive",
    )
    assert [r.text for r in policy.keep] == ["running"]
    assert (policy.repeat, policy.improve, policy.split, policy.draws) == (None, None, None, {})


def test_draws_repetitions_and_moves() -> None:
    policy = checked(GREEDY, "Random")
    assert {t: (d.odds, d.count is not None, d.probability is not None) for t, d in policy.draws.items()} == {
        "order": ("", False, True),
        "choose": ("inverse cost", True, False),
        "place": ("idle", True, False),
    }
    count = policy.draws["choose"].count
    assert count is not None
    job = policy.order.indexing.variables[0]
    assert any(isinstance(p, IndexRef) and p.variable is job for p in walk(count))
    assert isinstance(policy.repeat, Constant)
    assert (policy.repeat.value, policy.kept) == (1000, "total")
    assert isinstance(policy.rounds, Constant)
    assert (policy.rounds.value, policy.all_rounds) == (2, False)
    assert [(m.text, len(m.arguments)) for m in policy.moves] == [("swap_tardy_costly", 1), ("regroup_gpus", 0)]
    assert policy.split is not None
    deep = checked(GREEDY, "Deep")
    assert (deep.rounds, deep.all_rounds, deep.kept) == (None, True, "first_end")


def test_lines_and_lets_are_inherited_and_replaced() -> None:
    policy = checked(GREEDY, "Deep")
    assert [r.text for r in policy.place] == ["best_fit", "postpone"]
    assert policy.lines["place"].policy == policy.lines["repeat"].policy == "Deep"
    assert policy.lines["order"].policy == policy.lines["keep"].policy == "Greedy"
    assert policy.lines["randomise order"].policy == policy.lines["let pressure"].policy == "Random"
    assert policy.lines["randomise place"].span.text == "randomise place  from 2 by idle;"
    # A key that is inherited reads the `let` that took the place of its own.
    key = policy.order.keys[0].value
    assert isinstance(key, LetRef)
    assert policy.model.lets["pressure"].value.span.text == "-deadline[j]"
    assert set(policy.lets) == {"pressure", "shortest"}
    assert {"pressure", "shortest", "spare", "now", "remaining"} == set(policy.model.lets)


def test_lets_may_stand_in_any_order() -> None:
    policy = checked("policy Q extends Base { let a = b + 1; let b = 2; improve a best with faster_type; }", "Q")
    assert list(policy.lets) == ["b", "a"]


def test_a_let_that_an_inherited_one_reads_may_be_new() -> None:
    text = "policy P extends Base { let a = b; let b = 1; } policy Q extends P { let b = c + 1; let c = 4; }"
    assert list(checked(text, "Q").lets) == ["c", "b", "a"]


def test_a_policy_holds_for_models_that_extend_its_own() -> None:
    text = GREEDY + "policy Wide for Wider extends Greedy { order j in Jobs by extra[j]; }"
    assert checked(text, "Greedy", "Wider").model.name == "Wider"
    assert checked(text, "Wide").model.name == "Wider"
    assert checked(text, "Greedy", "M", rule="hard").model.constraints.keys() == {"on_time"}
    assert checked(text, "Greedy").model.constraints.keys() == set()


@pytest.mark.parametrize(("name", "model"), [("Base", "Other"), ("Wide", "M")])
def test_and_for_no_others(name: str, model: str) -> None:
    workspace = read("policy Wide for Wider extends Base { order j in Jobs by extra[j]; }")
    found = Diagnostics()
    wanted = check_model(workspace, model, {}, found)
    assert check_policy(workspace, workspace.policies[name], found, wanted) is None
    assert [d.code for d in found] == ["GSM1616"]


def test_the_type_of_a_node_may_be_a_name_of_its_own() -> None:
    text = "policy T for Nodal { order j in Jobs by 1; choose t in Types, g in 1..4 by time[j, t]; place best_fit; }"
    choose = checked(text, "T").choose
    assert choose is not None
    assert choose.node_type is not None
    assert (choose.node_type.name, choose.node_type is choose.indexing.variables[0]) == ("t", True)


def test_without_choices_order_and_place_are_enough() -> None:
    choose = checked("", "Alone").choose
    assert choose is not None
    assert (choose.indexing.iterators, choose.keys) == ((), ())


# --- the time of the decision ----------------------------------------------------------------------------------------


def test_now_and_remaining_are_lets() -> None:
    text = "policy Q extends Base { order j in Jobs by (deadline[j] - now) * remaining[j]; }"
    policy = checked(text, "Q")
    now, left = policy.model.lets["now"].value, policy.model.lets["remaining"].value
    assert isinstance(now, Constant)
    assert isinstance(left, Constant)
    assert isinstance(now.type, Numeric)
    assert (now.value, now.type.unit.text, left.value) == (0, "h", 1)
    later = at(policy, 2.5).model.lets["now"].value
    assert isinstance(later, Constant)
    assert later.value == 2.5
    assert policy.model.lets["now"].value is now


def test_a_now_of_ones_own_stays() -> None:
    policy = checked("policy Q extends Base { let now in h = 3[h]; order j in Jobs by deadline[j] - now; }", "Q")
    assert at(policy, 7) is policy
    assert "now" in policy.lets


# --- what does not fit -----------------------------------------------------------------------------------------------


@pytest.mark.quick(45)
@pytest.mark.parametrize(
    ("rule", "code", "at"),
    [
        ("order j in Job by deadline[j];", "GSM1101", "Job"),
        ("order j in Jobs by dedline[j];", "GSM1101", "dedline"),
        ('order j in Jobs by "x";', "GSM1204", '"x"'),
        ("order j in Jobs by delay;", "GSM1211", "delay"),
        ("order j in Jobs by deadline[j] + weight[j];", "GSM1302", "weight[j]"),
        ("order k in Jobs by deadline[k];", "GSM1619", "k"),
        ("order j in Nodes by 1;", "GSM1619", "j"),
        ("order j in Jobs, v in Types by deadline[j];", "GSM1619", "v"),
        ("order Jobs by 1;", "GSM1619", "Jobs"),
        ("choose (v, g) in Configs by time[k, v, g];", "GSM1101", "k"),
        ("choose (t, g) in Configs by time[j, t, g];", "GSM1619", "t"),
        ("choose v in Nodes, g in 1..2 by g;", "GSM1619", "v"),
        ("choose (v, g) in Configs, n in Nodes by time[j, v, g];", "GSM1619", "n"),
        ("choose v in Types by price[v];", "GSM1630", "v in Types"),
        ("otherwise g in 1..2 by g;", "GSM1630", "g in 1..2"),
        ("order j in Jobs by 1; order j in Jobs by 2;", "GSM1613", "order j in Jobs by 2;"),
        ("place best_fitt;", "GSM1614", "best_fitt"),
        ("place smaller_type;", "GSM1614", "smaller_type"),
        ("place best_fit exclusive;", "GSM1614", "exclusive"),
        ("place best_fit(3);", "GSM1614", "3"),
        ("finish grow by cost;", "GSM1614", "cost"),
        ("finish grow;", "GSM1614", "grow"),
        ("keep waiting;", "GSM1614", "waiting"),
        ("improve 10 best with swap_all(5);", "GSM1614", "swap_all"),
        ("improve 10 best with faster_type(5, 6);", "GSM1614", "6"),
        ("improve 10 best with faster_type(2.5);", "GSM1207", "2.5"),
        ("improve 10[h] best with faster_type;", "GSM1302", "10[h]"),
        ("improve 10 best rounds 1.5 with faster_type;", "GSM1207", "1.5"),
        ("repeat 10.5 keep best total;", "GSM1207", "10.5"),
        ("repeat 10 keep worst total;", "GSM1614", "worst total"),
        ("repeat 10 keep best totl;", "GSM1101", "totl"),
        ("repeat 10 keep best delay;", "GSM1101", "delay"),
        ("repeat 10 keep best total, best rent;", "GSM1614", "best rent"),
        ("randomise choose from 3 by inverse price;", "GSM1615", "price"),
        ("randomise choose from 3 by inverse;", "GSM1615", "inverse"),
        ("randomise choose from 3 by inverse inverse cost;", "GSM1615", "inverse inverse cost"),
        ("randomise choose from 3 by idle;", "GSM1615", "idle"),
        ("randomise place from 3 by cost;", "GSM1615", "cost"),
        ("randomise order swapping with probability 0.3 by cost;", "GSM1615", "cost"),
        ("randomise choose from 3[h] by cost;", "GSM1302", "3[h]"),
        ("randomise choose from g by cost;", "GSM1101", "g"),
        ("randomise choose swapping with probability 0.5;", "GSM1631", "0.5"),
        ("randomise order from 3;", "GSM1631", "3"),
        ("randomise order;", "GSM1631", "order"),
        ("randomise place by idle;", "GSM1631", "place"),
        ("split 1.5 controllers;", "GSM1207", "1.5"),
        ("split delay controllers;", "GSM1302", "delay"),
        ("let price = 3;", "GSM1103", "price"),
        ("let a = 1; let a = 2;", "GSM1103", "a"),
        ("let a = delay;", "GSM1211", "delay"),
    ],
)
def test_wrong_policies(rule: str, code: str, at: str) -> None:
    wrong(f"policy Bad extends Base {{ {rule} }}", code, at)


def test_a_circle_of_lets() -> None:
    assert [d.code for d in findings("policy Bad extends Base { let a = b; let b = a; }")] == ["GSM1407"]


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("policy A extends Bas { }", "GSM1610", "Bas"),
        ("policy A extends A { }", "GSM1611", "A"),
        ("policy A { }", "GSM1612", "A"),
        ("policy A for Mm { }", "GSM1107", "Mm"),
        ("policy A for Other extends Base { }", "GSM1616", "Other"),
        ("policy A for M { }", "GSM1617", "A"),
        ("policy A for Unplaced { order j in Jobs by deadline[j]; place best_fit; }", "GSM1618", "A"),
    ],
)
def test_wrong_policy_heads(text: str, code: str, at: str) -> None:
    wrong(text, code, at)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("", "`order`, `place`, `choose`"),
        ("order j in Jobs by 1; choose (v, g) in Configs by g;", "`place`"),
        ("order j in Jobs by 1; place best_fit; otherwise (v, g) in Configs by g;", "`choose`"),
        ("place best_fit; choose (v, g) in Configs by time[j, v, g];", "`order`"),
    ],
)
def test_lines_that_are_missing_are_told_together(lines: str, told: str) -> None:
    finding = wrong(f"policy A for M {{ {lines} }}", "GSM1617", "A")
    assert finding.message.endswith(f" lacks the line {told}")


@pytest.mark.parametrize(
    "text",
    [
        "policy Q extends Base { place best_fit new ( ; }",
        "policy Q for M { order j in Jobs by 1; choose (v, g) in Configs by g; place ; }",
        "model N { set J; var x[J] binary; placement x[j] { job j } }"
        "policy Q for N { order j in J by 1; place best_fit; }",
        "model N { param a in ; var x binary; placement x { } } policy Q for N { repeat a keep best total; }",
    ],
)
def test_what_could_not_be_read_is_not_missed(text: str) -> None:
    found = Diagnostics()
    workspace = workspace_from_text(MODEL + text, "test.gsm", found)
    before = len(found)
    assert before > 0
    check_blocks(workspace, found, ())
    assert [d.code for d in found][before:] == []


# --- the tables of rules ---------------------------------------------------------------------------------------------


def test_rules_of_other_packages_are_known_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "rules_of_packages", lambda: ("best_fit", "next_door", "swap_far by distance"))
    text = "policy Q extends Base { place next_door(3), best_fit; improve 2 with swap_far(0.5) by distance; }"
    policy = checked(text, "Q")
    assert [(r.text, len(r.arguments)) for r in (*policy.place, *policy.moves)] == [
        ("next_door", 1),
        ("best_fit", 0),
        ("swap_far by distance", 1),
    ]
    told = wrong("policy Q extends Base { place next_dor; }", "GSM1614", "next_dor")
    assert told.help == "did you mean `next_door`?"
    wrong("policy Q extends Base { keep next_door; }", "GSM1614", "next_door")


def test_names_of_added_rules_are_read_without_importing_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = tmp_path / "rules_of_others-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: rules-of-others\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{rules.GROUP}]\nnext_door = nowhere:rule\nswap  far = nowhere:move\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    rules.rules_of_packages.cache_clear()
    assert {"next_door", "swap far"} <= set(rules.rules_of_packages())
    monkeypatch.undo()
    rules.rules_of_packages.cache_clear()


def test_an_unknown_rule_is_told_with_those_that_are_known() -> None:
    told = wrong("policy Q extends Base { place nowhere_at_all; }", "GSM1614", "nowhere_at_all")
    assert told.help is not None
    assert "`new_node exclusive`" in told.help
    assert "`next_choice`" in told.help
