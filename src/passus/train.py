"""The step, top to bottom: prompts -> rollout -> grade -> advantage -> loss -> update -> record -> eval -> save.

One process, one set of weights, one model definition for sampling and training, so there is nothing to synchronise; the gap
between sampler and trainer is measured in every step all the same. Every draw derives from (seed, step, item, sample,
position), so a step that was cut short is simply taken again, and a resumed run is the uninterrupted one.

Left out of the textbook: critic, KL to a reference policy, replay. Run it with `passus run EXPERIMENT`.

Shapes: P prompts, G samples a prompt, N = P x G rows, C completion tokens of a micro-batch.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from passus import batch, checkpoint, logprob, metrics, models
from passus.batch import PackedBatch
from passus.checkpoint import Progress
from passus.config import Config
from passus.engine import Engine
from passus.errors import PassusError, Stop
from passus.evaluate import evaluate
from passus.grading import Grade, Verdict, grade
from passus.method import advantages, policy_loss, token_weights
from passus.metrics import Update
from passus.models import Policy
from passus.optimizer import Optimizer, learning_rate
from passus.record import RunFolder, saved_checkpoints
from passus.sampler import Prompt, Rollout, SamplingParams
from passus.tasks import training_items

STOP_AFTER_SKIPPED = 3  # updates in a row


@dataclass
class Run:
    """All that the steps of one arm share."""

    config: Config
    folder: RunFolder
    policy: Policy
    optimizer: Optimizer
    engine: Engine
    progress: Progress
    check_stop: Callable[[], None]
    started: float
    """When this sitting began, less the time of earlier ones."""


def train(config: Config, folder: RunFolder, check_stop: Callable[[], None], say: Callable[[str], None]) -> None:
    """Take a run from where it stands to its last step. `config` has no "auto" left in it."""
    run = prepare(config, folder, check_stop)
    if run.progress.step:
        say(f"continues after step {run.progress.step}")
    try:
        while True:
            if is_due(run, config.eval.every) or run.progress.step == 0:
                measure(run, say)
            if is_due(run, config.run.save_every):
                save(run)
            if run.progress.step == config.train.steps:
                break
            take_step(run)
            if run.progress.skipped_in_a_row >= STOP_AFTER_SKIPPED:
                raise not_finite(run)
    except Stop:
        run.optimizer.zero_grad()
        save(run)
        say(f"saved: the same command goes on from {checkpoint.latest(folder.checkpoints) or 'the start'}")
        raise


def prepare(config: Config, folder: RunFolder, check_stop: Callable[[], None]) -> Run:
    """Load the model, or the last checkpoint, and make the record end where that stands."""
    checkpoint.clean(folder.checkpoints)
    saved = checkpoint.latest(folder.checkpoints)
    progress = checkpoint.read(saved) if saved else Progress()
    base = str(saved) if saved else config.model.base
    policy = models.load(base, config.run.device, config.run.dtype, config.model.prompt)
    models.check_lengths(policy, config)
    optimizer = Optimizer(policy.model, config.train)
    if saved:
        checkpoint.restore(saved, optimizer)
    if folder.exists():
        folder.set_aside_after(progress.step, len(config.eval.suite) * len(config.eval.temperatures))
    folder.start(config, policy.describe(config.model.base), progress.step if saved else None)
    engine = Engine(policy.model, policy.end_tokens, interrupt=check_stop)
    return Run(config, folder, policy, optimizer, engine, progress, check_stop, time.monotonic() - progress.elapsed)


def is_due(run: Run, every: int) -> bool:
    return run.progress.step > 0 and (run.progress.step % every == 0 or run.progress.step == run.config.train.steps)


def not_finite(run: Run) -> PassusError:
    return PassusError(
        f"{run.progress.skipped_in_a_row} updates in a row were skipped, up to step {run.progress.step}: loss or gradient was "
        f"not finite; last good checkpoint: {checkpoint.latest(run.folder.checkpoints) or 'none yet'}",
        expected="a finite loss and gradient",
        write=f"a learning rate below {run.config.train.learning_rate:g}, and another --out folder",
    )


def take_step(run: Run) -> None:
    """Prompts -> rollout -> grade -> advantage -> updates -> record."""
    config, step = run.config, run.progress.step + 1
    drawn = training_items(config.task.name, config.task.limit, config.seed, step, config.train.prompts)
    prompts = [run.policy.prompt(item, number) for number, item in drawn]
    run.policy.check_fit(prompts, config.train.max_tokens, "train.max_tokens")

    started = time.monotonic()
    params = SamplingParams(
        config.train.samples, config.train.max_tokens, config.seed, "train", step, temperature=config.train.temperature
    )
    rollout = run.engine.generate(prompts, params)

    rolled_out = time.monotonic()
    texts = run.policy.texts(rollout.tokens)
    items = [item for _, item in drawn for _ in range(config.train.samples)]
    grades = [grade(text, item.gold, truncated=not f) for text, item, f in zip(texts, items, rollout.finished, strict=True)]

    graded = time.monotonic()
    worth = config.reward.model_dump() | {Verdict.ERROR: config.reward.wrong}
    rewards_PG = torch.tensor([worth[g.verdict] for g in grades]).view(config.train.prompts, config.train.samples)
    advantages_PG = advantages(rewards_PG, config.method)
    updates = learn(run, experience(run, prompts, rollout, advantages_PG, grades), step)

    updated = time.monotonic()
    run.progress.step = step
    run.progress.num_tokens += sum(len(p.tokens) for p in prompts) * config.train.samples + sum(map(len, rollout.tokens))
    run.progress.elapsed = updated - run.started
    columns = metrics.sample_columns(run.policy, items, prompts, rollout, texts, grades, rewards_PG, advantages_PG)
    run.folder.write_rows("samples", step, columns)
    run.folder.append_metrics(
        {"step": step, "progress": step / config.train.steps, "train/num_tokens": run.progress.num_tokens}
        | metrics.of_rollout(grades, rewards_PG, rollout)
        | metrics.of_updates(updates)
        | {"time/elapsed": run.progress.elapsed, "time/rollout": rolled_out - started, "time/grade": graded - rolled_out,
           "time/update": updated - graded}
    )  # fmt: skip


@dataclass
class Experience:
    """A rollout as the updates need it; L is the longest completion."""

    prompts_N: list[list[int]]
    completions_N: list[list[int]]
    sampled_NL: Tensor
    """The sampler's log-probs."""
    advantage_N: Tensor
    counts_N: Tensor
    """0 for rows left out of the loss, 1 for the others."""


