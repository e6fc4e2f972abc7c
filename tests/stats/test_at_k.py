"""pass@k, maj@k and rm@k by hand and by simulation."""

import numpy as np
import pytest

from passus.stats import at_k


def test_pass_at_k_by_hand_and_by_simulation():
    correct = np.zeros((1, 16))
    correct[0, :3] = 1
    assert at_k.pass_at_k(correct, 8).mean() == pytest.approx(0.9)
    assert at_k.pass_at_k(np.array([[1, 0, 0, 0]]), 4).mean() == 1.0
    assert at_k.pass_at_k(np.array([[1, 0, 0, 0], [0, 0, 0, 0]]), 1).mean() == pytest.approx(0.125)
    rng = np.random.default_rng(0)
    correct = (rng.random((5, 10)) < 0.3).astype(float)
    drawn = [np.mean([c[rng.choice(10, 4, replace=False)].max() for c in correct]) for _ in range(20_000)]
    assert at_k.pass_at_k(correct, 4).mean() == pytest.approx(np.mean(drawn), abs=0.005)


def test_majority():
    answers = [["7", "7", "8"], ["1", "2", None], ["3", "4", "4"], [None, None, None]]
    correct = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]])
    assert at_k.maj_at_k(answers, correct).mean() == pytest.approx((1 + 0.5 + 0 + 0) / 4)


def test_rm_at_k():
    rng = np.random.default_rng(0)
    correct = (rng.random((6, 12)) < 0.4).astype(float)
    scores = np.round(correct + rng.normal(0, 1.5, (6, 12)))  # rounded: with ties
    draws = np.argsort(rng.random((20_000, 6, 12)), axis=2)[:, :, :5]
    keys = np.take_along_axis(scores[None], draws, 2) + 1e-6 * rng.random(draws.shape)
    best = np.take_along_axis(draws, keys.argmax(2)[..., None], 2)
    assert at_k.rm_at_k(scores, correct, 5).mean() == pytest.approx(
        np.take_along_axis(correct[None], best, 2).mean(), abs=0.005
    )
    assert at_k.rm_at_k(correct, correct, 5).mean() == pytest.approx(at_k.pass_at_k(correct, 5).mean())
    assert at_k.rm_at_k(np.ones((6, 12)), correct, 5) == pytest.approx(correct.mean(1))
    assert at_k.rm_at_k(scores, correct, 1).mean() == pytest.approx(correct.mean())
    assert at_k.rm_at_k(np.array([[2.0, np.nan, 1.0]]), np.array([[0, 1, 0]]), 2).mean() == 0.0
    wide = rng.random((2, 4096))
    assert 0 <= at_k.rm_at_k(wide, wide > 0.99, 1024).mean() <= 1
    with pytest.raises(ValueError, match="between 1 and 12"):
        at_k.rm_at_k(scores, correct, 13)
