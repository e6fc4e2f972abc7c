"""Cached decode and packed attention against transformers' eager attention, in float32, for every family."""

import itertools

import pytest
import torch

from helpers.decode_rows import LENGTHS, decoded, random_rows
from helpers.tiny_models import with_passus
from passus.engine.attention import PackedPlan, VarlenPlan


def eager_logits(model, rows):
    model.set_attn_implementation("eager")
    with torch.no_grad():
        return [model(row[None], use_cache=False).logits[0] for row in rows]


def test_decode_equals_eager_at_every_rows_own_position(family_model):
    rows = random_rows()
    expected = eager_logits(family_model, rows)
    for mine, theirs in zip(decoded(with_passus(family_model), rows), expected, strict=True):
        torch.testing.assert_close(mine, theirs, atol=2e-5, rtol=1e-4)


def test_packed_equals_eager(family_model):
    rows = random_rows()
    expected = torch.cat(eager_logits(family_model, rows))
    model = with_passus(family_model)
    positions = torch.cat([torch.arange(n) for n in LENGTHS])
    with torch.no_grad():
        got = model(
            torch.cat(rows)[None], position_ids=positions[None], use_cache=False, plan=PackedPlan(LENGTHS, model.device)
        ).logits[0]
    torch.testing.assert_close(got, expected, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("window", [None, 16])
def test_fused_and_plain_attention_agree(window):
    """From MIN_FUSED_LENGTH on, torch's fused attention is used; this compares both on one block."""
    from passus.engine import attention

    torch.manual_seed(0)
    lengths = [200, 230]
    query, key, value = torch.randn(1, 4, 430, 16), torch.randn(1, 2, 430, 16), torch.randn(1, 2, 430, 16)
    plan = PackedPlan(lengths, torch.device("cpu"))
    fused = plan.attend(None, query, key, value, 0.25, window)
    attention.MIN_FUSED_LENGTH, before = 1000, attention.MIN_FUSED_LENGTH
    try:
        plain = plan.attend(None, query, key, value, 0.25, window)
    finally:
        attention.MIN_FUSED_LENGTH = before
    torch.testing.assert_close(fused, plain, atol=1e-5, rtol=1e-4)


def test_a_windowed_model_differs_from_one_without():
    """Guards the tests above, which would pass if both sides ignored the windows."""
    from helpers.tiny_models import tiny_model

    rows = random_rows()
    windowed, full = (eager_logits(tiny_model(name), rows)[3] for name in ("gemma3+windows", "gemma3"))
    assert not torch.allclose(windowed, full, atol=1e-3)


def test_a_call_without_a_plan_is_refused(nano):
    with pytest.raises(TypeError, match="plan="):
        nano.model(torch.tensor([[2, 3]]))


def test_a_filled_plan_adds_up_and_keeps_the_longest_length():
    plan = VarlenPlan.fill([5, 3, 9], 64, 12, 10, torch.device("cpu"))
    ends = plan.cumulative_N1.tolist()
    assert len(ends) == 13 and ends[:4] == [0, 5, 8, 17] and ends[-1] == 64
    assert max(b - a for a, b in itertools.pairwise(ends)) <= 10
    with pytest.raises(ValueError, match="do not fit"):
        VarlenPlan.fill([5] * 6, 64, 7, 10, torch.device("cpu"))
