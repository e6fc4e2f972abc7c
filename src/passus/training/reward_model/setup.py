"""Sets up the training of a reward model: candidates, pools, model and checkpoint."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from passus.config.tables import Config
from passus.errors import UsageError
from passus.evaluation import best_of_n, candidate_sets
from passus.evaluation.best_of_n import Baselines
from passus.evaluation.candidate_sets import CandidatePool, CandidateRows, ProblemSet
from passus.evaluation.suite import load_suite
from passus.models import reward_head
from passus.models.policy import Policy
from passus.models.reward_head import EncodedCandidates
from passus.runs.continuity import check_record
from passus.runs.run_folder import RunFolder
from passus.training import checkpoint
from passus.training.checkpoint import Progress
from passus.training.optimizer import Optimizer
from passus.training.state import TrainingState


@dataclass(frozen=True)
class EncodedProblem:
    """One training problem: its candidates as tokens, and which are right."""

    sequences: list[list[int]]
    right: list[bool]


@dataclass(kw_only=True)
class RewardModelRun(TrainingState):
    problems: list[EncodedProblem]
    pools: list[CandidatePool]
    encoded_pools: list[EncodedCandidates]
    baselines: list[Baselines]
    """Baselines of each pool, the same at every eval point."""

    def memory_advice(self) -> str:
        return f"train.samples below {self.config.train.samples}, or candidates of fewer tokens"


def prepare(
    config: Config, folder: RunFolder, generators: Sequence[str], check_stop: Callable[[], None], say: Callable[[str], None]
) -> RewardModelRun:
    """Loads candidates, pools and the model; `generators` are arms of the same experiment."""
    checkpoint.clean(folder.checkpoints)
    saved = checkpoint.latest(folder.checkpoints)
    progress = checkpoint.read(saved) if saved else Progress()
    if folder.exists():  # without a checkpoint, the eval point of step 0 is all that counts
        check_record(folder, progress.step)
    rows = candidate_sets.gather_candidates(config, folder.path.parent, generators)
    problem_set = candidate_sets.select_problems(rows.train, config.train.samples, config.seed)
    suite = load_suite(config.eval)
    pools = candidate_sets.make_pools(rows.eval, suite.items, config.candidates.pool, config.seed)
    data: dict[str, Any] = {
        "candidates": rows.fingerprint, "problems": len(problem_set.problems), "dropped": problem_set.dropped,
        "sha256": {pool.benchmark: pool.fingerprint for pool in pools},
    }  # fmt: skip
    check_data(folder, data)
    policy = load_model(config, saved)
    problems = encode_problems(policy, config.model.base, problem_set, pools)
    encoded_pools = [reward_head.encode_candidates(policy, pool.items_Q, pool.completions_QN) for pool in pools]
    optimizer = Optimizer(policy.model, config.train)
    if saved:
        checkpoint.restore(saved, optimizer)
    if folder.exists():
        folder.set_aside_after(progress.step, len(pools))
    remarks = [*candidate_remarks(rows, problem_set), *suite.remarks()]
    resumed_from = progress.step if saved else None
    description = policy.describe(config.model.base)
    folder.start(config, description, resumed_from, data | {"remarks": remarks}, threads=torch.get_num_threads())
    for remark in remarks:
        say(remark)
    return RewardModelRun(
        config=config, folder=folder, policy=policy, optimizer=optimizer, progress=progress, check_stop=check_stop,
        started=time.monotonic() - progress.elapsed, micro_tokens=config.train.micro_tokens, problems=problems, pools=pools,
        encoded_pools=encoded_pools, baselines=[best_of_n.baselines(pool) for pool in pools],
    )  # fmt: skip


def encode_problems(policy: Policy, name: str, problem_set: ProblemSet, pools: Sequence[CandidatePool]) -> list[EncodedProblem]:
    """Encodes all candidates, and refuses texts that the model cannot read or that do not fit its context."""
    texts = [(p.item, p.completions[0]) for p in problem_set.problems[:32]]
    texts += [(pool.items_Q[0], pool.completions_QN[0][0]) for pool in pools]
    reward_head.check_readable(policy, name, [item for item, _ in texts], [text for _, text in texts])
    problems = [
        EncodedProblem(reward_head.encode_pairs(policy, [(p.item, text) for text in p.completions]), p.right)
        for p in problem_set.problems
    ]
    reward_head.check_length(policy, name, max(len(row) for problem in problems for row in problem.sequences))
    return problems


def candidate_remarks(rows: CandidateRows, problem_set: ProblemSet) -> list[str]:
    dropped = f"{problem_set.dropped} dropped, whose candidates are all right or all wrong"
    left_out = {"whose problem is also an eval item": rows.overlapping, "on which the grader failed": rows.errors}
    return [f"{len(problem_set.problems)} problems to learn from; {dropped}"] + [
        f"{count} candidates left out, {why}" for why, count in left_out.items() if count
    ]


def load_model(config: Config, saved: Path | None) -> Policy:
    table, device, dtype, seed = config.model, config.run.device, config.run.dtype, config.seed
    if saved:
        return reward_head.resume(table, saved, device, dtype, seed)
    return reward_head.create(table, device, dtype, seed)


def check_data(folder: RunFolder, data: dict[str, Any]) -> None:
    """Refuses candidates or pools that changed since the run began: a curve must not continue with other data."""
    recorded = folder.meta()["launches"][0].get("data", {}) if folder.exists() else {}
    for key, name in (("candidates", "the candidates"), ("sha256", "the benchmarks' items or their pools")):
        if recorded.get(key) not in (None, data[key]):
            raise UsageError(
                f"{name} have changed since this run began",
                expected="the data that the run began with",
                write="the same files again, or another --out",
            )
