"""Checks where a request comes from, so that no web page of another site can use the service of its reader."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from gpusched_dsl.language.diagnostics.diagnostic import Diagnostic

FOREIGN = "GSM5508"
SHOWN = 80  # characters of a refused header
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")


@dataclass(frozen=True)
class OwnHosts:
    """The names by which a service may be called: that of the `address` where it listens, and `more` names.

    A name that somebody else points to this machine (DNS rebinding) is none of them. A loopback address is called
    `localhost` or a loopback address, one that stands for all addresses of the machine by any address.
    """

    address: str = "127.0.0.1"
    more: Sequence[str] = ()

    def refusal(self, headers: Mapping[str, Sequence[str]]) -> Diagnostic | None:
        """Return GSM5508 for a request to another host or from another site; None if it may be answered.

        `headers` has the values of each header by its name in lower case.
        """
        hosts, origins = headers.get("host", ()), headers.get("origin", ())
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            shown = ", ".join(f"`{host[:SHOWN]}`" for host in hosts) or "no host"
            help = "call the service by the address where it listens, or start it with `--allow-host NAME`"
            return Diagnostic(FOREIGN, f"the request is for {shown}, which is no name of this service", help=help)
        site = headers.get("sec-fetch-site", ())
        foreign = [value for value in site if value.lower() not in ("same-origin", "none")]
        foreign += [origin for origin in origins if origin.partition("://")[2].lower() != hosts[0].lower()]
        if foreign:
            help = "send it from a program, not from the page of another site"
            return Diagnostic(FOREIGN, f"the request comes from another site, `{foreign[-1][:SHOWN]}`", help=help)
        return None

    def _is_own(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = match[1].strip("[]").lower()
        if name in {self.address.lower(), *(more.strip("[]").lower() for more in self.more)}:
            return True
        listens, called = _address(self.address), _address(name)
        everywhere = listens is not None and listens.is_unspecified
        if everywhere and called is not None:
            return True
        if everywhere or is_loopback(self.address):
            return is_loopback(name)
        return listens is not None and listens == called


def is_loopback(host: str) -> bool:
    """Whether a host is this machine for its own programs only."""
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None
