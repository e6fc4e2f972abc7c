"""Dry run: describes what an experiment would do, with every batch size that follows from its settings. Runs nothing."""

from functools import lru_cache
from pathlib import Path

from passus.config.experiment import Experiment
from passus.config.tables import BASE_RATE_SAMPLES, Config
from passus.errors import UsageError
from passus.tasks.lookup import benchmark_size, task_parts, training_size

PROMPT_TOKENS = 256
"""Length of prompts that the prediction of memory assumes."""
GPU_SIZES = (24, 48, 80)
"""Free memory, in GB, for which the dry run says whether the arm fits."""


def describe_experiment(experiment: Experiment, out: Path) -> str:
    lines = [f"experiment {experiment.name}: {len(experiment.arms)} arm(s), run folders under {out}"]
    for arm in experiment.arms:
        varied = ", ".join(f"{key} = {value!r}" for key, value in arm.varied.items()) or "no sweep"
        lines += ["", f"arm {arm.name}  ({varied})"]
        lines += [f"  {label:<10}{text}" for label, text in _arm_rows(arm.config)]
    return "\n".join([*lines, "", f"power: {_power(experiment)}"])


def _power(experiment: Experiment) -> str:
    """Says which differences the experiment can show. The imports stand here, because only this line needs them."""
    from passus.analysis.planned_experiment import plan_experiment
    from passus.analysis.power_forecast import summary

    try:
        return summary(plan_experiment(experiment, benchmark_size))
    except UsageError as error:
        return f"unknown: {str(error).splitlines()[0][:120]}"


def _arm_rows(config: Config) -> list[tuple[str, str]]:
    """Returns the rows of an arm, each a label and its text."""
    match config.kind:
        case "reward_model":
            return _reward_model_rows(config)
        case "candidates":
            return _generator_rows(config)
        case _:
            return _policy_rows(config)


def _policy_rows(config: Config) -> list[tuple[str, str]]:
    train, table = config.train, config.eval
    samples = 1 if config.kind == "sft" else train.samples
    rows, items = train.prompts * samples, _eval_items(config)
    rounds = config.method.dynamic_sampling_rounds
    return [
        ("model", f"{config.model.base}, {_tuning(config)}, on {config.run.device}, {config.run.dtype}"),
        ("method", ", ".join(f"{key} {value}" for key, value in config.method)),
        ("task", f"{config.task.name}, {_training_data(config)}"),
        *_difficulty_rows(config),
        ("step", f"{train.prompts} prompts x {samples} samples = {rows} completions of up to {train.max_tokens} tokens"
            + (f", resampled up to {rounds} rounds" if rounds > 1 else "")
            + (" (worked solutions)" if config.kind == "sft" else "")),
        ("update", f"{train.prompts // train.updates} prompts = {rows // train.updates} completions; {train.updates} update(s) "
            f"per step, micro-batches of at most {train.micro_tokens} tokens"),
        ("training", f"{train.steps} steps = {train.steps * rows} completions, {train.steps * train.updates} updates, "
            f"{_learning_rate(config)}"),
        ("eval", f"{', '.join(table.suite)}: {items} items x {_eval_samples(config)} = "
            f"{items * sum(map(table.samples_at, table.temperatures))} completions per point, {_eval_points(config)} points"),
        *_reward_and_reader_rows(config),
        *_memory_rows(config),
        _checkpoint_row(config),
    ]  # fmt: skip


