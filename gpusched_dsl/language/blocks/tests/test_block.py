"""Checks `test` blocks: the scenarios, the methods, and the assertions on the results."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction

from msgspec import Struct, structs

from gpusched_dsl.language import tree
from gpusched_dsl.language.blocks.known_methods import help_for_unknown, refused_option
from gpusched_dsl.language.checked import CheckedModel, Numeric, TextType, TypedExpr
from gpusched_dsl.language.checking import ExpressionChecker, ExtraName, Symbols
from gpusched_dsl.language.checking.conversion import unit_in
from gpusched_dsl.language.checking.kinds import numeric_type
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.diagnostic import Label, did_you_mean
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.scenarios.scenario import CheckedScenario, check_scenario
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import DIMENSIONLESS, UNITS, Unit, convertible, factor, unit_of
from gpusched_dsl.options.table import by_name

STATUSES = ("optimal", "feasible", "broken", "infeasible", "unbounded", "infeasible_or_unbounded", "limit")


class CheckedMethod(Struct, frozen=True):
    """`scip (gap = 0)`. Settings are numbers (times in seconds), truth values or words."""

    name: str
    span: Span
    settings: dict[str, bool | float | str]


class CheckedExpect(Struct, frozen=True):
    """`condition` may contain KnownValues: `status`, `objective`, `bound`, `gap`, names of objectives and of terms.

    Numbers without a unit are in the unit of the other operand. `tolerance` is absolute, in the unit of
    the first operand of the comparison.
    """

    span: Span
    condition: TypedExpr
    tolerance: TypedExpr | None


class CheckedSolve(Struct, frozen=True):
    """A scenario under some settings, its methods (none: the default) and the assertions."""

    span: Span
    scenario: CheckedScenario
    settings: tuple[tree.NamedArgument, ...]
    methods: tuple[CheckedMethod, ...]
    expects: tuple[CheckedExpect, ...]


class CheckedTest(Struct, frozen=True):
    name: str
    span: Span
    solves: tuple[CheckedSolve, ...]
    doc: str | None = None


def check_test(
    workspace: Workspace,
    test: tree.Test,
    diagnostics: Diagnostics,
    known_methods: Collection[str] | None = None,
) -> CheckedTest | None:
    """Return the checked test, or None if it or one of its scenarios has errors (all are in `diagnostics`).

    `known_methods` are the names of backends and policies; without them any name is allowed after `with`.
    """
    found = Diagnostics()
    solves = tuple(_solves(workspace, test, found, known_methods))
    diagnostics.extend(found)
    return None if found.has_errors else CheckedTest(test.name.text, test.name.span, solves, test.doc)


def _solves(
    workspace: Workspace,
    test: tree.Test,
    diagnostics: Diagnostics,
    known_methods: Collection[str] | None,
) -> Iterator[CheckedSolve]:
    """Return each `solve` with its `expect`s; only those without errors."""
    groups: list[tuple[tree.Solve, list[tree.Expect]]] = []
    for statement in test.statements:
        if isinstance(statement, tree.Solve):
            groups.append((statement, []))
        elif isinstance(statement, tree.Expect) and groups:
            groups[-1][1].append(statement)
        else:
            diagnostics.error(
                "GSM1601",
                "`expect` needs a `solve` before it",
                statement.span,
                "no solve before this",
                help="write `solve Scenario;` before it",
            )
    for solve, expects in groups:
        methods = [_check_method(call, diagnostics, known_methods) for call in solve.methods]
        scenario = check_scenario(
            workspace,
            solve.scenario.text,
            {},
            diagnostics,
            settings=solve.settings,
            at=solve.scenario.span,
        )
        if scenario is None:
            continue
        checker = ExpectChecker(scenario.model, diagnostics, workspace.lost)
        checked = [checker.expect(e) for e in expects]
        yield CheckedSolve(
            solve.span,
            scenario,
            solve.settings,
            tuple(methods),
            tuple(e for e in checked if e is not None),
        )


# --- methods ---------------------------------------------------------------------------------------------------------


def _check_method(call: tree.MethodCall, diagnostics: Diagnostics, known: Collection[str] | None) -> CheckedMethod:
    """Return a method with its settings; report also options of solvers that a text may not set (GSM1609)."""
    method, own = check_method_call(call, diagnostics, known), by_name("solve", "test")
    for setting in call.settings:
        option = setting.name.text
        if option in method.settings and option not in own:
            refused = refused_option(known, method.name, option, method.settings[option])
            if refused is not None:
                diagnostics.add(structs.replace(refused, primary=setting.span))
    return method


def check_method_call(
    method: tree.MethodCall, diagnostics: Diagnostics, known: Collection[str] | None
) -> CheckedMethod:
    """Return a method with its settings; report an unknown name (GSM1602), and settings that are no constants."""
    name = method.name.text
    if known is not None and name not in known:
        diagnostics.error(
            "GSM1602",
            f"unknown method `{name}`",
            method.name.span,
            "neither a backend nor a policy",
            help=help_for_unknown(name, known),
        )
    settings: dict[str, bool | float | str] = {}
    seen: dict[str, Span] = {}
    for setting in method.settings:
        if setting.name.text in seen:
            diagnostics.error(
                "GSM1506",
                f"`{setting.name.text}` is given twice",
                setting.name.span,
                "given again",
                secondary=[Label(seen[setting.name.text], "first given here")],
            )
        seen.setdefault(setting.name.text, setting.name.span)
        value = _constant(setting.value, diagnostics)
        option = by_name("solve", "test").get(setting.name.text)
        if value is not None and option is not None and not option.kind.accepts_stated(value):
            message = f"`{setting.name.text}` must be {option.kind.stated}"
            diagnostics.error("GSM1603", message, setting.value.span, "something else")
        elif value is not None:
            settings[setting.name.text] = value
    return CheckedMethod(name, method.span, settings)


def _constant(expr: tree.Expr, diagnostics: Diagnostics) -> bool | float | str | None:
    """Return the value of a method's setting: a number, a time in seconds, a truth value or a word."""
    match expr:
        case tree.Boolean(value=truth):
            return truth
        case tree.Text(value=text) | tree.Name(text=text):
            return text
        case tree.UnaryExpr(op="-", operand=tree.Number()):
            value = _constant(expr.operand, diagnostics)
            return -value if isinstance(value, float) else value
        case tree.Number(unit=None, value=number):
            return number
        case tree.Number(unit=tree.UnitNode() as node, value=number):
            unit = unit_of(node, diagnostics)
            seconds = UNITS["s"]
            if unit is None:
                return None
            if convertible(unit, seconds):
                return float(Fraction(number) * factor(unit, seconds))
            if unit.is_dimensionless:
                return float(Fraction(number) * unit.scale)
    diagnostics.error(
        "GSM1603",
        "a setting of a method must be a number, a time, `true`, `false` or a word",
        expr.span,
        "none of these",
    )
    return None


