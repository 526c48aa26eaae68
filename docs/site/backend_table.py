"""reference/backends.md: what each backend supports by its capabilities, and how other constructs reach it."""

from __future__ import annotations

from markdown_tables import paragraph, table

from gpusched_dsl.compiling.passes.steps import INDICATOR, INTEGER_PRODUCT, QUADRATIC_OBJECTIVE
from gpusched_dsl.ir.definitions import Product
from gsdsl_backends.protocol import Capabilities
from gsdsl_backends.registry import BUILT_IN, backend

FIELDS = {
    "integers": "integer variables",
    "continuous": "continuous variables",
    "convex": "nonlinear terms only where they are convex",
    "nonlinear_integers": "nonlinear terms and integers in one problem",
    "warm_start": "starts from a given point",
    "duals": "dual values",
    "proves": "ends with a proof",
    "time_limit": "time limit",
    "threads": "a number of threads",
    "in_place_update": "changed numbers without loading the problem again",
    "carries": "added and removed columns and rows without loading the problem again",
    "tightens": "a second run with smaller tolerances",
    "reformulates": "reformulates by itself",
}
# Operations beyond linear rows, in the words of an author.
OPERATIONS = {
    "product": "products of variables",
    INTEGER_PRODUCT: "products of bounded integers",
    "extreme": "`min` and `max` of terms",
    "power": "powers",
    "unary": "functions of one variable",
    "exp": "`exp`",
    "log": "`log`",
    "abs": "`abs`",
    "piecewise": "`piecewise`",
    "partial_expectation": "`E(min(W, x))` of a random W",
    "holds": "conditions as 0 or 1",
    "quadratic": "quadratic forms",
    "norm": "Euclidean norms",
    "quadratic_over_linear": "squares over linear terms",
    "relative_entropy": "relative entropies",
    "exponential_perspective": "perspectives of the exponential",
    "log_sum_exp": "logarithms of sums of exponentials",
    INDICATOR: "rows under a condition",
    QUADRATIC_OBJECTIVE: "a convex quadratic objective",
}


def page() -> str:
    """The text of the page; needs every backend of the package."""
    names = sorted(BUILT_IN)
    found = {name: backend(name).capabilities for name in names}
    headings = ["", *(f"`{name}`" for name in names)]
    general = [[words, *(_mark(getattr(found[name], field)) for name in names)] for field, words in FIELDS.items()]
    used = {operation for capabilities in found.values() for operation in capabilities.accepts}
    rows = [[_words(op), *(_accepted(found[name], op) for name in names)] for op in _order(used)]
    return "\n".join(
        (
            "# Backends\n",
            paragraph(
                """What each solver declares to support. The compiler reformulates all other constructs, exactly where
                that is possible, or reports them; [solving.md](solving.md#backends) describes how problems reach the
                solvers. This page is made from the code by `make docs`."""
            ),
            "## In general\n",
            table(headings, general),
            "## Beyond linear rows\n",
            paragraph(
                """`yes`: goes to the solver as it is. `convex`: only where it is convex in its context. `no`: is
                reformulated first."""
            ),
            table(headings, rows),
            paragraph(
                """Several solvers at once, `concurrent` or `highs+scip`, support what one of them supports. Other
                packages add backends with entry points of the group `gpusched_dsl.backends`
                ([checklists](checklists.md))."""
            ),
        )
    )


def _words(operation: str) -> str:
    return OPERATIONS.get(operation, f"`{operation}`")


def _order(used: set[str]) -> list[str]:
    return [*(op for op in OPERATIONS if op in used), *sorted(used - OPERATIONS.keys())]


def _mark(value: bool) -> str:
    return "yes" if value else "no"


def _accepted(capabilities: Capabilities, operation: str) -> str:
    if operation == INTEGER_PRODUCT and Product.op in capabilities.accepts:
        operation = Product.op
    if operation not in capabilities.accepts:
        return "no"
    return "convex" if capabilities.convex or operation == QUADRATIC_OBJECTIVE else "yes"
