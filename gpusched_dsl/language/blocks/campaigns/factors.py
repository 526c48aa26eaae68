"""The factors of a campaign: what varies, and their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.campaigns.constants import NotConstant, Value, elements, value_text
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span

# Columns of the results that are no factors and no measures.
COLUMNS = (
    "campaign", "scenario", "online", "method", "state", "status", "ended", "objective", "bound", "gap", "seconds",
    "diagnostic", "code", "key", "run",
)  # fmt: skip
SEED, REPLICATION = "seed", "replication"  # factors with a meaning although no statement uses them
MAX_RUNS = 200_000


@dataclass(frozen=True, slots=True)
class Factor:
    """One `vary` statement: its names, and a row of values for each of its elements."""

    names: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    span: Span


def check_factors(statements: Sequence[tree.Vary], diagnostics: Diagnostics) -> tuple[Factor, ...]:
    """Return the factors without errors; report names that clash, and sets without values or with repeats."""
    seen: dict[str, Span] = {}
    factors: list[Factor] = []
    for statement in statements:
        index = statement.index
        if not index.names:
            diagnostics.error(
                "GSM1660", "`vary` needs a name", index.span, "no name", help="write `vary name in { ... };`"
            )
            continue
        for name in index.names:
            _check_name(name, seen, diagnostics)
        try:
            rows = tuple(elements(index.domain, len(index.names), {}))
        except NotConstant as reason:
            names = ", ".join(f"`{name.text}`" for name in index.names)
            diagnostics.error(
                "GSM1660",
                f"the values of {names} are not constants",
                reason.span,
                str(reason),
                help="write a set such as `{ 1, 2, 5 }`, `{ 30[s], 45[s] }`, `1..5` or `{ (2, 20), (4, 40) }`",
            )
            continue
        if not rows:
            diagnostics.error(
                "GSM1662",
                f"`{index.names[0].text}` has no values, so the campaign has no runs",
                index.domain.span,
                "empty",
                help="give it at least one value",
            )
        _check_repeats(index, rows, diagnostics)
        factors.append(Factor(tuple(name.text for name in index.names), rows, statement.span))
    return tuple(factors)


def _check_name(name: tree.Identifier, seen: dict[str, Span], diagnostics: Diagnostics) -> None:
    if name.text in COLUMNS:
        diagnostics.error(
            "GSM1661",
            f"`{name.text}` is a column of the results",
            name.span,
            "this name is taken",
            notes=[f"the columns are {', '.join(COLUMNS)}"],
            help=f"choose another name, such as `{name.text}_value`",
        )
    elif name.text in seen:
        diagnostics.error(
            "GSM1661",
            f"`{name.text}` varies twice",
            name.span,
            "again",
            secondary=[Label(seen[name.text], "first here")],
            help="keep one of them",
        )
    seen.setdefault(name.text, name.span)


def _check_repeats(index: tree.Index, rows: Sequence[tuple[Value, ...]], diagnostics: Diagnostics) -> None:
    repeated = next((row for row, count in Counter(rows).items() if count > 1), None)
    if repeated is not None:
        shown = ", ".join(map(value_text, repeated))
        diagnostics.error(
            "GSM1663",
            f"`{index.names[0].text}` has the value `{shown}` twice, which gives the same runs twice",
            index.domain.span,
            "repeated value",
            help="remove one; to repeat runs, write `vary replication in 1..3;`",
        )


def combinations(factors: Sequence[Factor]) -> Iterator[dict[str, Value]]:
    """Yield every combination of values, the last factor varying fastest."""
    if not factors:
        yield {}
        return
    first, *others = factors
    for row in first.rows:
        values = dict(zip(first.names, row, strict=True))
        for rest in combinations(others):
            yield values | rest


def variations(factors: Sequence[Factor], most: int) -> Iterator[dict[str, Value]]:
    """Yield the first combination, then those that differ from it in one factor."""
    base = {name: value for factor in factors for name, value in zip(factor.names, factor.rows[0], strict=True)}
    yield base
    count = 1
    for factor in factors:
        for row in factor.rows[1:]:
            if count == most:
                return
            count += 1
            yield base | dict(zip(factor.names, row, strict=True))


def names_of(factors: Sequence[Factor]) -> Mapping[str, Span]:
    return {name: factor.span for factor in factors for name in factor.names}
