"""Intervals for a difference that is looked at while runs train, so that no look is one too many.

The number of looks is planned: the eval points of a whole run. Each has an equal share of the level, so that with 95 %
probability all intervals hold together, however the looks depend on each other and whenever somebody stops looking. The price
is width, by the factor that `price` returns.
"""

from passus.stats.intervals import Interval
from passus.stats.run_spread import RunDifference


def look_interval(difference: RunDifference, planned: int, level: float = 0.95) -> Interval:
    """Computes the interval of one look, which holds together with those of all other planned looks."""
    return Interval(difference.mean, *difference.interval(1 - (1 - level) / planned))


def look_p(difference: RunDifference, planned: int) -> float:
    """Returns the p-value of one look, corrected for all planned looks; 1 where nothing varies."""
    return min(1.0, planned * difference.p) if difference.se > 0 else 1.0


def price(difference: RunDifference, planned: int, level: float = 0.95) -> float:
    """Returns how many times as wide an interval is as that of a single look; 1 where nothing varies."""
    one, all_looks = (look_interval(difference, looks, level) for looks in (1, planned))
    return (all_looks.high - all_looks.low) / (one.high - one.low) if one.high > one.low else 1.0
