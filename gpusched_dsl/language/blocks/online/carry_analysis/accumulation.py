"""Values that accumulate: `carry` must not lose what earlier plans have added up.

On a right side, a parameter has the value of the scenario; `previous(p)` is its value in the last plan. `done` and
`remaining` count from the start of the run; decisions, `running`, `requested` and `elapsed` belong to the last plan.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Iterator as Iterates
from dataclasses import dataclass
from functools import cached_property

from gpusched_dsl.language.blocks.online.carry_analysis.slots import WindowView
from gpusched_dsl.language.blocks.online.carry_analysis.vanishing import vanishes
from gpusched_dsl.language.checked import (
    Arithmetic,
    CheckedModel,
    ComparisonChain,
    Constant,
    Element,
    Executed,
    IfThenElse,
    IndexRef,
    IndexVar,
    LetRef,
    Negate,
    ParamRef,
    Reduction,
    Shift,
    TypedExpr,
    VariableRef,
)
from gpusched_dsl.language.checked_online import CLOCK, ELAPSED, CheckedCarry, CheckedOnline, previous_name
from gpusched_dsl.language.checking.walk import Part, walk
from gpusched_dsl.language.diagnostics.diagnostic import Edit, Fix, Label, Severity
from gpusched_dsl.language.diagnostics.errors import Diagnostics

OF_LAST_PLAN = ("running", "requested", ELAPSED)
_COMMITTED = "committed"


def prove_accumulation(online: CheckedOnline, view: WindowView, diagnostics: Diagnostics) -> None:
    """Report GSM1649 (a value that forgets earlier plans) and GSM1680 (one that never changes)."""
    for carry in online.carries:
        if carry.target not in CLOCK:
            accumulation = _Accumulation(online, view, carry, diagnostics)
            accumulation.check()
            accumulation.check_rows()


@dataclass
class _Accumulation:
    online: CheckedOnline
    view: WindowView
    carry: CheckedCarry
    diagnostics: Diagnostics

    def check(self) -> None:
        self._check_executed()
        own = self._references(self.carry.target)
        if own and not self._is_accumulated:
            if self._reads_last_plan:
                self._report_own(own, self.carry.value)
                return
            if not self._changes:
                self._report_unchanged(own)
                return
            self._check_latch()
        elif own:
            self._check_alternatives()
        self._check_counted_again()
        self._check_others()
        self._check_integrals()
        if self.online.window is not None:
            self._check_slots()
            self._check_skipped_slots()

    # --- what the right side reads -----------------------------------------------------------------------------------

    @cached_property
    def _parts(self) -> tuple[Part, ...]:
        """Return all nodes of the right side, of its `let`s and of the derived parameters that it reads."""
        return tuple(self._with_formulas(self.carry.value))

    def _with_formulas(self, part: Part) -> Iterates[Part]:
        model, waiting, seen = self.online.model, [part], set[str]()
        while waiting:
            for each in walk(waiting.pop()):
                yield each
                if isinstance(each, ParamRef | LetRef) and each.name not in seen:
                    seen.add(each.name)
                    declared = model.lets.get(each.name) if isinstance(each, LetRef) else model.params.get(each.name)
                    if declared is not None and declared.value is not None:
                        waiting.append(declared.value)

    def _references(self, name: str) -> list[ParamRef]:
        return [part for part in self._parts if isinstance(part, ParamRef) and part.name == name]

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(part.name for part in self._parts if isinstance(part, ParamRef))

    @property
    def _is_accumulated(self) -> bool:
        return previous_name(self.carry.target) in self._names

    @property
    def _reads_last_plan(self) -> bool:
        if any(isinstance(part, VariableRef | Executed) for part in self._parts):
            return True
        return not self._names.isdisjoint(OF_LAST_PLAN)

    @property
    def _changes(self) -> bool:
        return not self._names.isdisjoint(self.online.clock_names)

    def _check_alternatives(self) -> None:
        """Check each branch by itself: `previous` in one does not accumulate what the other adds up.

        A branch with the plain parameter alone is back at the value of the scenario, as at the start of a month.
        """
        for branch in _branches(self.carry.value):
            parts = tuple(self._with_formulas(branch))
            names = {part.name for part in parts if isinstance(part, ParamRef)}
            of_last_plan = any(isinstance(part, VariableRef | Executed) for part in parts) or names & {*OF_LAST_PLAN}
            if of_last_plan and self.carry.target in names and previous_name(self.carry.target) not in names:
                self._report_own(self._references(self.carry.target), branch)
                return

    # --- reports -----------------------------------------------------------------------------------------------------

    def _report_own(self, own: list[ParamRef], where: TypedExpr) -> None:
        """Report own references in `where`: the right side, or a branch of it."""
        inside = [part for part in walk(where) if isinstance(part, ParamRef) and part in own]
        self.diagnostics.error(
            "GSM1649",
            f"`{self.carry.target}` does not accumulate: on the right side it has the value of the scenario, so only "
            "the last plan counts",
            where.span,
            "forgets all plans before the last",
            secondary=[self._declared(self.carry.target)],
            help=f"`previous` is the value in the last plan: write `{self._rewritten(inside)}`"
            if inside
            else f"a `let` or a derived parameter reads it: write its formula here, with `previous({self._target})`",
            fix=_edits(inside),
        )

    def _report_unchanged(self, own: list[ParamRef]) -> None:
        inside = [part for part in walk(self.carry.value) if isinstance(part, ParamRef) and part in own]
        self.diagnostics.error(
            "GSM1680",
            f"`{self.carry.target}` gets the same value in every plan: on the right side it has the value of the "
            "scenario",
            self.carry.value.span,
            "never changes",
            secondary=[self._declared(self.carry.target)],
            help=f"`previous` is the value in the last plan: write `{self._rewritten(inside)}`, or remove the line",
            fix=_edits(inside),
        )

    def _check_latch(self) -> None:
        """Check choices such as `if done[j] > 0 then first[j] else now`, which are meant to keep an earlier value."""
        for part in walk(self.carry.value):
            if not isinstance(part, IfThenElse):
                continue
            for kept, other in ((part.then, part.otherwise), (part.otherwise, part.then)):
                own = [p for p in walk(kept) if isinstance(p, ParamRef) and p.name == self.carry.target]
                if own and not self._has_clock(kept) and self._has_clock(other) and not self._has_own(other):
                    self.diagnostics.error(
                        "GSM1649",
                        f"`{own[0].span.text}` is the value of the scenario, not one that an earlier plan had",
                        own[0].span,
                        "of the scenario",
                        secondary=[self._declared(self.carry.target)],
                        help=f"to keep the value of the last plan, write `{self._rewritten(own)}`",
                        severity=Severity.WARNING,
                        fix=_edits(own),
                    )
                    return

    def _check_counted_again(self) -> None:
        """Check sums of `previous` and `done`, which counts from the start: each plan adds all work again."""
        own = previous_name(self.carry.target)
        terms = [(term, _values_read(term)) for term in _terms(self.carry.value)]
        if not any(own in names for _, names in terms) or not self._names.isdisjoint(
            {*self.online.previous_names} - {own}
        ):
            return  # with another `previous`, differences to what the last plan had
        for term, names in terms:
            counted = names & {"done", "remaining"}
            if counted and own not in names and names.isdisjoint(OF_LAST_PLAN):
                self.diagnostics.error(
                    "GSM1649",
                    f"`{min(counted)}` counts from the start of the run, so each plan adds the same work again",
                    term.span,
                    "the work of all plans",
                    secondary=[self._declared(self.carry.target)],
                    help=f"remove `previous({self._target})`: without it, this is the sum of the run so far",
                    severity=Severity.WARNING,
                )
                return

    def _check_integrals(self) -> None:
        """Check products of `elapsed` and decisions: by events, jobs may have ended long before the plan.

        With a window, decisions of slots have their own checks, but `running` is of the present moment there too.
        """
        by_events = self.online.window is None
        for part in walk(self.carry.value, around=(ComparisonChain, Executed)):
            if not isinstance(part, Arithmetic) or part.op != "*":
                continue
            for times, other in ((part.left, part.right), (part.right, part.left)):
                decides = (by_events and other.decision) or "running" in _values_read(other)
                if _has_factor(times, ELAPSED) and decides:
                    self.diagnostics.error(
                        "GSM1649",
                        "`elapsed` times decisions also counts jobs after their end, as in a cluster that became empty",
                        part.span,
                        "not the time that they ran",
                        secondary=[self._declared(self.carry.target)],
                        help="`executed(...)` of the decisions is the integral over the time since the last plan",
                        severity=Severity.WARNING,
                    )
                    return

    def _check_executed(self) -> None:
        """Check that no carried value reaches `executed` through a derived parameter, which has no last value."""
        carried = frozenset(other.target for other in self.online.carries)
        for executed in (part for part in walk(self.carry.value) if isinstance(part, Executed)):
            for part in self.view.with_lets(executed.body):
                declared = self.online.model.params.get(part.name) if isinstance(part, ParamRef) else None
                if declared is None or declared.value is None or not isinstance(part, ParamRef):
                    continue
                reads = {p.name for p in self._with_formulas(declared.value) if isinstance(p, ParamRef)} & carried
                if reads:
                    self.diagnostics.error(
                        "GSM1681",
                        f"`{part.name}` is derived from the carried `{min(reads)}`: its value in the last plan is not "
                        "kept",
                        executed.span,
                        "reads it",
                        secondary=[self._declared(part.name)],
                        help=f"declare `{part.name}` as a `let`",
                    )
                    return

    def _has_clock(self, part: Part) -> bool:
        return any(isinstance(p, ParamRef) and p.name in CLOCK for p in self._with_formulas(part))

    def _has_own(self, part: Part) -> bool:
        return any(isinstance(p, ParamRef) and p.name == self.carry.target for p in self._with_formulas(part))

    def _check_others(self) -> None:
        """Check other carried parameters on the right side: they are not read as the last plan had them."""
        executed = {id(p) for e in self._parts if isinstance(e, Executed) for p in self._with_formulas(e.body)}
        for other in self.online.carries:
            if other.target == self.carry.target or previous_name(other.target) in self._names:
                continue
            found = [r for r in self._references(other.target) if id(r) not in executed]
            inside = [part for part in walk(self.carry.value) if isinstance(part, ParamRef) and part in found]
            if not found or not _Accumulation(self.online, self.view, other, self.diagnostics)._is_state:
                continue
            self.diagnostics.error(
                "GSM1649",
                f"`{other.target}` is the value of the scenario here, not that of the last plan",
                inside[0].span if inside else self.carry.value.span,
                "of the scenario",
                secondary=[Label(other.span, f"`{other.target}` is carried here")],
                help=f"for the value in the last plan write `{self._rewritten(inside)}`",
                severity=Severity.WARNING,
                fix=_edits(inside),
            )

    @property
    def _is_state(self) -> bool:
        """Whether the value depends on earlier plans."""
        return self._reads_last_plan or not self._names.isdisjoint(self.online.previous_names)

    def check_rows(self) -> None:
        """Check rows of the model that add up what jobs have had: a plan has the present jobs only."""
        own = [i for i in self.carry.variables if self._is_job(i)]
        history = bool(own) and (self._is_state or "done" in self._names) and not self._references(self.carry.target)
        for owner in self.view.owners if history else ():
            for part in self.view.with_lets(owner.body):
                if not owner.constraint or not isinstance(part, Reduction) or part.op != "sum":
                    continue
                for job in filter(self._is_job, part.indexing.variables):
                    found = _bare(part.body, self.online.base, self.carry.target, job)
                    if found is not None:
                        self._report_row(part, found)
                        return

    def _is_job(self, index: IndexVar) -> bool:
        return isinstance(index.type, Element) and index.type.root == self.online.jobs_root

    def _report_row(self, part: Reduction, found: ParamRef) -> None:
        self.diagnostics.error(
            "GSM1682",
            f"`{found.span.text}` is added up over the present jobs: what ended jobs have had is missing",
            part.span,
            "becomes less when a job ends",
            secondary=[Label(self.carry.span, "carried here")],
            help="carry the sum instead, in a parameter without jobs: right sides of `carry` range over all jobs that "
            "have arrived",
            severity=Severity.WARNING,
        )

    # --- slots of earlier plans --------------------------------------------------------------------------------------

    def _check_slots(self) -> None:
        """Check decisions of slots before those that were executed since the last plan."""
        for part in walk(self.carry.value, around=(Executed,)):
            if isinstance(part, Reduction) and part.body.decision:
                for index in self.view.slot_variables(part.indexing):
                    self._check_past_slots(part, index)
            elif isinstance(part, VariableRef | LetRef) and part.decision:
                for subscript in self.view.subscripts(part):
                    reach = _before_committed(subscript)
                    if reach is not None and reach >= self._least_executed:
                        self._report_earlier(part, reach)

    def _check_skipped_slots(self) -> None:
        """Check that an accumulated value reads all slots executed since the last plan, not only the last of them."""
        if not self._is_accumulated or any(isinstance(part, Executed) for part in self._parts):
            return
        read: dict[int, TypedExpr] = {}
        for part in walk(self.carry.value, around=(ComparisonChain,)):
            if isinstance(part, Reduction) and part.body.decision and self.view.slot_variables(part.indexing):
                return  # over slots: `_check_past_slots`
            if isinstance(part, VariableRef | LetRef) and part.decision:
                for subscript in self.view.subscripts(part):
                    last = isinstance(subscript, ParamRef) and subscript.name == _COMMITTED
                    before = 0 if last else _before_committed(subscript)
                    if before is not None:
                        read.setdefault(before, part)
        window = self.online.window
        if window is not None and read and len(read) < self._most_executed:
            first = read[min(read)]
            self.diagnostics.error(
                "GSM1649",
                f"a plan executes up to {self._most_executed} slots, and `{self.carry.target}` reads the decisions of "
                f"{len(read)} of them",
                first.span,
                "the slots before are not counted",
                secondary=[Label(window.span, f"{self._most_executed} slots are executed")],
                help="write `executed(sum[h in Slots] ...)` for a sum, `executed(max[h in Slots] ...)` for a maximum",
                severity=Severity.WARNING,
            )

    def _check_past_slots(self, part: Reduction, index: IndexVar) -> None:
        bounds = [c for c in part.indexing.conditions if _names(c, _COMMITTED)]
        if not bounds:
            return
        reaches = [reach for c in bounds if (reach := _reach_of(c)) is not None]
        if reaches:
            if max(reaches) > self._least_executed:
                self._report_earlier(part, max(reaches) - 1)
            return
        if self._is_accumulated and vanishes(part.body, self.online.model, index):
            return
        target = self._target
        inner = f"executed({self._without_bound(part)})"
        joined = f"previous({target}) + {inner}" if part.op == "sum" else f"{part.op}(previous({target}), {inner})"
        if part.op not in ("sum", "max", "min"):
            joined = inner
        self.diagnostics.error(
            "GSM1649",
            f"`{self.carry.target}` does not accumulate: a plan has no decisions of slots that earlier plans executed",
            part.span,
            "only the slots since the last plan count",
            secondary=[self._declared(self.carry.target)],
            help=f"write `carry {target} = {joined};`: `executed` is the amount of the slots since the last plan",
        )

    def _without_bound(self, part: Reduction) -> str:
        """Return the text of an aggregate without its condition on the last executed slot."""
        others = [c.span.text for c in part.indexing.conditions if not _names(c, _COMMITTED)]
        head = part.span.text.split(" where ")[0]
        where = f" where {' and '.join(others)}" if others else ""
        return f"{head}{where}] {part.body.span.text}" if " where " in part.span.text else part.span.text

    def _report_earlier(self, part: TypedExpr, reach: int) -> None:
        assert self.online.window is not None
        slots = "slot" if reach == 1 else "slots"
        self.diagnostics.error(
            "GSM1649",
            f"`{part.span.text}` reads {reach} {slots} before the last executed one, which may belong to an earlier "
            "plan: its decisions are then read as 0",
            part.span,
            "may be forgotten",
            secondary=[Label(self.online.window.span, "a plan may execute fewer slots")],
            help="carry a parameter for each slot that is looked back to, each from `previous` of the one before",
            severity=Severity.WARNING,
        )

    @cached_property
    def _least_executed(self) -> int:
        """The least number of slots that are surely executed between two plans."""
        window, found = self.online.window, []
        assert window is not None
        triggers = self.online.triggers
        if not triggers or self.online.clock_times or any(t.event is not None for t in triggers):
            return 1
        for every in (window.commit, *(t.every for t in self.online.triggers)):
            found.append(int(every.value) if isinstance(every, Constant) else 1)
        return min(found)

    @cached_property
    def _most_executed(self) -> int:
        """The number of slots between two plans if no event causes one; 1 if it depends on data."""
        window = self.online.window
        assert window is not None
        every = (window.commit, *(t.every for t in self.online.triggers))
        return min((int(each.value) for each in every if isinstance(each, Constant)), default=1)

    # --- texts -------------------------------------------------------------------------------------------------------

    @property
    def _target(self) -> str:
        names = ", ".join(variable.name for variable in self.carry.variables)
        return f"{self.carry.target}[{names}]" if names else self.carry.target

    def _declared(self, name: str) -> Label:
        return Label(self.online.base.params[name].span, "declared here")

    def _rewritten(self, references: Iterable[ParamRef]) -> str:
        """Return the line with `previous` around references of its right side."""
        whole = self.carry.value.span
        text = whole.text
        for part in sorted(references, key=lambda r: -r.span.start):
            first, last = part.span.start - whole.start, part.span.end - whole.start
            text = f"{text[:first]}previous({text[first:last]}){text[last:]}"
        return f"carry {self._target} = {' '.join(text.split())};"


def _branches(expr: TypedExpr) -> Iterates[TypedExpr]:
    """Yield the values that an expression may have: those of all branches, if it is a choice."""
    if isinstance(expr, IfThenElse):
        yield from _branches(expr.then)
        yield from _branches(expr.otherwise)
    else:
        yield expr


def _values_read(part: Part) -> frozenset[str]:
    """Return the parameters that a part reads outside conditions."""
    return frozenset(p.name for p in walk(part, around=(ComparisonChain,)) if isinstance(p, ParamRef))


def _has_factor(expr: TypedExpr, name: str) -> bool:
    match expr:
        case ParamRef():
            return expr.name == name
        case Arithmetic(op="*", left=left, right=right):
            return _has_factor(left, name) or _has_factor(right, name)
        case Arithmetic(op="/", left=left):
            return _has_factor(left, name)
    return False


def _terms(expr: TypedExpr) -> Iterates[TypedExpr]:
    """Yield the terms of a sum or difference."""
    if isinstance(expr, Arithmetic) and expr.op in ("+", "-"):
        yield from _terms(expr.left)
        yield from _terms(expr.right)
    else:
        yield expr


def _bare(expr: TypedExpr, model: CheckedModel, name: str, job: IndexVar) -> ParamRef | None:
    """Return a reference to a parameter of a job that no decision of the job multiplies."""
    if vanishes(expr, model, job):
        return None
    if isinstance(expr, Negate):
        return _bare(expr.operand, model, name, job)
    if isinstance(expr, Arithmetic) and expr.op in "+-":
        return _bare(expr.left, model, name, job) or _bare(expr.right, model, name, job)
    for part in walk(expr):
        if isinstance(part, ParamRef) and part.name == name and _has(part.subscripts, job):
            return part
    return None


def _has(subscripts: Iterable[TypedExpr], job: IndexVar) -> bool:
    return any(isinstance(s, IndexRef) and s.variable is job for s in subscripts)


def _edits(references: Iterable[ParamRef]) -> Fix:
    found = [Edit(part.span, f"previous({part.span.text})") for part in references]
    return found or None


def _names(part: Part, name: str) -> bool:
    return any(isinstance(p, ParamRef) and p.name == name for p in walk(part))


def _before_committed(subscript: TypedExpr) -> int | None:
    """Return how many slots before the last executed one a subscript is; None if it is not of that form."""
    match subscript:
        case Shift(operand=ParamRef(name="committed"), offset=Constant(value=value)) if value < 0:
            return int(-value)
    return None


def _reach_of(condition: TypedExpr) -> int | None:
    """Return how many slots a condition such as `h > committed - 4` lets in up to the last executed one."""
    if not isinstance(condition, ComparisonChain):
        return None
    for left, op, right in zip(condition.operands, condition.ops, condition.operands[1:], strict=False):
        if op in (">", ">=") and (before := _before_committed(right)) is not None:
            return before + (op == ">=")
        if op in ("<", "<=") and (before := _before_committed(left)) is not None:
            return before + (op == "<=")
    return None
