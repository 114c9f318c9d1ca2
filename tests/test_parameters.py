"""Declarations of parameters; `fit`, `--set`, the service and the docstrings all follow them."""

import inspect
import re

import numpy as np
import pytest

import rosenblatt as rb
from rosenblatt.cli.train import NO_SETTINGS
from rosenblatt.engine.conventions import ON_ZERO, SCHEMES, OnZero, Scheme
from rosenblatt.estimators.parameters import SWITCH, Parameter, declarations, defaults
from rosenblatt.lab.catalogue import learners as shown_in_the_lab
from rosenblatt.learners import find, names
from rosenblatt.serve.choice import new_estimator
from rosenblatt.serve.events import Limits
from rosenblatt.serve.examples import Refused
from rosenblatt.serve.openapi import document
from tests.cli.helpers import call, numbers

X, Y = [[0.0], [1.0]], ["no", "yes"]
ALL = [(algorithm, name) for algorithm in names() for name in declarations(find(algorithm))]
EACH = pytest.mark.parametrize("algorithm", names())
OWN_WORDS = ("max_iter", "class_weight", *NO_SETTINGS)
"""Parameters that the command line refuses with its own messages: it has options for them, or cannot take a dict."""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return numbers(tmp_path_factory.mktemp("parameters") / "data.csv", count=40)


def wrong_values(parameter):
    """A word, and a number beyond each limit."""
    yield "no such value"
    if parameter.number is not None:
        yield from (limit for limit in (parameter.above, parameter.below) if limit is not None and abs(limit) < np.inf)
        yield from (limit - 1 for limit in [parameter.least] if limit is not None)
        yield from (limit + 0.5 for limit in [parameter.most] if limit is not None)
        yield 2.5 if parameter.number == "int" else np.nan
    if parameter.odd:
        yield parameter.least + 1
    if parameter.nonzero:
        yield 0
    if not parameter.none:
        yield None


@pytest.mark.parametrize(("algorithm", "name"), ALL)
def test_a_wrong_value_gives_the_same_message_everywhere(algorithm, name, data, tmp_path):
    learner = find(algorithm)
    for number, value in enumerate(wrong_values(declarations(learner)[name])):
        with pytest.raises(ValueError, match=rf"^`{name}` of {learner.__name__} must .+; got .+\. \S.+\.$") as refused:
            learner(**{name: value}).fit(X, Y)
        message = str(refused.value)
        assert f"; got {value!r}. " in message
        if number < 2 and name not in OWN_WORDS:
            model = tmp_path / "a.model"
            said = call("train", data, "-m", model, "-a", algorithm, "--set", f"{name}={value}", code=2).stderr
            assert message in said
            assert not model.exists()
        if getattr(learner, "__name__", "") in ("PocketPerceptron", "BatchPerceptron"):
            continue  # not for streams
        with pytest.raises(Refused) as refused:
            new_estimator(algorithm, {name: value})
        if name == "positive":  # a service does not know its classes in advance
            message = message.partition(" must ")[0] + " must be None on a stream"
        assert refused.value.status == 422
        assert refused.value.message.startswith(message)


@EACH
def test_every_parameter_is_declared_and_described(algorithm):
    learner = find(algorithm)
    signature = {name: parameter.default for name, parameter in inspect.signature(learner).parameters.items()}
    assert signature == defaults(learner)
    described = re.findall(r"^(\w+) : .*, default=(.*)\n((?:    .*\n?)+)", learner.__doc__, re.MULTILINE)
    found = {name: (default, " ".join(text.split())) for name, default, text in described}
    assert found.keys() == signature.keys()
    for name, parameter in declarations(learner).items():
        default = signature[name]
        assert parameter.allows(default)
        assert found[name] == (f'"{default}"' if isinstance(default, str) else repr(default), parameter.about)
        assert parameter.about.endswith("."), "sentences"


def another(name, parameter, default):
    """A value other than the default that `train` accepts."""
    if name in ("readout", "kernel", "on_zero"):  # the last choice does not work from zero weights or with a budget
        return parameter.choices[1]
    if parameter.choices and not parameter.number:
        return next(word for word in reversed(parameter.choices) if word != default)
    if name == "positive":
        return "no"
    if parameter.number == "int":
        return (default or 1000) + 2
    return (default or 1.0) / 2


@EACH
def test_train_sets_every_parameter(algorithm, data, tmp_path):
    learner, model = find(algorithm), tmp_path / "a.model"
    chosen = {
        name: another(name, parameter, defaults(learner)[name])
        for name, parameter in declarations(learner).items()
        if name not in (*NO_SETTINGS, "penalty")  # which has no other value
    }
    assert not any(value == defaults(learner)[name] for name, value in chosen.items())
    settings = [text for name, value in chosen.items() for text in ("--set", f"{name}={value}")]
    call("train", data, "-m", model, "-q", "-a", algorithm, *settings)
    kept = rb.load(model).get_params()
    assert {name for name in chosen if kept[name] != chosen[name]} <= {"max_iter", "tol"}, "set by the command"


