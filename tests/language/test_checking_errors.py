"""One wrong model, or several, for each code of names, types, units and declarations: code, underlined text, help."""

import pytest
from found_codes import message_values

from gpusched_dsl.language.checking import check_workspace
from gpusched_dsl.language.diagnostics.codes import CODES
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.workspace import workspace_from_text

DECLARED = """
  set Jobs; set Nodes; set Slots ordered; set Types;
  param gpus[Types] integer >= 1;
  set Configs = { (v, g) : v in Types, g in 1..gpus[v] };
  param due[Jobs] in h;
  param price[Types] in $/h;
  param size[Jobs] integer;
  param tag[Jobs] symbol;
  param n integer;
  param ratio;
  param area in h^2;
  var run[Jobs, Nodes, Configs] binary;
  var on[Nodes, Slots] binary;
  var late[Jobs] in h >= 0;
  var level[1..n] >= 0;
  var x >= 0; var y >= 0;
  random wait in h;
"""


def findings(text: str) -> list[Diagnostic]:
    diagnostics = Diagnostics()
    workspace = workspace_from_text(text, "m.gsm", diagnostics)
    check_workspace(workspace, diagnostics)
    return list(diagnostics)


def in_model(statements: str) -> list[Diagnostic]:
    return findings(f"model M {{ {DECLARED} {statements} }}")


def underlined(diagnostic: Diagnostic) -> str:
    assert isinstance(diagnostic.primary, Span)
    return diagnostic.primary.text


def places(diagnostic: Diagnostic) -> list[str]:
    return [label.place.text for label in diagnostic.secondary if isinstance(label.place, Span)]


