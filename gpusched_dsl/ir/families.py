"""Families with some of their columns or rows removed."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import structs

from gpusched_dsl.ir.arrays import Bools
from gpusched_dsl.ir.domains import Domain, ScalarDomain, TupleDomain
from gpusched_dsl.ir.problem import Family


def kept_families(
    families: Iterable[Family], kept: Bools, first: int = 0, *, with_empty: bool = False
) -> tuple[Family, ...]:
    """Return the families with the columns (rows) `kept`, renumbered from `first`; unless `with_empty`, families of
    which nothing is left are removed.
    """
    found: list[Family] = []
    for family in families:
        inside = np.flatnonzero(kept[family.slice])
        if len(inside) == family.size:
            found.append(structs.replace(family, first=first))
        elif len(inside) or with_empty:
            codes = tuple(c[inside] for c in family.domain.columns())
            domain: Domain = TupleDomain(family.domain.components, codes) if codes else ScalarDomain()
            found.append(structs.replace(family, first=first, domain=domain))
        first += len(inside)
    return tuple(found)
