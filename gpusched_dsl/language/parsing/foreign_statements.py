"""Statements of other languages: what to write here, with the edit if it is certain.

Called only where no statement of this language can begin with the next word.
"""

from __future__ import annotations

import re

from lark import Token

from gpusched_dsl.language.diagnostics.diagnostic import Edit, Fix
from gpusched_dsl.language.parsing.grammar import AGGREGATES, CLOSER_OF, OPENER_OF
from gpusched_dsl.language.parsing.reader import StatementReader

Advice = tuple[str | None, Fix]
_NONE: Advice = (None, None)

# What stands before a name for its type, with our words after the name.
_TYPES = {
    "int": " integer",
    "int+": " integer >= 0",
    "integer": " integer",
    "bool": " binary",
    "boolean": " binary",
    "binary": " binary",
    "float": "",
    "float+": " >= 0",
    "real": "",
    "free": "",
    "positive": " >= 0",
    "nonnegative": " >= 0",
    "negative": " <= 0",
}
_VARIABLES = frozenset(("var", "dvar", "variable", "variables"))

# Commands about a solver and its output: statements of a model only describe.
_OUTPUT = frozenset(("display", "print", "printf", "output", "println", "writeln", "show"))
_COMMANDS = {
    "solve": "`gsdsl solve FILE` solves; a model only describes",
    "end": "a block ends with its `}`",
    "data": "data are in `scenario` blocks",
    "reset": "every command begins anew",
    "equation": "write a constraint once, with its name: `constraint name: ...`",
    "equations": "write a constraint once, with its name: `constraint name: ...`",
}
_ADVICE = {
    "include": 'write `import "file.gsm";` before the blocks',
    "using": 'write `import "file.gsm";` before the blocks',
    "fix": "write a constraint with `==`",
    "unfix": "remove the constraint that fixes it, or `drop` it in a model that extends this one",
    "function": "write `let name[i in Set] = ...`",
    "predicate": "write `let name[i in Set] = ...`",
    "def": "write `constraint name[i in Set]: ...` for a rule, `let name[i in Set] = ...` for a formula",
    "tuple": "declare a set of tuples: `set Links within Nodes cross Nodes;`",
    "scalar": "write `param name = 3;`",
    "table": "tables are in `scenario` blocks",
    "if": "write `constraint name: condition => ...`; `when option { ... }` selects declarations",
}
_LOOPS = frozenset(("for", "forall", "foreach"))
_MOST = 200  # tokens of a statement that are looked at
_COMPARISONS = frozenset(("EQ", "LE", "GE", "LT", "GT", "EQUAL"))


def advise_statement(reader: StatementReader, token: Token) -> Advice:
    """The help for a word that cannot begin a statement, and its edits; None where nothing is known."""
    words = [str(t).lower() for t in reader.tokens[reader.at : reader.at + 4]]
    found = _objective(reader, token, words)
    if found is not None:
        return found
    if reader.state.accepts("CONSTRAINT"):
        for find in (_constraint, _declaration, _typed_declaration, _command, _named_rows):
            found = find(reader, token, words)
            if found is not None:
                return found
    return _comment(reader, token)


def _objective(reader: StatementReader, token: Token, words: list[str]) -> Advice | None:
    tokens, at = reader.tokens, reader.at
    if not reader.state.accepts("MINIMIZE"):
        return None
    if words[0] in ("minimum", "maximum"):
        replacement = words[0][:3] + "imize"
        return f"write `{replacement} ...`", replacement
    if words[0] == "solve" and words[1:2] in (["minimize"], ["maximize"]):
        return f"write `{words[1]} ...`", Edit(reader.span(token).to(reader.span(tokens[at + 1])), words[1])
    if token.type in ("MIN", "MAX"):
        end = at + 1 if words[1:2] == [":"] else at
        replacement = str(token) + "imize"
        return f"write `{replacement} ...`", Edit(reader.span(token).to(reader.span(tokens[end])), replacement)
    if words[1:2] == [":"] and words[2:3] in (["min"], ["max"], ["minimize"], ["maximize"]):
        kind = words[2][:3] + "imize"
        span = reader.span(token).to(reader.span(tokens[at + 2]))
        return f"write `{kind} {token}: ...`", Edit(span, f"{kind} {token}:")
    return None