WRONG = [
    # 11xx names
    ("GSM1101", "deu", "constraint c[j in Jobs]: late[j] <= deu[j];"),
    ("GSM1101", "lat", "constraint c: lat <= x;"),
    ("GSM1101", "Job", "constraint c[j in Job]: x >= 1;"),
    ("GSM1101", "n1", "set Own = { n1 };"),
    ("GSM1101", "ran", "placement ran[j, k, v, g] { job j; }"),
    ("GSM1102", "sqr", "constraint c: x <= sqr(ratio);"),
    ("GSM1102", "due", "constraint c[j in Jobs]: late[j] <= due(j);"),
    ("GSM1103", "due", "param due;"),
    ("GSM1103", "late", "constraint late: x >= 1;"),
    ("GSM1103", "b", "minimize a in h { b: x * 1[h]; b: y * 1[h]; }"),
    ("GSM1104", "n", "constraint c[n in Nodes]: x >= 1;"),
    ("GSM1104", "later", "constraint c[later in Nodes]: x >= 1; param later;"),
    ("GSM1104", "x", "placement run[j, x, v, g] { job j; }"),
    ("GSM1105", "j", "constraint c[j in Jobs, j in Nodes]: x >= 1;"),
    ("GSM1105", "j", "constraint c[j in Jobs]: x >= sum[j in Jobs] 1;"),
    ("GSM1105", "j", "placement run[j, j, v, g] { job j; }"),
    ("GSM1106", "Jobs", "constraint c: x <= Jobs;"),
    ("GSM1106", "a", "constraint a: x >= 1; constraint b: x >= a;"),
    ("GSM1106", "n", "constraint c[k in n]: x >= 1;"),
    ("GSM1106", "j", "constraint c[j in Jobs]: x >= j[1];"),
    ("GSM1106", "k", "constraint c[k in Nodes]: x >= count(k);"),
    ("GSM1106", "1..3", "constraint c: x <= 1..3;"),
    ("GSM1106", "x + 1", "constraint c[k in x + 1]: x >= 1;"),
    ("GSM1106", "rule", "option rule in { a, b } default a; constraint c: x >= rule;"),
    # 12xx types
    ("GSM1201", "due", "constraint c[j in Jobs]: late[j] <= due;"),
    ("GSM1201", "j, k", "constraint c[j in Jobs, k in Nodes]: late[j, k] <= 1[h];"),
    ("GSM1201", "j, k, v", "constraint c[j in Jobs, k in Nodes, v in Types]: run[j, k, v] <= 1;"),
    ("GSM1201", "1", "constraint c: x[1] <= 1;"),
    ("GSM1201", "j, k", "placement run[j, k] { job j; }"),
    ("GSM1202", "c", "constraint e[c in Configs]: x >= 1;"),
    ("GSM1202", "a, b", "constraint e[(a, b) in Jobs]: x >= 1;"),
    ("GSM1202", '("a", "b")', 'constraint e: x >= 1 or ("a", "b") in Jobs;'),
    ("GSM1203", "k", "constraint c[k in Nodes]: late[k] <= 1[h];"),
    ("GSM1203", "j", "constraint c[j in Jobs]: level[j] <= 1;"),
    ("GSM1203", '"a"', 'constraint c: level["a"] <= 1;'),
    ("GSM1203", "k", "constraint c[j in Jobs, k in Nodes where j == k]: x >= 1;"),
    ("GSM1203", "j", "constraint c[j in Jobs where j in Nodes]: x >= 1;"),
    ("GSM1203", "k", "set Few within Jobs = { k in Nodes where 1 <= 2 };"),
    ("GSM1203", "j", "param home[j in Jobs] within Nodes = j;"),
    ("GSM1204", "j", "constraint c[j in Jobs]: x >= 2 * j;"),
    ("GSM1204", '"a"', 'constraint c: x >= min(1, "a");'),
    ("GSM1204", "i", 'constraint c[h in Slots, i in Slots]: on["n", h + i] >= 1;'),
    ("GSM1205", "x", "constraint c: x => y >= 1;"),
    ("GSM1205", "size[j]", "constraint c[j in Jobs where size[j]]: x >= 1;"),
    ("GSM1206", "tag[j]", "constraint c[j in Jobs where tag[j] == 3]: x >= 1;"),
    ("GSM1206", 'tag[j] < "b"', 'constraint c[j in Jobs where tag[j] < "b"]: x >= 1;'),
    ("GSM1206", "ratio", "constraint c[j in Jobs where j == ratio]: x >= 1;"),
    ("GSM1206", "3", "param name symbol = 3;"),
    ("GSM1207", "ratio", "set Upto = 1..ratio;"),
    ("GSM1207", "n / 2", "param half integer = n / 2;"),
    ("GSM1207", "1.5", "param half integer default 1.5;"),
    ("GSM1207", "ratio", 'constraint c[h in Slots]: on["n", h - ratio] >= 1;'),
    ("GSM1207", "ratio", "constraint c: level[ratio] >= 1;"),
    ("GSM1208", "Nodes", "set Both = Jobs union Nodes;"),
    ("GSM1208", "Configs", "set Both = Jobs union Configs;"),
    ("GSM1208", "1..3", "set Few within Jobs = 1..3;"),
    ("GSM1208", "Configs", "param c[Jobs] within Configs;"),
    ("GSM1209", "j - 1", "constraint c[j in Jobs]: late[j - 1] <= 1[h];"),
    ("GSM1209", "next(j)", "constraint c[j in Jobs]: late[next(j)] <= 1[h];"),
    ("GSM1209", "i < j", "constraint c[i in Jobs, j in Jobs where i < j]: x >= 1;"),
    ("GSM1209", "Jobs", "constraint c: late[first(Jobs)] <= 1[h];"),
    ("GSM1210", "h-1", "constraint c[k in Nodes, h in Slots]: on[k, h-1] <= on[k, h];"),
    ("GSM1210", "next(h)", "constraint c[k in Nodes, h in Slots]: on[k, next(h)] <= on[k, h];"),
    ("GSM1210", "k+1", "constraint c[k in 1..n]: level[k+1] >= level[k];"),
    ("GSM1210", "k - 1", "constraint c[k in 1..n]: level[k - 1] <= level[k];"),
    ("GSM1210", "0", "constraint c: level[0] == 0;"),
    ("GSM1210", "g+1", "constraint c[j in Jobs, k in Nodes, (v, g) in Configs]: run[j, k, v, g+1] <= 1;"),
    ("GSM1211", "x", "param twice = 2 * x;"),
    ("GSM1211", "x", "param twice default x;"),
    ("GSM1211", "x", "var z <= x;"),
    ("GSM1211", "x", "constraint c[j in Jobs where x >= 1]: y >= 1;"),
    ("GSM1211", "x", "check: x >= 1;"),
    ("GSM1211", "double", "let double = 2 * x; param p = double;"),
    ("GSM1211", "x", "constraint c: y <= argmin[k in 1..3] x * k;"),
    ("GSM1211", "x", "set S = { x };"),
    ("GSM1207", "level[1]", "constraint c: level[level[1]] >= 1;"),
    ("GSM1212", "floor(1, 2)", "constraint c: x >= floor(1, 2);"),
    ("GSM1212", "min()", "constraint c: x >= min();"),
    ("GSM1212", "sum", "constraint c: x >= sum(1, 2);"),
    ("GSM1212", "[j in Jobs, k in Nodes]", "param p = argmin[j in Jobs, k in Nodes] due[j];"),
    ("GSM1212", "Configs", "constraint c: x >= first(Configs);"),
    ("GSM1212", "a = 1", "constraint c: x >= abs(a = 1);"),
    ("GSM1212", "tag[j]", "constraint c[j in Jobs]: x >= prev(tag[j]);"),
    ("GSM1213", '"a"', 'set Own = { ("a", 1) };'),
    ("GSM1213", "{}", "constraint c[j in {}]: x >= 1;"),
    ("GSM1214", '"b"', 'constraint c: x >= (if n > 1 then 1 else "b");'),
    ("GSM1214", "j", "constraint c[i in Nodes, j in Jobs]: on[if n > 1 then i else j, first(Slots)] >= 1;"),
    ("GSM1215", "wait", "constraint c: x * 1[h] >= wait;"),
    ("GSM1216", "(1, 2)", "constraint c: x >= (1, 2);"),
    ("GSM1217", "x <= y >= 1", "constraint c: x <= y >= 1;"),
    ("GSM1217", "1 != n != 2", "check: 1 != n != 2;"),
    ("GSM1218", "x + y", "constraint c: x + y;"),
    ("GSM1219", "n >= 1", "constraint c: n >= 1;"),
    ("GSM1220", "x < y", "constraint c: x < y;"),
    ("GSM1220", "x != y", "constraint c: n >= 1 => x != y;"),
    ("GSM1220", "x > 1", "let big = if x > 1 then 1 else 0;"),
    ("GSM1221", "1", "constraint c: y <= 1 => 1;"),
    ("GSM1222", "due[j]", "constraint c: no_overlap[j in Jobs] due[j];"),
    # 13xx units
    ("GSM1301", "hr", "param wait_time in hr;"),
    ("GSM1301", "hr", "constraint c: x * 1[hr] >= 2[h];"),
    ("GSM1302", "price[v]", "constraint c[j in Jobs, v in Types]: late[j] <= due[j] + price[v];"),
    ("GSM1302", "2[$]", "constraint c[j in Jobs]: late[j] <= 2[$];"),
    ("GSM1302", "late[j]", "constraint c[j in Jobs]: x <= late[j];"),
    ("GSM1302", "sum[j in Jobs] late[j]", "minimize total in $ { a: sum[j in Jobs] late[j]; }"),
    ("GSM1302", "due[j]", "param cost[j in Jobs] in $ = due[j];"),
    ("GSM1302", "ratio", "constraint c: x * 1[h] >= ratio;"),
    ("GSM1302", "2[week^99]", "constraint c: 1[ns^99] * x <= 2[week^99];"),
    ("GSM1303", "1", "constraint c[j in Jobs]: late[j] + 1 >= 2[h];"),
    ("GSM1303", "3", "constraint c[j in Jobs]: 3 <= late[j];"),
    ("GSM1303", "3", "param wait_time[j in Jobs] in h = due[j] + 3;"),
    ("GSM1303", "3", "constraint c[j in Jobs]: late[j] <= min(due[j], 3);"),
    ("GSM1305", "due[j]", "constraint c[j in Jobs]: x >= exp(due[j]);"),
    ("GSM1305", "due[j]", "constraint c[j in Jobs]: x >= 2 ^ due[j];"),
    ("GSM1305", "due[j]", "constraint c: x >= prod[j in Jobs] due[j];"),
    ("GSM1306", "ratio", "constraint c[j in Jobs]: x * 1[h] >= late[j] ^ ratio;"),
    ("GSM1306", "0.5", "constraint c: x * 1[h] >= area ^ 0.5;"),
    ("GSM1306", "99", "constraint c: x * 1[h] >= 1[h^99] ^ 99;"),
    ("GSM1306", "late[j]", "constraint c[j in Jobs]: x >= sqrt(late[j]);"),
    ("GSM1307", "h", "var flag binary in h;"),
    ("GSM1307", "$", "param name in $ symbol;"),
    ("GSM1307", "h", "param home[Jobs] in h within Nodes;"),
    # 14xx declarations
    ("GSM1404", "rul", "option rule in { a, b } default a; when rul == a { constraint c: x >= 1; }"),
    ("GSM1405", "c", "option rule in { a, b } default c;"),
    ("GSM1405", "c", "option rule in { a, b } default a start from c;"),
    ("GSM1405", "forse", "option rule in { paper, force } default paper; when rule == forse { check: n >= 1; }"),
    ("GSM1406", "a", "option rule in { a, b, a } default a;"),
    ("GSM1406", "q", "option r in { a, b } default a; when r == a { option q in { c, d } default c; }"),
    ("GSM1407", "b", "param a = b + 1; param b = a;"),
    ("GSM1407", "acc", "param acc[h in Slots] <= (acc[h-1] else 0) + 1;"),
    ("GSM1407", "high", "param low <= high; param high >= low;"),
    ("GSM1407", "good", "set Some = { j in Jobs where good[j] >= 1 }; param good[Some];"),
    ("GSM1408", "3", "param p default 3 = 2;"),
    ("GSM1408", "Nodes", "param p[Jobs] integer within Nodes;"),
    ("GSM1408", "size[j] > 1", "let l[j in Jobs where size[j] > 1] = 2;"),
    ("GSM1408", "Few", "set Few = { j in Jobs where size[j] > 1 } identical;"),
    ("GSM1409", "second", "minimize first_goal in h: x * 1[h]; minimize second in h: y * 1[h];"),
    ("GSM1409", "only", "then minimize only: x;"),
    ("GSM1411", "< 3", "var z < 3;"),
    ("GSM1411", ">= 3", "param p symbol >= 3;"),
    ("GSM1411", "!= 3", "param p != 3;"),
    ("GSM1412", "jobb", "placement run[j, k, v, g] { jobb j; }"),
    ("GSM1413", "late", "placement late[j] { job j; }"),
    ("GSM1413", "job", "placement run[j, k, v, g] { job j; job j; }"),
    ("GSM1413", "due[j]", "placement run[j, k, v, g] { job due[j]; }"),
    ("GSM1413", "price[v]", "placement run[j, k, v, g] { lasts price[v]; }"),
    ("GSM1413", "due[j]", "placement run[j, k, v, g] { costs due[j]; }"),
    ("GSM1413", "2[EUR/h]", "placement run[j, k, v, g] { weight 1[$/h]; costs 2[EUR/h]; }"),
    ("GSM1413", "3", "placement run[j, k, v, g] { job j of 3; }"),
    ("GSM1413", "h", "placement run[j, k, v, g] { job j in h; }"),
    ("GSM1414", "on", "placement run[j, k, v, g] { job j; } placement on[k, h] { node k; }"),
    ("GSM1415", "size", "set Racks identical by size;"),
    ("GSM1416", "exponentia", "random r ~ exponentia(mean = 3);"),
    ("GSM1420", "rack", "placement run[j, k, v, g] { job j; node k; rack 1; }"),
    ("GSM1420", "across_racks", "placement run[j, k, v, g] { job j; node k; workers size[j]; across_racks 2; }"),
    ("GSM1420", "workers", "placement run[j, k, v, g] { job j; workers size[j]; }"),
    ("GSM1420", "node_type", "placement run[j, k, v, g] { job j; node k; node_type v; workers size[j]; }"),
    ("GSM1420", "ratio", "placement run[j, k, v, g] { job j; node k; workers ratio; }"),
    ("GSM1413", "late", "placement late[j] { job j; workers size[j]; }"),
    (
        "GSM1470",
        "on_time",
        "param on_time[h in Slots] = 1[h] * (off[h-1] else 1); param off[h in Slots] = 2 * on_time[h];",
    ),
    ("GSM1101", "Job", "decompose by Job;"),
    ("GSM1106", "late", "decompose by late;"),
    ("GSM1106", "n", "decompose by n;"),
    ("GSM1417", "Configs", "decompose by Configs;"),
    ("GSM1417", "Fast", "set Fast within Types; decompose by Fast;"),
    ("GSM1417", "Levels", "set Levels = 1..n; decompose by Levels;"),
    ("GSM1418", "Nodes", "decompose by Jobs; decompose by Nodes;"),
    ("GSM1419", "Jobs", "var before[i in Jobs, j in Jobs] binary; decompose by Jobs;"),
    ("GSM1419", "Slots", "set Peak within Slots; var w[Slots, Peak] >= 0; decompose by Slots;"),
    ("GSM1419", "Idle", "set Idle; decompose by Idle;"),
]


