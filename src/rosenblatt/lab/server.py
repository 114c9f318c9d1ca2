"""Server of the page, for this computer only: static files, and the requests of the page as JSON.

It listens on the loopback address only and answers only its own page: requests with another Host (DNS rebinding) or another
Origin (another page in the same browser) are refused.
"""

import json
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from .bundle import STATIC
from .requests import LARGEST_REQUEST, RequestError, answer

HOST = "127.0.0.1"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Server(ThreadingHTTPServer):
    """Server of the lab on the loopback address; port 0 chooses a free one."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__((HOST, port), Handler)
        self.files = {f"/{path.relative_to(STATIC)}": path for path in STATIC.rglob("*.*") if path.suffix in TYPES}
        self.files["/"] = STATIC / "index.html"
        self.busy = threading.BoundedSemaphore(2)

    @property
    def port(self) -> int:
        """Port of the server."""
        return int(self.server_address[1])

    @property
    def address(self) -> str:
        """Address of the page."""
        return f"http://{HOST}:{self.port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connections that the browser closed early."""


class Handler(BaseHTTPRequestHandler):
    """Handler of a connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "rosenblatt"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        """Send a static file."""
        if not self._from_here():
            return
        path = self.server.files.get(urlsplit(self.path).path)
        if path is None:
            self._refuse(HTTPStatus.NOT_FOUND, "There is no such file.")
            return
        self._send(HTTPStatus.OK, path.read_bytes(), TYPES[path.suffix])

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        """Answer a request of the page."""
        if not self._from_here():
            return
        path = urlsplit(self.path).path
        if not path.startswith("/api/"):
            self._refuse(HTTPStatus.NOT_FOUND, "There is no such request.")
            return
        # Another page can send JSON only after a CORS preflight request, which is refused.
        if self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "A request must be JSON, with the type application/json.")
            return
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or "Transfer-Encoding" in self.headers:
            self._refuse(HTTPStatus.LENGTH_REQUIRED, "A request must have a Content-Length.")
            return
        if int(length) > LARGEST_REQUEST:
            self._refuse(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"A request may have at most {LARGEST_REQUEST:,} bytes; got {int(length):,}. Use fewer points.",
            )
            return
        self._answer(path.removeprefix("/api/"), self.rfile.read(int(length)))

    def _answer(self, name: str, text: bytes) -> None:
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            self._refuse(HTTPStatus.BAD_REQUEST, "A request must be JSON; got something else. Reload the page.")
            return
        try:
            with self.server.busy:
                said = answer(name, body)
        except RequestError as error:
            self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
            return
        from .runs import as_json

        self._send(HTTPStatus.OK, as_json(said), "application/json")

    def _from_here(self) -> bool:
        """Whether the request comes from the page of this server or from the address bar."""
        own = {f"{host}:{self.server.port}" for host in (HOST, "localhost")}
        if self.headers.get("Host") not in own:
            self._refuse(HTTPStatus.FORBIDDEN, "The lab can only be used at its own address.")
            return False
        origin = self.headers.get("Origin")
        site = self.headers.get("Sec-Fetch-Site", "none")
        # A link on another page may open the page itself, as with a shared address.
        opening = self.command == "GET" and self.headers.get("Sec-Fetch-Mode") == "navigate"
        if (origin is not None and origin not in {f"http://{host}" for host in own}) or (
            site not in ("none", "same-origin") and not opening
        ):
            self._refuse(HTTPStatus.FORBIDDEN, "The lab answers only requests of its own page.")
            return False
        return True

    def _refuse(self, status: HTTPStatus, message: str) -> None:
        # The body has not been read, so the connection cannot be used again.
        self.close_connection = True
        self._send(status, json.dumps({"error": message}).encode(), "application/json")

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Do not log requests."""


def serve(port: int = 8765, browser: bool = True) -> None:
    """Serve the lab until interrupted.

    Parameters
    ----------
    port : int, default=8765
        Port on the loopback address; 0 chooses a free one.
    browser : bool, default=True
        Whether to open the page.
    """
    server = Server(port)
    print(f"The lab is at {server.address} (stop it with Ctrl-C)", flush=True)
    threading.Thread(target=_warm, daemon=True).start()
    if browser:
        import webbrowser

        threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
    finally:
        server.server_close()


def _warm() -> None:
    """Load the library and compiled code while the browser loads the page."""
    answer("catalogue", {})
    answer("run", {"X": [[0, 1], [1, 0]], "y": [-1, 1], "algorithm": "perceptron", "parameters": {"max_iter": 1}})
