"""Whether a claim holds for curves: one function for each kind of claim. Every answer is true, false or open."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from scipy.special import fdtrc

from passus.analysis.change_logic import gain, gain_share, gap_than, increments, steepest
from passus.analysis.claim_groups import compared, covered, quantified, quotient
from passus.analysis.evidence import KnownCurves
from passus.analysis.gap_logic import closer, cross, crossing, gap, gap_at, gap_peak, gap_trend
from passus.analysis.order_logic import order_same
from passus.analysis.outcomes import (
    OPEN,
    TINY,
    Interval,
    Observation,
    Outcome,
    all_of,
    any_of,
    fits,
    negated,
    sign_of,
)  # fmt: skip
from passus.analysis.passing_logic import first_to, passes
from passus.analysis.rank_logic import extreme, is_near, margin, peak, rank, takes_lead, top, without_place
from passus.descriptions.claims import END, START, WHOLE, Claim, Window

LEVEL = 0.05
SELF = ("self",)


def holds(claim: Claim, curves: KnownCurves) -> Outcome:
    """Returns whether a claim holds for the curves of one panel."""
    outcome = KINDS[claim.kind](claim, curves)
    return negated(outcome) if claim.negated else outcome


def _level(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks "above" and "below": against a number, another series, or the series itself elsewhere."""

    def test(name: str) -> Outcome:
        if name not in curves.series:
            return OPEN
        if claim.other is None:
            return _against_number(claim, name, curves)
        if claim.other.names == SELF:
            return _against_itself(claim, name, curves)
        if claim.other.rank and not claim.where.is_point:
            return OPEN  # who is the best differs from place to place
        others = [other for other in curves.members(claim.other, claim.where) or () if other != name]
        return all_of(_against_series(claim, name, other, curves) for other in others)

    return quantified(claim.group, curves, test, claim.where)


def _against_itself(claim: Claim, name: str, curves: KnownCurves) -> Outcome:
    other = curves.value(name, claim.other_where or END)
    if other is None:
        return OPEN
    mine = [o for x in curves.where(claim.where) if (o := curves.at(name, x)) is not None]
    return all_of(compared(o, other, claim, curves) for o in mine)


def _against_series(claim: Claim, name: str, other: str, curves: KnownCurves) -> Outcome:
    if other not in curves.series:
        return OPEN
    if claim.other_where is not None:
        a, b = curves.value(name, claim.where), curves.value(other, claim.other_where)
        return OPEN if a is None or b is None else compared(a, b, claim, curves)
    places = curves.common((name, other), claim.where)
    places = places if claim.where.is_point or claim.is_weak else without_common_start(name, other, places, curves)
    found = [compared(curves.by_name[name][x], curves.by_name[other][x], claim, curves) for x in places]
    outcome = without_place(found, places, curves) if claim.where == WHOLE else all_of(found)
    return covered(outcome, places, claim.where, curves)


def without_common_start(name: str, other: str, places: list[float], curves: KnownCurves) -> list[float]:
    """Leaves out the start where two series have the same value there: what "up to step 200" says begins after it."""
    if len(places) < 2 or places[0] != curves.grid[0]:
        return places
    a, b = (curves.by_name[series][places[0]] for series in (name, other))
    return places[1:] if a.interval == b.interval else places


def _against_number(claim: Claim, name: str, curves: KnownCurves) -> Outcome:
    if claim.number is None or (curves.in_shares and claim.number > 1):
        return OPEN  # a number of problems is no share
    sign, number = curves.sign(claim.relation), claim.number
    found = []
    for x in curves.where(claim.where):
        if (o := curves.at(name, x)) is not None:
            gap = (o.low - number, o.high - number) if sign > 0 else (number - o.high, number - o.low)
            is_equal = o.low == o.high == number
            found.append(Outcome((True if claim.is_weak else None) if is_equal else sign_of(gap), (o,)))
    if claim.every_step or claim.where.every or claim.where.is_point:
        return covered(all_of(found), [o.x for outcome in found for o in outcome.because], claim.where, curves)
    return any_of(found)


