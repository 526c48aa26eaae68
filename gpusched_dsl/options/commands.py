"""Options of single commands, in the order of their help; those that several commands share are in `shared.py`."""

from __future__ import annotations

from gpusched_dsl.options.kinds import (
    ADDRESS,
    BYTES,
    CHANGES,
    COUNT,
    DAYS,
    FILE,
    FLAG,
    FOLDER,
    FOLDS,
    GIB,
    JOB,
    NAME,
    OFFERS,
    OUT,
    PORT,
    PRICE,
    PROBABILITY,
    SEED,
    TEXT,
    TIME,
    TIME_OF_RUN,
    choice,
)  # fmt: skip
from gpusched_dsl.options.option import COMMAND, DOCUMENT, USUAL, OptionRow

PROBLEM_HELP = "a .gsm file, gsdsl:NAME for a shipped model, or a problem that `export --to json` wrote"
FILE_HELP = "a .gsm file, or gsdsl:NAME for a shipped model"
FILES_HELP = ".gsm files or folders of them, or gsdsl:NAME for shipped models"
ONLINE_HELP = "a .gsm file (or gsdsl:NAME) that has or imports an `online` block"
NOTICE = JOB._replace(words="a number of slots, or a text such as `2h`")
TOOL = f"{USUAL} assistant"
AT_HELP = ", such as 11.7h, 11.7 in the unit of the run's clock, or '2026-10-29 15:00'"

