"""Blocks that extend each other in a circle, told alike whichever of them is looked at."""

from __future__ import annotations

from collections.abc import Sequence

from gpusched_dsl.language import tree
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics


def report_circle(
    code: str, kind: str, circle: Sequence[tree.Model | tree.Scenario | tree.Policy], diagnostics: Diagnostics
) -> None:
    """Report blocks of which each extends the next, and the last the first; `kind` is what they are (`model`)."""
    first = min(range(len(circle)), key=lambda i: (circle[i].span.source.name, circle[i].span.start))
    turned = [*circle[first:], *circle[:first]]
    names = [f"`{block.name.text}`" for block in turned]
    places = [block.extends.span for block in turned if block.extends is not None]
    if len(turned) == 1:
        diagnostics.error(code, f"{kind} {names[0]} extends itself", places[0], "itself", help="remove `extends`")
        return
    plural = "policies" if kind == "policy" else f"{kind}s"
    diagnostics.error(
        code,
        f"{plural} extend each other in a cycle",
        places[0],
        "part of the cycle",
        secondary=[Label(place, "and this") for place in places[1:]],
        notes=["the cycle is " + " extends ".join([*names, names[0]])],
        help="one of them must not extend another",
    )
