"""Sets a run up: loads model, data and checkpoint, chooses the seams of the step (prompts, rollout, verify, score,
update), and opens the record.

Whatever cannot work is refused here, before anything is recorded.
"""

import gc
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from passus.config.tables import LIVE, Config
from passus.errors import UsageError
from passus.evaluation import cot_readers
from passus.evaluation.suite import LoadedSuite
from passus.models import loader, reward_head
from passus.models.lora import weights_fingerprint
from passus.models.policy import Policy
from passus.runs.continuity import check_record
from passus.runs.run_folder import RunFolder, saved_checkpoints
from passus.tasks import benchmarks, dataset
from passus.tasks.lookup import task_parts
from passus.training import checkpoint, faults, regression_alarm, rewards
from passus.training.checkpoint import Progress
from passus.training.cuda_layout import apply_layout, plan_layout, recompute_layers
from passus.training.input_checks import check_inputs, check_old_logprobs, reward_model_items
from passus.training.optimizer import Optimizer
from passus.training.prompt_order import PrioritisedPrompts, StreamPrompts
from passus.training.rollout import sample_completions, show_solutions
from passus.training.state import PolicyRun
from passus.training.update import update
from passus.training.verify import verify_answers, verify_reader_answers


def prepare(config: Config, folder: RunFolder, check_stop: Callable[[], None]) -> PolicyRun:
    """Loads the base model or the last checkpoint, and cuts the record back to where that stands."""
    checkpoint.clean(folder.checkpoints)
    saved = checkpoint.latest(folder.checkpoints)
    progress = checkpoint.read(saved) if saved else Progress()
    if folder.exists():  # without a checkpoint, the eval point of step 0 is all that counts
        check_record(folder, progress.step)
    dataset.pin_commits(recorded_data(folder).get("commits") or {})
    check_old_logprobs(config)
    reward_function = rewards.load_function(config.reward.function)
    policy = loader.load_trainable(config.model, config.run.device, config.run.dtype, config.seed, saved)
    inputs = check_inputs(config, policy)
    suite = inputs.suite
    reward_model = load_reward_model(config, folder, suite)
    readers = cot_readers.load_frozen_readers(config, check_stop)  # before memory is planned: their weights are no longer free
    cot_readers.check_context_lengths(config, policy, {name: reader.policy for name, reader in readers.items()}, suite)
    layout = plan_layout(config, policy, progress.drawn)
    reference = load_reference(config, folder) if config.method.kl_coef and policy.adapter is None else None
    optimizer = Optimizer(policy.model, config.train, progress.slower)
    if saved:
        checkpoint.restore(saved, optimizer)
    hashes = check_data(folder, config, suite)
    if folder.exists():
        folder.set_aside_after(progress.step, len(suite.items) * len(config.eval.temperatures))
    remarks = [*inputs.remarks(), *fault_remarks(config)]
    data = {
        "left_out": suite.left_out, "unjudged": suite.unjudged, "overlap": [vars(overlap) for overlap in inputs.overlaps],
        "sha256": hashes, "remarks": remarks, "commits": dict(dataset.commits),
    } | ({"scorer": reward_model.fingerprint} if reward_model else {})  # fmt: skip
    resumed_from = progress.step if saved else None
    folder.start(config, policy.describe(config.model.base), resumed_from, data, threads=torch.get_num_threads())
    run = PolicyRun(
        config=config, folder=folder, policy=policy, optimizer=optimizer, sampler=policy.sampler(check_stop),
        reference=reference, reward_function=reward_function, progress=progress, check_stop=check_stop,
        started=time.monotonic() - progress.elapsed, micro_tokens=config.train.micro_tokens, suite=suite, judge=inputs.judge,
        reward_model=reward_model, readers=readers, remarks=remarks, prompts=choose_prompts(config, progress),
    )  # fmt: skip
    choose_seams(run)
    if layout:
        apply_layout(run, *layout)
    return run


def fault_remarks(config: Config) -> list[str]:
    fault = config.fault.describe()
    return [f"this run has a fault on purpose: {fault}"] if fault else []


def choose_prompts(config: Config, progress: Progress) -> StreamPrompts | PrioritisedPrompts:
    if config.task.is_tracked:
        return PrioritisedPrompts(config.task, config.seed, progress)
    return StreamPrompts(config.task, config.seed)


