"""Syntax errors: the correct code at the correct place, separate errors, many per file, and no loss around them."""

from __future__ import annotations

import pytest

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.codes import CODES
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.parsing.parser import parse
from gpusched_dsl.language.parsing.recovery import MAX_ERRORS
from gpusched_dsl.language.source import Source, Span


def errors(text: str) -> tuple[tree.File, list[Diagnostic]]:
    diagnostics = Diagnostics()
    file = parse(Source("t.gsm", text), diagnostics)
    for found in diagnostics:
        assert found.code in CODES
        assert isinstance(found.primary, Span)
        assert 0 <= found.primary.start <= found.primary.end <= len(text)
    return file, list(diagnostics)


def place(found: Diagnostic) -> tuple[str, str, int]:
    assert isinstance(found.primary, Span)
    return found.code, found.primary.text, found.primary.column


# (text of a model, code, underlined text, a piece of the message or help)
IN_A_MODEL = [
    ("var x", "GSM1011", "", "add `;`"),
    ("var x\n  var y;", "GSM1011", "", "add `;`"),
    ("var x var y;", "GSM1011", "", "add `;`"),
    ("var x;;", "GSM1018", ";", "remove it"),
    ("constraint c: x = 1;", "GSM1016", "=", "write `==`"),
    ("when o = a { var x; }", "GSM1016", "=", "write `==`"),
    ("param p := 3;", "GSM1017", ":=", "write `=`"),
    ("constraint c: x && y;", "GSM1017", "&&", "write `and`"),
    ("constraint c: x ≤ y;", "GSM1017", "≤", "write `<=`"),
    ("constraint c: x =< y;", "GSM1017", "=<", "write `<=`"),
    ("let x = a ** b;", "GSM1017", "**", "write `^`"),
    ("var x; // a comment", "GSM1017", "//", "begin with `#`"),
    ("var x; /* a\n comment */ var y;", "GSM1017", "/*", "begin with `#`"),
    ("let x = 'a';", "GSM1017", "'a'", 'write `"a"`'),
    ("set A = { v | v in B };", "GSM1017", "|", "write `:`"),
    ('let x = y["a];', "GSM1006", '"a', "no closing quote"),
    ('let x = "a\\qb";', "GSM1006", "\\q", "not an escape sequence"),
    ("let x = 3 ?;", "GSM1005", "?", "`?`"),
    ("let x = 3 \x07;", "GSM1005", "\x07", "U+0007"),
    ("let x = 1e999;", "GSM1007", "1e999", "too large"),
    ("let x = 1e-999;", "GSM1007", "1e-999", "too small"),
    ("let x = 9007199254740993;", "GSM1007", "9007199254740993", "too many digits"),
    ("let x = a +;", "GSM1010", ";", "expected an expression"),
    ("let x = 15 min;", "GSM1010", "min", "`15[min]`"),
    ("let x = 3 y;", "GSM1010", "y", "write a product with `*`"),
    ("let x = a + if b then c else d;", "GSM1010", "if", "parentheses around"),
    ("let x = 2 * any[j in J] y[j];", "GSM1010", "any", "parentheses around"),
    ("let x = (y else 3);", "GSM1010", "else", "only a subscripted name"),
    ("let x = (y[1] + 2 else 3);", "GSM1010", "else", "only a subscripted name"),
    ("let x = a < b in C;", "GSM1010", "in", "expected"),
    ("var x[j in J;", "GSM1012", "[", "is not closed"),
    ("let x = (a + b;", "GSM1012", "(", "is not closed"),
    ("let x = a + b);", "GSM1013", ")", "no opening bracket"),
    ("let x = y[a);", "GSM1013", ")", "write `]`"),
    ("param count[J];", "GSM1014", "count", "reserved word"),
    ("let x = y + var;", "GSM1014", "var", "reserved word"),
    ("parm p;", "GSM1015", "parm", "`param`"),
    ("PARAM p;", "GSM1015", "PARAM", "`param`"),
    ("constrain c: x <= 1;", "GSM1015", "constrain", "`constraint`"),
    ("minimise x;", "GSM1015", "minimise", "`minimize`"),
    ("maximise x;", "GSM1015", "maximise", "`maximize`"),
    ("variable x;", "GSM1015", "variable", "`var`"),
    ("param p int;", "GSM1015", "int", "`integer`"),
    ("set A orderd;", "GSM1015", "orderd", "`ordered`"),
    ("let x = sum(i in I) y[i];", "GSM1020", "sum(", "square brackets"),
    ("let x = 2 * sum(i in I, k in K) y[i] + 3;", "GSM1020", "sum(", "square brackets"),
    ("let x = max(y[i] for i in I);", "GSM1020", "max(", "square brackets"),
    ("let x = sum{i in I} y[i];", "GSM1020", "sum{", "square brackets"),
    ("var x[j+1 in J];", "GSM1021", "j+1", "an index must be a name"),
    ("set A = { B where c };", "GSM1021", "B", "needs a name"),
    ("param p in 60*s;", "GSM1022", "60", "the only number"),
    ("param p in h^1.5;", "GSM1022", "1.5", "integer"),
    ("param p in h^0;", "GSM1022", "0", "integer"),
    ("param p in (h^50)^50;", "GSM1022", "50", "integer"),
    ("set A ordered ordered;", "GSM1023", "ordered", "given twice"),
    ('set A "a" "b";', "GSM1023", '"b"', "given twice"),
    ("param p binary integer;", "GSM1023", "integer", "given twice"),
    ('constraint c "a": x <= 1 "b";', "GSM1023", '"b"', "given twice"),
    ("when o { var x; set Y; } else { set Z; }", "GSM1010", "{", "expected"),
    ("let x = f(a given b);", "GSM1024", "given b", "only in"),
]


