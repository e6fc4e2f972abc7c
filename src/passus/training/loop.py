"""The training loop: eval points, checkpoints and steps, until the last step.

Run it with `passus run EXPERIMENT`. One step is in step.py, its updates of the weights are in update.py, and the parts that
differ between kinds of runs are chosen in setup.py. Reward models take the same loop with a step of their own.
"""

from collections.abc import Callable

from passus.config.tables import Config
from passus.errors import Stop
from passus.runs.run_folder import RunFolder
from passus.training import checkpoint
from passus.training.between_steps import check_regression, save, take_eval_point
from passus.training.difficulty import base_success_rates
from passus.training.rehearsal import rehearse
from passus.training.setup import prepare
from passus.training.state import PolicyRun, TrainingState
from passus.training.step import take_step


def train(config: Config, folder: RunFolder, check_stop: Callable[[], None], say: Callable[[str], None]) -> None:
    """Takes a policy from its last checkpoint, or from the start, to its last step. `config` has no "auto" left in it."""
    run = prepare(config, folder, check_stop)
    announce(run, say)
    rehearse(run)
    run.prompts.start(lambda items: base_success_rates(run, items, say))

    def evaluate() -> None:
        take_eval_point(run, say)
        check_regression(run, say)

    run_steps(run, evaluate, lambda: take_step(run), lambda: save(run), say)


def run_steps(
    run: TrainingState, evaluate: Callable[[], None], step: Callable[[], None], save: Callable[[], None],
    say: Callable[[str], None],
) -> None:  # fmt: skip
    """Evaluates, saves and takes steps until the last one. Asked to stop, it saves the last whole step and raises Stop."""
    try:
        while True:
            if run.is_due(run.config.eval.every) or run.progress.step == 0:
                evaluate()
            if run.is_due(run.config.run.save_every):
                save()
            if run.is_last_step:
                break
            step()
            run.check_finite()
    except Stop:
        run.optimizer.zero_grad()
        save()
        say(f"saved: the same command resumes from {checkpoint.latest(run.folder.checkpoints) or 'the start'}")
        raise


def announce(run: PolicyRun, say: Callable[[str], None]) -> None:
    for remark in run.remarks:
        say(remark)
    if run.cuda.description:
        say(f"memory: {run.cuda.description}")
    if run.progress.step:
        say(f"resumes after step {run.progress.step}")
