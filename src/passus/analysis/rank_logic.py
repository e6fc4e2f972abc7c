"""Whether claims about ranks and highest points hold."""

from collections.abc import Sequence

from passus.analysis.claim_groups import covered, quantified
from passus.analysis.evidence import KnownCurves
from passus.analysis.outcomes import (
    OPEN,
    TINY,
    Observation,
    Outcome,
    all_of,
    fits,
    negated,
    sign_of,
)  # fmt: skip
from passus.descriptions.claims import WHOLE, Claim


def without_place(found: Sequence[Outcome], places: Sequence[float], curves: KnownCurves) -> Outcome:
    """A comparison without a place holds if it does at all points, and fails if it does at none; the start does not count."""
    kept = [outcome for outcome, x in zip(found, places, strict=True) if x != curves.grid[0]] or list(found)
    if kept and all(outcome.truth is False for outcome in kept):
        return kept[-1]
    return all_of(kept) if all(outcome.truth for outcome in kept) else OPEN


def rank(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that a series is the nth at every point of a window."""
    sign, place = curves.sign(claim.relation), int(claim.number or 1)

    def test(name: str) -> Outcome:
        among = claim.other.names if claim.other else tuple(curves.series)
        names = [n for n in dict.fromkeys((*among, name)) if n in curves.series]
        if name not in curves.series or len(names) < 2:
            return OPEN
        places = curves.common(names, claim.where) or [x for x in curves.where(claim.where) if curves.at(name, x)]
        found = [_is_nth(name, names, x, sign, place, curves) for x in places]
        if claim.manner == "never":
            return covered(all_of(negated(outcome) for outcome in found), places, claim.where, curves)
        outcome = without_place(found, places, curves) if claim.where == WHOLE else all_of(found)
        return covered(outcome, places, claim.where, curves)

    return quantified(claim.group, curves, test, claim.where)


def _is_nth(name: str, names: Sequence[str], x: float, sign: int, place: int, curves: KnownCurves) -> Outcome:
    mine = curves.by_name[name][x]
    better = worse = unsure = 0
    rivals = []
    for other in names:
        theirs = curves.at(other, x) if other != name else None
        if theirs is None:
            continue
        truth = sign_of(curves.difference(theirs, mine, sign))
        is_worse = sign_of(curves.difference(mine, theirs, sign)) is True
        better, worse, unsure = better + (truth is True), worse + is_worse, unsure + (truth is not True and not is_worse)
        rivals.append(theirs)
    reasons = (mine, *sorted(rivals, key=lambda o: -sign * o.middle)[:3])
    if better > place - 1 or better + unsure < place - 1:
        return Outcome(False, reasons)
    return Outcome(True if better == place - 1 and not unsure and rivals else None, reasons)


def takes_lead(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that a series is first from a place on, and was not before."""

    def test(name: str) -> Outcome:
        names = tuple(curves.series)
        places = curves.common(names, WHOLE)
        at = [x for x in curves.where(claim.where) if x in places]
        if name not in curves.series or len(at) != 1 or len(names) < 2:
            return OPEN
        sign = curves.sign("better")
        before = [x for x in places if x < at[0]]
        now = _is_nth(name, names, at[0], sign, 1, curves)
        earlier = [_is_nth(name, names, x, sign, 1, curves) for x in (before[-1:] if not claim.manner else before)]
        return all_of([now, *(negated(outcome) for outcome in earlier)])

    return quantified(claim.group, curves, test, claim.where)


def margin(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks by how much the first is ahead of the second."""
    amount = claim.amount
    if amount is None or not claim.where.is_point:
        return OPEN

    def test(name: str) -> Outcome:
        places = curves.common(tuple(curves.series), claim.where)
        if name not in curves.series or len(places) != 1:
            return OPEN
        sign, mine = curves.sign(claim.relation), curves.by_name[name][places[0]]
        rivals = [curves.by_name[other][places[0]] for other in curves.series if other != name]
        if not rivals:
            return OPEN
        second = max(rivals, key=lambda o: sign * o.middle)
        return Outcome(fits(curves.difference(mine, second, sign), amount, curves.in_shares), (mine, second))

    return quantified(claim.group, curves, test, claim.where)


def extreme(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that the highest (or lowest) point of the panel belongs to a group."""
    sign = curves.sign(claim.relation)
    mine: list[Observation] = []
    others: list[Observation] = []
    hidden = [Observation(s.series, s.x_low, s.low, s.high, s.sentence) for s in curves.hidden]
    for o in (*(o for row in curves.series.values() for o in row), *hidden):
        (mine if o.series in claim.group.names else others).append(o)
    if not mine or not others:
        return OPEN
    best, rival = (max(row, key=lambda o: sign * o.middle) for row in (mine, others))
    return Outcome(sign_of(curves.difference(best, rival, sign)), (best, rival))


def peak(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that the extreme of a series lies in a window."""
    sign = curves.sign(claim.relation)

    def test(name: str) -> Outcome:
        row = curves.series.get(name, [])
        places = set(curves.where(claim.where))
        inside, outside = [o for o in row if o.x in places], [o for o in row if o.x not in places]
        if len(row) < 3 or not inside or not outside:
            return OPEN
        best, rival = (max(part, key=lambda o: sign * o.middle) for part in (inside, outside))
        if any(
            s.series == name and sign * ((s.low + s.high) / 2 - max(best, rival, key=lambda o: sign * o.middle).middle) > TINY
            for s in curves.hidden
        ):
            return OPEN  # its peak is known to lie between two points
        gap = curves.difference(best, rival, sign)
        return Outcome(True if gap[0] > TINY else False if gap[1] < -TINY else None, (best, rival))

    return quantified(claim.group, curves, test, claim.where)


def top(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks the highest (or lowest) value of a series."""

    def test(name: str) -> Outcome:
        row = curves.series.get(name, [])
        if len(row) < 4 or claim.number is None or any(s.series == name for s in curves.hidden):
            return OPEN
        if claim.where != WHOLE and curves.value(name, claim.where) is None:
            return OPEN
        return Outcome(
            is_near(curves.extreme(name, curves.sign(claim.relation)), claim, curves),
            (curves.extreme(name, curves.sign(claim.relation)),),
        )

    return quantified(claim.group, curves, test)


def is_near(o: Observation, claim: Claim, curves: KnownCurves) -> bool | None:
    assert claim.number is not None
    unit = 10.0 ** -(claim.amount.digits if claim.amount else 2)
    unit *= 0.01 if curves.in_shares and claim.amount is not None and claim.amount.is_points else 1.0
    off = max(o.low - claim.number, claim.number - o.high, 0.0)
    near = max(0.5 * unit, 0.012 if curves.in_shares else 0.03 * abs(claim.number)) + TINY
    far = max(0.75 * unit, 0.025 if curves.in_shares else 0.08 * abs(claim.number)) + TINY
    return True if off <= near else False if off > far else None