@pytest.mark.parametrize(("text", "code", "underlined", "words"), IN_A_MODEL)
def test_mistakes_in_a_model(text: str, code: str, underlined: str, words: str) -> None:
    file, found = errors(f"model M {{\n  set First;\n  {text}\n  set Last;\n}}\nmodel N {{ }}")
    assert len(found) == 1, [f.message for f in found]
    assert place(found[0])[:2] == (code, underlined)
    assert words in f"{found[0].message} / {found[0].help}"
    names = [b.name.text for b in file.blocks if isinstance(b, tree.ModelBlock)]
    assert names == ["M", "N"]
    model = file.blocks[0]
    assert isinstance(model, tree.ModelBlock)
    sets = [s.name.text for s in model.statements if isinstance(s, tree.SetDecl)]
    assert [sets[0], sets[-1]] == ["First", "Last"]


@pytest.mark.parametrize(
    ("text", "code", "underlined", "words"),
    [
        ("scenario S for M { tabel T: a = 1 2; }", "GSM1015", "tabel", "`table`"),
        ("scenario S for M { x = 3\n y = 4; }", "GSM1011", "", "add `;`"),
        ("scenario S for M { x = 3 y = 4; }", "GSM1011", "", "add `;`"),
        ("scenario S for M { table T: a = v 3\n y = 4; }", "GSM1011", "", "add `;`"),
        ("scenario S for M { table T: a = min 3; }", "GSM1014", "min", 'quote a label: `"min"`'),
        ("scenario S for M { N = { a, set }; }", "GSM1014", "set", 'quote a label: `"set"`'),
        ("scenario S fro M { x = 3; }", "GSM1015", "fro", "`for`"),
        ("scenario S for M x = 3; }", "GSM1010", "", "add `{`"),
        ("scenario S for M\n x = 3; }", "GSM1010", "", "add `{`"),
        ("scenario { x = 3; }", "GSM1010", "{", "expected a name"),
        ("scenario S for A for B { x = 3; }", "GSM1023", "for B", "given twice"),
        ('scenario S for M { data "f" { p[a] = mean(b, c); } }', "GSM1025", "c", "one column"),
        ("policy P for M { place swap(a = 3); }", "GSM1025", "a = 3", "no names"),
        ("policy P for M { order j in J by x[j] desc; }", "GSM1015", "desc", "`descending`"),
        ("online O { carry s = 1; }", "GSM1023", "O", "does not name a model"),
        ("online O for M { replan at arrival; }", "GSM1010", "arrival", "write `replan on arrival`"),
        ("test T { solve S with highs; expect x == 1 }", "GSM1011", "", "add `;`"),
        ("test T { expect x = 1; }", "GSM1016", "=", "write `==`"),
        ("modle M { }", "GSM1015", "modle", "`model`"),
        ('import "x.gsm"\nmodel M { }', "GSM1011", "", "add `;`"),
        ("import x;", "GSM1010", "x", "a text in quotes"),
        ("model M { } }", "GSM1013", "}", "no opening bracket"),
        ("3 + 4;", "GSM1010", "3", "expected a block"),
        ("campaign C for M { vary x in {1, 2};", "GSM1012", "{", "is not closed"),
        ("campaign C;", "GSM1010", ";", "expected"),
        ("campaign C { vary x 1; }", "GSM1010", "1", "expected"),
        ("campaign C { solve S with ; }", "GSM1010", ";", "a name"),
    ],
)
def test_mistakes_in_other_places(text: str, code: str, underlined: str, words: str) -> None:
    file, found = errors(text + "\nmodel Last { set A; }")
    found = [f for f in found if f.severity == "error"]
    assert place(found[0])[:2] == (code, underlined)
    assert len(found) == 1, [f.message for f in found]
    assert words in f"{found[0].message} / {found[0].help}"
    last = file.blocks[-1]
    assert isinstance(last, tree.ModelBlock)
    assert (last.name.text, len(last.statements)) == ("Last", 1)


