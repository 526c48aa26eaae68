"""The TextMate grammar of `editors/vscode`, derived from `grammar/gsm.lark`.

Run as a program, this module writes the grammar to the path that it is given. A word that is a keyword only in some
places is highlighted where a statement begins with it, or where another word follows; language servers refine this.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gpusched_dsl.language.highlighting.words import word_classes
from gpusched_dsl.language.parsing.grammar import vocabulary

_BRACKETS = frozenset("()[]{},;")


def textmate_grammar() -> dict[str, Any]:
    """The grammar as the JSON that editors read."""
    words = word_classes()
    signs = sorted((s for s in vocabulary().signs if s not in _BRACKETS), key=lambda s: (-len(s), s))
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "GSM",
        "scopeName": "source.gsm",
        "fileTypes": ["gsm"],
        "comment": "derived from grammar/gsm.lark: python -m gpusched_dsl.language.highlighting.textmate",
        "patterns": [{"include": f"#{name}"} for name in ("comments", "strings", "heads", "units", "words", "others")],
        "repository": {
            "comments": {"patterns": [{"name": "comment.line.number-sign.gsm", "match": r"#.*$"}]},
            "strings": {
                "patterns": [
                    {
                        "name": "string.quoted.double.gsm",
                        "begin": '"',
                        "end": r'"|$',
                        "patterns": [{"name": "constant.character.escape.gsm", "match": r"\\."}],
                    }
                ]
            },
            "heads": {
                "patterns": [
                    _name_pattern(words.blocks, "keyword.other.block.gsm", "entity.name.type.gsm"),
                    _name_pattern(("extends", "for"), "keyword.other.gsm", "entity.name.type.gsm"),
                    _name_pattern(words.declarations, "keyword.declaration.gsm", "variable.other.gsm"),
                ]
            },
            "units": {
                "patterns": [
                    {
                        "match": rf"({_pattern('NUMBER')})(\[)([^\]\n\"]*)(\])",
                        "captures": {
                            "1": {"name": "constant.numeric.gsm"},
                            "3": {"name": "support.type.unit.gsm"},
                        },
                    }
                ]
            },
            "words": {
                "patterns": [
                    _words(words.blocks, "keyword.other.block.gsm"),
                    _words(words.declarations, "keyword.declaration.gsm"),
                    _words(words.aggregates, "support.function.aggregate.gsm"),
                    _words(words.operators, "keyword.operator.word.gsm"),
                    _words(words.constants, "constant.language.gsm"),
                    _words(words.control, "keyword.control.gsm"),
                    _words(words.reserved, "keyword.other.gsm"),
                    {
                        "match": rf"(?:^|(?<=[;{{}}]))\s*({_any(words.starting)})\b(?!\s*[=~\[(:.])",
                        "captures": {"1": {"name": "keyword.other.gsm"}},
                    },
                    _words((*words.starting, *words.inner), "keyword.other.gsm", r'(?=\s+["\w({$])'),
                ]
            },
            "others": {
                "patterns": [
                    {"name": "constant.numeric.gsm", "match": rf"(?<!\w){_pattern('NUMBER')}"},
                    {"name": "entity.name.function.gsm", "match": r"\b[^\W\d]\w*(?=\()"},
                    {"name": "variable.other.gsm", "match": _pattern("NAME")},
                    {"name": "keyword.operator.gsm", "match": "|".join(map(re.escape, signs))},
                    {"name": "punctuation.terminator.gsm", "match": ";"},
                ]
            },
        },
    }


def _pattern(terminal: str) -> str:
    """The regular expression of a terminal, as in the grammar, without groups that are captured."""
    return re.sub(r"(?<!\\)\((?!\?)", "(?:", vocabulary().patterns[terminal])


def _any(words: Iterable[str]) -> str:
    return "|".join(words)


def _words(words: Iterable[str], scope: str, after: str = "") -> dict[str, Any]:
    return {"name": scope, "match": rf"\b(?:{_any(words)})\b{after}"}


def _name_pattern(words: Iterable[str], scope: str, name_scope: str) -> dict[str, Any]:
    """A word and the name that follows it, which is no reserved word."""
    reserved = _any(sorted(vocabulary().reserved))
    return {
        "match": rf"\b({_any(words)})\s+(?!(?:{reserved})\b)([^\W\d]\w*)",
        "captures": {"1": {"name": scope}, "2": {"name": name_scope}},
    }


def textmate_text() -> str:
    """The content of the file."""
    return json.dumps(textmate_grammar(), indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    Path(sys.argv[1]).write_text(textmate_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