@pytest.mark.quick(154)
@pytest.mark.parametrize(("code", "text", "statements"), WRONG, ids=[f"{c}-{t}" for c, t, _ in WRONG])
def test_wrong_declaration(code: str, text: str, statements: str) -> None:
    found = in_model(statements)
    assert [(d.code, underlined(d)) for d in found] == [(code, text)]


def test_every_code_of_the_checker_has_a_wrong_model() -> None:
    elsewhere = {"GSM1107", "GSM1304", "GSM1401", "GSM1402", "GSM1403", "GSM1410", "GSM1421"}
    mine = {code for code in CODES if code[3:5] in ("11", "12", "13", "14")}
    assert mine - elsewhere == {code for code, _, _ in WRONG}


def test_the_declarations_alone_are_right() -> None:
    assert in_model("") == []


# --- what else is said -----------------------------------------------------------------------------------------------


def only(statements: str) -> Diagnostic:
    [found] = in_model(statements)
    return found


def test_near_names_are_offered() -> None:
    assert only("constraint c[j in Jobs]: late[j] <= deu[j];").help == "did you mean `due`?"
    assert only("constraint c[j in Job]: x >= 1;").help == "did you mean `Jobs`?"
    assert only("constraint c: x >= sqtr(ratio);").help == "did you mean `sqrt`?"