# --- expectations ----------------------------------------------------------------------------------------------------


class ExpectChecker:
    """Checks `expect` statements against a model and the names of a result."""

    def __init__(self, model: CheckedModel, diagnostics: Diagnostics, lost: Mapping[str, Span]) -> None:
        declared = Symbols.of(model).values
        extras = {name: extra for name, extra in _answer_names(model).items() if name not in declared}
        symbols = Symbols.of(model, extras)
        symbols.poisoned.update(lost)
        self.checker = ExpressionChecker(symbols, diagnostics)
        self.has_status = "status" in extras
        self.diagnostics = diagnostics

    def expect(self, statement: tree.Expect) -> CheckedExpect | None:
        condition = self.checker.condition(self._prepare(statement.condition))
        tolerance: TypedExpr | None = None
        if statement.tolerance is not None:
            tolerance = self._tolerance(statement)
            if tolerance is None:
                return None
        return None if condition is None else CheckedExpect(statement.span, condition, tolerance)

    def _tolerance(self, statement: tree.Expect) -> TypedExpr | None:
        """Return the tolerance in the unit of the first operand."""
        assert statement.tolerance is not None
        compared = statement.condition
        operand = compared.operands[0] if isinstance(compared, tree.Compare) else None
        unit = self._unit_beside(compared.operands) if isinstance(compared, tree.Compare) else None
        if operand is None or unit is None:
            self.diagnostics.error(
                "GSM1605",
                "`within` is allowed only with a comparison of numbers",
                statement.tolerance.span,
                "tolerance of no number",
                secondary=[Label(compared.span, "this does not compare numbers")],
            )
            return None
        typed = self.checker.number(statement.tolerance, unit=unit, bare=True)
        return typed if typed is not None and self.checker.data_only(typed, "a tolerance") else None

    def _prepare(self, expr: tree.Expr) -> tree.Expr:
        """Convert words for a status to texts, and bare numbers to the unit of the comparison."""
        match expr:
            case tree.Compare():
                return self._compare(expr)
            case tree.Binary(op="and" | "or" | "=>" | "<=>"):
                return structs.replace(expr, left=self._prepare(expr.left), right=self._prepare(expr.right))
            case tree.UnaryExpr(op="not"):
                return structs.replace(expr, operand=self._prepare(expr.operand))
            case _:
                return expr

    def _compare(self, expr: tree.Compare) -> tree.Compare:
        if self.has_status and any(isinstance(o, tree.Name) and o.text == "status" for o in expr.operands):
            return structs.replace(expr, operands=tuple(self._status(o) for o in expr.operands))
        unit = self._unit_beside(expr.operands)
        if unit is None or unit == DIMENSIONLESS:
            return expr
        return structs.replace(expr, operands=tuple(_in_unit(o, unit) for o in expr.operands))

    def _status(self, operand: tree.Expr) -> tree.Expr:
        text = operand.text if isinstance(operand, tree.Name) else getattr(operand, "value", None)
        if text == "status" or not isinstance(text, str):
            return operand
        if text not in STATUSES:
            self.diagnostics.error(
                "GSM1604",
                f"unknown status `{text}`",
                operand.span,
                "not a status",
                help=did_you_mean(text, STATUSES) or f"the statuses are {', '.join(STATUSES)}",
            )
        return tree.Text(span=operand.span, value=text)

    def _unit_beside(self, operands: tuple[tree.Expr, ...]) -> Unit | None:
        """Return the unit of a comparison: that of the first operand that is not a bare number."""
        quiet = ExpressionChecker(self.checker.symbols, Diagnostics())
        typed_args = [quiet.check(o) for o in operands]
        numbers = [c for c in typed_args if c is not None and numeric_type(c) is not None]
        if not numbers:
            return None
        return next(
            (unit_in(c) for o, c in zip(operands, typed_args, strict=True) if c in numbers and not _is_bare_number(o)),
            DIMENSIONLESS,
        )


