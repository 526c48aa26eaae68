"""Options that several commands share: the scenario, methods and limits, what solves and runs do, documents."""

from __future__ import annotations

from gpusched_dsl.options import kinds
from gpusched_dsl.options.kinds import COUNT, FILE, FLAG, FOLDER, GIB, NAME, OUT, PASSES, SEED, SHARE, TIME, VARIABLES
from gpusched_dsl.options.option import COMMAND, DOCUMENT, SOLVING, USUAL, OptionRow

LATER = "serve estimate why live"
LIVE = f"run {LATER}"
RUNS = "run serve estimate why"
EVERY = f"solve compare watch flexibility explain export {RUNS}"  # that choose a scenario
METHOD_HELP = "method that plans: a solver, or a policy such as Greedy"
RUN_GAP = "relative gap at which a plan of a solver counts as optimal"
BOUND = "(at most --time-limit or 60 seconds)"
NO_PROOF = "does not prove that a plan is the best"
NO_PLANS = {"relax": "a relaxation has no distinct plans"}
ONE_RUN = "a journal records one run"
ONE_PLAN = {"campaign": "a campaign stores one plan of each run",
            "problem": "a compiled problem has no interchangeable elements and jobs"}  # fmt: skip
ON_WORKERS = {"campaign": "a campaign runs on workers itself: `gsdsl campaign run --engine ENGINE --workers N`"}
TRIED = f"{SOLVING} campaign"  # an option of a method that campaigns may vary
LIMITS = f"{TRIED} test"

# fmt: off
MEMORY = OptionRow("memory_limit", GIB, None, "largest memory for data and problem (default: half of the machine, at "
                   "most 8)", EVERY, DOCUMENT)
OUTSIDE = OptionRow("allow_outside", FLAG, False, "allow imports and data from outside the folder of the file", EVERY,
                    DOCUMENT)
METHOD = OptionRow("method", kinds.METHOD, "highs", "highs, scip, cvxpy, cpsat, search (local search), concurrent "
                   "(several at once), or a policy such as Greedy", "solve", f"{SOLVING} assistant", "-m --backend",
                   title="the method")
SEVERAL = OptionRow("methods", kinds.METHODS, None, "run each of these methods separately, and compare them in one "
                    "table", "run", DOCUMENT, one_of="method", title="methods")
SEEDED = OptionRow("seed", SEED, 0, "random seed of the run, solvers and policies", "serve estimate why",
                   f"{USUAL} campaign http", title="the seed")
SEEDS = OptionRow("seeds", kinds.SEEDS, None, "run every method once for each of these seeds, and show the means; "
                  "`1..10` is a range", "run", one_of="seed", title="seeds")
GAP = OptionRow("gap", SHARE, 1e-4, "relative gap at which a solution counts as optimal",
                "solve watch compare flexibility", LIMITS, "-g", title="the gap")
TIME_LIMIT = OptionRow("time_limit", TIME, None, "stop after this time with the best solution so far",
                       "solve watch compare", f"{LIMITS} assistant", "-t", title="the time limit")
THREADS = OptionRow("threads", kinds.THREADS, None, "threads of the solver", f"solve watch compare flexibility {LIVE}",
                    LIMITS, title="the number of threads")
JUDGE = OptionRow("judge", kinds.SOLVER, "highs", "the solver that completes and verifies the plan of a policy",
                  "solve compare", f"{USUAL} campaign test", title="the judge")
WITHOUT = OptionRow("without", PASSES, (), "skip a tightening pass (`all`: every pass); may be given several times",
                    f"solve compare flexibility {LIVE}", TRIED, repeated=True)
SOLVER_OPTIONS = OptionRow("solver_options", kinds.PAIRS, (), "an option of the solver itself, such as "
                           "mip_heuristic_effort=0.2", f"solve flexibility {LIVE}", SOLVING, flag="--solver-option",
                           repeated=True, title="solver options")
NUMBER_OF_WORKERS = OptionRow("workers", kinds.WORKERS, None, "number of workers (default: one per core)", "solve",
                              title="the number of workers", absent=ON_WORKERS)
