"""Every metric that a run records, defined once with its unit and meaning."""

from collections.abc import Iterable
from dataclasses import dataclass

from passus.errors import UsageError, nearest


@dataclass(frozen=True)
class Metric:
    unit: str
    meaning: str


METRICS = {
    "step": Metric("steps", "training steps completed; the first row is step 1"),
    "progress": Metric("share", "step / train.steps"),
    "train/accuracy": Metric("share", "completions of this step that are correct"),
    "train/reward": Metric("reward", "mean reward of this step's completions"),
    "train/reward_std": Metric("reward", "standard deviation of rewards within a group, mean over groups"),
    "train/frac_reward_zero_std": Metric("share", "groups whose rewards are all equal and which therefore carry no signal"),
    "train/oversampling": Metric(
        "ratio",
        "prompts drawn / prompts used; above 1 where dynamic sampling drew more groups (method.dynamic_sampling_rounds)",
    ),
    "train/reward_function": Metric(
        "reward", "mean of reward.function before its weight, over the completions for which it returned a number"
    ),
    "train/reward_function_none": Metric("share", "completions for which reward.function returned None"),
    "reward/<name>": Metric("", "value that reward.function logged as `name`, mean over the step"),
    "train/truncated": Metric("share", "completions that the token limit cut off"),
    "train/unparseable": Metric("share", "completions that ended without an answer"),
    "train/grader_error": Metric("share", "completions on which the grader failed"),
    "train/completions/mean_length": Metric("tokens", "mean length of completions, including the end token"),
    "train/completions/min_length": Metric("tokens", "length of the shortest completion"),
    "train/completions/p95_length": Metric("tokens", "95th percentile of length"),
    "train/completions/max_length": Metric("tokens", "length of the longest completion"),
    "train/lesson_loss": Metric("nats", "contribution of kept lessons to the loss (method.lessons)"),
    "lessons/built": Metric("lessons", "lessons written from groups with correct and wrong answers"),
    "lessons/kept": Metric("lessons", "lessons that are trained on"),
    "lessons/too_long": Metric("lessons", "lessons that were not written because the pair does not fit the context"),
    "lessons/helped": Metric("share", "problems solved with their lesson in the prompt"),
    "lessons/plain": Metric("share", "success rate on the same problems without lessons, from one new sample each"),
    "lessons/uplift": Metric("share", "lessons/helped minus lessons/plain"),
    "lessons/leaks": Metric("share", "kept lessons that contain the correct answer"),
    "lessons/tokens": Metric(
        "tokens", "prompt and completion tokens of lessons, of the samples with lessons, and of the samples without"
    ),
    "time/lessons": Metric("s", "time to write and validate lessons"),
    "train/in_circles": Metric("share", "completions cut off because of repetition (method.max_repeats)"),
    "train/solved_rate": Metric(
        "share", "mean success rate over the items of a finite training set whose success rate is known"
    ),
    "train/read_accuracy": Metric("share", "answers of the CoT reader, from the policy's reasoning, that are correct"),
    "train/read_truncated": Metric(
        "share", "texts that did not fit the reader's context, and answers that never closed their box"
    ),
    "train/read_nothing": Metric("share", "completions without any reasoning for the reader"),
    "train/read_tokens": Metric("tokens", "tokens that the reader read and wrote in this step"),
    "train/step_tokens": Metric("tokens", "prompt and completion tokens of this step"),
    "train/loss": Metric("", "loss of the method, mean over the step's updates; null where it is not finite"),
    "train/entropy": Metric("nats", "entropy of the policy, mean over the tokens that count in the loss"),
    "train/clip_ratio/low_mean": Metric("share", "tokens whose ratio was clipped below"),
    "train/clip_ratio/high_mean": Metric("share", "tokens whose ratio was clipped above"),
    "train/clip_ratio/region_mean": Metric("share", "tokens whose ratio was clipped"),
    "train/approx_kl": Metric("nats", "KL to the policy that the ratio refers to, k3 estimator, mean over tokens"),
    "train/kl": Metric("nats", "KL to the policy before training, by the method's estimator (k3 for k1), mean over tokens"),
    "train/pair_accuracy": Metric("share", "reward model: pairs of a correct and a wrong candidate that are ranked correctly"),
    "train/margin": Metric("", "reward model: score of correct candidates minus score of wrong ones of the same problem, mean"),
    "train/reward_model": Metric("", "mean score of the step's completions by the reward model"),
    "train/grad_norm": Metric("", "norm of the gradient before clipping, mean over the step's updates"),
    "train/learning_rate": Metric("", "learning rate of the step's last update"),
    "train/skipped_updates": Metric("updates", "updates skipped because loss or gradient was not finite"),
    "train/micro_tokens": Metric("tokens", "size of a micro-batch; below train.micro_tokens after an out-of-memory retry"),
    "train/rows_at_once": Metric("rows", "most completions sampled at the same time; reduced after an out-of-memory retry"),
    "train/num_tokens": Metric("tokens", "prompt and completion tokens since the start of the run"),
    "sampling/sampling_logp_difference/mean": Metric(
        "nats", "|trainer's log-prob - sampler's log-prob| of the sampled tokens, mean"
    ),
    "sampling/sampling_logp_difference/p99": Metric("nats", "the same, 99th percentile"),
    "sampling/sampling_logp_difference/max": Metric("nats", "the same, maximum"),
    "sampling/importance_sampling_ratio/min": Metric(
        "ratio", "trainer's probability / sampler's probability of a token, minimum"
    ),
    "sampling/importance_sampling_ratio/mean": Metric("ratio", "the same, mean"),
    "sampling/importance_sampling_ratio/max": Metric("ratio", "the same, maximum"),
    "sampling/effective_sample_size": Metric(
        "share", "(sum of those ratios)^2 / (tokens x sum of their squares); 1 where all are equal"
    ),
    "time/elapsed": Metric("s", "time spent on this run, over all its sessions"),
    "time/rollout": Metric("s", "generation"),
    "time/grade": Metric("s", "grading"),
    "time/read": Metric("s", "answers of the CoT reader from the policy's reasoning"),
    "time/update": Metric("s", "log-probs, loss, backward pass, optimizer"),
    "time/eval": Metric("s", "generation and grading of one benchmark at one eval point (in evals.jsonl)"),
    "time/step": Metric("s", "the whole step, without evaluation and checkpoints"),
    "eval/<benchmark>/acc": Metric(
        "share", "mean over items of the share of K samples that are correct, with its 95 % CI in ci_low and ci_high"
    ),
    "eval/<benchmark>/pass": Metric("share", "pass@k: probability that at least one of k samples is correct, unbiased"),
    "eval/<benchmark>/maj": Metric("share", "maj@k: the most frequent answer of k samples is correct; ties count in part"),
    "eval/<benchmark>/tokens_mean": Metric("tokens", "mean length of completions"),
    "eval/<benchmark>/se": Metric(
        "share", "standard error of the mean for this fixed set of items, for comparisons within a run"
    ),
    "eval/<benchmark>/tokens_p95": Metric("tokens", "95th percentile of length"),
    "eval/<benchmark>/truncated": Metric("share", "completions that the token limit cut off"),
    "eval/<benchmark>/unparseable": Metric("share", "completions that ended without an answer"),
    "eval/<benchmark>/error": Metric("share", "completions on which the grader failed"),
    "eval/<benchmark>/rm": Metric(
        "share", "rm@k: the candidate with the best score among k is correct; in a reward model's run, acc is rm@8"
    ),
    "eval/<benchmark>/rm_ci": Metric("share", "95 % CIs of rm@k, clustered by item, or by cluster of items"),
    "eval/<benchmark>/mean": Metric("share", "mean@k: a candidate drawn at random from the pool is correct"),
    "eval/<benchmark>/efficiency": Metric("share", "(rm@8 - mean@8) / (pass@8 - mean@8)"),
    "eval/<benchmark>/over_maj": Metric("share", "rm@8 minus maj@8, paired over items"),
    "eval/<benchmark>/efficiency_ci": Metric(
        "share", "95 % CI, clustered by item; likewise mean_ci, pass_ci, maj_ci and over_maj_ci"
    ),
    "eval/<benchmark>/score": Metric("", "mean score of the completions by the reward model in [reward]"),
    "eval/<benchmark>/q": Metric("items", "items of the benchmark"),
    "eval/<benchmark>/clusters": Metric(
        "clusters", "clusters that the items form, such as passages, where there are fewer than items; the CI is over these"
    ),
    "eval/<benchmark>/k": Metric("samples", "samples per item"),
}
"""All recorded metrics by name. evals.jsonl has the eval metrics as plain keys beside `benchmark`."""


Y_AXES = {"accuracy": "Accuracy", "length": "Tokens per completion"}
"""Labels of the y-axes that come from evals.jsonl. Any other y is the name of a metric."""


def check_y(y: str, recorded: Iterable[str] = ()) -> None:
    """Refuses a y-axis that no run records. `recorded` holds the names in these runs, which may be those of another tool."""
    known = [*Y_AXES, *(name for name in METRICS if not name.startswith("eval/"))]
    if y in known or y.startswith("reward/"):
        return
    if y not in (names := dict.fromkeys(recorded)):
        known += [name for name in names if name not in known]
        raise UsageError(f"y = {y!r}", expected=", ".join(known), write=nearest(y, known))
