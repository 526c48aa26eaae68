"""An explanation as tables and lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gpusched_dsl.compiling.passes import pipeline
from gpusched_dsl.compiling.passes.steps import Note
from gpusched_dsl.explaining.explanation import Explanation
from gpusched_dsl.explaining.row_text import short
from gpusched_dsl.explaining.sizes import CLASSES, ConstraintSize, VariableSize
from gpusched_dsl.explaining.symmetry import aggregation_lines
from gpusched_dsl.ir.blocks import Blocks
from gpusched_dsl.ir.problem import Family
from gpusched_dsl.language.diagnostics.render import render_text
from gpusched_dsl.language.scenarios.scenario import scenario_title
from gpusched_dsl.language.text.numbers import count_text, seconds_text
from gpusched_dsl.reporting.grid import Grid, GridColumn, plain
from gpusched_dsl.reporting.summary import size_text
from gpusched_dsl.solving.decomposition.selection import DecompositionChoice


def header_lines(explanation: Explanation) -> list[str]:
    """Return the title of the explanation, the class and the size."""
    title = scenario_title(explanation.problem.name, explanation.origins.scenario or "")
    meaning = f": {CLASSES[explanation.kind]}" if CLASSES.get(explanation.kind) else ""
    lines = [title, f"{explanation.kind}{meaning}", size_text(explanation.problem)]
    if explanation.notes and explanation.reformulated is not None:
        lines.append(f"for {explanation.backend}: {size_text(explanation.reformulated.problem)}")
    lines += aggregation_lines(explanation.aggregation)
    if explanation.decomposition is not None:
        lines.append(_decomposition(explanation.decomposition))
    return lines


def _decomposition(choice: DecompositionChoice) -> str:
    blocks = "" if choice.blocks is None else f", {count_text(choice.blocks.count, 'block')}"
    if choice.by_blocks:
        return f"decomposed by {choice.root}{blocks}"
    return f"not decomposed by {choice.root}{blocks}: {choice.reason}"


def grids(explanation: Explanation) -> Iterator[tuple[str, Grid]]:
    """The tables with their titles; those without rows are left out."""
    declared = [v for v in explanation.variables if not v.auxiliary]
    auxiliary = [v for v in explanation.variables if v.auxiliary]
    if declared:
        yield "variables", _variables(declared)
    if auxiliary:
        yield "columns for nonlinear terms", _variables(auxiliary)
    if explanation.constraints:
        yield "constraints", _constraints(explanation.constraints)
    passes = {one.name for one in pipeline.tightenings()}
    reformulated = [note for note in explanation.notes if note.pass_name not in passes]
    tightened = [note for note in explanation.notes if note.pass_name in passes]
    if reformulated:
        yield f"reformulations for {explanation.backend}", _notes(reformulated)
    if tightened:
        yield f"tightening for {explanation.backend}", _tightenings(tightened)
    if explanation.decomposition is not None and explanation.decomposition.blocks is not None:
        yield f"blocks by {explanation.decomposition.root}", _blocks(explanation.decomposition.blocks)


def status_lines(explanation: Explanation) -> list[str]:
    """Whether there is a solution, as far as that was found out."""
    took = seconds_text(explanation.seconds)
    match explanation.status:
        case "feasible":
            return [f"feasible: some values satisfy all constraints (found in {took})"]
        case "infeasible" if explanation.conflict is not None:
            solves = count_text(explanation.conflict.solves, "sub-problem")
            return [f"infeasible: no values satisfy all constraints (proved in {took}, {solves})"]
        case "infeasible":
            return [f"infeasible: no values satisfy all constraints ({took})"]
        case "unbounded":
            return [f"unbounded: the objective can be improved for ever (proved in {took})"]
        case "unknown":
            return [
                f"unknown: {took} did not suffice to find a solution or to prove that none exists",
                "Allow more time (`--time-limit`).",
            ]
    return []


def explanation_lines(explanation: Explanation) -> list[str]:
    """The complete text of `gsdsl explain`."""
    parts = ["\n".join(header_lines(explanation)) + "\n"]
    parts += [f"{title}\n{plain(grid)}" for title, grid in grids(explanation)]
    for diagnostics in (explanation.reasons, explanation.refused, explanation.warnings):
        if diagnostics:
            parts.append(render_text(diagnostics))
    if explanation.status != "not asked":
        parts.append("\n".join(status_lines(explanation)) + "\n")
    if explanation.findings:
        parts.append(render_text(explanation.findings))
    return "\n".join(parts).split("\n")


# --- tables ----------------------------------------------------------------------------------------------------------


def _variables(rows: Sequence[VariableSize]) -> Grid:
    return Grid(
        (
            GridColumn("variable", [_name(s.family) for s in rows]),
            GridColumn("columns", [f"{s.columns:,}" for s in rows], right=True),
            GridColumn("integer", [f"{s.integer:,}" if s.integer else "-" for s in rows], right=True),
            GridColumn("bounds", [_bounds(s) for s in rows]),
            GridColumn("nonzeros", [f"{s.nonzeros:,}" for s in rows], right=True),
        )
    )


def _constraints(rows: Sequence[ConstraintSize]) -> Grid:
    return Grid(
        (
            GridColumn("constraint", [_name(s.family) for s in rows]),
            GridColumn("rows", [f"{s.rows:,}" for s in rows], right=True),
            GridColumn("nonzeros", [f"{s.nonzeros:,}" for s in rows], right=True),
            GridColumn("coefficients", [_range(s.smallest, s.largest) for s in rows]),
            GridColumn("sides", [_range(s.smallest_side, s.largest_side) for s in rows]),
        )
    )


def _notes(rows: Sequence[Note]) -> Grid:
    return Grid(
        (
            GridColumn("term", [n.term for n in rows], wraps=True),
            GridColumn("reformulation", [n.effect for n in rows], wraps=True),
            GridColumn("entries", [f"{n.entries:,}" for n in rows], right=True),
            GridColumn("rows", [f"{n.rows:+,}" for n in rows], right=True),
            GridColumn("columns", [f"{n.columns:+,}" for n in rows], right=True),
            GridColumn("big-M", ["-" if n.big_m is None else _range(*n.big_m) for n in rows]),
            GridColumn("error", [short(n.error) if n.error else "-" for n in rows], right=True),
        )
    )


def _tightenings(rows: Sequence[Note]) -> Grid:
    """Return the table with the names of the passes, which `--without` accepts."""
    return Grid(
        (
            GridColumn("pass", [n.pass_name for n in rows]),
            GridColumn("where", [n.term for n in rows], wraps=True),
            GridColumn("effect", [n.effect for n in rows], wraps=True),
            GridColumn("entries", [f"{n.entries:,}" for n in rows], right=True),
            GridColumn("rows", [f"{n.rows:+,}" for n in rows], right=True),
            GridColumn("columns", [f"{n.columns:+,}" for n in rows], right=True),
        )
    )


def _blocks(blocks: Blocks) -> Grid:
    columns, rows = (np.diff(starts) for _, starts in (blocks.columns_by_block, blocks.rows_by_block))
    sizes = [columns, rows]
    outside = [len(blocks.column) - int(columns.sum()), len(blocks.row) - int(rows.sum())]
    return Grid(
        (
            GridColumn("", ["columns", "rows"]),
            GridColumn("in blocks", [f"{int(s.sum()):,}" for s in sizes], right=True),
            GridColumn("in one block", [_counts(int(s.min()), int(s.max())) for s in sizes], right=True),
            GridColumn("outside", [f"{n:,} {word}" for n, word in zip(outside, ("shared", "linking"), strict=True)]),
        )
    )


def _counts(least: int, most: int) -> str:
    return f"{most:,}" if least == most else f"{least:,} .. {most:,}"


def _name(family: Family) -> str:
    return f"{family.name} (part {family.part + 1})" if family.part else family.name


def _bounds(size: VariableSize) -> str:
    unit = f" {size.family.unit}" if size.family.unit else ""
    return f"{short(size.lower)} .. {short(size.upper)}{unit}" if size.columns else "-"


def _range(low: float, high: float) -> str:
    if not high:
        return "-"
    return short(high) if low == high else f"{short(low)} .. {short(high)}"