def _constraint(reader: StatementReader, token: Token, words: list[str]) -> Advice | None:
    """`s.t. k: ...`, `k.. ...`, `k[i in I]: ...`, `forall(i in I) ...`."""
    tokens, at = reader.tokens, reader.at
    for phrase in (["subject", "to"], ["such", "that"], ["s", ".", "t", "."], ["st"]):
        if words[: len(phrase)] == phrase:
            span = reader.span(token).to(reader.span(tokens[at + len(phrase) - 1]))
            follows = at + len(phrase)
            named = follows < len(tokens) and tokens[follows].type == "NAME"
            return "write `constraint name: ...`", Edit(span, "constraint") if named else None
    if words[0] in _LOOPS:
        return "write `constraint name[i in Set]: ...` for one row per index", None
    if token.type != "NAME":
        return None
    following = words[1] if len(words) > 1 else ""
    if following == ":" and words[0] not in _TYPES:
        return f"write `constraint {token}: ...`", Edit(reader.span_before(at), "constraint ")
    if following == "=":
        return f"write `let {token} = ...`", Edit(reader.span_before(at), "let ")
    if following == "..":
        dots = reader.span(tokens[at + 1])
        return f"write `constraint {token}: ...`", [
            Edit(reader.span_before(at), "constraint "),
            Edit(dots, ":"),
        ]
    if at + 1 < len(tokens) and tokens[at + 1].type in CLOSER_OF:
        closing = closing_token(tokens, at + 1)
        behind = tokens[closing + 1] if closing is not None and closing + 1 < len(tokens) else None
        inside = [] if closing is None else tokens[at + 2 : closing]
        if closing is None or behind is None or behind.type not in ("COLON", "DOTS"):
            return None
        if not any(t.type == "IN" for t in inside):
            return f"write `constraint {token}[i in Set]: ...`", None
        edits = [Edit(reader.span_before(at), "constraint ")]
        if behind.type == "DOTS":
            edits.append(Edit(reader.span(behind), ":"))
        if tokens[at + 1].type != "LSQB":
            edits += [Edit(reader.span(tokens[at + 1]), "["), Edit(reader.span(tokens[closing]), "]")]
            edits += [Edit(reader.span(t), " where") for t in inside if t.type == "COLON"]
        return f"write `constraint {token}[...]: ...`", edits
    return None


def _declaration(reader: StatementReader, token: Token, words: list[str]) -> Advice | None:
    """`array[I] of var 0..10: x`, `int: n = 3`, `range R = 1..5`, `dexpr float y = ...`."""
    tokens, at = reader.tokens, reader.at
    span = reader.span(token)
    if words[0] == "range" and kind_at(tokens, at + 1) == "NAME":
        return "write `set`", Edit(span, "set")
    if words[0] == "dexpr" and len(words) > 2:
        return "write `let`", Edit(span.to(reader.span(tokens[at + 1])), "let")
    if words[0] == "array" and words[1:2] == ["["]:
        closing = closing_token(tokens, at + 1)
        colon = first_token(tokens, at, "COLON")
        if closing is None or colon is None or closing + 1 >= colon or str(tokens[closing + 1]) != "of":
            return "write `param name[Set];` or `var name[Set];`", None
        return _after_colon(reader, closing + 2, colon, reader.text(at + 1, closing + 1), at)
    if words[0] in _TYPES and words[1:2] == [":"]:
        return _after_colon(reader, at, at + 1, "", at)
    return None


def type_before_name(reader: StatementReader) -> Advice | None:
    """`var 0..10: x`, `var int: x`, `set of int: S`: the type stands before the name and a colon."""
    colon = first_token(reader.tokens, reader.first, "COLON")
    if colon is None or colon <= reader.first + 1 or reader.first < 0:
        return None
    return _after_colon(reader, reader.first, colon, "", reader.first)


def _after_colon(reader: StatementReader, start: int, colon: int, indices: str, first: int) -> Advice | None:
    """The declaration `TYPE: name ...` with the name first; `start` is the first token of the type."""
    tokens = reader.tokens
    kind = [str(t) for t in tokens[start:colon]]
    name = tokens[colon + 1] if colon + 1 < len(tokens) else None
    if name is None or name.type != "NAME" or not kind:
        return None
    keyword = "var" if kind[0] == "var" else "set" if kind[0] == "set" else "param"
    if kind[0] in ("var", "par", "set"):
        kind = kind[1:]
    if keyword == "set":
        words = "" if kind[:1] == ["of"] and ".." not in kind else None
    elif ".." in kind:
        at = kind.index("..")
        low, high = "".join(kind[:at]), "".join(kind[at + 1 :])
        whole = "" if "." in low or "." in high else " integer"
        words = f"{whole} >= {low} <= {high}"
        if not low or not high or not re.fullmatch(r"[-\w.]+", low + high):
            words = None
    else:
        words = _TYPES.get("".join(kind).lower())
    if words is None:
        return f"write the name first: `{keyword} {name} ...`", None
    span = reader.span(tokens[first]).to(reader.span(name))
    text = f"{keyword} {name}{indices}{words}"
    return f"write `{text}`", Edit(span, text)


