"""Parameters that read themselves or each other: where they may do so."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from gpusched_dsl.language.checked import Expected, ParamRef, TypedExpr, TypedIndexing, TypedSet
from gpusched_dsl.language.checking.walk import Part, children, walk

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.protocol import Checker


def reads_circle_plainly(checker: Checker, circle: Collection[str], value: TypedExpr) -> bool:
    """Whether the entries that an entry reads follow without values of the circle; reports (GSM1407) if not."""
    found = _hidden(circle, value, hidden=False)
    if found is None:
        return True
    checker.error(
        "GSM1407",
        f"`{found.name}` decides here which of its values it reads"
        if len(circle) == 1
        else f"`{found.name}` decides here which values it needs itself",
        found.span,
        "in a subscript, a set, an index list or an expectation",
        help="only values may be recursive: write the condition with `if ... then ... else`",
    )
    return False


def _hidden(circle: Collection[str], part: Part, *, hidden: bool) -> ParamRef | None:
    if isinstance(part, ParamRef) and part.name in circle:
        if hidden:
            return part
        inner = (p for s in part.subscripts for p in walk(s))
        return next((p for p in inner if isinstance(p, ParamRef) and p.name in circle), None)
    hidden = hidden or isinstance(part, TypedSet | TypedIndexing | Expected)
    hidden = hidden or (isinstance(part, TypedExpr) and hasattr(part, "subscripts"))
    return next((f for p in children(part) if (f := _hidden(circle, p, hidden=hidden)) is not None), None)
