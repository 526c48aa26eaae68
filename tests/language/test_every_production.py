"""Each production of the grammar once, in its shortest context: whatever the grammar accepts, parsing and checking end
in a tree or in diagnostics.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpusched_dsl.compiling.build import DEFAULT_MEMORY, Permissions
from gpusched_dsl.language.diagnostics.errors import DiagnosticError, Diagnostics
from gpusched_dsl.language.parsing.grammar import lark
from gpusched_dsl.language.workspace import workspace_from_text
from gpusched_dsl.workflows.check import check_all

START = "start"
SAMPLES = {"NAME": "a", "NUMBER": "2", "STRING": '"a"', "UNIT_SIGN": "$", "_STEP": ""}

Symbols = tuple[str, ...]


def words_of_terminals() -> dict[str, str]:
    return {t.name: SAMPLES.get(t.name, t.pattern.value) for t in lark().terminals} | SAMPLES


def productions() -> dict[str, list[Symbols]]:
    """The alternatives of each nonterminal."""
    found: dict[str, list[Symbols]] = {}
    for rule in lark().rules:
        found.setdefault(rule.origin.name, []).append(tuple(symbol.name for symbol in rule.expansion))
    return found


def shortest(rules: dict[str, list[Symbols]]) -> dict[str, Symbols]:
    """The fewest terminals that each nonterminal derives."""
    best: dict[str, Symbols] = {}
    changed = True
    while changed:
        changed = False
        for name, alternatives in rules.items():
            for symbols in alternatives:
                if all(s in best or s not in rules for s in symbols):
                    derived = tuple(t for s in symbols for t in (best[s] if s in rules else (s,)))
                    if name not in best or len(derived) < len(best[name]):
                        best[name], changed = derived, True
    return best


def contexts(rules: dict[str, list[Symbols]], best: dict[str, Symbols]) -> dict[str, tuple[Symbols, Symbols]]:
    """The fewest terminals before and behind each nonterminal in a whole text."""
    found: dict[str, tuple[Symbols, Symbols]] = {START: ((), ())}
    changed = True
    while changed:
        changed = False
        for name, alternatives in rules.items():
            if name not in found:
                continue
            before, behind = found[name]
            for symbols in alternatives:
                parts = [best[s] if s in rules else (s,) for s in symbols]
                for at, symbol in enumerate(symbols):
                    if symbol in rules:
                        left = before + tuple(t for part in parts[:at] for t in part)
                        right = tuple(t for part in parts[at + 1 :] for t in part) + behind
                        old = found.get(symbol)
                        if old is None or len(left) + len(right) < len(old[0]) + len(old[1]):
                            found[symbol], changed = (left, right), True
    return found


def sentences() -> Iterator[tuple[str, str]]:
    """A production, and a text that uses it."""
    rules, words = productions(), words_of_terminals()
    best = shortest(rules)
    around = contexts(rules, best)
    for name, alternatives in rules.items():
        for symbols in alternatives:
            middle = tuple(t for s in symbols for t in (best[s] if s in rules else (s,)))
            before, behind = around[name]
            yield f"{name}: {' '.join(symbols)}", " ".join(words[t] for t in before + middle + behind)


@pytest.mark.parametrize("declared", ["set a = 1..2;", "var a[i in 1..3] binary;", "param a = 2;"])
def test_each_production_is_read_and_checked(declared: str) -> None:
    """In a file of its own, in which the only name is declared as one of several things."""
    without_errors = 0
    for production, text in sentences():
        beginning = "model a { "
        if text.startswith(beginning):
            whole = beginning + declared.replace(" a", " b") + text[len(beginning) :]
        else:
            whole = f"{text}\n{beginning}{declared} }}\n"
        found = Diagnostics()
        try:
            check_all(workspace_from_text(whole, "sentence.gsm", found), found, Permissions(DEFAULT_MEMORY, False))
        except DiagnosticError:
            pass
        except Exception as error:
            pytest.fail(f"{production}\n{whole}\n{error!r}")
        without_errors += not found.has_errors
    assert without_errors > 50
