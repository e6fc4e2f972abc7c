"""The training loop: the record of a step, what the result does not depend on, exact resume, and learning."""

import copy

import pytest
import torch

from helpers.small_run import assert_same, record, run_small, small_config, stop_in_step
from helpers.tiers import slow_cases
from passus.errors import Stop, UsageError
from passus.evaluation import grade_rollout
from passus.grading.verdict import Grade, Verdict
from passus.metric_names import METRICS
from passus.runs.run_folder import RunFolder
from passus.training.setup import check_old_logprobs, prepare
from passus.training.step import take_step


def stop_after(n):
    """Returns a check that asks for a stop at the safe point after the first n."""
    left = iter(range(n))

    def check():
        if next(left, None) is None:
            raise Stop

    return check


@pytest.fixture
def reference(small_run):
    return small_run


def test_the_run_folder_has_its_files_and_keys(reference):
    names = {path.name for path in reference.path.iterdir()}
    assert {"config.toml", "meta.json", "metrics.jsonl", "evals.jsonl", "items", "samples", "checkpoints"} <= names
    rows, evals = reference.metrics(), reference.evals()
    assert [row["step"] for row in rows] == list(range(1, 9))
    assert {(e.step, e.benchmark) for e in evals} == {(s, b) for s in (0, 3, 6, 8) for b in ("abacus/add2", "abacus/sub")}
    assert set(rows[0]) <= set(METRICS)
    for key in (
        "progress",
        "train/accuracy",
        "train/reward",
        "train/completions/mean_length",
        "train/num_tokens",
        "time/elapsed",
    ):
        assert key in rows[0]
    expected = {
        "step", "benchmark", "temperature", "q", "k", "acc", "ci_low", "ci_high", "pass", "maj", "tokens_mean", "tokens_p95",
        "truncated", "unparseable",
    }  # fmt: skip
    assert expected <= set(evals[0].to_row()) and evals[0].pass_at_k.keys() == {"1", "2"} and evals[0].maj_at_k.keys() == {"2"}
    assert (evals[0].q, evals[0].k) == (8, 2)
    item = reference.read_rows("items", 3)[0]
    assert {"benchmark", "item", "sample", "verdict", "extracted", "tokens", "logp", "completion"} <= item.keys()
    sample = reference.read_rows("samples", 3)[0]
    assert {"prompt", "completion", "prompt_ids", "completion_ids", "verdict", "reward", "advantage"} <= sample.keys()
    assert (reference.path / "checkpoints/step-000008/model.safetensors").exists()


def test_metrics_agree_with_the_sample_rows(reference):
    for row in reference.metrics():
        samples = reference.read_rows("samples", row["step"])
        assert row["train/reward"] == pytest.approx(sum(s["reward"] for s in samples) / 16)
        assert row["train/accuracy"] == sum(s["verdict"] == "correct" for s in samples) / 16
        assert row["train/completions/mean_length"] == sum(len(s["completion_ids"]) for s in samples) / 16
        assert row["sampling/sampling_logp_difference/max"] < 1e-4  # one set of weights, float32
    tokens = sum(
        len(s["prompt_ids"]) + len(s["completion_ids"]) for n in range(1, 9) for s in reference.read_rows("samples", n)
    )
    assert reference.metrics()[-1]["train/num_tokens"] == tokens
    for point in reference.evals():
        items = [r for r in reference.read_rows("items", point.step) if r["benchmark"] == point.benchmark]
        assert point.acc == sum(r["verdict"] == "correct" for r in items) / len(items)


def test_a_run_is_a_function_of_its_config(reference, tmp_path):
    assert_same(run_small(tmp_path / "again").path, reference.path)
    other = run_small(tmp_path / "other", seed=1)
    assert record(other.path)["metrics"] != record(reference.path)["metrics"]


@pytest.mark.parametrize("step", [4, *slow_cases(2, 8)])
def test_a_run_stopped_between_steps_resumes_exactly(reference, tmp_path, step):
    with pytest.raises(Stop):
        run_small(tmp_path / "arm", check_stop=stop_in_step(tmp_path / "arm", step))
    assert len(RunFolder(tmp_path / "arm").metrics()) == step - 1
    assert_same(run_small(tmp_path / "arm").path, reference.path)


@pytest.mark.parametrize("after", [3, *slow_cases(0, 60)])
def test_a_run_stopped_inside_a_step_resumes_exactly(reference, tmp_path, after):
    """`after` counts safe points: inside rollouts, evals and updates."""
    with pytest.raises(Stop):
        run_small(tmp_path / "arm", check_stop=stop_after(after))
    assert_same(run_small(tmp_path / "arm").path, reference.path)


