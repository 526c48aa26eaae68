"""The templates of `gsdsl new`: the files of a starter project. Braces are doubled, for `str.format`."""

from __future__ import annotations

from gpusched_dsl.cli.starters import decision, events, windows

# Name, purpose and files of each template; the first one is the default.
TEMPLATES = {
    "decision": (
        "which job runs on which node, decided once, and again when a job arrives or completes",
        decision.FILES,
    ),
    "events": ("the same with deadlines and a policy: decided at every event and once per period", events.FILES),
    "windows": (
        "which job runs in which hour, by prices that change: planned half a day ahead, every three hours",
        windows.FILES,
    ),
}

README = """\
# {name}

A model for [gsdsl]: {purpose}.

| file | content |
| --- | --- |
| `{name}.gsm` | the model, a scenario, an online block and a test |
{rows}

    gsdsl check {name}.gsm      # names, units and data, without solving
    gsdsl solve {name}.gsm      # the schedule
    gsdsl run {name}.gsm        # plan after plan, while jobs arrive and complete
    gsdsl test {name}.gsm       # compare results with known values
    gsdsl fmt {name}.gsm        # format the file

Replace the model, the data and the test by your own: add the rules of your cluster, your jobs, and results that you
know.

[gsdsl]: gsdsl --help
"""
_ABOUT = {"jobs.csv": "the jobs of the scenario", "prices.csv": "the prices of the hours"}


def starter_files(name: str, template: str = "decision") -> dict[str, str]:
    """File name to text of a project called `name`."""
    purpose, files = TEMPLATES[template]
    rows = "\n".join(f"| `{file}` | {_ABOUT[file]} |" for file in files if file in _ABOUT)
    return {
        **{file.format(name=name): text.format(name=name) for file, text in files.items()},
        "README.md": README.format(name=name, purpose=purpose, rows=rows),
    }
