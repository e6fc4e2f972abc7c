"""Between steps: eval points, the regression alarm, and checkpoints."""

from collections.abc import Callable

from passus.config.tables import CONTROLS, FROZEN
from passus.diagnosis.diagnose import diagnose
from passus.diagnosis.trace import read_trace
from passus.diagnosis.wording import headline
from passus.evaluation import cot_readers
from passus.evaluation.evaluate import evaluate
from passus.evaluation.suite import suite_totals
from passus.formatting import score
from passus.models import reward_head
from passus.training import regression_alarm
from passus.training.setup import return_to_checkpoint
from passus.training.state import PolicyRun
from passus.training.verify import reader_of


def take_eval_point(run: PolicyRun, say: Callable[[str], None]) -> None:
    """Evaluates the suite at the current step, unless that is recorded already."""
    step, config = run.progress.step, run.config
    if any(point.step == step for point in run.folder.last_evals()):
        return
    run.policy.refresh_sampling_model()
    points, rows = evaluate(run.policy, run.sampler, config.eval, config.eval_tokens, config.seed, step, run.suite, run.judge)
    if run.reward_model:
        points = reward_head.add_mean_scores(run.reward_model, run.suite.items, points, rows, config.train.micro_tokens)
    run.folder.write_rows("items", step, rows)
    run.folder.append_totals(suite_totals(config.eval, run.suite, points, rows))
    if config.eval.readers:
        _evaluate_readers(run, rows)
    run.folder.append_evals(points)
    for point in points:
        accuracy = score(point.acc, point.ci_low, point.ci_high)
        say(f"step {step}/{config.train.steps}  {point.benchmark}  accuracy {accuracy}  length {point.tokens_mean:.1f}")


def _evaluate_readers(run: PolicyRun, rows: dict[str, list]) -> None:
    step, config = run.progress.step, run.config
    readers = [reader_of(run, name) for name in config.eval.readers if name not in CONTROLS]
    points, columns = cot_readers.evaluate_readers(readers, run.readers.get(FROZEN), config, run.suite, rows, step, run.judge)
    run.folder.write_rows("readings", step, columns)
    run.folder.append_readings(points)


def check_regression(run: PolicyRun, say: Callable[[str], None]) -> None:
    """Responds as the experiment says when accuracy has fallen from its best by more than noise."""
    config, progress = run.config, run.progress
    response = config.eval.on_regression
    if response == "nothing" or progress.step == 0:
        return
    looks = 1 + -(-config.train.steps // config.eval.every)
    regression = regression_alarm.find_regression(run.folder, progress.watched_from, looks)
    if regression is not None:
        drop = f"{100 * regression.drop:.1f} points below the best, around step {regression.best_step}"
        say(f"alarm at step {progress.step}: {drop}")
        diagnosis = diagnose(read_trace(run.folder))
        say(f"diagnosis: {headline(diagnosis)}")
        run.folder.append_event(regression.event(progress.step, response) | {"causes": diagnosis.causes_in_short()})
        progress.watched_from, progress.ended = progress.step, response == "stop"
        if response == "return":
            return_to_checkpoint(run, regression.best_step)
            say(f"back to the weights of step {regression.best_step}, learning rate x {progress.slower:g}")
    if regression is not None or response == "return":
        save(run)


def save(run: PolicyRun) -> None:
    """Saves a checkpoint and keeps those that an alarm may return to."""
    run.folder.settle()
    returns = run.config.eval.on_regression == "return"
    run.save(regression_alarm.steps_to_keep(run.folder, run.progress.watched_from) if returns else ())
