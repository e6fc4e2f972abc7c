"""Intervals, tests and resampling, on numpy and scipy alone."""
