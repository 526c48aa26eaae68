"""The measures of a campaign: their names, and those that no run has."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.campaigns.factors import COLUMNS, SEED
from gpusched_dsl.language.checked import CheckedModel
from gpusched_dsl.language.checked_online import EXECUTION, TARDINESS, CheckedOnline
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.money import charged_amount, run_money
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import convertible

COST = "cost_"  # before the names of the costs of a run by term
TIMES = ("build_seconds", "solve_seconds")  # of a solve
RESERVED = ("campaign", "ended", "run")  # no columns, although factors may not have these names
HIDING = {*COLUMNS, SEED}.difference(RESERVED, ("objective",))  # columns that hide measures of their names
MOST_LISTED = 12  # in a help line


def measures_of(campaign: tree.Campaign) -> tuple[str, ...]:
    """Return the names in `measure` statements."""
    return tuple(name.text for statement in _statements(campaign) for name in statement.names)


def check_measures(
    campaign: tree.Campaign,
    grids: Sequence[tree.GridRuns],
    models: Mapping[tuple[str, str], CheckedModel],
    onlines: Collection[CheckedOnline | None],
    metrics: Collection[str] | None,
    factors: Mapping[str, Span],
    found: Diagnostics,
) -> None:
    """Report measures that no run of these models has, and those with the name of a factor.

    `onlines` are the blocks of runs over time, None for one with errors; `metrics` those of all runs, None if unknown.
    """
    named: set[str] = set()
    for (verb, _), model in models.items():
        named |= _names_of_solve(model) if verb == "solve" else set()
    for online in onlines:
        named |= set() if online is None else _charges(online)
    own = named.union(*(TIMES if verb == "solve" else metrics or () for verb, _ in models))
    known = {*COLUMNS, *own}.difference(RESERVED)
    open_names = (metrics is None or None in onlines) and any(grid.verb == "run" for grid in grids)
    for statement in _statements(campaign):
        for name in statement.names:
            if name.text in factors:
                found.error(
                    "GSM1661",
                    f"`{name.text}` is a factor, so the results have no measure of this name",
                    name.span,
                    "not measured",
                    secondary=[Label(factors[name.text], "varies here")],
                    help=f"give the factor another name, such as `{name.text}_value`",
                )
            elif name.text in named and name.text in HIDING:
                found.error(
                    "GSM1661",
                    f"`{name.text}` is a column of the results, so they have no measure of this name",
                    name.span,
                    "ambiguous",
                    help=f"give the value of the model another name, such as `{name.text}_value`",
                )
            elif name.text not in known and not open_names:
                found.error(
                    "GSM1665",
                    f"unknown measure `{name.text}`",
                    name.span,
                    "not measured",
                    help=did_you_mean(name.text, known) or _list_measures(own),
                )


def _list_measures(measures: Collection[str]) -> str:
    """Return a help line with some names."""
    shown = ", ".join(f"`{name}`" for name in sorted(measures)[:MOST_LISTED])
    more = f" and {len(measures) - MOST_LISTED} more" if len(measures) > MOST_LISTED else ""
    return f"measures are {shown}{more}"


def _charges(online: CheckedOnline) -> set[str]:
    """Return the measures of the costs of a run by term, and of its charges that are not money."""
    money = run_money(online)
    terms = {EXECUTION, TARDINESS, *(name for name, change in online.changes.items() if change.costs is not None)}
    others: set[str] = set()
    for charge in online.charges:
        (terms if convertible(charged_amount(online, charge.unit), money) else others).add(charge.name)
    return others.union(COST + term for term in terms)


def _names_of_solve(model: CheckedModel) -> set[str]:
    """Return the measures of a solve: objectives, their terms, and reports and lets without indices."""
    names: set[str] = set()
    for objective in model.objectives:
        names |= {name for name in (objective.name, *(term.name for term in objective.terms)) if name is not None}
    scalar = {
        name for group in (model.lets, model.reports) for name, each in group.items() if not each.indexing.iterators
    }
    return names | scalar


def _statements(campaign: tree.Campaign) -> Iterator[tree.Measure]:
    return (statement for statement in campaign.statements if isinstance(statement, tree.Measure))
