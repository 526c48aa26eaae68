"""The examples of `gsdsl COMMAND --help`: command lines, most of which run as they are, with shipped models."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "solve": (
        ("gsdsl solve gsdsl:figure1.gsm --scenario Figure1", "solve a scenario of a shipped model with HiGHS"),
        ("gsdsl solve plan.gsm --method scip --gap 1% --time-limit 5m", "another solver, within limits"),
        ("gsdsl solve plan.gsm --set 'period=30[min]' --csv out --json result.json", "other values; write the results"),
    ),
    "run": (
        ("gsdsl run plan.gsm --methods FIFO,SJF", "compare two policies over time"),
        ("gsdsl run plan.gsm --method FIFO --seeds 1..20 --html run.html", "20 random runs, as a page"),
    ),
    "inspect": (
        ("gsdsl inspect slurm", "a Slurm cluster, by its commands"),
        ("gsdsl inspect ~/.kube/config", "a Kubernetes cluster, by its API"),
        ("gsdsl inspect sacct.txt --timezone Europe/Berlin", "a history of Slurm, by `sacct --parsable2`"),
        ("gsdsl inspect slurm --write ours", "and a model, to change and to run live"),
        ("gsdsl inspect trace.swf --price 2.5", "a trace, with the price of a GPU-hour"),
    ),
    "drive": (
        ("gsdsl drive --init slurm ours", "write a model and a cluster file of the live cluster"),
        ("gsdsl drive cluster.toml --check", "observe the cluster once, and show what was read"),
        ("gsdsl drive cluster.toml", "plan for it and record the plans, without changing anything"),
        ("gsdsl drive cluster.toml --report", "compare the recorded cluster with the plans"),
    ),
    "serve": (
        ("gsdsl serve cluster.gsm --no-token", "for programs of this machine, at http://127.0.0.1:8765"),
        (
            "gsdsl serve cluster.gsm --token-file tokens --records records",
            "for clients with tokens; continue after a stop",
        ),
    ),
    "estimate": (
        ("gsdsl estimate plan.gsm --job j7 --at 2h", "when will this job end, as of two hours?"),
        ("gsdsl estimate plan.gsm --job j7 --at 2h --alternatives", "what would start it earlier?"),
    ),
    "why": (("gsdsl why plan.gsm --job j7 --at 2h", "why does this job run there, or wait?"),),
    "compare": (
        ("gsdsl compare gsdsl:figure1.gsm --scenario Figure1 --methods highs,FIFO,EDF", "the optimum and two policies"),
    ),
    "flexibility": (
        (
            "gsdsl flexibility day.gsm --event 68..75 --days seed=1..20 --probability 95%",
            "kW for sure on 19 days",
        ),
        ("gsdsl flexibility day.gsm --event 68..75 --days days.csv --offers 0.5,1,2", "the price of these sheds"),
    ),
    "campaign": (
        ("gsdsl campaign run study.gsm --dry-run", "the number of runs, and how long they may take"),
        ("gsdsl campaign run study.gsm --workers 4", "execute the runs that are missing"),
        ("gsdsl campaign show study.gsm --html study.html", "means by factors and method, as a page"),
        ("gsdsl campaign export study.gsm --out study.csv", "all results as one table"),
    ),
    "policies": (
        ("gsdsl policies", "all policies of the library"),
        ("gsdsl policies plan.gsm", "those for the models of a file"),
        ("gsdsl policies --rules", "the rules that policies are made of"),
    ),
    "explain": (
        ("gsdsl explain gsdsl:figure1.gsm --scenario Figure1", "sizes, reformulations, conflicts"),
        ("gsdsl explain GSM3002", "a diagnostic"),
        ("gsdsl explain --policy FIFO --model CapacityPlanning", "a policy in plain English"),
    ),
    "show": (
        ("gsdsl show", "the shipped models"),
        ("gsdsl show gsdsl:figure1.gsm", "the contents of a file"),
    ),
    "check": (
        ("gsdsl check plan.gsm", "names, units, data"),
        ("gsdsl check --deep --strict models", "all files of a folder, as a release would need them"),
    ),
    "watch": (
        ("gsdsl watch plan.gsm", "check and solve after each save"),
        ("gsdsl watch plan.gsm --scenario Monday --method Greedy", "another scenario, by a policy"),
        ("gsdsl watch plan.gsm --check-only", "only check"),
    ),
    "test": (
        ("gsdsl test plan.gsm", "the tests of a file"),
        ("gsdsl test models --filter Small", "the tests of a folder with this word in their names"),
    ),
    "fmt": (
        ("gsdsl fmt plan.gsm", "rewrite a file"),
        ("gsdsl fmt --check models", "fail if a file is not formatted"),
    ),
    "export": (
        ("gsdsl export gsdsl:figure1.gsm --scenario Figure1 --to lp", "the problem for another solver"),
        ("gsdsl export gsdsl:figure1.gsm --scenario Figure1 --to python --out plan.py", "a program without gsdsl"),
        ("gsdsl export gsdsl:figure1.gsm --to markdown", "the model as mathematics"),
    ),
    "profile": (
        ("gsdsl profile fit profiles.csv --out times.csv", "predict the times that were not measured"),
        ("gsdsl profile summarise samples.csv", "means of repeated measurements"),
    ),
    "trace": (("gsdsl trace jobs.csv --as philly --parquet jobs.parquet", "a published trace in standard columns"),),
    "lsp": (("gsdsl lsp", "the command of the language server in the settings of an editor"),),
    "mcp": (
        ("gsdsl mcp models", "the command of the server in the settings of an assistant"),
        ("gsdsl mcp models --time-limit 2m --memory-limit 4", "for larger models"),
    ),
    "grammar": (
        ("gsdsl grammar --out gsm.gbnf", "constrain the output of a language model"),
        ("gsdsl grammar --to lark", "the grammar that defines the language"),
    ),
    "new": (
        ("gsdsl new my-project", "a starter project for one decision"),
        ("gsdsl new my-other-project --template events", "one for runs over time"),
    ),
    "completion": (
        ('eval "$(gsdsl completion bash)"', "in ~/.bashrc"),
        ('eval "$(gsdsl completion zsh)"', "in ~/.zshrc, after compinit"),
        ("gsdsl completion fish", "its output belongs in ~/.config/fish/completions/gsdsl.fish"),
    ),
}


def examples_text(command: str) -> str:
    """Return the examples of a command, one per line with its purpose above it."""
    lines = [f"  # {about}\n  {line}" for line, about in EXAMPLES[command]]
    return "\n".join(["examples:", *lines])
