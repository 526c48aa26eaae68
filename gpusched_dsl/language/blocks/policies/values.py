"""Numbers in the lines of a policy: data for a job, for a configuration, or for all jobs."""

from __future__ import annotations

from collections.abc import Iterable

from gpusched_dsl.language import tree
from gpusched_dsl.language.checked import TypedExpr
from gpusched_dsl.language.checked_policy import CheckedKey
from gpusched_dsl.language.checking import EMPTY, ExpressionChecker, Scope
from gpusched_dsl.language.units import DIMENSIONLESS


class Values:
    """Checks expressions; each method returns None after a reported error."""

    def __init__(self, checker: ExpressionChecker) -> None:
        self.checker = checker

    def plain(self, expr: tree.Expr | None, where: str, scope: Scope = EMPTY) -> TypedExpr | None:
        """Return a number without a unit; `where` is its purpose in reports."""
        typed = None if expr is None else self.checker.number(expr, scope, unit=DIMENSIONLESS)
        return typed if typed is not None and self.checker.data_only(typed, where) else None

    def integer(self, expr: tree.Expr | None, where: str, scope: Scope = EMPTY) -> TypedExpr | None:
        typed = self.plain(expr, where, scope)
        return typed if typed is not None and self.checker.require_integer(typed) else None

    def key(self, key: tree.Key, where: str, scope: Scope) -> CheckedKey | None:
        """Return a sort key, a number in any unit."""
        typed = self.checker.number(key.value, scope)
        if typed is None or not self.checker.data_only(typed, where):
            return None
        return CheckedKey(typed, key.descending)

    def keys(self, keys: Iterable[tree.Key], where: str, scope: Scope) -> tuple[CheckedKey, ...]:
        checked = (self.key(key, where, scope) for key in keys)
        return tuple(key for key in checked if key is not None)
