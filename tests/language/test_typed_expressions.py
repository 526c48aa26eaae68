"""The checked form of expressions: conversion factors, types, resolved names, indices."""

import pytest

from gpusched_dsl.language import checked as c
from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import CheckedModel, Element, Numeric, TextType
from gpusched_dsl.language.checking import ExpressionChecker, ExtraName, Symbols, check_model
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.units import parse_unit_text
from gpusched_dsl.language.workspace import workspace_from_text

DECLARED = """
  set Jobs; set Nodes; set Slots ordered; set Types;
  param gpus[Types] integer >= 1;
  set Configs = { (v, g) : v in Types, g in 1..gpus[v] };
  param due[Jobs] in h;
  param fast[Jobs] in min;
  param price[Types] in $/MWh;
  param power in W;
  param slot in min;
  param n integer;
  var on[Nodes, Slots] binary;
  var late[Jobs] in h >= 0;
  var x >= 0; var y >= 0;
"""


def model(statements: str) -> CheckedModel:
    diagnostics = Diagnostics()
    workspace = workspace_from_text(f"model M {{ {DECLARED} {statements} }}", "m.gsm", diagnostics)
    checked = check_model(workspace, "M", {}, diagnostics)
    assert list(diagnostics) == []
    assert checked is not None
    return checked


def show(expr: object) -> str:
    """An expression as a short expression in prefix form."""
    match expr:
        case c.Constant(value=value):
            return f"{value:g}"
        case c.StringLiteral(text=text, type=kind):
            return f"'{text}'" + (f":{kind.root}" if isinstance(kind, Element) else "")
        case c.IndexRef(variable=variable):
            return variable.name
        case c.ParamRef() | c.VariableRef() | c.LetRef() | c.RandomRef() | c.KnownValue():
            return expr.name + (f"[{','.join(map(show, expr.subscripts))}]" if expr.subscripts else "")
        case c.Arithmetic() | c.SetOperation():
            return f"({expr.op} {show(expr.left)} {show(expr.right)})"
        case c.Negate():
            return f"(- {show(expr.operand)})"
        case c.ComparisonChain():
            return f"({' '.join(expr.ops)} {' '.join(map(show, expr.operands))})"
        case c.Logic():
            return f"({expr.op} {' '.join(map(show, expr.operands))})"
        case c.Shift():
            return f"(shift {expr.ordering} {show(expr.operand)} {show(expr.offset)})"
        case c.Fallback():
            return f"(else {show(expr.reference)} {show(expr.fallback)})"
        case c.IfThenElse():
            return f"(if {show(expr.condition)} {show(expr.then)} {show(expr.otherwise)})"
        case c.Function():
            return f"({expr.name} {' '.join(map(show, expr.arguments))})"
        case c.SetFunction():
            return f"({expr.name} {show(expr.domain)})"
        case c.Reduction():
            return f"({expr.op} {show(expr.indexing)} {show(expr.body)})"
        case c.Expected():
            return f"({expr.op} {show(expr.body)}{f' given {show(expr.given)}' if expr.given else ''})"
        case c.Membership():
            return f"({'not-in' if expr.negated else 'in'} {','.join(map(show, expr.element))} {show(expr.domain)})"
        case c.TypedIndexing():
            inner = ", ".join(f"{','.join(v.name for v in i.variables)} in {show(i.domain)}" for i in expr.iterators)
            return f"[{inner}{' where ' if expr.conditions else ''}{' & '.join(map(show, expr.conditions))}]"
        case c.NamedSet():
            return expr.name
        case c.IntegerRange():
            return f"{show(expr.low)}..{show(expr.high)}"
        case c.LiteralSet():
            return "{" + " ".join(",".join(map(show, row)) for row in expr.rows) + "}"
        case c.ComprehensionSet():
            return "{" + f"{','.join(map(show, expr.element))} : {show(expr.indexing)}" + "}"
        case _:
            raise AssertionError(type(expr))


