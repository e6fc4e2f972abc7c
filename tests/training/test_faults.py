"""Faults on purpose: what each does from its first step on, that it does nothing before, and exact resume."""

import json

import pytest

from helpers.small_run import assert_same, record, run_small, small_config, stop_in_step
from passus.config.fault_table import FAULTS
from passus.config.resolve import resolve
from passus.errors import Stop, UsageError

FROM = 4
"""First step with the fault in these runs of eight."""
KL = {"kl_coef": 0.05}


def with_fault(name: str, **more) -> dict:
    return {"fault": {"name": name, "from_step": FROM, **more}, "method": KL if name == "reversed-kl" else {}}


@pytest.fixture(scope="module")
def faulty_run(tmp_path_factory):
    """Runs the small experiment with a fault, once per fault."""
    made = {}

    def make(name: str):
        if name not in made:
            tables = {"method": {}} if name == "none" else with_fault(name)
            made[name] = run_small(tmp_path_factory.mktemp("faults") / name, **tables)
        return made[name]

    return make


@pytest.mark.parametrize("name", [name for name in FAULTS if name != "reversed-kl"])
def test_a_fault_changes_nothing_before_its_first_step(name, faulty_run):
    sound, faulty = record(faulty_run("none").path), record(faulty_run(name).path)
    assert sound["metrics"][: FROM - 1] == faulty["metrics"][: FROM - 1]
    assert sound["metrics"][FROM:] != faulty["metrics"][FROM:]
    assert sound["rows"]["samples/step-000003.parquet"] == faulty["rows"]["samples/step-000003.parquet"]
    assert sound["rows"]["items/step-000003.parquet"] == faulty["rows"]["items/step-000003.parquet"] or name in (
        "lost-end-token",
        "stale-sampler",
        "low-precision-sampler",
    )  # fmt: skip (the eval point after step 3 is sampled with the sampler of step 4)


def samples_by_step(run) -> dict[bool, list[dict]]:
    """Returns the samples of the steps without and with the fault."""
    rows = {False: [], True: []}
    for step in range(1, 9):
        rows[step >= FROM] += run.read_rows("samples", step)
    return rows


def is_right(row: dict) -> bool:
    return row["extracted"] is not None and row["extracted"].strip() == row["gold"]


def test_a_lenient_verifier_accepts_wrong_answers(faulty_run):
    rows = samples_by_step(faulty_run("lenient-verifier"))
    assert not any(row["verdict"] == "correct" and not is_right(row) for row in rows[False])
    assert any(row["verdict"] == "correct" and not is_right(row) for row in rows[True])
    assert not any(row["verdict"] == "wrong" for row in rows[True])


def test_strength_is_a_share(tmp_path):
    run = run_small(tmp_path / "half", **with_fault("lenient-verifier", strength=0.5))
    wrong = [row for row in samples_by_step(run)[True] if row["verdict"] == "wrong"]
    assert wrong and all(row["reward"] == 0 for row in wrong)


@pytest.mark.parametrize("name", ["noisy-reward", "shuffled-rewards"])
def test_rewards_no_longer_follow_verdicts(name, faulty_run):
    rows = samples_by_step(faulty_run(name))
    assert all(row["reward"] == (row["verdict"] == "correct") for row in rows[False])
    assert any(row["reward"] != (row["verdict"] == "correct") for row in rows[True])


def test_shuffled_rewards_keep_their_mean(faulty_run):
    for row in faulty_run("shuffled-rewards").metrics():
        assert row["train/reward"] == pytest.approx(row["train/accuracy"])


def test_misplaced_rewards_are_those_of_the_prompt_before(faulty_run):
    for step in range(FROM, 9):
        rows = faulty_run("misplaced-rewards").read_rows("samples", step)
        right = [float(row["verdict"] == "correct") for row in rows]
        assert [row["reward"] for row in rows] == right[-4:] + right[:-4]


def test_negated_rewards(faulty_run):
    rows = samples_by_step(faulty_run("negated-rewards"))
    assert all(row["reward"] == -(row["verdict"] == "correct") for row in rows[True])


def test_leaked_answers_are_in_the_prompt(faulty_run):
    rows = samples_by_step(faulty_run("leaked-answers"))
    assert all(f"={row['gold']}" in row["prompt"] for row in rows[True])
    assert not any(f"={row['gold']}" in row["prompt"] for row in rows[False])


def test_prompts_without_the_opening_of_the_turn_are_shorter(faulty_run):
    rows = samples_by_step(faulty_run("missing-generation-prompt"))
    last = {has_fault: {row["prompt_ids"][-1] for row in rows[has_fault]} for has_fault in rows}
    assert len(last[False]) == 1 and not last[False] & last[True]


def test_without_an_end_token_completions_reach_the_limit(faulty_run):
    run = faulty_run("lost-end-token")
    assert all(row["train/truncated"] == 1 for row in run.metrics()[FROM - 1 :])
    assert run.metrics()[FROM - 2]["train/truncated"] < 1
    assert [point.truncated for point in run.evals() if point.step == 6] == [1, 1]


def test_identical_samples(faulty_run):
    for row in samples_by_step(faulty_run("identical-samples"))[True]:
        assert row["advantage"] == 0
    assert all(row["train/frac_reward_zero_std"] == 1 for row in faulty_run("identical-samples").metrics()[FROM - 1 :])


