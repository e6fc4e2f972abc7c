"""From the numbers of a tool to those of passus: names, accuracies, seeds, lines and counts."""

import math
from pathlib import Path

import pytest

from passus.errors import UsageError
from passus.interop.importers.import_options import ImportOptions
from passus.interop.importers.imported_run import imported_run
from passus.interop.importers.item_counts import is_count
from passus.interop.importers.line_settings import kept_settings, name_without_seed, read_facts
from passus.interop.importers.metric_map import accuracy_name, passus_name
from passus.interop.importers.source_run import MetricPoint, SourceRun


def run_of(points, name="grpo-s1", settings=None, **options):
    """Returns the run of metric points (step, name, value)."""
    source = SourceRun(name, "CSV table", [Path("a.csv")], settings=settings or {})
    source.points = [MetricPoint(*point) for point in points]
    return imported_run(source, ImportOptions(**options))


@pytest.mark.parametrize("name, renamed", [
    # TRL, bare and as its trackers write it
    ("reward", "train/reward"), ("train/reward", "train/reward"), ("completions/clipped_ratio", "train/truncated"),
    ("train/completions/mean_length", "train/completions/mean_length"), ("completion_length", "train/completions/mean_length"),
    ("clip_ratio", "train/clip_ratio/region_mean"), ("kl", "train/kl"), ("step_time", "time/step"),
    ("num_tokens", "train/num_tokens"), ("frac_reward_zero_std", "train/frac_reward_zero_std"),
    # verl
    ("critic/score/mean", "train/reward"), ("critic/rewards/mean", "critic/rewards/mean"), ("actor/kl_loss", "train/kl"),
    ("actor/ppo_kl", "train/approx_kl"), ("response_length/clip_ratio", "train/truncated"), ("actor/lr", "train/learning_rate"),
    ("actor/entropy_loss", "train/entropy"), ("timing_s/step", "time/step"),
    # OpenRLHF
    ("train/response_length", "train/completions/mean_length"), ("train/ppo_clip_ratio", "train/clip_ratio/region_mean"),
    # prime-rl: the mismatch with the sampler is no KL to the start
    ("train/agg/effective/default/reward/mean", "train/reward"), ("optim/grad_norm", "train/grad_norm"),
    ("mismatch_kl/all/mean", "mismatch_kl/all/mean"),
    # others stay, evaluations above all
    ("eval_reward", "eval_reward"), ("eval/kl", "eval/kl"), ("rewards/exact/mean", "rewards/exact/mean"), ("my/own", "my/own"),
])  # fmt: skip
def test_names_of_metrics(name, renamed):
    assert passus_name(name) == renamed


@pytest.mark.parametrize("name, benchmark, samples", [
    ("val-core/openai/gsm8k/acc/mean@16", "openai/gsm8k", 16), ("val-core/aime24/acc/mean_at_16", "aime24", 16),
    ("val-core/lighteval/MATH/reward/mean@1", "lighteval/MATH", 1), ("eval/eval_aime24_pass1", "aime24", 1),
    ("eval_aime24_pass1", "aime24", 1), ("eval/aime2024/all/default/avg@32", "aime2024", 32),
    ("eval/gsm8k/acc", "gsm8k", None), ("test/gsm8k/accuracy", "gsm8k", None), ("eval_math_exact_match", "math", None),
])  # fmt: skip
def test_names_of_accuracies(name, benchmark, samples):
    found = accuracy_name(name)
    assert (found.benchmark, found.samples) == (benchmark, samples)


@pytest.mark.parametrize("name", [
    "val-core/gsm8k/acc/std@4",  # a mean of standard deviations within prompts, and no standard error
    "val-core/gsm8k/acc/best@4/mean",  # a bootstrap below pass@4
    "val-core/gsm8k/acc/maj@4/mean", "val-aux/gsm8k/response_length/mean@4", "eval/eval_aime24_pass16", "eval_reward",
    "eval_rewards/exact/mean", "train/accuracy", "eval/aime24/all/default/pass@4",
])  # fmt: skip
def test_what_is_no_accuracy(name):
    assert accuracy_name(name) is None


