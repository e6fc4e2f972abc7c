"""The checks of every request: Host, Origin, the token where the page is open to a network, and the headers of answers.

The page only reads, so GET and HEAD are the only methods. A page of another origin, or a name that was pointed at this machine
(DNS rebinding), gets an error before anything else is looked at.
"""

import hmac
import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
COOKIE = "passus-page"
MAX_QUERY = 4096
"""Bytes of a query."""
# Bokeh sets styles of its elements from its script, which a policy calls inline. Scripts are from this server only.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


def is_loopback(host: str) -> bool:
    """Returns whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def allowed_hosts(host: str, port: int, names: Sequence[str] = ()) -> frozenset[str]:
    """Returns the values of Host that name this server; none where it listens on all addresses, and the token has to do."""
    shown = f"[{host}]" if ":" in host else host
    own = [] if host in ("0.0.0.0", "::") else [shown]
    if not own and not names:
        return frozenset()
    return frozenset(f"{name}:{port}".lower() for name in [*LOOPBACK, *own, *names])


@dataclass
class Guard:
    """Middleware around the whole page."""

    app: App
    hosts: frozenset[str]
    """Empty where any Host is taken, because a token is asked for."""
    token: str | None = None
    port: int = 0
    refused: list[str] = field(default_factory=list)
    """Reasons of the last refusals, for tests and for the log."""

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no websockets: the connection is closed
        answer = _Answer(send)
        headers = _headers(scope)
        reason = self._reason(scope, headers)
        if reason is not None:
            self.refused = [*self.refused[-9:], reason[1]]
            await answer.text(*reason)
        elif self.token is not None and not self._has_token(headers):
            await self._ask_for_token(scope, answer)
        else:
            await self.app(scope, receive, answer)

    def _reason(self, scope: Message, headers: dict[str, str]) -> tuple[int, str] | None:
        """Returns status and text of a refusal."""
        host = headers.get("host", "").lower()
        if self.hosts and host not in self.hosts:
            return 421, "This address is not one of this page. Open the address that passus serve has printed."
        origin = headers.get("origin")
        if origin is not None and origin.lower().partition("://")[2] != host:
            return 403, "Requests from pages of other origins are refused."
        is_link = headers.get("sec-fetch-mode") == "navigate" and scope["path"] == "/"
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not is_link:
            return 403, "Requests from pages of other sites are refused."
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "The page only reads: GET or HEAD."
        if len(scope["query_string"]) > MAX_QUERY:
            return 414, f"A query has at most {MAX_QUERY} bytes."
        return None

    def _has_token(self, headers: dict[str, str]) -> bool:
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        given = [bearer.strip()] if scheme.lower() == "bearer" else []
        try:
            cookie = SimpleCookie(headers.get("cookie", "")[:MAX_QUERY]).get(self.cookie_name)
        except CookieError:
            cookie = None
        return any(map(self._is_token, given)) or (cookie is not None and _equal(cookie.value, self.cookie_value))

    @property
    def cookie_name(self) -> str:
        """Cookies are shared by all ports of a host: two pages must not overwrite those of each other."""
        return f"{COOKIE}-{self.port}"

    @property
    def cookie_value(self) -> str:
        """A server at another port of this host gets the cookie too, and must not learn the token from it."""
        return hmac.new((self.token or "").encode(), self.cookie_name.encode(), "sha256").hexdigest()

    def _is_token(self, text: str) -> bool:
        return _equal(text, self.token or "")

    async def _ask_for_token(self, scope: Message, answer: "_Answer") -> None:
        """Turns the token of an address into a cookie, so that it is not in the address of later requests."""
        query = parse_qsl(scope["query_string"].decode("latin-1"))
        given = next((value for name, value in query if name == "token"), None)
        if given is None or not self._is_token(given):
            await answer.text(401, "This page asks for the token that passus serve has printed: ?token=...")
            return
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        cookie = f"{self.cookie_name}={self.cookie_value}; HttpOnly; SameSite=Strict; Path=/"
        to = "/" + (f"?{rest}" if rest else "")
        await answer.text(303, "", [(b"location", to.encode("latin-1")), (b"set-cookie", cookie.encode("latin-1"))])


class _Answer:
    """Sends an answer with the headers of the page."""

    def __init__(self, send: Send):
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            known = {name.lower() for name, _ in message.get("headers", [])}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in known]
            message = {**message, "headers": [*message.get("headers", []), *more]}
        await self._send(message)

    async def text(self, status: int, text: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        body = text.encode()
        about = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode()), *headers]
        await self({"type": "http.response.start", "status": status, "headers": about})
        await self({"type": "http.response.body", "body": body})


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())  # in constant time


def _headers(scope: Message) -> dict[str, str]:
    """Returns the headers by name. A Host that is sent twice is refused."""
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        headers[key] = "" if key == "host" and key in headers else value.decode("latin-1")
    return headers