def test_an_unclosed_block_points_at_its_brace() -> None:
    file, (found,) = errors("model A {\n  var x;\n\nmodel B {\n  var y;\n}\n")
    assert place(found) == ("GSM1012", "{", 9)
    assert isinstance(found.secondary[0].place, Span)
    assert found.secondary[0].place.text == "model"
    assert [len(b.statements) for b in file.blocks if isinstance(b, tree.ModelBlock)] == [1, 1]


def test_an_unclosed_block_at_the_end_of_the_text() -> None:
    _, (found,) = errors("model A {\n  var x;")
    assert place(found) == ("GSM1012", "{", 9)


def test_an_unclosed_inner_block_ends_before_the_next_declaration() -> None:
    file, (found,) = errors("model A {\n  minimize t {\n    a: x;\n  constraint c: x <= 1;\n}\n")
    assert place(found) == ("GSM1012", "{", 14)
    model = file.blocks[0]
    assert isinstance(model, tree.ModelBlock)
    assert [type(s).__name__ for s in model.statements] == ["ObjectiveDecl", "ConstraintDecl"]


def test_a_missing_semicolon_points_behind_the_statement() -> None:
    _, (found,) = errors("model A {\n  set Jobs   # all of them\n  var x;\n}\n")
    assert place(found) == ("GSM1011", "", 11)
    assert isinstance(found.primary, Span)
    assert found.primary.line == 2


def test_many_errors_in_one_text() -> None:
    lines = ["model M {"]
    for i in range(10):
        lines += [f"  var x{i};", f"  constraint c{i}: x{i} <= ;"]
    file, found = errors("\n".join([*lines, "}"]))
    assert [place(f)[:2] for f in found] == [("GSM1010", ";")] * 10
    assert [f.primary.line for f in found if isinstance(f.primary, Span)] == list(range(3, 23, 2))
    model = file.blocks[0]
    assert isinstance(model, tree.ModelBlock)
    assert len(model.statements) == 10


