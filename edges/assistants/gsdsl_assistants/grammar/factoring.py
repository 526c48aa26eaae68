"""Rules without left recursion and without alternatives that begin alike: programs read them from left to right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gsdsl_assistants.grammar.rules import Expansion, Rules

# Replaced by their expansions where they begin one: atoms begin alike.
INLINED = (
    "name", "subscript", "call", "_function", "name_counted", "subscript_counted", "call_counted", "_function_counted",
    "tuple", "set_literal", "comprehension", "selection", "number", "setting", "_comparator", "data_column", "draw",
    "assign", "table", "matrix", "_sense",
)  # fmt: skip
_REST = "_rest"
_TAIL = "_tail"


def without_left_recursion(rules: Rules) -> Rules:
    """Return `a: b r` and `r: c r | ` in place of `a: b | a c`."""
    found: Rules = {}
    for name, expansions in rules.items():
        again = [e[1:] for e in expansions if e[:1] == (name,)]
        if not again:
            found[name] = list(expansions)
            continue
        rest = name + _REST
        found[name] = [(*e, rest) for e in expansions if e[:1] != (name,)]
        found[rest] = [*((*e, rest) for e in again), ()]
    return found


def inline_rules(rules: Rules, names: Iterable[str] = INLINED) -> Rules:
    """Return the rules with some rules replaced where they begin an expansion."""
    wanted = set(names) & rules.keys()

    def expand(expansion: Expansion) -> Iterable[Expansion]:
        if expansion and expansion[0] in wanted:
            head, *rest = expansion
            assert isinstance(head, str)
            for other in rules[head]:
                yield from expand((*other, *rest))
        else:
            yield expansion

    return {
        name: list(dict.fromkeys(new for e in expansions for new in expand(e))) for name, expansions in rules.items()
    }


def left_factored(rules: Rules) -> Rules:
    """Return the rules with one alternative per first symbol; equal rests are shared."""
    found: Rules = {}
    shared: dict[frozenset[Expansion], str] = {}

    def factored(expansions: Sequence[Expansion], owner: str) -> list[Expansion]:
        groups: dict[object, list[Expansion]] = {}
        for expansion in dict.fromkeys(expansions):
            groups.setdefault(expansion[:1], []).append(expansion)
        alternatives: list[Expansion] = []
        for first, group in groups.items():
            if len(group) == 1 or not first:
                alternatives.append(group[0])
                continue
            prefix = _common(group)
            rests = [e[len(prefix) :] for e in group]
            key = frozenset(rests)
            if key not in shared:
                shared[key] = f"{owner}{_TAIL}{len(shared)}"
                found[shared[key]] = factored(rests, owner)
            alternatives.append((*prefix, shared[key]))
        return alternatives

    for name, expansions in rules.items():
        found[name] = factored(expansions, name)
    return found


def _common(group: Sequence[Expansion]) -> Expansion:
    """Return the longest common prefix."""
    shortest = min(group, key=len)
    for at, symbol in enumerate(shortest):
        if any(e[at] != symbol for e in group):
            return shortest[:at]
    return shortest


def reachable(rules: Rules, start: str) -> Rules:
    """Return the rules that a rule needs, in the order of their first use."""
    found: Rules = {}
    pending = [start]
    while pending:
        name = pending.pop()
        if name not in found:
            found[name] = rules[name]
            pending += [s for e in reversed(rules[name]) for s in reversed(e) if isinstance(s, str)]
    return found