@pytest.mark.parametrize("after", [30, 33, *slow_cases(12, 31, 36, 40)])
def test_a_run_stopped_between_the_updates_of_a_step_resumes_exactly(tmp_path, several, after):
    """The weights between two updates of a step belong to no step and must not be saved."""
    with pytest.raises(Stop):
        run_small(tmp_path / "arm", check_stop=stop_after(after), **SEVERAL)
    assert_same(run_small(tmp_path / "arm", **SEVERAL).path, several.path)


SEVERAL = {
    "train": {"updates": 4, "steps": 3, "max_tokens": 12},
    "eval": {"limit": 2, "samples": 1, "every": 3, "max_tokens": 4, "suite": ["abacus/add2"]},
    "run": {"save_every": 50},
}


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    return run_small(tmp_path_factory.mktemp("several") / "arm", **SEVERAL)


def test_a_finished_run_can_be_extended(reference, tmp_path):
    run_small(tmp_path / "arm", train={"steps": 4})
    mine, theirs = record(run_small(tmp_path / "arm").path), record(reference.path)
    assert mine["weights"] == theirs["weights"]
    drop = ("progress",)
    assert [{k: v for k, v in r.items() if k not in drop} for r in mine["metrics"]] == [
        {k: v for k, v in r.items() if k not in drop} for r in theirs["metrics"]
    ]


def test_evaluation_noise_does_not_depend_on_the_step(tmp_path):
    """With a learning rate of 0 all eval points are equal: same items, same noise, same weights."""
    folder = run_small(tmp_path / "arm", train={"learning_rate": 0.0, "steps": 4}, eval={"every": 2})
    first, second, third = (folder.read_rows("items", step) for step in (0, 2, 4))
    assert first == second == third
    rollouts = [folder.read_rows("samples", step) for step in (1, 2)]
    assert rollouts[0] != rollouts[1]  # training noise does


def test_micro_batches_do_not_change_the_result(reference, tmp_path):
    cut = run_small(tmp_path / "arm", train={"micro_tokens": 60})
    for mine, theirs in zip(cut.metrics(), reference.metrics(), strict=True):
        assert mine["train/reward"] == theirs["train/reward"]
        assert mine["train/grad_norm"] == pytest.approx(theirs["train/grad_norm"], rel=1e-3, abs=1e-6)


def test_several_updates_per_rollout_move_the_ratio_away_from_one(tmp_path):
    folder = run_small(tmp_path / "arm", train={"updates": 4, "steps": 3, "learning_rate": 5e-3})
    rows = folder.metrics()
    assert any(row["train/clip_ratio/region_mean"] > 0 for row in rows)
    assert all(abs(row["sampling/sampling_logp_difference/max"]) < 1e-4 for row in rows)  # of the first update


def test_both_anchors_agree_in_float32(reference, tmp_path):
    sampler = run_small(tmp_path / "arm", method={"old_logprobs": "sampler"}, train={"steps": 4})
    for mine, theirs in zip(sampler.metrics(), reference.metrics(), strict=False):
        assert mine["train/grad_norm"] == pytest.approx(theirs["train/grad_norm"], rel=1e-3, abs=1e-6)


def test_truncated_rows_can_be_masked(tmp_path):
    tables = {"train": {"max_tokens": 8, "steps": 1}, "reward": {"values": {"wrong": 1.0, "correct": 1.0, "unparseable": 1.0}}}
    rows = [
        run_small(tmp_path / str(masked), method={"mask_truncated": masked}, **tables).metrics()[0] for masked in (False, True)
    ]
    assert rows[0]["train/truncated"] > 0  # the only completions with another reward
    assert rows[0]["train/loss"] == pytest.approx(0, abs=1e-6) and rows[1]["train/loss"] != pytest.approx(0, abs=1e-3)


def test_a_task_that_is_never_solved_has_no_gradient_and_is_recorded(tmp_path):
    folder = run_small(tmp_path / "arm", train={"max_tokens": 2, "steps": 2})
    row = folder.metrics()[-1]
    assert row["train/accuracy"] == 0 and row["train/frac_reward_zero_std"] == 1 and row["train/grad_norm"] == 0
    assert folder.evals()[-1].acc == 0 and folder.evals()[-1].ci_high > 0.1


def test_rewards_come_from_the_table(tmp_path):
    folder = run_small(
        tmp_path / "arm", reward={"values": {"correct": 2.0, "wrong": -1.0, "truncated": -0.5}}, train={"steps": 1}
    )
    worth = {"correct": 2.0, "wrong": -1.0, "truncated": -0.5, "unparseable": 0.0}
    for sample in folder.read_rows("samples", 1):
        assert sample["reward"] == worth[sample["verdict"]]


