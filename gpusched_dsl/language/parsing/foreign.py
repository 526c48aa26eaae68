"""Operators of other languages, with the equivalent here, if it is certain.

Signs are replaced while a text is split into tokens (`sign`), words where the parser meets them (`word`).
"""

from __future__ import annotations

import re

from lark import Token

# Signs, with the sign or word that is meant.
SIGNS = {
    ":=": "=",
    "===": "==",
    "=<": "<=",
    "=>=": ">=",
    ">==": ">=",
    "=!": "!=",
    "<>": "!=",
    "&&": "and",
    "||": "or",
    "&": "and",
    "/\\": "and",
    "\\/": "or",
    "\\": "diff",
    "!": "not",
    "**": "^",
    "->": "=>",
    "-->": "=>",
    "==>": "=>",
    "<->": "<=>",
    "<-->": "<=>",
    "<==>": "<=>",
    ".<=": "<=",
    ".>=": ">=",
    ".==": "==",
    "=l=": "<=",
    "=L=": "<=",
    "=g=": ">=",
    "=G=": ">=",
    "=e=": "==",
    "=E=": "==",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "×": "*",
    "·": "*",
    "⋅": "*",
    "−": "-",
    "∈": "in",
    "∧": "and",
    "∨": "or",
    "¬": "not",
    "⇒": "=>",
    "→": "=>",
    "⇔": "<=>",
    "↔": "<=>",
    "∑": "sum",
    "∏": "prod",
    "∀": "all",
    "∃": "any",
    "∪": "union",
    "∩": "inter",
    "...": "..",
    "…": "..",
}
BAR = "|"

# Words where only a keyword can stand, with the keyword or sign that is meant.
WORDS = {
    "variable": "var",
    "variables": "var",
    "parameter": "param",
    "parameters": "param",
    "sets": "set",
    "constraints": "constraint",
    "const": "param",
    "constant": "param",
    "subject_to": "constraint",
    "int": "integer",
    "bool": "binary",
    "boolean": "binary",
    "assert": "check",
    "forall": "all",
    "exists": "any",
    "include": "import",
    "iff": "<=>",
    "equiv": "<=>",
    "implies": "=>",
    "minus": "diff",
    "setminus": "diff",
    "intersect": "inter",
    "is": "==",
    "eq": "==",
    "ne": "!=",
    "le": "<=",
    "ge": ">=",
    "lt": "<",
    "gt": ">",
}

# Words that have no one word here, with what to write instead.
ADVICE = {
    "xor": "write `not (a <=> b)`",
    "nand": "write `not (a and b)`",
    "nor": "write `not (a or b)`",
    "symdiff": "write `(A diff B) union (B diff A)`",
    "setof": "write `{ i : (i, j) in Links }`",
    "dimen": "state what the tuples consist of: `set Links within Nodes cross Nodes;`",
    "unless": "write `condition => ...`",
}

# What declares a continuous variable elsewhere: here it is one without a word.
CONTINUOUS = frozenset(("real", "float", "continuous", "free", "double", "reals"))


def pattern() -> str:
    """The regular expression of all foreign signs, longest first."""
    signs = sorted((*SIGNS, BAR), key=len, reverse=True)
    guarded = {"!": r"!(?=\s*[\w(!])"} | {s: re.escape(s) + "(?!=)" for s in signs if re.fullmatch("=[lgeLGE]=", s)}
    return "|".join(guarded.get(s, re.escape(s)) for s in signs)


_OPERANDS = frozenset(("NAME", "NUMBER", "STRING", "RSQB", "RPAR", "RBRACE", "TRUE", "FALSE"))
_STATEMENTS = frozenset(("SEMICOLON", "CONSTRAINT", "CHECK", "LET", "PARAM", "VAR", "SET", "MINIMIZE", "MAXIMIZE"))


def after_operand(tokens: list[Token]) -> bool:
    """Whether an operator may follow these tokens."""
    return bool(tokens) and tokens[-1].type in _OPERANDS


def bar(tokens: list[Token]) -> str | None:
    """Return the meaning of `|` after these tokens: a condition, a comprehension or `or`; None if it delimits `|x|`."""
    opened: list[int] = []
    for i, token in enumerate(tokens):
        if token.type in _STATEMENTS:
            opened.clear()
        elif token.type in ("LSQB", "LBRACE", "LPAR"):
            opened.append(i)
        elif token.type in ("RSQB", "RBRACE", "RPAR") and opened:
            opened.pop()
    if not after_operand(tokens):
        return None
    if not opened or tokens[opened[-1]].type == "LPAR":
        return "or"
    indexed = any(t.type == "IN" for t in tokens[opened[-1] :])
    return "where" if indexed else ":" if tokens[opened[-1]].type == "LBRACE" else None


def space(text: str, before: str, after: str) -> str:
    """Return a replacement with spaces if it would join an adjacent word."""
    left = " " if text[0].isalnum() and (before.isalnum() or before == "_") else ""
    right = " " if text[-1].isalnum() and (after.isalnum() or after == "_") else ""
    return left + text + right
