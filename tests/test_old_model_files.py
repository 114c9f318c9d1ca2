"""Model files of an earlier version load, predict and learn with the same results; `tests/dask` resumes one on a cluster."""

import json

import pytest

from tests.old_model_cases import CASES, FOLDER, TABLES, results, resumed, table_results


@pytest.fixture
def stored():
    return json.loads((FOLDER / "results.json").read_text(encoding="utf-8"))


def test_every_file_is_tested(stored):
    assert {path.stem for path in FOLDER.glob("*.model")} == {*CASES, *TABLES} == set(stored)


@pytest.mark.parametrize("name", CASES)
def test_old_models_predict_and_learn(name, stored):
    now = results(CASES[name], FOLDER / f"{name}.model")
    if name == "winnow":  # its weights are exponentials, whose last bits depend on the C library
        for moment, values in now.items():
            assert values.pop("scores") == pytest.approx(stored[name][moment].pop("scores"), rel=1e-12)
    assert now == stored[name]


@pytest.mark.parametrize("name", TABLES)
def test_old_models_with_an_encoder_predict_and_learn(name, stored):
    now = table_results(FOLDER / f"{name}.model")
    assert now == {moment: stored[name][moment] for moment in now}


@pytest.mark.parametrize("name", ["table", "interrupted"])
def test_old_runs_can_be_resumed(name, stored, tmp_path):
    assert resumed(FOLDER / f"{name}.model", tmp_path / "copy.model") == stored[name]["resumed"]
