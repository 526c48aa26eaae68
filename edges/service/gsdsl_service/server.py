"""Runs the service on a port until it is asked to stop."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError
from gsdsl_service.access import CANNOT_START
from gsdsl_service.application import Service

GRACE = 60  # seconds for the requests that run when the service is stopped
MOST_CONNECTIONS = 1000


@dataclass(frozen=True)
class Address:
    """Where the service listens; a certificate and its key for HTTPS."""

    host: str = "127.0.0.1"
    port: int = 8765
    certificate: Path | None = None
    key: Path | None = None

    @property
    def scheme(self) -> str:
        return "http" if self.certificate is None else "https"


def serve(service: Service, address: Address, on_start: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C, then finish the requests that run. `on_start` gets the URL.

    Raises DiagnosticError (GSM5501) if the address or the certificate cannot be used.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
    except OSError as failure:
        listener.close()
        message = f"{address.host}:{address.port} cannot be used: {failure.strerror}"
        raise DiagnosticError([Diagnostic(CANNOT_START, message, help="choose another `--port`")]) from failure
    options: dict[str, Any] = {}
    if address.certificate is not None:
        options = {
            "ssl_certfile": str(address.certificate),
            "ssl_keyfile": None if address.key is None else str(address.key),
        }
    config = uvicorn.Config(
        service.application(), log_level="warning", access_log=False, server_header=False, lifespan="on",
        limit_concurrency=MOST_CONNECTIONS, timeout_graceful_shutdown=GRACE, timeout_keep_alive=30, **options,
    )  # fmt: skip
    try:
        config.load()
    except (OSError, ValueError) as failure:
        listener.close()
        message = f"the certificate cannot be used: {failure}"
        raise DiagnosticError([Diagnostic(CANNOT_START, message)]) from failure
    port = listener.getsockname()[1]
    shown = f"[{address.host}]" if ":" in address.host else address.host
    server = _Server(config, service)
    service.stop_server = server.request_exit
    on_start(f"{address.scheme}://{shown}:{port}")
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:  # Ctrl-C before the server handles signals
        return


class _Server(uvicorn.Server):
    """Reports that it is not ready as soon as it is asked to stop; ends normally after a signal."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    def request_exit(self) -> None:
        self.should_exit = True

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Stop; a second Ctrl-C does not wait for requests. The method of uvicorn would raise the signal again."""
        self._service.stopping = True
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True