def _points(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks at how many of its points a series is above, or below, a number."""
    wanted, total = (int(count) for count in claim.order)

    def test(name: str) -> Outcome:
        row = curves.series.get(name, [])
        found = [_against_number(replace(claim, where=Window(o.x, o.x)), name, curves) for o in row]
        if len(row) != total or any(outcome.truth is None for outcome in found):
            return OPEN
        return Outcome(sum(outcome.truth is True for outcome in found) == wanted, tuple(row))

    return quantified(claim.group, curves, test)


def _ratio(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks "twice as long as"."""
    amount, other = claim.amount, claim.other
    if amount is None or other is None:
        return OPEN

    def test(name: str) -> Outcome:
        found = []
        for rival in curves.members(other, claim.where) or ():
            for x in curves.common((name, rival), claim.where) if {name, rival} <= set(curves.series) else ():
                a, b = curves.by_name[name][x], curves.by_name[rival][x]
                found.append(Outcome(fits(quotient(a, b), amount, curves.in_shares) if b.low > 0 else None, (a, b)))
        return all_of(found)

    return quantified(claim.group, curves, test, claim.where)


def _value(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks the value of a series at a place."""

    def test(name: str) -> Outcome:
        o = curves.value(name, claim.where)
        return OPEN if o is None or claim.number is None else Outcome(is_near(o, claim, curves), (o,))

    return quantified(claim.group, curves, test, claim.where)


def _trend(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that a series goes up or down: over all, from every point to the next, at some point, or by an amount."""
    sign = curves.sign(claim.relation)

    def test(name: str) -> Outcome:
        row = curves.inside(name, claim.where)
        if len(row) < 2 or not _has_ends(row, claim, curves):
            return OPEN
        steps = [(curves.difference(b, a, sign), (a, b)) for a, b in pairwise(row)]
        if claim.manner == "ever":
            whole = (curves.difference(row[-1], row[0], sign), (row[0], row[-1]))  # what rises over all rises somewhere
            return any_of(Outcome(sign_of(step), pair) for step, pair in [*steps, whole])
        if claim.every_step and claim.amount is None:
            found = [Outcome(_step_sign(step, claim.is_weak), pair) for step, pair in steps]
            return all_of(found) if len(found) > 1 or claim.where != WHOLE else OPEN
        first, last = row[0], row[-1]
        if claim.other_where is not None:
            start = curves.value(name, claim.other_where)
            if start is None:
                return OPEN
            first = start
        change = curves.difference(last, first, sign)
        if claim.amount is not None:
            return Outcome(_change_fits(change, first, last, claim, curves), (first, last))
        until = claim.where.low is None and claim.where.high is not None
        if until and len(row) > 2 and steps[-1][0][1] < -TINY:  # "rises until step 80", but has turned before
            return Outcome(False, steps[-1][1])
        return Outcome(sign_of(change, claim.is_weak), (first, last))

    return quantified(claim.group, curves, test, claim.where)


def _has_ends(row: list[Observation], claim: Claim, curves: KnownCurves) -> bool:
    """Returns whether a series is known where a change begins and ends. Any two points show that it moves at some point."""
    window = claim.where
    if claim.manner == "ever" or claim.every_step or (claim.amount is None and window.low is window.high):
        return True
    if window.first or window.last or window.decade:
        return True
    low = window.low if window.low is not None else curves.grid[0]
    high = window.high if window.high is not None else curves.grid[-1]
    has_start = row[0].x <= low + TINY or isinstance(claim.other_where, str)
    return has_start and row[-1].x >= high - TINY


def _step_sign(step: Interval, is_weak: bool) -> bool | None:
    """Returns whether a step goes the right way. No change at all is neither, unless equality is enough."""
    return True if step[0] > TINY else False if step[1] < -TINY else True if is_weak else None


def _change_fits(change: Interval, first: Observation, last: Observation, claim: Claim, curves: KnownCurves) -> bool | None:
    amount = claim.amount
    assert amount is not None
    if amount.kind == "ratio":
        return fits(quotient(last, first), amount, curves.in_shares) if min(first.low, last.low) > 0 else None
    if amount.kind in ("share", "relative"):
        part = (change[0] / first.high, change[1] / first.low) if first.low > 0 else None
        return fits(part, replace(amount, kind="share"), curves.in_shares) if part else None
    if amount.sense in ("less", "at most") and change[1] < 0:
        return fits((0.0, abs(change[1])), amount, curves.in_shares)
    if amount.sense not in ("less", "at most") and sign_of(change) is False:
        return False
    return fits(change, amount, curves.in_shares)


def _flat(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that a series changes by at most a little, or by at most an amount."""

    def test(name: str) -> Outcome:
        row = curves.inside(name, claim.where)
        if len(row) < 2:
            return OPEN
        top, bottom = max(row, key=lambda o: o.middle), min(row, key=lambda o: o.middle)
        widest = max(o.high for o in row) - min(o.low for o in row)
        surely = max(0.0, max(o.low for o in row) - min(o.high for o in row))
        if claim.amount is not None:
            amount = replace(claim.amount, sense="at most") if claim.amount.sense == "about" else claim.amount
            return Outcome(fits((surely, widest), amount, curves.in_shares), (bottom, top))
        whole = curves.series[name]
        own = max(o.high for o in whole) - min(o.low for o in whole)
        small, large = (0.025, 0.05) if curves.in_shares else (0.08 * own, 0.2 * own)
        small, large = max(small, 0.04 * curves.span), max(large, 0.1 * curves.span)
        is_steep = surely > 0.7 * large and _is_as_steep(row, whole)
        return Outcome(True if widest <= small else False if surely > large or is_steep else None, (bottom, top))

    return quantified(claim.group, curves, test, claim.where)


def _is_as_steep(row: list[Observation], whole: list[Observation]) -> bool:
    """Returns whether a stretch that is called flat rises (or falls) nearly as fast as what came before it."""
    before = [o for o in whole if o.x <= row[0].x]
    if len(before) < 2 or row[-1].x <= row[0].x:
        return False
    rate = (row[-1].middle - row[0].middle) / (row[-1].x - row[0].x)
    earlier = (before[-1].middle - before[0].middle) / (before[-1].x - before[0].x)
    return rate * earlier > 0 and abs(rate) > 0.4 * abs(earlier)


def _levels(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that a series has levelled off: it changes little between its last points, and less than before."""

    def test(name: str) -> Outcome:
        row = curves.series.get(name, [])
        if len(row) < 4 or row[-1].x != curves.grid[-1]:
            return OPEN
        last, before = row[-1].middle - row[-2].middle, row[-2].middle - row[0].middle
        rate, earlier = (abs(last) / (row[-1].x - row[-2].x), abs(before) / (row[-2].x - row[0].x))
        small = 0.02 if curves.in_shares else 0.05 * curves.span
        if last * before > 0 and rate > 0.7 * earlier and abs(last) > small:
            return Outcome(False, (row[-2], row[-1]))
        return Outcome(True if rate < 0.25 * earlier and abs(last) <= small else None, (row[-2], row[-1]))

    return quantified(claim.group, curves, test)


def _moves(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks by how much a series changes, in either direction."""

    def test(name: str) -> Outcome:
        row, places = curves.inside(name, claim.where), curves.where(replace(claim.where, open_low=False))
        if len(row) < 2 or claim.amount is None or row[0].x != places[0] or row[-1].x != places[-1]:
            return OPEN
        low, high = curves.difference(row[-1], row[0])
        size = (max(0.0, low, -high), max(abs(low), abs(high)))
        return Outcome(fits(size, replace(claim.amount, value=abs(claim.amount.value)), curves.in_shares), (row[0], row[-1]))

    return quantified(claim.group, curves, test)


def _recovers(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that a series is back at its highest value of before."""

    def test(name: str) -> Outcome:
        there = curves.value(name, claim.where)
        before = [o for o in curves.series.get(name, []) if there is not None and o.x < there.x]
        if there is None or len(before) < 2:
            return OPEN
        sign = curves.sign("better")
        best = max(before, key=lambda o: sign * o.middle)
        low, high = curves.difference(there, best, sign)
        room = 0.012 if curves.in_shares else 0.04 * curves.span
        return Outcome(True if low >= -room / 2 else False if high < -room else None, (best, there))

    return quantified(claim.group, curves, test)


def _order(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks the order of series at a place, from the best to the worst."""
    sign = curves.sign(claim.relation or "better")
    found = []
    for x in curves.where(claim.where):
        row = [curves.at(name, x) for name in claim.order]
        known = [o for o in row if o is not None]
        if len(known) == len(row):
            found.append(all_of(Outcome(sign_of(curves.difference(a, b, sign)), (a, b)) for a, b in pairwise(known)))
    return all_of(found)


def _same(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that series have the same value at a place."""
    small, large = (0.012, 0.03) if curves.in_shares else (0.03 * curves.span, 0.08 * curves.span)
    found = []
    for x in curves.where(claim.where):
        if (gap := gap_at(claim.group.names, x, curves)) is not None:
            (surely, widest), pair = gap
            found.append(Outcome(True if widest <= small + TINY else False if surely > large + TINY else None, pair))
    return all_of(found)


def _returns(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that a series is back at its first value."""
    small, large = (0.012, 0.03) if curves.in_shares else (0.03 * curves.span, 0.08 * curves.span)

    def test(name: str) -> Outcome:
        first, there = curves.value(name, START), curves.value(name, claim.where)
        if first is None or there is None or first.x == there.x:
            return OPEN
        low, high = curves.difference(there, first, 1)
        surely, widest = max(0.0, low, -high), max(abs(low), abs(high))
        return Outcome(True if widest <= small + TINY else False if surely > large + TINY else None, (first, there))

    return quantified(claim.group, curves, test)


def _roughness(name: str, curves: KnownCurves) -> tuple[float, int] | None:
    """Returns the size of a curve's bends from point to point, and how often it turns."""
    y = [o.middle for o in curves.series.get(name, [])]
    if len(y) < 4:
        return None
    bends = [y[n + 1] - 2 * y[n] + y[n - 1] for n in range(1, len(y) - 1)]
    turns = sum((y[n + 1] - y[n]) * (y[n] - y[n - 1]) < 0 for n in range(1, len(y) - 1))
    return math.sqrt(sum(bend * bend for bend in bends) / len(bends)), turns


def _steadier(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that a series moves less from point to point than another, and turns no more often."""
    want = claim.kind == "steadier"

    def test(name: str) -> Outcome:
        others = claim.other.names if claim.other else tuple(n for n in curves.series if n not in claim.group.names)
        mine, outcomes = _roughness(name, curves), []
        for other in others:
            theirs = _roughness(other, curves)
            if mine is None or theirs is None:
                return OPEN
            if curves.is_measured:  # the squared bends of two runs are compared by an F test
                degrees = (len(curves.series[name]) - 2, len(curves.series[other]) - 2)
                is_less, is_more = (
                    float(fdtrc(*df, (large / small) ** 2 if small else math.inf)) < LEVEL
                    for large, small, df in ((theirs[0], mine[0], degrees[::-1]), (mine[0], theirs[0], degrees))
                )
            else:
                is_less = mine[0] * 1.5 < theirs[0] and mine[1] <= theirs[1]
                is_more = theirs[0] * 1.5 < mine[0] and theirs[1] <= mine[1]
            truth = True if is_less else False if is_more else None
            outcomes.append(
                Outcome(truth if want or truth is None else not truth, (*curves.series[name], *curves.series[other]))
            )
        return all_of(outcomes)

    return quantified(claim.group, curves, test)


def _noisy(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that a series goes up and down: it turns at least twice."""

    def test(name: str) -> Outcome:
        rough, row = _roughness(name, curves), curves.series.get(name, [])
        if rough is None or len(row) < 5:
            return OPEN
        return Outcome(True if rough[1] >= 2 else False if rough[1] == 0 else None, tuple(row))

    return quantified(claim.group, curves, test)


def _spread(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks which series has the larger (or smaller) error bars."""
    sign = 1 if claim.relation == "max" else -1

    def test(name: str) -> Outcome:
        outcomes = []
        for other in claim.other.names if claim.other else [n for n in curves.series if n not in claim.group.names]:
            pairs = [(o, theirs) for o in curves.series.get(name, []) if (theirs := curves.at(other, o.x)) is not None]
            diffs = [sign * (a.spread - b.spread) for a, b in pairs if a.spread is not None and b.spread is not None]
            if not diffs:
                return OPEN
            truth = (
                True if all(d > TINY for d in diffs) else False if sum(diffs) < 0 and not any(d > TINY for d in diffs) else None
            )
            outcomes.append(Outcome(truth, tuple(o for pair in pairs for o in pair)))
        return all_of(outcomes)

    return quantified(claim.group, curves, test)


def _bars_overlap(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that the error bars of two series overlap."""
    names = claim.group.names
    if len(names) != 2 or not set(names) <= set(curves.series):
        return OPEN
    found = []
    for x in curves.common(names, claim.where):
        a, b = (curves.by_name[name][x] for name in names)
        if a.spread is not None and b.spread is not None:
            overlaps = abs(a.middle - b.middle) <= a.spread + b.spread
            found.append(Outcome(overlaps, (a, b)))
    return any_of(found) if claim.negated else all_of(found)


KINDS: dict[str, Callable[[Claim, KnownCurves], Outcome]] = {
    "level": _level, "ratio": _ratio, "rank": rank, "takes_lead": takes_lead, "margin": margin, "extreme": extreme,
    "peak": peak, "top": top, "value": _value, "trend": _trend, "flat": _flat, "cross": cross, "crossing": crossing,
    "gap": gap, "gap_peak": gap_peak, "gap_trend": gap_trend, "order": _order, "same": _same, "gain": gain,
    "gain_than": gain, "gap_than": gap_than, "gain_share": gain_share, "steadier": _steadier, "noisier": _steadier,
    "noisy": _noisy, "spread": _spread, "bars_overlap": _bars_overlap, "returns": _returns, "passes": passes,
    "first_to": first_to, "order_same": order_same, "steepest": steepest, "levels": _levels, "moves": _moves,
    "recovers": _recovers, "points": _points, "closer": closer, "increments": increments,
}  # fmt: skip
