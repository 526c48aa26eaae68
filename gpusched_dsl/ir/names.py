"""The author's names of columns and rows: `run[j1,n1,v1,1]`."""

from __future__ import annotations

from gpusched_dsl.ir.problem import Family


def entry_name(family: Family, number: int) -> str:
    """The name of column or row `number`, which must lie in `family`."""
    index = family.index_of(number)
    name = f"{family.name}[{','.join(str(label) for label in index)}]" if index else family.name
    return f"{name} (part {family.part + 1})" if family.part else name
