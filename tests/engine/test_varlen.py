"""What fills a micro-batch up to its fixed size."""

import itertools

import pytest
import torch

from passus.engine.attention import VarlenPlan


def test_filling_adds_up_and_keeps_to_the_longest():
    plan = VarlenPlan.fill([5, 3, 9], 64, 12, 10, torch.device("cpu"))
    ends = plan.cumulative_N1.tolist()
    assert len(ends) == 13 and ends[:4] == [0, 5, 8, 17] and ends[-1] == 64
    assert max(b - a for a, b in itertools.pairwise(ends)) <= 10
    with pytest.raises(ValueError, match="do not fit"):
        VarlenPlan.fill([5] * 6, 64, 7, 10, torch.device("cpu"))
