"""Checks `online` blocks, which run a model over time, against that model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from msgspec import structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.online.carry_analysis.analysis import prove
from gpusched_dsl.language.blocks.online.clock_times import check_clock_times
from gpusched_dsl.language.blocks.online.environment import EnvironmentLines, unknown_word
from gpusched_dsl.language.blocks.online.inheritance import merge
from gpusched_dsl.language.blocks.online.names import bind, placement_scope, reference_of, with_clock
from gpusched_dsl.language.blocks.online.state_functions import StateFunctions
from gpusched_dsl.language.blocks.policies.policy import model_of
from gpusched_dsl.language.blocks.policies.scope import clock_unit
from gpusched_dsl.language.checked import (
    CheckedModel,
    Element,
    IndexVar,
    NamedSet,
    Numeric,
    TypedExpr,
)
from gpusched_dsl.language.checked_online import (
    EVENTS,
    CheckedArrival,
    CheckedCarry,
    CheckedOnline,
    CheckedTrigger,
    CheckedWindow,
)
from gpusched_dsl.language.checking import EMPTY, ExpressionChecker, Scope, Symbols
from gpusched_dsl.language.checking.conversion import because_declared, unit_in
from gpusched_dsl.language.checking.extends import ONLINE, chain_of
from gpusched_dsl.language.checking.kinds import numeric_type
from gpusched_dsl.language.checking.symbols import slots_of
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS, UNITS, Unit, convertible

S = TypeVar("S", bound=tree.Statement)
_SLOT_WORDS = ("slot", "slots")


def check_online(
    workspace: Workspace, online: tree.Online, diagnostics: Diagnostics, model: CheckedModel | None = None
) -> CheckedOnline | None:
    """An online block with those that it extends, for `model` (None: its own model with the defaults of its options).

    Reports GSM162x, unknown names, wrong types and units, and what cannot be proved; None where there are errors.
    """
    found = Diagnostics()
    chain = chain_of(workspace, workspace.onlines, online, ONLINE, found) or []
    named = next((o.model for o in reversed(chain) if o.model is not None), None)
    if model is None and named is not None:
        model = model_of(workspace, named, found)
    checked = None
    if model is not None and chain:
        checked = _OnlineChecker(model, found, workspace.lost).run(online, merge(chain, found))
    if checked is not None and not found.has_errors:
        prove(checked, found, workspace)
    diagnostics.extend(found)
    return None if found.has_errors else checked


def _declared_as_root(name: str) -> str:
    return (
        f"declare `set {name} ordered;` in the model, give its elements in the scenario, and write `ord(...)` for the "
        "number of an element"
    )


@dataclass
class _OnlineChecker:
    model: CheckedModel
    diagnostics: Diagnostics
    lost: Mapping[str, Span]

    def run(self, online: tree.Online, statements: list[tree.Statement]) -> CheckedOnline:
        self.span = online.name.span
        window = next(_of(tree.Window, statements), None)
        slots = None if window is None else self._window_set(window)
        arrive = next(_of(tree.Arrive, statements), None)
        jobs, brought = self._jobs(arrive)
        self._check_nodes()
        self._check_queues()
        self.unit = DIMENSIONLESS if window is not None else self._clock_unit(arrive, bool(brought))
        # Spans of time: with a window the clock counts slots, so they are in hours.
        self.span_unit = UNITS["h"] if window is not None else self.unit
        progress_lines = {s.verb: s for s in _of(tree.ProgressLine, statements)}
        self.carried = tuple(
            name
            for s in _of(tree.Carry, statements)
            if (name := s.target.text) in self.model.params and self.model.params[name].value is None
        )
        self._see(jobs, DIMENSIONLESS, slots, brought)
        self.job_scope = EMPTY
        arrival = None if arrive is None else self._arrival(arrive, jobs)
        work = self._work(progress_lines.get("work"), list(_of(tree.Carry, statements)))
        self.work_unit = unit_in(work) if work is not None else DIMENSIONLESS
        self._see(jobs, self.work_unit, slots, brought)
        environment = EnvironmentLines(
            self.checker, self.model, self.diagnostics, self.job_scope, placement_scope(self.checker_model),
            self.work_unit, self.span_unit, window is not None,
        )  # fmt: skip
        speed, per_entry = environment.speed(progress_lines.get("speed"))
        charged, charges = environment.charges(list(_of(tree.Charge, statements)))
        return CheckedOnline(
            name=online.name.text,
            span=online.name.span,
            model=self.checker_model,
            base=self.model,
            arrival=arrival,
            unit=self.unit,
            doc=online.doc,
            window=self._window(window, slots),
            triggers=tuple(self._triggers(list(_of(tree.Replan, statements)), window is not None)),
            clock_times=tuple(
                times
                for s in _of(tree.ReplanAt, statements)
                if (times := check_clock_times(s, self.span_unit, self.diagnostics)) is not None
            ),
            carries=tuple(c for s in _of(tree.Carry, statements) if (c := self._carry(s)) is not None),
            work=work,
            ends=environment.ends(progress_lines.get("ends")),
            speed=speed,
            per_entry=per_entry,
            stretch=environment.stretch(progress_lines.get("stretch")),
            changes={
                change.event: change
                for s in _of(tree.Change, statements)
                if (change := environment.change(s)) is not None
            },
            outages=tuple(o for s in _of(tree.Outage, statements) if (o := environment.outage(s)) is not None),
            charged=charged,
            charges=charges,
            fallback=next((s.policy.text for s in _of(tree.FallbackPolicy, statements)), None),
            brought=frozenset(brought),
        )

    # --- names -------------------------------------------------------------------------------------------------------

    def _see(self, jobs: NamedSet | None, work: Unit, slots: NamedSet | None, brought: tuple[str, ...]) -> None:
        self.checker_model = with_clock(
            self.model, self.span, jobs, self.unit, self.span_unit, work, slots, brought, self.carried
        )
        self.checker = self._expressions(self.checker_model)

        functions = StateFunctions(self.carried, None if slots is not None else self.span_unit)
        self._state_checker = ExpressionChecker(
            self.checker.symbols, self.diagnostics, functions=functions.by_name()
        )  # fmt: skip

    def _expressions(self, model: CheckedModel) -> ExpressionChecker:
        symbols = Symbols.of(model, {})
        # The loop's own names also come before variables and `let`s of the model that are called so.
        symbols.values.update({n: p for n, p in model.params.items() if p is not self.model.params.get(n)})
        symbols.poisoned.update(self.lost)
        return ExpressionChecker(symbols, self.diagnostics)

    def _jobs(self, arrive: tree.Arrive | None) -> tuple[NamedSet | None, tuple[str, ...]]:
        """The set of jobs, and the name of a parameter that the model lacks, for events to bring along."""
        if arrive is None:
            return None, ()
        typed = self._expressions(self.model).set_of(arrive.index.domain)
        name = reference_of(arrive.at)
        declared = (self.model.params, self.model.lets, self.model.variables, self.model.sets, self.lost)
        known = name is None or any(name in names for names in declared)
        brought = () if known or name is None else (name,)
        if not isinstance(typed, NamedSet) or len(typed.types) != 1:
            return None, brought
        if self.model.sets[typed.name].root != typed.name:
            root = self.model.sets[typed.name].root
            what = f"is a subset of `{root}`" if root else "is a set of numbers"
            self.diagnostics.error(
                "GSM1625",
                f"arriving jobs must be elements of a root set, `{typed.name}` {what}",
                typed.span,
                "not a root set",
                secondary=[Label(self.model.sets[typed.name].span, "declared here")],
                help=f"let the elements of `{root}` arrive" if root else _declared_as_root(typed.name),
            )
        return typed, brought

    def _check_nodes(self) -> None:
        """Refuse nodes that are numbers: what happens on nodes is followed by the elements of their set."""
        placement = self.model.placement
        node = None if placement is None else placement.value("node")
        if placement is None or node is None or isinstance(node.type, Element):
            return
        iterators = self.model.variables[placement.variable].indexing.iterators
        sets = [i.domain.name for i in iterators if isinstance(i.domain, NamedSet) and i.domain.types == (node.type,)]
        named = sets[0] if len(sets) == 1 else "Nodes"
        message = f"the nodes of a run must be elements of a root set, `{node.span.text}` is a number"
        self.diagnostics.error(
            "GSM1625", message, self.span, "this block", secondary=[Label(node.span, "the node of the placement")],
            help=_declared_as_root(named),
        )  # fmt: skip

    def _check_queues(self) -> None:
        """Refuse queues of nodes: a run starts every job of a plan at once, and follows no order on a node."""
        placement = self.model.placement
        place = None if placement is None else placement.value("place_from_end")
        if place is not None:
            self.diagnostics.error(
                "GSM1697",
                "a run has no queues of nodes: all jobs of a queue would run at once",
                self.span,
                "this block",
                secondary=[Label(place.span, "the position in the queue of a node")],
                help="let the plan of a run place only jobs that run now, and solve models with queues one at a time",
            )

    def _clock_unit(self, arrive: tree.Arrive | None, brought: bool) -> Unit:
        """Return the unit of `now`: that of the arrivals, else that of times in the placement."""
        if arrive is not None and not brought:
            quiet = ExpressionChecker(Symbols.of(self.model, {}), Diagnostics())
            _, scope = quiet.indexing(tree.Indexing(span=arrive.index.span, indices=(arrive.index,)))
            typed = quiet.number(arrive.at, scope)
            if typed is not None:
                return unit_in(typed)
        return clock_unit(self.model)

    # --- windows and arrivals ----------------------------------------------------------------------------------------

    def _window_set(self, window: tree.Window) -> NamedSet | None:
        typed = self._expressions(self.model).set_of(window.index.domain)
        if typed is None:
            return None
        if not isinstance(typed, NamedSet) or len(typed.types) != 1 or not self.model.sets[typed.name].ordered:
            declared = self.model.sets[typed.name].span if isinstance(typed, NamedSet) else None
            self.diagnostics.error(
                "GSM1621",
                f"`{typed.span.text}` is not an ordered set, so it cannot have a window",
                typed.span,
                "not declared `ordered`",
                secondary=[] if declared is None else [Label(declared, "declared here")],
                help=f"declare it: `set {typed.span.text} ordered;`" if isinstance(typed, NamedSet) else None,
            )
            return None
        return typed

    def _window(self, window: tree.Window | None, slots: NamedSet | None) -> CheckedWindow | None:
        if window is None:
            return None
        ahead = self._integer_data(window.lookahead, "the lookahead")
        commit = self._integer_data(window.commit, "the commitment")
        if slots is None or ahead is None or commit is None:
            return None
        name = window.index.names[0].text if window.index.names else "_"
        return CheckedWindow(window.span, IndexVar(name, slots.types[0], window.span), slots.name, ahead, commit)

    def _integer_data(self, expr: tree.Expr, what: str) -> TypedExpr | None:
        typed = self.checker.number(expr, unit=DIMENSIONLESS)
        if typed is None or not self.checker.data_only(typed, what) or not self.checker.require_integer(typed):
            return None
        return typed

    def _arrival(self, statement: tree.Arrive, jobs: NamedSet | None) -> CheckedArrival | None:
        indexing = tree.Indexing(span=statement.index.span, indices=(statement.index,))
        typed, scope = self.checker.indexing(indexing)
        self.job_scope = scope
        at = self.checker.number(statement.at, scope, unit=self.unit)
        if typed is None or jobs is None or at is None or not self.checker.data_only(at, "the time of an arrival"):
            return None
        return CheckedArrival(statement.span, typed.variables[0], jobs.name, typed, at)

    # --- what really happens -----------------------------------------------------------------------------------------

    def _work(self, statement: tree.ProgressLine | None, carries: list[tree.Carry]) -> TypedExpr | None:
        """Return the work of a job: as stated, else the parameter that `carry` decreases by the progress."""
        if statement is None:
            lessened = next((left for c in carries if (left := _is_lessened(c)) is not None), None)
            if lessened is None or len(self.job_scope.bindings) != 1:
                return None
            [job] = self.job_scope.bindings
            renamed = structs.replace(lessened, subscripts=(tree.Name(span=lessened.span, text=job),))
            quiet = ExpressionChecker(self.checker.symbols, Diagnostics())
            return quiet.number(renamed, self.job_scope)
        typed = self.checker.number(statement.value, self.job_scope)
        return typed if typed is not None and self.checker.data_only(typed, "the work of a job") else None

    # --- when, and what is carried -----------------------------------------------------------------------------------

    def _triggers(self, statements: list[tree.Replan], slotted: bool) -> Iterator[CheckedTrigger]:
        for statement in statements:
            for trigger in statement.triggers:
                checked = self._trigger(trigger, slotted)
                if checked is not None:
                    yield checked

    def _trigger(self, trigger: tree.Trigger, slotted: bool) -> CheckedTrigger | None:
        if trigger.event is not None:
            if trigger.event.text in EVENTS:
                return CheckedTrigger(trigger.span, trigger.event.text)
            unknown_word(self.diagnostics, trigger.event, EVENTS, "event", "events", ", or `every` and a time")
            return None
        assert trigger.every is not None
        if trigger.unit is not None:
            typed = self._integer_data(trigger.every, "the time between plans")
            if trigger.unit.text not in _SLOT_WORDS:
                self.diagnostics.error(
                    "GSM1622",
                    f"`{trigger.unit.text}` is not a unit of time between plans",
                    trigger.unit.span,
                    "unknown",
                    help="write `every 4 slots`, or a time: `every 15[min]`",
                )
                return None
            return None if typed is None else CheckedTrigger(trigger.span, every=typed)
        typed = self.checker.number(trigger.every)
        if typed is None or not self.checker.data_only(typed, "the time between plans"):
            return None
        kind = numeric_type(typed)
        assert kind is not None
        if slotted and kind.unit == DIMENSIONLESS:
            return CheckedTrigger(trigger.span, every=typed)
        if kind.unit != DIMENSIONLESS and not convertible(kind.unit, UNITS["s"]):
            self.diagnostics.error(
                "GSM1302",
                f"units do not agree: `{unit_in(typed)}` where a time is needed",
                typed.span,
                f"this is in `{unit_in(typed)}`",
            )
            return None
        wanted = self.checker.number(trigger.every, unit=self.span_unit)
        return None if wanted is None else CheckedTrigger(trigger.span, every=wanted)

    def _carry(self, statement: tree.Carry) -> CheckedCarry | None:
        target = self.model.params.get(statement.target.text)
        if target is None and statement.target.text in self.lost:
            return None
        if target is None or target.value is not None:
            where = self.checker.symbols.span_of(statement.target.text)
            reason = "derived by the model" if target is not None else "not a parameter of the model"
            self.diagnostics.error(
                "GSM1623",
                f"`{statement.target.text}` cannot be carried: it is {reason}",
                statement.target.span,
                reason,
                secondary=[] if where is None else [Label(where, "declared here")],
                help=did_you_mean(statement.target.text, self.model.params) if target is None else None,
            )
            return None
        slots = slots_of(target)
        names = statement.indices
        if len(names) != len(slots):
            place = names[0].span.to(names[-1].span) if names else statement.target.span
            self.diagnostics.error(
                "GSM1201",
                f"`{target.name}` has {len(slots) or 'no'} subscript{'' if len(slots) == 1 else 's'}, "
                f"{len(names) or 'none'} given",
                place,
                f"{len(names) or 'none'} given",
                secondary=[Label(target.span, f"`{target.name}` is declared here")],
            )
            return None
        scope: Scope = EMPTY
        bound: dict[str, Span] = {}
        variables = []
        for name, slot in zip(names, slots, strict=True):
            if name.text in bound:
                self.diagnostics.error(
                    "GSM1105",
                    f"index `{name.text}` is named twice",
                    name.span,
                    "again",
                    secondary=[Label(bound[name.text], "first here")],
                )
            bound.setdefault(name.text, name.span)
            variables.append(IndexVar(name.text, slot.type, name.span))
            scope = bind(scope, variables[-1], slot)
        because = None
        kind = target.type
        if isinstance(kind, Numeric):
            because = because_declared(target.name, target.span, kind.unit)
            kind = structs.replace(
                kind, integer=False
            )  # states that a solver leaves whole are rounded when they are carried
        value = self._state_checker.value(statement.value, kind, scope, because=because)
        return None if value is None else CheckedCarry(target.name, statement.span, tuple(variables), value)


def _is_lessened(carry: tree.Carry) -> tree.Subscript | None:
    """`p[j]` of `carry p[j] = p[j] - done[j];`."""
    value = carry.value
    if not isinstance(value, tree.Binary) or value.op != "-" or len(carry.indices) != 1:
        return None
    left, right = value.left, value.right
    if not isinstance(left, tree.Subscript) or not isinstance(right, tree.Subscript):
        return None
    return left if left.name.text == carry.target.text and right.name.text == "done" else None


def _of(kind: type[S], statements: list[tree.Statement]) -> Iterator[S]:
    return (s for s in statements if isinstance(s, kind))