def choose_seams(run: PolicyRun) -> None:
    """Chooses the seams rollout, verify, score and update; `choose_prompts` chooses the first."""
    match run.config.kind, run.config.reward.reader:
        case "sft", _:
            run.rollout, run.verify = partial(show_solutions, run), partial(verify_answers, run)
        case _, "":
            run.rollout, run.verify = partial(sample_completions, run), partial(verify_answers, run)
        case _:
            run.rollout, run.verify = partial(sample_completions, run), partial(verify_reader_answers, run)
    run.score, run.update = partial(rewards.score, run), partial(update, run)
    faults.inject(run)


def load_reward_model(config: Config, folder: RunFolder, suite: LoadedSuite) -> Policy | None:
    """Loads a reward model that can read the problems, and refuses one that has changed since the run began."""
    name = config.reward.model
    if not name:
        return None
    items, longest = reward_model_items(config, suite), max(config.train.max_tokens, config.eval_tokens)
    reward_model = reward_head.load_checked(name, f"reward.model = {name}", items, longest, config.run.device, config.run.dtype)
    recorded = recorded_data(folder).get("scorer")
    if recorded not in (None, reward_model.fingerprint):
        raise UsageError(
            f"reward.model = {name!r} has changed since this run began",
            expected="the same weights",
            write="model = RUN@step   where it is a run that is still training",
        )
    return reward_model


def check_data(folder: RunFolder, config: Config, suite: LoadedSuite) -> dict[str, str]:
    """Returns a SHA-256 of every benchmark's and training set's items, and refuses data that changed since the run began."""
    hashes = {name: dataset.fingerprint(items) for name, items in suite.items.items()}
    for part in task_parts(config.task.source):
        if row := benchmarks.find_training_set(part):
            hashes[f"training: {part}"] = dataset.fingerprint(dataset.load_items(row))
    recorded = recorded_data(folder).get("sha256", {})
    for name in recorded:
        if name not in hashes or hashes[name] != recorded[name]:
            raise UsageError(
                f"{name}: its items {'are gone' if name not in hashes else 'have changed'} since this run began",
                expected="the data that the run began with: a curve must not continue with other items",
                write="the same files or $PASSUS_DATA again, or another --out",
            )
    return hashes


def recorded_data(folder: RunFolder) -> dict[str, Any]:
    """Returns what the first launch of a run recorded about its data; empty for a new run."""
    data: dict[str, Any] = (folder.meta()["launches"][0].get("data") or {}) if folder.exists() else {}
    return data


def load_reference(config: Config, folder: RunFolder) -> Any:
    """Loads the policy before training, and refuses a base that has changed since the run began."""
    reference = loader.load(config.model.base, config.run.device, config.run.dtype).model
    recorded = folder.meta()["model"].get("fingerprint") if folder.exists() else None
    if recorded not in (None, weights_fingerprint(reference)):
        raise UsageError(
            f"model.base = {config.model.base!r} has changed since this run began",
            expected="the same weights, as reference policy",
            write="base = RUN@step   where the base is a run that is still training",
        )
    return reference


def return_to_checkpoint(run: PolicyRun, step: int) -> None:
    """Loads the weights and moments of an earlier checkpoint, at a lower learning rate. The step count stays."""
    saved = saved_checkpoints(run.folder.checkpoints)[step]
    checkpoint.read(saved)  # refuses a damaged one
    run.make_room()
    run.progress.slower *= regression_alarm.SLOWER
    config = run.config
    cache_bytes, max_rows = run.sampler.cache_bytes, run.sampler.max_rows
    run.readers.pop(LIVE, None)  # it holds the weights from before
    del run.policy, run.optimizer, run.sampler  # two sets of weights and moments may not fit the memory
    gc.collect()  # modules refer to each other
    torch.cuda.empty_cache()
    run.policy = loader.load_trainable(config.model, config.run.device, config.run.dtype, config.seed, saved)
    run.optimizer = Optimizer(run.policy.model, config.train, run.progress.slower)
    checkpoint.restore(saved, run.optimizer)
    run.sampler = run.policy.sampler(run.check_stop)
    run.sampler.cache_bytes, run.sampler.max_rows = cache_bytes, max_rows
    faults.inject_into_sampler(run)
    recompute_layers(run)