def body(constraint: str) -> str:
    return show(model(constraint).constraints["c"].body)


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        # units: the second operand is brought to the unit of the first, written numbers at once
        ("constraint c[j in Jobs]: late[j] <= due[j] + 15[min];", "(<= late[j] (+ due[j] 0.25))"),
        ("constraint c[j in Jobs]: late[j] <= fast[j];", "(<= late[j] (* fast[j] 0.0166667))"),
        ("constraint c[j in Jobs]: fast[j] <= late[j];", "(<= fast[j] (* late[j] 60))"),
        ("constraint c[j in Jobs]: 0 <= late[j] <= 60[min];", "(<= <= 0 late[j] 1)"),
        ("constraint c[j in Jobs]: late[j] >= max(fast[j] - due[j], 0);",
         "(>= late[j] (* (max (- fast[j] (* due[j] 60)) 0) 0.0166667))"),
        ("constraint c[j in Jobs]: late[j] >= (if n > 1 then 30[min] else due[j]);",
         "(>= late[j] (* (if (> n 1) 30 (* due[j] 60)) 0.0166667))"),
        ("constraint c: x <= exp(slot / 1[h]);", "(<= x (exp (* (/ slot 1) 0.0166667)))"),
        ("constraint c: x <= 50[%];", "(<= x 0.5)"),
        # logic, membership
        ("constraint c: x >= 1 and y >= 1 and x == y;", "(and (>= x 1) (>= y 1) (== x y))"),
        ("constraint c: x == 1 => y <= 2;", "(=> (== x 1) (<= y 2))"),
        ('constraint c[k in Nodes where k in { "a" } and k not in Nodes diff { "b" }]: x >= 1;', "(>= x 1)"),
        # ordered sets
        ("constraint c[k in Nodes, h in Slots]: (on[k, h-1] else 0) <= on[k, h];",
         "(<= (else on[k,(shift Slots h -1)] 0) on[k,h])"),
        ("constraint c[k in Nodes, h in Slots]: (on[k, next(h)] else 0) <= x;",
         "(<= (else on[k,(shift Slots h 1)] 0) x)"),
        ("constraint c[k in Nodes]: on[k, first(Slots)] + on[k, 3] <= x;",
         "(<= (+ on[k,(first Slots)] on[k,'3':Slots]) x)"),
        ('constraint c[k in Nodes]: on["a", last(Slots)] <= x;', "(<= on['a':Nodes,(last Slots)] x)"),
        # aggregates and functions
        ("constraint c: x <= count[j in Jobs];", "(<= x (count [j in Jobs] 1))"),
        ("constraint c: x <= count(Jobs);", "(<= x (count Jobs))"),
        ("constraint c: x <= sum[(v, g) in Configs where g > 1] g;",
         "(<= x (sum [v,g in Configs where (> g 1)] g))"),
        ("constraint c: x <= sum[v in Types, g in 1..gpus[v]] g;",
         "(<= x (sum [v in Types, g in 1..gpus[v]] g))"),
        ("constraint c: x <= -3;", "(<= x -3)"),
        ("constraint c: -x >= -y;", "(>= (- x) (- y))"),
        ("constraint c: x <= 3 ^ 2;", "(<= x (^ 3 2))"),
        ("constraint c: all[k in Nodes, h in Slots] on[k, h] >= 1;",
         "(all [k in Nodes, h in Slots] (>= on[k,h] 1))"),
    ],
)  # fmt: skip
def test_bodies(constraint: str, expected: str) -> None:
    assert body(constraint) == expected


def test_conditions_are_split_and_labels_take_their_set() -> None:
    checked = model('constraint c[k in Nodes where k in { "a" } and k not in Nodes diff { "b" } and n > 1]: x >= 1;')
    assert [show(p) for p in checked.constraints["c"].indexing.conditions] == [
        "(in k {'a':Nodes})",
        "(not-in k (diff Nodes {'b':Nodes}))",
        "(> n 1)",
    ]