# fmt: off
THE_FILE = OptionRow("file", FILE, None, FILE_HELP, "campaign flexibility watch compare", DOCUMENT, place="1")
THE_FILES = OptionRow("files", FILE, None, FILES_HELP, "check test", DOCUMENT, place="+")
OUTPUT = (
    OptionRow("diagnostics", choice("text", "json"), "text", "format of diagnostics", "output", COMMAND),
    OptionRow("color", choice("auto", "always", "never"), "auto", "colours (default: on a terminal)", "output",
              COMMAND),
    OptionRow("quiet", FLAG, False, "print only errors", "output", COMMAND, "-q"),
    OptionRow("profile", FLAG, False, "print where the time went, to standard error", "output", COMMAND),
    OptionRow("debug", FLAG, False, "show the traceback of an internal error", "output", COMMAND),
)
COMMANDS = (
    # --- campaign
    OptionRow("action", choice("run", "status", "show", "export", "verify"), None, "run: execute the runs that the "
              "store lacks; status: count them; show: means by factors and method; export: write all results as one "
              "table; verify: whether the results belong to the present inputs", "campaign", COMMAND, place="1",
              metavar="run|status|show|export|verify"),
    # --- arguments
    THE_FILE,
    THE_FILE.on("solve export", PROBLEM_HELP),
    THE_FILE.on("run estimate why serve", ONLINE_HELP),
    THE_FILE.on("explain",
                PROBLEM_HELP + "; or the code of a diagnostic, such as GSM3002; optional with `--policy` for "
                "policies of the library",
                place="?"),
    THE_FILE.on("policies",
                f"{FILE_HELP}: its policies, and those of the library for its models (default: all of the "
                "library)",
                place="?"),
    THE_FILE.on("show", f"{FILE_HELP} (default: list the shipped models)", place="?"),
    THE_FILE.on("drive", "the cluster file, such as cluster.toml"),
    THE_FILE.on("trace", "a published trace or table", place="?"),
    THE_FILES,
    THE_FILES.on("fmt", ".gsm files or folders of them, rewritten in place; `-` reads standard input and writes "
                 "standard output"),
    OptionRow("folder", FILE, None, "folder of the models (default: this)", "mcp", COMMAND, place="?",
              metavar="FOLDER"),
    OptionRow("shell", choice("bash", "zsh", "fish"), None, "the shell to write a script for", "completion", COMMAND,
              place="1"),
    OptionRow("source", FILE, None, "`slurm`, a kubeconfig, saved outputs of Slurm or kubectl, records of sacct, or a "
              "trace of jobs", "inspect", place="1", metavar="SOURCE", title="the source"),
    OptionRow("name", NAME, None, "name of the project and of its new folder", "new", COMMAND, place="?"),
    OptionRow("name", NAME, None, "name of the campaign (needed if there are several)", "campaign", COMMAND,
              place="?"),
    OptionRow("store", FOLDER, None, "folder of the results (default: NAME.results in this folder)", "campaign"),
    OptionRow("only", TEXT, (), "only runs with this value of a factor, method, scenario or seed; of repeated names, "
              "any of the values", "campaign", COMMAND, repeated=True, metavar="NAME=VALUE"),

    # --- inspect
    OptionRow("commands", FLAG, False, "with `slurm`: print commands that save what is read", "inspect", COMMAND),
    OptionRow("format", NAME, None, "its format, if it is not recognised", "inspect", TOOL, flag="--as",
              metavar="FORMAT", title="the format"),
    OptionRow("timezone", NAME._replace(words="a name, such as `Europe/Berlin`"), "UTC",
              "time zone of its times, such as Europe/Berlin", "inspect", TOOL, metavar="ZONE", title="the time zone"),
    OptionRow("nodes", FILE._replace(words="a text such as `20x8`, or the path of a file", read=None, is_file=False),
              None, "nodes of a source with jobs only: 20x8, 20x8:a100,4x4:v100, or a CSV file", "inspect", TOOL,
              metavar="NODES", title="the nodes"),
    OptionRow("price", PRICE, None, "price of a GPU-hour", "inspect", TOOL, title="the price"),
    OptionRow("write", FILE, None, "write a model of the cluster, its data and a cluster file there", "inspect",
              COMMAND, metavar="FOLDER"),
    OptionRow("seed", SEED, 0, "seed of the drawn futures", "inspect", title="the seed"),
    # --- drive
    OptionRow("init", choice("slurm", "kueue", "kubernetes"), None, "write a model and a cluster file of the live "
              "cluster into the folder FILE: slurm, kueue, kubernetes", "drive", COMMAND, metavar="DRIVER"),
    OptionRow("act", FLAG, False, "change the cluster; without it only watch and record", "drive", COMMAND),
    OptionRow("check", FLAG, False, "observe once, show the nodes and the data of the jobs", "drive", COMMAND),
    OptionRow("report", FLAG, False, "compare the recorded jobs of the cluster with what a plan had cost", "drive",
              COMMAND),
    OptionRow("metrics", ADDRESS, None, "serve metrics for Prometheus at /metrics", "drive", COMMAND),
    OptionRow("rounds", COUNT, None, "end after N observations (default: never)", "drive", COMMAND),
    # --- serve
    OptionRow("host", TEXT, "127.0.0.1", "address to listen on", "serve", COMMAND, metavar=""),
    OptionRow("port", PORT, 8765, "port to listen on (default: 8765; 0: any)", "serve", COMMAND),
    OptionRow("allow_host", TEXT, (), "another name of the service in requests, such as that of a proxy (repeatable)",
              "serve", COMMAND, repeated=True, metavar="NAME"),
    OptionRow("token_file", FILE, None, "lines `NAME TOKEN`: the clients of the service", "serve", COMMAND),
    OptionRow("no_token", FLAG, False, "accept everybody, on addresses of this machine only", "serve", COMMAND),
    OptionRow("records", FOLDER, None, "record the sessions here, and continue them", "serve", COMMAND),
    OptionRow("max_sessions", COUNT, 16, "most sessions", "serve", COMMAND),
    OptionRow("max_body", BYTES, 4 << 20, "most bytes of a request (default: 4 MiB)", "serve", COMMAND),
    OptionRow("rate", COUNT, 50, "most requests of a client per second", "serve", COMMAND),
    OptionRow("tls_cert", FILE, None, "certificate for HTTPS", "serve", COMMAND),
    OptionRow("tls_key", FILE, None, "key of the certificate", "serve", COMMAND),
    # --- estimate and why
    OptionRow("job", JOB, None, "name of the job", "estimate why", required=True, title="the job"),
    OptionRow("at", TIME_OF_RUN, None, "time of the estimate (default: the submission of the job)" + AT_HELP,
              "estimate", title="the time `at`"),
    OptionRow("at", TIME_OF_RUN, None, "time of the explained plan (with a cluster file: now)" + AT_HELP, "why",
              title="the time `at`"),
    OptionRow("samples", COUNT, 100, "number of simulated runs from that time, with unknown quantities drawn again",
              "estimate", title="the number of samples"),
    OptionRow("alternatives", FLAG, False, "for a waiting job: what would start it earlier, and its effect on the "
              "other jobs", "estimate"),
    OptionRow("changes", CHANGES, (), "also examine these values of parameters of the job, such as "
              "needs=2,exec_time=5; may be repeated", "estimate", flag="--change", repeated=True),
    OptionRow("no_arrivals", FLAG, False, "with a cluster file: no further jobs arrive (default: copies of past jobs, "
              "at the rate of the past)", "estimate", COMMAND),
    # --- flexibility
    OptionRow("event", TEXT._replace(words="a text, such as `68..75`"), None, "the slots in which power is shed: the "
              "first and the last, such as 68..75, or times from the start of slot 0, such as 17:00..19:00",
              "flexibility", required=True, metavar="SLOTS", title="the event"),
    OptionRow("days", DAYS, (), "realised days: values of a setting, such as seed=1..20 or scenario=Monday,Tuesday, or "
              "a CSV file with a column per setting and a row per day; several: every combination (default: the "
              "scenario is the only day)", "flexibility", repeated=True),
    OptionRow("probability", PROBABILITY, 1.0, "share of the days on which the shed must be possible, such as 0.95 or "
              "95%", "flexibility", title="the probability"),
    OptionRow("offers", OFFERS, None, "the sheds to price, in kW (default: equal parts of the largest guaranteed one)",
              "flexibility"),
    OptionRow("steps", COUNT, 4, "number of offers without --offers", "flexibility", title="the number of steps"),
    OptionRow("power", NAME, None, "the variable or `let` of the power by slot, if there are several", "flexibility"),
    OptionRow("notice", NOTICE, None, "slots (8) or time (2h) from the announcement to the event: earlier decisions "
              "are those of the plan without the event (default: announced before the first slot)", "flexibility",
              metavar="TIME"),
    OptionRow("baseline", NAME, None, "the policy or solver of the plan without the event, such as ValleyGreedy "
              "(default: --method, at least cost)", "flexibility"),
    # --- explain, policies, show, completion
    OptionRow("policy", NAME, None, "describe this policy in plain English instead", "explain", COMMAND),
    OptionRow("model", NAME, None, "with `--policy`: the model of the policy", "explain", COMMAND),
    OptionRow("model", NAME, None, "only policies for this model", "policies", title="the model"),
    OptionRow("rules", FLAG, False, "list the rules and moves for policies instead", "policies", COMMAND),
    # --- check, test, fmt, export, watch, lsp, new, grammar
    OptionRow("deep", FLAG, False, "also build the problem of every scenario, to find all errors that `solve` finds, "
              "without solving", "check", TOOL),
    OptionRow("strict", FLAG, False, "report warnings as errors", "check", DOCUMENT),
    OptionRow("filter", TEXT, "", "only tests whose name contains TEXT", "test", COMMAND),
    OptionRow("check", FLAG, False, "change nothing; exit 1 if a file is not formatted", "fmt", COMMAND),
    OptionRow("diff", FLAG, False, "change nothing; show the differences", "fmt", COMMAND),
    OptionRow("to", NAME, None, "lp, mps: text for other solvers; json: the problem, which `gsdsl solve` reads; "
              "python, python-scip: a script on the package of HiGHS or SCIP, which runs without gsdsl; latex, "
              "markdown: the formulation as mathematics; or a format of an installed package", "export", COMMAND,
              required=True, metavar=""),
    OptionRow("out", OUT, None, "output file (default: standard output)", "export", COMMAND, "-o", metavar="FILE"),
    OptionRow("aggregated", FLAG, False, "aggregate interchangeable elements, as `solve` does (default: name each "
              "element)", "export"),
    OptionRow("model", NAME, None, "name of the model to write as mathematics (default: all models of the file)",
              "export", COMMAND),
    OptionRow("check_only", FLAG, False, "do not solve", "watch", COMMAND),
    OptionRow("stdio", FLAG, False, "talk over standard input and output (the default; editors may add it)", "lsp",
              COMMAND),
    OptionRow("template", NAME, "decision", "decision, events or windows", "new", COMMAND),
    OptionRow("list", FLAG, False, "list the templates", "new", COMMAND),
    OptionRow("to", choice("gbnf", "lark"), "gbnf", "gbnf: a grammar over characters, for constrained output of "
              "language models (default); lark: the grammar that defines the language, over words", "grammar",
              COMMAND),
    OptionRow("out", OUT, "-", "output file (default: standard output)", "grammar", COMMAND, "-o", metavar="FILE"),
    OptionRow("time_limit", TIME._replace(written=": seconds, or 90s, 5m"), 30.0, "longest time of a call", "mcp",
              COMMAND, "-t"),
    OptionRow("memory_limit", GIB, 1.0, "largest memory for data and problem of a call", "mcp", COMMAND),
    # --- profile
    OptionRow("action", choice("fit", "summarise"), None, "fit: learn from a table of profiles and predict its missing "
              "pairs of job and GPU model; summarise: compute burst, idle and peak from a table of samples", "profile",
              COMMAND, place="1", metavar="fit|summarise"),
    OptionRow("table", FILE, None, "a .csv or .parquet file", "profile", COMMAND, place="1", metavar="TABLE"),
    OptionRow("out", OUT, None, "write the table for scenarios, as .csv or .parquet (`-`: to standard output)",
              "profile", COMMAND, metavar="FILE"),
    OptionRow("gpus", FILE, None, "table of GPUs: gpu_type, memory_mb", "profile", COMMAND),
    OptionRow("jobs", FILE, None, "fit: table of jobs: job_id and their features; all jobs without a measurement are "
              "predicted", "profile", COMMAND),
    OptionRow("group", choice("job", "model"), "job", "fit: unit that is never split between training and test data",
              "profile", COMMAND),
    OptionRow("folds", FOLDS, 5, "fit: folds of the cross-validation", "profile", COMMAND),
    OptionRow("learner", choice("auto", "linear", "interactions", "forest", "both"), "auto",
              "fit: learner (default: auto, the best by an inner cross-validation)", "profile", COMMAND),
    OptionRow("seed", SEED, 0, "fit: random seed of folds and forests", "profile", COMMAND),
    OptionRow("json", OUT, None, "fit: write the errors as JSON (`-`: to standard output)", "profile", COMMAND),
    OptionRow("split", choice("two-means", "median"), "two-means", "summarise: method that separates samples into "
              "burst and idle", "profile", COMMAND),
    # --- trace
    OptionRow("format", NAME, None, "its format, such as philly, gavel, swf", "trace", COMMAND, flag="--as",
              metavar="FORMAT"),
    OptionRow("formats", NAME, None, "list the formats and generators, or the columns and options of one", "trace",
              COMMAND, metavar="FORMAT", const=""),
    OptionRow("first", TEXT, None, "number of rows to keep, in the order of submission", "trace", COMMAND,
              metavar="N"),
    OptionRow("skip", TEXT, None, "number of first rows to skip", "trace", COMMAND, metavar="N"),
    OptionRow("after", TEXT, None, "only jobs submitted at or after this time of the trace, such as 10[h]", "trace",
              COMMAND, metavar="TIME"),
    OptionRow("before", TEXT, None, "only jobs submitted before this time of the trace", "trace", COMMAND,
              metavar="TIME"),
    OptionRow("status", TEXT, None, "only jobs with this status, such as 'COMPLETED|FAILED'", "trace", COMMAND,
              metavar="WORDS"),
    OptionRow("vc", TEXT, None, "only jobs of these virtual clusters", "trace", COMMAND, metavar="NAMES"),
    OptionRow("most_gpus", TEXT, None, "only jobs that request at most this number of GPUs", "trace", COMMAND,
              metavar="N"),
    OptionRow("least_duration", TEXT, None, "only jobs that ran at least this time", "trace", COMMAND, metavar="TIME"),
    OptionRow("clock", TEXT, None, "origin of times (default: the first kept job)", "trace", COMMAND,
              metavar="first|file"),
    OptionRow("option", TEXT, (), "any other option of the format", "trace", COMMAND, repeated=True,
              metavar="NAME=VALUE"),
    OptionRow("csv", OUT, None, "write the table as CSV (`-`: to standard output)", "trace", COMMAND),
    OptionRow("parquet", OUT, None, "write the table as Parquet", "trace", COMMAND),
)
# fmt: on
