"""The plan: shared settings once, a table of differences, the reward as a formula, time and power; and it stays quick."""

import subprocess
import sys
from pathlib import Path

import pytest

from helpers.small_run import small_config
from passus.config.experiment import Arm, load_experiment
from passus.launch.arm_table import arm_table, differing_fields
from passus.launch.dry_run import describe_experiment
from passus.launch.reward_formula import reward_formula
from passus.launch.step_time import START_SECONDS, MeasuredTime, measure_arms, smaller_copy

LINES = {
    "families-seeds": "power: 3 seeds show a difference of",
    "methods": "power: one seed per arm shows no difference of configurations; two seeds would show one of",
    "reward-model": "power: unknown: reward-model trains no policy",
}


@pytest.mark.parametrize("name", LINES)
def test_the_last_line_is_about_power(name):
    last = describe_experiment(load_experiment(name), Path("runs")).splitlines()[-1]
    assert last.startswith(LINES[name]) and ("assumed" in last or "unknown" in last)


def test_numbers_that_no_run_can_reach():
    overrides = ["train.steps=1000000000000", "eval.every=1", f"eval.samples={10**60}"]
    assert "power: 3 seeds" in describe_experiment(load_experiment("families-seeds", overrides), Path("runs"))


def test_a_dry_run_does_not_import_what_is_slow():
    code = (
        "import sys; from pathlib import Path; from passus.config.experiment import load_experiment; "
        "from passus.launch.dry_run import describe_experiment; "
        "describe_experiment(load_experiment('families-seeds'), Path('x'));"
        "print({'scipy.stats', 'torch', 'matplotlib'} & {*sys.modules})"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"


def test_what_arms_share_is_printed_once():
    lines = describe_experiment(load_experiment("families-seeds"), Path("runs")).splitlines()
    labels = [line.split()[0] for line in lines if line.startswith("  ")]
    assert len(labels) == len(set(labels)) and "model" not in labels  # it differs, and is a column
    header = next(line for line in lines if line.startswith("arm "))
    assert header.split() == ["arm", "model.base", "seed"] and sum("nano/" in line for line in lines) == 15


def test_columns_are_the_fields_that_differ():
    """In live-frozen every arm sets three fields. In methods a name stands for all fields of its preset."""
    assert differing_fields(load_experiment("live-frozen").arms) == ["model.base", "model.tuning", "train.learning_rate"]
    assert differing_fields(load_experiment("methods").arms) == ["method.name"]
    table = arm_table(load_experiment("methods").arms[:2], {"time": {"grpo": "1 s", "dr-grpo": "2 s"}})
    assert [line.split() for line in table] == [
        ["arm", "method.name", "time"], ["grpo", "grpo", "1", "s"], ["dr-grpo", "dr_grpo", "2", "s"],
    ]  # fmt: skip


def test_a_row_in_which_few_arms_differ_names_them():
    text = describe_experiment(load_experiment("methods"), Path("runs"))
    assert "resampled up to 4 rounds   (dapo)" in text and "(worked solutions)   (sft)" in text


FORMULAS = [
    ({}, "1 [correct]"),
    ({"reward": {"values": {"correct": 0}}}, "0 for every completion"),
    ({"reward": {"values": {"wrong": -0.5, "format": 0.1}}}, "1 [correct] - 0.5 [wrong] + 0.1 [ends with one box]"),
    ({"reward": {"values": {"correct": -1, "truncated": 2}}}, "-1 [correct] + 2 [truncated]"),
    ({"reward": {"function": "mine:f", "values": {"correct": 0, "function": 0.25}}}, "0.25 x mine:f"),
    ({"reward": {"model": "runs/rm"}}, "1 [correct] + score of runs/rm"),
    ({"method": {"soft_overlong": 0.25}},
     "1 [correct] - overlong(length); overlong rises from 0 to 1 over the last 6 of 24 tokens"),
    ({"method": {"kl_coef": 0.01, "kl_estimator": "k1", "advantage_scale": "none"}},
     "1 [correct] - 0.01 x KL to the reference"),
    ({"method": {"kl_coef": 0.01}}, "1 [correct]"),  # k3 is part of the loss
]  # fmt: skip


@pytest.mark.parametrize(("tables", "formula"), FORMULAS, ids=[formula for _, formula in FORMULAS])
def test_the_reward_is_a_formula(tables, formula):
    assert reward_formula(small_config(**tables)) == formula


def test_words_of_the_formula():
    text = reward_formula(small_config(reward={"reader": "frozen"}, method={"length_reward": 1.0, "length_reward_from": 5}))
    assert text.startswith("1 [correct] + length term; the verdict is that of reader frozen") and text.endswith(
        "from step 5 on"
    )


def test_the_time_of_a_run_is_the_sum_of_its_parts():
    """By hand: 8 steps of 2 s, 4 eval points of 3 s, and a difficulty pass of 5 items x 10 samples of 0.1 s."""
    measured = MeasuredTime(step=2.0, eval_point=3.0, sample=0.1)
    assert measured.total(small_config(), 4) == START_SECONDS + 16 + 12
    tracked = small_config(task={"limit": 5, "order": "prioritised"})
    assert measured.total(tracked, 4) == pytest.approx(START_SECONDS + 16 + 12 + 5)


def test_the_measured_step_has_a_bounded_size():
    config = small_config(train={"prompts": 4096, "samples": 16, "updates": 4, "max_tokens": 24})
    small = smaller_copy(config)
    assert small.train.prompts == 8 and small.train.prompts % config.train.updates == 0 and small.eval.limit == 8
    assert smaller_copy(small_config()).train.prompts == 4


def test_arms_are_measured_and_others_say_why_not(tmp_path):
    text = describe_experiment(
        load_experiment("families"), Path("runs"), {"qwen3": 65.0, "llama3.2": 3600.0, "smollm3": "unknown: a"}
    )
    assert "time: about 1 h 1 min for 2 arms one after another" in text and "time: unknown: a   (smollm3)" in text
    arms = load_experiment("families", ["train.prompts=2", "train.samples=2", "train.max_tokens=4"]).arms[:1]
    times = measure_arms(arms, lambda config: 1)
    assert isinstance(times["qwen3"], float) and times["qwen3"] > START_SECONDS
    called = load_experiment("families", ["reward.function=mine:f"]).arms[:1]
    assert measure_arms(called, lambda config: 1) == {"qwen3": "unknown: reward.function is not called in a dry run"}


@pytest.mark.parametrize(
    "changes",
    [
        {"train": {"samples": 100_000, "prompts": 1}}, {"train": {"prompts": 4096, "updates": 4096, "samples": 2}},
        {"eval": {"samples": 100_000}},
    ],
)  # fmt: skip
def test_a_step_that_would_take_much_memory_is_not_measured(changes):
    (measured,) = measure_arms([Arm("a", small_config(**changes), {})], lambda config: 1).values()
    assert measured == "unknown: a step of this shape is too large to be measured"
