"""The output of `gsdsl solve` about a result, as lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusched_dsl.ir.problem import Problem, Size
from gpusched_dsl.ir.solver_result import Status
from gpusched_dsl.language.text.numbers import align, count_text, number_text, percent_text, seconds_text, with_unit

if TYPE_CHECKING:
    from gpusched_dsl.reporting.result import Result
    from gpusched_dsl.solving.solution import ObjectiveResult

GAP = 2  # spaces between the two columns

LIMITS = {
    "time": "the time limit",
    "interrupt": "Ctrl-C",
    "nodes": "the solver's limit of nodes",
    "iterations": "the solver's limit of iterations",
    "solutions": "the solver's limit of solutions",
    "objective": "the solver's limit on the objective",
    "memory": "the solver's memory limit",
    "patterns": "the limit of the generated patterns",
    "accuracy": "the accuracy of the solver",
}


def size_text(of: Problem | Size) -> str:
    """`129 columns (126 integer), 265 rows, 1,032 nonzeros`."""
    size = of if isinstance(of, Size) else of.size
    columns = count_text(size.columns, "column")
    return (
        f"{columns}{f' ({size.integer:,} integer)' if size.integer else ''}, {count_text(size.rows, 'row')}, "
        f"{count_text(size.nonzeros, 'nonzero')}"
    )


def status_text(status: Status, reason: str, has_point: bool) -> str:
    """Return the status, with an explanation if the word alone is unclear."""
    what = f"stopped by {LIMITS.get(reason, reason or 'a limit')}"
    match status:
        case Status.OPTIMAL:
            return "optimal"
        case Status.FEASIBLE:
            return "feasible: verified by the model, nothing is proved" + (f"; {what}" if reason else "")
        case Status.BROKEN:
            return "broken: the plan of the policy violates constraints of the model"
        case Status.INFEASIBLE:
            return "infeasible: no values satisfy all constraints"
        case Status.UNBOUNDED:
            return "unbounded: the objective can be improved for ever"
        case Status.INFEASIBLE_OR_UNBOUNDED:
            return "infeasible or unbounded: the solver could not decide"
    return f"limit: {what}" + ("; the best solution found is shown" if has_point else " before any solution")


def advice(status: Status, reason: str, has_point: bool) -> list[str]:
    """Return the next step if there is no solution."""
    if has_point:
        return []
    match status:
        case Status.INFEASIBLE:
            return [
                "The constraints contradict each other with these data. `gsdsl explain`, "
                "with the same file and options,",
                "finds a minimal conflict, shows it with its numbers, and computes the smallest relaxation.",
            ]
        case Status.BROKEN:
            return ["The warning names what the plan violates: choose other options, or another policy."]
        case Status.UNBOUNDED:
            return [
                "For a linear problem `gsdsl explain`, with the same file and options, names the variables that can",
                "grow for ever: give them a bound (`var x >= 0 <= limit`) or a constraint. A term such as `1 / x` or",
                "`log(x)` has no limit near `x = 0`: give `x` a bound above 0.",
            ]
        case Status.INFEASIBLE_OR_UNBOUNDED:
            return ["Bound every variable and solve again: if there is still no solution, the problem is infeasible."]
    if reason == "interrupt":
        return []
    if reason == "iterations":
        return [
            "Allow more of them (`--solver-option`), start from a known solution (`--warm-start RESULT.json`),",
            "or choose a method that can prove that there is no solution (`--method highs`).",
        ]
    return ["Allow more time (`--time-limit`), or start from a known solution (`--warm-start RESULT.json`)."]


def result_lines(result: Result) -> list[str]:
    """Return status, objectives by term, bound, gap and times in two columns; without a solution also advice."""
    status = status_text(result.status, result.reason, result.has_point)
    if result.relaxed:
        status += "; relaxed: variables may be fractional"
    at = result.solved.stopped_at
    fields = [("status", f"{status}, in the stage `{at}`" if at else status)]
    for number, objective in enumerate(result.objectives):
        fields.extend(_objective_fields(objective, number, len(result.objectives)))
    if result.solved.members:
        from gpusched_dsl.reporting.members import members_text

        fields.append(("found by", members_text(result.solved.members)))
    fields.append(("build", seconds_text(result.build_seconds)))
    fields.append(("solve", seconds_text(result.solve_seconds)))
    width = max(len(word) for word, _ in fields) + GAP
    lines = [f"{word:<{width}}{text}".rstrip() for word, text in fields]
    advice_lines = advice(result.status, result.reason, result.has_point)
    return [*lines, "", *advice_lines] if advice_lines else lines


def _objective_fields(objective: ObjectiveResult, number: int, count: int) -> list[tuple[str, str]]:
    """Return the lines of an objective: value, named terms, bound and gap."""
    name = objective.name or "objective"
    fields: list[tuple[str, str]] = []
    if objective.value is not None:
        named_terms = [(t.name, t.value) for t in objective.terms if t.name is not None]
        texts = align([objective.value, *(v for _, v in named_terms)])
        sense = "minimised" if objective.sense == "minimize" else "maximised"
        order = f", priority {number + 1}" if count > 1 else ""
        fields.append((name, f"{with_unit(texts[0], objective.unit)}   ({sense}{order})"))
        for (term, _), text in zip(named_terms, texts[1:], strict=True):
            fields.append((f"  {term}", with_unit(text, objective.unit)))
    if objective.status is None and count > 1:
        fields.append(("", f"`{name}` was not optimised: the previous objective ended without a proof"))
    elif objective.bound is not None:
        fields.append(("bound", with_unit(number_text(objective.bound), objective.unit)))
        if objective.gap is not None:
            fields.append(("gap", percent_text(objective.gap)))
    return fields
