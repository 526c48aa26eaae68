"""The interface of the checker for the files of each kind of expression, which check their parts with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import TypedExpr, TypedIndexing, TypedSet, ValueType
from gpusched_dsl.language.checking.scope import Scope
from gpusched_dsl.language.checking.symbols import Symbols
from gpusched_dsl.language.diagnostics.diagnostic import Fix, Label, Severity
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.units import Unit


class GivenFunction(Protocol):
    """A function that only some places have, such as `price` in policies: the type of a call, None after a report."""

    def __call__(self, checker: Checker, call: tree.Call, scope: Scope) -> TypedExpr | None: ...


class Checker(Protocol):
    """Checks any expression against a table of names; `ExpressionChecker` implements it.

    A method that gives None has reported why, or the expression refers to a declaration that is in error.
    """

    @property
    def symbols(self) -> Symbols: ...

    @property
    def functions(self) -> Mapping[str, GivenFunction]:
        """The functions of this place, besides those of the language."""
        ...

    def error(
        self,
        code: str,
        message: str,
        primary: Span,
        label: str = "",
        *,
        secondary: Iterable[Label] = (),
        notes: Iterable[str] = (),
        help: str | None = None,
        severity: Severity = Severity.ERROR,
        fix: Fix = None,
    ) -> None:
        """Report a finding."""
        ...

    def check(self, expr: tree.Expr, scope: Scope) -> TypedExpr | None:
        """Type any expression that has a value."""
        ...

    def number(
        self, expr: tree.Expr, scope: Scope, *, unit: Unit | None = None, because: Label | None = None
    ) -> TypedExpr | None:
        """Return a number, in `unit` if given; `because` is the place that requires the unit."""
        ...

    def condition(self, expr: tree.Expr, scope: Scope) -> TypedExpr | None:
        """A condition, or a value that can only be 0 or 1."""
        ...

    def set_of(self, expr: tree.Expr, scope: Scope, expected: tuple[ValueType, ...] | None = None) -> TypedSet | None:
        """A set; `expected` types give quoted labels their set."""
        ...

    def indexing(self, node: tree.Indexing | None, scope: Scope) -> tuple[TypedIndexing | None, Scope]:
        """The iterators and conditions of an index list, and the scope inside it."""
        ...

    def is_number(self, typed: TypedExpr) -> bool:
        """Whether it counts as a number; reports when it does not."""
        ...

    def require_integer(self, typed: TypedExpr) -> bool:
        """Whether it is always an integer; reports if it may be fractional."""
        ...

    def data_only(self, typed: TypedExpr, where: str) -> bool:
        """Whether no variable occurs; reports the first one. `where` completes the report."""
        ...