def _answer_names(model: CheckedModel) -> dict[str, ExtraName]:
    """Return the names that a result adds to those of a model: objectives and terms, status, bound, gap."""
    unit = model.objectives[0].unit if model.objectives else DIMENSIONLESS
    names = {
        "status": ExtraName(TextType()),
        "objective": ExtraName(Numeric(False, unit)),
        "bound": ExtraName(Numeric(False, unit)),
        "gap": ExtraName(Numeric()),
    }
    for objective in model.objectives:
        value = Numeric(False, objective.unit)
        if objective.name is not None:
            names[objective.name] = ExtraName(value, span=objective.span)
        for term in objective.terms:
            if term.name is not None:
                names[term.name] = ExtraName(value, span=term.span)
    return names


def _is_bare_number(expr: tree.Expr) -> bool:
    """Whether an expression is a number without a unit, such as `-1.5` or `3 * 2 + 6`."""
    if isinstance(expr, tree.UnaryExpr) and expr.op in ("-", "+"):
        return _is_bare_number(expr.operand)
    if isinstance(expr, tree.Binary) and expr.op in ("+", "-", "*", "/"):
        return _is_bare_number(expr.left) and _is_bare_number(expr.right)
    return isinstance(expr, tree.Number) and expr.unit is None


def _in_unit(expr: tree.Expr, unit: Unit) -> tree.Expr:
    """Add a unit to bare numbers; return other expressions unchanged."""
    if not _is_bare_number(expr):
        return expr
    if isinstance(expr, tree.UnaryExpr):
        return structs.replace(expr, operand=_in_unit(expr.operand, unit))
    if isinstance(expr, tree.Binary):
        right = _in_unit(expr.right, unit) if expr.op in ("+", "-") else expr.right
        return structs.replace(expr, left=_in_unit(expr.left, unit), right=right)
    assert isinstance(expr, tree.Number)
    factors = tuple(tree.UnitFactor(span=expr.span, symbol=s, exponent=e) for s, e in unit.factors)
    return structs.replace(expr, unit=tree.UnitNode(span=expr.span, factors=factors))
