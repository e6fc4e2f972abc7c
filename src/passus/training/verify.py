"""Verification: grades of a rollout's completions, from the policy's own answers or from a CoT reader's."""

from passus.config.tables import LIVE
from passus.evaluation import cot_readers
from passus.evaluation.cot_readers import Reader
from passus.evaluation.grade_rollout import grade_rollout
from passus.training.rollout_batch import RolloutBatch
from passus.training.state import PolicyRun
from passus.training.step_metrics import Times


def verify_answers(run: PolicyRun, batch: RolloutBatch, times: Times) -> RolloutBatch:
    """Grades the policy's own answers."""
    with times("grade"):
        graded = grade_rollout(run.policy, batch.rollout, batch.items_N)
        batch.texts_N, batch.grades_N = graded.texts_N, graded.grades_N
    return batch


def verify_reader_answers(run: PolicyRun, batch: RolloutBatch, times: Times) -> RolloutBatch:
    """Grades what a CoT reader answers from the policy's reasoning, beside the policy's own answers."""
    batch = verify_answers(run, batch, times)
    with times("read"):
        reading = read_reasoning(run, batch)
        batch.reader_grades_N, batch.reader_tokens = reading.grades_N, reading.tokens
        batch.trained_tokens_N = cot_readers.reasoning_tokens(run.policy, batch.rollout.tokens, batch.texts_N)
    return batch


def read_reasoning(run: PolicyRun, batch: RolloutBatch) -> cot_readers.Reading:
    reasonings = [cot_readers.reasoning(text) for text in batch.texts_N]
    return cot_readers.read_texts(reader_of(run, run.config.reward.reader), batch.items_N, reasonings, run.config.seed)


def reader_of(run: PolicyRun, name: str) -> Reader:
    """Returns a reader by name. The live one is made on first use and kept, because naming it reads every weight."""
    if name == LIVE and LIVE not in run.readers:
        run.readers[LIVE] = cot_readers.live_reader(run.policy, run.sampler, run.config.model.base)
    return run.readers[name]
