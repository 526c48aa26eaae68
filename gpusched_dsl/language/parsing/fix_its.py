"""Typical mistakes: each repair reports the intended text, and reading continues without loss."""

from __future__ import annotations

from lark import Token

from gpusched_dsl.language.diagnostics.diagnostic import Edit, Label
from gpusched_dsl.language.diagnostics.similar_names import OTHER_WORDS, nearest
from gpusched_dsl.language.parsing import foreign
from gpusched_dsl.language.parsing.advice import report_unexpected
from gpusched_dsl.language.parsing.grammar import AGGREGATES, CLOSER_OF, OPENER_OF, vocabulary
from gpusched_dsl.language.parsing.reader import StatementReader
from gpusched_dsl.language.parsing.wording import token_text

# At least this number of letters abbreviates a keyword.
_PREFIX = 3

# These begin expressions that need parentheses in some places: then no name is missing.
_LOOSE = frozenset(("IF", "NOT", "ANY", "ALL"))


def repair_mistake(reader: StatementReader, token: Token) -> bool:
    """Try each repair; return True if one was applied (and reported), so that reading continues."""
    return any(
        repair(reader, token)
        for repair in (
            _extra_semicolon,
            _variable_with_a_value,
            _equals_for_comparison,
            _parenthesised_indices,
            _loose_quantifier,
            _wrong_bracket,
            _misspelt_keyword,
            _missing_semicolon,
            _missing_opening,
            _missing_brace,
            _reserved_word,
            _reserved_word_before,
            _misspelt_beginning,
        )
    )


def _extra_semicolon(reader: StatementReader, token: Token) -> bool:
    if token.type != "SEMICOLON" or not reader.between:
        return False
    reader.error("GSM1018", "this `;` does not end a statement", reader.span(token), help="remove it", fix="")
    reader.at += 1
    return True


def _equals_for_comparison(reader: StatementReader, token: Token) -> bool:
    if token.type != "EQUAL" or not reader.state.accepts("EQ") or reader.tokens[reader.first].type == "VAR":
        return False
    reader.error(
        "GSM1016",
        "`=` gives a value to a name; it does not compare",
        reader.span(token),
        help="write `==` to compare",
        fix="==",
    )
    reader.take(Token.new_borrow_pos("EQ", "==", token))
    return True


def _variable_with_a_value(reader: StatementReader, token: Token) -> bool:
    """Report `var y = 2 * x;`, an expression with a name."""
    word = reader.tokens[reader.first] if not reader.between else token
    if token.type != "EQUAL" or word.type != "VAR":
        return False
    head = {t.type for t in reader.tokens[reader.first : reader.at]}
    plain = not head & {"GE", "LE", "EQ", "GT", "LT", "BINARY", "INTEGER"}
    reader.error(
        "GSM1016",
        "a variable cannot be given a value; the solver chooses it",
        reader.span(token),
        also=Label(reader.span(word), "a variable"),
        help="write `let` to name an expression, or a constraint with `==`",
        fix=Edit(reader.span(word), "let") if plain else None,
    )
    reader.skip_statement()
    return True


def _parenthesised_indices(reader: StatementReader, token: Token) -> bool:
    """`sum(i in I) x[i]`, `sum(x[i] for i in I)`, `sum{i in I} x[i]`."""
    tokens, at = reader.tokens, reader.at
    opening = None
    if token.type == "LBRACE" and at and not reader.between and _is_aggregate(tokens[at - 1]):
        opening = at
    elif token.type != "SEMICOLON":
        if reader.open and reader.open[-1].token.type == "LPAR":
            opening = reader.open[-1].index
        elif at and tokens[at - 1].type == "RPAR":
            opening = _find_opening(tokens, at - 1)
    if not opening or not _is_aggregate(tokens[opening - 1]):
        return False
    closing = _find_closing(tokens, opening)
    inside = [t.type for t in tokens[opening:closing]]
    if "IN" not in inside:
        return False
    word = tokens[opening - 1]
    replacement = foreign.WORDS.get(str(word).lower(), str(word))
    reader.error(
        "GSM1020",
        f"the indices of `{word}` must be in square brackets",
        reader.span(word).to(reader.span(tokens[opening])),
        help=f"write `{replacement}[j in Jobs] x[j]`",
        fix=_in_square_brackets(reader, replacement, opening, closing),
    )
    reader.skip_statement()
    return True