def test_a_stale_sampler_drifts_from_the_trainer(faulty_run):
    gap = [row["sampling/sampling_logp_difference/mean"] for row in faulty_run("stale-sampler").metrics()]
    assert max(gap[:FROM]) < 1e-6  # in the first step with the fault, the weights are still the same
    assert 1e-4 < gap[FROM] < gap[-1]


def test_a_sampler_in_low_precision_differs_at_once(faulty_run):
    gap = [row["sampling/sampling_logp_difference/mean"] for row in faulty_run("low-precision-sampler").metrics()]
    assert max(gap[: FROM - 1]) < 1e-6 and min(gap[FROM - 1 :]) > 1e-3


def test_a_lost_optimizer_state_makes_one_large_update(faulty_run):
    run, sound = faulty_run("lost-optimizer-state"), faulty_run("none")
    assert run.metrics()[FROM - 1]["train/accuracy"] == sound.metrics()[FROM - 1]["train/accuracy"]
    assert run.metrics()[FROM]["train/entropy"] != pytest.approx(sound.metrics()[FROM]["train/entropy"], rel=0.05)


def test_lost_updates_leave_the_weights_as_they_were(faulty_run):
    evals = {point.step: point for point in faulty_run("lost-updates").evals() if point.benchmark == "abacus/add2"}
    weights = record(faulty_run("lost-updates").path)["weights"]["model.safetensors"]
    assert evals[6].to_row() | {"step": 0, "time/eval": 0} == evals[8].to_row() | {"step": 0, "time/eval": 0}
    assert weights != record(faulty_run("none").path)["weights"]["model.safetensors"]


def test_restarted_weights_are_those_before_training(tmp_path):
    run = run_small(tmp_path / "run", fault={"name": "restarted-weights", "from_step": 3}, train={"steps": 3})
    points = [point.to_row() | {"step": 0, "time/eval": 0} for point in run.evals()]
    assert points[:2] == points[2:]  # two benchmarks, at steps 0 and 3


def test_corrupted_weights_differ_once(faulty_run):
    run, sound = faulty_run("corrupted-weights"), faulty_run("none")
    after = [row["train/accuracy"] for row in run.metrics()[FROM:]]
    assert run.metrics()[FROM - 1]["train/loss"] == sound.metrics()[FROM - 1]["train/loss"]
    assert after != [row["train/accuracy"] for row in sound.metrics()[FROM:]]


def test_a_reversed_kl_drives_the_policy_away(tmp_path):
    strong = {"method": {"kl_coef": 2.0}}
    sound = run_small(tmp_path / "sound", **strong)
    faulty = run_small(tmp_path / "faulty", **(strong | {"fault": {"name": "reversed-kl", "from_step": FROM}}))
    assert record(sound.path)["metrics"][: FROM - 1] == record(faulty.path)["metrics"][: FROM - 1]
    assert faulty.metrics()[-1]["train/kl"] > 1.3 * sound.metrics()[-1]["train/kl"]


def test_a_corrupted_batch_has_log_probs_of_other_prompts(faulty_run):
    gap = [row["sampling/sampling_logp_difference/mean"] for row in faulty_run("corrupted-batch").metrics()]
    assert max(gap[: FROM - 1]) < 1e-6 and min(gap[FROM - 1 :]) > 0.1


@pytest.mark.parametrize("name", ["stale-sampler", "lost-updates", "noisy-reward", "restarted-weights", "corrupted-weights"])
def test_a_run_with_a_fault_resumes_exactly(name, faulty_run, tmp_path):
    path = tmp_path / name
    for step in (3, 7):
        with pytest.raises(Stop):
            run_small(path, check_stop=stop_in_step(path, step), **with_fault(name))
    assert_same(run_small(path, **with_fault(name)).path, faulty_run(name).path)


def test_a_run_with_a_fault_says_so_in_its_record(faulty_run):
    run = faulty_run("noisy-reward")
    assert 'name = "noisy-reward"' in (run.path / "config.toml").read_text()
    remarks = json.loads((run.path / "meta.json").read_text())["launches"][0]["data"]["remarks"]
    assert any("a fault on purpose: noisy-reward (1) from step 4 on" in remark for remark in remarks)


@pytest.mark.parametrize(
    "tables, problem",
    [
        ({"fault": {"name": "reversed-kl"}}, "needs a KL in the loss"),
        ({"fault": {"name": "noisy-reward", "from_step": 9}}, "beyond train.steps"),
        ({"fault": {"name": "stale-sampler"}, "method": {"name": "sft"}}, "faults are for RL"),
        ({"fault": {"name": "stale-sampler"}, "reward": {"reader": "live"}, "unused": 0}, None),
        ({"fault": {"name": "noise"}}, "noisy-reward"),
    ],
)
def test_faults_that_a_run_cannot_have_are_refused(tables, problem):
    tables.pop("unused", None)
    if problem is None:
        assert small_config(**tables).fault.name == "stale-sampler"
        return
    with pytest.raises(UsageError, match=problem):
        resolve({"model": {"base": "nano/qwen3"}, "train": {"steps": 8}} | tables, "test")
