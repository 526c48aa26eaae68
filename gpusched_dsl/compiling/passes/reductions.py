"""What makes a problem smaller, or its numbers alike, without changing what it says; on request only."""

from __future__ import annotations

from gpusched_dsl.compiling.passes.fixed_columns import FixedColumns
from gpusched_dsl.compiling.passes.redundant_rows import RedundantRows
from gpusched_dsl.compiling.passes.scaling import PowerOfTwoScaling
from gpusched_dsl.compiling.passes.steps import Pass

REDUCTIONS: tuple[Pass, ...] = (FixedColumns(), RedundantRows(), PowerOfTwoScaling())