def _is_aggregate(token: Token) -> bool:
    return token.type in AGGREGATES or foreign.WORDS.get(str(token).lower()) in ("all", "any")


def _in_square_brackets(reader: StatementReader, word: str, opening: int, closing: int) -> list[Edit]:
    """`sum[i in I where c] x` for `sum(i in I : c) x`, and for `sum(x for i in I if c)`."""
    tokens = reader.tokens
    if closing >= len(tokens) or tokens[closing].type not in ("RPAR", "RBRACE"):
        return []
    head = Edit(reader.span(tokens[opening - 1]).to(reader.span(tokens[opening])), f"{word}[")
    loop = _find_at_top(tokens, opening, closing, "for")
    if loop is not None:
        condition = _find_at_top(tokens, loop, closing, "if") or closing
        body, over = reader.text(opening + 1, loop), reader.text(loop + 1, condition)
        where = f" where {reader.text(condition + 1, closing)}" if condition < closing else ""
        span = reader.span(tokens[opening - 1]).to(reader.span(tokens[closing]))
        return [] if "for " in over else [Edit(span, f"{word}[{over}{where}] ({body})")]
    colon = _find_at_top(tokens, opening, closing, ":")
    first_in = _find_at_top(tokens, opening, closing, "in")
    if first_in is None:
        return []
    if colon is not None and colon < first_in:  # `min(x[i] : i in I)`
        if tokens[opening].type == "LBRACE":
            return []
        span = reader.span(tokens[opening - 1]).to(reader.span(tokens[closing]))
        body, over = reader.text(opening + 1, colon), reader.text(colon + 1, closing)
        return [Edit(span, f"{word}[{over}] ({body})")]
    bar = [] if colon is None or str(tokens[colon]) != ":" else [Edit(reader.span(tokens[colon]), " where ")]
    return [head, *bar, Edit(reader.span(tokens[closing]), "]")]


def _find_at_top(tokens: list[Token], opening: int, closing: int, word: str) -> int | None:
    """Return the place of a word between two brackets, outside of inner brackets."""
    depth = 0
    for i in range(opening + 1, closing):
        depth += (tokens[i].type in CLOSER_OF) - (tokens[i].type in OPENER_OF)
        if depth == 0 and str(tokens[i]) == word:
            return i
    return None


def _loose_quantifier(reader: StatementReader, token: Token) -> bool:
    """Repair `2 * any[j in J] x[j]`: a condition in the place of a number."""
    word = reader.tokens[reader.at - 1] if reader.at else None
    if word is None or word.type not in ("ANY", "ALL") or token.type != "LSQB":
        return False
    reader.error(
        "GSM1010",
        f"`{word}[...]` is a condition and needs parentheses here",
        reader.span(word),
        help=f"put parentheses around the complete `{word} ...`",
    )
    reader.skip_statement()
    return True


def _find_opening(tokens: list[Token], closing: int) -> int | None:
    depth = 0
    for i in range(closing, -1, -1):
        depth += (tokens[i].type == "RPAR") - (tokens[i].type == "LPAR")
        if depth == 0:
            return i
    return None


def _find_closing(tokens: list[Token], opening: int) -> int:
    depth = 0
    for i in range(opening, len(tokens)):
        kind = tokens[i].type
        depth += (kind in CLOSER_OF) - (kind in OPENER_OF)
        if depth <= 0 or kind == "SEMICOLON":
            return i
    return len(tokens)


