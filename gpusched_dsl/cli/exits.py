"""Exit codes: a promise to scripts, listed in `gsdsl --help` and docs/reference/cli.md."""

from __future__ import annotations

OK = 0  # solved (a solution is there, proved optimal or the best at a limit), or nothing wrong
BAD_INPUT = 1  # diagnostics with errors; failed tests; files that `fmt --check` would change
USAGE = 2  # the command line itself is wrong
INFEASIBLE = 3  # no solution exists (or the solver could not tell infeasible from unbounded)
UNBOUNDED = 4
NO_SOLUTION_YET = 5  # stopped by a limit before any solution was found
INTERNAL = 70  # a defect of gsdsl
INTERRUPTED = 130  # Ctrl-C before there was a solution
BROKEN_PIPE = 141  # whoever read the output has gone

TABLE = (
    (OK, "solved: a solution was found (optimal, or the best at a limit or Ctrl-C); or nothing wrong"),
    (
        BAD_INPUT,
        "bad input: diagnostics with errors (check --strict: also warnings); failed tests; files that are not "
        "formatted (fmt --check)",
    ),
    (USAGE, "wrong usage of the command line"),
    (INFEASIBLE, "infeasible (or infeasible or unbounded); a plan violates the model, in a solve, a run or a driver"),
    (UNBOUNDED, "unbounded"),
    (NO_SOLUTION_YET, "a limit was reached before any solution was found"),
    (INTERNAL, "internal error: a defect of gsdsl"),
    (INTERRUPTED, "interrupted before a solution was found"),
)
