"""`gsdsl lsp`: the language server, for editors."""

from __future__ import annotations

import argparse

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.extras import require_extra
from gpusched_dsl.cli.output import Output


def run(options: argparse.Namespace, output: Output) -> int:
    require_extra("pygls", "lsp", "the language server")
    from gpusched_dsl.language_server.server import start

    start()
    return exits.OK
