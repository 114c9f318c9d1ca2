"""Access control: by the rights of a token, or, without tokens, from this computer only."""

import hashlib
import hmac
import ipaddress
from collections.abc import Iterable, Mapping

from rosenblatt.serve.examples import Refused
from rosenblatt.serve.store import Token

_RANK = {"read": 1, "learn": 2, "admin": 3}


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this computer."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_rights(tokens: Iterable[Token], headers: Mapping[bytes, bytes], needed: str) -> None:
    """Refuse a request that has no token with the needed right."""
    scheme, _, secret = headers.get(b"authorization", b"").partition(b" ")
    digest = hashlib.sha256(secret.strip()).digest()
    rights = ""
    for token in tokens:  # always all of them, so that the time reveals nothing about the tokens
        if hmac.compare_digest(token.sha256, digest):
            rights = token.rights
    if scheme.lower() != b"bearer" or not rights:
        raise Refused(401, "This service needs a token; got no known one. Send `Authorization: Bearer TOKEN`.")
    if _RANK[rights] < _RANK[needed]:
        raise Refused(403, f"This request needs a token with the right to {needed}; got one to {rights}.")


def check_origin(headers: Mapping[bytes, bytes]) -> None:
    """Refuse requests from web pages of other servers, opened in a browser on this computer, if there are no tokens."""
    host = headers.get(b"host", b"localhost").decode("latin-1")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    if not is_loopback(name):
        raise Refused(403, "Without tokens the service must be called by a local name, such as localhost.")
    origin = headers.get(b"origin")
    if origin is not None and origin.decode("latin-1").partition("://")[2] != host:
        raise Refused(403, "Without tokens the service does not answer requests from pages of other servers.")
