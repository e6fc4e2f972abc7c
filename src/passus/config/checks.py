"""Refuses combinations of fields that cannot work, before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from passus.tasks.lookup import check_task

if TYPE_CHECKING:
    from passus.config.tables import Config


def check_combinations(config: Config) -> None:
    """Raises ValueError with what was given and what to write instead."""
    check_task(config.task.source, list(config.task.mixture[1]))
    _check_order(config)
    _check_candidates(config)
    _check_samples(config)
    _check_method(config)
    if config.kind == "sft":
        _check_sft(config)
    if config.kind == "reward_model":
        _check_reward_model(config)
    if bool(config.judge.url) != bool(config.judge.model):
        raise ValueError("[judge] has only one of url and model: write both, or neither")
    if (targets := config.model.lora.targets) != ["all-linear"] and "all-linear" in targets:
        raise ValueError(f'model.lora.targets = {targets}: write ["all-linear"] alone, or layers by name')
    _check_fault(config)
    if config.train.prompts % config.train.updates:
        raise ValueError(
            f"train.updates = {config.train.updates} does not divide train.prompts = {config.train.prompts}; "
            "each update takes an equal share of the prompts"
        )


def _check_order(config: Config) -> None:
    if config.task.is_tracked and not config.task.limit:
        raise ValueError(
            f'task.order = "{config.task.order}" needs a finite training set: write task.limit, such as limit = 500'
        )


def _check_candidates(config: Config) -> None:
    if config.kind == "reward_model" and not config.candidates.sources:
        raise ValueError(
            f"method.name = {config.method.name!r} learns from candidates: write [candidates] sources = "
            '["nano/qwen3", ...], or files ["candidates.parquet"]'
        )
    if config.candidates.generators and config.kind not in ("reward_model", "candidates"):
        raise ValueError(
            f"[candidates] sources with method.name = {config.method.name!r}, which learns from its own answers: write "
            'method.name = "reward_model", or leave [candidates] out'
        )


def _check_samples(config: Config) -> None:
    if config.train.samples < 2 and (config.kind == "reward_model" or (config.kind == "rl" and config.method.compares_samples)):
        raise ValueError(
            f"train.samples = {config.train.samples}: {config.method.name} compares the samples of a prompt with each other; "
            "write 2 or more (8 is usual)"
        )
    if config.train.samples < 2 and config.method.dynamic_sampling_rounds > 1:
        raise ValueError(
            "method.dynamic_sampling_rounds looks for prompts with right and wrong samples, and train.samples = 1: write "
            "dynamic_sampling_rounds = 1, or more samples"
        )


def _check_method(config: Config) -> None:
    method = config.method
    if method.lessons != "off" and config.reward.reader:
        raise ValueError(
            f"reward.reader = {config.reward.reader!r} with method.lessons: lessons are about the policy's own answers, "
            'which are not rewarded then; write reader = "", or lessons = "off"'
        )
    if method.old_logprobs == "sampler" and method.tis_cap:
        raise ValueError(
            "method.tis_cap corrects the trainer's old log-probs for the sampler's; with method.old_logprobs = "
            '"sampler" there is nothing to correct: write old_logprobs = "trainer", or tis_cap = 0'
        )
    if method.baseline == "none" and method.advantage_scale in ("group", "batch"):
        raise ValueError(
            f'method.baseline = "none" with advantage_scale = "{method.advantage_scale}": equal rewards would be '
            'divided by a standard deviation of 0; write advantage_scale = "whiten" or "none"'
        )
    if method.kl_coef and method.kl_estimator == "k1" and method.advantage_scale == "group":
        raise ValueError(
            'method.kl_estimator = "k1" with advantage_scale = "group": where the rewards of a group are equal, the noise of '
            'the KL alone would be scaled up to advantages of 1; write kl_estimator = "k3", or advantage_scale = "batch", '
            '"whiten" or "none"'
        )
    if method.dual_clip and method.dual_clip <= 1 + method.clip_high:
        raise ValueError(
            f"method.dual_clip = {method.dual_clip:g} is not above 1 + clip_high = {1 + method.clip_high:g}: write a larger "
            "number (3 is usual), or 0 to turn it off"
        )
    if method.loss == "squared" and (method.ratio != "sequence_sum" or method.loss_average != "sum"):
        raise ValueError(
            f'method.loss = "squared" is defined over whole sequences, not with ratio = "{method.ratio}" and loss_average = '
            f'"{method.loss_average}": write ratio = "sequence_sum" and loss_average = "sum"'
        )


def _check_sft(config: Config) -> None:
    if config.method.tis_cap or config.method.dynamic_sampling_rounds > 1:
        raise ValueError(
            f"method.name = {config.method.name!r} shows worked solutions and samples nothing, so there is nothing to "
            "correct or to sample again: write tis_cap = 0 and dynamic_sampling_rounds = 1"
        )
    if config.method.kl_coef or config.method.entropy_coef:
        raise ValueError(
            f"method.name = {config.method.name!r} trains the likelihood of worked solutions, without a KL or an entropy term: "
            "write kl_coef = 0 and entropy_coef = 0"
        )
    if source := config.reward.reader or config.reward.model:
        raise ValueError(f"[reward] has {source!r}: {config.method.name} has no rewards; leave it out")


def _check_reward_model(config: Config) -> None:
    """Refuses fields that the training of a reward model would ignore."""
    ignored = {
        "train.updates": config.train.updates > 1,
        "eval.on_regression": config.eval.on_regression != "nothing",
        "eval.readers": bool(config.eval.readers),
        "[reward]": config.reward != type(config.reward)(),
        "[judge]": bool(config.judge.url),
    }
    if given := [key for key, is_set in ignored.items() if is_set]:
        raise ValueError(
            f"{given[0]} with method.name = {config.method.name!r}, which learns from graded candidates with one update per "
            "step: leave it out"
        )


def _check_fault(config: Config) -> None:
    """Refuses faults in runs that have no such part."""
    fault = config.fault
    if fault.name == "none":
        return
    if config.kind != "rl":
        raise ValueError(
            f'fault.name = "{fault.name}" with method.name = {config.method.name!r}: faults are for RL; leave it out'
        )
    if fault.from_step > config.train.steps:
        raise ValueError(
            f"fault.from_step = {fault.from_step} is beyond train.steps = {config.train.steps}: write a smaller one"
        )
    if fault.name == "reversed-kl" and (not config.method.kl_coef or config.method.kl_estimator == "k1"):
        raise ValueError('fault.name = "reversed-kl" needs a KL in the loss: write method.kl_coef = 0.05, with k2 or k3')
    if fault.name == "lenient-verifier" and config.reward.reader:
        raise ValueError('fault.name = "lenient-verifier" is about the policy\'s own answers: write reward.reader = ""')
