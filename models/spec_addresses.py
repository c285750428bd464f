"""What is wrong with a server's address: told in one line, and never with a password in it."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import unquote_to_bytes, urlsplit

LONGEST_HOST = 253
"""Characters of a host's name (RFC 1035)."""

_FORBIDDEN = re.compile(r"[\s\"<>\\^`{|}]")  # RFC 3986, 2: none of them may stand in a URL
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_BRACKETS = re.compile(r"\[[^\[\]]*\](:.*)?")
_HOST = re.compile(r"[A-Za-z0-9._-]+")


def address_fault(url: str) -> str | None:
    """Return what is wrong with ``http(s)://HOST[:PORT][/PATH]``, or None.

    The address is not repeated: one that is refused may hold a password in any of its parts.
    """
    if "@" in url:  # wherever it stands: what is before it may be a password with a '/'
        return (
            "a model's address must hold no user or password, since specs are recorded: put the "
            "key into an environment variable and name it with ?key_env=NAME"
        )
    if _FORBIDDEN.search(url) or not url.isprintable():
        return "its address holds blanks or other characters that no address may hold"
    if "#" in url:
        return "its address must hold no '#'"
    if _BAD_ESCAPE.search(url):
        return "its address holds a '%' that two hexadecimal digits do not follow"
    if any(byte < 32 or byte == 127 for byte in unquote_to_bytes(url)):
        return "its address holds an escaped control character"
    netloc = url.partition("://")[2].partition("/")[0]
    if netloc.startswith("[") and not _BRACKETS.fullmatch(netloc):
        return "what stands in the brackets of its address is no IPv6 address"
    if not netloc.startswith("[") and netloc.count(":") > 1:
        return "an IPv6 address stands in brackets: http://[::1]:8000/v1"
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return "what stands in the brackets of its address is no IPv6 address"
    try:
        port = parts.port
    except ValueError:
        port = 0
    if netloc.endswith(":") or port == 0:
        return "the port of its address is no number from 1 to 65535"
    if not host:
        return "its address names no host"
    return _host_fault(host, bracketed=netloc.startswith("["))


def _host_fault(host: str, *, bracketed: bool) -> str | None:
    try:
        if bracketed:
            ipaddress.IPv6Address(host)
            return None
        name = host.removesuffix(".").encode("idna").decode("ascii")
    except ValueError:
        if bracketed:
            return "what stands in the brackets of its address is no IPv6 address"
        name = ""
    if not _HOST.fullmatch(name) or len(name) > LONGEST_HOST:
        return "the host of its address is no name of a host"
    return None
