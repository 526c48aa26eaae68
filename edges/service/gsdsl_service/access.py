"""Who may use the service, and how often."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic
from gpusched_dsl.language.diagnostics.errors import DiagnosticError

CANNOT_START = "GSM5501"
SHORTEST = 16  # characters of a token


@dataclass(frozen=True)
class Tokens:
    """Clients by the hash of their token; without any, everybody is the client `anyone`."""

    clients: Mapping[bytes, str] = field(default_factory=dict)

    def client(self, header: str | None) -> str | None:
        """The client of an `Authorization` header, None if it has no valid token."""
        if not self.clients:
            return "anyone"
        scheme, _, token = (header or "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        given, found = _hash(token.strip()), None
        for known, client in self.clients.items():  # always all of them, so that the time tells nothing
            if hmac.compare_digest(known, given):
                found = client
        return found


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def read_tokens(path: Path) -> Tokens:
    """Read lines of a client and its token. Raises DiagnosticError (GSM5501) for a wrong file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as failure:
        raise _unusable(path, str(failure)) from failure
    found: dict[bytes, str] = {}
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) != 2:
            raise _unusable(path, f"line {number} is not a name and a token")
        client, token = words
        if len(token) < SHORTEST:
            raise _unusable(path, f"the token in line {number} has fewer than {SHORTEST} characters")
        if _hash(token) in found:
            raise _unusable(path, f"the token in line {number} occurs twice")
        found[_hash(token)] = client
    if not found:
        raise _unusable(path, "it has no token")
    return Tokens(found)


def _unusable(path: Path, reason: str) -> DiagnosticError:
    help = "write a line `NAME TOKEN` for each client; `openssl rand -hex 32` makes a token"
    return DiagnosticError(
        [Diagnostic(CANNOT_START, f"the file of tokens `{path}` cannot be used: {reason}", help=help)]
    )


@dataclass
class RateLimit:
    """A token bucket for each client: `rate` requests per second, at most `burst` at once."""

    rate: float
    burst: float
    now: Callable[[], float] = time.monotonic
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)

    def wait(self, client: str) -> float:
        """Count a request; return 0, or the seconds until the next one is allowed."""
        now = self.now()
        left, since = self._buckets.get(client, (self.burst, now))
        left = min(self.burst, left + (now - since) * self.rate)
        if left >= 1.0:
            self._buckets[client] = (left - 1.0, now)
            return 0.0
        self._buckets[client] = (left, now)
        return (1.0 - left) / self.rate
