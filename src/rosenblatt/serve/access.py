"""Access control: by the rights of a token, or, without tokens, from this computer only."""

import hashlib
import hmac
import ipaddress
import time
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


def check_rights(tokens: Iterable[Token], headers: Mapping[bytes, bytes], needed: str) -> str:
    """Refuse a request that has no token with the needed right; return the name of the token."""
    scheme, _, secret = headers.get(b"authorization", b"").partition(b" ")
    digest = hashlib.sha256(secret.strip()).digest()
    rights = name = ""
    for token in tokens:  # always all of them, so that the time reveals nothing about the tokens
        if hmac.compare_digest(token.sha256, digest):
            rights, name = token.rights, token.name
    if scheme.lower() != b"bearer" or not rights:
        raise Refused(401, "This service needs a token; got no known one. Send `Authorization: Bearer TOKEN`.")
    if _RANK[rights] < _RANK[needed]:
        raise Refused(403, f"This request needs a token with the right to {needed}; got one to {rights}.")
    return name


class Rates:
    """A limit on the requests and lines of each client per second; a client that was silent may use ten seconds at once.

    Parameters
    ----------
    most : float
        The limit; 0 for none.
    """

    def __init__(self, most: float) -> None:
        self._most = most
        self._used: dict[str, tuple[float, float]] = {}

    def check(self, client: str, count: int = 1) -> None:
        """Count requests or lines of a client, or refuse them."""
        if not self._most:
            return
        now = time.monotonic()
        used, then = self._used.pop(client, (0.0, now))
        used = max(0.0, used - (now - then) * self._most)
        if used > 0 and used + count > 10 * self._most:
            self._used[client] = used, now
            seconds = (used + count - 10 * self._most) / self._most
            raise Refused(
                429,
                f"A client may send {self._most:g} requests or lines per second here; got more. Try again in {seconds:.0f} "
                "seconds, or send less.",
                seconds=max(1, round(seconds)),
            )
        self._used[client] = used + count, now
        if len(self._used) > 10_000:
            del self._used[next(iter(self._used))]


def check_origin(headers: Mapping[bytes, bytes]) -> None:
    """Refuse requests from web pages of other servers, opened in a browser on this computer, if there are no tokens."""
    host = headers.get(b"host", b"localhost").decode("latin-1")
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    if not is_loopback(name):
        raise Refused(403, "Without tokens the service must be called by a local name, such as localhost.")
    origin = headers.get(b"origin")
    if origin is not None and origin.decode("latin-1").partition("://")[2] != host:
        raise Refused(403, "Without tokens the service does not answer requests from pages of other servers.")
