"""Names of terminals in messages: found and expected."""

from __future__ import annotations

from collections.abc import Iterable

from lark import Token

from gpusched_dsl.language.parsing.grammar import vocabulary

# fmt: off
_OPERATORS = [
    "PLUS", "MINUS", "STAR", "SLASH", "DIV", "MOD", "CARET", "DOTS", "EQ", "NE", "LE", "GE", "LT", "GT", "IMPLIES",
    "IFF", "AND", "OR", "IN", "NOT", "UNION", "DIFF", "INTER", "CROSS", "_STEP", "LSQB", "LPAR",
]
_EXPRESSION = [
    "NAME", "NUMBER", "STRING", "LPAR", "LBRACE", "TRUE", "FALSE", "IF", "NOT", "PLUS", "MINUS", "SUM", "PROD", "MIN",
    "MAX", "NORM", "ANY", "ALL", "COUNT", "ARGMIN", "ARGMAX", "ALL_DIFFERENT", "SOS1", "SOS2",
    "NO_OVERLAP", "CUMULATIVE",
]
_DECLARATION = [
    "SET", "PARAM", "LET", "VAR", "RANDOM", "MINIMIZE", "MAXIMIZE", "THEN", "CONSTRAINT", "CHECK", "OPTION", "WHEN",
    "DROP", "PLACEMENT", "DECOMPOSE", "OVERRIDE", "INTERVAL",
]
_BLOCK = ["IMPORT", "MODEL", "SCENARIO", "TEST", "POLICY", "ONLINE", "CAMPAIGN"]
# fmt: on
_UNIT = ["UNIT_SIGN", "NAME", "MIN", "NUMBER", "LPAR"]

# If all terminals of the first list are expected, these words replace all of the second list.
_GROUPS: tuple[tuple[str, list[str], list[str]], ...] = (
    ("a unit", ["UNIT_SIGN", "NAME"], _UNIT),
    ("an expression", ["NAME", "NUMBER", "LPAR"], _EXPRESSION),
    ("a cell", ["NAME", "NUMBER", "DOT"], ["NAME", "NUMBER", "STRING", "MINUS", "DOT", "TRUE", "FALSE"]),
    ("an operator", ["STAR", "PLUS"], _OPERATORS),
    ("an operator", ["PLUS", "MINUS"], _OPERATORS),
    ("a declaration", ["PARAM", "VAR", "CONSTRAINT"], _DECLARATION),
    ("a block (`model`, `scenario`, `test`, ...)", ["MODEL", "SCENARIO"], _BLOCK),
    ("a comparison", ["EQ", "LE", "GE", "LT", "GT"], ["EQ", "NE", "LE", "GE", "LT", "GT"]),
)
_WORDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a text in quotes",
    "UNIT_SIGN": "a unit",
    "$END": "the end of the text",
}
_MOST_SHOWN = 7


def token_text(token: Token) -> str:
    """Return the text of a token in a message."""
    if token.type == "$END":
        return "the end of the text"
    text = str(token)
    if token.type == "STRING":
        return f"the text {text if len(text) <= 30 else text[:28] + '…' + chr(34)}"
    return f"`{text if len(text) <= 40 else text[:39] + '…'}`"


def expected_text(terminals: Iterable[str]) -> str:
    """Return the expected tokens at a place: `an operator, `,` or `]``."""
    remaining = set(terminals)
    parts: list[str] = []
    for words, needed, covered in _GROUPS:
        if words not in parts and remaining.issuperset(needed):
            parts.append(words)
            remaining.difference_update(covered)
    spelling = vocabulary().spelling
    parts += sorted(_WORDS.get(t) or f"`{spelling[t]}`" for t in remaining if t in _WORDS or t in spelling)
    if not parts:
        return "nothing more"
    if len(parts) > _MOST_SHOWN:
        return ", ".join(parts[:_MOST_SHOWN]) + ", ..."
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} or {parts[-1]}"