def test_a_product_keeps_its_numbers_and_is_converted_once() -> None:
    checked = model(
        "minimize cost in $ { energy: sum[v in Types, j in Jobs] price[v] * power * slot * late[j] / 1[h]; }"
    )
    [objective] = checked.objectives
    assert objective.unit == parse_unit_text("$")
    product = "(/ (* (* (* price[v] power) slot) late[j]) 1)"
    assert show(objective.terms[0].value) == f"(* (sum [v in Types, j in Jobs] {product}) 1.66667e-08)"


def test_types_carry_units() -> None:
    checked = model("let cost[v in Types] = price[v] * power * slot; let rate = 1 / slot; let area = slot * 2[h];")
    assert checked.lets["cost"].type == Numeric(False, parse_unit_text("$*W*min/MWh"))
    assert checked.lets["rate"].type == Numeric(False, parse_unit_text("1/min"))
    assert checked.lets["area"].type == Numeric(False, parse_unit_text("min*h"))


def test_roots_of_mixed_units_are_taken_in_base_units() -> None:
    checked = model("let side = sqrt(slot * 1[h]); let square = sqrt(slot ^ 2);")
    assert checked.lets["side"].type == Numeric(False, parse_unit_text("s"))
    assert show(checked.lets["side"].value) == "(sqrt (* (* slot 1) 216000))"
    assert checked.lets["square"].type == Numeric(False, parse_unit_text("min"))


def test_norms_are_roots_of_sums_of_squares() -> None:
    checked = model("let far = norm[j in Jobs] (late[j] - due[j]); let near = norm(slot, 2[h], n * slot);")
    assert checked.lets["far"].type == Numeric(False, parse_unit_text("h"))
    assert show(checked.lets["far"].value) == "(sqrt (sum [j in Jobs] (^ (- late[j] due[j]) 2)))"
    assert checked.lets["near"].type == Numeric(False, parse_unit_text("min"))
    assert show(checked.lets["near"].value) == "(sqrt (+ (+ (^ slot 2) (^ 120 2)) (^ (* n slot) 2)))"


def test_declared_units_convert_values_bounds_and_defaults() -> None:
    checked = model("""
      param length in h >= 30[min] <= 24 default 90[min];
      param derived in min = length;
      let shown in s = length;
      var z in min >= 1[h] <= 100;
    """)
    length, derived = checked.params["length"], checked.params["derived"]
    assert [(b.op, show(b.value)) for b in length.bounds] == [(">=", "0.5"), ("<=", "24")]
    assert show(length.default) == "1.5"
    assert show(derived.value) == "(* length 60)"
    assert show(checked.lets["shown"].value) == "(* length 3600)"
    assert [(b.op, show(b.value)) for b in checked.variables["z"].bounds] == [(">=", "60"), ("<=", "100")]


def test_bounds_use_the_indices_of_their_declaration() -> None:
    checked = model("var z[j in Jobs] in h >= 0 <= due[j]; param p[j in Jobs] in h >= due[j];")
    z, p = checked.variables["z"], checked.params["p"]
    [index] = z.indexing.variables
    upper = z.bounds[1].value
    assert isinstance(upper, c.ParamRef)
    assert isinstance(upper.subscripts[0], c.IndexRef)
    assert upper.subscripts[0].variable is index
    assert show(p.bounds[0].value) == "due[j]"


def test_the_types_and_roots_of_sets() -> None:
    checked = model("""
      set Few within Jobs; set Named within Jobs = { "a", "b" }; set Long = { j in Jobs where due[j] > 3[h] };
      set Own = { "slow", "fast" }; set Upto = 1..n; set Arcs within Nodes cross Slots;
      set All = Few union Long; set First = { v : (v, g) in Configs where g == 2 };
    """)
    kinds = {name: (s.types, s.root) for name, s in checked.sets.items()}
    jobs, whole = Element("Jobs"), Numeric(integer=True)
    assert kinds["Jobs"] == ((jobs,), "Jobs")
    assert kinds["Few"] == kinds["Named"] == kinds["Long"] == kinds["All"] == ((jobs,), "Jobs")
    assert kinds["Own"] == ((Element("Own"),), "Own")
    assert kinds["Upto"] == ((whole,), None)
    assert kinds["Arcs"] == ((Element("Nodes"), Element("Slots")), None)
    assert kinds["Configs"] == ((Element("Types"), whole), None)
    assert kinds["First"] == ((Element("Types"),), "Types")
    assert show(checked.sets["Named"].value) == "{'a':Jobs 'b':Jobs}"


