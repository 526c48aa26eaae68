"""The language server has the limit of statements that `gsdsl check` has, for each text of an edited document."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusched_dsl.compiling.build import Permissions
from gpusched_dsl.language.checking import model as checking
from gpusched_dsl.language.checking import total_size
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.workflows.check import check_all
from gsdsl_editor.session import EditorSession

BASE = "model A { param p = 1; var x >= p; minimize c: x; }\n"
LIMIT = 30


def text_of(blocks: int) -> str:
    return BASE + "".join(f"model B{i} extends A {{ var y{i} >= q; }}\n" for i in range(blocks))


def codes(session: EditorSession, uri: str, text: str) -> list[str]:
    session.open(uri, text)
    return [d.code for d in session.found(uri)]


@pytest.mark.parametrize("imported", [False, True])
def test_each_edit_has_the_findings_of_a_check(imported: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(total_size, "MOST_STATEMENTS", LIMIT)
    session, uri = EditorSession(), (tmp_path / "m.gsm").as_uri()
    seen = set()
    for blocks in (2, 6, 7, 40, 7, 6, 2):
        text = text_of(blocks)
        if imported:
            (tmp_path / "all.gsm").write_text(text, encoding="utf-8")
            text = 'import "all.gsm";\n'
        found = codes(session, uri, text)
        workspace = session.document(uri).workspace
        expected = Diagnostics()
        check_all(workspace, expected, Permissions())
        # The findings on an imported file are shown in that file.
        assert found == [d.code for d in expected if not imported or d.code == "GSM6031"]
        seen.add(tuple(sorted(set(found))))
    assert ("GSM6031",) in seen
    assert len(seen) == 2


def test_nothing_is_checked_beyond_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(total_size, "MOST_STATEMENTS", LIMIT)
    monkeypatch.setattr(checking, "_check", lambda *arguments: pytest.fail("a model was checked"))
    assert codes(EditorSession(), (tmp_path / "m.gsm").as_uri(), text_of(40)) == ["GSM6031"]
