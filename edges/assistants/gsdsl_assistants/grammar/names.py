"""Rules for names that are not certain words, letter by letter: grammars over characters cannot subtract words."""

from __future__ import annotations

from collections.abc import Iterable

LETTERS = "A-Za-z_À-ÖØ-öø-ɏΑ-ΡΣ-ω"
TAIL = "name-tail"
_FIRST, _LATER = LETTERS, LETTERS + "0-9"


class NameRules:
    """Rules for names without words. Names with the same rest have the same rule."""

    def __init__(self) -> None:
        self.rules: dict[str, str] = {TAIL: f"[{_LATER}]*"}
        self._names: dict[tuple[frozenset[str], bool], str] = {}

    def name(self, words: Iterable[str]) -> str:
        """Return the rule for a name that is none of these words."""
        return self._rule(frozenset(words), True)

    def _rule(self, rests: frozenset[str], is_first: bool) -> str:
        """Return the rule for the rest of a name that must not be one of `rests`."""
        if not rests:
            return TAIL
        key = (rests, is_first)
        if key not in self._names:
            self._names[key] = rule = f"name-{len(self._names)}"
            letters = sorted({rest[0] for rest in rests if rest})
            parts = [
                f'"{letter}" {self._rule(frozenset(r[1:] for r in rests if r[:1] == letter), False)}'
                for letter in letters
            ]
            parts.append(f"[{_without(_FIRST if is_first else _LATER, letters)}] {TAIL}")
            # The empty rest: the name ends here, unless it is one of the words.
            ends = not is_first and "" not in rests
            self.rules[rule] = f"({' | '.join(parts)})?" if ends else " | ".join(parts)
        return self._names[key]


def _without(characters: str, letters: Iterable[str]) -> str:
    """Return the ranges of a class of characters without single letters."""
    ranges: list[tuple[int, int]] = []
    at = 0
    while at < len(characters):
        if characters[at + 1 : at + 2] == "-":
            ranges.append((ord(characters[at]), ord(characters[at + 2])))
            at += 3
        else:
            ranges.append((ord(characters[at]), ord(characters[at])))
            at += 1
    for letter in map(ord, letters):
        ranges = [
            part
            for low, high in ranges
            for part in ([(low, letter - 1), (letter + 1, high)] if low <= letter <= high else [(low, high)])
            if part[0] <= part[1]
        ]
    return "".join(chr(low) if low == high else f"{chr(low)}-{chr(high)}" for low, high in ranges)
