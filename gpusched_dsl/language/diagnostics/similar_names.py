"""Names with a small edit distance from another name: the proposals of `did you mean`.

A proposal must not have another meaning. So digits are never changed (`log10` is not `log`, `n1` is not `n2`), a short
word keeps its first letter (`sin` is not `min`, `xor` is not `or`), and words that
mean something in other languages resemble nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized

_SHOWN = 2
_FEW = 100  # names that are always compared
MOST_COMPARISONS = 200_000  # in longer lists, for the errors of one text: half a second
MOST_LISTED = 12  # names in a note or a help line
_SHORT = 3

# Words of other languages whose meaning no near word has.
OTHER_WORDS = frozenset(
    (
        *("xor", "nor", "nand", "iff", "mod", "div", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
        *("asin", "acos", "atan", "pow", "sqr", "square", "sign", "int", "trunc", "const", "mean", "median"),
        *("ln", "len", "card", "inf", "nil", "null", "none", "forall", "exists"),
    )
)


class Proposals:
    """The comparisons left for proposals: of very many names and errors only the first errors get any."""

    left = MOST_COMPARISONS


def renew_proposals() -> None:
    """Allow proposals for the errors of another text."""
    Proposals.left = MOST_COMPARISONS


def listed(names: Iterable[str], most: int = MOST_LISTED) -> str:
    """`` `a`, `b`, ... ``: at most so many of the names."""
    shown = list(names)
    return ", ".join(f"`{name}`" for name in shown[:most]) + (", ..." if len(shown) > most else "")


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """At most two of the known names: the one that looks the same, else those with the fewest slips between.

    None after too many comparisons.
    """
    if not isinstance(name, str):  # of a caller in Python
        return []
    if Proposals.left < 0 and not (isinstance(known, Sized) and len(known) <= _FEW):
        return []
    lowered = name.lower()
    best: list[str] = []
    fewest = _slips_allowed(lowered) + 1
    others: Mapping[str, object] = known if isinstance(known, dict) else dict.fromkeys(known)
    if len(others) > _FEW:
        Proposals.left -= len(others)
    plain = name.isascii()
    from gpusched_dsl.language.text.lookalikes import look_alike

    for other in others:
        if not (plain and other.isascii()) and look_alike(name, other):
            return [other]
        slips = _slips(lowered, other.lower(), name != other, fewest)
        if slips is None or slips > fewest or (slips == fewest and not best):
            continue
        if slips < fewest:
            fewest, best = slips, []
        best.append(other)
    return best[:_SHOWN]


def _slips_allowed(word: str) -> int:
    return 0 if len(word) < 2 else 1 if len(word) < 6 else 2


def _slips(word: str, other: str, differ: bool, most: int) -> int | None:
    """Slips between two words, None where one is no slip of the other."""
    if word == other:
        return 0 if differ and len(word) > 1 else None
    if word in OTHER_WORDS or abs(len(word) - len(other)) > most or _digits(word) != _digits(other):
        return None
    if _singular(word) == _singular(other):
        return 1
    if min(len(word), len(other)) <= _SHORT:
        return 1 if _resemble_shortly(word, other) else None
    slips = distance(word, other)
    return slips if slips <= _slips_allowed(min(word, other, key=len)) else None


def _singular(word: str) -> str:
    return word[:-3] + "y" if word.endswith("ies") else word.removesuffix("s") if len(word) > 2 else word


def _resemble_shortly(word: str, other: str) -> bool:
    """Whether words, one with at most three letters, differ by one slip after the first letter, or by one
    extra letter.
    """
    if len(word) == len(other):
        return distance(word, other) == 1 and (word[0] == other[0] or sorted(word) == sorted(other))
    if len(word) == _SHORT < len(other):
        return distance(word, other) == 1
    return len(word) == len(other) + 1 and any(
        word[i] == word[i + 1] and word[:i] + word[i + 1 :] == other for i in range(len(other))
    )


def _digits(word: str) -> str:
    return "".join(c for c in word if c.isdigit())


def distance(one: str, other: str) -> int:
    """Letters to insert, leave out, replace, or swap with the next, each at most once (optimal string alignment)."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            least = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                least = min(least, last[j - 2] + 1)
            row.append(least)
    return row[-1]