def test_completions_with_a_grader_error_have_no_gradient(tmp_path, monkeypatch):
    failed = Grade(Verdict.ERROR, None)
    monkeypatch.setattr(grade_rollout, "grade_items", lambda judge, items, *_: ([failed] * len(items), {}))
    row = run_small(tmp_path / "arm", train={"steps": 1}).metrics()[0]
    assert row["train/grader_error"] == 1 and row["train/grad_norm"] == 0


def test_an_item_that_comes_twice_has_new_noise(tmp_path):
    folder = run_small(tmp_path / "arm", task={"limit": 2}, train={"steps": 1, "learning_rate": 0.0})
    rows = folder.read_rows("samples", 1)
    groups = [[r["completion"] for r in rows[i : i + 4]] for i in range(0, 16, 4)]
    assert len({r["prompt"] for r in rows}) == 2 and all(groups[i] != groups[j] for i in range(4) for j in range(i))


def test_a_prompt_template_is_applied(tmp_path):
    folder = run_small(tmp_path / "arm", model={"prompt": "({question})"}, train={"steps": 1})
    assert all(r["prompt"].startswith("<q>(") and r["prompt"].endswith(")<a>") for r in folder.read_rows("samples", 1))


def test_a_prompt_longer_than_the_context_is_refused_before_the_first_step(tmp_path):
    with pytest.raises(UsageError, match="context") as refused:
        run_small(tmp_path / "arm", train={"max_tokens": 510})
    assert "max_tokens=50" in str(refused.value)


@pytest.mark.slow
def test_the_toy_task_is_learned(tmp_path):
    """After 14 steps from the shipped model, accuracy is above the interval of step 0."""
    folder = run_small(
        tmp_path / "arm",
        train={"steps": 14, "prompts": 12, "samples": 8, "max_tokens": 40, "learning_rate": 1e-3},
        eval={"every": 14, "suite": ["abacus/add2"], "limit": 100, "samples": 4},
        run={"save_every": 50},
    )
    first, last = folder.evals()
    assert last.ci_low > first.ci_high


METHODS = {
    "dr_grpo": {}, "dapo": {}, "rloo": {}, "gspo": {}, "cispo": {}, "kimi": {}, "sft": {},
    "grpo": {}, "kl in the reward": {"name": "dr_grpo", "kl_coef": 0.05, "kl_estimator": "k1"},
    "kl in the loss": {"name": "grpo", "kl_coef": 0.05, "entropy_coef": 0.01},
    "corrected": {"name": "grpo", "tis_cap": 2.0},
    "reinforce_pp": {"name": "reinforce_pp"},
    "reinforce_pp_baseline": {"name": "reinforce_pp_baseline"},
}  # fmt: skip
FAST_METHODS = ["grpo", "dapo", "kimi", "sft"]


@pytest.mark.parametrize("name", [*FAST_METHODS, *slow_cases(*(name for name in METHODS if name not in FAST_METHODS))])
def test_every_method_trains_and_resumes_exactly(tmp_path, name):
    method = {"name": name} | METHODS[name]
    tables = {"method": method, "train": {"steps": 3, "updates": 2, "max_tokens": 40}, "eval": {"every": 3, "limit": 2}}
    whole = run_small(tmp_path / "whole", **tables)
    with pytest.raises(Stop):
        run_small(tmp_path / "cut", check_stop=stop_in_step(tmp_path / "cut", 3), **tables)
    assert [row["step"] for row in RunFolder(tmp_path / "cut").metrics()] == [1, 2]
    assert_same(run_small(tmp_path / "cut", **tables).path, whole.path)
    rows = whole.metrics()
    assert set(rows[-1]) <= set(METRICS) and all(row["train/grad_norm"] > 0 for row in rows)
    assert ("train/kl" in rows[0]) == ("kl_coef" in method)


