"""The files in `deploy`: they can be parsed, follow the usual advice, and their commands and addresses exist."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from rosenblatt._version import __version__
from rosenblatt.cli import app
from tests.cli.helpers import call
from tests.serve.processes import Server
from tests.serve.test_faults import wait_until

DEPLOY = Path(__file__).parents[2] / "deploy"
MANIFESTS = [
    (path.name, document)
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    for document in yaml.safe_load_all(path.read_text())
]
UNITS = sorted((DEPLOY / "systemd").glob("*.service")) + sorted((DEPLOY / "systemd").glob("*.timer"))


def check_command(arguments, monkeypatch, variables=()):
    """Whether a command has these options."""
    for name, value in dict(variables).items():
        monkeypatch.setenv(name, value)
    if arguments[0] == "serve":
        return call(*arguments, "--show-settings").stdout
    command, rest = app, list(arguments)
    while hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    command.make_context("it", rest)  # parses
    return ""


# ---- the image ----


def instructions():
    text = (DEPLOY / "Dockerfile").read_text()
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def test_the_dockerfile_follows_the_advice(monkeypatch):
    lines = instructions()
    last = max(n for n, (word, _) in enumerate(lines) if word == "FROM")
    final = dict(lines[last:])
    assert all(
        re.search(r":\d+\.\d+[\w.-]*( AS \w+)?$", rest) for word, rest in lines if word == "FROM"
    )  # a tag, not latest
    assert {word for word, _ in lines} <= {
        "FROM", "LABEL", "RUN", "USER", "WORKDIR", "VOLUME", "ENV", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT", "CMD", "COPY",
    }  # fmt: skip
    user, group = map(int, final["USER"].split(":"))
    assert min(user, group) > 0
    words = [word for word, _ in lines]
    assert words.index("USER") < words.index("ENTRYPOINT")
    for word in ("ENTRYPOINT", "CMD"):
        assert isinstance(json.loads(final[word]), list)  # signals reach the service and no shell
    assert all("--no-cache-dir" in rest for word, rest in lines if word == "RUN" and "pip" in rest)
    assert not re.search(r"(?i)password|secret|token", (DEPLOY / "Dockerfile").read_text())
    variables = dict(shlex.split(final["ENV"])[n].split("=", 1) for n in range(len(shlex.split(final["ENV"]))))
    shown = check_command(json.loads(final["CMD"]), monkeypatch, variables)
    assert 'host = "0.0.0.0"  # environment' in shown
    assert f'store = "{variables["ROSENBLATT_STORE"]}"  # environment' in shown
    assert int(final["EXPOSE"]) == 8520
    assert (DEPLOY.parent / ".dockerignore").read_text().count("\n") > 3
    extras = re.findall(r"\[([a-z,]+)\]", " ".join(rest for word, rest in lines if word == "RUN"))
    known = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert all(extra in known for extra in extras[0].split(","))


def test_the_health_check_of_the_image_works(tmp_path):
    command = json.loads(re.search(r"CMD (\[.*\])", dict(instructions())["HEALTHCHECK"])[1])

    def run(port):
        here = [part.replace("8520", str(port)) for part in command]
        return subprocess.run([sys.executable, *here[1:]], capture_output=True, check=False, timeout=60).returncode

    with Server(f"sqlite:///{tmp_path}/log.db") as server:
        assert run(server.port) == 0
        with Server(server.store, wait="standby") as standby:
            wait_until(lambda: standby.get("/readyz/reads")[0] == 200)
            assert run(standby.port) == 0
    assert run(server.port) != 0


# ---- compose ----


def test_the_compose_file(monkeypatch):
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert set(compose) == {"name", "x-service", "services", "volumes"}
    allowed = {
        "image", "build", "command", "env_file", "restart", "depends_on", "read_only", "tmpfs", "cap_drop", "security_opt",
        "stop_grace_period", "mem_limit", "volumes", "healthcheck", "ports",
    }  # fmt: skip
    for service in compose["services"].values():
        assert set(service) <= allowed
        assert service["restart"] == "unless-stopped"
        assert all(
            port.startswith("127.0.0.1:") for port in service.get("ports", [])
        )  # TLS is for a proxy, or --tls-cert
    assert (DEPLOY / compose["services"]["first"]["build"]["dockerfile"].removeprefix("deploy/")).exists()
    for name in ("first", "second"):
        assert compose["services"][name]["depends_on"]["database"]["condition"] == "service_healthy"
    secrets = dict(
        line.split("=", 1)
        for line in (DEPLOY / "secrets.env.example").read_text().splitlines()
        if not line.startswith("#")
    )
    assert f":{secrets['POSTGRES_PASSWORD']}@database/{secrets['POSTGRES_DB']}" in secrets["ROSENBLATT_STORE"]
    shown = check_command(compose["services"]["first"]["command"], monkeypatch, secrets)
    assert 'store = "postgresql://learner:***@database/rosenblatt"  # environment' in shown
    assert 'keep-events = "90d"  # option' in shown


# ---- Kubernetes ----


@pytest.mark.parametrize(
    ("file", "document"), MANIFESTS, ids=[f"{f}-{d['kind']}-{d['metadata']['name']}" for f, d in MANIFESTS]
)
def test_manifests_fit_the_schema_of_kubernetes(file, document):
    kubernetes_validate.validate(document, "1.30", strict=True)
    wrong = {**document, "spec": {**document["spec"], "replicaz": 1}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, "1.30", strict=True)


def pods():
    for _, document in MANIFESTS:
        template = document["spec"].get("template")
        if template is not None:
            yield document, template["spec"]


def test_pods_are_restricted_and_run_commands_that_exist(monkeypatch):
    for document, pod in pods():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            context = container["securityContext"]
            assert (context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"]) == (False, True)
            assert context["capabilities"]["drop"] == ["ALL"]
            assert container["image"] == f"rosenblatt:{__version__}"
            assert "memory" in container["resources"]["limits"]
            names = [variable["name"] for variable in container["env"]]
            assert names == ["ROSENBLATT_STORE"]
            assert all("secretKeyRef" in variable["valueFrom"] for variable in container["env"])
            check_command(container["args"], monkeypatch)
        assert document["metadata"]["labels"]["app.kubernetes.io/name"].startswith("rosenblatt")


def test_probes_are_answered_by_the_service(tmp_path):
    ((_, pod),) = [(document, pod) for document, pod in pods() if document["kind"] == "StatefulSet"]
    (container,) = pod["containers"]
    with Server(f"sqlite:///{tmp_path}/log.db") as server:
        for name in ("startupProbe", "livenessProbe", "readinessProbe"):
            probe = container[name]["httpGet"]
            assert server.get(probe["path"])[0] == 200
            assert probe["port"] == container["ports"][0]["name"]
        with Server(server.store, wait="standby") as standby:
            assert standby.get(container["livenessProbe"]["httpGet"]["path"])[0] == 200
            assert standby.get("/readyz")[0] == 503  # this is why the probe is another one


def test_services_find_the_pods():
    (labels,) = [d["spec"]["template"]["metadata"]["labels"] for _, d in MANIFESTS if d["kind"] == "StatefulSet"]
    services = [d for _, d in MANIFESTS if d["kind"] == "Service"]
    assert {d["metadata"]["name"] for d in services} == {"rosenblatt", "rosenblatt-reads"}
    for service in services:
        assert service["spec"]["selector"].items() <= labels.items()
    (budget,) = [d for _, d in MANIFESTS if d["kind"] == "PodDisruptionBudget"]
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert all(
        d["spec"]["template"].get("metadata", {}).get("labels") != labels for _, d in MANIFESTS if d["kind"] == "Job"
    )


# ---- systemd ----


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_systemd_units(unit, tmp_path, monkeypatch):
    text = unit.read_text()
    for line in re.findall(r"^ExecStart=(/opt/rosenblatt/bin/rosenblatt .*)$", text, re.MULTILINE):
        arguments = shlex.split(line)[1:]
        settings = str(DEPLOY / "systemd/serve.toml")
        shown = check_command([settings if "serve.toml" in one else one for one in arguments], monkeypatch)
        assert 'keep-events = "90d"  # file' in shown
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    program = tmp_path / "rosenblatt"  # it must exist
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for path in UNITS:
        (tmp_path / path.name).write_text(
            path.read_text()
            .replace("/opt/rosenblatt/bin/rosenblatt", str(program))
            .replace("User=rosenblatt", "User=root")
        )
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(tmp_path / unit.name)], capture_output=True, text=True, check=False,
        timeout=60, env={**os.environ, "SYSTEMD_LOG_LEVEL": "warning"},
    )  # fmt: skip
    assert [line for line in done.stderr.splitlines() if "rosenblatt" in line] == []
    wrong = tmp_path / "wrong-rosenblatt.service"
    wrong.write_text((tmp_path / "rosenblatt.service").read_text().replace("Restart=", "Restrt="))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(wrong)], capture_output=True, text=True, check=False, timeout=60
    )
    assert "Restrt" in done.stderr


def test_the_backup_of_the_timer_works(tmp_path):
    unit = (DEPLOY / "systemd/rosenblatt-backup.service").read_text()
    with Server(f"sqlite:///{tmp_path}/log.db") as server:
        server.post("/v1/models/m")
        for name in ("ExecStart", "ExecStartPost"):
            line = re.search(rf"^{name}=/bin/sh -c '(.*)'$", unit, re.MULTILINE)[1].replace("%%", "%")
            line = line.replace("/opt/rosenblatt/bin/rosenblatt", f"{sys.executable} -m rosenblatt.cli")
            (tmp_path / "backups").mkdir(exist_ok=True)
            source = Path(__file__).parents[2] / "src"
            subprocess.run(
                ["/bin/sh", "-c", line], check=True, timeout=120,
                env={**os.environ, "STATE_DIRECTORY": str(tmp_path / "backups"), "ROSENBLATT_STORE": server.store,
                     "PYTHONPATH": str(source)},
            )  # fmt: skip
    (made,) = (tmp_path / "backups").iterdir()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d{6}\.backup", made.name)
    call("store", "check", "--store", made)


def test_the_settings_of_the_unit_are_allowed():
    shown = call("serve", "--settings", DEPLOY / "systemd/serve.toml", "--show-settings").stdout
    for name in tomllib.loads((DEPLOY / "systemd/serve.toml").read_text()):
        assert re.search(rf"^{name} = .*  # file$", shown, re.MULTILINE)