def experience(run: Run, prompts: list[Prompt], rollout: Rollout, advantages_PG: Tensor, grades: list[Grade]) -> Experience:
    device = run.policy.model.device
    left_out = {Verdict.ERROR} | ({Verdict.TRUNCATED} if run.config.method.mask_truncated else set())
    sampled_NL = torch.nn.utils.rnn.pad_sequence([torch.tensor(logps) for logps in rollout.logps], batch_first=True)
    prompts_N = [list(prompt.tokens) for prompt in prompts for _ in range(run.config.train.samples)]
    counts_N = torch.tensor([0.0 if g.verdict in left_out else 1.0 for g in grades], device=device)
    return Experience(prompts_N, rollout.tokens, sampled_NL.to(device), advantages_PG.flatten().to(device), counts_N)


def learn(run: Run, seen: Experience, step: int) -> list[Update]:
    """The updates of one rollout: its prompts dealt out into equal parts, one update each."""
    config = run.config
    rows = range(len(seen.completions_N))
    share = len(rows) // config.train.updates
    anchor_NL = seen.sampled_NL if config.method.anchor == "sampler" else None
    if anchor_NL is None and config.train.updates > 1:
        anchor_NL = trainer_logprobs(run, seen)
    return [
        one_update(run, seen, list(rows[u * share : (u + 1) * share]), anchor_NL, (step - 1) * config.train.updates + u)
        for u in range(config.train.updates)
    ]


