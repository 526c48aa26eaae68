"""The syntax tree of each construct of the language."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.parser import parse
from gpusched_dsl.language.source import Source
from gpusched_dsl.language.tree_walk import nodes_in, same_tree

TOUR = sorted((Path(__file__).parent.parent / "tour").glob("*.gsm"))


def parsed(text: str) -> tree.File:
    diagnostics = Diagnostics()
    file = parse(Source("t.gsm", text), diagnostics)
    assert [(d.code, d.message) for d in diagnostics] == []
    return file


def statement(text: str, block: str = "model M") -> tree.Statement:
    """The only statement of a block; `block` is its head."""
    (found,) = parsed(f"{block} {{ {text} }}").blocks
    assert isinstance(found, tree.ModelBlock | tree.Scenario | tree.Test | tree.Policy | tree.Online)
    (only,) = found.statements
    return only


def shown(node: object) -> str:
    """An expression with all its structure written out."""
    match node:
        case None:
            return "-"
        case tree.Number():
            unit = "" if node.unit is None else f"[{shown(node.unit)}]"
            return f"{node.value:g}{unit}"
        case tree.UnitNode():
            return " ".join(f"{f.symbol}^{f.exponent}" for f in node.factors) or "1"
        case tree.Text():
            return repr(node.value)
        case tree.Boolean():
            return str(node.value)
        case tree.Name() | tree.Identifier():
            return node.text
        case tree.Subscript():
            return f"{node.name.text}[{', '.join(map(shown, node.subscripts))}]"
        case tree.Otherwise():
            return f"({shown(node.reference)} else {shown(node.fallback)})"
        case tree.UnaryExpr():
            return f"({node.op} {shown(node.operand)})"
        case tree.Binary():
            return f"({shown(node.left)} {node.op} {shown(node.right)})"
        case tree.Compare():
            rest = "".join(f" {o} {shown(x)}" for o, x in zip(node.ops, node.operands[1:], strict=True))
            return f"({shown(node.operands[0])}{rest})"
        case tree.Conditional():
            return f"(if {shown(node.condition)} then {shown(node.then)} else {shown(node.otherwise)})"
        case tree.Call():
            named = [f"{n.name.text}={shown(n.value)}" for n in node.named]
            return f"{node.function.text}({', '.join([*map(shown, node.arguments), *named])})"
        case tree.Expectation():
            return f"{node.op}({shown(node.body)} given {shown(node.given)})"
        case tree.Aggregate():
            return f"({node.op}{shown(node.indexing)} {shown(node.body)})"
        case tree.Indexing():
            where = "" if node.where is None else f" where {shown(node.where)}"
            return f"[{', '.join(map(shown, node.indices))}{where}]"
        case tree.Index():
            names = ", ".join(n.text for n in node.names)
            return f"{f'({names})' if node.is_tuple else names}:{shown(node.domain)}"
        case tree.TupleExpr():
            return f"<{', '.join(map(shown, node.items))}>"
        case tree.SetLiteral():
            return f"{{{', '.join(map(shown, node.items))}}}"
        case tree.Comprehension():
            return f"{{{shown(node.element)} | {shown(node.indexing)}}}"
        case tree.Range():
            step = "" if node.step is None else f" by {shown(node.step)}"
            return f"({shown(node.low)}..{shown(node.high)}{step})"
    raise AssertionError(type(node))


@pytest.mark.parametrize(
    ("text", "structure"),
    [
        ("a + b * c", "(a + (b * c))"),
        ("a - b - c", "((a - b) - c)"),
        ("a / b / c * d", "(((a / b) / c) * d)"),
        ("-a * b", "((- a) * b)"),
        ("-a^2", "(- (a ^ 2))"),
        ("a^b^c", "(a ^ (b ^ c))"),
        ("a^-1 * b", "((a ^ (- 1)) * b)"),
        ("a - -b", "(a - (- b))"),
        ("(a + b) * c", "((a + b) * c)"),
        ("+a", "(+ a)"),
        # the body of an aggregate: all factors, no further summand
        ("sum[i in I] a * x[i] + b", "((sum[i:I] (a * x[i])) + b)"),
        ("sum[i in I] g / h * p * x[i] - b", "((sum[i:I] (((g / h) * p) * x[i])) - b)"),
        ("min[(v, g) in C] t[j, v, g] - d[j]", "((min[(v, g):C] t[j, v, g]) - d[j])"),
        ("2 * sum[i in I] x[i] * y + 1", "((2 * (sum[i:I] (x[i] * y))) + 1)"),
        ("a / -sum[i in I] x[i]", "(a / (- (sum[i:I] x[i])))"),
        ("-sum[i in I] x[i] * y", "(- (sum[i:I] (x[i] * y)))"),
        ("sum[i in I] sum[k in K] x[i, k] + 1", "((sum[i:I] (sum[k:K] x[i, k])) + 1)"),
        ("sum[i in I] -x[i]", "(sum[i:I] (- x[i]))"),
        ("sum[i in I] (x + y) * z", "(sum[i:I] ((x + y) * z))"),
        ("argmin[n in N] c[n]", "(argmin[n:N] c[n])"),
        # quantifiers take a condition
        ("all[i in I] x[i] <= 1 and y", "((all[i:I] (x[i] <= 1)) and y)"),
        ("not any[i in I] x[i] == 1", "(not (any[i:I] (x[i] == 1)))"),
        # a count has no body, or a condition
        ("count[i in I where x[i] > 0] - 1", "((count[i:I where (x[i] > 0)] -) - 1)"),
        ("count[i in I] (x[i] > 0) + 1", "((count[i:I] (x[i] > 0)) + 1)"),
        ("2 * count[i in I] b[i] * c", "((2 * (count[i:I] b[i])) * c)"),
        # comparisons, sets and logic
        ("a <= b <= c", "(a <= b <= c)"),
        ("a + 1 < b * 2", "((a + 1) < (b * 2))"),
        ("a in S and b not in T", "((a in S) and (b not in T))"),
        ("(v, g) in C", "(<v, g> in C)"),
        ("a in 1..n+1", "(a in (1..(n + 1)))"),
        ("1..9 by 2", "(1..9 by 2)"),
        ("A union B inter C cross D", "(A union (B inter (C cross D)))"),
        ("A union B diff C", "((A union B) diff C)"),
        ("A cross 1..3", "(A cross (1..3))"),
        ("a or b and c", "(a or (b and c))"),
        ("not a == b", "(not (a == b))"),
        ("not not a", "(not (not a))"),
        ("a => b => c", "(a => (b => c))"),
        ("a or b <=> c and d", "((a or b) <=> (c and d))"),
        ("x == 1 => a + b <= c", "((x == 1) => ((a + b) <= c))"),
        ("if a then b else if c then d else e + 1", "(if a then b else (if c then d else (e + 1)))"),
        ("if a => b then c => d else e", "(if (a => b) then (c => d) else e)"),
        # atoms
        ("15[min]", "15[min^1]"),
        ("0.3[$/h]", "0.3[$^1 h^-1]"),
        ("24[GB^2*s/(W*h)]", "24[GB^2 s^1 W^-1 h^-1]"),
        ("1[1/h]", "1[h^-1]"),
        ("1[1]", "1[1]"),
        ("1[h^-2]", "1[h^-2]"),
        ("1[€/kWh/%]", "1[€^1 kWh^-1 %^-1]"),
        ('"a \\"b\\" \\\\"', "'a \"b\" \\\\'"),
        ("true or false", "(True or False)"),
        ("(x[k, h-1] else was[k])", "(x[k, (h - 1)] else was[k])"),
        ("a - (x[k] else 0)", "(a - (x[k] else 0))"),
        ("max(a, b, 3)", "max(a, b, 3)"),
        ("count(Jobs) + first(S)", "(count(Jobs) + first(S))"),
        ("sum(a)", "sum(a)"),
        ("f()", "f()"),
        ("f(1, mean = 40[epoch])", "f(1, mean=40[epoch^1])"),
        ("E(min(W, x) given W > 3)", "E(min(W, x) given (W > 3))"),
        ("P(W <= x)", "P((W <= x) given -)"),
        ("P + E[j]", "(P + E[j])"),
        ("{}", "{}"),
        ("{ n1, n2 }", "{n1, n2}"),
        ('{ ("a", 1), ("b", 2) }', "{<'a', 1>, <'b', 2>}"),
        ("{ (v, g) : v in T, g in 1..n[v] where v != g }", "{<v, g> | [v:T, g:(1..n[v]) where (v != g)]}"),
        ("{ v : (v, _) in C }", "{v | [(v, _):C]}"),
        ("{ j in Jobs where d[j] > 0 }", "{j | [j:Jobs where (d[j] > 0)]}"),
        ("{ i in I, (a, b) in C where i < a }", "{<i, a, b> | [i:I, (a, b):C where (i < a)]}"),
        ("1e3 + 2.5e-1", "(1000 + 0.25)"),
    ],
)
def test_expressions(text: str, structure: str) -> None:
    found = statement(f"let x = {text};")
    assert isinstance(found, tree.LetDecl)
    assert shown(found.value) == structure
    assert found.value.span.text == text


def test_the_file_and_its_numbers_know_their_places() -> None:
    text = "model M {\n  let y = (a + 1.5[$/h]) * b;\n}\n"
    file = parsed(text)
    product = next(nodes_in(file.blocks[0], tree.Binary))
    assert product.span.text == "(a + 1.5[$/h]) * b"
    assert product.left.span.text == "a + 1.5[$/h]"
    number = next(nodes_in(file.blocks[0], tree.Number))
    assert (number.span.line, number.span.column, number.span.text) == (2, 16, "1.5[$/h]")
    assert number.unit is not None
    assert [f.span.text for f in number.unit.factors] == ["$", "h"]
    assert file.blocks[0].span.text == text.strip()


def test_whole_numbers_are_told_from_others() -> None:
    numbers = [n.is_integer for n in nodes_in(parsed("model M { let x = 1 + 2.0 + 1e3; }").blocks[0], tree.Number)]
    assert numbers == [True, False, False]


# --- models ----------------------------------------------------------------------------------------------------------


def test_model_head() -> None:
    (model,) = parsed('model B extends A "doc" {}').blocks
    assert isinstance(model, tree.ModelBlock)
    assert (model.name.text, model.extends and model.extends.text, model.doc) == ("B", "A", "doc")


def test_sets() -> None:
    found = statement('set Nodes "doc" identical by class within Machines ordered;')
    assert isinstance(found, tree.SetDecl)
    assert found.ordered
    assert found.identical
    assert (found.doc, shown(found.identical_by), shown(found.within)) == ("doc", "class", "Machines")
    plain = statement("set Levels = 1..n;")
    assert isinstance(plain, tree.SetDecl)
    assert (plain.ordered, plain.identical, plain.identical_by, plain.within) == (False, False, None, None)
    assert shown(plain.value) == "(1..n)"


def test_params() -> None:
    found = statement('param w[j in Jobs, Types where a[j]] in $/h >= 0 <= max(a, b) default 1[$/h] "doc";')
    assert isinstance(found, tree.ParamDecl)
    assert shown(found.indexing) == "[j:Jobs, :Types where a[j]]"
    assert found.indexing is not None
    assert found.indexing.span.text == "[j in Jobs, Types where a[j]]"
    assert [(b.op, shown(b.value)) for b in found.bounds] == [(">=", "0"), ("<=", "max(a, b)")]
    assert (shown(found.unit), shown(found.default), found.doc, found.kind) == (
        "$^1 h^-1",
        "1[$^1 h^-1]",
        "doc",
        "real",
    )
    host = statement('param host[Jobs] symbol within Nodes default "n1";')
    assert isinstance(host, tree.ParamDecl)
    assert (host.kind, shown(host.within), shown(host.default)) == ("symbol", "Nodes", "'n1'")
    derived = statement('param c in h = a <= b "doc";')
    assert isinstance(derived, tree.ParamDecl)
    assert (shown(derived.value), derived.doc) == ("(a <= b)", "doc")


def test_lets_vars_and_randoms() -> None:
    let = statement('let p[k in K] in W "doc" = a + b;')
    assert isinstance(let, tree.LetDecl)
    assert (shown(let.indexing), shown(let.unit), let.doc, shown(let.value)) == ("[k:K]", "W^1", "doc", "(a + b)")
    var = statement('var s[i in I, Slots] in request/min >= 0 <= rate[i] "doc";')
    assert isinstance(var, tree.VarDecl)
    assert ([b.op for b in var.bounds], var.doc, var.kind) == ([">=", "<="], "doc", "real")
    binary = statement("var x binary;")
    assert isinstance(binary, tree.VarDecl)
    assert binary.kind == "binary"
    random = statement('random W[Jobs] in h ~ exponential(mean = 3[h]) "doc";')
    assert isinstance(random, tree.RandomDecl)
    assert (shown(random.distribution), random.doc) == ("exponential(mean=3[h^1])", "doc")
    declared = statement('random length in epoch "doc";')
    assert isinstance(declared, tree.RandomDecl)
    assert declared.distribution is None


def test_objectives() -> None:
    terms = statement('then maximize total in $ "doc" { rent "r": a + b; override late: c "l"; }')
    assert isinstance(terms, tree.ObjectiveDecl)
    assert (terms.sense, terms.then, shown(terms.name), shown(terms.unit)) == ("maximize", True, "total", "$^1")
    assert [(shown(t.name), shown(t.value), t.override, t.doc) for t in terms.terms] == [
        ("rent", "(a + b)", False, "r"),
        ("late", "c", True, "l"),
    ]
    single = statement("minimize cost in $: if a then b else c;")
    assert isinstance(single, tree.ObjectiveDecl)
    assert (shown(single.name), [t.name for t in single.terms]) == ("cost", [None])
    short = statement("minimize sum[j in J] x[j] + y;")
    assert isinstance(short, tree.ObjectiveDecl)
    assert (short.name, short.then, shown(short.terms[0].value)) == (None, False, "((sum[j:J] x[j]) + y)")


def test_constraints_and_checks() -> None:
    found = statement('override constraint cap[n in N] "doc": x[n] == 1 => y[n] <= 3;')
    assert isinstance(found, tree.ConstraintDecl)
    assert (found.override, found.doc, shown(found.body)) == (True, "doc", "((x[n] == 1) => (y[n] <= 3))")
    last = statement('constraint c: x <= "a" "doc";')
    assert isinstance(last, tree.ConstraintDecl)
    assert (last.doc, last.indexing, last.override) == ("doc", None, False)
    check = statement('check [j in Jobs]: d[j] >= 0 "may not be negative";')
    assert isinstance(check, tree.CheckDecl)
    assert (shown(check.indexing), shown(check.condition), check.message) == (
        "[j:Jobs]",
        "(d[j] >= 0)",
        "may not be negative",
    )
    assert isinstance(statement("check: a <= b;"), tree.CheckDecl)


def test_options_and_when() -> None:
    option = statement('option rule "doc" in { paper, force } default paper;')
    assert isinstance(option, tree.OptionDecl)
    assert ([c.text for c in option.choices], option.default.text, option.doc) == (["paper", "force"], "paper", "doc")
    assert option.start is None
    started = statement('option start in { from, force } default force start from from "doc";')
    assert isinstance(started, tree.OptionDecl)
    assert started.start is not None
    assert (started.name.text, started.default.text, started.start.text, started.doc) == (
        "start",
        "force",
        "from",
        "doc",
    )
    when = statement("when rule == force { var x; } else when rule != paper { var y; set Z; } else { var z; }")
    assert isinstance(when, tree.When)
    assert (when.option.text, when.op, when.choice.text, len(when.body)) == ("rule", "==", "force", 1)
    (nested,) = when.otherwise
    assert isinstance(nested, tree.When)
    assert (nested.op, len(nested.body), len(nested.otherwise)) == ("!=", 2, 1)


def test_drop_and_placement() -> None:
    drop = statement("drop capacity, rent;")
    assert isinstance(drop, tree.Drop)
    assert [n.text for n in drop.names] == ["capacity", "rent"]
    placement = statement("placement run[j, v] { job j; uses g of gpus[v]; costs price[v] * 2 in $/h; lasts (a + b); }")
    assert isinstance(placement, tree.PlacementDecl)
    assert (placement.variable.text, [i.text for i in placement.indices]) == ("run", ["j", "v"])
    assert [(i.role.text, shown(i.value), shown(i.of), shown(i.unit)) for i in placement.items] == [
        ("job", "j", "-", "-"),
        ("uses", "g", "gpus[v]", "-"),
        ("costs", "(price[v] * 2)", "-", "$^1 h^-1"),
        ("lasts", "(a + b)", "-", "-"),
    ]


def test_decompose() -> None:
    decompose = statement("decompose by Batch;")
    assert isinstance(decompose, tree.Decompose)
    assert decompose.root.text == "Batch"
    of_itself = statement("decompose by decompose;")
    assert isinstance(of_itself, tree.Decompose)
    assert of_itself.root.span.text == "decompose"


# --- scenarios, tests ------------------------------------------------------------------------------------------------


def test_scenario_head_and_assignments() -> None:
    (found,) = parsed(
        'scenario B "doc" for M extends A { p = 1[h]; w["j1", 2] = 3; N = { n1 }; L ~ normal(1, 2); }'
    ).blocks
    assert isinstance(found, tree.Scenario)
    assert (shown(found.model), shown(found.extends), found.doc) == ("M", "A", "doc")
    p, w, n, length = found.statements
    assert isinstance(p, tree.Assign)
    assert isinstance(w, tree.Assign)
    assert isinstance(n, tree.Assign)
    assert isinstance(length, tree.Draw)
    assert [shown(s) for s in w.subscripts] == ["'j1'", "2"]
    assert (shown(n.value), shown(length.distribution)) == ("{n1}", "normal(1, 2)")


def test_tables() -> None:
    found = statement(
        'table Jobs, Types: t[h] note = j1 v1 -1.5 "a b"  j2 "v 2" . 3  test1 v true false;', "scenario S"
    )
    assert isinstance(found, tree.Table)
    assert [k.text for k in found.keys] == ["Jobs", "Types"]
    assert [(c.name.text, shown(c.unit)) for c in found.columns] == [("t", "h^1"), ("note", "-")]
    assert [c.value for c in found.cells] == ["j1", "v1", -1.5, "a b", "j2", "v 2", None, 3.0, "test1", "v", 1.0, 0.0]
    assert found.cells[2].span.text == "-1.5"
    empty = statement("table Jobs: t = ;", "scenario S")
    assert isinstance(empty, tree.Table)
    assert empty.cells == ()


def test_data() -> None:
    found = statement(
        'data "f.sqlite" table "jobs" { t[job, "GPU type", slot(time, 15[min], "x")] = mean("price ($)"[$/h]); '
        "Jobs = job; F = (job, type); G = distinct(job, type); c = sum; }".replace("= sum;", '= "sum";'),
        "scenario S",
    )
    assert isinstance(found, tree.Data)
    assert (found.path.value, found.table and found.table.value) == ("f.sqlite", "jobs")
    t, jobs, f, g, c = found.items
    assert [(k.column, shown(k.function), [shown(a) for a in k.arguments]) for k in t.keys] == [
        ("job", "-", []),
        ("GPU type", "-", []),
        ("time", "slot", ["15[min^1]", "'x'"]),
    ]
    assert [(k.name, shown(k.unit), shown(k.function)) for k in t.columns] == [("price ($)", "$^1 h^-1", "mean")]
    assert (jobs.keys, [k.name for k in jobs.columns], jobs.distinct) == ((), ["job"], False)
    assert ([k.name for k in f.columns], f.distinct) == (["job", "type"], False)
    assert ([k.name for k in g.columns], g.distinct) == (["job", "type"], True)
    assert c.columns[0].name == "sum"


def test_tests() -> None:
    (found,) = parsed(
        'test T "doc" { solve S (rule = at_most, p = 0.3[$]) with highs, scip (gap = 0); solve S;'
        ' expect total == 5.0 within 1e-6; expect x["a"] == 1; }'
    ).blocks
    assert isinstance(found, tree.Test)
    solve, plain, expect, other = found.statements
    assert isinstance(solve, tree.Solve)
    assert [(s.name.text, shown(s.value)) for s in solve.settings] == [("rule", "at_most"), ("p", "0.3[$^1]")]
    assert [(m.name.text, len(m.settings)) for m in solve.methods] == [("highs", 0), ("scip", 1)]
    assert isinstance(plain, tree.Solve)
    assert (plain.methods, plain.settings) == ((), ())
    assert isinstance(expect, tree.Expect)
    assert (shown(expect.condition), shown(expect.tolerance)) == ("(total == 5)", "1e-06")
    assert isinstance(other, tree.Expect)
    assert other.tolerance is None
    assert found.doc == "doc"


# --- policies, online ------------------------------------------------------------------------------------------------


def policy_rule(text: str) -> tree.PolicyRule:
    found = statement(text, "policy P for M extends Q")
    assert isinstance(found, tree.PolicyRule)
    return found


def test_policy_keys() -> None:
    found = policy_rule("choose (v, g) in C, k in 1..9 where a < b by x[v] * 2 descending, g;")
    assert found.verb == "choose"
    assert shown(found.indexing) == "[(v, g):C, k:(1..9) where (a < b)]"
    assert [(shown(k.value), k.descending) for k in found.keys] == [("(x[v] * 2)", True), ("g", False)]
    assert policy_rule("order k in (1..9 by 2) by k;").keys[0].descending is False


def test_policy_rules() -> None:
    place = policy_rule("place best_fit, new_node exclusive, swap(5, a), grow by speedup;")
    assert [([w.text for w in r.words], [shown(a) for a in r.arguments], shown(r.by)) for r in place.rules] == [
        (["best_fit"], [], "-"),
        (["new_node", "exclusive"], [], "-"),
        (["swap"], ["5", "a"], "-"),
        (["grow"], [], "speedup"),
    ]
    order = policy_rule("randomise order swapping with probability 1 / (1 + w[j]);")
    assert (shown(order.target), shown(order.probability), order.count) == ("order", "(1 / (1 + w[j]))", None)
    choose = policy_rule("randomise choose from 3 by inverse cost;")
    assert (shown(choose.target), shown(choose.count), [w.text for w in choose.by]) == (
        "choose",
        "3",
        ["inverse", "cost"],
    )
    repeat = policy_rule("repeat 1000 keep best total;")
    assert (repeat.verb, shown(repeat.count), [w.text for w in repeat.rules[0].words]) == (
        "repeat",
        "1000",
        ["best", "total"],
    )
    improve = policy_rule("improve 10 best with a(5), b;")
    assert (improve.verb, shown(improve.count), len(improve.rules)) == ("improve", "10", 2)
    assert (improve.rounds, improve.all_rounds) == (None, False)
    rounds = policy_rule("improve rounds best rounds 2 * rounds with a;")
    assert (shown(rounds.count), shown(rounds.rounds), rounds.all_rounds) == ("rounds", "(2 * rounds)", False)
    every = policy_rule("improve 3 rounds all with a;")
    assert (shown(every.count), every.rounds, every.all_rounds) == ("3", None, True)
    assert policy_rule("improve 3 rounds all(x) with a;").all_rounds is False
    split = policy_rule("split controllers + 1 controllers;")
    assert (split.verb, shown(split.count), split.rules) == ("split", "(controllers + 1)", ())


def test_online() -> None:
    (found,) = parsed(
        "online O for M { window h in Slots lookahead 96 commit 4; arrive j in Jobs at t[j];"
        " replan on arrival, every 4 slots, every period; carry d[j, k] = d[j] - now; carry s = 1; }"
    ).blocks
    assert isinstance(found, tree.Online)
    window, arrive, replan, carry, scalar = found.statements
    assert isinstance(window, tree.Window)
    assert (shown(window.index), shown(window.lookahead), shown(window.commit)) == ("h:Slots", "96", "4")
    assert isinstance(arrive, tree.Arrive)
    assert shown(arrive.at) == "t[j]"
    assert isinstance(replan, tree.Replan)
    assert [(shown(t.event), shown(t.every), shown(t.unit)) for t in replan.triggers] == [
        ("arrival", "-", "-"),
        ("-", "4", "slots"),
        ("-", "period", "-"),
    ]
    assert isinstance(carry, tree.Carry)
    assert [i.text for i in carry.indices] == ["j", "k"]
    assert isinstance(scalar, tree.Carry)
    assert scalar.indices == ()


def test_campaigns() -> None:
    (campaign,) = parsed(
        'campaign C "doc" for M {\n  vary x in { 1, 2 };  vary (a, b) in { (1, "n") };\n'
        "  exclude x > 1 and method == highs;\n"
        '  p = x;  q["j1"] = 2 * x;  generate g (seed = a);  data "old.csv" = b;\n'
        "  solve S, T with highs (gap = 0.1) as Exact, Greedy;  run S online O;  measure total, cost;\n}"
    ).blocks
    assert isinstance(campaign, tree.Campaign)
    assert (campaign.name.text, shown(campaign.model), campaign.doc) == ("C", "M", "doc")
    vary, pair, exclude, plain, patch, options, path, solve, run, measure = campaign.statements
    assert isinstance(vary, tree.Vary)
    assert isinstance(pair, tree.Vary)
    assert ([n.text for n in vary.index.names], [n.text for n in pair.index.names]) == (["x"], ["a", "b"])
    assert isinstance(exclude, tree.Exclude)
    assert isinstance(plain, tree.Assign)
    assert isinstance(patch, tree.Assign)
    assert (plain.subscripts, [s.span.text for s in patch.subscripts]) == ((), ['"j1"'])
    assert isinstance(options, tree.GeneratorOptions)
    assert (options.generator.text, [o.name.text for o in options.options]) == ("g", ["seed"])
    assert isinstance(path, tree.DataPath)
    assert (path.path.value, path.value.span.text) == ("old.csv", "b")
    assert isinstance(solve, tree.GridRuns)
    assert (solve.verb, [s.text for s in solve.scenarios], solve.online) == ("solve", ["S", "T"], None)
    assert [(m.name.text, shown(m.alias)) for m in solve.methods] == [("highs", "Exact"), ("Greedy", "-")]
    assert isinstance(run, tree.GridRuns)
    assert (run.verb, shown(run.online), run.methods) == ("run", "O", ())
    assert isinstance(measure, tree.Measure)
    assert [n.text for n in measure.names] == ["total", "cost"]


# --- words -----------------------------------------------------------------------------------------------------------

SOFT = [
    "table",
    "data",
    "order",
    "choose",
    "otherwise",
    "place",
    "finish",
    "keep",
    "randomise",
    "repeat",
    "improve",
    "window",
    "arrive",
    "replan",
    "carry",
    "solve",
    "with",
    "expect",
    "by",
    "of",
    "at",
    "on",
    "every",
    "symbol",
    "ordered",
    "identical",
    "extends",
    "for",
    "given",
    "descending",
    "lookahead",
    "commit",
    "from",
    "swapping",
    "probability",
    "best",
    "decompose",
    "E",
    "P",
    "job",
    "node",
    "slot",
    "now",
    "h",
]


@pytest.mark.quick(6)
@pytest.mark.parametrize("word", SOFT)
def test_words_with_a_meaning_elsewhere_are_names(word: str) -> None:
    text = f"""
    model {word} extends {word} "d" {{
      set {word} within {word};
      param {word}[{word} in {word}] in {word} default {word};
      var {word}[{word}] <= {word} + {word}[{word}];
      minimize {word} in {word} {{ {word}: sum[{word} in {word}] {word}[{word}] * {word}; }}
      constraint {word}[{word} in {word}]: {word}[{word}] in {word};
      option {word} in {{ {word} }} default {word};
      drop {word};
      placement {word}[{word}] {{ {word} {word} of {word} in {word}; }}
      decompose by {word};
    }}
    scenario {word} for {word} {{
      {word} = {word};
      {word}[{word}] = {{ {word}, {word} }};
      {word} ~ {word}({word} = {word});
      table {word}: {word} = {word} {word} ;
      data "f" {{ {word}[{word}, {word}({word})] = {word}({word}); }}
    }}
    policy {word} for {word} {{ let {word} = {word}; order {word} in {word} by {word}; place {word}({word}); }}
    online {word} for {word} {{ carry {word}[{word}] = {word}; arrive {word} in {word} at {word}; }}
    test {word} {{ solve {word} ({word} = {word}) with {word}; expect {word} == {word}; }}
    """
    file = parsed(text)
    scenario = file.blocks[1]
    assert isinstance(scenario, tree.Scenario)
    assert [type(s).__name__ for s in scenario.statements] == ["Assign", "Assign", "Draw", "Table", "Data"]


def test_unicode_names_byte_order_mark_and_line_ends() -> None:
    file = parsed("\ufeffmodel Größe {\r\n\tvar länge in µs; # Ende\r\n}\r\n")
    assert next(nodes_in(file.blocks[0], tree.VarDecl)).name.text == "länge"
    assert parsed("").blocks == parsed("# nothing\n").blocks == ()


def test_a_comment_ends_at_any_line_end() -> None:
    (model,) = parsed("model M { # one\rset A;\n}").blocks
    assert isinstance(model, tree.ModelBlock)
    assert len(model.statements) == 1


# --- whole files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", TOUR, ids=lambda p: p.name)
def test_the_tour_parses(path: Path) -> None:
    diagnostics = Diagnostics()
    file = parse(Source(path.name, path.read_text()), diagnostics)
    assert not list(diagnostics)
    assert file.blocks
    for block in file.blocks:
        for node in nodes_in(block, tree.Node):
            assert 0 <= block.span.start <= node.span.start <= node.span.end <= block.span.end


def test_the_tour_says_what_it_should() -> None:
    path = next(p for p in TOUR if p.name == "capacity_planning.gsm")
    blocks = parsed(path.read_text()).blocks
    assert [type(b).__name__ for b in blocks] == ["ModelBlock", *["Policy"] * 4, "Online"]
    model = blocks[0]
    assert isinstance(model, tree.ModelBlock)
    objective = next(s for s in model.statements if isinstance(s, tree.ObjectiveDecl))
    assert [shown(t.name) for t in objective.terms] == ["lateness", "postponed", "idle", "rent"]
    assert shown(objective.terms[3].value) == (
        "(sum[j:Jobs, n:Nodes, (v, g):Configs] ((((g / gpus[v]) * price[v]) * exec_time[j, v, g]) * run[j, n, v, g]))"
    )


def test_parsing_is_repeatable_and_leaves_the_collector_on() -> None:
    text = TOUR[0].read_text()
    first, second = parse(Source("a", text), Diagnostics()), parse(Source("b", text), Diagnostics())
    assert all(same_tree(a, b) for a, b in zip(first.blocks, second.blocks, strict=True))
    assert gc.isenabled()
