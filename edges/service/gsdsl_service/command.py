"""`gsdsl serve`: live runs of a model over HTTP."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gpusched_dsl.cli import exits
from gpusched_dsl.cli.arguments.parser import CommandLineError
from gpusched_dsl.cli.crash import crash_diagnostic
from gpusched_dsl.cli.instance import read_workspace, run_config
from gpusched_dsl.cli.kernels import announce_compiling
from gpusched_dsl.cli.output import Output
from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic, Severity
from gpusched_dsl.language.diagnostics.extras import require_extra
from gpusched_dsl.policies.library import is_policy


def run(options: argparse.Namespace, output: Output) -> int:
    _check(options)
    require_extra("serve", "the service needs", "GSM5501")
    from gpusched_dsl.data.sources.secret_files import secret_warnings
    from gpusched_dsl.online.live.metrics import Metrics
    from gsdsl_service.access import Tokens, read_tokens
    from gsdsl_service.application import RequestLimits, Service
    from gsdsl_service.same_site import OwnHosts
    from gsdsl_service.server import Address, serve
    from gsdsl_service.sessions import Sessions

    tokens = Tokens() if options.no_token else read_tokens(Path(options.token_file))
    output.report(secret_warnings(options.token_file, options.tls_key))
    workspace = read_workspace(Path(options.file), options.allow_outside, output)
    if is_policy(workspace, options.method):
        announce_compiling(output)
    metrics = Metrics()
    records = None if options.records is None else Path(options.records)

    def defect(failure: Exception) -> Diagnostic:
        return crash_diagnostic(failure, sys.argv)

    sessions = Sessions(
        workspace, run_config(options), records, options.max_sessions, on_record=metrics.count_record, defect=defect
    )
    for name, error in sessions.resume():
        message = f"the session `{name}` cannot be continued: {error.diagnostics[0].message}"
        output.report([Diagnostic(error.diagnostics[0].code, message, severity=Severity.WARNING)])
    limits = RequestLimits(body=options.max_body, rate=options.rate, burst=2 * options.rate)
    address = Address(
        options.host,
        options.port,
        *(None if name is None else Path(name) for name in (options.tls_cert, options.tls_key)),
    )
    hosts = OwnHosts(options.host, tuple(options.allow_host))
    service = Service(sessions, tokens, limits, metrics, defect, hosts=hosts)
    serve(service, address, lambda url: output.note(f"serving {options.file} at {url}; Ctrl-C stops"))
    if running := sessions.stop(5.0):
        output.note(f"still planning when the service ended: {', '.join(running)}")
    return exits.OK


def _check(options: argparse.Namespace) -> None:
    """Reject a service that others could use without a token."""
    if options.no_token is bool(options.token_file):
        help = "write a line `NAME TOKEN` for each client into a file, for its owner only"
        raise CommandLineError("GSM6002", "a service needs either `--token-file` or `--no-token`", help)
    from gsdsl_service.same_site import is_loopback

    if options.no_token and not is_loopback(options.host):
        message = f"`--no-token` is only for addresses of this machine, not for `{options.host}`"
        raise CommandLineError("GSM6002", message, "use `--token-file`")
    if options.tls_key is not None and options.tls_cert is None:
        raise CommandLineError("GSM6002", "`--tls-key` needs `--tls-cert`", "add it")