def _wrong_bracket(reader: StatementReader, token: Token) -> bool:
    opener = OPENER_OF.get(token.type)
    if opener is None:
        return False
    opened = reader.open[-1] if reader.open else None
    if opened is None or (opened.block and token.type != "RBRACE"):
        reader.error("GSM1013", f"`{token}` has no opening bracket", reader.span(token), help="remove it", fix="")
        reader.at += 1
        return True
    terminal, sign = CLOSER_OF[opened.token.type]
    if opened.token.type == opener or not reader.state.accepts(terminal) or token.type == "RBRACE":
        return False
    reader.error(
        "GSM1013",
        f"`{token}` does not close `{opened.token}`",
        reader.span(token),
        help=f"write `{sign}`",
        fix=sign,
        also=Label(reader.span(opened.token), "opened here"),
    )
    reader.take(Token.new_borrow_pos(terminal, sign, token))
    return True


def _misspelt_keyword(reader: StatementReader, token: Token) -> bool:
    """Repair a name in the place of a keyword: replace it by the similar keyword."""
    if token.type != "NAME":
        return False
    if str(token).lower() in foreign.ADVICE and not reader.state.accepts("NAME"):
        help = foreign.ADVICE[str(token).lower()]
        reader.error("GSM1015", f"`{token}` is not an operator of this language", reader.span(token), help=help)
        reader.skip_statement()
        return True
    terminal = _nearest_terminal(str(token), reader.state.expected_terminals())
    if terminal is None:
        return False
    keyword = vocabulary().spelling[terminal]
    reader.error(
        "GSM1015", f"`{token}` is not a keyword", reader.span(token), help=f"did you mean `{keyword}`?", fix=keyword
    )
    reader.take(Token.new_borrow_pos(terminal, keyword, token))
    return True


def _misspelt_beginning(reader: StatementReader, token: Token) -> bool:
    """`tabel Types: ...` in a scenario, where a name could begin a statement too: the next token shows the mistake."""
    first = reader.tokens[reader.first]
    if reader.between or reader.at != reader.first + 1 or first.type != "NAME":
        return False
    if reader.statement_type != "NAME":  # it was repaired already
        return False
    terminal = _nearest_terminal(str(first), reader.state.expected_terminals(reader.base))
    if terminal is None:
        return False
    keyword = vocabulary().spelling[terminal]
    if keyword == str(first):
        return False
    reader.error(
        "GSM1015", f"`{first}` is not a keyword", reader.span(first), help=f"did you mean `{keyword}`?", fix=keyword
    )
    reader.abandon()
    reader.at = reader.first
    reader.take(Token.new_borrow_pos(terminal, keyword, first))
    return True


def _nearest_terminal(word: str, expected: set[str]) -> str | None:
    """Return the expected terminal with the most similar word, if any is similar."""
    spelling = vocabulary().spelling
    signs = {spelling[t]: t for t in expected if t in spelling}
    words = {text: t for text, t in signs.items() if text.isidentifier()}
    lowered = word.lower()
    if lowered in words:
        return words[lowered]
    if foreign.WORDS.get(lowered) in signs:
        return signs[foreign.WORDS[lowered]]
    if lowered in OTHER_WORDS or lowered in foreign.ADVICE:
        return None
    completions = [w for w in words if len(lowered) >= _PREFIX and w.startswith(lowered)]
    if len(completions) == 1:
        return words[completions[0]]
    similar = nearest(lowered, words)
    return words[similar[0]] if len(similar) == 1 else None


def _missing_semicolon(reader: StatementReader, token: Token) -> bool:
    if reader.between:
        return False
    fits = _fits_after(reader, "SEMICOLON")
    if not fits and reader.starts_line(reader.at):
        fits = reader.state.expected_terminals() == {"SEMICOLON"}
    if not fits and not (token.type in _CLOSES_TABLE and _undo_last_cell(reader)):
        return False
    _insert_semicolon(reader)
    return True


def _fits_after(reader: StatementReader, terminal: str) -> bool:
    """Whether the next token can follow an inserted terminal; for a name, also the token after it."""
    token, following = reader.tokens[reader.at], reader.next_token()
    after = () if following is None else _roles(following)
    return any(
        reader.state.accepts(terminal, role)
        and (token.type != "NAME" or any(reader.state.accepts(terminal, role, a) for a in after))
        for role in _roles(token)
    )


def _roles(token: Token) -> tuple[str, ...]:
    return (token.type, *vocabulary().soft.get(str(token), ()))