def _typed_declaration(reader: StatementReader, token: Token, words: list[str]) -> Advice | None:
    """`dvar boolean z`, `binary var z`, `positive variable z`, `binary z`."""
    tokens, at = reader.tokens, reader.at
    place, kind = at, ""
    while place < len(tokens) and (str(tokens[place]).lower() in _TYPES or tokens[place].type == "PLUS"):
        kind, place = kind + str(tokens[place]).lower(), place + 1
    variable = place < len(tokens) and str(tokens[place]).lower() in _VARIABLES
    if variable and not kind:  # `dvar boolean z`
        place += 1
        while place < len(tokens) and (str(tokens[place]).lower() in _TYPES or tokens[place].type == "PLUS"):
            kind, place = kind + str(tokens[place]).lower(), place + 1
    elif variable:
        place += 1
    name = tokens[place] if place < len(tokens) else None
    if name is None or name.type != "NAME" or place == at or kind not in _TYPES:
        return None
    if not variable:
        return f"write the keyword where the variable is declared: `var {name}{_TYPES[kind]};`", None
    end, indices = place, ""
    if kind_at(tokens, place + 1) == "LSQB":
        closing = closing_token(tokens, place + 1)
        if closing is not None:
            end, indices = closing, reader.text(place + 1, closing + 1)
    text = f"var {name}{indices}{_TYPES[kind]}"
    certain = kind_at(tokens, end + 1) == "SEMICOLON"
    return f"write `{text}`", Edit(reader.span(token).to(reader.span(tokens[end])), text) if certain else None


def _command(reader: StatementReader, token: Token, words: list[str]) -> Advice | None:
    word = words[0]
    following = reader.next_token()
    if word in _OUTPUT:
        return "`gsdsl solve --show x,y` prints values; `report name = ...;` adds an expression", _removal(reader)
    if word in _COMMANDS:
        bare = following is not None and (following.type == "SEMICOLON" or word == "solve" or word.startswith("eq"))
        return _COMMANDS[word], _removal(reader) if bare else None
    if word in _ADVICE:
        return _ADVICE[word], None
    return None


def command_advice(reader: StatementReader, word: Token) -> Advice | None:
    """The help for a command in a scenario whose first word was read."""
    text = str(word).lower()
    if text in _OUTPUT:
        return "`gsdsl solve --show x,y` prints values", None
    help = _COMMANDS.get(text)
    return None if help is None else (help, None)


def _removal(reader: StatementReader) -> Edit | None:
    """The removal of a statement up to its `;` on the same line."""
    end = next((i for i in range(reader.at, len(reader.tokens)) if reader.tokens[i].type == "SEMICOLON"), None)
    if end is None or any(reader.starts_line(i) for i in range(reader.at + 1, end + 1)):
        return None
    return Edit(reader.span_at(reader.at).to(reader.span_at(end)), "")


def _named_rows(reader: StatementReader, token: Token, words: list[str]) -> Advice | None:
    """`b + d <= 1;`, `sum[i in I] x[i] <= 1;`: rows without a name."""
    if token.type not in ("NAME", "NUMBER", "LPAR", "MINUS", *AGGREGATES):
        return None
    for other in reader.tokens[reader.at : reader.at + _MOST]:
        if other.type in _COMPARISONS:
            return "give the constraint a name: `constraint name: ...`", None
        if other.type in ("SEMICOLON", "LBRACE", "RBRACE", "COLON"):
            return None
    return None


def _comment(reader: StatementReader, token: Token) -> Advice:
    following = reader.next_token()
    dashes = token.type == "MINUS" and following is not None and following.start_pos == token.end_pos
    if str(token) in ("%", "*"):
        return "comments begin with `#`", "#"
    if dashes and following is not None and following.type == "MINUS":
        return "comments begin with `#`", Edit(reader.span(token).to(reader.span(following)), "#")
    return _NONE


def first_token(tokens: list[Token], start: int, kind: str) -> int | None:
    """The first token of a kind outside of brackets, before the end of the statement."""
    depth = 0
    for i in range(start, min(len(tokens), start + _MOST)):
        depth += (tokens[i].type in CLOSER_OF) - (tokens[i].type in OPENER_OF)
        if depth == 0 and tokens[i].type == kind:
            return i
        if tokens[i].type == "SEMICOLON" or depth < 0:
            return None
    return None


def kind_at(tokens: list[Token], place: int) -> str:
    """The type of a token; "" beyond the end."""
    return tokens[place].type if place < len(tokens) else ""


def closing_token(tokens: list[Token], opening: int) -> int | None:
    """The bracket that closes the one at `opening`, before the end of the statement."""
    depth = 0
    for i in range(opening, min(len(tokens), opening + _MOST)):
        depth += (tokens[i].type in CLOSER_OF) - (tokens[i].type in OPENER_OF)
        if tokens[i].type == "SEMICOLON":
            return None
        if depth == 0:
            return i
    return None
