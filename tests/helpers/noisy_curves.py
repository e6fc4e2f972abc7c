"""Noisy learning curves whose truth is known, and the unimodal fit that the test for a fall compares with."""

import numpy as np

from passus.stats import isotonic

T15 = np.arange(15)
RISING = 0.7 - 0.4 * np.exp(-T15 / 4)


def unimodal_fit(values_T, weights_T=None):
    """Fits a curve that first rises and then falls; either part may be empty."""
    values_RT, weights_RT = isotonic.curves_and_weights(values_T, weights_T)
    size = values_RT.shape[1]
    rising_R = isotonic.split_errors(values_RT, weights_RT).argmin(1)
    rise_RT = isotonic.pool_adjacent_violators(values_RT, weights_RT, rising_R)[0]
    fall_RT = isotonic.pool_adjacent_violators(values_RT[:, ::-1], weights_RT[:, ::-1], size - rising_R)[0][:, ::-1]
    return np.where(np.arange(size) < rising_R[:, None], rise_RT, fall_RT).reshape(np.shape(values_T))


def noisy(curve_T, se, rows, seed=0):
    """Adds normal noise to a curve, once per row."""
    return curve_T + se * np.random.default_rng(seed).standard_normal((rows, len(curve_T)))


def weighted_squares(values, fit, weights):
    return float((weights * (values - fit) ** 2).sum())
