"""Access control: by the rights of a token, or, without tokens, from this computer only."""

import hashlib
import hmac
import ipaddress
import time
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from rosenblatt.serve.examples import Refused
from rosenblatt.serve.store import Token

_RANK = {"read": 1, "learn": 2, "admin": 3}

DAY = 86400.0
"""Seconds of a day."""


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this computer."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def find_token(tokens: Iterable[Token], headers: Mapping[bytes, bytes], needed: str) -> Token:
    """Find the token of a request; refuse one that is unknown, has expired, or has not the needed right."""
    scheme, _, secret = headers.get(b"authorization", b"").partition(b" ")
    digest = hashlib.sha256(secret.strip()).digest()
    found = None
    for token in tokens:  # always all of them, so that the time reveals nothing about the tokens
        if hmac.compare_digest(token.sha256, digest):
            found = token
    if scheme.lower() != b"bearer" or found is None:
        raise Refused(401, "This service needs a token; got no known one. Send `Authorization: Bearer TOKEN`.")
    if found.expires is not None and time.time() >= found.expires:
        raise Refused(401, f"The token {found.name!r} has expired. Ask for a new one (`rosenblatt token add`).")
    if _RANK[found.rights] < _RANK[needed]:
        raise Refused(403, f"This request needs a token with the right to {needed}; got one to {found.rights}.")
    return found


def is_for(token: Token | None, model: str) -> bool:
    """Whether a token, or none where none is needed, is for a model."""
    return token is None or not token.models or any(fnmatchcase(model, pattern) for pattern in token.models)


def check_model(token: Token | None, model: str) -> None:
    """Refuse a request for a model that the token is not for."""
    if token is not None and not is_for(token, model):
        raise Refused(403, f"The token {token.name!r} is for the models {' '.join(token.models)}; got {model[:64]!r}.")


def sees_examples(token: Token | None) -> bool:
    """Whether raw examples may be shown."""
    return token is None or token.examples or token.rights == "admin"


class Quotas:
    """Numbers of lines that the tokens with a quota have sent today, in UTC.

    Attributes
    ----------
    day : int
        The day, counted from 1970.
    """

    def __init__(self) -> None:
        self.day, self._used, self._kept = 0, dict[str, int](), dict[str, int]()

    @staticmethod
    def today() -> int:
        """The current day."""
        return int(time.time() // DAY)

    def start(self, day: int, used: Mapping[str, int]) -> None:
        """Start with the numbers in the store."""
        self.day, self._used, self._kept = day, dict(used), dict(used)

    def changed(self) -> dict[str, int]:
        """Numbers that the store does not have yet; they count as kept from now on."""
        changed = {name: used for name, used in self._used.items() if self._kept.get(name) != used}
        self._kept |= changed
        return changed

    def count(self, token: Token | None, lines: int) -> None:
        """Count lines, or refuse them."""
        if token is None or token.quota is None:
            return
        if self.day != self.today():
            self.start(self.today(), {})
        used = self._used.get(token.name, 0) + lines
        if used > token.quota:
            raise Refused(
                429,
                f"The token {token.name!r} may send {token.quota} lines a day (UTC); this request would make it {used}. "
                "Send the rest tomorrow, or ask for a larger quota.",
                seconds=max(1, int((self.day + 1) * DAY - time.time()) + 1),
            )
        self._used[token.name] = used


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

    def check(self, client: str, count: int = 1, most: float | None = None) -> None:
        """Count requests or lines of a client, or refuse them; `most` is a limit of its own."""
        most = self._most if most is None else most
        if not most:
            return
        now = time.monotonic()
        used, then = self._used.pop(client, (0.0, now))
        used = max(0.0, used - (now - then) * most)
        if used > 0 and used + count > 10 * most:
            self._used[client] = used, now
            seconds = (used + count - 10 * most) / most
            raise Refused(
                429,
                f"A client may send {most:g} requests or lines per second here; got more. Try again in {seconds:.0f} "
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
