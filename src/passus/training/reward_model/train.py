"""Trains a reward model: problems -> scores of their candidates -> loss -> update -> record -> rm@k on pools -> save.

A step takes P problems with G candidates each. Problems are reshuffled every epoch by the seed, so a resumed run equals the
uninterrupted one.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from passus.config.tables import Config
from passus.evaluation import best_of_n
from passus.formatting import score
from passus.grading.verdict import BOXED
from passus.models import reward_head
from passus.runs.eval_point import EvalPoint
from passus.runs.row_files import OWN_ITEMS
from passus.runs.run_folder import RunFolder
from passus.training.loop import run_steps
from passus.training.optimizer import learning_rate
from passus.training.reward_model.setup import EncodedProblem, RewardModelRun, prepare
from passus.training.step_metrics import Times, number


def train(
    config: Config, folder: RunFolder, generators: Sequence[str], check_stop: Callable[[], None], say: Callable[[str], None]
) -> None:
    """Takes a reward model from its last checkpoint to its last step; `generators` are arms of the same experiment."""
    run = prepare(config, folder, generators, check_stop, say)
    if run.progress.step:
        say(f"resumes after step {run.progress.step}")
    run_steps(run, lambda: take_eval_point(run, say), lambda: take_step(run), run.save, say)


def take_step(run: RewardModelRun) -> None:
    config, step, times = run.config, run.progress.step + 1, Times()
    with times("step"), times("update"):
        problems = draw_problems(run, step)
        stats = run.within_memory(lambda: accumulate(run, problems))
        norm, applied = run.optimizer.step(step - 1, torch.tensor(stats.loss))
        run.optimizer.zero_grad()
    progress = run.progress
    progress.step = step
    progress.skipped_in_a_row = 0 if applied else progress.skipped_in_a_row + 1
    progress.num_tokens += sum(len(row) for problem in problems for row in problem.sequences)
    progress.elapsed = time.monotonic() - run.started
    run.folder.append_metrics(
        {
            "step": step, "progress": step / config.train.steps, "train/num_tokens": progress.num_tokens,
            "train/loss": number(stats.loss), "train/pair_accuracy": float(np.mean(stats.pair_accuracy)),
            "train/margin": number(float(np.mean(stats.margins))), "train/grad_norm": number(norm),
            "train/learning_rate": learning_rate(config.train, step - 1), "train/skipped_updates": int(not applied),
            "train/micro_tokens": run.micro_tokens, "time/elapsed": progress.elapsed,
        } | times.metrics()
    )  # fmt: skip


def draw_problems(run: RewardModelRun, step: int) -> list[EncodedProblem]:
    """Returns the problems of a step from a stream that reshuffles all of them every epoch."""
    count, total = run.config.train.prompts, len(run.problems)
    places = range((step - 1) * count, step * count)
    orders = {
        epoch: random.Random(f"{run.config.seed}/epoch/{epoch}").sample(range(total), total)
        for epoch in range(places[0] // total, places[-1] // total + 1)
    }
    return [run.problems[orders[place // total][place % total]] for place in places]


@dataclass
class RewardModelStats:
    """Sums over the problems of one update."""

    loss: float = 0.0
    pair_accuracy: list[float] = field(default_factory=list)
    """Share of each problem's pairs in the right order; a tie counts half."""
    margins: list[float] = field(default_factory=list)
    """Mean score of each problem's right candidates minus that of its wrong ones."""


def accumulate(run: RewardModelRun, problems: Sequence[EncodedProblem]) -> RewardModelStats:
    """Adds up loss and gradient over micro-batches of whole problems, averaged over the problems of the step."""
    loss_of = reward_head.pairwise_loss if run.config.method.loss == "pairs" else reward_head.classification_loss
    stats = RewardModelStats()
    lengths_P = [sum(map(len, problem.sequences)) for problem in problems]
    for part in reward_head.contiguous_micro_batches(lengths_P, run.micro_tokens):
        run.check_stop()
        rows, groups = reward_head.flatten([problems[p].sequences for p in part])
        scores_N = reward_head.score_sequences(run.policy, rows, groups)
        loss = torch.zeros((), device=scores_N.device)
        for p, group in zip(part, groups, strict=True):
            right_G, scores_G = torch.tensor(problems[p].right, device=scores_N.device), scores_N[group.start : group.stop]
            loss = loss + loss_of(scores_G, right_G) / len(problems)
            margins = (scores_G[right_G][:, None] - scores_G[~right_G][None]).detach()
            stats.pair_accuracy.append(float((margins > 0).float().mean() + 0.5 * (margins == 0).float().mean()))
            stats.margins.append(float(margins.mean()))
        loss.backward()
        stats.loss += float(loss.detach())
    return stats


def take_eval_point(run: RewardModelRun, say: Callable[[str], None]) -> None:
    """Computes rm@k on the pool of every benchmark, unless that is recorded already."""
    step, config = run.progress.step, run.config
    if any(point.step == step for point in run.folder.last_evals()):
        return
    points = []
    columns: dict[str, list] = {name: [] for name in OWN_ITEMS}
    for pool, encoded, baselines in zip(run.pools, run.encoded_pools, run.baselines, strict=True):
        run.check_stop()
        began = time.monotonic()
        scores_QN = np.array(reward_head.score_encoded(run.policy, encoded, run.micro_tokens))
        numbers = best_of_n.rm_at_k_numbers(scores_QN, pool.correct_QN, baselines.majority_Q) | baselines.numbers
        row = {"step": step, "benchmark": pool.benchmark, "temperature": 0.0} | numbers
        point = EvalPoint.from_row(row | {"extract": BOXED, "time/eval": time.monotonic() - began})
        points.append(point)
        for item_row in best_of_n.item_rows(pool, scores_QN):
            for name in columns:
                columns[name].append(item_row[name])
        say(f"step {step}/{config.train.steps}  {pool.benchmark}  rm@{point.k} {score(point.acc, point.ci_low, point.ci_high)}")
    run.folder.write_rows("items", step, columns)
    run.folder.append_evals(points)