def test_kinds_of_parameters() -> None:
    checked = model("""
      param home[Jobs] within Nodes; param level[Jobs] within 1..n; param tag[Jobs] symbol default "none";
      param best[j in Jobs] = argmin[v in Types] price[v];
      param size = count(Jobs); param half = count(Jobs) / 2; param late_one[j in Jobs] = due[j] > 3[h];
      param sum_of in $/MWh = sum[v in Types] price[v]; param same = sum[v in Types] price[v];
    """)
    kinds = {name: (p.kind, p.type) for name, p in checked.params.items()}
    assert kinds["home"] == ("element", Element("Nodes"))
    assert kinds["level"] == ("element", Numeric(integer=True))
    assert kinds["tag"] == ("symbol", TextType())
    assert kinds["best"] == ("element", Element("Types"))
    assert kinds["size"] == ("integer", Numeric(integer=True))
    assert kinds["half"] == ("real", Numeric())
    assert kinds["late_one"] == ("binary", Numeric(integer=True))
    assert kinds["sum_of"] == kinds["same"] == ("real", Numeric(False, parse_unit_text("$/MWh")))


def test_identical_by_declares_the_class() -> None:
    checked = model("set Racks identical by rack_type; set Boxes identical by size; param size[Boxes] integer;")
    assert checked.sets["Racks"].identical_by == "rack_type"
    implied = checked.params["rack_type"]
    assert implied.kind == "symbol"
    assert show(implied.indexing) == "[_ in Racks]"
    assert checked.params["size"].kind == "integer"
    assert checked.data_order.index("Racks") < checked.data_order.index("rack_type")


def test_data_order_puts_what_is_needed_first() -> None:
    checked = model("""
      param twice[k in Upto] = 2 * once[k]; param once[Upto] <= most; set Upto = 1..top; param top integer;
      let half = twice[1] / 2; param most = top; param last_one = half;
    """)
    place = checked.data_order.index
    assert place("top") < place("Upto") < place("once") < place("twice") < place("last_one")
    assert place("top") < place("most") < place("once")
    assert set(checked.data_order) == set(checked.sets) | set(checked.params)


def test_decisions_are_marked() -> None:
    checked = model("let load = 2 * x; let data = 2 * n; constraint c: load + data <= y;")
    assert checked.lets["load"].value.decision
    assert not checked.lets["data"].value.decision
    comparison = checked.constraints["c"].body
    assert isinstance(comparison, c.ComparisonChain)
    left = comparison.operands[0]
    assert isinstance(left, c.Arithmetic)
    assert (left.decision, left.left.decision, left.right.decision) == (True, True, False)


def test_expectations_have_units() -> None:
    checked = model("""
      random wait in min ~ exponential(mean = 40[min]);
      minimize total in h: E(max(wait, slot) given wait > 1[h]) + P(wait > 2[min]) * late["a"];
    """)
    term = checked.objectives[0].terms[0].value
    assert show(term) == (
        "(* (+ (E (max wait slot) given (> wait 60)) (* (* (P (> wait 2)) late['a':Jobs]) 60)) 0.0166667)"
    )
    assert checked.randoms["wait"].type == Numeric(False, parse_unit_text("min"))


def test_indices_that_are_not_named_get_variables_all_the_same() -> None:
    checked = model("var z[Jobs, Configs, k in Nodes] >= 0; param q[(v, _) in Configs] = gpus[v];")
    assert [v.name for v in checked.variables["z"].indexing.variables] == ["_", "_", "_", "k"]
    assert [v.name for v in checked.params["q"].indexing.variables] == ["v", "_"]


