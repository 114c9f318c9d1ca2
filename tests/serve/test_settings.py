"""Settings of `rosenblatt serve` by option, environment and file; HTTPS."""

import json
import shutil
import ssl
import subprocess
import urllib.request

import pytest

from tests.cli.helpers import call
from tests.serve.processes import Server
from tests.serve.test_faults import wait_until


def settings(*options):
    """The settings in effect, with their sources."""
    shown = call("serve", *options, "--show-settings").stdout
    lines = dict(line.split(" = ", 1) for line in shown.splitlines())
    return {name: tuple(text.rsplit("  # ", 1)) for name, text in lines.items()}


def test_options_come_before_the_environment_and_this_before_the_file(tmp_path, monkeypatch):
    file = tmp_path / "serve.toml"
    file.write_text(
        'port = 1\nmax-body = 2000\nmax_models = 3\nlog-requests = true\nstore = "postgresql://a:hidden@b/c"\n'
    )
    monkeypatch.setenv("ROSENBLATT_SETTINGS", str(file))
    monkeypatch.setenv("ROSENBLATT_MAX_BODY", "3000")
    monkeypatch.setenv("ROSENBLATT_PORT", "4000")
    found = settings("--port", "5000")
    assert found["port"] == ("5000", "option")
    assert found["max-body"] == ("3000", "environment")
    assert found["max-models"] == ("3", "file")
    assert found["log-requests"] == ("true", "file")
    assert found["host"] == ('"127.0.0.1"', "default")
    assert found["store"] == ('"postgresql://a:***@b/c"', "file")
    monkeypatch.setenv("ROSENBLATT_STORE", "postgresql://a:secret@b/c")
    assert settings()["store"] == ('"postgresql://a:***@b/c"', "environment")
    other = tmp_path / "other.toml"
    other.write_text(call("serve", "--show-settings", "--port", "77").stdout)  # what is shown is a file of settings
    assert settings("--settings", other)["max-models"] == ("3", "file")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("port = ", "must be a TOML file"),
        ("ports = 1", "got 'ports'. Check the spelling"),
        ("port = [1]", "port must be one value; got list"),
        ("[port]\na = 1", "port must be one value; got dict"),
        ('port = "many"', "'many' is not a valid integer"),
        ("max-body = 1", "1 is not in the range"),
        ('keep-events = "soon"', "--keep-events takes all, snapshot"),
        ('tls-cert = "a.pem"', "--tls-cert and --tls-key belong together; got only --tls-cert"),
        ('tls-cert = "a.pem"\ntls-key = "b.pem"', "a.pem"),
    ],
)
def test_a_wrong_file_of_settings_is_refused(tmp_path, text, message):
    (tmp_path / "serve.toml").write_text(text)
    assert message in call("serve", "--settings", tmp_path / "serve.toml", "--store", tmp_path / "s", code=2).stderr
    assert "No such file" in call("serve", "--settings", tmp_path / "none.toml", code=2).stderr


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Two self-signed certificates for localhost, and a key that fits none."""
    folder = tmp_path_factory.mktemp("tls")
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    for name in ("first", "second"):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
             "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"],
            check=True, capture_output=True,
        )  # fmt: skip
    return folder


def ask(port, authority):
    """The answer of /livez over HTTPS, and the certificate that was shown."""
    trust = ssl.create_default_context(cafile=str(authority))
    with urllib.request.urlopen(f"https://localhost:{port}/livez", context=trust, timeout=30) as answer:
        return json.loads(answer.read())["status"]


def test_https_and_a_renewed_certificate(certificates, tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    shutil.copy(certificates / "first.pem", cert)
    shutil.copy(certificates / "first.key", key)
    store = f"sqlite:///{tmp_path}/log.db"
    with Server(store, "--tls-cert", cert, "--tls-key", key, wait=None) as server:
        wait_until(lambda: server.port)
        assert ask(server.port, certificates / "first.pem") == "alive"
        with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
            ask(server.port, certificates / "second.pem")
        with pytest.raises(OSError, match=r"."):
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/livez", timeout=30)
        cert.write_text("broken")
        wait_until(lambda: any("the one before is kept" in line for line in server.lines))
        assert ask(server.port, certificates / "first.pem") == "alive"
        shutil.copy(certificates / "second.key", key)
        shutil.copy(certificates / "second.pem", cert)
        wait_until(lambda: any("the certificate was read again" in line for line in server.lines))
        assert ask(server.port, certificates / "second.pem") == "alive"
        assert server.stop() == 0


def test_a_key_that_does_not_fit_is_refused_before_the_start(certificates, tmp_path):
    options = ["--tls-cert", certificates / "first.pem", "--tls-key", certificates / "second.key"]
    done = call("serve", "--store", tmp_path / "s.db", *options, code=2)
    assert "must be a certificate in PEM and its private key without a password" in done.stderr
    assert not (tmp_path / "s.db").exists()
