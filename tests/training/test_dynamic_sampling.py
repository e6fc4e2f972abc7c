"""Dynamic sampling: which groups have signal, and what groups that only fill a step up may not change."""

import pytest
import torch

from helpers.small_run import run_small, small_config
from passus.engine.interface import Rollout
from passus.grading.verdict import Grade, Verdict
from passus.methods.advantages import group_std
from passus.training.dynamic_sampling import groups_with_signal
from passus.training.rewards import Scored
from passus.training.rollout_batch import RolloutBatch

C, W, U, T, E = Verdict.CORRECT, Verdict.WRONG, Verdict.UNPARSEABLE, Verdict.TRUNCATED, Verdict.ERROR
GROUPS = [(C, C, C), (W, W, W), (C, W, W), (W, U, T), (C, C, E), (W, W, E), (C, W, E), (C, E, E), (E, E, E)]
PAID = [(0, 0, 0), (0, 1, 0), (0, 0, 0), (0, 0, 0), (0, 0, 0), (1, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, 0)]


def batch_of(groups):
    grades = [Grade(verdict, None) for group in groups for verdict in group]
    return RolloutBatch(3, [None] * len(groups), [None] * len(groups), Rollout([], [], []), [], grades)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, [2, 6]),  # right and other answers
        ({"correct": 0.0}, [1, 5]),  # no verdict is paid: rewards that differ
        ({"correct": 0.0, "truncated": -1.0}, [1, 3, 5]),  # being right is not paid: rewards that differ
    ],
)
def test_groups_with_signal(values, expected):
    config, batch = small_config(reward={"values": values}), batch_of(GROUPS)
    table = config.reward.values
    paid = [getattr(table, grade.verdict, table.wrong) for grade in batch.grades_N]
    outcomes = torch.tensor(PAID).flatten() + torch.tensor(paid)
    valid = torch.tensor([grade.verdict is not E or not table.pays_verdicts for grade in batch.grades_N])
    assert groups_with_signal(config, batch, Scored(outcomes, outcomes, valid)) == expected


@pytest.mark.parametrize("scale", ["batch", "whiten"])
def test_groups_that_fill_up_leave_the_scale_of_the_step(tmp_path, scale):
    """The overlong penalty gives fillers different rewards; mean and standard deviation are those of the other groups."""
    method = {"name": "dapo", "dynamic_sampling_rounds": 2, "soft_overlong": 1.0, "advantage_scale": scale}
    folder = run_small(
        tmp_path / "arm", method=method, train={"max_tokens": 16, "steps": 1, "prompts": 8}, eval={"limit": 2, "samples": 1}
    )
    rows = [row for row in folder.read_rows("samples", 1) if row["used"]]
    shape = (-1, 4)
    rewards, found, lengths = (
        torch.tensor([float(value(row)) for row in rows]).view(shape)
        for value in (lambda r: r["reward"], lambda r: r["advantage"], lambda r: len(r["completion_ids"]))
    )
    right = torch.tensor([row["verdict"] == "correct" for row in rows]).view(shape).sum(1)
    mixed = (right > 0) & (right < 4)
    assert 0 < mixed.sum() < 8 and not found[~mixed].any()
    expected = rewards[mixed] - rewards[mixed].mean(1, keepdim=True)
    if scale == "batch":
        expected = expected / (rewards[mixed].std() + 1e-4)
    else:
        weight = lengths[mixed] / lengths[mixed].sum()
        expected = expected - (expected * weight).sum()
        expected = expected / (expected**2 * weight).sum().sqrt()
    torch.testing.assert_close(found[mixed], expected, atol=1e-5, rtol=1e-5)
    assert group_std(rewards, torch.ones(8, 4, dtype=torch.bool))[~mixed].any()
