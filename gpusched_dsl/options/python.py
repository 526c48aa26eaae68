"""Arguments that only Python callers have, or that differ for them: rows for the methods of `Model` and functions."""

from __future__ import annotations

from gpusched_dsl.options import kinds
from gpusched_dsl.options.kinds import FILE, FLAG, FUNCTION, NAME, SETTINGS, TEXT
from gpusched_dsl.options.option import USUAL, OptionRow

SCENARIOS = "solve compare explain ground export compile run live estimate why flexibility"
BYTES = kinds.COUNT._replace(words="an integer number of bytes, at least 1")

# fmt: off
ARGUMENTS = tuple(row._replace(doors="python") if row.doors == USUAL else row for row in (
    OptionRow("settings", SETTINGS, None, 'values and options instead of those of the scenario, such as {"period": '
              '"30[min]"}', SCENARIOS, "python assistant", title="settings"),
    OptionRow("scenario", NAME, None, "name of the scenario (the only one if None)", "ground compile",
              title="the scenario"),
    OptionRow("backend", kinds.METHOD, "highs", "the older name of `method`", "solve explain", "python problem",
              title="the backend"),
    OptionRow("method", kinds.METHOD, None, "a solver or a policy", "solve explain", "python problem",
              title="the method"),
    OptionRow("method", kinds.METHOD, "highs", "the method that plans, or several", "run", title="the method"),
    OptionRow("monitor", kinds.MONITOR, None, "receives progress and may stop the work",
              "solve resolve compare explain flexibility", "python problem", title="a monitor must have"),
    OptionRow("gap", kinds.SHARE, None, "another gap", "resolve", title="the gap"),
    OptionRow("time_limit", kinds.TIME, None, "another time limit", "resolve", title="the time limit"),
    OptionRow("warm_start", kinds.START, None, "start from this plan", "resolve"),
    OptionRow("stop", FUNCTION._replace(words="a function without arguments"), None,
              "ends the work if it returns True", "run campaign"),
    OptionRow("tell", FUNCTION._replace(words="a function of the run"), None, "is called with the progress",
              "run campaign"),
    OptionRow("at", kinds.TIME_OF_RUN, None, "time of the explained plan", "why", required=True,
              title="the time `at`"),
    OptionRow("solver_options", kinds.PAIRS, None, "options of the solver itself",
              "solve flexibility run live estimate why", "python problem", title="solver options"),
    OptionRow("days", kinds.DAYS, None, "realised days", "flexibility"),
    OptionRow("strict", FLAG, True, "raise errors", "check"),
    OptionRow("text", TEXT._replace(words="a `str`"), None, "the text", "loads compile", required=True,
              title="the text of a model"),
    OptionRow("path", FILE._replace(words="a path"), None, "the file", "load", required=True,
              title="the file to load"),
    OptionRow("path", FILE._replace(words="a path"), None, "the file", "export", required=True,
              title="the file to write"),
    OptionRow("to", NAME, None, "the format (default: by the file)", "export", title="the format `to`"),
    OptionRow("name", TEXT._replace(words="a `str`"), "<text>", "name of the text", "loads", title="the name"),
    OptionRow("name", TEXT._replace(words="a `str`"), None, "name of the campaign", "campaigns", title="the name"),
    OptionRow("base", FILE._replace(words="a path"), None, "folder of imports and data", "loads compile",
              title="the folder `base`"),
    OptionRow("memory", BYTES, None, "largest memory (default: half of the machine)", "load loads compile",
              required=True, title="the memory"),
    OptionRow("memory", BYTES, None, "largest memory", "inspect campaign", title="the memory"),
    OptionRow("allow_outside", FLAG, False, "allow imports and data from outside", "load loads compile"),
    OptionRow("problem", kinds.JSON, None, "a problem", "problem_from_json", required=True, title="a stored problem"),
    OptionRow("model", NAME, None, "only for this model", "policies generic_policies", title="the model"),
    OptionRow("only", kinds.PAIRS, None, "only runs with these values", "campaign"),
))
# fmt: on
