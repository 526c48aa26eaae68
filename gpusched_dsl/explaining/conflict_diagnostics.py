"""Results as diagnostics: the conflict and the ray in the lines of the model, with their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from gpusched_dsl.compiling.provenance import Provenance
from gpusched_dsl.explaining.conflict import Conflict
from gpusched_dsl.explaining.conflict_text import BoundGroup, bound_groups, row_data, steps_of
from gpusched_dsl.explaining.ray import Ray
from gpusched_dsl.explaining.relaxation import Relaxation
from gpusched_dsl.explaining.row_text import RowText, origin_suffix, short
from gpusched_dsl.ir.names import entry_name
from gpusched_dsl.ir.problem import Family, Problem
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Label
from gpusched_dsl.language.source import Span
from gpusched_dsl.language.text.numbers import count_text, with_unit

MOST_ROWS = 12  # told one by one
MOST_CHANGES = 8
MOST_NAMES = 3

INTERRUPTED = "the search ended early: some of these may not be needed for the conflict"
ROWS_MINIMAL = "without any one of these rows there is a solution; some of the bounds may not be needed"
NOT_PROVED = "these exclude each other; there was no time to check whether all of them are needed"


def conflict_diagnostic(
    conflict: Conflict,
    relaxations: Sequence[Relaxation] = (),
    origins: Provenance | None = None,
    stated: Mapping[int, str] = MappingProxyType({}),
    declared: Problem | None = None,
) -> Diagnostic:
    """Return a conflict as a diagnostic: constraints, rows with numbers, bounds, steps, and the smallest relaxation.

    `stated` has the texts of rows that the author stated in another form than they are solved, `declared` is the
    problem with the bounds that the author stated.
    """
    groups = bound_groups(conflict, declared)
    labels = _labels(conflict, groups)
    first, others = (labels[0], labels[1:]) if labels else (None, [])
    notes = [*_row_notes(conflict, origins, stated), *(f"with {g.text}" for g in groups)]
    notes += _steps(conflict)
    return Diagnostic(
        "GSM3301",
        _message(conflict),
        None if first is None else first.place,
        "" if first is None else first.message,
        tuple(others),
        (*notes, _verdict(conflict)),
        _help(conflict.problem, relaxations),
    )


def _message(conflict: Conflict) -> str:
    rows = [_name(conflict.problem, int(r)) for r in conflict.rows]
    if not rows:
        column = int(conflict.columns[0])
        name = entry_name(conflict.problem.column_family(column), column)
        return f"the bounds of `{name}` allow no value"
    if len(rows) == 1:
        return f"`{rows[0]}` cannot be satisfied" + (" by any values of the variables" if len(conflict.columns) else "")
    listed = ", ".join(f"`{r}`" for r in rows[:MOST_NAMES])
    more = f" and {count_text(len(rows) - MOST_NAMES, 'more row')}" if len(rows) > MOST_NAMES else ""
    if not more:
        listed = " and ".join(listed.rsplit(", ", 1))
    return f"{listed}{more} exclude each other"


def _labels(conflict: Conflict, groups: Sequence[BoundGroup]) -> list[Label]:
    """Return a label for each constraint and variable of the conflict, constraints first."""
    rows: dict[Span, list[str]] = {}
    for row in conflict.rows.tolist():
        family = conflict.problem.row_family(row)
        if family.span is not None:
            rows.setdefault(family.span, []).append(entry_name(family, row))
    labels = [Label(span, _few(names)) for span, names in rows.items()]
    bounds: dict[Span, list[str]] = {}
    for group in groups:
        if group.family.span is not None:
            bounds.setdefault(group.family.span, []).append(group.label)
    return labels + [Label(span, ", ".join(texts)) for span, texts in bounds.items() if span not in rows]


def _few(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _row_notes(conflict: Conflict, origins: Provenance | None, stated: Mapping[int, str]) -> list[str]:
    """Return each row with its numbers, why it cannot be satisfied if it alone shows that, and its data."""
    problem, notes = conflict.problem, []
    for row in conflict.rows[:MOST_ROWS].tolist():
        family = problem.row_family(row)
        solved = RowText.of(problem, row)
        text, remark = (stated[row], "") if row in stated else (str(solved), _remark(conflict, row, solved))
        data = row_data(origins, family, row) if origins is not None else []
        lines = [f"{entry_name(family, row)}{origin_suffix(family)}: {text}" + (f", but {remark}" if remark else "")]
        notes.append("\n".join(lines + ([f"where {', '.join(data)}"] if data else [])))
    rest = len(conflict.rows) - MOST_ROWS
    return [*notes, f"and {rest:,} more rows"] if rest > 0 else notes


def _remark(conflict: Conflict, row: int, text: RowText) -> str:
    if row in conflict.reach:
        return text.implication(conflict.reach[row])
    return text.remark(conflict.problem.lower, conflict.problem.upper)


def _steps(conflict: Conflict) -> list[str]:
    """`because ...`, `and ...`, `so ...`."""
    steps = steps_of(conflict)
    words = ["because", *["and"] * (len(steps) - 2), "so"]
    return [f"{word} {step}" for word, step in zip(words, steps, strict=False)]


def _verdict(conflict: Conflict) -> str:
    if conflict.rows_minimal and not conflict.minimal:
        return ROWS_MINIMAL
    if not conflict.complete:
        return INTERRUPTED
    return "minimal: without any one of these there is a solution" if conflict.minimal else NOT_PROVED


# --- what would help -------------------------------------------------------------------------------------------------


def _help(problem: Problem, relaxations: Sequence[Relaxation]) -> str | None:
    texts = [relaxation_text(problem, r) for r in relaxations if r.verified]
    return "\nor ".join(texts) if texts else None


def relaxation_text(problem: Problem, relaxation: Relaxation) -> str:
    """`there is a solution when due[j7] may be 5.2 h instead of 4 h`."""
    changes = []
    for k, row in enumerate(relaxation.rows[:MOST_CHANGES].tolist()):
        family = problem.row_family(row)
        below, above = float(relaxation.below[k]), float(relaxation.above[k])
        if below > 0:
            changes.append(_change(problem, family, row, below, float(problem.row_lower[row]), "less"))
        if above > 0:
            changes.append(_change(problem, family, row, above, float(problem.row_upper[row]), "more"))
    rest = len(relaxation.rows) - MOST_CHANGES
    changes += [f"and {rest:,} more"] if rest > 0 else []
    proof = "" if relaxation.proved else " (smaller changes may suffice)"
    return f"there is a solution with {', '.join(changes)}{proof}"


def _change(problem: Problem, family: Family, row: int, amount: float, side: float, word: str) -> str:
    """The change as the row is shown: a row that is turned around has its sides turned too."""
    values = problem.matrix.values[problem.matrix.starts[row] : problem.matrix.starts[row + 1]]
    if len(values) and (values[values != 0] < 0).all():
        side, word = -side, {"less": "more", "more": "less"}[word]
    name, size = entry_name(family, row), with_unit(short(amount), family.unit)
    if side == 0:
        return f"`{name}` violated by {size}"
    new = side + amount if word == "more" else side - amount
    now, before = with_unit(short(new), family.unit), with_unit(short(side), family.unit)
    return f"{now} instead of {before} in `{name}` ({size} {word})"


# --- unbounded -------------------------------------------------------------------------------------------------------


def ray_diagnostic(problem: Problem, ray: Ray) -> Diagnostic:
    """Return a ray as a diagnostic: the growing variables, the gain of each step, and the missing bounds."""
    objective = ray.objective
    name = f"`{objective.name}`" if objective.name else "the objective"
    names = [entry_name(problem.column_family(c), c) for c in ray.columns.tolist()]
    labels: dict[Span, list[str]] = {}
    for column, step, entry in zip(ray.columns.tolist(), ray.steps.tolist(), names, strict=True):
        family = problem.column_family(column)
        if family.span is not None:
            labels.setdefault(family.span, []).append(f"{entry} has no {'upper' if step > 0 else 'lower'} bound")
    steps = [
        f"{n} {'grows' if s > 0 else 'falls'} by {with_unit(short(abs(s)), problem.column_family(c).unit)}"
        for n, s, c in zip(names, ray.steps.tolist(), ray.columns.tolist(), strict=True)
    ]
    shown = " and ".join(steps[:MOST_CHANGES])
    more = f" and {len(steps) - MOST_CHANGES:,} more change too" if len(steps) > MOST_CHANGES else ""
    gain = with_unit(short(abs(ray.gain)), objective.unit)
    notes = [f"{name} {'falls' if ray.gain < 0 else 'grows'} by {gain} each time that {shown}{more}"]
    notes.append("no constraint stops it" + ("; no smaller set of variables is unbounded" if ray.minimal else ""))
    return Diagnostic(
        "GSM3302",
        f"{name} is unbounded",
        objective.span,
        "improves without limit",
        tuple(Label(span, _few(texts)) for span, texts in labels.items()),
        tuple(notes),
        "give one of these variables a bound, or state their limit as a constraint; check the signs of the costs",
    )


def _name(problem: Problem, row: int) -> str:
    return entry_name(problem.row_family(row), row)