def _generator_rows(config: Config) -> list[tuple[str, str]]:
    table, items = config.candidates, _eval_items(config)
    temperatures, problems = len(table.temperatures), config.candidate_problems
    per_item = -(-table.pool // (len(table.generators) * temperatures))
    count = temperatures * (problems * table.samples + items * per_item)
    return [
        ("model", f"{config.model.base}, not trained, on {config.run.device}, {config.run.dtype}"),
        ("samples", f"{problems} problems of {config.task.name} x {table.samples} x {temperatures} temperatures, and {items} "
            f"items of the suite x {per_item} x {temperatures}: {count} candidates, up to {config.train.max_tokens} tokens"),
    ]  # fmt: skip


def _reward_model_rows(config: Config) -> list[tuple[str, str]]:
    train, table = config.train, config.candidates
    loss = "pairs of a correct and a wrong candidate" if config.method.loss == "pairs" else "each candidate correct or wrong"
    return [
        ("model", f"{config.model.base}, {_tuning(config)}, with a scalar head on the last token, on {config.run.device}, "
            f"{config.run.dtype}"),
        ("data", f"candidates of {', '.join([*table.generators, *table.files])}: {loss}"),
        ("step", f"{train.prompts} problems x {train.samples} candidates, micro-batches of at most {train.micro_tokens} "
            "tokens"),
        ("training", f"{train.steps} updates, {_learning_rate(config)}"),
        ("eval", f"{', '.join(config.eval.suite)}: {_eval_items(config)} items, pools of {table.pool}, {_eval_points(config)} "
            "points"),
        _checkpoint_row(config),
    ]  # fmt: skip


def _training_data(config: Config) -> str:
    size = config.task.limit or training_size(config.task.source)
    data = f"{size} items, repeated" if size else "always new items"
    if weights := config.task.mixture[1]:
        parts = zip(task_parts(config.task.source), weights, strict=True)
        data += "; weights " + ", ".join(f"{part} {weight}" for part, weight in parts)
    return data


def _difficulty_rows(config: Config) -> list[tuple[str, str]]:
    """Describes the pass over the training items that comes before the first step, where the order needs it."""
    if not config.task.is_tracked:
        return []
    items = min(config.task.limit, training_size(config.task.source) or config.task.limit)
    return [
        ("order", f"{config.task.order}; before the first step: {items} items x {BASE_RATE_SAMPLES} samples of the base model "
            f"= {items * BASE_RATE_SAMPLES} completions"),
    ]  # fmt: skip


def _eval_items(config: Config) -> int:
    return sum(benchmark_size(name, config.eval.limit) for name in config.eval.benchmarks)


def _eval_samples(config: Config) -> str:
    """Describes the samples per item at every temperature: `(4 samples at 1, 1 sample at 0)`."""
    counts = [(t, config.eval.samples_at(t)) for t in config.eval.temperatures]
    return "(" + ", ".join(f"{n} sample{'s' * (n > 1)} at temperature {t:g}" for t, n in counts) + ")"


def _eval_points(config: Config) -> int:
    return 1 + _count_every(config.eval.every, config.train.steps)


def _count_every(interval: int, steps: int) -> int:
    """Returns how often something happens that is done every `interval` steps and at the last step."""
    return steps // interval + (steps % interval > 0)


def _learning_rate(config: Config) -> str:
    optimizer = config.train.optimizer
    return f"learning rate {config.train.learning_rate:g} ({optimizer.schedule}, warm-up {optimizer.warmup})"


def _tuning(config: Config) -> str:
    lora = config.model.lora
    if config.model.tuning == "live":
        return "live (full fine-tuning)"
    return f"frozen (LoRA of rank {lora.rank} on {', '.join(lora.targets)})"


def _checkpoint_row(config: Config) -> tuple[str, str]:
    keep = config.run.keep_checkpoints
    count = _count_every(config.run.save_every, config.train.steps)
    return "saving", f"{count} checkpoints, " + (f"the last {keep} kept" if keep else "all kept")


def _reward_and_reader_rows(config: Config) -> list[tuple[str, str]]:
    reward, readers = config.reward, config.eval.readers
    rows = []
    if reward.model:
        rows.append(("reward", f"{reward.values.model:g} x the score of {reward.model}"))
    if reward.reader:
        rows.append(("reward", f"for the answer of {reward.reader} from the reasoning"))
    if readers:
        rows.append(("readers", f"{', '.join(readers)}: {len(readers)} answers per completion of an eval point"))
    return rows


def _memory_rows(config: Config) -> list[tuple[str, str]]:
    """Predicts the peak GPU memory. Skipped on the CPU and for nano models, because it imports torch."""
    if config.run.device == "cpu" or config.model.base.startswith("nano/"):
        return []
    # Arms that differ only in these fields need the same memory, and predicting it takes longer than all else.
    train = config.train.model_copy(update={"learning_rate": 0.0, "steps": 1})
    return list(_predicted_memory(config.model_copy(update={"name": "", "seed": 0, "train": train}).model_dump_json()))


@lru_cache(maxsize=256)
def _predicted_memory(config_json: str) -> tuple[tuple[str, str], ...]:
    import torch

    from passus.training import memory_plan

    config = Config.model_validate_json(config_json)
    dtype = torch.float32 if config.run.dtype == "float32" else torch.bfloat16
    try:
        need = memory_plan.predict_memory(config, PROMPT_TOKENS, dtype)
        plain = memory_plan.predict_memory(config, PROMPT_TOKENS, torch.float32)
    except UsageError as error:
        return (("memory", f"unknown: {str(error).splitlines()[0][:120]}"),)
    tokens = max(config.train.micro_tokens, need.longest)
    terms = {
        "weights": need.weights, "optimizer": need.optimizer, "reference": need.reference, "gradients": need.gradients,
        "activations": need.activations(tokens, 0), "logits": need.logits, "cache": need.cache,
    }  # fmt: skip
    parts = ", ".join(f"{name} {size / 1e9:.1f}" for name, size in terms.items() if size)
    peak = need.training_peak(tokens) + need.cache + need.sampling
    kind = str(dtype).removeprefix("torch.")
    rows = [("memory", f"{peak / 1e9:.0f} GB at the peak on CUDA in {kind} (prompts of {PROMPT_TOKENS} tokens): {parts}")]
    gpus = [(f"{size} GB free", size, need) for size in GPU_SIZES] + [("16 GB free, no bf16", 16, plain)]
    for name, size, needed in gpus:
        plan = memory_plan.fastest_layout(needed, size << 30, config.train.micro_tokens)
        rows.append(("", f"{name}: " + (plan.describe(needed) if plan else "does not fit")))
    return tuple(rows)
