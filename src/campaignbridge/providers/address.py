"""Decide which base URLs a key may be sent to."""

import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

_DEFAULT_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class Address:
    """Where a transport connects to, taken from a checked base URL."""

    secure: bool
    host: str  # lower-case, an IPv6 address without brackets
    port: int
    prefix: str  # path before every request path, without a trailing slash

    @property
    def host_header(self) -> str:
        """Return the value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = _DEFAULT_PORTS["https" if self.secure else "http"]
        return host if self.port == default else f"{host}:{self.port}"


def parse_address(base_url: str, *, allow_hosts: frozenset[str]) -> Address:
    """Return the address in `base_url`, or raise `ValueError` with one sentence for people.

    https always, http on loopback only. A host that is not loopback must be in `allow_hosts`, whatever the
    scheme: an address typed into a form must not make us talk to a neighbour in the network (SSRF). The
    sentence never repeats the URL, which could carry a secret.
    """
    if not base_url.isascii() or not base_url.isprintable() or " " in base_url or "\\" in base_url:
        msg = "The base URL must be plain ASCII without spaces or control characters."
        raise ValueError(msg)
    scheme, host, port, path = _pieces(base_url)
    loopback = is_loopback(host)
    if scheme == "http" and not loopback:
        msg = f"The base URL for {host} must use https; http is only for this machine itself."
        raise ValueError(msg)
    if not loopback and host not in {allowed.lower() for allowed in allow_hosts}:
        msg = f"The host {host} is not allowed; an administrator must allow it first."
        raise ValueError(msg)
    return Address(secure=scheme == "https", host=host, port=port, prefix=path.rstrip("/"))


def is_loopback(host: str) -> bool:
    """Tell whether `host` is written as this machine itself: 127.0.0.0/8, ::1 or localhost.

    Other spellings of a loopback address (octal, hexadecimal, short) are not recognised on purpose.
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _pieces(base_url: str) -> tuple[str, str, int, str]:
    try:
        parts: SplitResult = urlsplit(base_url)
        port = parts.port
    except ValueError:
        msg = "The base URL can't be read; it looks like https://host/path."
        raise ValueError(msg) from None
    if "@" in parts.netloc:
        msg = "The base URL must not carry credentials; give the key separately."
        raise ValueError(msg)
    if parts.scheme not in _DEFAULT_PORTS:
        msg = "The base URL must start with https:// (or http:// for this machine itself)."
        raise ValueError(msg)
    if not parts.hostname or "%" in parts.hostname or port == 0:
        msg = "The base URL needs a host name and, if any, a port from 1 to 65535."
        raise ValueError(msg)
    if "?" in base_url or "#" in base_url:
        msg = "The base URL must not carry a query or a fragment."
        raise ValueError(msg)
    return parts.scheme, parts.hostname, port or _DEFAULT_PORTS[parts.scheme], parts.path
