"""Outcomes of checks: true, false or open, with the observations that decided."""

from collections.abc import Iterable
from dataclasses import dataclass

from passus.descriptions.claims import Amount

TINY = 1e-9
MAX_REASONS = 12
Interval = tuple[float, float]


@dataclass(frozen=True)
class Observation:
    """A value of a curve with its bounds, and the sentence that it was read from."""

    series: str
    x: float
    low: float
    high: float
    sentence: int = -1
    spread: float | None = None
    """The half width of its error bar, if one is stated."""

    @property
    def interval(self) -> Interval:
        return self.low, self.high

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2


@dataclass(frozen=True)
class Outcome:
    truth: bool | None
    """None where the observations do not decide."""
    because: tuple[Observation, ...] = ()


OPEN = Outcome(None)


def all_of(outcomes: Iterable[Outcome]) -> Outcome:
    """True if all are, false if one is."""
    found = list(outcomes)
    for outcome in found:
        if outcome.truth is False:
            return outcome
    if not found or any(outcome.truth is None for outcome in found):
        return OPEN
    return Outcome(True, tuple(dict.fromkeys(o for outcome in found for o in outcome.because))[:MAX_REASONS])


def any_of(outcomes: Iterable[Outcome]) -> Outcome:
    """True if one is, false if none is."""
    return negated(all_of(negated(outcome) for outcome in outcomes))


def negated(outcome: Outcome) -> Outcome:
    return outcome if outcome.truth is None else Outcome(not outcome.truth, outcome.because)


def sign_of(interval: Interval, is_weak: bool = False) -> bool | None:
    """Returns whether a difference is positive. Where equality is enough, zero is positive."""
    low, high = interval
    if low > TINY or (is_weak and low >= -TINY):
        return True
    if high < -TINY or (high <= TINY and not is_weak):
        return False
    return None


def fits(actual: Interval, amount: Amount, in_shares: bool) -> bool | None:
    """Returns whether a size is the amount that a claim states, with the tolerance of `tolerance`."""
    low, high = actual
    if amount.kind == "difference" and in_shares and not amount.is_points and amount.value > 1:
        return None  # a number of problems, or another unit
    want = _in_units(amount, in_shares)
    margin = 0.02 * abs(want)
    if amount.sense in ("more", "at least"):
        return True if low >= want - TINY else False if high < want - margin - TINY else None
    if amount.sense in ("less", "at most"):
        return True if high <= want + TINY else False if low > want + margin + TINY else None
    room, far = tolerance(amount, in_shares)
    if low >= want - room and high <= want + room:
        return True
    return False if high < want - far or low > want + far else None


def tolerance(amount: Amount, in_shares: bool) -> Interval:
    """Returns how far a size may be from the stated amount and still agree, and from where on it disagrees."""
    want = _in_units(amount, in_shares)
    if amount.kind == "ratio":
        return 0.12 * want, 0.18 * want
    if amount.kind == "share":
        return max(0.06, 0.1 * want), max(0.12, 0.2 * want)
    unit = 10.0**-amount.digits * (0.01 if amount.is_points and in_shares else 1.0)
    return max(0.12 * abs(want), 0.5 * unit + TINY), max(0.2 * abs(want), 1.5 * unit)


def _in_units(amount: Amount, in_shares: bool) -> float:
    return amount.value / 100 if amount.kind == "difference" and amount.is_points and in_shares else amount.value
