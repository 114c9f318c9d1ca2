"""A client that a generator makes from the OpenAPI document, used against the service."""

import importlib
import json
import pkgutil
import subprocess
import sys

import pytest

pytest.importorskip("openapi_python_client")

LINES = "application/x-ndjson"


@pytest.fixture(scope="module")
def generated(server, tmp_path_factory):
    """The package that openapi-python-client makes; a warning of it is an error."""
    folder = tmp_path_factory.mktemp("generated")
    document = server.get("/openapi.json")[1]
    for path in document["paths"].values():
        # openapi-python-client 0.29 forgets an import where a body has two types.
        path.get("post", {}).get("requestBody", {"content": {}})["content"].pop(LINES, None)
    (folder / "api.json").write_text(json.dumps(document))
    (folder / "settings.yaml").write_text("post_hooks: []\n")
    command = [
        sys.executable,
        "-m",
        "openapi_python_client",
        "generate",
        "--path",
        "api.json",
        "--config",
        "settings.yaml",
    ]
    command += ["--output-path", "generated_client", "--meta", "none", "--fail-on-warning"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    sys.modules.pop("generated_client", None)
    package = importlib.import_module("generated_client")
    for module in pkgutil.walk_packages(package.__path__, "generated_client."):
        importlib.import_module(module.name)
    yield package
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == "generated_client"]:
        del sys.modules[name]


def test_the_document_has_bodies_of_lines(server):
    paths = server.get("/openapi.json")[1]["paths"]
    for kind in ("predict", "reveal", "learn", "score"):
        post = paths[f"/v1/models/{{name}}/{kind}"]["post"]
        assert LINES in post["requestBody"]["content"]
        assert LINES in post["responses"]["200"]["content"]


def test_a_generated_client_predicts_reveals_learns_and_reads(generated, server, model):
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
