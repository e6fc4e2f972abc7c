"""Whether claims about the passing of a value hold: that it is passed at all, by a place, between two places, only there."""

import math

from passus.analysis.claim_groups import quantified
from passus.analysis.evidence import KnownCurves
from passus.analysis.outcomes import OPEN, TINY, Observation, Outcome
from passus.descriptions.claims import WHOLE, Claim

NEAR, FAR = 0.5, 1.0
"""Units of the last digit up to which a value counts as reached, and from which on it does not."""


def passes(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks when a series passes a value."""
    number = claim.number
    if number is None or (curves.in_shares and number > 1):
        return OPEN

    def test(name: str) -> Outcome:
        row = curves.series.get(name, [])
        if len(row) < 2:
            return OPEN
        sides = [(o, _side(o, number, _sign(claim, row, number, curves), claim, curves)) for o in row]
        hidden = [s for s in curves.hidden if s.series == name]
        found = _when(claim, sides, curves)
        if found.truth is False and any(s.low < number < s.high or s.low >= number for s in hidden):
            return OPEN
        return found

    return quantified(claim.group, curves, test, claim.where)


def first_to(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that a series passes a value before all others do."""
    number = claim.number
    if number is None or (curves.in_shares and number > 1):
        return OPEN
    first: dict[str, tuple[float, float] | None] = {}
    for name, row in curves.series.items():
        sides = [(o.x, _side(o, number, _sign(claim, row, number, curves), claim, curves)) for o in row]
        may, must = ([x for x, side in sides if side in wanted] for wanted in ((True, None), (True,)))
        first[name] = (may[0], must[0]) if may and must else (may[0], math.inf) if may else None

    def test(name: str) -> Outcome:
        mine = first.get(name)
        if name not in first:
            return OPEN
        shown = (curves.series[name][-1],)
        if mine is None:
            return Outcome(False, shown)
        rivals = [place for other, place in first.items() if other != name and place is not None]
        if any(may < mine[0] and must < mine[0] for may, must in rivals):
            return Outcome(False, shown)
        return Outcome(True if len(first) > 1 and all(mine[1] < may for may, _ in rivals) else None, shown)

    return quantified(claim.group, curves, test, claim.where)


def _sign(claim: Claim, row: list[Observation], number: float, curves: KnownCurves) -> int:
    """Returns the direction of passing. What is reached is reached from where the series starts."""
    if claim.relation == "reach":
        return -1 if row[0].low > number and (curves.lower_is_better or row[-1].high < row[0].low) else 1
    return 1 if claim.relation == "above" else -1


def _side(o: Observation, number: float, sign: int, claim: Claim, curves: KnownCurves) -> bool | None:
    """Returns whether a value is beyond the number."""
    low, high = (o.low - number, o.high - number) if sign > 0 else (number - o.high, number - o.low)
    if claim.relation != "reach":
        return True if low > TINY else False if high < -TINY else None
    unit = min(10.0 ** -(claim.amount.digits if claim.amount else 2), 0.01 if curves.in_shares else 0.01 * abs(number))
    far = max(FAR * unit, 0.005 if curves.in_shares else 0.01 * abs(number))
    return True if low >= -NEAR * unit - TINY else False if high < -far - TINY else None


def _when(claim: Claim, sides: list[tuple[Observation, bool | None]], curves: KnownCurves) -> Outcome:
    window, values = claim.where, [side for _, side in sides]
    top = (max((o for o, _ in sides), key=lambda o: o.middle),)
    if window == WHOLE:
        return Outcome(True if True in values else None if None in values else False, top)
    inside = set(curves.where(window))
    there = [(o, side) for o, side in sides if o.x in inside]
    if not there:
        return OPEN
    before = [(o, side) for o, side in sides if o.x < there[0][0].x]
    if window.is_point:
        return _at(claim, there[0], before)
    if claim.manner == "by":
        return Outcome(_any([side for _, side in there]), (there[-1][0],))
    if claim.manner == "late":
        return _late(before, there)
    first, last = there[0], there[-1]
    if window.high is None:  # after a place
        return Outcome(_any([side for _, side in there]), (last[0],))
    if first[1] is True:
        return Outcome(False, (first[0],)) if before and before[-1][1] is True and last[1] is True else OPEN
    if first[0].x > (window.low or first[0].x) + TINY:
        return OPEN
    return Outcome(_any([side for _, side in there[1:]]) if first[1] is False else None, (first[0], last[0]))


def _at(claim: Claim, there: tuple[Observation, bool | None], before: list[tuple[Observation, bool | None]]) -> Outcome:
    """Checks the passing at one place: the value is passed there, and, where the claim says so, not before."""
    o, side = there
    if claim.manner == "needs":  # it is passed there, and was not before
        early = next((past for past, s in before if s is True), None)
        return Outcome(False, (early,)) if early is not None else Outcome(side, (o,))
    if side is False and claim.manner == "by":
        return Outcome(_any([s for _, s in before]), (o,)) if before else Outcome(False, (o,))
    if side is not True or claim.manner == "by" or not before:
        return Outcome(side, (o,))
    earlier = [(past, s) for past, s in before if s is not False]
    if not earlier:
        return Outcome(True, (o,))
    is_early = claim.manner == "first" or earlier[0][0].x < before[-1][0].x
    return Outcome(False if is_early and earlier[0][1] is True else None, (earlier[0][0], o))


def _late(before: list[tuple[Observation, bool | None]], there: list[tuple[Observation, bool | None]]) -> Outcome:
    """Checks that a value is passed from a place on, and not before."""
    early = _any([side for _, side in before])
    if early:
        return Outcome(False, tuple(o for o, side in before if side)[:1])
    later = _any([side for _, side in there])
    return Outcome(later if early is False or later is False else None, (there[-1][0],))


def _any(sides: list[bool | None]) -> bool | None:
    return True if True in sides else None if None in sides or not sides else False
