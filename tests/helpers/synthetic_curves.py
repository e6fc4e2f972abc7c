"""Curves with known true accuracies: items of known difficulty, and a model of known ability per eval point."""

import numpy as np

from passus.runs.curve import Curve, CurvePoint, ItemOutcomes

RISE_T = 0.85 - 0.5 * np.exp(-np.arange(15) / 3)


def curve(
    rng: np.random.Generator, truth_T: np.ndarray, items: int = 200, samples: int = 4, name: str = "a",
    tokens_T: np.ndarray | None = None, difficulty_Q: np.ndarray | None = None,
) -> Curve:  # fmt: skip
    """Samples outcomes around a curve of mean accuracies, with difficulties spread over the items."""
    hard_Q = rng.normal(0, 1.5, items) if difficulty_Q is None else difficulty_Q
    ability = np.linspace(-12, 12, 2001)
    mean = (1 / (1 + np.exp(hard_Q - ability[:, None]))).mean(1)
    chance_TQ = 1 / (1 + np.exp(hard_Q - np.interp(truth_T, mean, ability)[:, None]))
    correct_TQK = (rng.random((*chance_TQ.shape, samples)) < chance_TQ[:, :, None]).astype(float)
    steps = [10 * t for t in range(len(truth_T))]
    lengths_T = np.full(len(truth_T), 20.0) if tokens_T is None else tokens_T
    points = [
        CurvePoint(step, float(correct_QK.mean()), tokens=float(length))
        for step, correct_QK, length in zip(steps, correct_TQK, lengths_T, strict=True)
    ]
    tokens_TQK = np.broadcast_to(lengths_T[:, None, None], correct_TQK.shape)
    return Curve(
        name, "b", points, items, samples,
        ItemOutcomes(steps, list(range(items)), correct_TQK, tokens_TQK, np.zeros_like(correct_TQK)),
    )  # fmt: skip
