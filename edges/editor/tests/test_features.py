"""Each feature on a small model, its extension and its scenario, in files that import each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsp_models import FILES, LARGER, MODEL, SCENARIO, applied, place, session_in, text_at
from lsprotocol import types

from gpusched_dsl.language.formatting.formatter import format_text
from gsdsl_editor.features.code_actions import FIX_ALL, code_actions
from gsdsl_editor.features.code_lenses import code_lenses
from gsdsl_editor.features.completion import completions
from gsdsl_editor.features.diagnostics import client_diagnostics
from gsdsl_editor.features.folding import folding_ranges
from gsdsl_editor.features.formatting import formatting
from gsdsl_editor.features.hover import hover
from gsdsl_editor.features.inlay_hints import inlay_hints
from gsdsl_editor.features.navigation import definition, highlights, references
from gsdsl_editor.features.rename import RenameError, rename
from gsdsl_editor.features.semantic_tokens import TYPES, semantic_tokens
from gsdsl_editor.features.symbols import document_symbols
from gsdsl_editor.plain_mathematics import plain_mathematics

ALL = types.Range(types.Position(0, 0), types.Position(99, 0))


def hovered(folder: Path, where: str, after: int = 0, name: str = "small.gsm") -> str:
    _, open_documents = session_in(folder, name)
    found = hover(open_documents[name], place(FILES[name], where, after))
    assert found is not None
    assert isinstance(found.contents, types.MarkupContent)
    return found.contents.value


def test_hover_shows_declaration_meaning_unit_and_formula(tmp_path: Path) -> None:
    text = hovered(tmp_path, "hours[j]")
    assert "param hours[Jobs] in h" in text
    assert "length of a job" in text
    assert "unit `h`" in text
    assert "hours[j] ≥ 0    for j ∈ Jobs" in text
    assert "∑(n ∈ Nodes) on[j, n] = 1    for j ∈ Jobs" in hovered(tmp_path, "once[")
    assert "unit `$`" in hovered(tmp_path, "cost;")  # inferred
    assert "j in Jobs" in hovered(tmp_path, "j, n] == 1")
    assert "3600 s" in hovered(tmp_path, "in h >=", 3)


def test_formulas_as_text() -> None:
    assert plain_mathematics(r"\frac{a_{i} + b}{c} \leq \left(x\right)^{2}") == "(a[i] + b) / c ≤ (x)²"


def test_definitions_lead_to_other_files(tmp_path: Path) -> None:
    _, files = session_in(tmp_path, "larger.gsm", "two.gsm")
    found = definition(files["larger.gsm"], place(LARGER, "hours[j]"))
    assert [(Path(f.uri).name, text_at(MODEL, f.range)) for f in found] == [("small.gsm", "hours")]
    assert [text_at(MODEL, f.range) for f in definition(files["two.gsm"], place(SCENARIO, "strict"))] == ["strict"]
    assert [text_at(MODEL, f.range) for f in definition(files["two.gsm"], place(SCENARIO, "Small"))] == ["Small"]
    assert [Path(f.uri).name for f in definition(files["two.gsm"], place(SCENARIO, "small.gsm"))] == ["small.gsm"]
    assert [text_at(MODEL, f.range) for f in definition(files["two.gsm"], place(SCENARIO, "total =="))] == ["total"]


def test_references_are_found_in_all_files(tmp_path: Path) -> None:
    session, files = session_in(tmp_path, "small.gsm")
    document = files["small.gsm"]

    def found(where: str, declaration: bool = True) -> dict[str, int]:
        others = session.others(document.uri, where)
        counted: dict[str, int] = {}
        for each in references(document, others, place(MODEL, where), declaration=declaration):
            name = Path(each.uri).name
            assert text_at(FILES[name], each.range) == where
            counted[name] = counted.get(name, 0) + 1
        return counted

    assert found("hours") == {"small.gsm": 2, "larger.gsm": 1, "two.gsm": 1}
    assert found("hours", declaration=False) == {"small.gsm": 1, "larger.gsm": 1, "two.gsm": 1}
    assert found("once") == {"small.gsm": 1, "larger.gsm": 1}
    assert found("Small") == {"small.gsm": 1, "larger.gsm": 1, "two.gsm": 1}
    assert found("strict") == {"small.gsm": 2, "two.gsm": 1}
    index = highlights(document, place(MODEL, "j in Jobs]:"))
    assert [text_at(MODEL, h.range) for h in index] == ["j", "j"]  # not the `j` of other statements


def test_renames_change_all_files_and_keep_their_meaning(tmp_path: Path) -> None:
    session, files = session_in(tmp_path, "small.gsm")
    document = files["small.gsm"]
    edit = rename(document, session.others(document.uri, "Jobs"), place(MODEL, "Jobs"), "Tasks")
    assert edit.changes is not None
    for name, text in FILES.items():
        new = applied(text, list(edit.changes[(tmp_path / name).as_uri()]))
        assert new == text.replace("Jobs", "Tasks")
        session.open((tmp_path / name).as_uri(), new)
    for name in FILES:
        assert session.found(session.refresh((tmp_path / name).as_uri()).uri) == ()


@pytest.mark.parametrize(
    ("where", "new", "reason"),
    [("hours", "2x", "not a name"), ("hours", "param", "reserved"), ("hours", "price", "already has a meaning"),
     ("n in Nodes]", "j", "already has a meaning"), ("binary", "x", "no name")],
)  # fmt: skip
def test_renames_that_change_the_meaning_are_refused(tmp_path: Path, where: str, new: str, reason: str) -> None:
    session, files = session_in(tmp_path, "small.gsm")
    document = files["small.gsm"]
    with pytest.raises(RenameError, match=reason):
        rename(document, session.others(document.uri, "hours"), place(MODEL, where), new)


def completed(folder: Path, text: str, name: str = "small.gsm") -> list[str]:
    """The labels of the completions at `|`, the most fitting ones first."""
    session, _ = session_in(folder, name)
    clean = text.replace("|", "")
    document = session.open((folder / name).as_uri(), clean)
    items = completions(document, place(text, "|")).items
    return [item.label for item in sorted(items, key=lambda item: item.sort_text or "")]


def test_completion_knows_the_set_of_a_subscript(tmp_path: Path) -> None:
    assert completed(tmp_path, MODEL.replace("price[n] *", "price[|] *"))[0] == "n"
    assert completed(tmp_path, MODEL.replace("hours[j] *", "hours[|"))[0] == "j"
    assert completed(tmp_path, MODEL.replace("on[j, n] == 1", "on[j, |] == 1"))[0] == "n"
    assert set(completed(tmp_path, MODEL.replace("sum[n in Nodes] on[j, n] == 1;", "sum[n in |"))[:2]) == {
        "Jobs",
        "Nodes",
    }


def test_completion_knows_units_options_and_statements(tmp_path: Path) -> None:
    units = completed(tmp_path, MODEL.replace("] in h >=", "] in | >="))
    assert {"h", "GB", "$"} <= set(units)
    assert "hours" not in units
    first = completed(tmp_path, SCENARIO.replace("rule = strict;", 'hours["a"] = 2[|]; rule = strict;'), "two.gsm")
    assert {"min", "h", "s"} <= set(first[: first.index("$")])  # units of time come before others
    assert completed(tmp_path, SCENARIO.replace("rule = strict", "rule = |"), "two.gsm")[:2] == ["loose", "strict"]
    begins = completed(tmp_path, MODEL.replace("  set Nodes;", "  |\n  set Nodes;"))
    assert {"param", "constraint", "when"} <= set(begins)
    assert "Small" in completed(tmp_path, SCENARIO.replace("for Small", "for |"), "two.gsm")
    assert "Two" in completed(tmp_path, SCENARIO.replace("solve Two with highs;", "solve |"), "two.gsm")
    assert completed(tmp_path, SCENARIO.replace("rule = strict", 'hours["|"] = 1[h]'), "two.gsm") == ["a", "b"]


def test_diagnostics_and_their_fixes(tmp_path: Path) -> None:
    session, _ = session_in(tmp_path, "small.gsm")
    text = MODEL.replace("price[n] *", "prise[n] *").replace("on[j, n] == 1;", "on[j, n] = 1;")
    document = session.open((tmp_path / "small.gsm").as_uri(), text)
    found = session.found(document.uri)
    shown = client_diagnostics(document, found)
    assert sorted((d.code, text_at(text, d.range)) for d in shown) == [("GSM1016", "="), ("GSM1101", "prise")]
    wrong = next(d for d in shown if d.code == "GSM1101")
    assert "help: did you mean `price`?" in wrong.message
    actions = code_actions(document, found, wrong.range)
    assert [a.kind for a in actions] == [types.CodeActionKind.QuickFix, FIX_ALL]
    fixes = [a.edit.changes[document.uri] for a in actions if a.edit is not None and a.edit.changes is not None]
    assert applied(text, list(fixes[0])) == text.replace("prise", "price")
    assert applied(text, list(fixes[1])) == MODEL
    assert code_actions(document, found, ALL, [types.CodeActionKind.Refactor]) == []


def test_errors_of_imports_are_reported_at_the_import(tmp_path: Path) -> None:
    session, files = session_in(tmp_path, "two.gsm")
    broken = MODEL.replace("price[n] *", "prise[n] *")
    session.open((tmp_path / "small.gsm").as_uri(), broken)
    document = session.refresh(files["two.gsm"].uri)
    shown = client_diagnostics(document, session.found(document.uri))
    assert [(d.code, text_at(SCENARIO, d.range)) for d in shown] == [("GSM1101", '"small.gsm"')]


def test_outline_folds_and_lenses(tmp_path: Path) -> None:
    _, files = session_in(tmp_path, "small.gsm", "two.gsm")
    outline = document_symbols(files["small.gsm"])
    assert [s.name for s in outline] == ["Small"]
    names = [c.name for c in outline[0].children or ()]
    assert names == ["Jobs", "Nodes", "hours", "price", "on", "cost", "total", "once", "rule", "few"]
    assert [(f.start_line, f.end_line) for f in folding_ranges(files["small.gsm"])] == [(0, 11)]
    lenses = code_lenses(files["two.gsm"])
    assert [lens.command.command for lens in lenses if lens.command] == ["gsdsl.solve", "gsdsl.test"]


def test_hints_show_inferred_units(tmp_path: Path) -> None:
    _, files = session_in(tmp_path, "small.gsm")
    hints = inlay_hints(files["small.gsm"], ALL)
    assert [(h.label, h.position.line) for h in hints] == [(" in $", 6), (" in $", 7)]


def test_semantic_tokens_name_what_names_are(tmp_path: Path) -> None:
    _, files = session_in(tmp_path, "small.gsm")
    data = semantic_tokens(files["small.gsm"]).data
    line = column = 0
    found: dict[str, set[str]] = {}
    for at in range(0, len(data), 5):
        lines, columns, length, kind, _ = data[at : at + 5]
        line, column = line + lines, columns if lines else column + columns
        word = MODEL.split("\n")[line][column : column + length]
        found.setdefault(word, set()).add(TYPES[kind])
    assert found["Jobs"] == {"type"}
    assert found["hours"] == {"parameter"}
    assert found["on"] == {"variable"}
    assert found["cost"] == {"property"}
    assert found["strict"] == {"enumMember"}
    assert found["h"] == {"macro"}
    assert found["param"] == {"keyword"}


def test_formatting_is_one_edit_of_the_changed_lines(tmp_path: Path) -> None:
    session, _ = session_in(tmp_path, "small.gsm")
    text = MODEL.replace("  set Nodes;", "     set   Nodes ;")
    document = session.open((tmp_path / "small.gsm").as_uri(), text)
    edits = formatting(document)
    assert len(edits) == 1
    assert edits[0].range.start.line == 2
    assert applied(text, edits) == format_text(text)
    broken = session.open(document.uri, text + "model")
    assert formatting(broken) == []
