"""Whether claims about changes hold: who gained most, and whether a change or a gap is larger than another."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from passus.analysis.claim_groups import quantified
from passus.analysis.evidence import KnownCurves
from passus.analysis.gap_logic import gap_at
from passus.analysis.outcomes import OPEN, TINY, Interval, Observation, Outcome, all_of, fits, sign_of
from passus.descriptions.claims import END, WHOLE, Claim, Window

Sized = tuple[Interval, tuple[Observation, ...]]


def gain_of(name: str, window: Window, sign: int, curves: KnownCurves) -> Sized | None:
    """Returns how much a series gains over a window, where it is known at both ends of it."""
    window = replace(window, open_low=False, open_high=False, every=False)
    row, places = curves.inside(name, window), curves.where(window)
    if len(row) < 2 or not places or row[0].x != places[0] or row[-1].x != places[-1]:
        return None
    return curves.difference(row[-1], row[0], sign), (row[0], row[-1])


def larger(mine: Sized, theirs: Sized, claim: Claim, curves: KnownCurves) -> Outcome:
    """Compares two sizes: more, less, more by an amount, or so many times as much."""
    (a_low, a_high), (b_low, b_high) = mine[0], theirs[0]
    because = (*mine[1], *theirs[1])
    more = (a_low - b_high, a_high - b_low)
    more = (-more[1], -more[0]) if claim.manner == "least" else more
    if claim.amount is None:
        return Outcome(sign_of(more), because)
    if claim.amount.kind in ("ratio", "share"):
        if min(a_low, b_low) <= TINY:
            return OPEN
        return Outcome(fits((a_low / b_high, a_high / b_low), replace(claim.amount, kind="ratio"), curves.in_shares), because)
    truth = sign_of(more)
    return Outcome(fits(more, claim.amount, curves.in_shares) if truth is not False else False, because)


def gain(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks which series gained (or lost) most, or more than others, over a window."""
    sign = curves.sign(claim.relation)

    def test(name: str) -> Outcome:
        if isinstance(claim.other_where, Window):
            pair = [gain_of(name, window, sign, curves) for window in (claim.where, claim.other_where)]
            return OPEN if pair[0] is None or pair[1] is None else larger(pair[0], pair[1], claim, curves)
        rivals = claim.other.names if claim.other else tuple(curves.series)
        if claim.other is not None and claim.other.rank:
            rivals = curves.members(claim.other, claim.where) or ()
        mine = gain_of(name, claim.where, sign, curves)
        theirs = [found for other in rivals if other != name and (found := gain_of(other, claim.where, sign, curves))]
        if mine is None or not theirs:
            return OPEN
        return all_of(larger(mine, their, claim, curves) for their in theirs)

    return quantified(claim.group, curves, test, claim.where)