@EACH
def test_the_command_line_describes_the_parameters(algorithm, data, tmp_path):
    shown = call("train", data, "-m", tmp_path / "a.model", "-a", algorithm, "--set", "help").stdout
    assert [line.split(" : ")[0] for line in shown.splitlines() if line[0] != " "] == re.findall(
        r"^(\w+) : .*default=", find(algorithm).__doc__, re.MULTILINE
    )


def test_the_service_describes_its_parameters():
    schemas = document(Limits(), False)["components"]["schemas"]
    choices = [choice["$ref"].rpartition("/")[2] for choice in schemas["Settings"]["anyOf"]]
    assert choices[0] == "DefaultSettings"
    for choice in choices[1:]:
        algorithm = schemas[choice]["properties"]["algorithm"]["const"]
        parameters = schemas[choice]["properties"]["parameters"]["$ref"].rpartition("/")[2]
        properties = schemas[parameters]["properties"]
        declared = declarations(find(algorithm, sequences=True))
        assert properties.keys() <= declared.keys()
        assert algorithm == "sequence-perceptron" or {"multiclass", "on_zero"} <= properties.keys()
        for name, schema in properties.items():
            values = schema.get("enum", SWITCH if schema.get("type") == "boolean" else [])
            for value in values or (schema["minimum"], schema["maximum"]):
                new_estimator(algorithm, {name: value})
            assert not any(declared[name].fit_only for name in properties)


def test_the_lab_shows_the_choices():
    shown = {
        (one["title"].replace(" ", ""), parameter["name"]): parameter
        for one in shown_in_the_lab()
        for parameter in one["parameters"]
    }
    assert shown["ALMA", "B"]["kind"] == "number"
    assert shown["ALMA", "B"]["optional"]
    assert shown["PassiveAggressive", "variant"]["choices"] == ["PA", "PA-I", "PA-II"]
    assert shown["KernelPerceptron", "kernel"]["choices"] == ["poly", "rbf", "linear", "sigmoid"]
    assert shown["Perceptron", "eta0"]["help"].endswith("Larger values take larger steps. A number greater than 0.")
    for learner, name in shown:
        assert name in declarations(getattr(rb, learner))


@pytest.mark.parametrize(
    ("allowed", "good", "wrong", "must"),
    [
        ({"number": "float", "above": 0}, [1e-300, 1, np.float32(2)], [0, np.inf, True], "be a number greater than 0"),
        ({"number": "float", "above": 0, "most": 1}, [1.0], [1.1], "be a number greater than 0 and at most 1"),
        ({"number": "float", "above": 0, "below": 1}, [0.5], [0, 1], "be between 0 and 1"),
        ({"number": "float", "least": 0, "below": None}, [0, np.inf], [-1, np.nan], "be a number of at least 0"),
        ({"number": "float", "above": 0, "none": True}, [None, 1], [-1], "be None or a number greater than 0"),
        ({"number": "int", "least": 1}, [1, np.int8(3)], [0, True, 2.0, None], "be a whole number of at least 1"),
        ({"number": "int", "least": 0}, [0, True], [-1, "1"], "be a whole number of at least 0"),
        ({"number": "int", "least": 3, "odd": True}, [3, 5], [1, 4], "be an odd number of at least 3"),
        ({"choices": SWITCH}, [True, np.False_, 1, 0], ["yes", 2, None, np.ones(2)], "be True or False"),
        ({"choices": ("a", "b")}, ["a"], ["c", None, ["a"]], "be one of 'a', 'b'"),
        ({"choices": (True, False, "x")}, [True, "x"], ["y"], "be one of True, False, 'x'"),
        ({"choices": ("x",), "other": ("dict", lambda value: isinstance(value, dict)), "none": True}, [{}, "x", None], [3, "y"],
         "be None, 'x' or a dict"),
        ({"choices": ("x",), "number": "float", "above": 0}, [1.0, "x"], [-1, "y"], "be 'x' or a number greater than 0"),
    ],
)  # fmt: skip
def test_allowed_and_refused_values(allowed, good, wrong, must):
    parameter = Parameter(about="What it does. What to do.", **allowed)
    for value in good:
        assert parameter.allows(value), value
    for value in wrong:
        assert not parameter.allows(value), value
        assert parameter.message("p", "Learner", value).startswith(f"`p` of Learner must {must}; got {value!r}. ")


def test_a_subclass_that_changes_a_default_keeps_the_declaration():
    @rb.rule
    def Mine(margin, rate=0.5):  # noqa: N802 - the name of a class
        return rate if margin <= 0 else 0.0

    class Short(rb.Perceptron):
        """Few epochs.

        {parameters}
        """

        max_iter: int = 3

    assert "max_iter : int of at least 1, default=3\n" in Short.__doc__
    assert "rate : float, default=0.5\n" in Mine.__doc__
    for learner in (Mine, Short):
        with pytest.raises(ValueError, match=r"`max_iter` of .* must be a whole number of at least 1; got 0"):
            learner().set_params(max_iter=0).fit(X, Y)


def test_the_kernel_perceptron_shares_declarations_with_linear_learners():
    for words, members in ((SCHEMES, Scheme), (ON_ZERO, OnZero)):
        assert words == {number.name.lower(): int(number) for number in members}
