"""Online blocks that extend others: the effective lines."""

from __future__ import annotations

from gpusched_dsl.language import tree
from gpusched_dsl.language.checking.extends import statements_of
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics


def _key(statement: tree.Statement) -> str:
    """Return the subject of a statement: of two with the same subject, the derived one is effective."""
    match statement:
        case tree.Carry():
            return f"carry {statement.target.text}"
        case tree.ProgressLine():
            return statement.verb
        case tree.FallbackPolicy():
            return "fallback"
        case tree.Change():
            return f"on {statement.event.text}"
        case tree.Charge():
            return f"charge {statement.name.text}" if statement.value is not None else "charge"
        case tree.ReplanAt():
            return " ".join(("replan at", *sorted(day.text for day in statement.days)))
        case tree.Outage():
            return f"outage {statement.index.domain.span.text}"
    return type(statement).__name__.lower()


def merge(chain: list[tree.Online], diagnostics: Diagnostics) -> list[tree.Statement]:
    """The lines that apply, those of the newest block for each key; reports GSM1620."""

    def report(key: str, first: tree.Statement, again: tree.Statement) -> None:
        message, secondary = f"`{key}` is repeated", [Label(first.span, "first here")]
        diagnostics.error("GSM1620", message, again.span, "again", secondary=secondary, help="keep one of them")

    return [statement for _, statement in statements_of(chain, _key, report).values()]
