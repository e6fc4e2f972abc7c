"""The plan of an experiment: what it would do, with every batch size that follows from its settings. Runs nothing.

Settings that all arms share are printed once, and those in which arms differ are a table with a row per arm.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from passus.config.experiment import Arm, Experiment
from passus.config.tables import BASE_RATE_SAMPLES, Config
from passus.errors import UsageError
from passus.formatting import duration
from passus.launch.arm_table import arm_table
from passus.launch.reward_formula import reward_formula
from passus.methods.presets import PRESETS
from passus.tasks.lookup import benchmark_size, task_parts, training_size

PROMPT_TOKENS = 256
"""Length of prompts that the prediction of memory assumes."""
GPU_SIZES = (24, 48, 80)
"""Free memory, in GB, for which the dry run says whether the arm fits."""
IN_TABLE = ("model", "method", "task", "rate")
"""Rows that are left out where arms differ in them, because the table of arms has their fields."""
MAX_TEXTS = 3
"""Different texts of a row that are printed."""
KINDS = {"candidates": "generators of candidates", "reward_model": "reward models", "sft": "policies", "rl": "policies"}
INDENT = 12
"""Width of the labels."""


def describe_experiment(
    experiment: Experiment, out: Path, times: Mapping[str, float | str] | None = None, remarks: Sequence[str] = ()
) -> str:
    """Describes all arms. `times` has the seconds of each arm or why they are unknown; `remarks` is what checks have found."""
    count = len(experiment.arms)
    lines = [f"experiment {experiment.name}: {count} arm{'s' * (count != 1)}, run folders under {out}"]
    kinds = dict.fromkeys(KINDS[arm.config.kind] for arm in experiment.arms)
    for kind in kinds:
        arms = [arm for arm in experiment.arms if KINDS[arm.config.kind] == kind]
        lines += ["", *_describe_arms(arms, kind if len(kinds) > 1 else "", times or {})]
    lines += ["", *(f"warning: {remark}" for remark in remarks), *_time_lines(times or {})]
    return "\n".join([*lines, f"power: {power_summary(experiment)}"])


def _describe_arms(arms: Sequence[Arm], kind: str, times: Mapping[str, float | str]) -> list[str]:
    """Describes arms of one kind: what they share, then the table of their differences."""
    title = f"{len(arms)} {kind}" if kind else ("all arms" if len(arms) > 1 else f"arm {arms[0].name}")
    lines = [title, *_shared_rows(arms)]
    if len(arms) == 1:
        return lines
    known = {arm.name: _time(times[arm.name]) if arm.name in times else "finished" for arm in arms}
    return [*lines, "", *arm_table(arms, {"time": known} if times else {})]


def _time(seconds: float | str) -> str:
    """Formats the time of an arm, which is a text where it is not known."""
    return "unknown" if isinstance(seconds, str) else duration(seconds)


def _time_lines(times: Mapping[str, float | str]) -> list[str]:
    """Says how long the experiment takes, what that rests on, and for which arms it is not known."""
    known = [seconds for seconds in times.values() if not isinstance(seconds, str)]
    reasons: dict[str, list[str]] = {}
    for name, reason in times.items():
        if isinstance(reason, str):
            reasons.setdefault(reason, []).append(name)
    lines = [f"time: {reason}   ({_named(names)})" for reason, names in reasons.items()]
    if known:
        arms = f"{len(known)} arms one after another" if len(known) > 1 else "the arm"
        lines.insert(0, f"time: about {duration(sum(known))} for {arms}: an estimate from a step that was run on this machine "
            "just now. Completions that grow take longer")  # fmt: skip
    return lines


def _shared_rows(arms: Sequence[Arm]) -> list[str]:
    """Returns a line per row that all arms share, and a line per text where few arms differ."""
    texts: dict[str, dict[str, list[str]]] = {}
    for arm in arms:
        for label, text in _arm_rows(arm.config):
            texts.setdefault(label, {}).setdefault(text, []).append(arm.name)
    lines = []
    for label, names in texts.items():
        if len(names) == 1 and sum(map(len, names.values())) == len(arms):
            lines.append(_row(label, next(iter(names))))
        elif label not in IN_TABLE:
            lines += [_row(label, f"{text}   ({_named(of)})") for text, of in list(names.items())[:MAX_TEXTS]]
            lines += [_row("", f"and {len(names) - MAX_TEXTS} more")] * (len(names) > MAX_TEXTS)
    return lines


def _row(label: str, text: str) -> str:
    return f"  {label:<{INDENT - 2}}" + text.replace("\n", "\n" + " " * INDENT)


def _named(names: Sequence[str]) -> str:
    return f"{', '.join(names[:MAX_TEXTS])}{', ...' if len(names) > MAX_TEXTS else ''}"


def power_summary(experiment: Experiment) -> str:
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
        ("model", config.model.base),
        ("tuning", _tuning(config)),
        ("device", f"{config.run.device}, {config.run.dtype}"),
        ("method", _method(config)),
        ("task", f"{config.task.name}, {_training_data(config)}"),
        *_difficulty_rows(config),
        ("step", f"{train.prompts} prompts x {samples} samples = {rows} completions of up to {train.max_tokens} tokens"
            + (f", resampled up to {rounds} rounds" if rounds > 1 else "")
            + (" (worked solutions)" if config.kind == "sft" else "")),
        ("update", f"{train.prompts // train.updates} prompts = {rows // train.updates} completions; {train.updates} update(s) "
            f"per step, micro-batches of at most {train.micro_tokens} tokens"),
        ("training", f"{train.steps} steps = {train.steps * rows} completions, {train.steps * train.updates} updates"),
        ("rate", _learning_rate(config)),
        ("eval", f"{', '.join(table.suite)}: {items} items x {_eval_samples(config)} = "
            f"{items * sum(map(table.samples_at, table.temperatures))} completions per point, {eval_points(config)} points"),
        *([("reward", f"= {reward_formula(config)}")] if config.kind == "rl" else []),
        *_reader_rows(config),
        *_memory_rows(config),
        _checkpoint_row(config),
    ]  # fmt: skip


def _generator_rows(config: Config) -> list[tuple[str, str]]:
    table, items = config.candidates, _eval_items(config)
    temperatures, problems = len(table.temperatures), config.candidate_problems
    per_item = -(-table.pool // (len(table.generators) * temperatures))
    count = temperatures * (problems * table.samples + items * per_item)
    return [
        ("model", config.model.base),
        ("device", f"{config.run.device}, {config.run.dtype}"),
        ("samples", f"{problems} problems of {config.task.name} x {table.samples} x {temperatures} temperatures, and {items} "
            f"items of the suite x {per_item} x {temperatures}: {count} candidates, up to {config.train.max_tokens} tokens"),
    ]  # fmt: skip


def _reward_model_rows(config: Config) -> list[tuple[str, str]]:
    train, table = config.train, config.candidates
    loss = "pairs of a correct and a wrong candidate" if config.method.loss == "pairs" else "each candidate correct or wrong"
    return [
        ("model", config.model.base),
        ("tuning", f"{_tuning(config)}, with a scalar head on the last token"),
        ("device", f"{config.run.device}, {config.run.dtype}"),
        ("data", f"candidates of {', '.join([*table.generators, *table.files])}: {loss}"),
        ("step", f"{train.prompts} problems x {train.samples} candidates, micro-batches of at most {train.micro_tokens} "
            "tokens"),
        ("training", f"{train.steps} updates"),
        ("rate", _learning_rate(config)),
        ("eval", f"{', '.join(config.eval.suite)}: {_eval_items(config)} items, pools of {table.pool}, {eval_points(config)} "
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
    """Returns the number of eval items. A benchmark that cannot be read has none: a run leaves it out and says so."""
    sizes = []
    for name in config.eval.benchmarks:
        try:
            sizes.append(benchmark_size(name, config.eval.limit))
        except UsageError:
            sizes.append(0)
    return sum(sizes)


def _method(config: Config) -> str:
    """Returns the name of the method, with the fields in which it differs from the preset."""
    method, preset = config.method, PRESETS[config.method.name]
    return ", ".join([method.name, *(f"{key} {value}" for key, value in method if value != getattr(preset, key))])


def _eval_samples(config: Config) -> str:
    """Describes the samples per item at every temperature: `(4 samples at 1, 1 sample at 0)`."""
    counts = [(t, config.eval.samples_at(t)) for t in config.eval.temperatures]
    return "(" + ", ".join(f"{n} sample{'s' * (n > 1)} at temperature {t:g}" for t, n in counts) + ")"


def eval_points(config: Config) -> int:
    return 1 + _count_every(config.eval.every, config.train.steps)


def _count_every(interval: int, steps: int) -> int:
    """Returns how often something happens that is done every `interval` steps and at the last step."""
    return steps // interval + (steps % interval > 0)


def _learning_rate(config: Config) -> str:
    optimizer = config.train.optimizer
    return f"{config.train.learning_rate:g} ({optimizer.schedule}, warm-up {optimizer.warmup})"


def _tuning(config: Config) -> str:
    lora = config.model.lora
    if config.model.tuning == "live":
        return "live (full fine-tuning)"
    return f"frozen (LoRA of rank {lora.rank} on {', '.join(lora.targets)})"


def _checkpoint_row(config: Config) -> tuple[str, str]:
    keep = config.run.keep_checkpoints
    count = _count_every(config.run.save_every, config.train.steps)
    return "saving", f"{count} checkpoint{'s' * (count != 1)}, " + (f"the last {keep} kept" if keep else "all kept")


def _reader_rows(config: Config) -> list[tuple[str, str]]:
    if not (readers := config.eval.readers):
        return []
    return [("readers", f"{', '.join(readers)}: {len(readers)} answers per completion of an eval point")]


def _memory_rows(config: Config) -> list[tuple[str, str]]:
    """Predicts the peak GPU memory. Skipped on the CPU and for nano models, because it imports torch."""
    if config.run.device == "cpu" or config.model.base.startswith("nano/"):
        return []
    # Arms that differ only in these fields need the same memory, and predicting it takes longer than all else.
    train = config.train.model_copy(update={"learning_rate": 0.0, "steps": 1})
    return [("memory", _predicted_memory(config.model_copy(update={"name": "", "seed": 0, "train": train}).model_dump_json()))]


@lru_cache(maxsize=256)
def _predicted_memory(config_json: str) -> str:
    import torch

    from passus.training import memory_plan

    config = Config.model_validate_json(config_json)
    dtype = torch.float32 if config.run.dtype == "float32" else torch.bfloat16
    try:
        need = memory_plan.predict_memory(config, PROMPT_TOKENS, dtype)
        plain = memory_plan.predict_memory(config, PROMPT_TOKENS, torch.float32)
    except UsageError as error:
        return f"unknown: {str(error).splitlines()[0][:120]}"
    tokens = max(config.train.micro_tokens, need.longest)
    terms = {
        "weights": need.weights, "optimizer": need.optimizer, "reference": need.reference, "gradients": need.gradients,
        "activations": need.activations(tokens, 0), "logits": need.logits, "cache": need.cache,
    }  # fmt: skip
    parts = ", ".join(f"{name} {size / 1e9:.1f}" for name, size in terms.items() if size)
    peak = need.training_peak(tokens) + need.cache + need.sampling
    kind = str(dtype).removeprefix("torch.")
    lines = [f"{peak / 1e9:.0f} GB at the peak on CUDA in {kind} (prompts of {PROMPT_TOKENS} tokens): {parts}"]
    gpus = [(f"{size} GB free", size, need) for size in GPU_SIZES] + [("16 GB free, no bf16", 16, plain)]
    for name, size, needed in gpus:
        plan = memory_plan.fastest_layout(needed, size << 30, config.train.micro_tokens)
        lines.append(f"{name}: " + (plan.describe(needed) if plan else "does not fit"))
    return "\n".join(lines)
