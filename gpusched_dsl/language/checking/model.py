"""`check_model`: a model of a workspace, under some choices of its options, to a checked model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import (
    CheckedLet,
    CheckedModel,
    CheckedParam,
    CheckedRandom,
    CheckedSet,
    CheckedVariable,
)
from gpusched_dsl.language.checking import declarations
from gpusched_dsl.language.checking.dependencies import Ordered, order
from gpusched_dsl.language.checking.expressions import ExpressionChecker
from gpusched_dsl.language.checking.flatten import FlatModel, declared_options, flatten
from gpusched_dsl.language.checking.goals import (
    check_check,
    check_constraint,
    check_objectives,
)
from gpusched_dsl.language.checking.placements import check_placement
from gpusched_dsl.language.checking.strict_comparisons import refuse_strict_comparisons
from gpusched_dsl.language.checking.symbols import Symbols
from gpusched_dsl.language.checking.workspace_blocks import Workspace
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import Diagnostics
from gpusched_dsl.language.source import Span

if TYPE_CHECKING:
    from gpusched_dsl.language.checking.semicontinuous import Semicontinuous
    from gpusched_dsl.language.checking.statement_memo import StatementMemo


T = TypeVar("T")
_Statement = TypeVar("_Statement", bound=tree.Statement)


def check_model(
    workspace: Workspace,
    model_name: str,
    options: Mapping[str, str],
    diagnostics: Diagnostics,
    option_spans: Mapping[str, Span] | None = None,
) -> CheckedModel | None:
    """Return the checked model, or None if it has errors (all of which are in `diagnostics`).

    What needs a declaration that has a syntax error is passed over in silence: a model of a workspace with syntax
    errors may lack parts.
    `options` are choices by option name; those not given take their default. `option_spans` tell where they were
    written.
    """
    found = Diagnostics()
    flat = flatten(workspace, model_name, options, found, option_spans)
    model: CheckedModel | None = None
    if flat is not None:
        # A scenario, its tests and policies all ask for the same model: it is checked once for each choice of options.
        key = (model_name, tuple(sorted(flat.options.items())))
        if key not in workspace.checked:
            memo = None
            if workspace.memos is not None:
                from gpusched_dsl.language.checking.statement_memo import StatementMemo

                memo = workspace.memos.setdefault(key, StatementMemo())
            workspace.checked[key] = _check(flat, workspace.lost, memo)
        model, findings = workspace.checked[key]
        found.extend(findings)
    diagnostics.extend(found)
    return None if found.has_errors else model


def _check(
    flat: FlatModel, lost: Mapping[str, Span], memo: StatementMemo | None
) -> tuple[CheckedModel | None, tuple[Diagnostic, ...]]:
    found = Diagnostics()
    try:
        return _ModelChecker(flat, found, lost, memo).run(), tuple(found)
    except RecursionError:
        found.error("GSM1004", f"an expression of model `{flat.name}` is too deeply nested", flat.span)
        return None, tuple(found)


def check_workspace(workspace: Workspace, diagnostics: Diagnostics) -> None:
    """Checks every model with the defaults of its options and with every other choice of each of them."""
    for name in workspace.models:
        for options in variants(workspace, name):
            check_model(workspace, name, options, diagnostics)


def variants(workspace: Workspace, name: str) -> Iterator[dict[str, str]]:
    """Yield the options of a model by default (none is named), and each other choice."""
    yield {}
    for option, decl in declared_options(workspace, name).items():
        for choice in decl.choices:
            if choice.text != decl.default.text:
                yield {option: choice.text}


class _ModelChecker:
    """Reads the declarations of one flat model in an order in which the dependencies of each are known."""

    def __init__(
        self, flat: FlatModel, diagnostics: Diagnostics, lost: Mapping[str, Span], memo: StatementMemo | None
    ) -> None:
        self.flat = flat
        self.diagnostics = diagnostics
        self.memo = memo
        self.symbols = Symbols(others=dict(_other_names(flat)), poisoned=dict(lost))
        self.checker = ExpressionChecker(self.symbols, diagnostics)
        self.semicontinuous: list[Semicontinuous] = []

    def run(self) -> CheckedModel:
        ordered = self._ordered_declarations()
        for declaration in ordered:
            circle = self.symbols.circles.get(declaration.name.text)
            if circle is None:
                self._declare(declaration)
            elif circle[0] == declaration.name.text:  # all needs of the circle come before the first of it
                self._declare_circle([d for d in ordered if d.name.text in circle])
        for declaration in ordered:
            self._complete(declaration)
        statements = self.flat.statements
        objectives = check_objectives(self.checker, [s for s in statements if isinstance(s, tree.ObjectiveDecl)])
        constraints = [self._kept(s, check_constraint) for s in statements if isinstance(s, tree.ConstraintDecl)]
        checks = [self._kept(s, check_check) for s in statements if isinstance(s, tree.CheckDecl)]
        placements = [check_placement(self.checker, s) for s in statements if isinstance(s, tree.PlacementDecl)]
        decompositions = [self._decomposition(s) for s in statements if isinstance(s, tree.Decompose)]
        reports = [self._kept(s, declarations.check_let) for s in statements if isinstance(s, tree.ReportDecl)]
        values = self.symbols.values
        return CheckedModel(
            name=self.flat.name,
            span=self.flat.span,
            sets=self.symbols.sets,
            params={n: v for n, v in values.items() if isinstance(v, CheckedParam)},
            lets={n: v for n, v in values.items() if isinstance(v, CheckedLet)},
            reports={r.name: r for r in reports if r is not None},
            variables=self._in_text_order(),
            constraints={
                **{c.name: c for c in constraints if c is not None},
                **{s.constraint.name: s.constraint for s in self.semicontinuous},
            },
            objectives=objectives,
            checks=(*(c for c in checks if c is not None), *(c for s in self.semicontinuous for c in s.checks)),
            placement=placements[0] if placements else None,
            options=self.flat.options,
            option_choices=self.flat.option_choices,
            start_options=self.flat.start_options,
            data_order=tuple(
                d.name.text for d in ordered if isinstance(d, (tree.SetDecl, tree.ParamDecl, tree.RandomDecl))
            ),
            randoms={n: v for n, v in values.items() if isinstance(v, CheckedRandom)},
            doc=self.flat.doc,
            decompose=decompositions[0] if decompositions else None,
        )

    def _decomposition(self, statement: tree.Decompose) -> str | None:
        from gpusched_dsl.language.checking.decompositions import check_decomposition

        return check_decomposition(self.checker, statement)

    def _ordered_declarations(self) -> tuple[Ordered, ...]:
        names = set(self.flat.names)
        found: list[Ordered] = []
        for statement in self.flat.statements:
            if isinstance(statement, (tree.SetDecl, tree.ParamDecl, tree.LetDecl, tree.VarDecl, tree.RandomDecl)):
                found.append(statement)
            if isinstance(statement, tree.SetDecl):
                implied = declarations.implied_class(statement, names)
                if implied is not None:
                    names.add(implied.name.text)
                    found.append(implied)
        result = order(found, self.diagnostics, memo=self.memo)
        self.symbols.poisoned.update(result.circular)
        self.symbols.circles = result.circles
        self.symbols.upcoming.update({d.name.text: d.name.span for d in found})
        self._begin_memo()
        return result.declarations

    def _begin_memo(self) -> None:
        """Track the names that checks look up, if their results are kept for the next check of the model."""
        if self.memo is None:
            return
        symbols = self.symbols
        tables = (symbols.others, symbols.poisoned, symbols.upcoming, symbols.circles)
        names = {name: tuple(table.get(name) for table in tables) for table in tables for name in table}
        self.memo.begin(names)
        from gpusched_dsl.language.checking.statement_memo import TrackedNames

        symbols.sets = TrackedNames(symbols.sets, self.memo)
        symbols.values = TrackedNames(symbols.values, self.memo)
        symbols.others = TrackedNames(symbols.others, self.memo)
        symbols.poisoned = TrackedNames(symbols.poisoned, self.memo)
        symbols.upcoming = TrackedNames(symbols.upcoming, self.memo)

    def _kept(
        self, statement: _Statement, check: Callable[[ExpressionChecker, _Statement], T], declares: str | None = None
    ) -> T:
        """The result of a check of one statement, which may be that of the last check of the model."""
        if self.memo is None:
            return check(self.checker, statement)

        def run(found: Diagnostics) -> T:
            return check(ExpressionChecker(self.symbols, found), statement)

        return self.memo.check(statement, check.__name__, self.diagnostics, run, declares)

    def _declare(self, declaration: Ordered) -> None:
        """Read a declaration on its own; a variable's bounds and a set's class come later."""
        checked = self._kept(declaration, _check_declaration, declaration.name.text)
        if checked is None:
            self.symbols.poisoned[declaration.name.text] = declaration.name.span
        elif isinstance(checked, CheckedSet):
            self.symbols.sets[checked.name] = checked
        else:
            self.symbols.values[checked.name] = checked

    def _declare_circle(self, members: Sequence[Ordered]) -> None:
        """Read parameters that are evaluated together: first all of their heads, which their values read."""
        for member in members:
            head = self._kept(member, _check_head, member.name.text)
            if head is None:
                self.symbols.poisoned[member.name.text] = member.name.span
            else:
                self.symbols.values[member.name.text] = head
        known = [member for member in members if member.name.text in self.symbols.values]
        checked = {m.name.text: self._kept(m, _check_declaration, m.name.text) for m in known}
        for member in known:
            name = member.name.text
            found = checked[name]
            if isinstance(found, CheckedParam):
                self.symbols.values[name] = found
            else:
                del self.symbols.values[name]
                self.symbols.poisoned[name] = member.name.span

    def _complete(self, declaration: Ordered) -> None:
        if isinstance(declaration, tree.SetDecl):
            declarations.check_class(self.checker, declaration)
        if isinstance(declaration, tree.VarDecl):
            variable = self.symbols.values.get(declaration.name.text)
            if isinstance(variable, CheckedVariable) and declaration.bounds:
                variable = self._kept(declaration, _check_bounds, variable.name)
                self.symbols.values[variable.name] = variable
            if isinstance(variable, CheckedVariable) and declaration.semicontinuous:
                from gpusched_dsl.language.checking.semicontinuous import with_constraint

                found = with_constraint(self.checker, declaration, variable)
                if found is not None:
                    self.symbols.values[variable.name] = found.variable
                    self.semicontinuous.append(found)

    def _in_text_order(self) -> dict[str, CheckedVariable]:
        """Sort columns in the order of the declarations of variables."""
        found = (self.symbols.values.get(name) for name in self.flat.names)
        return {v.name: v for v in found if isinstance(v, CheckedVariable)}


def _check_declaration(
    checker: ExpressionChecker, declaration: Ordered
) -> CheckedSet | CheckedParam | CheckedLet | CheckedVariable | CheckedRandom | None:
    match declaration:
        case tree.SetDecl():
            return declarations.check_set(checker, declaration)
        case tree.ParamDecl():
            return declarations.check_param(checker, declaration)
        case tree.LetDecl():
            checked = declarations.check_let(checker, declaration)
            return checked if checked is None or refuse_strict_comparisons(checker, checked.value) else None
        case tree.VarDecl():
            return declarations.check_variable(checker, declaration)
        case tree.RandomDecl():
            return declarations.check_random(checker, declaration)
        case _:
            return None


def _check_head(checker: ExpressionChecker, declaration: Ordered) -> CheckedParam | None:
    assert isinstance(declaration, tree.ParamDecl)
    return declarations.check_head(checker, declaration)


def _check_bounds(checker: ExpressionChecker, declaration: tree.VarDecl) -> CheckedVariable:
    variable = checker.symbols.values[declaration.name.text]
    assert isinstance(variable, CheckedVariable)
    return declarations.with_bounds(checker, declaration, variable)


def _other_names(flat: FlatModel) -> Iterator[tuple[str, tuple[str, Span]]]:
    """Return declared names without a value: constraints, objectives, their terms, options."""
    for statement in flat.statements:
        if isinstance(statement, tree.ConstraintDecl):
            yield statement.name.text, ("constraint", statement.name.span)
        elif isinstance(statement, tree.ReportDecl):
            yield statement.name.text, ("report", statement.name.span)
        elif isinstance(statement, tree.ObjectiveDecl):
            if statement.name is not None:
                yield statement.name.text, ("objective", statement.name.span)
            for term in statement.terms:
                if term.name is not None:
                    yield term.name.text, ("term", term.name.span)
    for name, decl in flat.option_decls.items():
        yield name, ("option", decl.name.span)
