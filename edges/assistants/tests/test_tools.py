"""The parts of the server that need no client: edits, repairs, pages, limits of answers."""

from __future__ import annotations

from pathlib import Path

import navigation
import pytest

from gpusched_dsl.language.diagnostics.codes import CODES
from gpusched_dsl.language.pages import error_sections, headings, page_titles, read_page, section
from gsdsl_assistants import reading
from gsdsl_assistants.child import answer
from gsdsl_assistants.edits import edited_text
from gsdsl_assistants.limits import CallRefused
from gsdsl_assistants.repair import MOST_ROUNDS, repair
from gsdsl_assistants.shortening import shorten

ROOT = Path(__file__).resolve().parents[3]


def edit(line: int, column: int, end_column: int, text: str, file: str = "a.gsm") -> dict[str, object]:
    return {"file": file, "line": line, "column": column, "end_line": line, "end_column": end_column, "text": text}


def test_edits_by_lines_and_columns() -> None:
    text = "one two\r\nthree\n"
    edits = [edit(2, 1, 6, "drei"), edit(1, 1, 4, "eins"), edit(1, 5, 5, "und "), edit(3, 1, 1, "#")]
    assert edited_text(text, edits) == "eins und two\r\ndrei\n#"


def test_of_overlapping_edits_the_first_is_made() -> None:
    assert edited_text("abcdef", [edit(1, 1, 4, "X"), edit(1, 3, 6, "Y"), edit(1, 6, 7, "Z")]) == "XdeZ"


def test_repairs_end(tmp_path: Path) -> None:
    """Edits that undo each other, and edits of files elsewhere."""
    file = tmp_path / "a.gsm"
    file.write_text("x", encoding="utf-8")
    (tmp_path.parent / "b.gsm").write_text("x", encoding="utf-8")

    def find() -> list[dict[str, object]]:
        other = "y" if file.read_text(encoding="utf-8") == "x" else "x"
        edits = [edit(1, 1, 2, other), edit(1, 1, 2, other, "../b.gsm"), edit(1, 1, 2, other, "--set")]
        return [{"severity": "error", "edits": edits}]

    done = repair(tmp_path, find)
    assert done.rounds == MOST_ROUNDS
    assert not done.is_mended
    assert done.texts == {"a.gsm": "x"}
    assert (tmp_path.parent / "b.gsm").read_text(encoding="utf-8") == "x"


def test_long_lists_are_cut_and_counted() -> None:
    document = {"a": [1, 2, 3], "b": [{"c": [1, 2, 3, 4]}], "d": "x"}
    assert shorten(document, 2) == ({"a": [1, 2], "b": [{"c": [1, 2]}], "d": "x"}, {"a": 1, "b[0].c": 2})
    assert shorten(document, 4) == (document, {})


def test_a_repair_over_several_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.gsm").write_text("model M { Param weight = 3; var x >= 0; minimise x + wieght; }", encoding="utf-8")
    call = {"file": "model.gsm", "allow_outside": False, "limits": {}, "arguments": {}}
    checked = answer({"tool": "check", **call})
    assert not checked["ok"]
    assert checked["fixed_text"] == "model M { param weight = 3; var x >= 0; minimize x + wieght; }"
    done = answer({"tool": "repair", **call})
    assert done["ok"]
    assert done["rounds"] == 2
    assert done["texts"] == {"model.gsm": "model M { param weight = 3; var x >= 0; minimize x + weight; }"}


def test_pages() -> None:
    assert sorted(path.stem for path in navigation.pages()) == list(page_titles())
    assert error_sections().keys() == CODES.keys()
    page = read_page("assistants")
    assert section(page, "limits").startswith("## Limits\n")
    assert "\n## " not in section(page, "Limits")
    assert "Limits" in headings(page)
    for name in ("../pyproject", "nothing", "models/x", ""):
        with pytest.raises(KeyError):
            read_page(name)


def test_what_is_read_in_parts_is_complete() -> None:
    parts, start = [], 0
    while True:
        part = reading.read("language", None, start)
        parts.append(part["text"])
        if "next" not in part:
            break
        assert part["next"] > start
        start = part["next"]
    assert "".join(parts) == read_page("language")


@pytest.mark.parametrize("name", ["errors", "docs/reference/errors.md", "tutorial", "docs/tutorial.md"])
def test_pages_are_read_by_name_or_path(name: str) -> None:
    assert reading.page_text(name) == read_page(name.rpartition("/")[2].removesuffix(".md"))


def test_unknown_names_are_refused_with_a_hint() -> None:
    with pytest.raises(CallRefused, match="did you mean `language`"):
        reading.read("langauge")
    with pytest.raises(CallRefused, match="no section"):
        reading.read("language", "Nothing")
    with pytest.raises(CallRefused, match="GSM1001"):
        reading.read_code("GSM1000")
    with pytest.raises(CallRefused, match="no shipped model"):
        reading.read_model("nothing.gsm")
    assert "model CapacityPlanning" in reading.read_model("gsdsl:capacity_planning/model.gsm")
