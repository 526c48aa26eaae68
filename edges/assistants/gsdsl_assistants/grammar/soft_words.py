"""Names that would be read as keywords: the words that a name must not be, by its place in the rules.

A word such as `by` is a keyword where the parser can take it as one, and a name elsewhere. The parser prefers the
keyword. So a name is without the words that are possible keywords in the states in which the parser reads it. The
states are those of the LR(0) automaton with the tokens that can follow a rule anywhere (SLR): a word may be excluded in
vain, but never missed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from gsdsl_assistants.grammar.rules import NAME, START, Expansion, Rules, Symbol, Token, first_tokens

Item: TypeAlias = tuple[int, int]  # a rule by its number, and how many of its symbols are read
_Rule: TypeAlias = tuple[str, Expansion]
_NAME = Token(NAME)


def with_excluded_words(rules: Rules, soft: Mapping[str, str]) -> Rules:
    """Return the rules with names that exclude keywords; `soft` has the words of terminals that can also be names."""
    automaton = _Automaton(rules)
    excluded: dict[Item, set[str]] = defaultdict(set)
    for state in range(len(automaton.kernels)):
        for terminal, word in soft.items():
            for item in automaton.conflicts(state, Token(terminal)):
                excluded[item].add(word)
    number = 0
    found: Rules = {}
    for name, expansions in rules.items():
        found[name] = []
        for expansion in expansions:
            found[name].append(_exclude_words(expansion, number, excluded))
            number += 1
    return found


def _exclude_words(expansion: Expansion, number: int, excluded: Mapping[Item, set[str]]) -> Expansion:
    return tuple(
        Token(NAME, frozenset(excluded.get((number, at), ()))) if symbol == _NAME else symbol
        for at, symbol in enumerate(expansion)
    )


@dataclass
class _Automaton:
    """The LR(0) automaton of rules: the kernels of its states, their transitions, and the tokens after each rule."""

    rules: Rules
    kernels: list[frozenset[Item]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.flat = [(name, expansion) for name, expansions in self.rules.items() for expansion in expansions]
        self.of_rule: dict[str, list[int]] = defaultdict(list)
        for number, (name, _) in enumerate(self.flat):
            self.of_rule[name].append(number)
        self.first = first_tokens(self.rules)
        self.follow = self._follow()
        self.closures: list[list[Item]] = []
        self.goto: list[dict[Symbol, int]] = []
        self.before: list[dict[Symbol, list[int]]] = []
        self._build()

    def conflicts(self, state: int, token: Token) -> Iterator[Item]:
        """Yield the places in rules of a name that is read in a state in which a token is possible as well.

        If the same rule ends before both, the state after it decides.
        """
        shifts = token in self.goto[state]
        ending = [rule for rule in self._complete(state) if token in self.follow[rule[0]]]
        if _NAME in self.goto[state] and (shifts or any(self._is_shifted_after(state, r, token) for r in ending)):
            yield from self._shifts(state)
        for rule in self._complete(state):
            others = [r for r in ending if r != rule and self._is_shifted_after(state, r, token)]
            if _NAME in self.follow[rule[0]] and (shifts or others):
                for target in self._reachable(state, _NAME, rule):
                    yield from self._shifts(target)

    def _shifts(self, state: int) -> Iterator[Item]:
        for number, dot in self.closures[state]:
            _, expansion = self.flat[number]
            if dot < len(expansion) and expansion[dot] == _NAME:
                yield number, dot

    def _is_shifted_after(self, state: int, rule: _Rule, token: Token) -> bool:
        return any(token in self.goto[target] for target in self._reachable(state, token, rule))

    def _reachable(self, state: int, token: Token, rule: _Rule) -> set[int]:
        """Return the states after a rule that ends in a state, and after further rules that end before a token."""
        seen: set[int] = set()
        pending = [(state, rule)]
        while pending:
            at, (name, expansion) = pending.pop()
            for origin in self._origins(at, expansion):
                target = self.goto[origin].get(name)
                if target is not None and target not in seen:
                    seen.add(target)
                    pending += [(target, r) for r in self._complete(target) if token in self.follow[r[0]]]
        return seen

    def _origins(self, state: int, expansion: Expansion) -> set[int]:
        states = {state}
        for symbol in reversed(expansion):
            states = {before for each in states for before in self.before[each].get(symbol, ())}
        return states

    def _complete(self, state: int) -> Iterator[_Rule]:
        for number, dot in self.closures[state]:
            name, expansion = self.flat[number]
            if dot == len(expansion):
                yield name, expansion

    def _build(self) -> None:
        known = {frozenset((number, 0) for number in self.of_rule[START]): 0}
        self.kernels = list(known)
        at = 0
        while at < len(self.kernels):
            closure = self._closure(self.kernels[at])
            self.closures.append(closure)
            self.goto.append({})
            nexts: dict[Symbol, set[Item]] = defaultdict(set)
            for number, dot in closure:
                expansion = self.flat[number][1]
                if dot < len(expansion):
                    nexts[expansion[dot]].add((number, dot + 1))
            for symbol, items in nexts.items():
                kernel = frozenset(items)
                if kernel not in known:
                    known[kernel] = len(self.kernels)
                    self.kernels.append(kernel)
                self.goto[at][symbol] = known[kernel]
            at += 1
        self.before = [defaultdict(list) for _ in self.kernels]
        for state, targets in enumerate(self.goto):
            for symbol, target in targets.items():
                self.before[target][symbol].append(state)

    def _closure(self, kernel: frozenset[Item]) -> list[Item]:
        found, entered = list(kernel), set()
        for number, dot in found:
            expansion = self.flat[number][1]
            symbol = expansion[dot] if dot < len(expansion) else None
            if isinstance(symbol, str) and symbol not in entered:
                entered.add(symbol)
                found += [(other, 0) for other in self.of_rule[symbol] if (other, 0) not in kernel]
        return found

    def _follow(self) -> dict[str, set[Symbol]]:
        """Return the tokens that can follow each rule; a rule that can be empty is only the first one."""
        follow: dict[str, set[Symbol]] = {name: set() for name in self.rules}
        changed = True
        while changed:
            changed = False
            for name, expansion in self.flat:
                for at, symbol in enumerate(expansion):
                    if isinstance(symbol, str):
                        before = len(follow[symbol])
                        if at + 1 == len(expansion):
                            follow[symbol] |= follow[name]
                        else:
                            after = expansion[at + 1]
                            follow[symbol] |= self.first[after] if isinstance(after, str) else {after}
                        changed = changed or len(follow[symbol]) > before
        return follow