def one_update(run: Run, seen: Experience, rows: list[int], anchor_NL: Tensor | None, number: int) -> Update:
    """Loss and gradient over micro-batches, normalised over the whole update, then the optimizer's step."""
    update = Update(learning_rate(run.config.train, number))
    lengths_n = torch.tensor([len(seen.completions_N[row]) for row in rows], device=seen.counts_N.device)
    weight_N = torch.zeros_like(seen.counts_N)
    weight_N[rows] = token_weights(lengths_n, seen.counts_N[rows])
    # Rows of groups whose rewards are all equal have no gradient: they are measured only, and stay in the denominator.
    signal_N = ((seen.advantage_N != 0) & (seen.counts_N > 0)).tolist()
    for has_signal in (True, False):
        for packed in packs(run, seen, [row for row in rows if signal_N[row] is has_signal]):
            if number % run.config.train.updates == 0:  # later, the weights are no longer those of a whole step
                run.check_stop()
            with torch.set_grad_enabled(has_signal):
                logp_C, entropy_C = token_logprobs(run, packed)
                # With one update a rollout the anchor is this very pass: the ratio is 1, and only its gradient counts.
                anchor_C = logp_C.detach() if anchor_NL is None else anchor_NL[packed.row_C, packed.offset_C]
                weight_C = weight_N[packed.row_C]
                loss, counts = policy_loss(logp_C, anchor_C, seen.advantage_N[packed.row_C], weight_C, run.config.method)
            if has_signal:
                loss.backward()
            update.add(loss, counts, entropy_C, weight_C, logp_C - seen.sampled_NL[packed.row_C, packed.offset_C])
    if math.isfinite(update.loss):
        update.norm, update.applied = run.optimizer.step(number)
    run.optimizer.zero_grad()
    run.progress.skipped_in_a_row = 0 if update.applied else run.progress.skipped_in_a_row + 1
    return update


def packs(run: Run, seen: Experience, rows: list[int]) -> Iterator[PackedBatch]:
    """The micro-batches of some rows."""
    lengths = [len(seen.prompts_N[row]) + len(seen.completions_N[row]) for row in rows]
    for places in batch.micro_batches(lengths, run.config.train.micro_tokens):
        yield batch.pack([rows[i] for i in places], seen.prompts_N, seen.completions_N, run.policy.model.device)


def token_logprobs(run: Run, packed: PackedBatch) -> tuple[Tensor, Tensor]:
    """Log-probs and entropies of a pack's completion tokens, with gradients."""
    model = run.policy.model
    hidden_TE = model.model(
        packed.tokens_T[None], position_ids=packed.positions_T[None], use_cache=False, plan=packed.plan
    ).last_hidden_state[0]
    return logprob.token_logprobs(model.lm_head, hidden_TE[packed.predicts_C], packed.targets_C, run.config.train.temperature)


@torch.no_grad()
def trainer_logprobs(run: Run, seen: Experience) -> Tensor:
    """The trainer's own log-probs before the first of several updates: what their ratios are anchored to."""
    anchor_NL = torch.zeros_like(seen.sampled_NL)
    for packed in packs(run, seen, list(range(len(seen.completions_N)))):
        run.check_stop()
        anchor_NL[packed.row_C, packed.offset_C], _ = token_logprobs(run, packed)
    return anchor_NL


def measure(run: Run, say: Callable[[str], None]) -> None:
    """Take this step's eval point, if it is not recorded yet."""
    step = run.progress.step
    if any(row["step"] == step for row in run.folder.evals()):
        return
    config = run.config
    points, rows = evaluate(run.policy, run.engine, config.eval, config.eval_tokens, config.seed, step)
    run.folder.write_rows("items", step, rows)
    run.folder.append_evals(points)
    for p in points:
        score = f"{p['acc']:.3f} [{p['ci_low']:.3f}, {p['ci_high']:.3f}]"
        say(f"step {step}/{config.train.steps}  {p['benchmark']}  accuracy {score}  length {p['tokens_mean']:.1f}")


def save(run: Run) -> None:
    """A checkpoint of the last whole step, unless it stands there already, or skipped updates put the weights in doubt."""
    step, is_last = run.progress.step, run.progress.step == run.config.train.steps
    if (run.progress.skipped_in_a_row and not is_last) or step in saved_checkpoints(run.folder.checkpoints):
        return
    run.folder.sync()
    run.progress.elapsed = time.monotonic() - run.started
    checkpoint.save(run.folder.checkpoints, run.policy, run.optimizer, run.progress, run.config.run.keep)
