"""Times of slots that functions of the clock read: `ord(h)` counts from the first slot of a window, not of the run."""

from __future__ import annotations

from collections.abc import Iterator as Iterates

from gpusched_dsl.language.blocks.online.carry_analysis.slots import WindowView
from gpusched_dsl.language.checked import Function, LetRef, Ordinal, ParamRef, Reduction, SetFunction, TypedExpr
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checking.clock_functions import CLOCK_FUNCTIONS
from gpusched_dsl.language.checking.walk import Part, walk
from gpusched_dsl.language.diagnostics.diagnostic import Label, Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics


def prove_slot_times(online: CheckedOnline, view: WindowView, diagnostics: Diagnostics) -> None:
    """Report (GSM1696) functions of the clock with a time that is counted within the window."""
    assert online.window is not None
    slots = online.window.slots
    for part in _functions(online):
        counted, default = _counted(part.arguments[0], view)
        if counted is not None:
            diagnostics.error(
                "GSM1696",
                f"`{counted.span.text}` counts from the first slot of each window, so `{part.name}` reads the time of "
                "another slot",
                part.span,
                "the clock is read here",
                secondary=[
                    Label(counted.span, "counted in the window"),
                    Label(online.window.span, "a window has only its own slots"),
                ],
                help=f"give the times of slots in the scenario: `at[h in {slots}] = (ord(h) - 1) * 15[min];`",
                severity=Severity.WARNING if default else Severity.ERROR,
            )


def _functions(online: CheckedOnline) -> Iterates[Function]:
    """Yield the functions of the clock in the model and the block, each once."""
    model = online.base
    parts: list[Part] = [c.body for c in model.constraints.values()]
    parts += [c.indexing for c in model.constraints.values()]
    parts += [t.value for o in model.objectives for t in o.terms]
    parts += [bound.value for v in model.variables.values() for bound in v.bounds]
    parts += [let.value for let in model.lets.values()]
    parts += [each for p in model.params.values() for each in (p.value, p.default) if each is not None]
    parts += [each.value for each in model.sets.values() if each.value is not None]
    parts += [charge.value for charge in online.charges]
    seen: set[int] = set()
    for whole in parts:
        for part in walk(whole):
            if isinstance(part, Function) and part.name in CLOCK_FUNCTIONS and id(part) not in seen:
                seen.add(id(part))
                yield part


def _counted(time: TypedExpr, view: WindowView) -> tuple[TypedExpr | None, bool]:
    """Return the part of a time that counts slots, through `let`s and parameters; None if a carry moves it.

    The second value is whether only a default counts: the scenario may give the times.
    """
    waiting = [(time, False)]
    found: list[tuple[bool, TypedExpr]] = []
    seen: set[str] = set()
    while waiting:
        whole, default = waiting.pop()
        for part in walk(whole):
            if _counts(part, view) and isinstance(part, TypedExpr):
                found.append((default, part))
            if isinstance(part, ParamRef | LetRef) and part.name not in seen:
                seen.add(part.name)
                if part.name in view.carried:
                    return None, False
                param, let = view.model.params.get(part.name), view.model.lets.get(part.name)
                formula = param.value if param is not None else let.value if let is not None else None
                if formula is not None:
                    waiting.append((formula, default))
                elif param is not None and param.default is not None:
                    waiting.append((param.default, True))
    found.sort(key=lambda each: each[0])
    return (found[0][1], found[0][0]) if found else (None, False)


def _counts(part: Part, view: WindowView) -> bool:
    """Whether a part counts slots, or adds up something of several slots, such as the lengths of those before."""
    if isinstance(part, Ordinal | SetFunction):
        return any(view.positions(part.domain))
    return isinstance(part, Reduction) and part.op in ("count", "sum") and bool(view.slot_variables(part.indexing))
