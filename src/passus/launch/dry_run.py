"""What an experiment will do, said before it does it: arms, and every batch size that follows from the few that are set."""

from pathlib import Path

from passus.config.experiment import Experiment
from passus.config.tables import Config
from passus.errors import UsageError
from passus.tasks.lookup import benchmark_size, task_parts, training_size

LONG_PROMPT = 256
CARDS = (24, 48, 80)


def describe(experiment: Experiment, out: Path) -> str:
    lines = [f"experiment {experiment.name}: {len(experiment.arms)} arm(s), run folders under {out}"]
    for arm in experiment.arms:
        varied = ", ".join(f"{key} = {value!r}" for key, value in arm.varied.items()) or "no sweep"
        lines += ["", f"arm {arm.name}  ({varied})", *(f"  {line}" for line in _arm(arm.config))]
    return "\n".join(lines)


def _arm(config: Config) -> list[str]:
    train, table = config.train, config.eval
    samples = 1 if config.method.loss == "likelihood" else train.samples
    rows = train.prompts * samples
    points = 1 + len({*range(table.every, train.steps + 1, table.every), train.steps})
    saves = len({*range(config.run.save_every, train.steps + 1, config.run.save_every), train.steps})
    items = sum(benchmark_size(name, table.limit) for name in table.benchmarks)
    if config.method.scores:
        return _reward_model(config, points, saves, items)
    if config.method.draws:
        return _generator(config, items)
    finite = config.task.limit or training_size(config.task.name)
    data = f"{finite} items, again and again" if finite else "always new items"
    if config.task.weights:
        data += "; shares " + ", ".join(
            f"{part} {w}" for part, w in zip(task_parts(config.task.name), config.task.weights, strict=True)
        )
    return [
        f"model     {config.model.base}, {_tuning(config)}, on {config.run.device}, {config.run.dtype}",
        "method    " + ", ".join(f"{key} {value}" for key, value in config.method),
        f"task      {config.task.name}, {data}",
        f"a step    {train.prompts} prompts x {samples} samples = {rows} completions of up to {train.max_tokens} tokens"
        + (f", drawn again up to {config.method.rounds} rounds" if config.method.rounds > 1 else "")
        + (" (worked solutions)" if config.method.loss == "likelihood" else ""),
        f"an update {train.prompts // train.updates} prompts = {rows // train.updates} completions; "
        f"{train.updates} update(s) a step, micro-batches of at most {train.micro_tokens} tokens",
        f"training  {train.steps} steps = {train.steps * rows} completions, {train.steps * train.updates} updates, "
        f"learning rate {train.learning_rate:g} ({train.schedule}, warm-up {train.warmup})",
        f"eval      {', '.join(table.suite)}: {items} items x {table.samples} samples x {len(table.temperatures)} temperatures"
        f" = {items * table.samples * len(table.temperatures)} completions a point, {points} points",
        *_readers(config),
        *_memory(config),
        f"saving    {saves} checkpoints, " + (f"the last {config.run.keep} kept" if config.run.keep else "all kept"),
    ]


def _generator(config: Config, items: int) -> list[str]:
    table = config.candidates
    temperatures = len(table.temperatures)
    each = -(-table.pool // (len(table.generators) * temperatures))
    return [
        f"model     {config.model.base}, as it is, on {config.run.device}, {config.run.dtype}",
        f"draws     {table.problems} problems of {config.task.name} x {table.samples} x {temperatures} temperatures, and "
        f"{items} items of the suite x {each} x {temperatures}: "
        f"{temperatures * (table.problems * table.samples + items * each)} candidates, up to {config.train.max_tokens} tokens",
    ]


def _reward_model(config: Config, points: int, saves: int, items: int) -> list[str]:
    train, table = config.train, config.candidates
    loss = "pairs of right and wrong" if config.method.loss == "pairs" else "right or wrong, each by itself"
    return [
        f"model     {config.model.base}, {_tuning(config)}, with one number on the last token, on {config.run.device}, "
        f"{config.run.dtype}",
        f"learns    from {', '.join([*table.generators, *table.files])}: {loss}",
        f"a step    {train.prompts} problems x {train.samples} candidates, micro-batches of up to {train.micro_tokens} tokens",
        f"training  {train.steps} updates, learning rate {train.learning_rate:g} ({train.schedule}, warm-up {train.warmup})",
        f"eval      {', '.join(config.eval.suite)}: {items} items, pools of {table.pool}, {points} points",
        f"saving    {saves} checkpoints, " + (f"the last {config.run.keep} kept" if config.run.keep else "all kept"),
    ]


def _readers(config: Config) -> list[str]:
    paid, watching = config.reward.reader, config.eval.readers
    scored = [f"reward    {config.reward.model_weight:g} x the score of {config.reward.model}"] if config.reward.model else []
    return (
        scored
        + ([f"reward    of what {paid} answers from the reasoning"] if paid else [])
        + (
            [f"readers   {', '.join(watching)}: {len(watching)} answers to each completion of an eval point"]
            if watching
            else []
        )
    )


def _tuning(config: Config) -> str:
    model = config.model
    return "live" if model.tuning == "live" else f"frozen, adapter of rank {model.rank} on {', '.join(model.targets)}"


def _memory(config: Config) -> list[str]:
    """What a GPU would have to hold. Small models on a CPU need no plan, and this one needs torch."""
    if config.run.device == "cpu" or config.model.base.startswith("nano/"):
        return []
    import torch

    from passus.training import memory_plan

    dtype = torch.float32 if config.run.dtype == "float32" else torch.bfloat16
    try:
        need = memory_plan.predict(config, LONG_PROMPT, dtype)
        plain = memory_plan.predict(config, LONG_PROMPT, torch.float32)
    except UsageError as error:
        return [f"memory    not known: {str(error).splitlines()[0][:120]}"]
    tokens = max(config.train.micro_tokens, need.longest)
    terms = {
        "weights": need.weights, "optimizer": need.optimizer, "reference": need.reference, "gradients": need.gradients,
        "activations": need.activations(tokens, 0), "logits": need.logits, "cache": need.cache,
    }  # fmt: skip
    shown = ", ".join(f"{name} {size / 1e9:.1f}" for name, size in terms.items() if size)
    peak = need.training(tokens) + need.cache + need.sampling
    kind = str(dtype).removeprefix("torch.")
    lines = [f"memory    {peak / 1e9:.0f} GB at the peak on CUDA in {kind} (prompts of {LONG_PROMPT} tokens): {shown}"]
    cards = [(f"{size} GB free", size, need) for size in CARDS] + [("16 GB free, no bf16", 16, plain)]
    for name, size, needed in cards:
        found = memory_plan.fit(needed, size << 30, config.train.micro_tokens)
        lines.append(f"          {name}: " + (found.describe(needed) if found else "does not fit"))
    return lines
