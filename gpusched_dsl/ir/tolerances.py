"""How exact a point must be: the one place for the sizes of errors, from the largest to the smallest.

    NEAR          1e-3   a point this far off is mended; one further off is an error of the solver
    FEASIBILITY   1e-6   rows and bounds may be broken by this, times the magnitude they are judged by
    INTEGRALITY   1e-6   how far an integer column may be from an integer before it is rounded
    SOLVER        1e-7   what solvers are asked for: a tenth of what is allowed, as they use it up
    TIGHT         1e-9   what they are asked for in a second run, where the first point was refused
    ROUNDING      1e-9   sums of the same data in another order: numbers closer than this are the same
    ON_STEP       1e-3   of the step between the values of an expression of integer columns: closer values are the same
    CHOSEN        0.5    a binary above this is 1

A row is judged by the largest of 1, its side and its terms in absolute value, a bound by the largest of 1 and itself.

A comparison of which a model needs the truth counts as true only within ROUNDING, so that what is reported, computed
anew by anybody, comes out the same. A solver's point may miss a comparison, or a row that reads a term (an error d of x
is an error d / x^2 of 1 / x), by more than that. Such a point is moved: integer columns and the truths that the solver
chose (its binaries, rounded) are kept, the terms are replaced by their first-order form, so that each row gets the
sensitivity of the terms that it reads, and the nearest point without an error is taken. Where there is none, a
comparison that the solver chose to be true still counts as true within FEASIBILITY of its magnitude, as a row would:
there is one truth per comparison, so no point makes both a condition and its opposite true.

An expression of integer columns has values a step apart (`ir/granularity.py`). Where errors relative to its size would
reach from one value to the next, from 1e9 on or, for a choice of the solver, from 1e6 on, a small share of the step
takes their place: 2000000000 >= 2000000001 is false.

Functions are read at the end of their domain where an argument lies outside by ROUNDING at most (a root of -1e-12).
"""

from __future__ import annotations

from typing import Final

NEAR: Final = 1e-3
FEASIBILITY: Final = 1e-6
INTEGRALITY: Final = 1e-6
SOLVER: Final = 1e-7
TIGHT: Final = 1e-9
ROUNDING: Final = 1e-9
ON_STEP: Final = 1e-3
CHOSEN: Final = 0.5

# Of propagation, which narrows the bounds of columns step by step.
STEP_WORTH: Final = 0.05  # of the width of a continuous column: smaller steps are not taken
LARGEST_BOUND: Final = 1e12  # bounds beyond are of no use
MEETING: Final = 1e-9  # bounds closer than this, relative to their size, meet
ROW_SLACK: Final = 1e-7  # of the size of a side: a tenth of what verification allows

# Of the objective, beside the gap asked for.
ALLOWED_LOSS: Final = FEASIBILITY