def test_a_reward_is_an_accuracy_only_where_it_pays_one_and_zero():
    name = "val-core/gsm8k/reward/mean@1"
    assert run_of([(0, name, 0.5), (1, name, 1.0)]).benchmarks == ["gsm8k"]
    signed = run_of([(0, name, -0.5), (1, name, 1.0)])
    assert signed.benchmarks == [] and signed.metrics[0][name] == -0.5 and signed.candidates == [name]
    both = run_of([(0, name, 0.5), (0, "val-core/gsm8k/acc/mean@1", 0.25)])
    assert [point.acc for point in both.points] == [0.25] and both.metrics == [{"step": 0, name: 0.5}]


def test_the_last_value_counts_and_a_gap_is_a_gap():
    run = run_of([(0, "eval/b/acc", 0.1), (0, "eval/b/acc", 0.2), (1, "eval/b/acc", math.nan), (1, "loss", math.nan)])
    assert [(point.step, point.acc) for point in run.points] == [(0, 0.2)] and run.metrics == [{"step": 1, "train/loss": None}]
    assert "1 values were written again for the same step; the last one counts" in run.remarks
    assert any("1 of 2 values are missing and left as gaps" in remark for remark in run.remarks)


def test_verls_tokens_are_those_of_a_step():
    run = run_of([(1, "perf/total_num_tokens", 100.0), (2, "perf/total_num_tokens", 50.0), (2, "reward", 0.5)])
    assert [row["train/num_tokens"] for row in run.metrics] == [100.0, 150.0]


def test_two_names_of_one_metric_do_not_overwrite_each_other():
    run = run_of([(1, "train/reward", 0.5), (1, "critic/score/mean", 0.25)])
    assert run.metrics == [{"step": 1, "train/reward": 0.5, "critic/score/mean": 0.25}]


def test_a_column_called_step_is_no_metric():
    assert run_of([(1, "step", None or math.nan), (1, "loss", 0.5)]).metrics == [{"step": 1, "train/loss": 0.5}]


def test_float32_means_become_counts():
    import numpy as np

    value = float(np.float32(7 / 30))
    assert value != 7 / 30
    run = run_of([(0, "eval/mine/acc", value)], items={"mine": 30}, samples=1)
    assert run.points[0].acc == 7 / 30 and run.points[0].has_interval
    assert run_of([(0, "eval/mine/acc", 0.2345)], items={"mine": 30}, samples=1).points[0].acc == 0.2345


@pytest.mark.parametrize("mean, answers, may_be", [
    (0.5, 30, True), (7 / 30, 30, True), (0.233, 30, True), (1 / 3, 1319, False), (0.12345678912345, 30, False),
    (float("nan"), 30, True), (1e308, 30, True), (0.0, 30, True), (0.23, 30, True), (0.24, 3, False),
])  # fmt: skip
def test_whether_a_mean_can_be_a_count(mean, answers, may_be):
    assert is_count(mean, answers) is may_be


@pytest.mark.parametrize("name, settings, seed", [
    ("grpo-s3", {}, 3), ("grpo_seed3", {}, 3), ("seed=3", {}, 3), ("lr-1e-4/s0", {}, 0), ("grpo-seed-12-b", {}, 12),
    ("grpo-s3", {"seed": 7}, 7), ("x", {"trainer.seed": 1, "seed": "5"}, 5), ("x", {"data.seed": 4}, 4),
    ("x", {"actor_rollout_ref.rollout.seed": 2, "data.seed": 4}, 4), ("grpo3", {}, None), ("steps3", {}, None),
    ("x", {"seed": True}, None), ("x", {"seed": -1}, None), ("x", {"seed": 1.5}, None),
])  # fmt: skip
def test_seeds(name, settings, seed):
    assert read_facts(name, settings).seed == seed


def test_names_without_their_seed():
    names = ["grpo-s3", "lr-1e-4/s0", "grpo_seed3", "s3", "plain"]
    assert [name_without_seed(name) for name in names] == ["grpo", "lr-1e-4", "grpo", "s3", "plain"]