def test_dynamic_sampling_replaces_groups_without_signal(tmp_path):
    tables = {"train": {"steps": 3, "prompts": 6, "max_tokens": 40}, "eval": {"every": 3, "limit": 2}}
    once = run_small(tmp_path / "once", **tables)
    more = run_small(tmp_path / "more", method={"dynamic_sampling_rounds": 4}, **tables)
    assert all(row["train/oversampling"] == 1 for row in once.metrics())
    assert any(row["train/frac_reward_zero_std"] > 0 for row in once.metrics())
    for row in more.metrics():
        rows = more.read_rows("samples", row["step"])
        used = [r for r in rows if r["used"]]
        assert row["train/oversampling"] == len(rows) / 24 >= 1 and len(used) == 24
        assert row["train/accuracy"] == sum(r["verdict"] == "correct" for r in rows) / len(rows)  # also of replaced groups
        groups = [[r["verdict"] == "correct" for r in used[i : i + 4]] for i in range(0, 24, 4)]
        assert row["train/frac_reward_zero_std"] == sum(len(set(g)) == 1 for g in groups) / 6
    assert any(row["train/oversampling"] > 1 for row in more.metrics())
    assert sum(r["train/frac_reward_zero_std"] for r in more.metrics()) < sum(
        r["train/frac_reward_zero_std"] for r in once.metrics()
    )


def test_dynamic_sampling_ends_after_its_rounds(tmp_path):
    folder = run_small(tmp_path / "arm", method={"dynamic_sampling_rounds": 3}, train={"max_tokens": 2, "steps": 2})
    assert [row["train/oversampling"] for row in folder.metrics()] == [3.0, 3.0]
    assert folder.metrics()[-1]["train/frac_reward_zero_std"] == 1
    places = {(r["task"], r["item"]) for step in (1, 2) for r in folder.read_rows("samples", step)}
    assert len(places) == 2 * 3 * 4  # each round has new prompts


def test_groups_that_fill_up_carry_no_advantage(tmp_path):
    """All answers are cut off at different lengths before they end, so the overlong penalty is all that differs."""
    method = {"name": "dapo", "dynamic_sampling_rounds": 2, "soft_overlong": 1.0}
    folder = run_small(tmp_path / "arm", method=method, train={"max_tokens": 14, "steps": 2, "prompts": 6})
    fillers = 0
    for step in (1, 2):
        rows = folder.read_rows("samples", step)
        for group in [rows[i : i + 4] for i in range(0, len(rows), 4)]:
            is_mixed = len({row["verdict"] == "correct" for row in group}) == 2
            if not is_mixed and group[0]["used"]:
                fillers += len({row["reward"] for row in group}) > 1
                assert all(row["advantage"] == 0 for row in group)
    assert fillers > 0


def test_where_no_verdict_is_paid_dynamic_sampling_follows_the_reward(tmp_path, monkeypatch):
    """All answers are cut off and none is right, but the function pays them differently, so nothing is sampled again."""
    (tmp_path / "token_pay.py").write_text("def pay(completion_ids, **kwargs): return [sum(i) % 7.0 for i in completion_ids]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = run_small(
        tmp_path / "arm", reward={"function": "token_pay:pay", "values": {"correct": 0.0}},
        method={"dynamic_sampling_rounds": 4}, train={"steps": 2, "max_tokens": 4},
    )  # fmt: skip
    for row in folder.metrics():
        rows = folder.read_rows("samples", row["step"])
        groups = [rows[i : i + 4] for i in range(0, len(rows), 4)]
        differing = [group for group in groups if len({r["reward"] for r in group}) > 1]
        assert len(differing) >= 4 and row["train/oversampling"] < 4
        assert all(r["verdict"] != "correct" for r in rows) and any(r["advantage"] for r in rows)


def test_a_graders_error_is_not_in_the_baseline(tmp_path, monkeypatch):
    """One error per group; without it all answers are right, so no answer is better than another."""
    right, failed = Grade(Verdict.CORRECT, "1"), Grade(Verdict.ERROR, None)
    monkeypatch.setattr(
        grade_rollout, "grade_items", lambda judge, items, *_: ([right if n % 4 else failed for n in range(len(items))], {})
    )
    folder = run_small(tmp_path / "arm", train={"steps": 1})
    rows = folder.read_rows("samples", 1)
    assert all(row["advantage"] == 0 for row in rows) and [row["reward"] for row in rows[:4]] == [None, 1, 1, 1]
    metrics = folder.metrics()[0]
    assert metrics["train/reward"] == 1 and metrics["train/frac_reward_zero_std"] == 1 and metrics["train/grad_norm"] == 0


@pytest.mark.slow
def test_a_kl_penalty_keeps_the_policy_nearer_to_the_base(tmp_path):
    tables = {"train": {"steps": 6, "learning_rate": 2e-3}, "eval": {"every": 6, "limit": 2}}
    kls = []
    for weight in (1e-9, 1.0):
        folder = run_small(tmp_path / str(weight), method={"kl_coef": weight}, **tables)
        kls.append(folder.metrics()[-1]["train/kl"])
    assert folder.metrics()[0]["train/kl"] == pytest.approx(0, abs=1e-9)  # before anything has moved
    assert 0 < kls[1] < kls[0]


