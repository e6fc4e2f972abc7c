"""Dynamic sampling: which groups a comparison can learn from, and which groups the updates use (DAPO).

Shapes: D sampled prompts, G samples per prompt, N = D x G completions.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from passus.config.tables import Config
from passus.grading.verdict import Verdict
from passus.methods.advantages import has_signal
from passus.training.rewards import Scored
from passus.training.rollout_batch import RolloutBatch


def groups_with_signal(config: Config, batch: RolloutBatch, scored: Scored) -> list[int]:
    """Returns the groups that have right and other answers or, where right answers are not paid more, rewards that differ.

    Terms that depend on length do not count: a penalty for long answers would make a group of wrong answers look useful.
    """
    outcomes_N = scored.outcomes_N
    if config.reward.values.correct != config.reward.values.wrong:
        outcomes_N = torch.tensor([float(grade.verdict is Verdict.CORRECT) for grade in batch.rewarded_grades_N])
    shape = (-1, batch.samples)
    return has_signal(outcomes_N.view(shape), scored.valid_N.view(shape)).nonzero().flatten().tolist()


def choose_groups(with_signal: Sequence[int], sampled: int, prompts: int) -> list[int]:
    """Returns the groups that the updates use: those with signal first, then others as fillers, in the order of sampling."""
    others = sorted(set(range(sampled)) - set(with_signal))
    return sorted([*with_signal, *others][:prompts])


def teaching_groups(config: Config, chosen: Sequence[int], with_signal: Sequence[int]) -> Tensor:
    """Returns (P x 1) which of the chosen groups have an advantage. Fillers complete the batch and teach nothing."""
    is_dynamic = config.method.dynamic_sampling_rounds > 1
    return torch.tensor([[not is_dynamic or d in with_signal] for d in chosen])
