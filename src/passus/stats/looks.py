"""Intervals for a difference that is looked at while runs train, so that no look is one too many.

The number of looks is planned: the eval points of a whole run. Each has an equal share of the level, so that with 95 %
probability all intervals hold together, however the looks depend on each other and whenever somebody stops looking. The price
is width, by the factor that `price` returns.
"""

from scipy.special import stdtr, stdtrit

from passus.stats.intervals import Interval


def look_interval(mean: float, se: float, df: float, planned: int, level: float = 0.95) -> Interval:
    """Computes the interval of one look, which holds together with those of all other planned looks."""
    half = _quantile(df, planned, level) * se
    return Interval(mean, mean - half, mean + half)


def look_p(mean: float, se: float, df: float, planned: int) -> float:
    """Returns the p-value of one look, corrected for all planned looks; 1 where nothing varies."""
    return min(1.0, planned * float(2 * stdtr(df, -abs(mean) / se))) if se > 0 else 1.0


def price(df: float, planned: int, level: float = 0.95) -> float:
    """Returns how many times as wide an interval is as that of a single look."""
    return _quantile(df, planned, level) / _quantile(df, 1, level)


def _quantile(df: float, planned: int, level: float) -> float:
    return float(stdtrit(df, 1 - (1 - level) / (2 * planned)))
