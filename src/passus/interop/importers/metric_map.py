"""Metric names of other tools: which of passus's metrics each is, and which of them are accuracies of a benchmark."""

import re
from dataclasses import dataclass

RENAMED = {
    # TRL, also with the train/ that W&B and TensorBoard put before it
    "reward": "train/reward", "reward_std": "train/reward_std", "frac_reward_zero_std": "train/frac_reward_zero_std",
    "completions/mean_length": "train/completions/mean_length", "completion_length": "train/completions/mean_length",
    "completions/min_length": "train/completions/min_length", "completions/max_length": "train/completions/max_length",
    "completions/clipped_ratio": "train/truncated", "entropy": "train/entropy", "kl": "train/kl",
    "clip_ratio/region_mean": "train/clip_ratio/region_mean", "clip_ratio": "train/clip_ratio/region_mean",
    "clip_ratio/low_mean": "train/clip_ratio/low_mean", "clip_ratio/high_mean": "train/clip_ratio/high_mean",
    "grad_norm": "train/grad_norm", "learning_rate": "train/learning_rate", "num_tokens": "train/num_tokens",
    "loss": "train/loss", "step_time": "time/step",
    # verl
    "critic/score/mean": "train/reward", "response_length/mean": "train/completions/mean_length",
    "response_length/min": "train/completions/min_length", "response_length/max": "train/completions/max_length",
    "response_length/clip_ratio": "train/truncated", "actor/entropy": "train/entropy", "actor/entropy_loss": "train/entropy",
    "actor/kl_loss": "train/kl", "actor/ppo_kl": "train/approx_kl", "actor/pg_clipfrac": "train/clip_ratio/region_mean",
    "actor/grad_norm": "train/grad_norm", "actor/lr": "train/learning_rate", "timing_s/step": "time/step",
    # OpenRLHF
    "response_length": "train/completions/mean_length", "truncated": "train/truncated", "entropy_loss": "train/entropy",
    "ppo_clip_ratio": "train/clip_ratio/region_mean", "actor_grad_norm": "train/grad_norm", "actor_lr": "train/learning_rate",
    # prime-rl
    "entropy/all/mean": "train/entropy", "optim/grad_norm": "train/grad_norm", "optim/lr": "train/learning_rate",
    "time/step": "time/step",
}  # fmt: skip
"""Names of other tools without a leading train/, and passus's names for them."""
PRIME_RL = {
    r"train/agg/effective/[^/]+/reward/mean": "train/reward",
    r"train/agg/effective/[^/]+/num_output_tokens/mean": "train/completions/mean_length",
    r"train/agg/effective/[^/]+/is_truncated/mean": "train/truncated",
}
TOKENS_PER_STEP = "perf/total_num_tokens"
"""verl's number of tokens is that of a step; passus's is that of the run so far."""
CUMULATED = "train/num_tokens"
NO_TRAINING = ("eval/", "eval_", "val-core/", "val-aux/")

VERL_NAME = re.compile(r"(?:val-core|val-aux)/(?P<benchmark>.+)/(?P<of>[^/]+)/mean(?:@|_at_)(?P<k>\d+)")
OPENRLHF_NAME = re.compile(r"(?:eval/)?eval_(?P<benchmark>.+)_pass1")
PRIME_RL_NAME = re.compile(r"eval/(?P<benchmark>.+)/(?:effective|all)/[^/]+/(?:avg|pass)(?:@|_at_)(?P<k>\d+)")
PLAIN_NAME = re.compile(r"(?:eval|val|test|validation)[/_](?P<benchmark>.+?)[/_](?:acc|accuracy|exact_match|pass@1)", re.I)
LENGTHS = (
    re.compile(r"(?:eval/)?eval_(?P<benchmark>.+)_response_length_mean"),
    re.compile(r"eval/(?P<benchmark>.+)/tokens_mean"),
    re.compile(r"(?:val-core|val-aux)/(?P<benchmark>.+)/(?:response_length|num_tokens|length)/mean(?:@|_at_)\d+"),
)
"""MLflow allows no @ in a name, so that verl writes _at_ there."""
SAMPLES_IN_NAME = re.compile(r"(?:mean|avg|pass)(?:@|_at_)(?P<k>\d+)")


@dataclass(frozen=True)
class AccuracyName:
    """An accuracy of a benchmark, as its name says."""

    benchmark: str
    samples: int | None = None
    is_certain: bool = True
    """Whether the tool calls it an accuracy. The mean reward of a verifier is one only if it pays 1 and 0."""


def passus_name(name: str) -> str:
    """Returns passus's name of a training metric; other names stay as they are."""
    if name.startswith(NO_TRAINING):
        return name
    for pattern, renamed in PRIME_RL.items():
        if re.fullmatch(pattern, name):
            return renamed
    return RENAMED.get(name.removeprefix("train/"), name)


def accuracy_name(name: str) -> AccuracyName | None:
    """Returns what the name of a metric says, if it is an accuracy on a benchmark."""
    if match := VERL_NAME.fullmatch(name):
        if match["of"] not in ("acc", "reward", "score"):
            return None
        return AccuracyName(match["benchmark"], int(match["k"]), match["of"] == "acc")
    if match := OPENRLHF_NAME.fullmatch(name):
        return AccuracyName(match["benchmark"], 1)
    if match := PRIME_RL_NAME.fullmatch(name):
        return AccuracyName(match["benchmark"], int(match["k"])) if re.search("avg(?:@|_at_)", name) else None
    if match := PLAIN_NAME.fullmatch(name):
        return AccuracyName(match["benchmark"])
    return None


def length_name(name: str) -> str | None:
    """Returns the benchmark whose mean completion length a metric is."""
    return next((match["benchmark"] for pattern in LENGTHS if (match := pattern.fullmatch(name))), None)


def samples_in(name: str) -> int | None:
    """Returns the samples per item that a name tells: avg@16."""
    match = SAMPLES_IN_NAME.search(name)
    return int(match["k"]) if match else None
