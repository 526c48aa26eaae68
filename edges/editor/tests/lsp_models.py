"""A small model and its scenario, for the tests of the language server; and a session that has them open."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from gsdsl_editor.document import Document
from gsdsl_editor.session import EditorSession

MODEL = """model Small "a small model" {
  set Jobs "the jobs";
  set Nodes;
  param hours[Jobs] in h >= 0 "length of a job";
  param price[Nodes] in $/h;
  var on[j in Jobs, n in Nodes] binary;
  let cost = sum[j in Jobs, n in Nodes] price[n] * hours[j] * on[j, n];
  minimize total: cost;
  constraint once[j in Jobs]: sum[n in Nodes] on[j, n] == 1;
  option rule in { strict, loose } default strict;
  when rule == loose { constraint few: sum[j in Jobs, n in Nodes] on[j, n] <= 5; }
}
"""
LARGER = """import "small.gsm";
model Larger extends Small {
  param late[Jobs] in h default 0[h];
  override constraint once[j in Jobs]: sum[n in Nodes] on[j, n] >= 1;
  constraint soon[j in Jobs]: sum[n in Nodes] hours[j] * on[j, n] >= late[j];
}
"""
SCENARIO = """import "small.gsm";
scenario Two for Small {
  Jobs = { a, b };
  Nodes = { n1 };
  rule = strict;
  table Jobs: hours[h] = a 1 b 2;
  table Nodes: price[$/h] = n1 2;
}
test T { solve Two with highs; expect total == 6[$]; }
"""
FILES = {"small.gsm": MODEL, "larger.gsm": LARGER, "two.gsm": SCENARIO}


def session_in(folder: Path, *names: str) -> tuple[EditorSession, dict[str, Document]]:
    """The files of a folder, and a session in which some of them are open."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    session = EditorSession()
    session.folders = [folder]
    return session, {name: session.open((folder / name).as_uri(), FILES[name]) for name in names}


def place(text: str, where: str, after: int = 0) -> types.Position:
    """The position some characters after the start of the first occurrence of a text."""
    offset = text.index(where) + after
    before = text[:offset]
    return types.Position(before.count("\n"), offset - (before.rfind("\n") + 1))


def text_at(text: str, found: types.Range) -> str:
    """The text of a range within one line."""
    assert found.start.line == found.end.line
    return text.split("\n")[found.start.line][found.start.character : found.end.character]


def applied(text: str, edits: list[types.TextEdit]) -> str:
    """A text of ASCII characters after edits."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def offset(position: types.Position) -> int:
        return starts[position.line] + position.character

    for edit in sorted(edits, key=lambda e: offset(e.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text
