"""The words of a block after an edit are those of the new text."""

from __future__ import annotations

from gsdsl_editor.parsed_text import parse_text
from gsdsl_editor.words import BlockWords

TEXT = """
import "other.gsm";
model A extends B {
  set Jobs;
  param p[j in Jobs] >= 0;
  var x[Jobs] <= sum[k in Kinds] limit[k, "night"];
}
scenario S for A { Jobs = { one, two }; }
"""


def test_words_follow_edits() -> None:
    words, parsed = BlockWords(), parse_text(TEXT, "text")
    _, model, scenario = parsed.file.blocks
    assert words.of(model) == {"A", "B", "Jobs", "p", "j", "x", "k", "Kinds", "limit", "night"}
    assert {"S", "A", "Jobs"} <= words.of(scenario)
    for before, after in (("limit[k", "most[k"), ("  set Jobs;\n", ""), ("extends B", "extends C"), ("p[j", "q[i")):
        edited = parse_text(parsed.source.text.replace(before, after), "text", None, parsed)
        words.keep(edited.file.blocks)
        for block in edited.file.blocks:
            assert words.of(block) == BlockWords().of(block)
        parsed = edited
    assert words.of(parsed.file.blocks[1]) == {"A", "C", "Jobs", "q", "i", "x", "k", "Kinds", "most", "night"}
