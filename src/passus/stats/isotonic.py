"""Isotonic regression of many curves at once, and the best fit that first rises and then falls.

Shapes: T eval points of one curve, R curves.

scipy.optimize.isotonic_regression fits one curve per call: 2000 simulated curves with all their splits into a rising and a
falling part would take 2000 x 2T calls. A test holds the two against each other.
"""

import numpy as np


def isotonic_fit(values_T: np.ndarray, weights_T: np.ndarray | None = None) -> np.ndarray:
    """Computes the best non-decreasing fit by weighted least squares; values may be [T] or [R, T]."""
    values_RT, weights_RT = curves_and_weights(values_T, weights_T)
    lengths_R = np.full(len(values_RT), values_RT.shape[1])
    return pool_adjacent_violators(values_RT, weights_RT, lengths_R)[0].reshape(np.shape(values_T))


def curves_and_weights(values_T: np.ndarray, weights_T: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Returns values and weights as [R, T], after checking that all weights are positive."""
    values_RT = np.atleast_2d(np.asarray(values_T, dtype=float))
    weights = np.asarray(1.0 if weights_T is None else weights_T, dtype=float)
    if not (weights > 0).all():
        raise ValueError("a weight of 0 or less (or NaN) in a fit: leave the point out, or give its standard error a floor")
    return values_RT, np.broadcast_to(weights, values_RT.shape)


def pool_adjacent_violators(
    values_RT: np.ndarray, weights_RT: np.ndarray, lengths_R: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fits the first lengths_R points of all rows at once; returns the fits and errors [R, T + 1].

    Points come from the left and every row keeps a stack of pooled blocks, so that the weighted squared error of the fit to
    each shorter start of the curve is a by-product: errors[:, t] is that of the first t points.
    """
    rows, size = values_RT.shape
    every_R, top_R = np.arange(rows), np.full(rows, -1)
    mean_RT, weight_RT, start_RT = np.zeros((rows, size)), np.zeros((rows, size)), np.zeros((rows, size), dtype=int)
    errors = np.zeros((rows, size + 1))
    for t in range(size):
        row = every_R[t < lengths_R]
        top_R[row] += 1
        top = top_R[row]
        mean_RT[row, top], weight_RT[row, top], start_RT[row, top] = values_RT[row, t], weights_RT[row, t], t
        errors[:, t + 1] = errors[:, t]
        row = row[(top > 0) & (mean_RT[row, top - 1] >= mean_RT[row, top])]
        while len(row):
            top = top_R[row] = top_R[row] - 1
            low, high = weight_RT[row, top], weight_RT[row, top + 1]
            step, both = mean_RT[row, top + 1] - mean_RT[row, top], low + high
            errors[row, t + 1] += low * high / both * step**2
            mean_RT[row, top] += step * high / both
            weight_RT[row, top] = both
            row = row[(top > 0) & (mean_RT[row, top - 1] >= mean_RT[row, top])]
    starts_block_RT = np.zeros((rows, size), dtype=int)
    row, block = np.nonzero(np.arange(size) <= top_R[:, None])
    starts_block_RT[row, start_RT[row, block]] = 1
    fits_RT = np.take_along_axis(mean_RT, np.maximum(starts_block_RT.cumsum(1) - 1, 0), 1)
    return np.asarray(fits_RT), errors


def split_errors(values_RT: np.ndarray, weights_RT: np.ndarray) -> np.ndarray:
    """Computes errors [R, T + 1] of the best fit that rises over the first t points and falls over the others."""
    lengths_R = np.full(len(values_RT), values_RT.shape[1])
    rising = pool_adjacent_violators(values_RT, weights_RT, lengths_R)[1]
    falling = pool_adjacent_violators(values_RT[:, ::-1], weights_RT[:, ::-1], lengths_R)[1][:, ::-1]
    return np.asarray(rising + falling)
