"""A claim about a group of series, as a test of each of them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from passus.analysis.evidence import KnownCurves
from passus.analysis.outcomes import (
    OPEN,
    Interval,
    Observation,
    Outcome,
    all_of,
    fits,
    negated,
    sign_of,
)  # fmt: skip
from passus.descriptions.claims import WHOLE, Claim, Group, Window

MIN_COVERED = 1 / 3
"""Share of the known places of a part of the axis at which a series must be known, if something is to hold on all of it."""
Test = Callable[[str], Outcome]


def quantified(group: Group, curves: KnownCurves, test: Test, window: Window = WHOLE) -> Outcome:
    """Applies a test to the series of a group, as all, none, only these, or so many of them."""
    names = curves.members(group, window)
    if not names:
        return OPEN
    if group.quantifier == "none":
        return all_of(negated(test(name)) for name in names) if any(name in curves.series for name in names) else OPEN
    if group.quantifier == "only":
        others = [negated(test(name)) for name in curves.series if name not in names]
        return all_of([*(test(name) for name in names), *others]) if others else OPEN
    if group.quantifier in ("exactly", "at least", "at most"):
        return _counted(group, [test(name) for name in names if name in curves.series])
    return all_of(test(name) for name in names)


def _counted(group: Group, outcomes: Sequence[Outcome]) -> Outcome:
    yes = sum(outcome.truth is True for outcome in outcomes)
    no = sum(outcome.truth is False for outcome in outcomes)
    reasons = tuple(o for outcome in outcomes for o in outcome.because[:2])
    may_be_less, may_be_more = group.quantifier == "at most", group.quantifier == "at least"
    if (len(outcomes) - no < group.count and not may_be_less) or (yes > group.count and not may_be_more):
        return Outcome(False, reasons)
    enough = yes >= group.count if may_be_more else len(outcomes) - no <= group.count and (may_be_less or yes == group.count)
    return Outcome(True, reasons) if enough else OPEN


def covered(outcome: Outcome, places: Sequence[float], window: Window, curves: KnownCurves) -> Outcome:
    """Returns an outcome, or nothing where it holds at the few places that are known of a longer part of the axis."""
    if outcome.truth is not True or window.is_point or window.points:
        return outcome
    return outcome if len(places) >= MIN_COVERED * len(curves.where(window)) else OPEN


def compared(a: Observation, b: Observation, claim: Claim, curves: KnownCurves) -> Outcome:
    """Compares two values, by an amount if the claim states one."""
    sign = curves.sign(claim.relation)
    gap, amount = curves.difference(a, b, sign), claim.amount
    truth = sign_of(gap, claim.is_weak)
    if amount is None or truth is False:
        return Outcome(truth, (a, b))
    if amount.kind == "relative":
        truth = _relative(a, b, sign, claim, curves)
    elif amount.kind in ("ratio", "share"):
        truth = fits(quotient(a, b), amount, curves.in_shares) if min(a.low, b.low) > 0 else None
    elif amount.sense in ("less", "at most"):
        truth = fits(gap, amount, curves.in_shares)
    else:
        size = fits(gap, amount, curves.in_shares)
        truth = False if size is False else True if truth and size else None
    return Outcome(truth, (a, b))


def quotient(a: Observation, b: Observation) -> Interval:
    return a.low / b.high, a.high / b.low


def _relative(a: Observation, b: Observation, sign: int, claim: Claim, curves: KnownCurves) -> bool | None:
    """Reads "5 % higher" as a share of the other value. For shares it may mean points as well: then both must agree."""
    assert claim.amount is not None
    if b.low <= 0:
        return None
    ends = sorted((sign * (a.low - b.high) / b.high, sign * (a.high - b.low) / b.low))
    as_share = fits((ends[0], ends[1]), replace(claim.amount, kind="share"), curves.in_shares)
    if not curves.in_shares:
        return as_share
    as_points = fits(curves.difference(a, b, sign), replace(claim.amount, kind="difference", digits=2), curves.in_shares)
    return as_share if as_share == as_points else None
