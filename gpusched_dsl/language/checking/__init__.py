"""From a flattened model to a checked one: names, types, units."""

from gpusched_dsl.language.checking.expressions import ExpressionChecker
from gpusched_dsl.language.checking.model import check_model, check_workspace, variants
from gpusched_dsl.language.checking.scope import EMPTY, Binding, Scope
from gpusched_dsl.language.checking.symbols import ExtraName, Symbols

__all__ = [
    "EMPTY",
    "Binding",
    "ExpressionChecker",
    "ExtraName",
    "Scope",
    "Symbols",
    "check_model",
    "check_workspace",
    "variants",
]