def test_a_mistake_in_the_head_of_a_block_does_not_hide_those_inside() -> None:
    file, found = errors("model M + N {\n  var x y;\n  set A;\n}\nmodel K { }")
    assert [f.code for f in found] == ["GSM1010", "GSM1010"]
    assert [b.name.text for b in file.blocks if isinstance(b, tree.ModelBlock)] == ["K"]


def test_the_number_of_errors_is_bounded() -> None:
    _, found = errors("model M {" + "var ;" * 200 + "}")
    assert len(found) == MAX_ERRORS + 1
    assert found[-1].code == "GSM1019"


def test_expected_words_are_short_and_human() -> None:
    _, (found,) = errors("model M { param p[J] in h 3; }")
    assert found.message == (
        "expected an operator, `;`, `=`, `binary`, `default`, `in`, `integer`, ..., found `3`"
    ) or found.message.startswith("expected ")
    assert "LSQB" not in found.message
    assert found.message.isascii()
    assert len(found.message) < 120


# --- limits ----------------------------------------------------------------------------------------------------------


def test_brackets_may_be_nested_200_deep() -> None:
    ok = "model M { let x = " + "(" * 199 + "1" + ")" * 199 + "; }"
    file, found = errors(ok)
    assert found == []
    assert len(file.blocks) == 1


@pytest.mark.parametrize("opening", ["(", "x[", "{", "f(", "sum[i in "])
def test_deeper_brackets_are_refused(opening: str) -> None:
    file, (found,) = errors("model M { let x = " + opening * 100_000)
    assert found.code == "GSM1004"
    assert file.blocks == ()


@pytest.mark.quick(3)
@pytest.mark.parametrize(
    "chain",
    [
        "1" + " + 1" * 20_000,
        "-" * 50_000 + "1",
        "not " * 50_000 + "a",
        "2" + "^2" * 5_000,
        "a" + " => a" * 5_000,
        "if a then b else " * 5_000 + "c",
        "sum[i in I] " * 5_000 + "1",
        "1[h" + "*h" * 5_000 + "]",
        "A" + " union A" * 5_000,
    ],
    ids=lambda c: c[:12],
)
def test_long_chains_are_refused_and_do_not_overflow(chain: str) -> None:
    _, (found,) = errors(f"model M {{ let x = {chain}; }}")
    assert found.code == "GSM1004"
    assert found.help is not None
    assert "let" in found.help


@pytest.mark.slow
def test_long_lists_are_not_deep() -> None:
    labels = ", ".join(f"n{i}" for i in range(20_000))
    file, found = errors(f"scenario S for M {{ N = {{ {labels} }}; }}")
    assert found == []
    assert len(file.blocks) == 1


def test_the_size_of_a_text_is_bounded() -> None:
    _, (found,) = errors("# " + "x" * 1_000_000)
    assert found.code == "GSM1003"
    _, (found,) = errors("a " * 200_001)
    assert found.code == "GSM1003"


def test_many_statements_take_linear_time() -> None:
    statements = "\n".join(f"  constraint c{i}: x{i} <= 1;\n  var y{i} = ;" for i in range(80))
    _, found = errors(f"model M {{\n{statements}\n}}")
    assert len(found) == MAX_ERRORS + 1


def test_runs_of_unknown_characters_are_one_error() -> None:
    _, found = errors("model M { var x; " + "?!@" * 50 + " var y; }")
    assert [f.code for f in found] == ["GSM1005"]


@pytest.mark.parametrize("text", ["model M { override", "model M { then", "model", "test T { expect", "campaign", "}"])
def test_texts_that_end_early(text: str) -> None:
    _, found = errors(text)
    assert found


def test_what_is_lost_is_named() -> None:
    file, _ = errors("model M { param a = ; override constraint c: ; var b; }\nmodel N extends { }")
    assert [n.text for n in file.lost] == ["a", "c", "N"]
