"""The one layout: idempotent, true to the text, comments kept."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.formatting import layout
from gpusched_dsl.language.formatting.formatter import format_text
from gpusched_dsl.language.parsing.parser import parse
from gpusched_dsl.language.source import Source
from gpusched_dsl.language.tree_walk import same_file

ROOT = Path(__file__).parent.parent
TEXTS = sorted([*(ROOT / "tour").glob("*.gsm"), *(ROOT.parent / "models").rglob("*.gsm")])


def check(before: str, after: str) -> None:
    """Formatting gives `after`, and leaves that alone."""
    after = dedent(after).lstrip("\n")
    assert format_text(dedent(before)) == after
    assert format_text(after) == after


@pytest.mark.quick(3)
@pytest.mark.parametrize("path", TEXTS, ids=lambda p: p.name)
def test_real_texts_keep_their_meaning_and_their_comments(path: Path) -> None:
    text = path.read_text()
    formatted = format_text(text, path.name)
    assert format_text(formatted) == formatted
    before, after = Diagnostics(), Diagnostics()
    assert same_file(parse(Source("a", text), before), parse(Source("b", formatted), after))
    assert [d.code for d in before] == [d.code for d in after]
    assert formatted.count("#") == text.count("#")
    assert "\t" not in formatted
    assert not any(line != line.rstrip() for line in formatted.split("\n"))
    assert "\n\n\n" not in formatted


def test_blanks_between_words() -> None:
    check(
        """
        model   M{set A;set   B={1 , 2};param p[ j in A,B ]in   $ / h>=0   default   1 [ $/h ]"doc";
        let x=-a+b*-c^2-(d-1)+sum [j in A]y [ j - 1 ] *f( a ,b = 2 )+z[2*j-1];
        constraint c[j in A] :a<=b=>not c;
        set C={(v,g):v in A,g in 1 .. n[ v ]}; set D={ };
        }
        scenario S for M{x=- 3;data"f"{p[a,slot( t,15 [min] )]=mean( c [ s ] );}}
        test T{solve S(a=1)with highs(gap=0),scip;expect x [ "a" ]==1;}
        """,
        """
        model M { set A;  set B = { 1, 2 };  param p[j in A, B] in $/h >= 0 default 1[$/h] "doc";
          let x = -a + b * -c^2 - (d - 1) + sum[j in A] y[j-1] * f(a, b = 2) + z[2 * j - 1];
          constraint c[j in A]: a <= b => not c;
          set C = { (v, g) : v in A, g in 1..n[v] };  set D = {};
        }
        scenario S for M { x = -3;  data "f" { p[a, slot(t, 15[min])] = mean(c[s]); } }
        test T { solve S (a = 1) with highs (gap = 0), scip;  expect x["a"] == 1; }
        """,
    )


def test_units_are_set_tight_wherever_they_stand() -> None:
    check(
        "model M { param p in W * min / ( request*h ) ^ 2; param q = 3 [ 1 / h ] * 2; minimize t in $ : a / b; }",
        "model M { param p in W*min/(request*h)^2;  param q = 3[1/h] * 2;  minimize t in $: a / b; }\n",
    )


def test_policies_and_placements() -> None:
    check(
        """
        model M { placement run [j,v] { job j; uses g   of gpus[v]; lasts ( a+b ); } check [ j in J ] : a[j]>0 "m"; }
        policy P for M { choose(v,g) in C where a<b by g/2 descending,h; place swap( 5 ),grow by speedup; }
        policy Q for M { improve 3  best rounds all with a( 2 ); improve n rounds 2*k with c; split k  controllers; }
        online O for M { replan on arrival , every 4   slots; carry d[j]=- d[j]; }
        """,
        """
        model M { placement run[j, v] { job j;  uses g of gpus[v];  lasts (a + b); }  check [j in J]: a[j] > 0 "m"; }
        policy P for M { choose (v, g) in C where a < b by g / 2 descending, h;  place swap(5), grow by speedup; }
        policy Q for M { improve 3 best rounds all with a(2);  improve n rounds 2 * k with c;  split k controllers; }
        online O for M { replan on arrival, every 4 slots;  carry d[j] = -d[j]; }
        """.replace("}  check", "} check"),
    )


def test_decompositions() -> None:
    check(
        "model M { decompose  by\n Batch ; when a==b { decompose by decompose; } drop decompose; }",
        """
        model M { decompose by
            Batch;  when a == b { decompose by decompose; } drop decompose; }
        """,
    )


def test_indentation_follows_blocks_statements_and_brackets() -> None:
    check(
        """
        model M
        {
              set C = {
            (v, g) : v in A,
                g in B
              };
        let x =
        a
        + sum[i in I] (b
        + c)
        ;
            when o == a {
            when p == b {
            var y; }
              # inner
            } else {
                  var z; }

            minimize t in $ {
            a: x
            + y;
            }
        }
        """,
        """
        model M {
          set C = {
            (v, g) : v in A,
            g in B
          };
          let x =
            a
            + sum[i in I] (b
              + c);
          when o == a {
            when p == b {
              var y; }
            # inner
          } else {
            var z; }

          minimize t in $ {
            a: x
              + y;
          }
        }
        """,
    )


def test_comments_stay_where_they_are() -> None:
    check(
        """
        # head


        model M {   # of the model

            # before a
          set A;# on a
          param bbbb[A];      # on b
          # alone

          let x = a  # in the middle
            # between
            + b;
          var y; # alone again

          # at the end
        }
        # last
        """,
        """
        # head

        model M {  # of the model
          # before a
          set A;          # on a
          param bbbb[A];  # on b
          # alone

          let x = a  # in the middle
            # between
            + b;
          var y;  # alone again

          # at the end
        }
        # last
        """,
    )


def test_a_comment_keeps_what_follows_it_on_the_next_line() -> None:
    check(
        "model M # a\n{ set A # b\n; }\n",
        "model M  # a\n{ set A  # b\n    ; }\n",
    )


def test_empty_lines() -> None:
    check(
        "\n\n\nmodel M {\n\n\n  set A;\n\n\n\n  set B;\n\n}\n\n\n\nmodel N {\n}\n\n\n",
        "model M {\n  set A;\n\n  set B;\n}\n\nmodel N {\n}\n",
    )


def test_tables_in_columns() -> None:
    check(
        """
        scenario S for M {
          table Types, Nodes: gpus price [ $/h ] note =
           v1 n1 4 0.2   "a b"   # first
             v20 "node 2" . -13.75 x # second

            v3 3 8 0.5 y ;
        }
        """,
        """
        scenario S for M {
          table Types, Nodes:  gpus  price[$/h]  note =
            v1   n1            4     0.2         "a b"  # first
            v20  "node 2"      .     -13.75      x      # second

            v3   3             8     0.5         y;
        }
        """,
    )


def test_wide_keys_move_the_head_of_a_table() -> None:
    check(
        """
        scenario S for M {
          table T: a b =
            a_very_long_label 1 2
            b 3 4;
        }
        """,
        """
        scenario S for M {
          table T:             a  b =
            a_very_long_label  1  2
            b                  3  4;
        }
        """,
    )


def test_tables_without_one_row_a_line_keep_their_gaps() -> None:
    check(
        "scenario S for M { table T: a = x 1    y -2 ;\n  table T: a b =\n  x 1 2   y 1 2\n    z 1 2; }",
        "scenario S for M { table T: a = x 1  y -2;\n  table T: a b =\n    x 1 2  y 1 2\n    z 1 2; }\n",
    )


def test_campaigns() -> None:
    check(
        "campaign   C for M {\n   vary   x in {1,2};   # odd \n\n\n"
        "vary(a,b) in {(1,2)};generate g(seed=x); solve S with highs(gap=x) as E,G;\n measure a,b;}",
        "campaign C for M {\n  vary x in { 1, 2 };  # odd\n\n"
        "  vary (a, b) in { (1, 2) };  generate g (seed = x);  solve S with highs (gap = x) as E, G;\n"
        "  measure a, b; }\n",
    )


def test_line_ends_and_byte_order_marks_go() -> None:
    assert format_text("\ufeffmodel M {\r\n\tset A;  # x\r\n}\r\n") == "model M {\n  set A;  # x\n}\n"


def test_empty_texts() -> None:
    assert format_text("") == format_text("  \n\n") == ""
    assert format_text("# a\n\n\n#b") == "# a\n\n#b\n"


def test_texts_with_errors_are_left_alone() -> None:
    with pytest.raises(DiagnosticError) as caught:
        format_text("model M { set A }\nmodel N { set }", "x.gsm")
    assert [d.code for d in caught.value.diagnostics] == ["GSM1011", "GSM1010"]
    with pytest.raises(DiagnosticError):
        format_text("(" * 300)


def test_a_formatter_that_loses_words_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = "gpusched_dsl.language.formatting.formatter.join_lines"
    monkeypatch.setattr(whole, lambda lines: layout.join_lines(lines[:-1]))
    with pytest.raises(RuntimeError, match="changed"):
        format_text("model M {\n}\n")
