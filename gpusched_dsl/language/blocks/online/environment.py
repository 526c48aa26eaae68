"""Lines of an online block about the real progress of jobs, and about charges."""

from __future__ import annotations

from dataclasses import dataclass

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.online.names import reference_of
from gpusched_dsl.language.checked import (
    CheckedModel,
    CheckedRandom,
    NamedSet,
    Numeric,
    Role,
    TypedExpr,
    TypedIndexing,
    TypedLaw,
)
from gpusched_dsl.language.checked_online import (
    CHANGES,
    CHARGED,
    OWN_TERMS,
    CheckedChange,
    CheckedCharge,
    CheckedOutage,
)
from gpusched_dsl.language.checking import ExpressionChecker, Scope
from gpusched_dsl.language.checking.conversion import unit_in
from gpusched_dsl.language.checking.randoms import check_law
from gpusched_dsl.language.diagnostics.diagnostic import Label, Severity, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.distributions import distribution_names
from gpusched_dsl.language.money import money_unit
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS, Unit, convertible, unit_of

_PRICES: dict[str, Role] = {"jobs": "costs", "nodes": "node_price"}  # what `charge jobs;` and `charge nodes;` charge


@dataclass
class EnvironmentLines:
    """Checks these lines. In `jobs` a job is bound, in `places` the indices of the placement.

    `work` is the unit of a job's work, `time` the unit of durations; with a window (`slotted`) a speed may be work per
    slot.
    """

    checker: ExpressionChecker
    model: CheckedModel
    diagnostics: Diagnostics
    jobs: Scope
    places: Scope
    work: Unit
    time: Unit
    slotted: bool

    def speed(self, statement: tree.ProgressLine | None) -> tuple[TypedExpr | None, bool]:
        if statement is None:
            return None, False
        typed = self.checker.number(statement.value, self.places)
        if typed is None or not self.checker.data_only(typed, "the speed of a job"):
            return None, False
        unit = unit_in(typed)
        if self.slotted and convertible(unit, self.work):
            return self.checker.number(statement.value, self.places, unit=self.work), True
        return self.checker.number(statement.value, self.places, unit=self.work / self.time), False

    def ends(self, statement: tree.ProgressLine | None) -> TypedExpr | str | None:
        if statement is None:
            return None
        name = reference_of(statement.value)
        if name is not None and name in self.model.randoms:
            if not convertible(self.model.randoms[name].type.unit, self.work):
                self.diagnostics.error(
                    "GSM1302",
                    f"units do not agree: `{name}` is in `{self.model.randoms[name].type.unit}`, "
                    f"the work of a job in `{self.work}`",
                    statement.value.span,
                    secondary=[Label(self.model.randoms[name].span, "declared here")],
                    help="state the work of a job in that unit: `work ...;`",
                )
            return name
        typed = self.checker.number(statement.value, self.jobs, unit=self.work)
        return typed if typed is not None and self.checker.data_only(typed, "the real end of a job") else None

    def stretch(self, statement: tree.ProgressLine | None) -> TypedExpr | TypedLaw | None:
        if statement is None:
            return None
        if isinstance(statement.value, tree.Call) and statement.value.function.text in distribution_names():
            return self._law(statement.value, "stretch", DIMENSIONLESS, self.jobs)
        typed = self.checker.number(statement.value, self.jobs, unit=DIMENSIONLESS)
        return typed if typed is not None and self.checker.data_only(typed, "the extra time of a job") else None

    def _law(self, expr: tree.Expr, name: str, unit: Unit, scope: Scope) -> TypedLaw | None:
        random = CheckedRandom(name, expr.span, Numeric(False, unit), TypedIndexing())
        if isinstance(expr, tree.Call):
            return check_law(self.checker, expr, random, scope)
        typed = self.checker.number(expr, scope, unit=unit)
        if typed is None or not self.checker.data_only(typed, "a law"):
            return None
        return TypedLaw(span=expr.span, name="deterministic", numbers=(("value", typed),))

    def change(self, statement: tree.Change) -> CheckedChange | None:
        event = statement.event.text
        if event not in CHANGES:
            unknown_word(self.diagnostics, statement.event, CHANGES, "change", "changes")
            return None
        delay = costs = None
        if statement.delay is not None:
            delay = self._of_place(statement.delay, self.time, "a delay")
        if statement.costs is not None:
            costs = self._of_place(statement.costs, self._money(), "the cost of a change")
        return CheckedChange(event, statement.span, delay, costs)

    def _of_place(self, expr: tree.Expr, unit: Unit, what: str) -> TypedExpr | None:
        typed = self.checker.number(expr, self.places, unit=unit)
        return typed if typed is not None and self.checker.data_only(typed, what) else None

    def _money(self) -> Unit:
        return money_unit(self.model)

    def outage(self, statement: tree.Outage) -> CheckedOutage | None:
        indexing = tree.Indexing(span=statement.index.span, indices=(statement.index,))
        typed, scope = self.checker.indexing(indexing)
        every = self._law(statement.every, "every", self.time, scope)
        lasting = self._law(statement.lasting, "lasting", self.time, scope)
        if typed is None or every is None or lasting is None:
            return None
        domain = typed.iterators[0].domain
        if not isinstance(domain, NamedSet) or self.model.sets[domain.name].root != domain.name:
            self.diagnostics.error("GSM1625", "nodes that fail must be elements of a root set", domain.span)
            return None
        return CheckedOutage(statement.span, domain.name, typed, every, lasting)

    def charges(self, statements: list[tree.Charge]) -> tuple[str, tuple[CheckedCharge, ...]]:
        charged, charges = "", []
        for statement in statements:
            name = statement.name
            if statement.value is None:
                if name.text not in CHARGED or statement.indexing is not None:
                    unknown_word(self.diagnostics, name, CHARGED, "way to charge", "ways to charge")
                charged = name.text
                self._check_price(statement.span, charged)
                continue
            if name.text in OWN_TERMS:
                self.diagnostics.error(
                    "GSM1103",
                    f"`{name.text}` is a cost that every run has",
                    name.span,
                    "this name is taken",
                    help=f"give the charge another name, such as `{name.text}_charge`",
                )
            typed, scope = self.checker.indexing(statement.indexing)
            unit = None if statement.unit is None else unit_of(statement.unit, self.diagnostics)
            value = self.checker.number(statement.value, scope, unit=unit)
            if value is not None and typed is not None:
                charges.append(CheckedCharge(name.text, statement.span, typed, value, unit or unit_in(value)))
        return charged, tuple(charges)

    def _check_price(self, span: Span, charged: str) -> None:
        """Warn (GSM1654) if jobs or nodes are charged that the placement gives no price."""
        role: Role | None = _PRICES.get(charged)
        placement = self.model.placement
        if role is None or placement is None or placement.item(role) is not None:
            return
        self.diagnostics.error(
            "GSM1654",
            f"`charge {charged}` charges nothing: the placement has no `{role}`",
            span,
            f"charges by `{role}`",
            secondary=[Label(placement.span, "the placement")],
            help=f"state `{role} ...;` in the placement, or remove this line",
            severity=Severity.WARNING,
        )


def unknown_word(
    diagnostics: Diagnostics, name: tree.Identifier, known: tuple[str, ...], one: str, many: str, more: str = ""
) -> None:
    diagnostics.error(
        "GSM1622",
        f"unknown {one} `{name.text}`",
        name.span,
        "unknown",
        help=did_you_mean(name.text, known) or f"{many} are {', '.join(f'`{e}`' for e in known)}{more}",
    )