def test_a_label_without_quotes_is_explained() -> None:
    assert '"n1"' in (only("set Own = { n1 };").help or "")


def test_an_index_that_was_not_named_is_explained() -> None:
    assert "`j in Jobs`" in (only("param twice[Jobs] in h = 2 * due[j];").help or "")


def test_the_wrong_index_shows_the_position_and_the_iterator() -> None:
    found = only("constraint c[k in Nodes]: late[k] <= 1[h];")
    assert (found.code, message_values(found.message)) == ("GSM1203", ("late", "Jobs", "k", "Nodes"))
    assert places(found) == ["Jobs", "k"]


def test_arity_shows_the_pattern_of_a_tuple_set() -> None:
    found = only("constraint c[j in Jobs, v in Types]: run[j, v] <= 1;")
    assert found.message == "`run` has 4 subscripts, 2 given"
    assert found.help == "write it as `run[j, n, v, g]`"
    assert places(found) == ["run"]


def test_a_tuple_set_iterated_by_one_name_is_corrected() -> None:
    assert only("constraint e[c in Configs]: x >= 1;").help == "write `(v, g) in Configs`"


def test_disagreeing_units_show_both_sides_and_where_they_come_from() -> None:
    found = only("constraint c[j in Jobs, v in Types]: due[j] + price[v] <= late[j];")
    assert (found.code, message_values(found.label)) == ("GSM1302", ("$/h",))
    assert places(found) == ["due[j]", "price", "due"]
    assert [label.message for label in found.secondary] == [
        "this is in `h`",
        "`price` is declared in `$/h`",
        "`due` is declared in `h`",
    ]


