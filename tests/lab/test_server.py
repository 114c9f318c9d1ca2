"""The server: on loopback only, for its own page only, and with limited sizes of requests."""

import http.client
import json
import socket
import threading

import pytest
from click.testing import CliRunner

from rosenblatt import trace
from rosenblatt.cli import app
from rosenblatt.lab.requests import LARGEST_REQUEST
from rosenblatt.lab.server import STATIC, Server

X, Y = [[1, 1], [3, 2], [2, 3]], [-1, 1, -1]


@pytest.fixture(scope="module")
def server():
    with Server(0) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def ask(server, method="POST", path="/api/run", body=None, **headers):
    """One request, with exactly these headers."""
    content = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    sent = {"Host": f"127.0.0.1:{server.port}", "Content-Type": "application/json", "Content-Length": str(len(content))}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    line.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in sent.items():
        if value is not None:
            line.putheader(name, value)
    line.endheaders(content)
    answer = line.getresponse()
    said = answer.read()
    line.close()
    return answer, said


def test_a_run_over_http_equals_the_trace(server):
    answer, said = ask(server, body={"X": X, "y": Y, "algorithm": "perceptron", "parameters": {"max_iter": 5}})
    run, told = trace(X, Y, max_iter=5), json.loads(said)
    assert answer.status == 200
    assert told["weights"] == run.weights.tolist()
    assert told["steps"]["scores"] == [step.scores.tolist() for step in run]


def test_the_files_of_the_page_are_served(server):
    for name in ("", *(str(path.relative_to(STATIC)) for path in STATIC.rglob("*.*"))):
        answer, said = ask(server, "GET", f"/{name}")
        assert answer.status == 200
        assert said == (STATIC / (name or "index.html")).read_bytes()
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert ask(server, "HEAD", "/")[1] == b""


@pytest.mark.parametrize(
    "path", ["/../server.py", "/%2e%2e/server.py", "/static/lab.js", "//etc/passwd", "/lab.js/", "/nothing"]
)
def test_nothing_else_is_served(server, path):
    assert ask(server, "GET", path)[0].status == 404


def test_the_server_listens_on_loopback_only(server):
    assert server.server_address[0] == "127.0.0.1"
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for address in {*others, "127.0.0.2"}:
        with pytest.raises(OSError, match=r"refused|unreachable"):
            socket.create_connection((address, server.port), timeout=2).close()


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", None])
def test_other_names_for_this_computer_are_refused(server, method, host):
    host = host and host.format(port=server.port)
    answer, said = ask(server, method, "/" if method == "GET" else "/api/catalogue", {}, Host=host)
    assert answer.status == 403
    assert b"learners" not in said


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1:1", "null", "http://evil.example:{port}"])
def test_other_origins_are_refused(server, origin):
    answer, _ = ask(server, path="/api/catalogue", body={}, Origin=origin.format(port=server.port))
    assert answer.status == 403
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_cross_site_requests_are_refused(server):
    assert ask(server, path="/api/catalogue", body={}, Sec_Fetch_Site="cross-site")[0].status == 403
    assert ask(server, "GET", "/lab.js", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors")[0].status == 403
    assert ask(server, "GET", "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0].status == 200


def test_its_own_page_is_answered(server):
    for host in ("127.0.0.1", "localhost"):
        own = f"{host}:{server.port}"
        answer, _ = ask(
            server, path="/api/catalogue", body={}, Host=own, Origin=f"http://{own}", Sec_Fetch_Site="same-origin"
        )
        assert answer.status == 200


def test_a_form_of_another_page_cannot_send_json(server):
    assert ask(server, path="/api/catalogue", body={}, Content_Type="text/plain")[0].status == 415
    assert ask(server, "OPTIONS", "/api/catalogue")[0].status == 501


def test_large_requests_are_refused(server):
    """A request is refused by its declared length: the body is not read."""
    answer, said = ask(server, Content_Length=str(LARGEST_REQUEST + 1))
    assert answer.status == 413
    assert "4,000,000" in json.loads(said)["error"]
    for length in (None, "-1", "1e3", "²"):
        status = ask(server, Content_Length=length and length.encode().decode("latin-1"))[0].status
        assert status == 411
    assert ask(server, Content_Length=None, Transfer_Encoding="chunked")[0].status == 411


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b"nope"])
def test_bad_json_is_refused(server, body):
    assert ask(server, body=body)[0].status == 400


def test_a_bad_run_is_refused(server):
    answer, said = ask(server, body={"X": [], "y": []})
    assert answer.status == 422
    assert "at least one point" in json.loads(said)["error"]
    assert ask(server, path="/api/nothing", body={})[0].status == 422
    assert ask(server, path="/elsewhere", body={})[0].status == 404


def test_a_port_that_is_in_use_is_named(server):
    result = CliRunner().invoke(app, ["lab", "--no-browser", "--port", str(server.port)])
    assert result.exit_code == 1
    assert f"port {server.port} cannot be used" in result.output
