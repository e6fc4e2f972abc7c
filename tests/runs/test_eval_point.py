"""Eval points: rows come back with their keys, their order and whatever else they hold."""

import json
import math

import pytest

from passus.atomic_io import append_lines
from passus.errors import UsageError
from passus.metric_names import METRICS
from passus.runs.eval_point import FIELD_BY_KEY, EvalPoint, ReaderPoint, has_several_temperatures, panel_name
from passus.runs.run_folder import RunFolder

REQUIRED = '"step": 3, "benchmark": "b", "temperature": 0.7, "q": 2, "k": 2, "acc": 0.5, "ci_low": 0.1, "ci_high": 0.9'
READER = '"step": 3, "benchmark": "b", "temperature": 0.7, "reader": "r", "label": "R", "kind": "frozen", "family": "Qwen3", '
POLICY = (
    '"se": 0.1, "pass": {"1": 0.5, "2": 0.75}, "maj": {"2": 0.5}, "tokens_mean": 9.5, "tokens_p95": 12.0, "truncated": 0.0, '
    '"unparseable": 0.25, "error": 0.0'
)
SELECTED = '"rm": {"1": 0.5}, "rm_ci": {"1": [0.1, 0.9]}, "mean": 0.5, "efficiency": 0.4, "efficiency_ci": [0.1, 0.8]'
REWARD_MODEL = (
    '"mean": 0.4, "rm": {"8": 0.6}, "rm_ci": {"8": [0.5, 0.7]}, "efficiency": 0.4, "efficiency_ci": [0.1, 0.8], '
    '"over_maj": 0.1, "over_maj_ci": [0.0, 0.2], "mean_ci": [0.3, 0.5], "pass": {"8": 0.9}, "pass_ci": {"8": [0.8, 1.0]}, '
    '"maj": {"8": 0.5}, "maj_ci": {"8": [0.4, 0.6]}, "time/eval": 1.5'
)
ROWS = {
    "least": f"{{{REQUIRED}}}",
    "null accuracy": f"{{{REQUIRED}}}".replace('"acc": 0.5', '"acc": null'),
    "policy": f'{{{REQUIRED}, {POLICY}, "time/eval": 1.5}}',
    "judged and scored": f'{{{REQUIRED}, {POLICY}, "time/eval": 1.5, "judge": {{"timeout": 2}}, "unjudged": 3, "score": 0.1}}',
    "selected": f'{{{REQUIRED}, {POLICY}, "time/eval": 1.5, {SELECTED}}}',
    "reward model": f"{{{REQUIRED}, {REWARD_MODEL}}}",
    "equal candidates": f'{{{REQUIRED}, "mean": 1.0, "rm": {{"8": 1.0}}, "rm_ci": {{"8": [1.0, 1.0]}}, "efficiency": null}}',
    "with its extraction": f'{{{REQUIRED}, {POLICY}, "extract": "any", "time/eval": 1.5}}',
    "unknown keys": f'{{{REQUIRED}, "later": {{"x": 1}}}}',
}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_comes_back_byte_for_byte(name):
    assert json.dumps(EvalPoint.from_row(json.loads(ROWS[name])).to_row()) == ROWS[name]


def test_a_readers_row_comes_back_byte_for_byte():
    text = "{" + READER + REQUIRED.partition('"temperature": 0.7, ')[2] + ", " + POLICY + "}"
    point = ReaderPoint.from_row(json.loads(text))
    assert json.dumps(point.to_row()) == text and (point.reader, point.point.acc) == ("r", 0.5)


def test_a_row_that_does_not_say_which_answers_counted_is_read_as_boxed():
    old, new = (EvalPoint.from_row(json.loads(ROWS[name])) for name in ("policy", "with its extraction"))
    assert (old.extract, old.extraction, new.extraction) == (None, "boxed", "any")


def test_a_null_accuracy_is_not_a_number():
    point = EvalPoint.from_row(json.loads(ROWS["null accuracy"]))
    assert math.isnan(point.acc) and not point.is_reward_model
    assert EvalPoint.from_row(json.loads(ROWS["reward model"])).is_reward_model
    assert not EvalPoint.from_row(json.loads(ROWS["selected"])).is_reward_model


def test_every_key_is_a_defined_metric():
    described = {name.removeprefix("eval/<benchmark>/") for name in METRICS} | {"mean_ci", "pass_ci", "maj_ci", "over_maj_ci"}
    undefined = set(FIELD_BY_KEY) - described
    assert undefined == {"benchmark", "temperature", "ci_low", "ci_high", "judge", "unjudged", "extract"}


def test_a_row_without_a_required_key_is_named(tmp_path):
    append_lines(tmp_path / "evals.jsonl", [{"step": 3, "benchmark": "b"}])
    with pytest.raises(UsageError, match="has no 'temperature'"):
        RunFolder(tmp_path).evals()


def test_a_panel_names_the_temperature_only_where_there_are_several():
    cold = EvalPoint.from_row(json.loads(ROWS["least"]))
    warm = EvalPoint.from_row(json.loads(ROWS["least"]) | {"temperature": 1.0})
    assert not has_several_temperatures([cold, cold]) and has_several_temperatures([cold, warm])
    assert (cold.panel(several_temperatures=False), warm.panel(several_temperatures=True)) == ("b", "b, temperature 1")
    assert panel_name("b, read", 0.7) == "b, read, temperature 0.7"
