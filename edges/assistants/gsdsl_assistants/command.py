"""`gsdsl mcp`: the tools for assistants, by the Model Context Protocol over standard input and output."""

from __future__ import annotations

import argparse
from pathlib import Path

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.cli.output import Output
from gpusched_dsl.language.diagnostics.extras import require_extra


def run(options: argparse.Namespace, output: Output) -> int:
    require_extra("mcp", "the server for assistants needs")
    folder = Path(options.folder or ".")
    if not folder.is_dir():
        raise CommandLineError("GSM6002", f"`{folder}` is not a folder", "give the folder of the models")
    from gsdsl_assistants.limits import GIB, CallLimits
    from gsdsl_assistants.server import build_server

    limits = CallLimits(seconds=options.time_limit, memory=int(options.memory_limit * GIB))
    build_server(folder, limits, allow_outside=options.allow_outside).run("stdio")
    return exits.OK