def test_a_number_without_a_unit_is_told_how_to_get_one() -> None:
    assert only("constraint c[j in Jobs]: late[j] + 1 >= 2[h];").help == "write `1[h]`"


def test_a_shift_out_of_an_ordered_set_names_an_example() -> None:
    found = only("constraint c[k in Nodes, h in Slots]: on[k, h-2] <= on[k, h];")
    assert (found.code, message_values(found.label)) == ("GSM1210", ("2", "Slots", "h-2"))
    assert "else" in (found.help or "")


def test_a_range_left_by_a_subscript_names_an_example() -> None:
    found = only("constraint c[k in 1..n]: level[k+1] >= level[k];")
    assert found.label == "at `k = n`, `k+1` is n + 1"
    assert places(found) == ["1..n"]


def test_a_circle_shows_every_step() -> None:
    found = only("param a = b + 1; param b = 2 * c; param c = a;")
    assert (found.code, message_values(found.message)) == ("GSM1407", ("a", "b", "c"))
    assert found.label == "`a` needs `b`"
    assert [label.message for label in found.secondary] == ["`b` needs `c`", "`c` needs `a`"]
    assert places(found) == ["c", "a"]
    assert found.notes == ("the cycle is `a` -> `b` -> `c` -> `a`",)


def test_a_variable_in_the_data_shows_its_declaration() -> None:
    found = only("param twice = 2 * x;")
    assert (found.code, message_values(found.message)) == ("GSM1211", ("twice",))
    assert places(found) == ["x"]


