"""The training loop: eval points, checkpoints and steps, until the last step.

Run it with `passus run EXPERIMENT`. One step is in step.py, its updates of the weights are in update.py, and the parts that
differ between kinds of runs are chosen in setup.py.
"""

from collections.abc import Callable

import torch

from passus.config.tables import Config
from passus.errors import Stop
from passus.runs.run_folder import RunFolder
from passus.training import checkpoint
from passus.training.between_steps import check_regression, save, take_eval_point
from passus.training.cuda_layout import rehearse
from passus.training.difficulty import base_success_rates
from passus.training.prompt_order import PrioritisedPrompts
from passus.training.rows import TrainingRows
from passus.training.setup import prepare
from passus.training.state import PolicyRun
from passus.training.step import take_step
from passus.training.update import accumulate


def train(config: Config, folder: RunFolder, check_stop: Callable[[], None], say: Callable[[str], None]) -> None:
    """Takes a run from its last checkpoint, or from the start, to its last step. `config` has no "auto" left in it."""
    run = prepare(config, folder, check_stop)
    announce(run, say)
    rehearse_updates(run)
    if isinstance(run.prompts, PrioritisedPrompts) and not run.progress.rates:
        run.progress.base_rates = run.progress.rates = base_success_rates(run, run.prompts.items, say)
    try:
        while True:
            if run.is_due(config.eval.every) or run.progress.step == 0:
                take_eval_point(run, say)
                check_regression(run, say)
            if run.is_due(config.run.save_every):
                save(run)
            if run.is_last_step:
                break
            take_step(run)
            run.check_finite()
    except Stop:
        run.optimizer.zero_grad()
        save(run)
        say(f"saved: the same command resumes from {checkpoint.latest(folder.checkpoints) or 'the start'}")
        raise


def announce(run: PolicyRun, say: Callable[[str], None]) -> None:
    for remark in run.remarks:
        say(remark)
    if run.cuda.description:
        say(f"memory: {run.cuda.description}")
    if run.progress.step:
        say(f"resumes after step {run.progress.step}")


def rehearse_updates(run: PolicyRun) -> None:
    """Runs the largest micro-batch once before the first step; only CUDA needs it."""

    def largest_update(count: int) -> None:
        completion = run.config.train.max_tokens
        device = run.policy.model.device
        ones_N = torch.ones(count, device=device)
        prompts, completions = [[0] * (run.cuda.longest - completion)] * count, [[0] * completion] * count
        sampled_NL = torch.zeros(count, completion, device=device)
        rows = TrainingRows("policy", prompts, completions, [0] * count, ones_N, ones_N, sampled_NL)
        accumulate(run, [(rows, list(range(count)))], 0)

    rehearse(run, largest_update)
