"""`gsdsl lsp`: the language server, for editors."""

from __future__ import annotations

import argparse

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.output import Output
from gpusched_dsl.language.diagnostics.extras import require_extra


def run(options: argparse.Namespace, output: Output) -> int:
    require_extra("lsp", "the language server needs")
    from gsdsl_editor.server import start

    start()
    return exits.OK