ENGINE = OptionRow("engine", kinds.ENGINE, None, "local (processes of this machine), dask, dask://HOST:PORT or slurm",
                   "solve", title="the engine", absent=ON_WORKERS)
JSON = OptionRow("json", OUT, None, "write the result as JSON (`-`: to standard output)", "solve run flexibility",
                 DOCUMENT)
HTML = OptionRow("html", OUT, None, "write a page with charts (`-`: to standard output)", "solve run inspect",
                 DOCUMENT)
CSV = OptionRow("csv", OUT, None, "write one CSV file per variable into a folder", "solve", DOCUMENT, metavar="DIR")
FIGURES = OptionRow("figures", FOLDER, None, "write the charts of the page as SVG and PNG", "solve run compare",
                    DOCUMENT)

SHARED = (
    # --- the scenario
    OptionRow("online", NAME, None, "name of the online block (needed if there are several)", LIVE, f"{USUAL} http",
              title="the online block"),
    OptionRow("scenario", NAME, None, "name of the scenario (needed if several could be meant)", f"{EVERY} live",
              f"{USUAL} assistant http", "-s", title="the scenario"),
    OptionRow("scenario", NAME, None, "only this scenario", "show", COMMAND, "-s"),
    OptionRow("no_data", FLAG, False, "do not read data: no sizes", "show", COMMAND),
    OptionRow("set", kinds.PAIRS, (), "set an option, a parameter or a single value, such as period=30[min] or "
              "'deadline[j1]=20[h]', or an option of a generator, such as seed=2", EVERY, DOCUMENT, "-D",
              repeated=True),
    OptionRow("set_file", FILE, (), "set the values of a CSV file with the columns name, value and, optionally, unit",
              EVERY, DOCUMENT, repeated=True, metavar="CSV"),
    OptionRow("start", NAME, None, "date at time 0, as in 2026-03-01T00:00Z; without an offset on the clock of the "
              "calendar of the scenario", EVERY, f"{COMMAND} http", metavar="DATE"),
    MEMORY, OUTSIDE,
    # --- methods
    METHOD,
    METHOD.on("watch", "highs, scip, cvxpy, cpsat, search, or a policy such as Greedy", doors=COMMAND),
    METHOD.on("run", METHOD_HELP, one_of="method", doors=DOCUMENT),
    METHOD.on(LATER, METHOD_HELP, doors=f"{USUAL} http"),
    METHOD.on("flexibility", "the solver: highs, scip, cpsat, or concurrent", doors=USUAL),
    METHOD.on("explain", "explain the problem for this solver"),
    METHOD.on("check", "with --deep: the solver that the problems are built for, instead of highs", default=None,
              needs="deep", doors=USUAL),
    METHOD.on("test", "only the runs with this solver or policy", default=None, doors=COMMAND),
    SEVERAL,
    SEVERAL.on("drive", "with --report: compare these methods (default: those of the cluster file)", one_of=""),
    SEVERAL.on("compare", "solvers and policies, such as highs,FIFO,Greedy", short="-m --method", required=True,
               one_of="", doors=USUAL),
    OptionRow("every_backend", FLAG, False, "also run all other solvers that prove results on the tests that they "
              "support", "test", COMMAND),
    OptionRow("fallback", kinds.METHOD, None, "method that plans if the main method finds no plan in time (default: "
              "that of the online block)", LIVE, f"{USUAL} campaign http", title="the fallback"),
    SEEDED,
    SEEDED.on("live"),
    SEEDED.on("run", one_of="seed", excludes={"seeds": "each of `seeds` is the seed of a run"}),
    SEEDS,
    SEEDS.on("compare", "run randomised policies once for each seed (default: 0); `1..10` is a range", default=(0,),
             one_of=""),
    # --- limits
    GAP,
    GAP.on(LIVE, RUN_GAP),
    TIME_LIMIT,
    TIME_LIMIT.on(LIVE, "time limit of each plan", doors=f"{LIMITS} http"),
    TIME_LIMIT.on("flexibility", "limit of each of the solves, four per day and two per further offer"),
    THREADS,
    # --- solves
    SEEDED.on("solve watch", "the random seed of the solver or policy", doors=LIMITS),
    SEEDED.on("flexibility", "the random seed of the solver"),
    JUDGE,
    OptionRow("bound", FLAG, False, f"for a policy or search: also let the judge prove a bound {BOUND}", "solve",
              f"{USUAL} campaign", with_proof="proves a bound itself",
              absent={"problem": "for a compiled problem no other solver proves a bound"}),
    OptionRow("bound", FLAG, False, f"let the judge prove a bound even if no method is a solver {BOUND}", "compare"),
    OptionRow("heuristic", kinds.SWITCH, "auto", "search for a good start before the solver (default: if the problem "
              "is large)", "solve compare", TRIED, title="the heuristic"),
    SOLVER_OPTIONS,
    OptionRow("decompose", kinds.SWITCH, "auto", "use the blocks of `decompose by` in the model (default: if it is "
              "large)", "solve compare", TRIED),
    OptionRow("second_opinion", FLAG, True, "do not confirm the result of a short solve by a second one without "
              "presolve", "solve", SOLVING),
    OptionRow("second_opinion", FLAG, False, "confirm the result of a short solve by a second one without presolve",
              "solve", "campaign"),
    NUMBER_OF_WORKERS,
    NUMBER_OF_WORKERS.on("campaign", group="run"),
    ENGINE,
    ENGINE.on("campaign", "local (processes of this machine, the default), dask, dask://HOST:PORT or slurm",
              default="local", group="run"),
    WITHOUT, WITHOUT.on("explain"),
    OptionRow("warm_start", kinds.START, None, "start from a result written by --json, or from the plan of a policy",
              "solve", TRIED, metavar="START"),
    OptionRow("relax", FLAG, False, "solve the relaxation: no variable needs to be integer", "solve", TRIED),
    OptionRow("duals", FLAG, False, "show duals, slacks, reduced costs and ranges; with integers, those of the "
              "solution's linear program", "solve", SOLVING, absent={"campaign": "a campaign stores no duals"}),
    OptionRow("reasons", FLAG, True, "do not search why jobs wait, which takes at most 3 seconds", "solve",
              absent={"campaign": "a campaign stores no reasons"}),
    OptionRow("alternatives", kinds.SOLUTIONS, None, "also find other solutions, K in all, distinct up to the names of "
              "interchangeable elements", "solve", excludes=NO_PLANS, without_proof=NO_PROOF, absent=ONE_PLAN),
    OptionRow("within", SHARE._replace(words="a nonnegative finite number, such as 0.01", written=""), None,
              "how much worse an alternative may be, such as 5% (default: 1%)", "solve", needs="alternatives",
              absent=ONE_PLAN),
    OptionRow("distinct_by", VARIABLES, (), "the variables in which alternatives differ (default: that of the "
              "placement, or all integer variables)", "solve", needs="alternatives", absent=ONE_PLAN),
    OptionRow("options_of", kinds.JOB._replace(words="the name of a job", test=None), None,
              "rank all placements of a job, with the best for all others", "solve", excludes=NO_PLANS,
              without_proof=NO_PROOF, absent=ONE_PLAN),
    OptionRow("show", VARIABLES, (), "print all values of these variables, reports and parameters (`all`: of every "
              "variable)", "solve", COMMAND),
    # --- runs
    OptionRow("controllers", COUNT, 1, "divide jobs and nodes among K controllers; each plans for its own when its own "
              "jobs arrive or end", "run", f"{USUAL} campaign", metavar="K", title="the number of controllers"),
    OptionRow("journal", FILE, None, "record every plan in this file, and continue the run in it", "run", metavar="DB",
              title="the journal", excludes={"methods": ONE_RUN, "seeds": ONE_RUN},
              absent={"campaign": "a campaign stores its results itself"}),
    OptionRow("replay", FLAG, False, "with --journal: compute all its plans again, and report differences", "run",
              needs="journal", absent={"campaign": "a campaign has no journal"}),
    OptionRow("verify", kinds.VERIFY, "rows", "verify plans against the model: all against rows that no role implies "
              "(default), some of them, all plans against all rows and replays event by event, or none", "run",
              f"{USUAL} campaign"),
    OptionRow("live", FILE, None, "read events from this file or named pipe (`-`: standard input) instead of "
              "simulating them, and write decisions to standard output, both as lines of JSON", "run", COMMAND,
              metavar="SOURCE"),
    OptionRow("tell_from", kinds.STEP, None, "with --live and --journal: write recorded decisions again from this step",
              "run", COMMAND),
    OptionRow("bound", FLAG, False, "bounds by linear relaxation: with windows of the complete horizon, otherwise over "
              "time with the capacity", "run", f"{USUAL} campaign"),
    OptionRow("why_gap", FLAG, False, "divide the gap to the bound of `--bound` into myopia, forecast error and a "
              "rest, by two more runs that look ahead", "run",
              absent={"campaign": "a campaign stores no divided gaps"}),
    OptionRow("most_events", COUNT, 10_000_000, "end the run after this number of events", "run", "campaign"),
    OptionRow("journal", FILE, None, "take the recorded plans from this journal", "why", metavar="DB",
              title="the journal"),
    JUDGE.on("why"),
    OptionRow("patience", TIME, 60.0, "time limit for the cost of other plans", "why", COMMAND),
    # --- explanations
    OptionRow("why", FLAG, True, "do not search for a solution, a conflict or a ray", "explain"),
    TIME_LIMIT.on("explain", "time limit for this search", default=60.0),
    # --- campaigns
    OptionRow("memory", GIB, None, "largest memory of a worker (default: an equal share of four fifths of the machine)",
              "campaign", COMMAND, group="run"),
    OptionRow("retry", FLAG, False, "also execute runs that failed before", "campaign", group="run"),
    OptionRow("dry_run", FLAG, False, "show the number of runs and an estimate, execute none", "campaign", COMMAND,
              group="run"),
    # --- documents
    MEMORY.on("check test show"),
    OUTSIDE.on("check show"),
    JSON,
    JSON.on("estimate", "write the estimate as JSON (`-`: to standard output)"),
    JSON.on("why", "write the answer as JSON (`-`: to standard output)"),
    JSON.on("explain", "write the explanation as JSON (`-`: to standard output)"),
    JSON.on("inspect", "write the inspection as JSON (`-`: to standard output)"),
    JSON.on("compare drive", "write the comparison as JSON (`-`: to standard output)"),
    JSON.on("campaign", "write the results as JSON (`-`: to standard output)", group="show"),
    JSON.on("policies", "write them as JSON (`-`: to standard output)"),
    JSON.on("show", "write it as JSON (`-`: to standard output)"),
    JSON.on("test", "write the outcome of every run as JSON (`-`: to standard output)"),
    JSON.on("trace", "write the summary as JSON (`-`: to standard output)"),
    CSV,
    CSV.on("inspect", "write each table to a file in a folder"),
    CSV.on("run", "write tables into a folder; for several methods: the table (`-`: to standard output)",
           metavar="OUT"),
    CSV.on("compare", "write the table as CSV (`-`: to standard output)", metavar="OUT"),
    CSV.on("estimate", "write the start, end, cost and tardiness of all runs as CSV (`-`: to standard output)",
           metavar="OUT"),
    CSV.on("flexibility", "write the table of offers as CSV (`-`: to standard output)", metavar="OUT"),
    HTML,
    HTML.on("compare drive"),
    HTML.on("campaign", group="show"),
    FIGURES,
    FIGURES.on("campaign", group="show"),
    OptionRow("out", FILE, None, "a .parquet, .csv or .json file (default: NAME.parquet)", "campaign", COMMAND,
              group="export"),
    OptionRow("all", FLAG, False, "all measures, not only those of `measure`", "campaign", COMMAND, group="export"),
    OptionRow("report", kinds.REPORT, (), "write the result in a format that an installed package adds; may be given "
              "several times", "solve run compare", COMMAND, repeated=True),
    OptionRow("verbose", FLAG, False, "show the solver's own log", "solve", COMMAND, "-v"),
    MEMORY.on("campaign inspect trace"),
    OUTSIDE.on("campaign test policies mcp"),
    OUTSIDE.on("drive", "read files outside the folder of the model"),
)
# fmt: on
