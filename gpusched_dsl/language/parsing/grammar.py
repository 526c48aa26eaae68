"""The parser of `grammar/gsm.lark`, and the spelling of its terminals.

Computing the parse tables takes a third of a second, so they are cached beside the grammar; `make tables` rewrites
them. Tables of another grammar or of another version of Lark are not used.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from gpusched_dsl.language.data_folders import data_folder

if TYPE_CHECKING:
    from lark import Lark

RESERVED_PRIORITY = 1
FOLDER = "grammar"
TABLES = "gsm.tables.json.gz"

# Terminals that begin blocks, terminals that begin aggregates, and the other half of each bracket.
BLOCKS = frozenset(("IMPORT", "MODEL", "SCENARIO", "TEST", "POLICY", "ONLINE", "CAMPAIGN"))
_SUMS = frozenset(("SUM", "PROD", "MIN", "MAX", "NORM", "ANY", "ALL", "COUNT", "ARGMIN", "ARGMAX"))
AGGREGATES = _SUMS | {"ALL_DIFFERENT", "SOS1", "SOS2", "NO_OVERLAP", "CUMULATIVE"}
OPENER_OF = {"RPAR": "LPAR", "RSQB": "LSQB", "RBRACE": "LBRACE"}
CLOSER_OF = {"LPAR": ("RPAR", ")"), "LSQB": ("RSQB", "]"), "LBRACE": ("RBRACE", "}")}


def grammar_text() -> str:
    return (data_folder(FOLDER) / "gsm.lark").read_text(encoding="utf-8")


class ParserTables(Struct, frozen=True):
    """The parser's rules and terminals, and what follows in each of its states.

    `rows[state]` alternates numbers of `symbols` and actions: a state to go to, or `-1 - rule` for a rule of
    `lark.rules` that ends here. `lark` has the terminals and rules, and builds the trees; it has no states.
    """

    lark: Lark
    symbols: list[str]
    rows: list[list[int]]
    start: int
    end: int


@cache
def parser_tables() -> ParserTables:
    """Return the LALR parser, from the cached tables if they fit."""
    return unpack(_read_fitting() or pack(compile_grammar()))


def lark() -> Lark:
    """Return the terminals and rules of the grammar. Texts are parsed by `parse_loop.py`: this has no states."""
    return parser_tables().lark


def compile_grammar() -> Lark:
    """Compute the LALR parser from the grammar.

    Lark's own cache is never used: it unpickles a file from a predictable place that others can write to.
    """
    from lark import Lark

    return Lark(grammar_text(), parser="lalr", lexer="basic", maybe_placeholders=True)


def fingerprint() -> str:
    """Return the fingerprint that cached tables must have."""
    import hashlib

    import lark

    return f"lark {lark.__version__} {hashlib.sha256(grammar_text().encode()).hexdigest()}"


def cached_fingerprint() -> str | None:
    """Return the fingerprint of the cached tables; None if there are none."""
    tables = _read()
    return None if tables is None else str(tables["made_from"])


def pack(parser: Lark) -> dict[str, Any]:
    """Return a compiled parser as JSON: what Lark needs to be rebuilt, and the states as rows of numbers."""
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    data, memo = parser.memo_serialize([TerminalDef, Rule])
    states = data["parser"]["parser"]
    number = {reference["@"]: place for place, reference in enumerate(data["rules"])}
    symbols = [states["tokens"][place] for place in range(len(states["tokens"]))]
    rows = [
        [n for symbol, action in states["states"][state].items() for n in (symbol, _packed_action(action, number))]
        for state in range(len(states["states"]))
    ]
    (start,), (end,) = states["start_states"].values(), states["end_states"].values()
    data["parser"]["parser"] = states | {"tokens": {}, "states": {}}
    parts, rules = _packed_rules({key: entry for key, entry in memo.items() if entry["__type__"] == "Rule"})
    memo = {key: entry for key, entry in memo.items() if key not in rules}
    return {
        "made_from": fingerprint(), "data": data, "memo": memo, "parts": parts, "rules": rules,
        "symbols": symbols, "rows": rows, "start": start, "end": end,
    }  # fmt: skip


def _packed_action(action: tuple[int, Any], number: dict[int, int]) -> int:
    shifts, argument = action[0] == 0, action[1]
    return int(argument) if shifts else -1 - number[argument["@"]]


def _packed_rules(entries: dict[int, Any]) -> tuple[list[Any], dict[int, list[Any]]]:
    """Return the different symbols and options, and of each rule the places of its parts, its order and its alias."""
    place: dict[str, int] = {}
    parts: list[Any] = []

    def at(part: Any) -> int:
        if repr(part) not in place:
            place[repr(part)] = len(parts)
            parts.append(part)
        return place[repr(part)]

    return parts, {
        key: [at(e["origin"]), [at(s) for s in e["expansion"]], e["order"], e["alias"], at(e["options"])]
        for key, e in entries.items()
    }


def _rules(packed: dict[str, Any]) -> dict[int, Any]:
    """Return the rules by their numbers in the memo: Lark reads finished objects as they are."""
    from lark.grammar import NonTerminal, Rule, RuleOptions, Terminal

    kinds: dict[str, Any] = {kind.__name__: kind for kind in (NonTerminal, RuleOptions, Terminal)}
    parts = [kinds[part["__type__"]].deserialize(part, {}) for part in packed["parts"]]
    return {
        int(key): Rule(parts[origin], [parts[s] for s in expansion], order, alias, parts[options])
        for key, (origin, expansion, order, alias, options) in packed["rules"].items()
    }


def unpack(packed: dict[str, Any]) -> ParserTables:
    from lark import Lark

    memo = {int(key): value for key, value in packed["memo"].items()} | _rules(packed)
    parser: Lark = Lark._load_from_dict(packed["data"], memo)  # type: ignore[no-untyped-call]
    return ParserTables(parser, packed["symbols"], packed["rows"], packed["start"], packed["end"])


def _read() -> dict[str, Any] | None:
    import gzip
    import json

    try:
        packed = (data_folder(FOLDER) / TABLES).read_bytes()
    except OSError:
        return None
    tables: dict[str, Any] = json.loads(gzip.decompress(packed))
    return tables


def _read_fitting() -> dict[str, Any] | None:
    tables = _read()
    return tables if tables is not None and tables["made_from"] == fingerprint() else None


def packed_tables() -> bytes:
    """Return the content of the cache of tables."""
    import gzip
    import json

    return gzip.compress(json.dumps(pack(compile_grammar()), separators=(",", ":")).encode(), mtime=0)


class Vocabulary(Struct, frozen=True):
    """The terminals of the grammar, by their spelling.

    `reserved` and `soft` have the terminals of a word (several for a soft word with several roles, the preferred one
    first), `signs` the terminal of a sign, `patterns` the regular expressions of all others. `spelling` is the inverse:
    the word or sign of a terminal.
    """

    reserved: dict[str, str]
    soft: dict[str, tuple[str, ...]]
    signs: dict[str, str]
    patterns: dict[str, str]
    spelling: dict[str, str]


@cache
def vocabulary() -> Vocabulary:
    reserved: dict[str, str] = {}
    soft: dict[str, tuple[str, ...]] = {}
    signs: dict[str, str] = {}
    patterns: dict[str, str] = {}
    for terminal in lark().terminals:
        text = terminal.pattern.value
        if terminal.pattern.type != "str":
            patterns[terminal.name] = terminal.pattern.to_regexp()
        elif not text.isidentifier():
            signs[text] = terminal.name
        elif terminal.priority >= RESERVED_PRIORITY:
            reserved[text] = terminal.name
        else:
            soft[text] = (terminal.name,)
    # `by` has two terminals; the grammar can have this spelling for only one of them.
    soft["by"] = (*soft["by"], "_STEP")
    spelling = {name: text for text, name in (reserved | signs).items()}
    spelling |= {name: text for text, names in soft.items() for name in names}
    return Vocabulary(reserved, soft, signs, patterns, spelling)


def main() -> None:
    (data_folder(FOLDER) / TABLES).write_bytes(packed_tables())


if __name__ == "__main__":
    main()
