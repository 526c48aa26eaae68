"""All kinds of definitions: ours, and those of other packages.

An entry point of the group `gpusched_dsl.definitions` has the `op` of a kind as its name, and names its class.
"""

from __future__ import annotations

from functools import cache

from gpusched_dsl.ir.definitions.base import Definition
from gpusched_dsl.ir.definitions.distinct import Distinct
from gpusched_dsl.ir.definitions.min_max import MinMax
from gpusched_dsl.ir.definitions.partial_expectation import PartialExpectation
from gpusched_dsl.ir.definitions.piecewise import Piecewise
from gpusched_dsl.ir.definitions.power import Power
from gpusched_dsl.ir.definitions.product import Product
from gpusched_dsl.ir.definitions.quotient import IntegerQuotient
from gpusched_dsl.ir.definitions.reified import Reified
from gpusched_dsl.ir.definitions.scheduling import Cumulative, NoOverlap
from gpusched_dsl.ir.definitions.unary import Unary
from gpusched_dsl.language.entry_points import load_entry_points

GROUP = "gpusched_dsl.definitions"
BUILT_IN: tuple[type[Definition], ...] = (
    Product,
    MinMax,
    Power,
    Unary,
    Piecewise,
    PartialExpectation,
    Reified,
    Distinct,
    IntegerQuotient,
    NoOverlap,
    Cumulative,
)


@cache
def definition_kinds() -> tuple[type[Definition], ...]:
    """Return every kind of definition of a problem file. Raises ValueError for invalid kinds and for used names."""
    found: dict[str, type[Definition]] = {kind.op: kind for kind in BUILT_IN}
    for name, kind in load_entry_points(GROUP, type, found).items():
        if not issubclass(kind, Definition) or kind.op != name:
            raise ValueError(f"entry point `{name}` of {GROUP} is not a Definition with this `op`")
        found[name] = kind
    return tuple(found.values())
