"""Clients that a generator makes from the OpenAPI document, used against the service."""

import importlib
import io
import json
import pkgutil
import subprocess
import sys

import pytest

pytest.importorskip("openapi_python_client")

LINES = "application/x-ndjson"
KINDS = ("predict", "reveal", "learn", "score")


def of_one_type(document, media):
    """The document with one type for the bodies that may have two, as openapi-python-client 0.29 needs it.

    With two types it forgets an import, and reads every answer as the first type.
    """
    document = json.loads(json.dumps(document))
    for kind in KINDS:
        post = document["paths"][f"/v1/models/{{name}}/{kind}"]["post"]
        for content in (post["requestBody"]["content"], post["responses"]["200"]["content"]):
            assert set(content) == {"application/json", LINES}
            for other in set(content) - {media}:
                del content[other]
    return document


@pytest.fixture(scope="module")
def generate(server, tmp_path_factory):
    """Make a package with openapi-python-client from the document with one type of bodies; a warning of it is an error."""
    document, folder, made = server.get("/openapi.json")[1], tmp_path_factory.mktemp("generated"), []

    def generate(name, media):
        (folder / f"{name}.json").write_text(json.dumps(of_one_type(document, media)))
        settings = {"post_hooks": [], "content_type_overrides": {LINES: "application/octet-stream"}}
        (folder / "settings.yaml").write_text(json.dumps(settings))
        command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", f"{name}.json"]
        command += ["--config", "settings.yaml", "--output-path", name, "--meta", "none", "--fail-on-warning"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        package = importlib.import_module(name)
        made.append(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            importlib.import_module(module.name)
        return package

    sys.path.insert(0, str(folder))
    yield generate
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] in made]:
        del sys.modules[name]


def test_a_generated_client_predicts_reveals_learns_and_reads(generate, server, model):
    generated = generate("generated_client", "application/json")
    api, models = generated.api.default, generated.models
    name = model.rpartition("/")[2]

    def features(**values):
        return models.FeaturesType0.from_dict(values)

    with generated.Client(base_url=server.address, raise_on_unexpected_status=True) as client:
        answer = api.predict.sync(
            name, client=client, body=models.Predict(features=features(x=1.0, words=["a"]), id="one")
        )
        assert answer.to_dict() == {"id": "one", "prediction": None, "repeated": False}
        answer = api.reveal.sync(name, client=client, body=models.Reveal(id="one", label="spam"))
        assert (answer.label, answer.mistake, answer.repeated) == ("spam", True, False)
        answer = api.learn.sync(name, client=client, body=models.Learn(features=features(y=1.0), label="ham"))
        assert answer.label == "ham"
        answer = api.score.sync(name, client=client, body=models.Score(features=features(y=1.0), top=2, reasons=1))
        assert answer.prediction == server.post(f"{model}/score", {"features": {"y": 1.0}})[1]["prediction"]
        assert api.model.sync(name, client=client).to_dict() == server.get(model)[1]
        insight = api.insight.sync(name, client=client).to_dict()
        assert insight["window"] == server.get(f"{model}/insight")[1]["window"]
        assert insight["recent"][0]["id"] == "one"
        assert set(insight) == set(server.get(f"{model}/insight")[1])
        refused = api.reveal.sync(name, client=client, body=models.Reveal(id="none", label="spam"))
        assert type(refused).__name__ == "Error"
        assert "none" in refused.error


def test_a_generated_client_sends_json_lines(generate, server, model):
    generated = generate("generated_client_of_lines", LINES)
    api, name = generated.api.default, model.rpartition("/")[2]

    def send(kind, *requests):
        body = generated.types.File(payload=io.BytesIO("\n".join(map(json.dumps, requests)).encode()))
        answer = getattr(api, kind).sync(name, client=client, body=body)
        return [json.loads(line) for line in answer.payload.read().splitlines()]

    with generated.Client(base_url=server.address, raise_on_unexpected_status=True) as client:
        learned = send("learn", *({"id": f"l{n}", "features": {"x": n}, "label": "ab"[n > 2]} for n in range(6)))
        assert [answer["id"] for answer in learned] == [f"l{n}" for n in range(6)]
        predicted = send("predict", {"id": "one", "features": {"x": 5}}, {"id": "two", "features": {"x": 5}})
        assert predicted[0] == {"id": "one", "prediction": predicted[1]["prediction"], "repeated": False}
        revealed = send("reveal", {"id": "one", "label": "a"}, {"id": "none", "label": "a"})
        assert (revealed[0]["label"], revealed[1]["status"], revealed[1]["line"]) == ("a", 404, 2)
        scored = send("score", {"features": {"x": 5}, "top": 2}, {"features": {"x": 0}})
        assert len(scored) == len(scored[0]["scores"]) == 2
        with generated.Client(base_url=server.address) as other:  # a body that cannot be read is refused as a whole
            body = generated.types.File(payload=io.BytesIO(b'{"features": {"x": 1}}\n{'))
            assert "line 2" in api.score.sync(name, client=other, body=body).error
    assert server.get(model)[1]["examples"] == 7
