"""What a type checker knows about the answers of the clients, and that the service sends exactly this."""

import re
import subprocess
import sys
import textwrap
from typing import get_type_hints

import pytest

import rosenblatt
from rosenblatt.serve import (
    Challenger,
    ClassScore,
    Event,
    EventLine,
    Learned,
    ModelInfo,
    Prediction,
    Reason,
    Refusal,
    Score,
)  # fmt: skip

PROGRAM = """
import rosenblatt
from rosenblatt.serve import ModelInfo

def work(client: rosenblatt.Client) -> None:
    guess = client.predict("m", {"x": 1})
    reveal_type(guess["prediction"])
    guess["guess"]
    reveal_type(client.reveal("m", guess["id"], "a")["mistake"])
    for answer in client.learn_many("m", [({"x": 1}, "a")]):
        answer["mistake"]
        if "error" in answer:
            reveal_type(answer["status"])
        else:
            reveal_type(answer["mistake"])
    reveal_type(client.score_many("m", []).refused[0]["error"])
    reveal_type(client.score("m", {}, top=1).get("scores", [])[0]["score"])
    info: ModelInfo = client.info("m")
    reveal_type(info["examples"])
    reveal_type(next(client.events("m")).get("lines", [])[0].get("label"))
    client.learn("m", {"x": 1})

async def same(client: rosenblatt.AsyncClient) -> None:
    reveal_type((await client.learn("m", {}, "a"))["repeated"])
    reveal_type((await client.predict_many("m", [])).refused[0]["line"])
    async for event in client.events("m"):
        reveal_type(event["kind"])
"""

SKIPPED = ("rosenblatt.trace.*", "httpx.*")  # nothing of the clients' types comes from there


@pytest.mark.slow
def test_a_type_checker_knows_the_answers(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(PROGRAM)
    sections = "".join(f"[mypy-{name}]\nfollow_imports = skip\n" for name in SKIPPED)
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nstrict = True\nfollow_imports = silent\n{sections}")
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", "cache", "program.py"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = [re.sub(r"^program.py:\d+: ", "", line) for line in found.stdout.splitlines()]
    label = "str | int | list[str | int | bool] | None"  # a bool is an int
    assert (
        lines
        == textwrap.dedent(
            f"""\
        note: Revealed type is "{label}"
        error: TypedDict "Prediction" has no key "guess"  [typeddict-item]
        note: Revealed type is "bool"
        error: TypedDict "Refusal" has no key "mistake"  [typeddict-item]
        note: Revealed type is "int"
        note: Revealed type is "bool"
        note: Revealed type is "str"
        note: Revealed type is "float"
        note: Revealed type is "int"
        note: Revealed type is "{label}"
        error: Missing positional argument "label" in call to "learn" of "Client"  [call-arg]
        note: Revealed type is "bool"
        note: Revealed type is "int"
        note: Revealed type is "str"
        """
        ).splitlines()
    ), found.stdout + found.stderr


def fits(answer, kind):
    """Whether a dict has the members of its type, and no others."""
    members = get_type_hints(kind)
    assert type(answer) is dict
    assert kind.__required_keys__ <= answer.keys() <= members.keys(), answer
    for name, value in answer.items():
        allowed = str(members[name])
        assert value is not None or "None" in allowed or "Any" in allowed, (name, value)
    return answer


def test_answers_have_the_members_of_their_types(server, model):
    name = model.rpartition("/")[2]
    with rosenblatt.Client(server.address) as client:
        fits(client.info(name), ModelInfo)
        assert fits(client.create(f"{name}.hashed", "perceptron", bits=18), ModelInfo)["bits"] == 18
        events = client.events(name, after=0)
        server.post(f"{model}/challenger", {"algorithm": "perceptron"})
        guess = fits(client.predict(name, {"x": 1, "words": ["a"]}, top=1, reasons=1), Prediction)
        assert {"scores", "reasons"} <= guess.keys()
        assert client.predict(name, {"x": 1, "words": ["a"]}, guess["id"])["repeated"]
        fits(client.reveal(name, guess["id"], "a"), Learned)
        fits(client.learn(name, {"x": 2}, "b"), Learned)
        accepted, refused = client.learn_many(name, [({"x": 2}, "b"), ({"x": 2}, None)])
        fits(accepted, Learned)
        fits(refused, Refusal)
        fits(client.reveal_many(name, [(guess["id"], "b")]).refused[0], Refusal)
        score = fits(client.score(name, {"x": 1}, top=2, reasons=2), Score)
        fits(score["scores"][0], ClassScore)
        fits(score["reasons"][0], Reason)
        (info,) = (info for info in client.models() if info["name"] == name)
        fits(fits(info, ModelInfo)["challenger"], Challenger)
        seen = [next(events) for _ in range(6)]
        events.close()
    known = get_type_hints(Event).keys() | get_type_hints(ModelInfo).keys() | {"challenger"}
    for event in seen:
        assert {"kind", "sequence"} <= event.keys() <= known, event
        for line in event.get("lines", ()):
            fits(line, EventLine)
    assert [event["kind"] for event in seen] == ["model", "create", "challenge", "predict", "reveal", "learn"]
