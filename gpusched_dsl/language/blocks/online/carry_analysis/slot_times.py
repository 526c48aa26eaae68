"""Times of slots that functions of the clock read: `ord(h)` counts from the first slot of a window, not of the run."""

from __future__ import annotations

from collections.abc import Iterator as Iterates

from gpusched_dsl.language.blocks.online.carry_analysis.slots import WindowView
from gpusched_dsl.language.checked import Function, LetRef, Ordinal, ParamRef, SetFunction, TypedExpr
from gpusched_dsl.language.checked_online import CheckedOnline
from gpusched_dsl.language.checking.clock_functions import CLOCK_FUNCTIONS
from gpusched_dsl.language.checking.walk import Part, walk
from gpusched_dsl.language.diagnostics.diagnostic import Label
from gpusched_dsl.language.diagnostics.errors import Diagnostics


def prove_slot_times(online: CheckedOnline, view: WindowView, diagnostics: Diagnostics) -> None:
    """Report (GSM1696) functions of the clock with a time that is counted within the window."""
    assert online.window is not None
    slots = online.window.slots
    for part in _functions(online):
        counted = _counted(part.arguments[0], view)
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
            )


def _functions(online: CheckedOnline) -> Iterates[Function]:
    """Yield the functions of the clock in the model and the block, each once."""
    model = online.base
    parts: list[Part] = [c.body for c in model.constraints.values()]
    parts += [c.indexing for c in model.constraints.values()]
    parts += [t.value for o in model.objectives for t in o.terms]
    parts += [bound.value for v in model.variables.values() for bound in v.bounds]
    parts += [let.value for let in model.lets.values()]
    parts += [param.value for param in model.params.values() if param.value is not None]
    parts += [each.value for each in model.sets.values() if each.value is not None]
    parts += [charge.value for charge in online.charges]
    seen: set[int] = set()
    for whole in parts:
        for part in walk(whole):
            if isinstance(part, Function) and part.name in CLOCK_FUNCTIONS and id(part) not in seen:
                seen.add(id(part))
                yield part


def _counted(time: TypedExpr, view: WindowView) -> TypedExpr | None:
    """Return the part of a time that counts slots, through `let`s and derived parameters; None if a carry moves it."""
    waiting: list[TypedExpr] = [time]
    found: TypedExpr | None = None
    seen: set[str] = set()
    while waiting:
        for part in walk(waiting.pop()):
            if isinstance(part, Ordinal | SetFunction) and any(view.positions(part.domain)):
                found = found or part
            if isinstance(part, ParamRef | LetRef) and part.name not in seen:
                seen.add(part.name)
                if part.name in view.carried:
                    return None
                param, let = view.model.params.get(part.name), view.model.lets.get(part.name)
                declared = param if param is not None else let
                if declared is not None and declared.value is not None:
                    waiting.append(declared.value)
    return found