def test_an_ordered_subset_shifts_in_itself() -> None:
    checked = model("""
      set Peak within Slots ordered; set Calm within Slots; param w[Slots];
      constraint c[h in Peak, i in Calm]: (w[h-1] else 0) + (w[i-1] else 0) <= x;
    """)
    assert show(checked.constraints["c"].body) == (
        "(<= (+ (else w[(shift Peak h -1)] 0) (else w[(shift Slots i -1)] 0)) x)"
    )


def test_placement() -> None:
    checked = model("""
      var run[Jobs, Nodes, Configs] binary;
      placement run[j, k, v, g] {
        job j; node k; node_type v; uses g of gpus[v]; lasts fast[j]; costs g * price[v] * power in $/h;
      }
    """)
    placement = checked.placement
    assert placement is not None
    assert [v.name for v in placement.indices] == ["j", "k", "v", "g"]
    [uses], costs = placement.all("uses"), placement.value("costs")
    assert costs is not None
    assert (show(uses.value), show(uses.of)) == ("g", "gpus[v]")
    assert show(costs) == "(* (* (* g price[v]) power) 1e-06)"
    assert isinstance(costs.type, Numeric)
    assert costs.type.unit.text == "$/h"


def test_roles_of_a_placement() -> None:
    checked = model("""
      var run[Jobs, Nodes, Configs] binary;
      placement run[j, k, v, g] {
        job j; node_type v; uses g of gpus[v]; uses 1; lasts fast[j];
      }
    """)
    placement = checked.placement
    assert placement is not None
    assert [show(item.value) for item in placement.all("lasts", "uses")] == ["g", "1", "fast[j]"]
    assert placement.item("uses") is placement.items[2]
    assert placement.index("job") is placement.indices[0]
    assert (placement.position("job"), placement.root("job")) == (0, "Jobs")
    assert (placement.position("lasts"), placement.root("lasts")) == (None, "")
    assert (placement.item("node"), placement.value("node"), placement.index("node")) == (None, None, None)
    assert (placement.position("node_type"), placement.root("node_type"), placement.root("node")) == (2, "Types", "")


def test_decomposition() -> None:
    assert model("decompose by Jobs;").decompose == "Jobs"
    assert model("var w[Fast, Slots] >= 0; set Fast within Types; decompose by Types;").decompose == "Types"
    assert model("").decompose is None


def test_a_fallback_may_be_a_fraction_where_the_reference_is_not() -> None:
    checked = model("var z[Slots] integer; let l[h in Slots] = (z[h-1] else 0.5); let m[h in Slots] = (z[h-1] else 0);")
    assert checked.lets["l"].type == Numeric()
    assert checked.lets["m"].type == Numeric(integer=True)


def test_variables_may_stand_anywhere_after_the_solve() -> None:
    checked = model("")
    diagnostics = Diagnostics()
    names = {
        "status": ExtraName(TextType()),
        "optimal": ExtraName(TextType(), text="optimal"),
        "cost": ExtraName(Numeric(False, parse_unit_text("$"))),
        "left": ExtraName(Numeric(), indices=(Element("Jobs"),)),
        "unknown": ExtraName(None),
    }
    checker = ExpressionChecker(Symbols.of(checked, names), diagnostics, decided=True)
    text = """test T { solve S with highs;
      expect sum[k in Nodes where on[k, first(Slots)] > 0] 1 < 3;
      expect status == optimal and cost >= 2[$] and left["a"] == 1 and unknown >= 3[h];
    }"""
    workspace = workspace_from_text(text, "t.gsm", diagnostics)
    first, second = [s.condition for s in workspace.tests["T"].statements if isinstance(s, tree.Expect)]
    assert show(checker.condition(first)) == "(< (sum [k in Nodes where (> on[k,(first Slots)] 0)] 1) 3)"
    assert checker.condition(second) is None
    assert list(diagnostics) == []
    assert isinstance(second, tree.Binary)
    assert show(checker.condition(second.left)) == ("(and (== status 'optimal') (>= cost 2) (== left['a':Jobs] 1))")
