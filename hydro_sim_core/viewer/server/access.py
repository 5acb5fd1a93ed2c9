"""Access control of the server: host names, origins, and the token."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

_LOCAL_NAME = "localhost"
#: Largest number of fields in a query of our pages.
_MAX_FIELDS = 20


class Access:
    """Decides by its headers whether a request is allowed.

    A web page of another site may not read or command a simulation: its ``Origin`` differs. If its name is made to
    resolve to this machine (DNS rebinding), its ``Host`` is not a name of this server.

    Args:
        address: Address on which the server listens; also one of its names.
        port: Port on which it listens.
        token: Token that requests must carry; None if they need none.
        ticket: What a single request for the page may carry instead.
    """

    def __init__(self, address: str, port: int, token: str | None, ticket: str | None = None) -> None:
        self.token = token
        self._ticket = ticket
        self.cookie = f"hydro_sim_{port}"
        self._names = {_LOCAL_NAME, address.lower()}
        self._elsewhere = not is_loopback(address)
        if self._elsewhere:
            machine = socket.gethostname().lower()
            for name in (machine, machine.partition(".")[0]):
                self._names |= {name, f"{name}.local"}
            self._names.add(socket.getfqdn().lower())

    def is_own_host(self, host: str | None) -> bool:
        """Whether a ``Host`` header names this server; any port is accepted, for port forwarding."""
        name = _host_name(host)
        if name is None:
            return False
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        # An IP address is accepted, because no foreign site can have one as its name.
        return self._elsewhere or address.is_loopback

    def is_own_origin(self, origins: Sequence[str], host: str) -> bool:
        """Whether a request comes from a page of this server, or not from a web page."""
        return all(origin.lower() == f"http://{host.lower()}" for origin in origins)

    def is_known(self, query: str, cookies: Sequence[str]) -> bool:
        """Whether a request carries the token, in its query or in a cookie."""
        if self.token is None:
            return True
        given = [*_in_query(query, "token"), *self._in_cookies(cookies)]
        return any(_equal(text, self.token) for text in given)

    def takes_ticket(self, query: str) -> bool:
        """Whether a request carries the ticket, which is void from then on."""
        if self._ticket is None or not any(_equal(text, self._ticket) for text in _in_query(query, "ticket")):
            return False
        self._ticket = None
        return True

    def _in_cookies(self, cookies: Sequence[str]) -> list[str]:
        found = []
        for text in cookies:
            try:
                jar = SimpleCookie(text)
            except CookieError:
                continue
            if self.cookie in jar:
                found.append(jar[self.cookie].value)
        return found

    @property
    def set_cookie(self) -> str:
        """``Set-Cookie`` header with the token, out of reach of scripts and other sites."""
        return f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"


def is_loopback(address: str) -> bool:
    """Whether an address can be reached from this machine only."""
    if address.lower() == _LOCAL_NAME:
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _equal(text: str, secret: str) -> bool:
    return secrets.compare_digest(text.encode(), secret.encode())


def _in_query(query: str, name: str) -> list[str]:
    try:
        return parse_qs(query, max_num_fields=_MAX_FIELDS).get(name, [])
    except ValueError:  # more fields than allowed
        return []


def _host_name(host: str | None) -> str | None:
    """Name in a ``Host`` header, without port and brackets, in lower case."""
    if not host:
        return None
    if host.startswith("["):
        name, bracket, rest = host[1:].partition("]")
        return name.lower() if bracket and (not rest or _is_port(rest)) else None
    name, colon, port = host.partition(":")
    return name.lower() if not colon or _is_port(colon + port) else None


def _is_port(text: str) -> bool:
    return text.startswith(":") and text[1:].isascii() and text[1:].isdigit()