@pytest.mark.parametrize("settings, model, method", [
    ({"model_name_or_path": "/data/Qwen/Qwen3-0.6B/", "loss_type": "dapo"}, "Qwen3-0.6B", "dapo"),
    ({"actor_rollout_ref.model.path": "a/Qwen2.5-3B", "algorithm.adv_estimator": "Estimator.GRPO"}, "Qwen2.5-3B", "GRPO"),
    ({"pretrain": "m", "advantage_estimator": "rloo"}, "m", "rloo"), ({"policy.model_name": "a/b"}, "b", ""), ({}, "", ""),
])  # fmt: skip
def test_models_and_methods(settings, model, method):
    facts = read_facts("x", settings)
    assert (facts.model, facts.method) == (model, method)


def test_settings_that_make_no_other_line():
    same = {
        "seed": 1, "run_name": "a", "output_dir": "/x", "report_to": "wandb", "logging_steps": 1, "save_steps": 5,
        "trainer.experiment_name": "e", "trainer.default_local_dir": "d", "resume_from_checkpoint": None, "world_size": 8,
        "hostname": "h", "_wandb": {}, "_Created": "now", "trainer.n_gpus_per_node": 8, "wandb.run_id": "x", "data.seed": 3,
        "master_port": 1,
    }  # fmt: skip
    assert kept_settings(same) == {}
    other = {"learning_rate": 1e-6, "optimizer.name": "adamw", "method.name": "grpo", "beta": 0.0, "data.files": ["a"]}
    assert kept_settings(other) == other | {"data.files": "['a']"}


def test_settings_can_always_be_written():
    odd = {"a\ud800": float("inf"), "b": "\udfff", "c": float("nan"), "d": 10**400, "e": ["\ud800"]}
    assert all(str(value).encode() and key.encode() for key, value in kept_settings(odd).items())


def test_names_make_lines_where_no_settings_are_recorded():
    """A trainer's state has the model beside it at most; the name of the folder says what was varied."""
    poor = run_of([(1, "reward", 0.5)], name="dapo-s1", model="Qwen3-0.6B")
    assert poor.settings == {"line": "dapo"} and poor.facts.method == "dapo"
    rich = run_of([(1, "reward", 0.5)], name="clever-sun-7", settings={"learning_rate": 1e-6, "model_name": "Qwen3-0.6B"})
    assert rich.settings == {"learning_rate": 1e-6, "model_name": "Qwen3-0.6B"} and rich.facts.method == ""


def test_lengths_of_an_evaluation_belong_to_its_points():
    run = run_of([(0, "eval/eval_aime24_pass1", 0.5), (0, "eval/eval_aime24_response_length_mean", 812.0)])
    assert run.points[0].tokens_mean == 812.0


def test_percent():
    run = run_of([(0, "eval/mine/acc", 45.0)], percent=True)
    assert run.points[0].acc == 0.45
    with pytest.raises(UsageError, match=r"no share[\s\S]*--percent"):
        run_of([(0, "eval/mine/acc", 45.0)])


def test_resumes_are_marked_where_the_steps_went_back(tmp_path):
    from passus.interop.importers.import_sources import import_runs, plan_import
    from passus.runs.run_folder import RunFolder

    rows = ["step,train/reward"] + [f"{step},0.5" for step in (1, 2, 3, 4, 5, 4, 5, 6, 7, 3, 4)]
    (tmp_path / "a.csv").write_text("\n".join(rows))
    planned = plan_import([tmp_path / "a.csv"], tmp_path / "out", ImportOptions())
    import_runs(planned, ImportOptions())
    launches = RunFolder(planned[0].folder).meta()["launches"]
    assert [launch.get("resumed_from") for launch in launches] == [3, 2, None]


def test_a_log_beside_its_dumps_gives_metrics_and_no_second_accuracy():
    name = "val-core/openai/gsm8k/acc/mean@4"
    source = SourceRun("grpo", "verl file log and verl validation dump", [Path("a")], points=[MetricPoint(0, name, 0.5)])
    source.samples = {0: [lambda: []]}
    assert imported_run(source, ImportOptions()).points == []
    assert imported_run(source, ImportOptions(accuracy=(name,))).points[0].acc == 0.5
