"""Training a reward model: problems -> scores of their candidates -> loss -> update -> record -> choose among pools -> save.

The step in the order it happens, as in train.py. A step takes P problems with G candidates each; problems are dealt anew in
every epoch, by the seed, so a run that was cut short goes on as it would have.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from passus.config.tables import Config
from passus.errors import Stop, UsageError
from passus.evaluation import best_of_n, candidates
from passus.evaluation.best_of_n import Baselines
from passus.evaluation.candidates import Gathered, Pool, Problems
from passus.evaluation.suite import load as load_suite
from passus.formatting import score
from passus.models import reward_head
from passus.models.policy import Policy
from passus.models.reward_head import EncodedCandidates
from passus.runs.eval_point import EvalPoint
from passus.runs.run_folder import ROWS, RunFolder
from passus.training import checkpoint, step_metrics
from passus.training.checkpoint import Progress
from passus.training.optimizer import Optimizer, learning_rate
from passus.training.state import Sitting
from passus.training.step_metrics import Times


@dataclass(frozen=True)
class Learned:
    """A problem as an update takes it: its candidates as tokens, and which are right."""

    sequences: list[list[int]]
    right: list[bool]


@dataclass(kw_only=True)
class Run(Sitting):
    problems: list[Learned]
    pools: list[Pool]
    asked: list[EncodedCandidates]
    """The candidates of each pool as tokens."""
    baselines: list[Baselines]
    """Of each pool; the same at every eval point."""

    def less(self) -> str:
        return f"train.samples below {self.config.train.samples}, or candidates of fewer tokens"


def train(
    config: Config, folder: RunFolder, generators: Sequence[str], check_stop: Callable[[], None], say: Callable[[str], None]
) -> None:
    """Take a reward model from where it stands to its last step; `generators` are arms of the same experiment."""
    run = prepare(config, folder, generators, check_stop, say)
    if run.progress.step:
        say(f"continues after step {run.progress.step}")
    try:
        while True:
            if run.progress.step == 0 or run.is_due(config.eval.every):
                measure(run, say)
            if run.is_due(config.run.save_every):
                run.save(is_last=run.progress.step == config.train.steps)
            if run.progress.step == config.train.steps:
                break
            take_step(run)
            run.check_finite()
    except Stop:
        run.optimizer.zero_grad()
        run.save(is_last=run.progress.step == config.train.steps)
        say(f"saved: the same command goes on from {checkpoint.latest(folder.checkpoints) or 'the start'}")
        raise


def prepare(
    config: Config, folder: RunFolder, generators: Sequence[str], check_stop: Callable[[], None], say: Callable[[str], None]
) -> Run:
    checkpoint.clean(folder.checkpoints)
    saved = checkpoint.latest(folder.checkpoints)
    progress = checkpoint.read(saved) if saved else Progress()
    given = candidates.gather(config, folder.path.parent, generators)
    found = candidates.problems(given.to_learn, config.train.samples, config.seed)
    loaded = load_suite(config.eval)
    pools = candidates.pools(given.to_choose, loaded.items, config.candidates.pool, config.seed)
    about = {"candidates": given.fingerprint, "problems": len(found.shown), "dropped": found.dropped}
    about["sha256"] = {pool.benchmark: pool.fingerprint for pool in pools}
    check_same(folder, about)
    policy = load(config, saved)
    name = config.model.base
    shown = [(p.item, p.completions[0]) for p in found.shown[:32]] + [
        (pool.items_Q[0], pool.completions_QN[0][0]) for pool in pools
    ]
    reward_head.check_readable(policy, name, [item for item, _ in shown], [text for _, text in shown])
    sequences = [[reward_head.encode_pair(policy, p.item, text) for text in p.completions] for p in found.shown]
    reward_head.check_length(policy, name, max(len(row) for rows in sequences for row in rows))
    asked = [reward_head.encode_candidates(policy, pool.items_Q, pool.completions_QN) for pool in pools]
    optimizer = Optimizer(policy.model, config.train)
    if saved:
        checkpoint.restore(saved, optimizer)
    if folder.exists():
        folder.set_aside_after(progress.step, len(pools))
    remarks = [*said_of(given, found), *loaded.remarks()]
    folder.start(config, policy.describe(name), progress.step if saved else None, about | {"remarks": remarks})
    for remark in remarks:
        say(remark)
    started = time.monotonic() - progress.elapsed
    learned = [Learned(rows, problem.right) for rows, problem in zip(sequences, found.shown, strict=True)]
    return Run(
        config=config, folder=folder, policy=policy, optimizer=optimizer, progress=progress, check_stop=check_stop,
        started=started, micro_tokens=config.train.micro_tokens, problems=learned, pools=pools, asked=asked,
        baselines=[best_of_n.baselines(pool) for pool in pools],
    )  # fmt: skip


def said_of(given: Gathered, found: Problems) -> list[str]:
    """What became of the candidates."""
    dropped = f"{found.dropped} dropped, whose candidates are all right or all wrong"
    left_out = {"whose problem is also an eval item": given.shared, "on which the grader failed": given.errors}
    return [f"{len(found.shown)} problems to learn from; {dropped}"] + [
        f"{count} candidates left out, {why}" for why, count in left_out.items() if count
    ]


def load(config: Config, saved: Path | None) -> Policy:
    table, device, dtype, seed = config.model, config.run.device, config.run.dtype, config.seed
    if saved:
        return reward_head.resume(table, saved, device, dtype, seed)
    return reward_head.create(table, device, dtype, seed)


def check_same(folder: RunFolder, about: dict) -> None:
    """A curve must not go on with other candidates, or with pools of fewer benchmarks."""
    known = folder.meta()["launches"][0].get("data", {}) if folder.exists() else {}
    for key, what in (("candidates", "the candidates"), ("sha256", "the benchmarks' items or their pools")):
        if known.get(key) not in (None, about[key]):
            raise UsageError(
                f"{what} are others since this run began",
                expected="the data that the run began with",
                write="the same files again, or another --out",
            )


def drawn(run: Run, step: int) -> list[Learned]:
    """The problems of a step: places of a stream that deals all of them anew in every epoch."""
    count, many = run.config.train.prompts, len(run.problems)
    places = range((step - 1) * count, step * count)
    orders = {
        epoch: random.Random(f"{run.config.seed}/epoch/{epoch}").sample(range(many), many)
        for epoch in range(places[0] // many, places[-1] // many + 1)
    }
    return [run.problems[orders[place // many][place % many]] for place in places]


@dataclass
class Seen:
    """What an update adds up over its problems."""

    loss: float = 0.0
    ordered: list[float] = field(default_factory=list)
    """Of each problem: the share of pairs in the right order; a tie is half."""
    margins: list[float] = field(default_factory=list)


def take_step(run: Run) -> None:
    config, step, times = run.config, run.progress.step + 1, Times()
    with times("step"), times("update"):
        shown = drawn(run, step)
        seen = run.within_memory(lambda: add_gradients(run, shown))
        norm, applied = run.optimizer.step(step - 1, torch.tensor(seen.loss))
        run.optimizer.zero_grad()
    progress = run.progress
    progress.step = step
    progress.skipped_in_a_row = 0 if applied else progress.skipped_in_a_row + 1
    progress.num_tokens += sum(len(row) for problem in shown for row in problem.sequences)
    progress.elapsed = time.monotonic() - run.started
    run.folder.append_metrics(
        {
            "step": step, "progress": step / config.train.steps, "train/num_tokens": progress.num_tokens,
            "train/loss": step_metrics.number(seen.loss), "train/pair_accuracy": float(np.mean(seen.ordered)),
            "train/margin": step_metrics.number(float(np.mean(seen.margins))), "train/grad_norm": step_metrics.number(norm),
            "train/learning_rate": learning_rate(config.train, step - 1), "train/skipped_updates": int(not applied),
            "train/micro_tokens": run.micro_tokens, "time/elapsed": progress.elapsed,
        } | times.metrics()
    )  # fmt: skip


def add_gradients(run: Run, shown: Sequence[Learned]) -> Seen:
    """Loss and gradient over micro-batches of whole problems, averaged over the problems of the step."""
    loss_of = reward_head.pairwise_loss if run.config.method.loss == "pairs" else reward_head.classification_loss
    seen = Seen()
    for part in reward_head.contiguous_micro_batches([sum(map(len, problem.sequences)) for problem in shown], run.micro_tokens):
        run.check_stop()
        rows, groups = reward_head.flatten([shown[p].sequences for p in part])
        scores_N = reward_head.score_sequences(run.policy, rows, groups)
        loss = torch.zeros((), device=scores_N.device)
        for p, group in zip(part, groups, strict=True):
            right_N, own_N = torch.tensor(shown[p].right, device=scores_N.device), scores_N[group.start : group.stop]
            loss = loss + loss_of(own_N, right_N) / len(shown)
            apart = (own_N[right_N][:, None] - own_N[~right_N][None]).detach()
            seen.ordered.append(float((apart > 0).float().mean() + 0.5 * (apart == 0).float().mean()))
            seen.margins.append(float(apart.mean()))
        loss.backward()
        seen.loss += float(loss.detach())
    return seen


def measure(run: Run, say: Callable[[str], None]) -> None:
    """rm@k of every benchmark's pool, unless it is recorded already."""
    step, config = run.progress.step, run.config
    if any(point.step == step for point in run.folder.evals()):
        return
    points = []
    columns: dict[str, list] = {name: [] for name in ROWS["items"]}
    for pool, asked, base in zip(run.pools, run.asked, run.baselines, strict=True):
        run.check_stop()
        began = time.monotonic()
        scores_QN = np.array(reward_head.score_encoded(run.policy, asked, run.micro_tokens))
        found = best_of_n.chosen(scores_QN, pool.correct_QN, base.majority_Q) | base.row
        where = {"step": step, "benchmark": pool.benchmark, "temperature": 0.0}
        point = EvalPoint.from_row(where | found | {"time/eval": time.monotonic() - began})
        points.append(point)
        for row in best_of_n.item_rows(pool, scores_QN):
            for name in columns:
                columns[name].append(row[name])
        say(f"step {step}/{config.train.steps}  {pool.benchmark}  rm@{point.k} {score(point.acc, point.ci_low, point.ci_high)}")
    run.folder.write_rows("items", step, columns)
    run.folder.append_evals(points)