def test_a_wrong_part_does_not_hide_others_and_causes_nothing_more() -> None:
    found = in_model("""
      param a = nope + 1;
      constraint c[j in Jobs]: a * late[j] + deu[j] <= price[j] + foo(x);
      constraint d[k in Knots]: on[k, first(Slots)] >= a;
    """)
    assert [(d.code, underlined(d)) for d in found] == [
        ("GSM1101", "nope"),
        ("GSM1101", "deu"),
        ("GSM1203", "j"),
        ("GSM1102", "foo"),
        ("GSM1101", "Knots"),
    ]


def test_time_per_thing_against_time_is_a_warning() -> None:
    [found] = in_model("""
      param rate in request/min > 0; param limit in s;
      constraint c: x / rate <= limit;
    """)
    assert found.code == "GSM1304"
    assert found.severity == "warning"
    assert underlined(found) == "limit"
    assert "1[request]" in (found.help or "")


@pytest.mark.quick(6)
@pytest.mark.parametrize(
    "statements",
    [
        "constraint c[k in 1..n where k < n]: level[k+1] >= level[k];",
        "constraint c[k in 2..n]: level[k-1] <= level[k];",
        "constraint c[k in 1..n-1]: level[k+1] >= level[k];",
        "constraint c[k in 1..n]: (level[k+1] else 0) <= level[k];",
        "constraint c[k in 1..n]: (if k > 1 then level[k-1] else 0) <= level[k];",
        "constraint c[k in 1..n]: k > 1 => level[k-1] <= level[k];",
        "constraint c[k in Nodes, h in Slots where h != first(Slots)]: on[k, h-1] <= on[k, h];",
        "constraint c[k in Nodes, h in Slots diff { first(Slots) }]: on[k, h-1] <= on[k, h];",
        "constraint c[k in Nodes, h in Slots]: (on[k, prev(h)] else 1) <= on[k, h];",
        "constraint c[j in Jobs, k in Nodes, v in Types, g in 1..gpus[v]]: run[j, k, v, g] <= 1;",
        'constraint c[h in Slots where h >= 3 and h <= n]: on["n", h] >= 1;',
        "constraint c[j in Jobs]: late[j] <= 0;",
        "constraint c[j in Jobs]: 0 <= late[j] <= due[j];",
        "constraint c[j in Jobs]: late[j] <= max(due[j] - 30[min], 0);",
        'constraint c: sqrt(area) <= late["a"];',
        "constraint c[j in Jobs]: late[j] ^ 2 <= area;",
        'constraint c[j in Jobs where j in { "a", "b" }]: late[j] <= due[j];',
        "constraint c[v in Types where (v, 2) in Configs]: x >= 1;",
        "constraint c: x == 1 => y <= 2;",
        "constraint c[k in Nodes, h in Slots]: on[k, h] and not on[k, last(Slots)] => x >= 1;",
        "constraint c: all[k in Nodes] (sum[h in Slots] on[k, h] >= 1);",
        "constraint c: x <= count[j in Jobs where size[j] > 1];",
        "param best[j in Jobs] = argmin[v in Types] price[v]; constraint c[j in Jobs]: x <= gpus[best[j]];",
        "param home[Jobs] within Nodes; constraint c[j in Jobs, h in Slots]: on[home[j], h] == 1;",
        "set Fast within Nodes; constraint c[k in Fast, h in Slots]: on[k, h] == 1;",
        'set Modes = { "slow", "fast" }; param speed[Modes]; constraint c: x <= speed["fast"];',
        "set Arcs within Nodes cross Nodes; var flow[Arcs] >= 0; constraint c[(a, b) in Arcs]: flow[a, b] <= 1;",
        "constraint c: P(wait > x * 1[h]) <= 0.1;",
        "constraint c: E(min(wait, 3[h])) <= x * 1[h] and P(wait > 2[h]) <= 0.1;",
        "let peak = max[k in Nodes, h in Slots] on[k, h]; minimize cost: peak; then maximize other: x;",
        "param flag[j in Jobs] binary = due[j] > 3[h]; constraint c[j in Jobs where flag[j]]: x >= 1;",
        "param limit in h >= 1 <= 24 default 8; var z in h >= 0.5 <= 12;",
        'set Racks identical by rack_type; constraint c[r in Racks where rack_type[r] == "a"]: x >= 1;',
        "param later[k in Later] = 1; set Later = 1..n;",
        'check [j in Jobs]: due[j] >= 0 "late before it starts";',
    ],
)
def test_right_declarations(statements: str) -> None:
    assert in_model(statements) == []


@pytest.mark.parametrize("depth", [150])
def test_deep_expressions_are_checked(depth: int) -> None:
    assert in_model(f"constraint c: {'not ' * depth}(x >= 1);") == []
