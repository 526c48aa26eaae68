"""The REST interface of Slurm (slurmrestd) over TCP or a Unix socket: reads its documents, changes jobs."""

from __future__ import annotations

import http.client
import json
import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gpusched_dsl.data.sources.json_keys import decode_distinct
from gsdsl_clusters.drivers.protocol import ActionRefused, ClusterUnavailable
from gsdsl_clusters.drivers.slurm.commands import is_unreachable

LARGEST = 1 << 30  # bytes of a document


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        if sys.platform == "win32":
            raise OSError("Windows has no Unix sockets")  # the settings are refused there
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


@dataclass(frozen=True)
class RestInterface:
    """`address` is `http://host:port` or `unix:/path/of/socket`; `version` that of the interface, such as v0.0.40.

    The token is the content of `token_file`, else SLURM_JWT of the environment; a socket needs none.
    """

    address: str
    version: str
    token_file: str | None = None
    user: str | None = None
    timeout: float = 30.0

    def get(self, what: str) -> dict[str, Any]:
        """The document of `jobs` or `nodes`. Raises ClusterUnavailable."""
        path = f"/slurm/{self.version}/{what}"
        status, body = self._request("GET", path)
        if status != 200:
            shown = body[:200].decode(errors="replace").strip()
            raise ClusterUnavailable(f"{self.address}{path} answers {status}: {shown}")
        return self._document(path, body)

    def change(self, job: str, properties: Mapping[str, Any]) -> None:
        """Change properties of a job. Raises ActionRefused, and ClusterUnavailable without an answer."""
        path = f"/slurm/{self.version}/job/{job}"
        status, body = self._request("POST", path, json.dumps(properties).encode())
        if status in (401, 403, 404):
            raise ActionRefused(f"{self.address}{path} answers {status}")
        document = self._document(path, body)
        errors = document.get("errors") or _failed(document.get("results"))
        if status != 200 or errors:
            message = error_text(errors) if errors else f"{self.address}{path} answers {status}"
            raise ClusterUnavailable(message) if is_unreachable(message) else ActionRefused(message)

    def _request(self, method: str, path: str, content: bytes | None = None) -> tuple[int, bytes]:
        connection = self._connect()
        headers = self._headers() | ({} if content is None else {"Content-Type": "application/json"})
        try:
            connection.request(method, path, body=content, headers=headers)
            response = connection.getresponse()
            return response.status, response.read(LARGEST + 1)
        except (OSError, http.client.HTTPException) as failure:
            raise ClusterUnavailable(f"{self.address} does not answer: {failure}") from failure
        finally:
            connection.close()

    def _document(self, path: str, body: bytes) -> dict[str, Any]:
        try:
            document = decode_distinct(body)
        except (ValueError, RecursionError) as failure:
            raise ClusterUnavailable(f"{self.address}{path} sent no JSON: {failure}") from failure
        if not isinstance(document, dict):
            raise ClusterUnavailable(f"{self.address}{path} sent no JSON object")
        return document

    def _connect(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.address)
        if parts.scheme == "unix":
            return _UnixConnection(parts.path, self.timeout)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        return kind(parts.hostname or "localhost", parts.port, timeout=self.timeout)

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        token = os.environ.get("SLURM_JWT")
        if self.token_file is not None:
            try:
                token = Path(self.token_file).read_text(encoding="utf-8").strip()
            except OSError as failure:
                raise ClusterUnavailable(f"cannot read the token `{self.token_file}`: {failure.strerror}") from failure
        if token:
            headers["X-SLURM-USER-TOKEN"] = token
        if self.user:
            headers["X-SLURM-USER-NAME"] = self.user
        return headers


def _failed(results: Any) -> list[Any]:
    """The results that report an error: one for each job of a request."""
    found = results if isinstance(results, list) else []
    return [result for result in found if isinstance(result, dict) and result.get("error_code")]


def error_text(errors: Any) -> str:
    """The first of the errors of a document."""
    first = errors[0] if isinstance(errors, list) and errors else errors
    if isinstance(first, dict):
        return str(first.get("error") or first.get("description") or first.get("why") or first)
    return str(first)
