"""Calendars and functions of the clock in an editor."""

from __future__ import annotations

from pathlib import Path

from lsp_models import place, text_at
from lsprotocol import types

from gsdsl_editor.document import Document
from gsdsl_editor.features.completion import completions
from gsdsl_editor.features.diagnostics import client_diagnostics
from gsdsl_editor.features.hover import hover
from gsdsl_editor.features.navigation import definition
from gsdsl_editor.session import EditorSession

TEXT = """model M {
  set Free;
  param day = weekday(3[h]);
  var x >= 0;
  minimize cost: day * x;
}
scenario S for M {
  calendar from "2026-10-05" in "Europe/Berlin" holidays Free;
  Free = { "2026-12-25" };
}
online O for M {
  replan at 9:00 on weekdays;
}
"""


def opened(folder: Path, text: str) -> tuple[EditorSession, Document]:
    session = EditorSession()
    session.folders = [folder]
    return session, session.open((folder / "m.gsm").as_uri(), text)


def test_a_function_is_explained(tmp_path: Path) -> None:
    found = hover(opened(tmp_path, TEXT)[1], place(TEXT, "weekday("))
    assert found is not None
    assert isinstance(found.contents, types.MarkupContent)
    assert "1 for Monday to 7" in found.contents.value


def test_the_set_of_holidays_leads_to_its_declaration(tmp_path: Path) -> None:
    found = definition(opened(tmp_path, TEXT)[1], place(TEXT, "holidays Free", 9))
    assert [text_at(TEXT, each.range) for each in found] == ["Free"]
    assert found[0].range.start.line == 1


def completed(folder: Path, text: str) -> list[str]:
    _, document = opened(folder, text.replace("|", ""))
    return [item.label for item in completions(document, place(text, "|")).items]


def test_functions_and_statements_are_completed(tmp_path: Path) -> None:
    assert {"weekday", "hour_of_day", "is_holiday"} <= set(completed(tmp_path, TEXT.replace("3[h]", "3[h]) + |(2[h]")))
    assert "calendar" in completed(tmp_path, TEXT.replace("  Free =", "  |\n  Free ="))
    assert {"at", "on"} <= set(completed(tmp_path, TEXT.replace("replan at 9:00 on weekdays;", "replan |")))


def test_a_missing_calendar_is_shown_in_the_model(tmp_path: Path) -> None:
    text = TEXT.replace('  calendar from "2026-10-05" in "Europe/Berlin" holidays Free;\n', "")
    session, document = opened(tmp_path, text)
    [found] = [d for d in client_diagnostics(document, session.found(document.uri)) if d.code == "GSM1692"]
    assert text_at(text, found.range) == "weekday(3[h])"
