"""Cached decode and packed attention against transformers' own eager attention, in float32, for every family."""

import pytest
import torch

from helpers.decode_rows import LENGTHS, decoded, random_rows
from helpers.tiny_models import with_passus
from passus.engine.attention import PackedPlan


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
def test_long_sequences_take_the_fused_path_to_the_same_result(window):
    """Beyond MIN_FUSED_LENGTH torch's fused attention stands in; compare both on one block."""
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
    """Guards the tests above: were the windows ignored on both sides, they would still pass."""
    from helpers.tiny_models import tiny_model

    rows = random_rows()
    windowed, full = (eager_logits(tiny_model(name), rows)[3] for name in ("gemma3+windows", "gemma3"))
    assert not torch.allclose(windowed, full, atol=1e-3)


def test_calling_without_a_plan_says_what_to_pass(nano):
    with pytest.raises(TypeError, match="plan="):
        nano.model(torch.tensor([[2, 3]]))