@pytest.mark.slow
def test_sft_learns_from_worked_solutions(tmp_path):
    folder = run_small(
        tmp_path / "arm",
        method={"name": "sft"},
        train={"steps": 25, "prompts": 16, "max_tokens": 40, "learning_rate": 2e-3},
        eval={"every": 25, "suite": ["abacus/add2"], "limit": 100, "samples": 2},
    )
    first, last = folder.evals()
    assert last.ci_low > first.ci_high
    rows, shown = folder.metrics(), folder.read_rows("samples", 1)
    assert rows[-1]["train/loss"] < rows[0]["train/loss"] and "train/accuracy" not in rows[0]
    assert len(shown) == 16 and all(row["verdict"] == "correct" for row in shown)


def test_a_kl_in_the_reward_is_refused_where_the_group_scales_it_up():
    with pytest.raises(UsageError, match="k1"):
        small_config(method={"kl_estimator": "k1", "kl_coef": 0.1})
    small_config(method={"name": "reinforce_pp", "kl_estimator": "k1", "kl_coef": 0.1})


def test_a_sequence_ratio_refuses_the_samplers_log_probs_in_bf16(tmp_path):
    config = small_config(method={"name": "gspo", "old_logprobs": "sampler"})
    check_old_logprobs(config)
    with pytest.raises(UsageError, match="old_logprobs"):
        check_old_logprobs(config.model_copy(update={"run": config.run.model_copy(update={"dtype": "bfloat16"})}))


@pytest.mark.parametrize("tuning", ["live", "frozen"])
def test_the_k1_penalty_is_the_log_ratio_to_the_base(tmp_path, tuning, nano):
    """Recomputed from the recorded tokens: the policy's log-probs at temperature 1 minus the base's."""
    rate = 2e-3 if tuning == "live" else 2e-2
    folder = run_small(
        tmp_path / "arm",
        model={"tuning": tuning},
        method={"kl_estimator": "k1", "kl_coef": 0.1, "advantage_scale": "none"},
        train={"steps": 3, "learning_rate": rate},
        eval={"every": 3, "limit": 2},
    )
    nano.model.set_attn_implementation("eager")
    charged = []
    for row in folder.read_rows("samples", 3):
        ids = torch.tensor([*row["prompt_ids"], *row["completion_ids"]])
        with torch.no_grad():
            logp = nano.model(ids[None], use_cache=False).logits[0, :-1].log_softmax(-1).gather(1, ids[1:, None])[:, 0]
        base = float(logp[len(row["prompt_ids"]) - 1 :].sum())
        charged.append(0.1 * (row["logp"] - base))
        assert row["reward"] == pytest.approx((row["verdict"] == "correct") - charged[-1], abs=1e-4)
    nano.model.set_attn_implementation("passus")
    assert max(map(abs, charged)) > 0.01  # the policy has moved


def test_a_reference_that_has_changed_is_refused(tmp_path, nano):
    base = tmp_path / "base"
    nano.model.save_pretrained(base)
    nano.chat.tokenizer.save_pretrained(base)
    tables = {"model": {"base": str(base)}, "method": {"kl_coef": 0.1}}
    with pytest.raises(Stop):
        run_small(tmp_path / "arm", check_stop=stop_in_step(tmp_path / "arm", 3), **tables)
    other = copy.deepcopy(nano.model)
    with torch.no_grad():
        other.model.norm.weight.mul_(1.5)
    other.save_pretrained(base)
    with pytest.raises(UsageError, match="has changed"):
        run_small(tmp_path / "arm", **tables)


def test_a_run_that_starts_from_a_run_is_labelled_with_its_checkpoint(reference, tmp_path):
    folder = run_small(tmp_path / "arm", model={"base": f"{reference.path}@4"}, train={"steps": 1})
    assert folder.meta()["model"]["label"] == "Qwen3-shaped, 0.8M, trained to 4"


@pytest.mark.slow
def test_two_threads_give_the_same_run_twice(tmp_path):
    """Gradients of tokens that several completions share are summed in a fixed order."""
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        found = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            folder = RunFolder(tmp_path / name)
            run = prepare(small_config(train={"prompts": 16, "samples": 8}), folder, lambda: None)
            for _ in range(6):
                take_step(run)
            found.append([{k: v for k, v in row.items() if not k.startswith("time/")} for row in folder.metrics()])
    finally:
        torch.set_num_threads(threads)
    assert found[0] == found[1]