def steepest(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that the largest change of a series from one point to the next lies in a window."""
    sign = curves.sign(claim.relation)

    def test(name: str) -> Outcome:
        row, places = curves.series.get(name, []), set(curves.where(claim.where))
        steps = [(curves.difference(b, a, sign), (a, b)) for a, b in pairwise(row)]
        inside = [step for step in steps if {o.x for o in step[1]} <= places]
        outside = [step for step in steps if step not in inside]
        if not inside or not outside or len(row) < 3 or len(row) < len(curves.grid):
            return OPEN
        mine, theirs = (max(part, key=lambda step: sum(step[0])) for part in (inside, outside))
        return larger(mine, theirs, replace(claim, amount=None, manner="most"), curves)

    return quantified(claim.group, curves, test)


def gap_than(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that a gap is larger (or smaller) at one place than at another."""
    if not isinstance(claim.other_where, Window):
        return OPEN
    pair = [size_of_gap(claim, window, curves) for window in (claim.where, claim.other_where)]
    return OPEN if pair[0] is None or pair[1] is None else larger(pair[0], pair[1], claim, curves)


def size_of_gap(claim: Claim, window: Window, curves: KnownCurves, ranks: Sequence[str] = ()) -> Sized | None:
    """Returns the distance within a group, or between ranks, at one place."""
    places = curves.where(window)
    if len(places) != 1:
        return None
    names: Sequence[str] = claim.group.names
    picks = [int(n) for n in ranks or claim.order if n.lstrip("-").isdigit()]
    if picks:
        ranked = curves.ranked(places[0], tuple(curves.series))
        if len(ranked) < len(curves.series) or any(abs(n) > len(ranked) for n in picks):
            return None
        names = [ranked[n - 1 if n > 0 else n] for n in picks]
    return gap_at(names, places[0], curves)


def on_two_panels(claim: Claim, first: KnownCurves, second: KnownCurves) -> Outcome:
    """Compares a gain, or a gap, on two panels."""
    if claim.kind == "panels_gap_than":
        where = END if claim.where == WHOLE else claim.where
        sizes = [size_of_gap(claim, where, curves, claim.order[2:]) for curves in (first, second)]
        return OPEN if sizes[0] is None or sizes[1] is None else larger(sizes[0], sizes[1], claim, first)
    sign = first.sign(claim.relation)

    def test(name: str) -> Outcome:
        pair = [gain_of(name, claim.where, sign, curves) for curves in (first, second)]
        return OPEN if pair[0] is None or pair[1] is None else larger(pair[0], pair[1], claim, first)

    return quantified(claim.group, first, test, claim.where)


def gain_share(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks which share of its whole gain a series has made at a place."""

    def test(name: str) -> Outcome:
        row, x = curves.series.get(name, []), claim.where.low
        if claim.where.high is not None and x is not None and claim.where.high > x:
            return _share_between(row, claim, curves)
        if len(row) < 3 or x is None or claim.amount is None or row[0].x != curves.grid[0] or row[-1].x != curves.grid[-1]:
            return OPEN
        there = [o for o in row if (o.x < x - TINY if claim.manner == "before" else abs(o.x - x) < TINY)]
        whole = row[-1].middle - row[0].middle
        if not there or abs(whole) < TINY:
            return OPEN
        share = (there[-1].middle - row[0].middle) / whole
        if claim.manner == "before" and curves.at(name, x) is not None and there[-1].x < x:
            later = (curves.by_name[name][x].middle - row[0].middle) / whole
            if fits((share, share), claim.amount, curves.in_shares) != fits((later, later), claim.amount, curves.in_shares):
                return OPEN  # it may have been reached between two points
        return Outcome(fits((share, share), claim.amount, curves.in_shares), (row[0], there[-1], row[-1]))

    return quantified(claim.group, curves, test)


def _share_between(row: list[Observation], claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks which share of its whole gain a series has made between two places."""
    ends = [o for o in row if o.x in (claim.where.low, claim.where.high)]
    if len(ends) != 2 or claim.amount is None or row[0].x != curves.grid[0] or row[-1].x != curves.grid[-1]:
        return OPEN
    whole = row[-1].middle - row[0].middle
    if abs(whole) < TINY:
        return OPEN
    share = (ends[1].middle - ends[0].middle) / whole
    return Outcome(fits((share, share), claim.amount, curves.in_shares), (row[0], *ends, row[-1]))


def increments(claim: Claim, curves: KnownCurves) -> Outcome:
    """Checks that the gains of a series from point to point become larger, or smaller, each time."""
    sign, way = curves.sign("improves"), 1 if claim.relation == "up" else -1

    def test(name: str) -> Outcome:
        row = curves.inside(name, claim.where)
        if len(row) < 4 or len(row) < len(curves.where(claim.where)):
            return OPEN
        gaps = {round(b.x - a.x, 9) for a, b in pairwise(row)}
        steps = [sign * (b.middle - a.middle) for a, b in pairwise(row)]
        changes = [way * (b - a) for a, b in pairwise(steps)]
        against = next((n for n, change in enumerate(changes) if change < -TINY), None)
        if against is not None and len(gaps) == 1:
            return Outcome(False, tuple(row[against : against + 3]))
        return Outcome(True if all(change > TINY for change in changes) and len(gaps) == 1 else None, tuple(row))

    return quantified(claim.group, curves, test)