def _insert_semicolon(reader: StatementReader) -> None:
    reader.error(
        "GSM1011", "`;` is missing at the end of this statement", reader.end_of_last(), help="add `;`", fix=";"
    )
    reader.insert("SEMICOLON", ";")


def _missing_opening(reader: StatementReader, token: Token) -> bool:
    """Insert the missing `{` after the head of a block."""
    if reader.between or not _fits_after(reader, "LBRACE") or reader.state.accepts("LBRACE", "NUMBER"):
        return False
    reader.error(
        "GSM1010", "`{` is missing before the statements of this block", reader.end_of_last(), help="add `{`", fix=" {"
    )
    reader.insert("LBRACE", "{")
    return True


_CLOSES_TABLE = frozenset(("EQUAL", "LSQB", "TILDE"))


def _undo_last_cell(reader: StatementReader) -> bool:
    """Undo a name that was read as the last cell of a table but begins the next statement."""
    name = reader.tokens[reader.at - 1]
    if name.type != "NAME" or not reader.starts_line(reader.at - 1) or reader.at - 1 <= reader.first:
        return False
    if "DOT" not in reader.state.expected_terminals():
        return False
    reader.state.cut_back(reader.state.depth - 1)
    reader.at -= 1
    return True


def _missing_brace(reader: StatementReader, token: Token) -> bool:
    """Close blocks before a word that can only begin something in an outer block."""
    if token.type in ("NAME", "RBRACE") or token.type not in vocabulary().reserved.values():
        return False
    blocks = reader.open_blocks()
    if not blocks or not (reader.between or reader.starts_line(reader.at)):
        return False
    depth = reader.state.depth if reader.between else reader.base
    for missing in range(1, len(blocks) + 1):
        if reader.state.accepts(*["RBRACE"] * missing, token.type, depth=depth):
            if not reader.between and reader.state.accepts("SEMICOLON"):
                _insert_semicolon(reader)
            elif not reader.between:
                report_unexpected(reader, token)
                reader.abandon()
            reader.report_unclosed(blocks[-1], reader.span(token))
            for _ in range(missing):
                reader.insert("RBRACE", "}")
            return True
    return False


def _reserved_word(reader: StatementReader, token: Token) -> bool:
    words = vocabulary().reserved
    if words.get(str(token)) != token.type or not reader.state.accepts("NAME"):
        return False
    if token.type in _LOOSE and reader.state.accepts("LPAR"):
        return False
    following = reader.next_token()
    unnamed = reader.at and reader.tokens[reader.at - 1].type == "CONSTRAINT" and token.type in AGGREGATES
    if unnamed and following is not None and following.type in ("LSQB", "LPAR", "LBRACE"):
        return False
    if following is not None and not any(reader.state.accepts("NAME", role) for role in _roles(following)):
        return False  # the name is missing
    quoted = reader.state.accepts("STRING")
    if not reader.between and reader.starts_line(reader.at) and reader.state.accepts(token.type, depth=reader.base):
        return False
    _report_reserved(reader, token, quoted)
    reader.take(Token.new_borrow_pos("NAME", str(token), token))
    return True


def _reserved_word_before(reader: StatementReader, token: Token) -> bool:
    """Repair `Modes = { min, max };`: the word `min` could begin `min(...)`, but is a name."""
    word = reader.tokens[reader.at - 1] if reader.at else None
    if word is None or word.type not in AGGREGATES or reader.between or reader.at - 1 <= reader.first:
        return False
    if token.type == "LSQB":
        return False
    depth = reader.state.depth - 1
    if not reader.state.accepts("NAME", token.type, depth=depth):
        return False
    _report_reserved(reader, word, reader.state.accepts("STRING", depth=depth))
    reader.state.cut_back(depth)
    reader.feed(Token.new_borrow_pos("NAME", str(word), word), reader.at - 1)
    return True


def _report_reserved(reader: StatementReader, word: Token, quoted: bool) -> None:
    reader.lost.append(word)
    reader.error(
        "GSM1014",
        f"{token_text(word)} is a reserved word and cannot be a name",
        reader.span(word),
        help=f'choose another name, or quote a label: `"{word}"`' if quoted else "choose another name",
    )
