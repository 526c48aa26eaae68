"""Whether a problem is solved block by block: its author names the blocks, it has them, and it is large enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

if TYPE_CHECKING:
    from gpusched_dsl.ir.blocks import Blocks


# What `SolveOptions.decompose` can be: by size, whatever the size, never.
AUTO, ON, OFF = "auto", "on", "off"

# On smaller problems a solver is as fast: see docs/reference/performance.md.
LEAST_INTEGERS = 2_500
LEAST_BLOCKS = 8


class DecompositionChoice(Struct, frozen=True, eq=False):
    """`blocks` if the problem has them; `reason` why it is not solved by them, as text after `: `.

    `able` says that it could be; `family` is the family of columns that is in the way.
    """

    root: str | None
    blocks: Blocks | None = None
    able: bool = False
    reason: str = ""
    family: Family | None = None

    @property
    def by_blocks(self) -> bool:
        return self.able and not self.reason


def choice_for(problem: Problem, mode: str = AUTO) -> DecompositionChoice:
    """Whether a problem that is reformulated for a backend is solved by the blocks that its author names."""
    root = problem.decompose
    if root is None:
        return DecompositionChoice(None, reason="the model has no `decompose by`")
    from gpusched_dsl.ir.blocks import NoBlocksError, blocks_of

    try:
        blocks = blocks_of(problem, root)
    except NoBlocksError as refusal:
        return DecompositionChoice(root, reason=refusal.reason, family=refusal.family)
    unable = _reason_unable(problem)
    if unable:
        return DecompositionChoice(root, blocks, reason=unable)
    return DecompositionChoice(root, blocks, able=True, reason=_reason_against(problem, blocks, mode))


def choose_decomposition(problem: Problem, mode: str, proves: bool = True) -> DecompositionChoice:
    """Return the choice; raise DiagnosticError (GSM4013) if `on` requests an impossible decomposition.

    `proves`: the backend solves blocks with proofs, which the bounds of all blocks together need.
    """
    if mode == OFF:
        return DecompositionChoice(problem.decompose, reason="decomposition is switched off")
    choice = choice_for(problem, mode)
    if not proves:
        reason = "the backend does not prove that the plan of a block is the best"
        choice = DecompositionChoice(problem.decompose, reason=reason)
    if mode == ON and not choice.able:
        raise DiagnosticError([_refusal(choice)])
    return choice


def _reason_unable(problem: Problem) -> str:
    if not problem.is_mip:
        return "it has no integer variables, so a solver solves it directly"
    if len(problem.objectives) != 1:
        count = len(problem.objectives) or "no"
        return f"it has {count} objective{'s' if problem.objectives else ''}, but column generation needs exactly one"
    return ""


def _reason_against(problem: Problem, blocks: Blocks, mode: str) -> str:
    if mode == ON:
        return ""
    integers = int(np.count_nonzero(problem.integer & (problem.lower < problem.upper)))
    if integers < LEAST_INTEGERS:
        return f"its {integers:,} integer columns are few enough for a solver (fewer than {LEAST_INTEGERS:,})"
    if blocks.count < LEAST_BLOCKS:
        return f"it has only {blocks.count} blocks ({LEAST_BLOCKS} are needed)"
    return ""


def _refusal(choice: DecompositionChoice) -> Diagnostic:
    by = f" by `{choice.root}`" if choice.root else ""
    return Diagnostic(
        "GSM4013",
        f"the problem cannot be decomposed{by}: {choice.reason}",
        None if choice.family is None else choice.family.span,
        help="remove `--decompose on`: the solver then gets the problem without decomposition",
    )
